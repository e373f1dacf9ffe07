"""What `tinyude.UDE` is made of; the class itself, with its parameters and attributes explained, is in tinyude/ude.py.

`options`: what the user chose. `fitting` and `streaming`: from a record to one result object (model.result.FitResult).
`predicting` and `fitted`: what a fitted UDE computes, and what it tells about itself.
"""
