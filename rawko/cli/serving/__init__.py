"""`rawko serve` and `rawko report`: show a folder's runs as pages, and write a run as a file."""
