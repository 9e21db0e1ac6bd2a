"""`rawko explore`: terminal programs explored by rules and by a model."""
