"""The learner in NumPy float64: the executable specification of core/src.

Same folders, files and function names, checked by tests/unit/reference/test_twin.py. Depends only on NumPy.
"""
