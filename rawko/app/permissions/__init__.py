"""Which tools the agents of a folder can use in which state of a chart, by its settings; runs nothing."""
