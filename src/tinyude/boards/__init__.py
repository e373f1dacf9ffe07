"""Boards: tool chains, emulators, chipsets and their memory, learner settings for small memories.

Exports are built and sized with these tools; tests run firmware on the emulators.
"""
