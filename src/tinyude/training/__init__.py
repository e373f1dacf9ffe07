"""Learning from a record: presets and data-dependent defaults, two engines with one interface, a session.

`session` runs the streaming learner (the chip's) over a record, with one of the `engines`; `resume` continues from a
fitted model, `restart` trains a network of an angle a second time. `batch/` is the batch estimator.
"""
