"""Data and actions for viewers of runs: taken transitions, files of a step, aligned runs, actions of a person."""
