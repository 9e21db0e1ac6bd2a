"""The models of a run: the provider that its settings name, endpoints with their keys, fallbacks, cassettes."""
