"""Which tools the agents of a folder reach in which state of a chart, by its settings; nothing of the folder is run."""
