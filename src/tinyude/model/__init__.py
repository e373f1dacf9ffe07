"""What was learned: the model as plain arrays, its file, equations, simulation, uncertainty, diagnostics.

Nothing here depends on how a model was trained.
"""
