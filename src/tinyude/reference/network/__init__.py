"""The MLP: replay buffer, loss with exact gradients, Adam, last-layer solve, hold-out test."""
