"""The files about runs in a state folder, besides the journal: records, reports, charts; and the ways to name a run."""
