"""`python -m rawko.cli` is `rawko`."""

from rawko.cli import main

main()
