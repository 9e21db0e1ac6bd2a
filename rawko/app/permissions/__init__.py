"""Which tools the agents of a folder can use in which state of a chart, by the settings; nothing of the folder is
run."""
