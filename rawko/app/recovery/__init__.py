"""Whether record, journal and snapshots of a run belong together, and what is done where the journal is the older one.

`fit` judges, from what was read; `finding` reads it; `begun` keeps how far a run has come beside its journal; `setback`
brings the files back to what the journal knows.
"""
