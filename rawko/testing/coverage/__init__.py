"""How much of a chart its contracts cover: decisions found in the chart, visits counted, a table."""
