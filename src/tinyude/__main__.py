"""`python -m tinyude` is the `tinyude` command."""

from tinyude.cli import main

main()
