"""Parts of an actor: inbox, invocations, effects, waiters, subscribers and observers.

The parts access an actor through the protocols in `members`; `rawko.runtime.actor` puts them together.
"""
