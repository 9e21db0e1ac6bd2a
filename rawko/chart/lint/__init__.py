"""Rules for charts that can be read: which are invalid, suspicious, or use names that are not bound.

Loading a chart applies `legality`; `linting` applies the other rules; `bindings` compares the chart with its bindings.
`rules` lists the codes.
"""
