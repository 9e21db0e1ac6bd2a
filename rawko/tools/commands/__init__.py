"""The tool `bash`: the processes, environment and output of commands, and the search for processes left by a crash."""
