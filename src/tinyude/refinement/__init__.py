"""After the window fit: prediction-error refinement and model selection on held-back free runs.

Host only: it integrates the model. Training itself, on the host and on the chip, stays solver-free.
"""
