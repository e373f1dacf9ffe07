"""From samples to accepted windows: ring buffer, repair, noise, local polynomials, acceptance tests, angles."""
