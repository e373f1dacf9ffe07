"""What `tinyude.UDE` is made of: how it is fitted, what a fitted one computes (predicting) and tells (fitted).

The class itself, with its parameters and attributes explained, is in tinyude/ude.py.
"""
