"""The queue by DBOS: `engine` is the adapter, `access` the part of DBOS that it stands on."""
