"""The estimator `tinyude.UDE`: the class, with its parameters and attributes explained, is in `ude`.

`options`: what the user chose. `fitting` and `streaming`: from a record to one result object (model.result.FitResult).
`predicting` and `fitted`: what a fitted UDE computes and reports.
"""
