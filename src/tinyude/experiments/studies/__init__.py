"""Studies beyond the paper: accuracy, verdicts, choice of the model, mechanisms, failing sensors.

`rig*` and `choice_plants` are simulated plants, `weak_sindy` and `zoo_peer` run pysindy, `floor`: Cramer-Rao bound.
"""
