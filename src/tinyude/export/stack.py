"""The deepest stack of a program, from what a compiler leaves beside its object files.

GCC writes functions, their stack and their calls into one file (-fcallgraph-info=su). LLVM's calls stand in its
intermediate code, their stack in the remarks of the pass that lays out the frames.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path

INDIRECT = "__indirect_call"
_NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "[^"]*?([^"/\\]+):\d+:\d+\\n(\d+) bytes \((\w+)')
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
    lines = file.read_text(encoding="utf-8").splitlines()
    nodes = [node for line in lines if (node := _NODE.match(line))]
    title = {node[1]: _title(node[1], node[2]) for node in nodes} if ".ltrans" in file.name else {}
    for node in nodes:
        graph.stack[title.get(node[1], node[1])] = int(node[3])
    for edge in filter(None, map(_EDGE.match, lines)):
        graph.calls.setdefault(title.get(edge[1], edge[1]), set()).add(title.get(edge[2], edge[2]))


def _title(own: str, source: str) -> str:
    """After optimisation over the whole program every function is local to it: its source file and its first name."""
    name = own.rpartition(":")[2]
    return "main" if name.partition(".")[0] == "main" else f"{source}:{name}"


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


def deepest_stack(graph: CallGraph, entry: str, handlers: str, linked: Set[str] = frozenset()) -> int:
    """Bytes on the stack along the worst path from `entry`; what was not compiled here (libraries) counts 0.

    A call through a pointer may reach any function without a call by name: static ones, and those of other files that
    were `linked`, are in the image only because their address is taken. Those in the file `handlers`,
    and what leads to `entry`, are called by the hardware instead.
    """
    called = set().union(*graph.calls.values()) | {name for name in graph.calls if entry in graph.calls[name]}
    named = {name for name in graph.stack if ":" in name or name in linked} - called - {entry}
    pointed = {name for name in named if not name.startswith(handlers)}

    def deepest(name: str, path: frozenset[str]) -> int:
        if name == INDIRECT:
            return max((deepest(target, path) for target in pointed - path), default=0)
        inner = path | {name}
        return graph.stack.get(name, 0) + max(
            (deepest(target, inner) for target in graph.calls.get(name, set()) - path), default=0
        )

    return deepest(entry, frozenset())
