"""The learner in NumPy float64: the executable specification of core/src.

Same folders, same files, same function names, which tests/unit/reference/test_twin.py checks. It knows NumPy alone.
"""
