"""`rawko serve` and `rawko report`: a folder's runs as pages, and one run as a file."""
