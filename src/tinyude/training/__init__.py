"""Learning from a record: presets and data-dependent defaults, the two engines behind one surface, a session.

`session` runs the streaming learner (the chip's) over a record.
"""
