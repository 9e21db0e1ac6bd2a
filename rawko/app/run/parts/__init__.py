"""Opens the parts of a run other than its models from its settings: tools, workspace, agents' machines."""
