"""One task under its machine: settings to parts, parts to a machine driven to its end, its end to a report."""
