"""Recorded steps: shown, compared, rewound, forked, adopted, pinned, migrated."""
