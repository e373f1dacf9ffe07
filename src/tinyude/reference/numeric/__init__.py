"""Numbers shared by both engines, as core/src/numeric.

Random numbers are the same bit for bit; elementary functions and statistics are stated as the core computes them.
"""
