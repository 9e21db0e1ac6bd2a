"""Time travel over recorded runs: show, compare, explain, rewind, fork, adopt, branch, replay, pin, prune."""
