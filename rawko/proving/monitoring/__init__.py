"""Charts explored together with the monitors that watch them in production."""
