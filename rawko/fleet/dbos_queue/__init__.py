"""The queue implemented with DBOS: `engine` is the adapter, `access` wraps the parts of DBOS that it uses."""
