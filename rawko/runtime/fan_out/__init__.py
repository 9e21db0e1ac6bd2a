"""`invoke: {for each: ...}`: one actor per item of a list, run and joined by a machine of its own, `fan_out.yaml`."""
