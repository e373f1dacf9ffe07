"""The batch estimator: local windows with their noise covariance, then models chosen by evidence.

For a record that is at hand as a whole. `fit` puts it in order: samples, windows, targets, terms and kernels for each
residual state, the best of them as a model.
"""
