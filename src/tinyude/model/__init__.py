"""What was learned, and whether it can be trusted. Nothing here depends on how a model was trained.

The model: `model` and its `parts`, `program`, `file`, `equations`, `simulation`, `uncertainty`, `diagnostics`, in one
`result`. The verdict: `collect_evidence` gathers figures (`evidence`) from windows, free runs (`probes`) and searches
for errors of the known part (`hypotheses`, `wrong_*`, `other_values`, `input_*`, `changed_dynamics`); `*findings` turn
them into reasons with remedies, `verdict` into a status.
"""
