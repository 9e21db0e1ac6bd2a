"""A recorded step as a scenario of a contract: its text, and the trial that fits it to the chart."""
