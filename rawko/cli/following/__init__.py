"""`rawko log RUN --follow`."""
