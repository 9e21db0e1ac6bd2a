"""`rawko lab`: repeats recorded decisions in variants, with output for the terminal."""
