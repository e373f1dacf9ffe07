"""Boards: tool chains, chipsets and their memory, learner settings for small memories.

Exports are built and sized with these tools; experiments/emulator.py runs firmware.
"""
