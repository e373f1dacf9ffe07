"""The learner on emulated boards: results, instructions, cycles, energy and the exports' life.

`emulator` builds and runs firmware, `board_run` is one run beside the same run on the host.
"""
