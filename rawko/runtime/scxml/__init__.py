"""Runtime support for imported SCXML documents: invoked documents, events over HTTP."""
