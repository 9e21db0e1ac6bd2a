"""`rawko lab`, and the arbiter's stored answers."""
