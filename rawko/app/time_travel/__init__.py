"""Recorded runs: looked at, compared, explained, set back, forked, branched, replayed, pinned, pruned."""
