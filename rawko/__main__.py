"""`python -m rawko` is `rawko`."""

from rawko.cli import main

main()
