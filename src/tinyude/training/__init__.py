"""Learning from a record: presets and data-dependent defaults, two engines with one interface, a session.

`session` runs the streaming learner (the chip's) over a record.
"""
