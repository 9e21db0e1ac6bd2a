"""From nodes to drafts to a `Chart`, by the tables of `grammar`. Private to `rawko.chart`."""
