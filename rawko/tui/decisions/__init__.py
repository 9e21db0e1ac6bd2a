"""The keys that change a run: each asks first where work would be lost, then calls `rawko.app`."""
