"""What is known: the right-hand sides and parameters a user states, from Python or from a TOML file.

Text becomes SymPy by a whitelist parser; expressions become NumPy functions and straight-line programs; library terms.
"""

from tinyude.physics.parameter import Parameter
from tinyude.physics.physics import Physics

__all__ = ["Parameter", "Physics"]
