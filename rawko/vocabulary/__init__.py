"""Pure data that machines, ports, and commands share. No behaviour, no I/O."""
