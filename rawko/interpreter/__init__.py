"""The machine: statecharts interpreted by SCXML's algorithm on prepared plans, without I/O."""
