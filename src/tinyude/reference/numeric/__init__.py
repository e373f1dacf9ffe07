"""Numbers shared by both engines, as core/src/numeric.

Random numbers are the same bit for bit; elementary functions and statistics follow the core's formulas.
"""
