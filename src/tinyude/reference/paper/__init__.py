"""Mechanisms that only the paper presets use, as core/src/paper: the median gate, tap spacing, the second-order loss.

The default preset does not use them.
"""
