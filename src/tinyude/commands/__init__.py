"""The commands of the `tinyude` program, one module each; cli.py puts them together."""
