"""What was measured: tables and logs, columns, the time base, runs and their faults, public data sets.

All data is validated here, where it enters; nothing here depends on training.
"""
