"""`jit_stats`: the graphs that a function was made into, why each was made, and how the function's calls ran."""

from __future__ import annotations

from collections import Counter
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import check_flag
from adjoint.runtime.graphs.calls.cache import Graphs
from adjoint.runtime.graphs.jit import graphs_of_calls

__all__ = ["GraphStats", "JitStats", "WayStats", "jit_stats"]


@dataclass(frozen=True)
class WayStats:
    """How many calls of one graph ran in one way for one reason; a part of `GraphStats`.

    way      the name of the way, as docs/how-a-call-runs.md lists them
    why      the reason as text; "" if there is none
    way_out  what a program can do about it; "" if nothing need be done
    count    the number of calls
    """

    way: str
    why: str
    way_out: str
    count: int

    def __str__(self) -> str:
        return f"{self.count} x {self.way}{f': {self.why}' if self.why else ''}"


@dataclass(frozen=True)
class GraphStats:
    """Why one graph of a function was made, and how its calls ran; a part of `JitStats`.

    number     its number among the graphs of the function, from 1.  0 stands for all calls that have no graph of their own
    cause      the name of the cause for which it was made
    detail     what differs from the graph before
    way_out    how a program can avoid making it; "" if nothing need be done
    arguments  the arguments that it was made for, as text
    seconds    the time that making it took
    nodes      the number of its nodes
    ways       how its calls ran, the commonest way first
    in_python   the names of the operators in it that Python calls: those defined without C, and `ops.Custom`
    """

    number: int
    cause: str
    detail: str
    way_out: str
    arguments: str
    seconds: float
    nodes: int
    ways: tuple[WayStats, ...]
    in_python: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.number:
            return "\n".join(["without a graph of their own", *(f"    {way}" for way in self.ways)])
        cause = f"{self.cause}{f': {self.detail}' if self.detail else ''}"
        head = f"graph {self.number} of ({self.arguments}), {self.nodes} nodes, made in {1000 * self.seconds:.1f} ms; {cause}"
        if self.in_python:
            head += f"; called in Python: {', '.join(self.in_python)}"
        return "\n".join([head, *(f"    {way}" for way in self.ways)])


@dataclass(frozen=True)
class JitStats:
    """The report of `jit_stats`: the graphs of a function and how its calls ran; `str` shows it as text.

    function  its name, with the line of its definition; "" if it has no graph yet
    graphs    the graphs that were made, for each Cell at most the last hundred
    """

    function: str
    graphs: tuple[GraphStats, ...]

    @property
    def calls(self) -> int:
        """Return how many calls of the function were counted."""
        return sum(self.ways.values())

    @property
    def ways(self) -> Counter[str]:
        """Return how many calls were executed in each way: a Counter by the way's name, such as "eager"."""
        counts: Counter[str] = Counter()
        for graph in self.graphs:
            counts.update({way.way: way.count for way in graph.ways})
        return counts

    def __str__(self) -> str:
        made = sum(1 for graph in self.graphs if graph.number)
        return "\n".join([f"{self.function or 'no graph yet'}: {made} graphs, {self.calls} calls counted", *map(str, self.graphs)])


def jit_stats(fn: Any, *, reset: bool = False) -> JitStats:
    """Return the graphs of a function and how its calls ran.  Calls are counted from the first time that `jit_stats` is called for it.

    fn     a jitted function, a bound method of one, a Cell; in GRAPH_MODE also a function whose gradient is taken
    reset  True: begin to count from 0 again; the graphs stay

    Functions that a program makes again and again share graphs (docs/language.md): their calls are counted together.

    `ADJOINT_LOG=graphs` in the environment counts from the beginning, and writes each graph and each change of way to stderr.

    TypeError for an object that does not run as a graph, or a `reset` that is not a bool.
    """
    check_flag("jit_stats", "reset", reset)
    found = graphs_of_calls(fn)
    if found is None:
        raise TypeError(f"For 'jit_stats', the argument 'fn' must run as a graph, but got {fn!r} of type {type(fn).__name__}: "
                        "put it under `jit`, or use GRAPH_MODE.")
    stats = JitStats(next((graphs.history.name for graphs in found if graphs.history.name), ""),
                     tuple([each for graphs in found for each in _graphs(graphs)]))
    for graphs in found if reset else ():
        graphs.ask().reset()
    return stats


def _graphs(graphs: Graphs) -> list[GraphStats]:
    counts = graphs.ask().counts()
    ways: dict[int, list[WayStats]] = {}
    for (number, way, why), count in counts.most_common():
        ways.setdefault(number, []).append(WayStats(way.name, str(why), why.reason.way_out, count))
    made = [GraphStats(each.number, each.cause.name, each.detail, each.cause.way_out, each.arguments, each.seconds, each.nodes,
                       tuple(ways.get(each.number, ())), each.in_python) for each in graphs.history.graphs]
    return [*made, *([GraphStats(0, "", "", "", "", 0.0, 0, tuple(ways[0]))] if 0 in ways else [])]
