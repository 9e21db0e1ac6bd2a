"""`rawko prove`: explores a chart and prints verdicts."""
