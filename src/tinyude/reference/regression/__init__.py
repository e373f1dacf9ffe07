"""From windows to regression targets and sparse library coefficients, as core/src/regression.

`targets` forms them, `library` sums and solves, `change_detection` tells a change from a new region.
"""
