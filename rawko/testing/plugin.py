"""The pytest plugin: collects the `.feature` contracts that stand beside a chart of the same stem."""
