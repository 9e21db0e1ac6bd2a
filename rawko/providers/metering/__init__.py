"""Usage of models, counted and held against a budget."""
