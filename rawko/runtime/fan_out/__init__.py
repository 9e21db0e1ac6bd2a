"""`invoke: {for each: ...}`: calls an actor once per item of a list, through a machine of the chart `fan_out.yaml`."""
