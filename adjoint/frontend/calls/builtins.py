"""Replacements of Python's built-in functions, for calls in the code that becomes the graph.

Each does what the built-in does, and also accepts values that are known only when the graph runs, and the user's functions as arguments.
"""

from __future__ import annotations

import abc
import builtins
import functools
import itertools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.calls.python_calls import PythonCalls
from adjoint.frontend.changes import purity
from adjoint.frontend.changes.journal import MISSING, AttributePlace, ContentsPlace
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.control.branches import Difference
from adjoint.frontend.control.loops import Looping
from adjoint.frontend.operations.access import MemberAccess
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.iterators import Iterators
from adjoint.frontend.operations.operators import Operators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.values.frame import Closure
from adjoint.frontend.values.numbers import RunTimeRange
from adjoint.frontend.values.text import RunTimeText
from adjoint.frontend.world import World

__all__ = ["PYTHON", "Builtins"]


class Builtins:
    """Gives the replacements in this module access to the other parts of the frontend (operators, calls, the graph that is being made).
    `Calls` passes it as the first argument, `on`, to each replacement.

    world  the interface to the runtime, which makes the nodes
    stack, objects, operators, iterators, branching, access, python, run  the parts of the `Lowerer` that the replacements use
    """

    def __init__(self, world: World, stack: CallStack, objects: Objects, operators: Operators, iterators: Iterators, branching: Looping,
                 access: MemberAccess, python: PythonCalls, run: Runner):
        self.world, self.stack, self.objects, self.operators = world, stack, objects, operators
        self.iterators, self.branching, self.access, self.python, self.run = iterators, branching, access, python, run


Special = Callable[[Builtins, tuple[Any, ...], dict[str, Any]], Any]
"""The type of a replacement: it receives a Builtins, the positional and the keyword arguments, and returns what the built-in would return.
"""

PYTHON: dict[Any, Special] = {}
"""For each built-in function of Python that has a replacement: the replacement, which also accepts values of the graph."""


def _for(*functions: Any) -> Callable[[Special], Special]:
    def register(special: Special) -> Special:
        PYTHON.update(dict.fromkeys(functions, special))
        return special

    return register


