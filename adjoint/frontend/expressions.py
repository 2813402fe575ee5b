"""Expressions: each is computed by Python's own operators on the values of its parts; a tensor's operators emit nodes.

What a tensor decides (`a if c else b`, `a and b`, `not a`, a chain of comparisons) becomes an `if` of the graph.  An exception
that an operator raises keeps its type and gets the user's line as a note.
"""

from __future__ import annotations

import ast
import builtins
import collections
import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from adjoint.diagnostics import CompileError, Loc, noted
from adjoint.frontend import errors
from adjoint.frontend.aliases import Aliases
from adjoint.frontend.branches import Difference, Unreachable
from adjoint.frontend.chosen import Chosen, check, chosen
from adjoint.frontend.endless import is_endless
from adjoint.frontend.frame import UNBOUND, Frame, Unusable
from adjoint.frontend.journal import COLLECTIONS, CONTAINERS, CellPlace, ContentsPlace, ItemPlace, Journal, NamesPlace
from adjoint.frontend.loops import Looping
from adjoint.frontend.operators import BINARY, COMPARE, UNARY, Operators
from adjoint.frontend.outside import Outside, beneath
from adjoint.frontend.scope import assigned_names
from adjoint.frontend.text import RunTimeText, interpolated
from adjoint.frontend.world import World
from adjoint.ir.core import Atom

__all__ = ["Expressions"]

_PLAIN = frozenset({int, float, bool, str, type(None), list, dict, tuple, range})

_JOINED = frozenset({list, set, dict, collections.deque, bytearray})
"""Containers with operators of Python's own."""


