"""The learner in NumPy float64: the executable specification of core/ (same file and function names)."""
