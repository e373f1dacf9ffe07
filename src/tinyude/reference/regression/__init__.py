"""From windows to regression targets and sparse library coefficients, as core/src/regression.

`targets` computes them, `library` sums and solves, `change_detection` distinguishes a change from a new region,
`last_good` keeps the model to return to after a sensor failure.
"""
