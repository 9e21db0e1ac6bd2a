"""Commands on charts: check, test, diagram, import, export, and the files of `rawko init`."""
