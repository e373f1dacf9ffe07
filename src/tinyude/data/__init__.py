"""What was measured: tables and logs, columns, the time base, runs and their faults, public data sets.

Everything is validated here, at the edge; nothing here knows of training.
"""
