"""The private git repository: objects, references, packs, comparison of trees."""
