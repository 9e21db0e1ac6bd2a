"""The cache of the arbiter's answers to questions that were asked before, in the state folder (S6-112)."""
