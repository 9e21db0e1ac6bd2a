"""Whether record, journal and snapshots of a run are consistent, and the repair where the journal is the older one.

`consistency` judges data that `reading` has read; `last_tool` notes beside the journal how far a run has come;
`setback` sets the files back to the state that the journal knows. The `halting` modules stop a run on a fault of the
computer that it runs on.
"""
