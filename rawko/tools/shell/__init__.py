"""What a bash command line would run, read for the gate's rules with caution: what is not surely understood is a doubt.

`reader` takes the line apart into simple commands (`words`), `values` judges assignments and arithmetic, `running`
says what else a simple command runs by its arguments, from the tables in `programs`, `gitcommand` and `editing`.
"""
