"""The tool `bash`: a command's processes, environment and output, and what outlives a crash."""
