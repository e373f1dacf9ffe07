"""The deepest stack of a program, from the call graph that GCC writes (-fcallgraph-info=su)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

INDIRECT = "__indirect_call"
_NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "[^"]*?\\n(\d+) bytes \((\w+)')
_EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


@dataclass
class CallGraph:
    """Functions with their own stack in bytes, and whom they call; static ones with their file before the name."""

    stack: dict[str, int] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)


def read_call_graph(files: Iterable[Path]) -> CallGraph:
    graph = CallGraph()
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            if node := _NODE.match(line):
                graph.stack[node[1]] = int(node[2])
            elif edge := _EDGE.match(line):
                graph.calls.setdefault(edge[1], set()).add(edge[2])
    return graph


def deepest_stack(graph: CallGraph, entry: str, handlers: str) -> int:
    """Bytes on the stack along the worst path from `entry`; what GCC did not compile itself (libraries) counts 0.

    A call through a pointer may reach any static function that nobody calls by name: such functions are only there
    because somebody took their address. Those in the file `handlers` are called by the hardware instead.
    """
    called = set().union(*graph.calls.values())
    pointed = {name for name in graph.stack if ":" in name and name not in called and not name.startswith(handlers)}

    def deepest(name: str, path: frozenset[str]) -> int:
        if name == INDIRECT:
            return max((deepest(target, path) for target in pointed - path), default=0)
        inner = path | {name}
        return graph.stack.get(name, 0) + max(
            (deepest(target, inner) for target in graph.calls.get(name, set()) - path), default=0
        )

    return deepest(entry, frozenset())
