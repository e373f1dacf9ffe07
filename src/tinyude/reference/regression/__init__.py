"""From windows to regression targets and sparse library coefficients; change detection."""
