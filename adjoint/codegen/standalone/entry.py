"""What an exported function is: its IR, its names in C, what it may return, the state it uses, and what C cannot contain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Final

from adjoint.codegen.c_print import WIDTH
from adjoint.codegen.errors import NOT_STANDALONE
from adjoint.codegen.standalone.hooks import HOOKS
from adjoint.codegen.user_names import function_name
from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.core import Function, Host, Node, Region, walk
from adjoint.ir.ops.control import For, If, While
from adjoint.ir.ops.host import Apply, Bprop
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.stack import Pop, Push, Stack, Undef
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.ops.unrolled import Unrolled
from adjoint.ir.types import StackType, TensorType

__all__ = ["FAILED", "NO_STEP", "OTHER_LAYOUT", "RANDOM", "TOO_MANY_ROUNDS", "WRONG_BATCH", "Context", "ExportedFunction",
           "changed_lines", "check_function", "used_state"]

RANDOM: Final = "random!"
"""The symbol of the state from which random numbers are drawn: u64[2], the seed and the number of draws."""

FAILED: Final = 1
TOO_MANY_ROUNDS: Final = -1
NO_STEP: Final = -2
OTHER_LAYOUT: Final = -3
WRONG_BATCH: Final = -4
STATUSES: Final = {FAILED: "FAILED", TOO_MANY_ROUNDS: "TOO_MANY_ROUNDS", NO_STEP: "NO_STEP", OTHER_LAYOUT: "OTHER_LAYOUT",
                   WRONG_BATCH: "WRONG_BATCH"}
"""What functions of a file return but 0, with the macro of the header after its prefix: see `standalone.project`."""


@dataclass(frozen=True)
class Context:
    """A struct of the caller's that holds state and intermediate values.

    type    its name; its member `arena` holds intermediate values, see `arena_members`
    header  the file that declares it
    """

    type: str
    header: str

    def status(self, number: int) -> str:
        """Return the macro for what a function returns."""
        return f"{self.type.removesuffix('_context').upper()}_{STATUSES[number]}"


@dataclass(frozen=True)
class ExportedFunction:
    """A function that becomes part of a standalone C file.

    function    its IR, without gradients and cells in it
    state       the parameters of its module
    results     the names of its results
    name        its name in C
    max_rounds  the largest number of rounds of a loop that keeps values for its gradient, if the rounds are not known
    places      with a context: for each symbol of state a C expression that points to it
    hosts       the Python functions that its module calls, for messages
    hooks       with a context: for each symbol of hooks a C expression of the pointer to the function
    batches     with a context: the function for each number of rows from 1 on, if its arguments have any number up to the last one
    """

    function: Function
    state: Mapping[str, TensorType]
    results: Sequence[str]
    name: str = ""
    max_rounds: int | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, Host] = field(default_factory=dict)
    hooks: Mapping[str, str] = field(default_factory=dict)
    batches: Mapping[int, Function] = field(default_factory=dict)

    @property
    def c_name(self) -> str:
        """Return the name of the function in C."""
        return self.name or function_name(self.function.symbol)


def used_state(region: Region) -> dict[str, bool]:
    """Return the symbols of state that a region uses, in the order of the program, and for each whether it is written."""
    found: dict[str, bool] = {}
    for node in walk(region):
        match node.op:
            case Read(symbol=symbol):
                found.setdefault(symbol, False)
            case Write(symbol=symbol):
                found[symbol] = True
            case Draw():
                found[RANDOM] = True
            case _:
                pass
    return found


def changed_lines(used: Mapping[str, bool], statuses: Mapping[int, Collection[str]], context: Context) -> list[str]:
    """Return the lines of a comment that names the state that a function changes, and what it returns.

    used      as `used_state` returns it
    statuses  what it may return but 0, and for each the symbols of the state that may be changed by then
    """
    lines = [f"changes {_listed(symbol for symbol, written in used.items() if written)}"] if any(used.values()) else []
    lines.append(f"returns {', '.join(['0', *map(context.status, statuses)])}")
    lines += [f"{context.status(status)} may come after a change of {_listed(changed)}" for status, changed in statuses.items() if changed]
    return [part for line in lines for part in wrap(line, WIDTH - 3, break_long_words=False)]


def _listed(symbols: Iterable[str]) -> str:
    return ", ".join(symbol.rstrip("!") for symbol in symbols)


def check_function(function: Function, entry: ExportedFunction) -> None:
    """Raise a CompileError for a function with what a C file cannot contain, such as a call of Python.

    entry  what is exported, of which it is a version
    """
    for node in walk(function.body):
        _check(node, entry)


def _check(node: Node, entry: ExportedFunction) -> None:
    own = isinstance(node.op, (Read, Write, Stack, Push, Pop, Undef, If, For, While, Draw, Unrolled))
    is_hook = isinstance(node.op, HOOKS) and node.op.symbol in entry.hooks
    if not (own or is_hook or node.op.can_lower or getattr(node.op, "aliases", False)):
        host = entry.hosts.get(getattr(node.op, "symbol", ""))
        called = "" if host is None else host.reference
        raise NOT_STANDALONE.at(node.loc, f"`{called}` is called here, in Python" if called else f"`{node.op.name}` is Python",
                                help=_IN_C.get(called) or _INSTEAD.get(type(node.op), _INSTEAD[Apply]))
    for type_ in (x.type for x in (*node.operands, *node.results)):
        while isinstance(type_, StackType):
            type_ = type_.item
        if not isinstance(type_, TensorType):
            raise NOT_STANDALONE.at(node.loc, f"`{node.op.name}` is not on tensors, but on {type_}")
        if not type_.is_static:
            raise NOT_STANDALONE.at(node.loc, f"`{node.op.name}` has sizes that are not known: {type_}",
                                    help="keep the size: `ops.where(mask, x, 0)` in the place of a selection")


_IN_C: Final = {
    "int": "`ops.trunc(x).astype(ms.int32)` is the same number, without Python",
    "round": "`ops.round(x)` is the same number, without Python",
}
"""For functions of Python, what to write instead."""

_INSTEAD: Final = {
    Apply: "leave it out of what is exported, or write it with operators; what C shall show can be a result",
    **dict.fromkeys(HOOKS, "`adjoint export` makes a hook a function pointer"),
    Bprop: "use operators whose own gradient is the wanted one: `x + ops.stop_gradient(y - x)` is y, with the gradient of x",
}
"""For ops that call Python, what to write instead."""
