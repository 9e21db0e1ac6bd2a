"""Patterns of paths and command lines: rules, glob, grep, .gitignore files. Text in, regular expressions out; no IO.

`linear` turns a list of tokens into a regular expression with bounded matching time. `globs` parses the patterns of
tools and path rules, `commands` those of rules for bash, `wildmatch` one line of a .gitignore, `ignorefile` a whole
.gitignore.
"""
