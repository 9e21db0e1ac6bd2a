"""What programs make of their arguments, one function per kind of program: words in, inner commands out."""
