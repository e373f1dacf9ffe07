"""What only the paper presets use: the median gate, tap spacing, the second-order loss."""
