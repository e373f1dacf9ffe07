"""`python -m tinyude` is the `tinyude` command."""

from tinyude.cli.app import main

main()
