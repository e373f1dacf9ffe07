"""From samples to accepted windows, as core/src/signal.

Ring buffer, repair, noise, local polynomials with their nodes, acceptance tests, calibration, angle/rate fusion, angle
wrapping.
"""
