"""Boards: tool chains, chipsets and their memory, learner settings for small memories.

`footprint`, `stack` and `life` build and size exports with these; experiments/board/emulator.py runs firmware.
"""
