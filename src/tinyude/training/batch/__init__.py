"""The batch estimator: local windows with their noise covariance, then models chosen by evidence.

For a record that is in memory as a whole. The steps of `fit`: samples, windows, targets, terms and kernels for each
residual state, and the best of them as a model.
"""
