"""The text of a chart as a tree of nodes with line and column, before anything is known of charts."""
