"""The function that a graph runs while no gradient is recorded: the result of the passes that make it fast.

It is used only if it computes the same as eager mode: values stay the same to the bit, and effects stay in their order.  These passes run
last: a gradient of their result would be summed in another order.  Which passes are tried, and under which conditions, is in the tables at
the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Module, Value, walk
from adjoint.ir.ops.control import Cell, For, Gradient, If, While
from adjoint.ir.ops.conversion import Identity
from adjoint.ir.ops.host import Apply
from adjoint.ir.ops.state import Read
from adjoint.passes.first_rounds import with_first_rounds
from adjoint.passes.inline import inlined
from adjoint.passes.order import calls_alike, reads_survive, sums_alike
from adjoint.passes.schedule import UNRECORDED, WITHOUT_ALGEBRA, Schedule

__all__ = ["ATTEMPTS", "CONDITIONS", "CONDITIONS_AFTERWARDS", "Condition", "optimised_alike", "parameters_among", "why_not_alike"]


def optimised_alike(function: Function, module: Module) -> Function | None:
    """Return a function after the passes of `UNRECORDED`, which make it fast, if it still does what eager mode does; otherwise None.

    Bits, errors and new tensors must be the same.  The result is None in these cases:

        a gradient could be summed in another order
        a hook could be called that eager mode does not call
        a parameter would be written while its old value is still needed
        Python would receive an argument or a parameter in place of a new tensor
        a gradient inside of the function does not exist

    The resulting function must not be recorded, nor differentiated again.
    """
    made = _optimised_alike(function, module)
    return made if isinstance(made, Function) else None


def why_not_alike(function: Function, module: Module) -> str:
    """Return the reason, in words, for which `optimised_alike` returns None; "" if it returns a function."""
    made = _optimised_alike(function, module)
    return made if isinstance(made, str) else ""


def _optimised_alike(function: Function, module: Module) -> Function | str:
    flat = inlined(function, module)
    for name, condition in CONDITIONS.items():
        if not condition.holds(flat):
            if name != "sums" or not condition.holds(changed := with_first_rounds(flat)):
                return condition.otherwise
            flat = changed
    whole = Module(module.params, module.hosts, {**module.functions, function.symbol: flat})
    choices = _choices(flat)
    for schedule in ATTEMPTS if choices is not None else ATTEMPTS[1:]:
        try:
            made = schedule.run(whole).functions[function.symbol]
        except CompileError as mistake:
            return f"it takes a gradient that cannot be taken: {mistake.diagnostic.label or mistake.diagnostic.title}"
        for condition in CONDITIONS_AFTERWARDS.values():
            if not condition.holds(flat, made):
                return condition.otherwise
        made = _with_new_results(flat, made)
        if choices is None or ((found := _choices(made)) is not None and all(map(_alike, choices, found))):
            return made
    return "Python would be given another tensor than the one that a branch chooses"


def _shows_alike(before: Function, after: Function) -> bool:
    """Return True if Python gets the same kind of tensors from both functions: where `before` gives it a new tensor, `after` gives it a new
    one, too, and not an argument or a parameter.
    """
    calls = [[node for node in walk(function.body) if isinstance(node.op, Apply)] for function in (before, after)]
    if not any(calls):
        return True
    old, new = _Tensors(before), _Tensors(after)
    return all(
        {x for x in new.of(now) if not isinstance(x, Value)} <= old.of(then)
        for first, second in zip(*calls, strict=True) for then, now in zip(first.operands, second.operands, strict=True))


# -- which tensor a branch chooses ------------------------------------------------------------------------------------------
def _choices(function: Function) -> list[Any] | None:
    """Return, for each atom that Python gets (a result, or an operand of a call of Python), which tensors it may be.

    An argument is given by its position, a parameter by its symbol, and a new tensor by None; a new tensor that occurs several times has a
    number in a tuple.  A value that an `if` chooses is a pair, for the two sides.

    Return None instead of the list if branches inside of branches have too many choices.
    """
    tensors = _Tensors(function)
    shown = [*function.body.results, *(x for node in walk(function.body) if isinstance(node.op, Apply) for x in node.operands)]
    trees: list[Any] = []
    for x in shown:
        trees.append(tensors.tree(x))
        if tensors.listed > _MOST_CHOICES:
            return None
    uses = Counter(leaf for tree in trees for leaf in _leaves(tree) if isinstance(leaf, Value))
    numbers: dict[Any, Any] = {}

    def numbered(tree: Any) -> Any:
        if type(tree) is tuple:
            first, second = map(numbered, tree)
            return first if first == second else (first, second)
        if not isinstance(tree, Value):
            return tree
        return None if uses[tree] == 1 else numbers.setdefault(tree, (len(numbers),))

    return [numbered(tree) for tree in trees]


def _leaves(tree: Any) -> Iterator[Any]:
    if type(tree) is tuple:
        for part in tree:
            yield from _leaves(part)
    else:
        yield tree


def _alike(old: Any, new: Any) -> bool:
    """Return True if two entries of `_choices`, for one value before (`old`) and after (`new`) the passes, mean the same choice of tensors.

    A tensor from a loop may be any tensor, and a value that no branch chooses is checked elsewhere: both count as the same.
    """
    if old is _ANY or new is _ANY or not _is_chosen(old):
        return True
    return all(map(_alike, old, new)) if _is_chosen(new) else old == new


def _is_chosen(tree: Any) -> bool:
    return type(tree) is tuple and len(tree) == 2


_ANY: Final = object()
"""A marker in a list of choices (see `_choices`): the tensor is passed on by a loop, so it may be any tensor."""

_MOST_CHOICES: Final = 500
"""How many choices `_choices` lists at most; a function with more counts as too complicated, and None is returned."""


# -- which results are new tensors -----------------------------------------------------------------------------------------
_Tensor = int | str | Value
"""A key for one tensor: the position of an argument, the symbol of a parameter, or the value whose node computes it."""


def _with_new_results(before: Function, after: Function) -> Function:
    """Return `after` with a copy (an `identity` node) for each result that was a new tensor in `before`, but is an argument or a parameter
    now.
    """
    old, new = _Tensors(before), _Tensors(after)
    b = Builder()
    results: list[Atom] = []
    made: dict[_Tensor, list[set[_Tensor]]] = {}  # for each tensor that earlier results may be now, what these were
    for then, now in zip(before.body.results, after.body.results, strict=True):
        were, are = old.of(then), new.of(now)
        known = {x for x in are if not isinstance(x, Value)} <= were
        alone = not any(were.isdisjoint(others_were) for x in are for others_were in made.get(x, ()))
        if known and alone:
            results.append(now)
        else:
            copy: Value = b.emit(Identity(), now)
            results.append(copy)
            are = {copy}
        for x in are:
            made.setdefault(x, []).append(were)
    body = replace(after.body, nodes=(*after.body.nodes, *b.nodes), results=tuple(results))
    return replace(after, body=body)


def parameters_among(function: Function) -> set[str]:
    """Return the symbols of the parameters that a function may return as they are: the caller then gets the Parameter itself, not a new
    tensor.
    """
    tensors = _Tensors(function)
    return {x for result in function.body.results for x in tensors.of(result) if isinstance(x, str)}


class _Tensors:
    """Finds out which tensor each value of a function may be, through cells, branches and loops.

    listed  the number of choices that `tree` has visited
    """

    def __init__(self, function: Function):
        self._passed: dict[Value, list[Atom]] = {}
        self._chosen: set[Value] = set()
        self.listed = 0
        self._named: dict[Value, _Tensor] = {p: i for i, p in enumerate(function.params)}
        for node in walk(function.body):
            match node.op:
                case Read(symbol=symbol):
                    self._named[node.result] = symbol
                case Cell():
                    (body,) = node.regions
                    self._pass(node.operands, body.params)
                    self._pass(body.results, node.results)
                case Gradient():
                    self._pass(node.regions[0].results, node.results)
                case If():
                    (condition,) = node.operands
                    known = isinstance(condition, Literal)
                    if not known:
                        self._chosen.update(node.results)
                    for branch in (node.regions[not condition.value],) if known else node.regions:
                        self._pass(branch.results, node.results)
                case For() | While():
                    body = node.regions[-1]
                    count = len(node.results)
                    for carried in (node.operands[len(node.operands) - count :], body.results):
                        self._pass(carried, body.params[len(body.params) - count :])
                    self._pass(body.params[len(body.params) - count :], node.results)
                case _:
                    pass

    def _pass(self, atoms: Sequence[Atom], values: Sequence[Value]) -> None:
        for atom, value in zip(atoms, values, strict=False):
            self._passed.setdefault(value, []).append(atom)

    def tree(self, atom: Atom) -> Any:
        """Return which tensor an atom is at run time.

        That is a key (see `_Tensor`), None for a constant, a pair for the two sides of an `if`, or _ANY for a value of a loop.
        """
        while isinstance(atom, Value) and atom in self._passed and len(self._passed[atom]) == 1:
            (atom,) = self._passed[atom]
        if not isinstance(atom, Value):
            return None
        if atom in self._chosen:
            self.listed += 1
            if self.listed > _MOST_CHOICES:
                return None
            first, second = self._passed[atom]
            return self.tree(first), self.tree(second)
        return _ANY if atom in self._passed else self._named.get(atom, atom)

    def of(self, atom: Atom) -> set[_Tensor]:
        """Return the keys of all tensors that an atom may be; empty for a constant, which is a new tensor at each run."""
        found: set[_Tensor] = set()
        left, seen = [atom], set[Atom]()
        while left:
            at = left.pop()
            if not isinstance(at, Value) or at in seen:
                continue
            seen.add(at)
            if at in self._passed:
                left += self._passed[at]
            else:
                found.add(self._named.get(at, at))
        return found


# -- what is tried, and when it is taken ------------------------------------------------------------------------------------
class Condition(NamedTuple):
    """A condition under which a graph may run the optimised function; `CONDITIONS` and `CONDITIONS_AFTERWARDS` list them.

    holds      takes the function (afterwards: before and after the passes), and returns True if the condition holds
    otherwise  the reason to show if it does not hold
    """

    holds: Callable[..., bool]
    otherwise: str


ATTEMPTS: tuple[Schedule, ...] = (UNRECORDED, WITHOUT_ALGEBRA)
"""The lists of passes to try, in order: the first is used whose result passes on the same tensors as the function does in eager mode.

The first list is left out for a function with too many choices between tensors to compare them.
"""

CONDITIONS: dict[str, Condition] = {
    "sums": Condition(sums_alike, "a gradient would be summed in another order than in eager mode"),
    "calls": Condition(calls_alike, "a hook or a 'bprop' would be called on a path where eager mode does not call it"),
}
"""The checks that a function must pass before it is optimised, by name; each gets the function with its calls inlined (`holds(flat)`)."""

CONDITIONS_AFTERWARDS: dict[str, Condition] = {
    "reads": Condition(lambda flat, made: reads_survive(made), "a parameter is written while its old value is needed"),
    "arguments": Condition(_shows_alike, "Python would be given an argument in place of a new tensor"),
}
"""The checks that the result of the passes must pass, by name; each gets the function before and after the passes (`holds(flat, made)`)."""
