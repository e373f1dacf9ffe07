"""After the windows: prediction-error refinement and model selection on held-back free runs."""
