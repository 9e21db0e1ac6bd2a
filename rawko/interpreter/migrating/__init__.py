"""Snapshots of earlier versions of a chart, brought into the present one by the chart's own rules; pure.

`rules` follows states and context through the versions, `places` finds the new configuration, `waiting` what waits in
it, `migrate` puts the snapshot together and checks it.
"""
