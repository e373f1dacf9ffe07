"""The deepest stack of a program, from what a compiler leaves beside its object files.

GCC writes functions, their stack and their calls into one file (-fcallgraph-info=su). LLVM's calls stand in its
intermediate code, their stack in the remarks of the pass that lays out the frames.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tinyude.errors import TinyUDEError

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


def read_call_graph(folder: Path, linked: Set[str] = frozenset()) -> CallGraph:
    """Of what was compiled into a folder and those within; with the names in the program, of the files it needs."""
    graph = CallGraph()
    for file in sorted(folder.rglob("*.ci")):
        _add(graph, _from_gcc(file), linked if ".ltrans" not in file.name else frozenset())
    for file in sorted(folder.rglob("*.stack")):
        _add(graph, _from_llvm(file.with_suffix(".ll"), file), linked)
    return graph


def _add(graph: CallGraph, file: CallGraph, linked: Set[str]) -> None:
    """Add a compiled file, unless the linker left it out: then none of its names is in the program."""
    if not linked or linked & file.stack.keys():
        graph.stack |= file.stack
        for caller, called in file.calls.items():
            graph.calls.setdefault(caller, set()).update(called)


def _from_gcc(file: Path) -> CallGraph:
    graph = CallGraph()
    lines = file.read_text(encoding="utf-8").splitlines()
    nodes = [node for line in lines if (node := _NODE.match(line))]
    title = {node[1]: _title(node[1], node[2]) for node in nodes} if ".ltrans" in file.name else {}
    for node in nodes:
        graph.stack[title.get(node[1], node[1])] = int(node[3])
    for edge in filter(None, map(_EDGE.match, lines)):
        graph.calls.setdefault(title.get(edge[1], edge[1]), set()).add(title.get(edge[2], edge[2]))
    return graph


def _title(own: str, source: str) -> str:
    """After optimisation over the whole program every function is local to it: its source file and its first name."""
    name = own.rpartition(":")[2]
    return "main" if name.partition(".")[0] == "main" else f"{source}:{name}"


def _from_llvm(code: Path, frames: Path) -> CallGraph:
    graph = CallGraph()
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
    return graph


def deepest_stack(graph: CallGraph, entry: str, handlers: str, linked: Set[str] = frozenset()) -> int:
    """Bytes on the stack along the worst path from `entry`; what was not compiled here (libraries) counts 0.

    A call through a pointer may reach any function without a call by name: static ones, and those of other files that
    were `linked`, are in the image only because their address is taken. Those in the file `handlers`,
    and what leads to `entry`, are called by the hardware instead.
    """
    called = set().union(*graph.calls.values()) | {name for name in graph.calls if entry in graph.calls[name]}
    named = {name for name in graph.stack if ":" in name or name in linked} - called - {entry}
    pointed = {name for name in named if not name.startswith(handlers)}
    alone, to_pointer = _by_name(graph)
    links = sum(to_pointer.get(name, 0) for name in pointed)  # a pointer's function may call the next by a pointer
    beyond = max((links - to_pointer.get(name, 0) + alone[name] for name in pointed), default=0)
    through = to_pointer[entry] + beyond if entry in to_pointer else 0
    return max(alone[entry], through)


def _by_name(graph: CallGraph) -> tuple[dict[str, int], dict[str, int]]:
    """The deepest stack below each function through calls by name, and down to a call through a pointer, if any."""
    alone: dict[str, int] = {INDIRECT: 0}
    to_pointer: dict[str, int] = {INDIRECT: 0}
    try:
        order = tuple(
            TopologicalSorter(graph.calls | {name: graph.calls.get(name, ()) for name in graph.stack}).static_order()
        )
    except CycleError as error:
        raise TinyUDEError(f"{error.args[1][0]} calls itself, so that the stack has no limit; use a loop.") from error
    for name in order:
        if name == INDIRECT:
            continue
        own, inner = graph.stack.get(name, 0), graph.calls.get(name, ())
        alone[name] = own + max((alone[target] for target in inner), default=0)
        if reaching := [to_pointer[target] for target in inner if target in to_pointer]:
            to_pointer[name] = own + max(reaching)
    return alone, to_pointer
