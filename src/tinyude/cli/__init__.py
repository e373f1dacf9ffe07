"""The `tinyude` command: one module a command; `app` puts them together.

Nothing else imports from here.
"""
