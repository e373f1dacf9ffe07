"""The line to a board that learns: telemetry, commands, a monitor in the terminal and one in the browser.

`frames` and `messages` are the protocol of core/src/service, `board` its two directions, `transport` serial, TCP or a
file; `history` and `stream` hold what was received, `web` and `terminal` show it.
"""

from tinyude.link.board import BoardLink
from tinyude.link.transport import open_transport

__all__ = ["BoardLink", "open_transport"]
