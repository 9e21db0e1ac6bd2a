"""Patterns of paths and command lines: rules, glob, grep, .gitignore files. Text in, regular expressions out; no IO.

`linear` turns tokens into an expression whose matching time is bounded whatever the pattern is; `globs` reads the
dialect of tools and rules, `commands` that of rules for bash, `wildmatch` that of .gitignore, `ignorefile` a whole one.
"""
