"""What a viewer of runs asks beside steps and summaries: taken transitions, files of a step, aligned runs, actions."""
