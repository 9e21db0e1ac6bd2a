"""The calls of a fleet, one module for each kind of caller; `rawko.fleet.fleet` joins them in one class."""
