"""Reads a bash command line for the gate's rules: which commands it would run. What cannot be read surely is a doubt.

    cd x && timeout 5 rm -r y    `reader`:  cd x | timeout 5 rm -r y      `running`: ... | rm -r y

`reader` splits the line into simple commands (`words`). `values` judges assignments and arithmetic. `running` finds
what else a simple command runs by its arguments: `handlers` has a function for each kind of program, which looks into
the tables in `programs`, `gitcommand` and `editing`.
"""
