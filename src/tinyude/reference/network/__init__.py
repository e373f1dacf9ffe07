"""The multilayer perceptron, as core/src/network.

Replay buffer, loss with exact gradients, Adam, last-layer solve, hold-out test.
"""