class Expressions(Operators):
    """Runs expressions; what a call means is in `Calls`."""

    def __init__(self, world: World):
        self.world = world
        self.journal = Journal(lambda: world.loc)
        self.outside = Outside(world, self.journal)
        self.aliases = Aliases(world, lambda: self.frame)
        self.branching = Looping(world, self.journal, self.aliases)
        self.frame: Frame = None  # pyright: ignore[reportAttributeAccessIssue] - set for the time of each call
        self.iterators: dict[int, tuple[Iterator[Any], tuple[Any, ...]]] = {}
        """By id, those that parsed code has made, with what of."""
        self._looped: set[int] = set()
        """Those of them that a `for` goes through, which takes all their items at once."""
        self.depth = 0
        """How many calls of parsed functions are open."""
        self.returned_at = world.loc
        """Where the outermost of them returned last."""
        self.called_as = ""
        """How the function that is being called is written."""

    def returns_at(self, node: ast.AST) -> None:
        """Note where the function that is made into a graph returns."""
        if self.depth == 1:
            self.returned_at = self.place_of(node)

    def closure(self, node: ast.Lambda | ast.FunctionDef) -> Any:
        raise NotImplementedError

    # -- places -----------------------------------------------------------------------------------------------------
    def place_of(self, node: ast.AST) -> Loc:
        return self.frame.source.at(node)

    def unsupported(self, node: ast.AST, what: str, instead: str) -> CompileError:
        return errors.UNSUPPORTED.at(self.place_of(node), what, help=instead)

    @contextmanager
    def here(self, node: ast.AST) -> Iterator[None]:
        """What happens inside belongs to `node`: nodes get its place, and an exception a note that shows it."""
        loc = self.world.loc = self.place_of(node)
        try:
            yield
        except CompileError as mistake:
            placed = errors.moved(mistake, loc)
            if placed is mistake:
                raise
            raise placed from None
        except Unreachable:
            raise
        except Exception as raised:
            noted(raised, loc)
            raise

    def used(self, *values: Any) -> None:
        """Python is about to use these by itself: what objects of the user's then read is not seen one by one."""
        for value in values:
            if type(value) not in _PLAIN:
                check(value)
                self.world.read_object(value)
                self.outside.unparsed.given(value)

    # -- dispatch ---------------------------------------------------------------------------------------------------
    def value(self, node: ast.expr) -> Any:
        """The value of an expression."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.name(name, node)
            case ast.Attribute(value=holder, attr=name):
                return self.attribute(self.value(holder), name, node)
            case ast.Call():
                return self.called(node)
            case ast.BinOp(left=left, op=op, right=right):
                first, second = self.value(left), self.value(right)
                self.used(first, second)
                with self.here(node):
                    if isinstance(first, str) and isinstance(op, ast.Mod) and self.is_late(second):
                        return interpolated(first, second)
                    found = self.binary(BINARY[type(op)], first, second)
                # Python's own containers give another one: `a | b`, `a + b`, `a * 2`.
                return self._born(found) if type(first) in _JOINED and type(found) in _JOINED and found is not second else found
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._negated(self.tested(operand), node)
            case ast.UnaryOp(op=op, operand=operand):
                given = self.value(operand)
                self.used(given)
                with self.here(node):
                    return self.unary(UNARY[type(op)], given)
            case ast.Compare():
                return self._compared(node)
            case ast.BoolOp(op=op, values=values):
                return self._either(values, isinstance(op, ast.Or), node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(self.tested(test), lambda: self.value(body), lambda: self.value(orelse), node)
            case ast.Subscript(value=held, slice=key):
                container, index = self.value(held), self.value(key)
                return self._item(container, index, node)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*(None if part is None else self.value(part) for part in (lower, upper, step)))
            case ast.Tuple(elts=items):
                return tuple(self._items(items))
            case ast.List(elts=items):
                return self._born(list(self._items(items)))
            case ast.Set(elts=items):
                return self._born({self._key(item, place) for place in items for item in self._items([place])})
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values)
            case ast.ListComp(elt=elt, generators=generators):
                return self._born([self.value(elt) for _ in self._generated(generators, node)])
            case ast.GeneratorExp(elt=elt, generators=generators):
                items = [self.value(elt) for _ in self._generated(generators, node)]
                return self.begun(item for item in items)
            case ast.SetComp(elt=elt, generators=generators):
                return self._born({self._key(self.value(elt), elt) for _ in self._generated(generators, node)})
            case ast.DictComp(key=key, value=value, generators=generators):
                return self._born({self._key(self.value(key), key): self.value(value) for _ in self._generated(generators, node)})
            case ast.JoinedStr(values=parts):
                return self._text(parts)
            case ast.Lambda():
                return self.closure(node)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                found = self.value(value)
                self.bind(name, found, self._walrus_frame())
                return found
            case ast.Starred():
                raise self.unsupported(node, "a starred expression cannot stand here", "unpack it in a call, a tuple or a list")
            case _:
                instead = _INSTEAD.get(type(node), "write it differently")
                raise self.unsupported(node, f"`{type(node).__name__.lower()}` is not parsed", instead)

    def _walrus_frame(self) -> Frame:
        """Where `:=` binds: outside of comprehensions."""
        frame = self.frame
        while frame.is_comprehension:
            assert frame.outer is not None
            frame = frame.outer
        return frame

    # -- names ------------------------------------------------------------------------------------------------------
    def name(self, name: str, node: ast.AST) -> Any:
        """What a name stands for: local, of an enclosing function, global, built in."""
        frame: Frame | None = self.frame
        space = self.frame.space
        if name not in self.frame.globals:
            while frame is not None:
                if name in frame.local:
                    found = frame.names.get(name, UNBOUND)
                    if isinstance(found, Unusable):
                        raise found.make(name, self.place_of(node))
                    if found is UNBOUND:
                        message = f"cannot access local variable '{name}' where it is not associated with a value"
                        self.raised(UnboundLocalError, (message,), node)
                    return found
                if name in frame.cells:
                    cell = frame.cells[name]
                    self.world.read_closure(cell)
                    return self.outside.found(cell.cell_contents)
                frame = frame.outer
        self.world.read_name(space, name)
        if name in space:
            return self.outside.found(space[name])
        if hasattr(builtins, name):
            return getattr(builtins, name)
        missing = NameError(f"The name '{name}' is not defined")
        noted(missing, self.place_of(node))
        raise missing

    def bind(self, name: str, value: Any, frame: Frame | None = None) -> None:
        """Assign a local name, or one that was declared `global` or `nonlocal`."""
        frame = frame or self.frame
        if name in frame.globals:
            self.journal.write(ItemPlace(frame.space, name), value)
            return
        if name in frame.nonlocals:
            outer = frame.outer
            while outer is not None and name not in outer.local:
                if name in outer.cells:
                    break
                outer = outer.outer
            holder = outer if outer is not None else frame
            if name in holder.local and holder is not frame:
                self._set_name(holder, name, value)
            else:
                cell = holder.cells[name] if name in holder.cells else frame.cells[name]
                self.journal.write(CellPlace(cell), value)
            return
        self._set_name(frame, name, value)

    def _set_name(self, frame: Frame, name: str, value: Any) -> None:
        self.journal.touch(NamesPlace(frame.names))
        frame.names[name] = value

    # -- attributes and items -----------------------------------------------------------------------------------------
    def attribute(self, holder: Any, name: str, node: ast.AST) -> Any:
        """`holder.name`; a property of the user's own classes is parsed like a method."""
        check(holder)
        if not self.world.is_dynamic(holder):
            since = self.world.read_count()
            self.world.read_attribute(holder, name)
            descriptor = inspect.getattr_static(type(holder), name, None) if not isinstance(holder, type) else None
            if isinstance(descriptor, property) and descriptor.fget is not None and not self.world.is_library(descriptor.fget):
                # What it reads is recorded: it need not be asked at each call.
                self.world.unread(since, self.world.read_count())
                self.world.read_attribute(type(holder), name)
                return self.call(descriptor.fget, (holder,), {})
        elif self.world.is_tensor(holder):
            self.used(holder)
            if name in ("name", "requires_grad"):
                self.world.read_attribute(holder, name)
        with self.here(node):
            self.outside.unparsed.read(holder, name)
            return self.outside.part(holder, name, getattr(holder, name))

    def _item(self, container: Any, index: Any, node: ast.AST) -> Any:
        self.used(container)
        with self.here(node):
            if self.world.is_dynamic(index) and (isinstance(container, (list, tuple, dict, range, str)) or self.world.is_cells(container)) \
                    and self.special(container, "__getitem__") is None:
                item = chosen(self.world, container, index)
                if item is not None:
                    return item
                tensors = isinstance(container, (list, tuple)) and all(self.world.is_tensor(item) for item in container)
                raise errors.VALUE_NEEDED.at(
                    self.place_of(node), f"a {type(container).__name__} is indexed by a number that is not known while parsing",
                    help="stack the tensors (`ops.stack(items)[i]`), or loop over a range of known length" if tensors
                    else "choose with `if` and `elif`, or pass the number as an argument")
            if isinstance(container, dict) and hasattr(container, "__missing__") and index not in container:
                self.touched(container)
                self.outside.unparsed.given(container)
                return self._born(container[index])
            self.outside.unparsed.given(index)
            if self.world.is_tensor(container):
                return container[self.world.index(index)]
            return self.called_special(container, "__getitem__", (index,), lambda: container[index])

    def _items(self, nodes: Sequence[ast.expr]) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.iterated(self.value(node.value), node)
            else:
                yield self.value(node)

    def _dict(self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if key is None:
                made.update(self.value(value))
            else:
                made[self._key(self.value(key), key)] = self.value(value)
        return self._born(made)

    def _key(self, key: Any, node: ast.AST) -> Any:
        self.check_key(key, self.place_of(node))
        return key

    def check_key(self, key: Any, loc: Loc) -> None:
        """CompileError for a run-time number where it would be looked up: its hash is not known."""
        self.outside.unparsed.given(key)
        parts = key if isinstance(key, tuple) else (key,)
        if any(self.world.is_dynamic(part) and not self.world.is_tensor(part) for part in parts):
            raise errors.VALUE_NEEDED.at(loc, "a number that is not known while parsing is used as a key",
                                         help="use keys and elements of sets that are Python values; `if` and `elif` choose by a number")

    def touched(self, container: Any) -> None:
        """To be called before a container may be changed.  CompileError where that could not be taken back."""
        if isinstance(container, CONTAINERS):
            self.aliases.write(container)
            self.journal.touch(ContentsPlace(container))
            return
        place = self.world.place(container)
        if place is not None:
            self.journal.touch(place)
        elif isinstance(container, COLLECTIONS) and not self.journal.is_own(ContentsPlace(container)):
            name = type(container).__name__
            raise errors.UNSUPPORTED.at(self.world.loc, f"a {name} from before is changed where a tensor decides whether it is reached",
                                        help="use a list, a dict or a deque, or change it before")
        for held in beneath(container):
            self.touched(held)

    def check_iterator(self, x: Any) -> None:
        """CompileError for an iterator that would go on while parsing, and not when the graph runs, or not as Python's does."""
        if not isinstance(x, Iterator):
            return
        if id(x) not in self.iterators:
            raise errors.FROZEN_CALL.at(self.world.loc, "an iterator from outside goes on once, while the graph is built",
                                        help="call `next` outside, and pass what it gives as an argument")
        if id(x) in self._looped:
            raise errors.UNSUPPORTED.at(self.world.loc, "an iterator that a `for` goes through goes on besides",
                                        help="make a list of it: `items = list(it)`, and loop over that")
        if not self.journal.is_own(ContentsPlace(x)):
            raise errors.UNSUPPORTED.at(self.world.loc, "an iterator from before goes on where a tensor decides whether it does",
                                        help="call `next` before, or count in a number of your own: `items[i]`")

    def all_of(self, x: Any, node: ast.AST) -> Iterable[Any]:
        """What `iterated` gives, for one who takes all of it before anything else runs.  CompileError if it does not end."""
        with self.here(node):
            self.check_ends(x)
        return self.iterated(x, node)

    def check_ends(self, x: Any) -> None:
        """CompileError for an iterator that does not end, where all its items are to be computed."""
        if id(x) in self.iterators and is_endless(x, lambda iterator: self.iterators.get(id(iterator), (None, ()))[1]):
            raise errors.UNSUPPORTED.at(self.world.loc, "an iterator that does not end is gone through while parsing",
                                        help="say how far: `itertools.islice(items, n)`, or loop over a range")

    def looped(self, x: Any) -> None:
        """A `for` has taken all that the iterator `x`, and those it was made of, had to give."""
        if id(x) in self.iterators:
            self._looped.add(id(x))
            for part in self.iterators[id(x)][1]:
                self.looped(part)

    def begun(self, iterator: Iterator[Any]) -> Iterator[Any]:
        """An iterator that parsed code has made, of what is known already."""
        self.iterators[id(iterator)] = iterator, ()
        return self._born(iterator)

    def _born(self, container: Any) -> Any:
        self.journal.born(ContentsPlace(container))
        return container

    def iterated(self, x: Any, node: ast.AST) -> Iterable[Any]:
        """What a loop over `x` goes through, when its length is known."""
        self.used(x)
        with self.here(node):
            if self.world.is_tensor(x):
                return self.world.rows(x)
            if self.world.is_dynamic(x):
                raise TypeError(f"'{self.world.kind(x)}' object is not iterable")
            if isinstance(x, (list, tuple, dict, set, range, str)):
                return list(x)
            self.check_iterator(x)
            method = self.special(x, "__iter__")
            return iter(x) if method is None else self.iterated(self.call(method, (x,), {}), node)

    # -- what a tensor may decide -----------------------------------------------------------------------------------
    def truth(self, x: Any, node: ast.AST) -> Any:
        """Whether `x` is true: a bool, or an atom of the IR."""
        self.used(x)
        with self.here(node):
            method = self.special(x, "__bool__") or self.special(x, "__len__")
            return self.world.truth(x if method is None else self.call(method, (x,), {}))

    def test(self, node: ast.expr) -> Any:
        """The truth of an expression that stands where only its truth matters: a bool, or an atom of the IR."""
        return self.truth(self.tested(node), node)

    def tested(self, node: ast.expr) -> Any:
        """The same as a value: operands of `and` and `or` count by their truth, whatever they are."""
        if not isinstance(node, ast.BoolOp):
            return self.value(node)
        until = isinstance(node.op, ast.Or)

        def following(values: Sequence[ast.expr]) -> Any:
            truth = self._as_bool(self.tested(values[0]), values[0])
            if len(values) == 1:
                return truth
            if isinstance(truth, bool):
                return truth if truth is until else following(values[1:])
            rest: Callable[[], Any] = lambda: following(values[1:])  # noqa: E731 - both are handed on
            known: Callable[[], Any] = lambda: until  # noqa: E731
            return self.choice(truth, *((known, rest) if until else (rest, known)), node)

        return following(node.values)

    def _as_bool(self, x: Any, node: ast.AST) -> Any:
        """A bool, or a run-time one."""
        truth = self.truth(x, node)
        return truth if isinstance(truth, bool) else self.world.number("bool", x)

    def choice(self, tested: Any, first: Callable[[], Any], second: Callable[[], Any], node: ast.AST, help: str = "") -> Any:
        """One of two values."""
        condition = self.truth(tested, node)
        if isinstance(condition, bool):
            return first() if condition else second()
        return self.decided(condition, first, second, self.place_of(node), help)

    def decided(self, condition: Atom, first: Callable[[], Any], second: Callable[[], Any], loc: Loc, help: str = "") -> Any:
        """One of two values, as a bool of the graph decides at a place."""
        a, b = self.branching.branch(first), self.branching.branch(second)
        self.world.loc = loc
        try:
            return self.branching.merged(condition, a, b, lambda branch: False)
        except Difference as differ:
            here, there = self.branching.described(differ.first), self.branching.described(differ.second)
            raise errors.BRANCHES_DIFFER.at(loc, f"it is {here} on one path and {there} on the other",
                                            help=help or self.branching.remedy(differ), kind=self.branching.kind_of(differ)) from None

    def _negated(self, x: Any, node: ast.AST) -> Any:
        condition = self.truth(x, node)
        if isinstance(condition, bool):
            return not condition
        with self.here(node):
            return self.world.number("bool", x).negated()

    def _either(self, values: Sequence[ast.expr], until: bool, node: ast.AST) -> Any:
        """`a or b or ..` (`until` is True) or `a and b and ..`: the first value whose truth is `until`, else the last."""
        value = self.value(values[0])
        if len(values) == 1:
            return value
        condition = self.truth(value, values[0])
        rest: Callable[[], Any] = lambda: self._either(values[1:], until, node)  # noqa: E731 - both are handed on
        if isinstance(condition, bool):
            return value if condition is until else rest()
        kept: Callable[[], Any] = lambda: value  # noqa: E731
        word = "or" if until else "and"
        return self.choice(value, *((kept, rest) if until else (rest, kept)), node,
                           f"`{word}` gives one of its operands: write `ops.logical_{word}`, or an `if`")

    def _compared(self, node: ast.Compare) -> Any:
        """A chain `a < b < c`: each operand computed once, the rest only when the first part holds."""
        return self._chain(node, self.value(node.left), 0)

    def _chain(self, node: ast.Compare, left: Any, index: int) -> Any:
        right = self.value(node.comparators[index])
        held = self._comparison(node.ops[index], left, right, node)
        if index + 1 == len(node.ops):
            return held
        condition = self.truth(held, node)
        if isinstance(condition, bool):
            return self._chain(node, right, index + 1) if condition else held
        return self.choice(held, lambda: self._chain(node, right, index + 1), lambda: held, node)

    def _comparison(self, op: ast.cmpop, left: Any, right: Any, node: ast.AST) -> Any:
        if not isinstance(op, (ast.Is, ast.IsNot)):
            self.used(left, right)
        elif left is not None and right is not None:
            check(left, right)
        with self.here(node):
            match op:
                case ast.Is():
                    return left is right
                case ast.IsNot():
                    return left is not right
                case ast.In() | ast.NotIn():
                    return self._contained(left, right, isinstance(op, ast.In), node)
                case _:
                    return self.comparison(COMPARE[type(op)], left, right)

    def _contained(self, item: Any, container: Any, wanted: bool, node: ast.AST) -> Any:
        """`item in container`; among the elements of a tensor, or among tensors, by what `==` says of each."""
        method = self.special(container, "__contains__")
        if method is not None:
            found = self.call(method, (container, item), {})
            return self._as_bool(found, node) if wanted else self.opposite(found)
        self.outside.unparsed.given(item, container)
        if self.world.is_tensor(container):
            equal = self.comparison(COMPARE[ast.Eq], container, item)
            found = equal if isinstance(equal, bool) else equal.any()
            return self._as_bool(found, node) if wanted else self.opposite(found)
        if isinstance(container, (list, tuple)) and (self.world.is_dynamic(item) or any(self.world.is_dynamic(x) for x in container)):
            found: Any = False
            for x in container:
                same = item is x or item == x
                known = self.truth(same, node)
                if known is True:
                    return wanted
                if known is not False:
                    number = self.world.number("bool", same)
                    found = number if found is False else found.either(number)
            if found is False:
                return not wanted
            return found if wanted else found.negated()
        if isinstance(container, (dict, set, frozenset)):
            self._key(item, node)
        self.check_iterator(container)
        return (item in container) is wanted

    # -- comprehensions and text --------------------------------------------------------------------------------------
    def _generated(self, generators: Sequence[ast.comprehension], node: ast.AST) -> Iterator[None]:
        """One item for each round of the loops of a comprehension; its names are bound in a frame of their own."""
        outer = self.frame
        first = self.all_of(self.value(generators[0].iter), generators[0].iter)
        self.frame = outer.inner(frozenset(assigned_names([g.target for g in generators])))
        self.journal.born(NamesPlace(self.frame.names))
        inner = self.frame

        def rounds(index: int, items: Iterable[Any]) -> Iterator[None]:
            generator = generators[index]
            if generator.is_async:
                raise self.unsupported(node, "an `async` comprehension is not parsed", "use an ordinary one")
            for item in items:
                self.assign(generator.target, item)
                if not all(self._kept(test) for test in generator.ifs):
                    continue
                if index + 1 == len(generators):
                    yield None
                    self.frame = inner
                else:
                    following = generators[index + 1].iter
                    yield from rounds(index + 1, self.all_of(self.value(following), following))

        try:
            yield from rounds(0, first)
        finally:
            self.frame = outer

    def _kept(self, test: ast.expr) -> bool:
        condition = self.test(test)
        if not isinstance(condition, bool):
            raise errors.VALUE_NEEDED.at(
                self.place_of(test), "a tensor decides how long a list is", help="use `ops.where`, or keep all items and weigh them")
        return condition

    def assign(self, target: ast.expr, value: Any) -> None:
        raise NotImplementedError

    def raised(self, kind: type[BaseException], args: Sequence[Any], node: ast.AST) -> NoReturn:
        """Raise when the graph runs, after the effects before it."""

        def throw(*given: Any) -> None:
            raise kind(*given)

        self.world.loc = self.place_of(node)
        self.world.effect(f"raise {kind.__name__}", throw, args)
        raise Unreachable

    def raised_as(self, mistake: Exception) -> NoReturn:
        """Raise an exception that Python has raised while parsing when the graph runs, each time anew."""

        def throw() -> None:
            again = copy.copy(mistake)
            again.__notes__ = list(getattr(mistake, "__notes__", ()))
            raise again.with_traceback(None)

        self.world.effect("raise", throw, ())
        raise Unreachable

    def _text(self, parts: Sequence[ast.expr]) -> Any:
        """An f-string: text, or, with a dynamic value in it, text that is made when the graph runs."""
        pieces: list[Any] = []
        for part in parts:
            if isinstance(part, ast.FormattedValue):
                value = self.value(part.value)
                self.used(value)
                spec = "" if part.format_spec is None else self.value(part.format_spec)
                conversion = {-1: "", ord("s"): "s", ord("r"): "r", ord("a"): "a"}[part.conversion]
                pieces.append((value, conversion, spec))
            else:
                assert isinstance(part, ast.Constant)
                pieces.append(part.value)
        text = RunTimeText(tuple(pieces))
        return text if any(self.is_late(piece[0]) for piece in pieces if isinstance(piece, tuple)) else str(text)

    def is_late(self, value: Any) -> bool:
        """Whether a value, or one inside of it, has its numbers only when the graph runs."""
        if isinstance(value, (list, tuple, set)):
            return any(self.is_late(item) for item in value)
        if isinstance(value, dict):
            return any(self.is_late(item) for item in value.values())
        return self.world.is_dynamic(value) or isinstance(value, (RunTimeText, Chosen))

    def called(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        args = tuple(self._items(node.args))
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            given = self.value(keyword.value)
            if keyword.arg is None:
                kwargs.update(given)
            elif keyword.arg in kwargs:
                repeated = TypeError(f"got multiple values for keyword argument '{keyword.arg}'")
                noted(repeated, self.place_of(node))
                raise repeated
            else:
                kwargs[keyword.arg] = given
        with self.here(node):
            self.called_as = ast.unparse(node.func)
            return self.call(function, args, kwargs)


_INSTEAD: dict[type[ast.expr], str] = {
    ast.Await: "call an ordinary function", ast.Yield: "return a list", ast.YieldFrom: "return a list",
}
