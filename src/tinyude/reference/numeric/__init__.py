"""Random numbers shared by both engines, bit for bit."""
