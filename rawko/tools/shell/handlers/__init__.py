"""Finds the commands in the arguments of programs, one function per kind of program: words in, inner commands out."""
