"""The inspector over all runs of a fleet: `rawko serve --fleet`."""
