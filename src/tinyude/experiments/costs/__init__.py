"""What learning costs: instructions, time and memory (`benchmark`, `cost_curve`), and a fleet (`fleet_scale`).

For `tinyude bench` and docs/benchmarks.md.
"""
