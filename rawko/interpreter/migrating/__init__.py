"""Snapshots of earlier versions of a chart, brought into the present version by the chart's own rules; pure.

`rules` maps states and context through the versions, `places` finds the new configuration, `waiting` carries over
timers, invocations and queued events, `migrate` assembles the snapshot and checks it.
"""
