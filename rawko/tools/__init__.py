"""The tools that agents work with, behind one gate: read, write, edit, glob, grep, bash. See `rawko.tools.toolbox`."""
