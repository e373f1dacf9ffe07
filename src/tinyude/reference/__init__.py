"""The learner in NumPy float64: the executable specification of core/src.

Same folders, same files, same function names.
"""
