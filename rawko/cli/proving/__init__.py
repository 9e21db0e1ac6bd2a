"""`rawko prove`: a chart explored, verdicts printed."""
