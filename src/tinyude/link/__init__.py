"""The line to a board that learns: telemetry, commands, a monitor in the terminal and one in the browser."""

from tinyude.link.board import BoardLink
from tinyude.link.transport import open_transport

__all__ = ["BoardLink", "open_transport"]
