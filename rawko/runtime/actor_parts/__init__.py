"""What an actor is made of: its inbox, its invocations, the effects of its steps, those who wait for it and watch it.

The parts see an actor through the protocols in `members`; the whole is `rawko.runtime.actor`.
"""
