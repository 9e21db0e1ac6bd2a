"""The parts of a run, opened from its settings: model, tools, workspace, agents' machines. Each says what is wrong."""
