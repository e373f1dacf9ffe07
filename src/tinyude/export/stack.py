"""The deepest stack of a program, from what a compiler leaves beside its object files.

GCC writes functions, their stack and their calls into one file (-fcallgraph-info=su). LLVM's calls stand in its
intermediate code, their stack in the remarks of the pass that lays out the frames.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

INDIRECT = "__indirect_call"
_NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "[^"]*?\\n(\d+) bytes \((\w+)')
_EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')
_DEFINED = re.compile(r"^define (internal )?.*?@([\w.]+)\(")
_CALL = re.compile(r"\bcall .*?(?:@([\w.]+)|%[\w.]+)\(")
_FRAME = re.compile(r"^Function: +(\S+)\nArgs: *\n  - NumStackBytes: +'(\d+)'", re.MULTILINE)


@dataclass
class CallGraph:
    """Functions with their own stack in bytes, and whom they call; static ones with their file before the name."""

    stack: dict[str, int] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)


def read_call_graph(folder: Path) -> CallGraph:
    """Of all that was compiled into a folder and those within."""
    graph = CallGraph()
    for file in sorted(folder.rglob("*.ci")):
        _add_from_gcc(graph, file)
    for file in sorted(folder.rglob("*.stack")):
        _add_from_llvm(graph, file.with_suffix(".ll"), file)
    return graph


def _add_from_gcc(graph: CallGraph, file: Path) -> None:
    for line in file.read_text(encoding="utf-8").splitlines():
        if node := _NODE.match(line):
            graph.stack[node[1]] = int(node[2])
        elif edge := _EDGE.match(line):
            graph.calls.setdefault(edge[1], set()).add(edge[2])


def _add_from_llvm(graph: CallGraph, code: Path, frames: Path) -> None:
    lines = code.read_text(encoding="utf-8").splitlines()
    defined = [found for line in lines if (found := _DEFINED.match(line))]
    title = {found[2]: f"{code.stem}.c:{found[2]}" if found[1] else found[2] for found in defined}
    caller = ""
    for line in lines:
        if found := _DEFINED.match(line):
            caller = title[found[2]]
        elif call := _CALL.search(line):
            called = INDIRECT if call[1] is None else title.get(call[1], call[1])
            graph.calls.setdefault(caller, set()).add(called)
    for name, count in _FRAME.findall(frames.read_text(encoding="utf-8")):
        graph.stack[title[name]] = int(count)


def deepest_stack(graph: CallGraph, entry: str, handlers: str) -> int:
    """Bytes on the stack along the worst path from `entry`; what was not compiled here (libraries) counts 0.

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
