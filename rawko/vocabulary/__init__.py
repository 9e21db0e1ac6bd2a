"""Pure data shared by the machines, their ports and the faces. No behaviour, no I/O."""
