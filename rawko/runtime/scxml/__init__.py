"""What imported SCXML documents ask of the runtime: invoked documents, events over HTTP."""