@_for(print)
def _print(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Replace `print`: the graph prints when it runs, in order with its other effects.  Nothing is printed while the graph is made.

    on  gives access to the other parts of the frontend

    CompileError if the graph computes `sep`, `end` or `file`.
    """

    for name, x in kwargs.items():
        if on.objects.is_late(x):
            raise errors.NOT_A_CONSTANT.at(on.world.loc, f"`{name}` depends on a tensor", help=f"pass a Python value as `{name}`")

    def shown(*values: Any) -> None:
        builtins.print(*values, **kwargs)

    on.world.effect("print", shown, args, shows=kwargs.get("file") is None)


def _number(kind: type) -> Special:
    def convert(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) == 1 and not kwargs and on.world.is_dynamic(args[0]):
            return on.world.number(kind.__name__, args[0])
        return kind(*args, **kwargs)

    return convert


PYTHON.update({kind: _number(kind) for kind in (int, float, bool)})


@_for(range)
def _range(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not any(on.world.is_dynamic(x) for x in args):
        return range(*args, **kwargs)
    if not 1 <= len(args) <= 3 or kwargs:
        raise TypeError(f"range expected 1 to 3 arguments, got {len(args)}")
    whole = [on.world.number("int", x) if on.world.is_dynamic(x) else x for x in args]
    start, stop, step = (0, whole[0], 1) if len(whole) == 1 else (*whole, 1) if len(whole) == 2 else whole
    return RunTimeRange(start, stop, step)


@_for(isinstance)
def _isinstance(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, kinds = args
    on.objects.outside.unparsed.given(kinds)
    found = _python_types(on, x)
    kind = found[0]
    itself = kind is type(x)
    checks = {type(each).__instancecheck__ for each in _classes(kinds)} - {type.__instancecheck__}
    if checks:
        by_class = not itself or (purity.is_in_c(kind) and checks == {abc.ABCMeta.__instancecheck__})
        on.world.read_outcome(*((issubclass, (kind, kinds)) if by_class else (isinstance, args)))
    elif itself:
        _read_class(on, x)
    answers = {isinstance(x, kinds)} if itself else {issubclass(each, kinds) for each in found}
    if len(answers) > 1:
        raise _unknown_type(on)
    return answers.pop()


@_for(issubclass)
def _issubclass(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    kind, kinds = args
    on.objects.outside.unparsed.given(kinds)
    if any(type(each).__subclasscheck__ is not type.__subclasscheck__ for each in _classes(kinds)):
        on.world.read_outcome(issubclass, args)
    elif isinstance(kind, type) and not purity.is_in_c(kind):
        on.world.read_attribute(kind, "__mro__")
    return issubclass(kind, kinds)


def _read_class(on: Builtins, x: Any) -> None:
    """Record that the graph depends on the class of the object `x` and on the bases of that class, unless these can never change.

    A later call of the user's function makes a new graph if they have changed.
    """
    kind = type(x)
    if not purity.is_in_c(kind) and not on.world.is_dynamic(x):
        on.world.read_outcome(type, (x,))
        if not on.world.is_library(kind):
            on.world.read_attribute(kind, "__mro__")


def _classes(kinds: Any) -> Iterator[Any]:
    """Yield the single classes in the second argument of `isinstance` or `issubclass`.

    kinds  a class, a union, or a nested tuple of them
    """
    if isinstance(kinds, (tuple, types.UnionType)):
        for kind in kinds if isinstance(kinds, tuple) else kinds.__args__:
            yield from _classes(kind)
    elif isinstance(kinds, type):
        yield kinds

@_for(type)
def _type(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 1:
        _read_class(on, args[0])
        found = _python_types(on, args[0])
        if len(found) > 1:
            raise _unknown_type(on)
        return found[0]
    return type(*args, **kwargs)


def _python_types(on: Builtins, x: Any) -> Sequence[type]:
    """Return the types that `type(x)` may give in eager mode.  There is more than one only if a branch or a loop of the graph decides
    whether a tensor is a Parameter.
    """
    if isinstance(x, RunTimeText):
        return [str]
    if isinstance(x, Closure):
        return [types.FunctionType]
    kind = on.world.kind(x) if on.world.is_dynamic(x) else None
    if kind is not None and kind.category != "tensor":
        return [{"int": int, "float": float, "bool": bool}[kind.category]]
    return on.world.python_types(x)


def _unknown_type(on: Builtins) -> Exception:
    return errors.VALUE_NEEDED.at(on.world.loc, "whether this is a Parameter depends on a branch or a loop",
                                  help="ask for it before, where it is known, or compute with `x.value()` on all paths")


@_for(len)
def _len(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 1 and isinstance(args[0], (RunTimeText, RunTimeRange)):
        what = "string that contains a tensor" if isinstance(args[0], RunTimeText) else "range with a run-time number"
        raise errors.VALUE_NEEDED.at(on.world.loc, f"the length of a {what} is not known while parsing",
                                     help="compute with the tensor or number itself")
    if len(args) != 1:
        return len(*args, **kwargs)
    # The length of a tensor may be a size that is not known: `len` would refuse it.
    return on.operators.called_special(args[0], "__len__", (), lambda: args[0].__len__() if on.world.is_dynamic(args[0]) else len(args[0]))


@_for(abs)
def _abs(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return on.operators.called_special(args[0], "__abs__", (), lambda: abs(args[0])) if len(args) == 1 else abs(*args, **kwargs)


@_for(hash)
def _hash(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if any(on.objects.is_late(x) and not on.world.is_tensor(x) for x in args):
        raise errors.VALUE_NEEDED.at(on.world.loc, "the hash of a run-time number is not known while parsing",
                                     help="use keys that are Python values")
    return hash(*args, **kwargs)


@_for(divmod)
def _divmod(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 2 and any(on.world.is_dynamic(x) and not on.world.is_tensor(x) for x in args):
        return args[0] // args[1], args[0] % args[1]
    return divmod(*args, **kwargs)


@_for(str)
def _str(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if args and on.objects.is_late(args[0]):
        return RunTimeText(((args[0], "", args[1] if len(args) > 1 else ""),))
    on.objects.shown(args[0] if args else None)
    return str(*args, **kwargs)


@_for(repr)
def _repr(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    on.objects.shown(args[0])
    return RunTimeText(((args[0], "r", ""),)) if on.objects.is_late(args[0]) else repr(args[0])


@_for(format)
def _format(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    on.objects.shown(args[0])
    return RunTimeText(((args[0], "", args[1] if len(args) > 1 else ""),)) if on.objects.is_late(args[0]) else format(*args, **kwargs)


def _extreme(function: Any, better: Callable[[Any, Any], Any]) -> Special:
    """Return a replacement of `max` or `min`, which also accepts tensors and numbers of the graph.  Of equal items it takes the first, as
    Python does.

    function  `max` or `min`
    better    compares two items (or their `key`s); a true result means that the first of them is taken
    """

    def extreme(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        key = kwargs.get("key")
        ranked = [(x if key is None else on.run.call(key, (x,), {}), x) for x in (_items(on, args[0]) if len(args) == 1 else args)]
        if not ranked:
            return function([], *args[1:], **kwargs)
        if not any(on.world.is_dynamic(rank) for rank, _ in ranked):
            return function(ranked, key=lambda pair: pair[0])[1]
        best_rank, best = ranked[0]
        for rank, x in ranked[1:]:
            wins = better(rank, best_rank)
            best, best_rank = _chosen(on, wins, (x, rank), (best, best_rank))
        return best

    return extreme


def _chosen(on: Builtins, condition: Any, first: tuple[Any, Any], second: tuple[Any, Any]) -> tuple[Any, Any]:
    return _decided(on, on.world.truth(condition), lambda: first, lambda: second)


def _decided(on: Builtins, condition: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """Return `first()` if the condition is true, `second()` if it is false.

    condition  a Python bool, then only one of the functions is called; or a bool of the IR, then both are, and the graph gets an `if` whose
        result is merged from both values

    CompileError if the two values cannot be merged since their types differ.
    """
    if isinstance(condition, bool):
        return first() if condition else second()
    a, b = on.branching.branch(first), on.branching.branch(second)
    try:
        return on.branching.merged(condition, a, b, lambda branch: False)
    except Difference as differ:
        kinds = " and ".join(on.branching.described(x) for x in (differ.first, differ.second))
        raise errors.BRANCHES_DIFFER.at(on.world.loc, f"which one is chosen is known only when the graph runs, but they are {kinds}",
                                        help="convert all to one type: `float(x)`") from None


PYTHON[max] = _extreme(max, lambda a, b: a > b)
PYTHON[min] = _extreme(min, lambda a, b: a < b)


def _in_turn(on: Builtins, sequence: Iterator[Any], items: Iterator[Any], until: bool) -> Any:
    """Return what `any` or `all` returns for the items of an iterator.  As in Python, no item is taken after the one that decides.

    on        gives access to the other parts of the frontend
    sequence  the iterator that the user's code has passed.  If a tensor decides how many items are taken, later code may not advance it:
        `Iterators.undecided` is told
    items     yields the items of `sequence`
    until     the truth of an item that decides: True for `any`, False for `all`
    """
    for item in items:
        known = on.world.truth(item)
        if known is until:
            return until
        if not isinstance(known, bool):
            on.iterators.undecided(sequence)
            rest: Callable[[], Any] = lambda: _in_turn(on, sequence, items, until)  # noqa: E731 - both are handed on
            decided: Callable[[], Any] = lambda: until  # noqa: E731
            return _decided(on, known, *((decided, rest) if until else (rest, decided)))
    return not until


def _quantified(until: bool) -> Special:
    """Return a replacement of `any` or `all`, which also accepts items that are known only when the graph runs.

    until  the truth of an item that decides: True for `any`, False for `all`
    """

    def quantified(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        (sequence,) = args
        items = iter(_items(on, sequence))
        if isinstance(sequence, Iterator):
            return _in_turn(on, sequence, items, until)
        found: Any = None
        for item in items:
            known = on.world.truth(item)
            if known is until:
                return until
            if not isinstance(known, bool):
                number = on.world.number("bool", item)
                found = number if found is None else found.either(number) if until else found.both(number)
        return (not until) if found is None else found

    return quantified


PYTHON[any] = _quantified(True)
PYTHON[all] = _quantified(False)


def _items(on: Builtins, x: Any) -> Iterable[Any]:
    if on.world.is_tensor(x):
        return on.iterators.rows(x)
    on.iterators.check(x)
    on.objects.outside.unparsed.given(x)
    return on.objects.steady_items(x)


@_for(sum)
def _sum(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    sequence, *start = args
    total = start[0] if start else kwargs.get("start", 0)
    for item in _items(on, sequence):
        total = total + item
    return total


@_for(map)
def _map(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) < 2 or kwargs:
        return map(*args, **kwargs)  # raises what Python raises
    function, *sequences = args
    return on.iterators.begun(map(lambda *items: _called(on, function, items), *(_items(on, s) for s in sequences)), *sequences)


def _called(on: Builtins, function: Any, args: tuple[Any, ...]) -> Any:
    """Call a function of the user on items of an iterator, and return its result.

    The current place in the user's program, which errors show, stays that of the code that advances the iterator.
    """
    loc = on.world.loc
    try:
        return on.run.call(function, args, {})
    finally:
        on.world.loc = loc


@_for(filter)
def _filter(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    function, sequence = args
    loc = on.world.loc

    def kept(item: Any) -> bool:
        known = on.world.truth(item if function is None else _called(on, function, (item,)))
        if not isinstance(known, bool):
            raise errors.VALUE_NEEDED.at(loc, "the length of this list depends on a tensor",
                                         help="use `ops.where`, or keep all items and multiply those to leave out by 0")
        return known

    return on.iterators.begun(filter(kept, _items(on, sequence)), sequence)


@_for(functools.reduce)
def _reduce(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    function, sequence, *first = args
    on.iterators.check_ends(sequence)
    items = itertools.chain(first, _items(on, sequence))
    found = next(items, MISSING)
    if found is MISSING:
        raise TypeError("reduce() of empty iterable with no initial value")
    for item in items:
        found = on.run.call(function, (found, item), {})
    return found


def _over_rows(function: Any) -> Special:
    """Return a replacement of a built-in function that takes sequences, such as `zip`.  It treats a tensor as the sequence of its rows.

    function  the built-in
    """

    def over(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = tuple(on.iterators.rows(x) if on.world.is_tensor(x) else x for x in args)
        if any(isinstance(x, RunTimeRange) for x in given):
            raise errors.VALUE_NEEDED.at(on.world.loc, "a range whose length is not known while parsing is used as a sequence",
                                         help="loop over it with `for i in range(n)`")
        return on.python.call(function, given, kwargs)

    return over


_SEQUENCES = (zip, enumerate, list, tuple, reversed, itertools.chain, itertools.accumulate)
PYTHON.update({function: _over_rows(function) for function in _SEQUENCES})


@_for(sorted)
def _sorted(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    items = list(_items(on, args[0]))
    key = kwargs.get("key")
    ranks = [x if key is None else on.run.call(key, (x,), {}) for x in items]
    if any(on.objects.is_late(rank) for rank in ranks) and len(items) > 1:
        raise errors.VALUE_NEEDED.at(on.world.loc, "the order of this list depends on tensors",
                                     help="stack them (`ops.stack`) and use `ops.sort`")
    order = sorted(range(len(items)), key=ranks.__getitem__, **{name: x for name, x in kwargs.items() if name != "key"})
    found = [items[i] for i in order]
    on.objects.journal.born(ContentsPlace(found))
    return found


def _name_of(on: Builtins, name: Any) -> Any:
    if isinstance(name, RunTimeText):
        raise errors.NOT_A_CONSTANT.at(on.world.loc, "the name of this attribute is a string that contains a tensor",
                                       help="choose the attribute by a Python value")
    return name


@_for(getattr)
def _getattr(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    holder, name, *default = args
    _name_of(on, name)
    if on.world.is_dynamic(holder):
        return getattr(holder, name, *default)
    on.world.read_attribute(holder, name)
    on.objects.outside.unparsed.read(holder, name)
    return on.objects.outside.part(holder, name, on.objects.attribute(holder, name, *default))


@_for(hasattr)
def _hasattr(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    holder, name = args
    _name_of(on, name)
    if not on.world.is_dynamic(holder):
        on.world.read_attribute(holder, name)
        on.objects.outside.unparsed.read(holder, name)
        return on.objects.attribute(holder, name, MISSING) is not MISSING
    return hasattr(holder, name)


@_for(setattr)
def _setattr(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    holder, name, value = args
    _name_of(on, name)
    if not on.world.store_attribute(holder, name, value):
        on.access.set_attribute(holder, name, value)


@_for(delattr)
def _delattr(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    holder, name = args
    on.objects.touched_once(AttributePlace(holder, _name_of(on, name)))
    delattr(holder, name)


@_for(callable)
def _callable(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return callable(*args)


@_for(super)
def _super(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if args:
        return super(*args)  # pyright: ignore[reportArgumentType] - Python says what is wrong with them
    frame = on.stack.frame
    while frame.outer is not None and "__class__" not in frame.cells:
        frame = frame.outer
    cell = frame.cells.get("__class__")
    if cell is None:
        raise RuntimeError("super(): no arguments")
    return super(on.objects.workspace.variable(cell), frame.first)


@_for(round)
def _round(on: Builtins, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = args[0]
    if on.world.is_dynamic(x) and not on.world.is_tensor(x):
        return x.rounded(*args[1:], **kwargs)
    return round(*args, **kwargs)
