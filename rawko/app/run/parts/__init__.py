"""The parts of a run beside its models, opened from its settings: tools, workspace, agents' machines."""
