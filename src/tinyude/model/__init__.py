"""What was learned: the model as plain arrays, its file, equations, simulation, uncertainty, diagnostics.

Nothing here knows how a model was trained.
"""
