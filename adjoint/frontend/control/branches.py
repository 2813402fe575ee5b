"""Branches that a tensor decides between.  The code of both is run from the same state of the program, which turns it into nodes of the
graph, and their results are merged.

    Python               IR
    if c: y = a          y = if c { yield a }          values of one kind are merged to
    else: y = b              else { yield b }          results of the node; equal constants stay constants

A branch may end in `return`, `break`, `continue` or `raise`.  How a list of statements ends is described by an *outcome*: a code, which is
known already or is a number that the graph computes, and for `return` a value.  If one branch of an `if` leaves the block, the statements
after the `if` become part of the other branch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN, Loc, Note
from adjoint.frontend import errors
from adjoint.frontend.changes.aliases import Aliases
from adjoint.frontend.changes.journal import CONTAINERS, AttributePlace, Changes, ContentsPlace, Journal, MutablePlace, NamesPlace
from adjoint.frontend.values.frame import UNBOUND, Unusable
from adjoint.frontend.values.structure import like
from adjoint.frontend.values.text import RunTimeText
from adjoint.frontend.world import Kind, World
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom
from adjoint.ir.ops.control import If
from adjoint.ir.ops.stack import Undef

__all__ = ["BREAK", "CONTINUE", "NEXT", "RETURN", "Branch", "Branching", "Difference", "Outcome", "PerhapsNone", "Unreachable"]

NEXT, BREAK, CONTINUE, RETURN = range(4)

_SHOWN = 4
"""How many items of a list an error message shows."""


class Unreachable(Exception):
    """Raised when a `raise` statement has become a node of the graph, since the graph never runs the statements after it.  Whoever runs
    the branch or the loop around to make its nodes catches this exception, and continues with the code that is not after the `raise`.
    """


@dataclass(frozen=True, eq=False)
class Outcome:
    """Tells those who run a list of statements how the list ended.  Running statements gives None instead if control reaches their end.

    code      NEXT (the end was reached), BREAK, CONTINUE or RETURN; or a number that the graph computes and that is one of these, if a
              tensor decides
    value     the returned value; UNBOUND (a marker) without a `return`
    possible  if the graph computes `code`, the codes that it may be
    """

    code: Any
    value: Any = UNBOUND
    possible: frozenset[int] = frozenset()

    @property
    def is_known(self) -> bool:
        return isinstance(self.code, int)

    @property
    def codes(self) -> frozenset[int]:
        """Return the set of all codes with which the statements may end when the graph runs: NEXT (at their end), BREAK, CONTINUE, RETURN.
        """
        return frozenset({self.code}) if self.is_known else self.possible

    def without(self, code: int) -> Outcome:
        """Return this outcome for the case that the statements did not end by `code`, such as BREAK.

        If only one other code is possible, it is the known code of the result.
        """
        left = self.codes - {code}
        return Outcome(next(iter(left)), self.value) if len(left) == 1 else Outcome(self.code, self.value, left)


@dataclass(frozen=True, eq=False)
class PerhapsNone:
    """Represents a value that the graph returns to Python and that may be None.  When the graph runs, the result is `value` if the run-time
    bool `there` (a bool that the graph computes) is true, and None otherwise.
    """

    there: Any
    value: Any


@dataclass(eq=False)
class Branch:
    """Holds one branch of an `if` whose code has been turned into nodes, until `Branching.merged` makes an `if` of two of them or
    `Branching.resume` continues it.

    builder  the nodes of the branch
    changes  the values that the branch has given to variables, attributes and containers; the program has its earlier values again, so that
        the other branch begins from the same state
    result   what the code of the branch returned; for statements how they ended, an `Outcome` or None
    dead     True if the branch always ends in a `raise`
    loc      the line of the user's program where the branch begins
    """

    builder: Builder
    changes: Changes
    result: Any
    dead: bool
    loc: Loc

    @property
    def is_empty(self) -> bool:
        """Return True if the branch has no nodes and no changes, and does not raise."""
        return not (self.dead or self.changes or self.builder.nodes)


class Difference(Exception):
    """Raised when the values of two branches cannot be merged to one value of the graph: different Python objects, or tensors of different
    dtypes or shapes.  Callers turn it into a CompileError that shows both values.

    name    the variable that has the two values, or a description of what has them
    first   the value after the first branch
    second  the value after the second branch
    """

    def __init__(self, name: str, first: Any, second: Any):
        super().__init__(name)
        self.name, self.first, self.second = name, first, second


DEAD: Any = type("Dead", (), {"__repr__": lambda self: "dead"})()
"""Stands for the value of a branch that does not reach the end of the `if`, so that any value of the other branch can be taken."""

_Made = Callable[[Sequence[Any]], Any]

_WHOLE = tuple(kind for kind in CONTAINERS if kind not in (list, dict, set))
"""Types of containers that cannot be merged with another container.  The contents of one container on two paths can be."""


class Merge:
    """Merges the values that two branches, or two rounds of a loop, leave in the same variables.  Branching and loops use one object for
    each `if` or loop.

    Merging has two steps.  First, `value` is called for each pair of values.  Pairs that need a result of the IR node are collected in
    `pairs`.  Each call returns a function, which builds the merged value later, from the results of the node.

    world       the interface to the runtime, which makes the nodes
    aliases     is told which objects a merged value may be
    broadcasts  True if a Python number may be merged with a tensor of any shape; otherwise only with a tensor without axes
    journal     records merged lists and dicts as newly created; None if the caller does that
    """

    def __init__(self, world: World, aliases: Aliases, broadcasts: bool = False, journal: Journal | None = None):
        self.world, self.aliases, self.broadcasts, self.journal = world, aliases, broadcasts, journal
        self.pairs: list[tuple[Any, Any, Kind, str]] = []
        self.ends: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
        """For each of the two paths: by the `id` of a tensor or container that the path writes in place, its value at the end of the path.
        """
        self.own: Mapping[int, Any] = {}
        """By their `id`, the objects that a loop has made to hold values at the beginning of a round.  Their values at the end of the round
        are not in `ends`.
        """
        self._known: dict[tuple[int, int], tuple[_Made, int]] = {}
        # The closures in `_known` refer to this merge.
        aliases.at_end.append(lambda: vars(self).clear())

    def drop(self, count: int) -> None:
        """Forget all but the first `count` entries of `pairs`.  Called if a part of a nested structure cannot be merged after others were.
        """
        del self.pairs[count:]
        self._known = {key: entry for key, entry in self._known.items() if entry[1] < count}

    def value(self, a: Any, b: Any, name: str) -> _Made:
        """Return a function that builds the value that is `a` after one branch and `b` after the other.  Difference if they cannot be
        merged.

        a, b  the values; DEAD (a marker) for a branch that does not get here
        name  the variable that has these values, for error messages

        The returned function receives the results of the IR node, one for each entry of `pairs`.  The same two objects are always merged to
        the same object, so that two variables that refer to one object still do so.
        """
        key = (id(a), id(b))
        known = self._known.get(key)
        if known is not None:
            return known[0]
        start = len(self.pairs)
        build = self._value(a, b, name)
        if not any(x is not DEAD and (self.world.is_tensor(x) or isinstance(x, (list, dict))) for x in (a, b)):
            return build
        last: list[Any] = [None, None]
        aliases, journal = self.aliases, self.journal  # not self: the returned function must not keep the merge alive, which keeps it

        def once(made: Sequence[Any]) -> Any:
            if last[0] is not made:
                found = build(made)
                if found is not a or found is not b:
                    aliases.merged(found, *(x for x in (a, b) if x is not DEAD))
                if journal is not None and isinstance(found, (list, dict)) and found is not a and found is not b:
                    journal.born(ContentsPlace(found))
                last[:] = made, found
            return last[1]

        self._known[key] = once, start
        return once

    def result(self, a: Any, b: Any) -> _Made:
        """Do the same as `value` for what two branches return to Python.  Here one branch may return None and the other something else: the
        merged value is then a `PerhapsNone`.

        a, b  the results of the branches; DEAD (a marker) for a branch that does not return
        """
        if all(x is None or x is DEAD for x in (a, b)) or not any(x is None or isinstance(x, PerhapsNone) for x in (a, b)):
            return self.value(a, b, "returned")
        if any(isinstance(x, RunTimeText) for x in (a, b)):
            raise Difference("returned", a, b)
        (first_there, first), (second_there, second) = map(_taken_apart, (a, b))
        there, value = self.value(first_there, second_there, "returned"), self.value(first, second, "returned")
        return lambda made: PerhapsNone(there(made), value(made))

    def _value(self, a: Any, b: Any, name: str) -> _Made:
        if a is DEAD and b is DEAD:
            return lambda made: UNBOUND
        if (a is b and not (id(a) in self.own and id(a) in self.ends[1])) or (b is DEAD and self.world.is_here(a)):
            return lambda made: a
        if a is DEAD and self.world.is_here(b):
            return lambda made: b
        if isinstance(a, _WHOLE) or isinstance(b, _WHOLE):
            raise Difference(name, a, b)
        a, b = self.ends[0].get(id(a), a), self.ends[1].get(id(b), b)
        if self.world.is_tensor(a) and self.world.is_tensor(b) and self._same(a, b):
            world = self.world
            return lambda made: world.renamed(a)
        if a is not DEAD and b is not DEAD and self._same(a, b):
            return lambda made: a
        if isinstance(a, Unusable) or isinstance(b, Unusable):
            kept = a if isinstance(a, Unusable) else b
            return lambda made: kept
        known = b if a is DEAD else a
        if a is not DEAD and b is not DEAD and (a is UNBOUND or b is UNBOUND):
            raise Difference(name, a, b)
        kind = self._kind(a, b, known)
        if kind is not None:
            index = len(self.pairs)
            self.pairs.append((a, b, kind, name))
            return lambda made: made[index]
        if (a is DEAD or b is DEAD) and not isinstance(known, (list, tuple, dict)):
            return lambda made: known
        if isinstance(known, (list, tuple)):
            other = known if a is DEAD or b is DEAD else b
            if type(other) is not type(known) or len(other) != len(known):
                raise Difference(name, a, b)
            firsts = [DEAD] * len(known) if a is DEAD else a
            seconds = [DEAD] * len(known) if b is DEAD else b
            parts = [self.value(x, y, name) for x, y in zip(firsts, seconds, strict=True)]
            return lambda made: like(known, [part(made) for part in parts])
        if isinstance(known, dict):
            if type(known) is not dict or (a is not DEAD and b is not DEAD and (type(a) is not type(b) or list(a) != list(b))):
                raise Difference(name, a, b)
            parts = [self.value(DEAD if a is DEAD else a[key], DEAD if b is DEAD else b[key], name) for key in known]
            keys = dict.fromkeys(known)  # the dict itself may change until the value is built
            return lambda made: like(keys, [part(made) for part in parts])
        raise Difference(name, a, b)

    def _kind(self, a: Any, b: Any, known: Any) -> Kind | None:
        """Return the kind (tensor, int, float or bool, with its IR type) that the values of two branches can both have, or None if there is
        none.

        a, b   the values; DEAD (a marker) for a branch that does not get here
        known  one of them that is not DEAD
        """
        if a is DEAD or b is DEAD:
            return self.world.kind(known) if self.world.is_dynamic(known) else None
        first, second = self.world.kind(a), self.world.kind(b)
        if first == second or first is None or second is None:
            return first if first == second else None
        # A Python number becomes a tensor where the other value is one, if that changes no dtype.
        for tensor, number in ((first, b), (second, a)):
            if tensor.category == "tensor" and (self.broadcasts or not tensor.type.rank) and self.world.joins(number, tensor.type):
                return tensor
        return None

    def _same(self, a: Any, b: Any) -> bool:
        """Return True if it is known while the graph is made that the values `a` and `b` are equal."""
        if self.world.is_dynamic(a) or self.world.is_dynamic(b):
            return self.world.is_dynamic(a) and self.world.is_dynamic(b) and _one_atom(a, b)
        if type(a) is not type(b):
            return False
        if isinstance(a, (bool, int, str, bytes, type(None))):
            return bool(a == b)
        if isinstance(a, float):
            return repr(a) == repr(b)
        return False


def _taken_apart(x: Any) -> tuple[Any, Any]:
    """Split a value that one branch returns to Python into a pair (there, value), since it may be None.

    there  whether it is something else than None; `PerhapsNone` has a bool that the graph computes
    value  its value if it is not None

    DEAD (a marker) stands for what is not known: both for a branch that does not return, `value` for None.
    """
    if isinstance(x, PerhapsNone):
        return x.there, x.value
    return (DEAD, DEAD) if x is DEAD else (False, DEAD) if x is None else (True, x)


def _one_atom(a: Any, b: Any) -> bool:
    first = getattr(a, "atom", None)
    return first is not None and first is getattr(b, "atom", None)


class Branching:
    """Runs the branches of an `if` one after the other from the same state of the program, which turns each into nodes, and emits the IR
    node that merges them.  All code that meets a condition known only when the graph runs uses the one object of its graph.

    world    the interface to the runtime, which makes the nodes
    journal  records the changes of a branch, and undoes them at its end
    aliases  records which objects a merged value may be
    """

    def __init__(self, world: World, journal: Journal, aliases: Aliases):
        self.world, self.journal, self.aliases = world, journal, aliases
        self.local_names: dict[str, Any] = {}
        """The local names of the running function, with their values."""

    def branch(self, run: Callable[[], Any]) -> Branch:
        """Run the code of one branch, which turns it into nodes, and return the branch.

        run  the code of the branch

        The branch holds the nodes, the changes of variables and objects, and the result of `run`.  The changes have been undone, so that
        the other branch begins with the same state.
        """
        self.world.open()
        self.journal.open()
        return self._lowered(run, self.world.loc)

    def trial(self, run: Callable[[], Any]) -> Branch:
        """Run code as that of a branch which is thrown away: the caller looks at its result only."""
        calls = self.world.cell_calls()
        try:
            return self.branch(run)
        finally:
            self.world.count_again(calls)

    def resume(self, branch: Branch, run: Callable[[], Any]) -> Branch:
        """Run more code at the end of a branch, and return the longer branch.

        branch  what `branch` or `resume` has returned
        run     the code; what it returns is the result of the longer branch

        New nodes are put after those of the branch, whose changes of variables and objects are made again first.
        """
        self.world.reopen(branch.builder)
        self.journal.open(branch.changes)
        return self._lowered(run, branch.loc)

    def _lowered(self, run: Callable[[], Any], loc: Loc) -> Branch:
        dead, result = False, None
        try:
            result = run()
        except Unreachable:
            dead = True
        finally:
            self.world.catch_up()
            changes = self.journal.close()
            builder = self.world.close()
        return Branch(builder, changes, result, dead, loc)

    # -- merging ----------------------------------------------------------------------------------------------------
    def differences(self, a: Branch, b: Branch, leaving: Callable[[Branch], bool]) -> set[str]:
        """Return the names of the variables whose values after the branches `a` and `b` cannot be merged.  An empty string stands for
        anything else that cannot be merged, such as an attribute.

        leaving  returns True for a branch that leaves the function, so that its local variables do not matter
        """
        found: set[str] = set()
        self._places(Merge(self.world, self.aliases), a, b, leaving, found.add)
        return found

    def merged(self, condition: Atom, a: Branch, b: Branch, leaving: Callable[[Branch], bool], result: bool = True,
               goes_out: bool = False) -> Any:
        """Emit the IR node `if` for two branches that have been turned into nodes, give variables and objects their merged values, and
        return the merged result.

        condition  the condition, a bool of the IR
        a, b       the branches for a true and for a false condition
        leaving    returns True for a branch that leaves the function, so that its local variables do not matter
        result     False if the results of the branches are not used; None is returned then
        goes_out   True if the result is returned to Python, so that it may be None after one of the branches

        Unreachable if both branches end in a `raise`.  CompileError if changed objects cannot be merged, Difference if the results cannot.
        """
        if a.dead and b.dead:
            self._emit(condition, a, b, Merge(self.world, self.aliases))
            raise Unreachable
        merge = Merge(self.world, self.aliases, journal=self.journal)
        places = self._places(merge, a, b, leaving, None)
        outcome = self._result(merge, a, b, goes_out) if result else (lambda made: None)
        made = self._emit(condition, a, b, merge)
        for place, build in places:
            self.journal.write(place, build(made))
        return outcome(made)

    def _result(self, merge: Merge, a: Branch, b: Branch, goes_out: bool) -> _Made:
        first, second = (DEAD if branch.dead else branch.result for branch in (a, b))
        if isinstance(first, Outcome) or isinstance(second, Outcome):
            return self._outcome(merge, first, second, goes_out)
        return merge.result(first, second) if goes_out else merge.value(first, second, "the value")

    def _outcome(self, merge: Merge, a: Any, b: Any, goes_out: bool) -> _Made:
        """Return a function that builds, from the results of the IR node, how control goes on after two branches: an `Outcome`, or None at
        their end.

        merge     collects the values that become results of the node
        a, b      how the branches ended: an `Outcome`, None at the end, DEAD (a marker) for a branch that ends in a `raise`
        goes_out  True if a returned value goes to Python, so that it may be None
        """
        returned = merge.result if goes_out else functools.partial(merge.value, name="returned")
        if a is DEAD or b is DEAD:
            known = b if a is DEAD else a
            if known is None:
                return lambda made: None
            code = merge.value(*((DEAD, known.code) if a is DEAD else (known.code, DEAD)), "returned")
            value = returned(*((DEAD, known.value) if a is DEAD else (known.value, DEAD)))
            return lambda made: Outcome(code(made), value(made), known.codes)
        possible = frozenset[int]().union(*(frozenset({NEXT}) if x is None else x.codes for x in (a, b)))
        codes = [NEXT if x is None else x.code for x in (a, b)]
        values = [DEAD if x is None or x.value is UNBOUND else x.value for x in (a, b)]
        code = merge.value(codes[0], codes[1], "the way out")
        value = returned(values[0], values[1])
        return lambda made: Outcome(code(made), value(made), possible)

    def _places(self, merge: Merge, a: Branch, b: Branch, leaving: Callable[[Branch], bool],
                report: Callable[[str], None] | None) -> list[tuple[MutablePlace, _Made]]:
        made: list[tuple[MutablePlace, _Made]] = []
        merge.ends = tuple({key[1]: after for key, (_, _, after) in branch.changes.items() if key[0] in ("atom", "contents")}
                           for branch in (a, b))  # pyright: ignore[reportAttributeAccessIssue] - two, of two branches
        for key in {**a.changes, **b.changes}:
            place, before, _ = a.changes.get(key) or b.changes[key]
            if key[0] == "atom" and not self.world.is_here(before):
                # created in a branch: the object that refers to it is merged instead
                continue
            ends = [branch.changes[key][2] if key in branch.changes else before for branch in (a, b)]
            local = isinstance(place, NamesPlace)
            for i, branch in enumerate((a, b)):
                if branch.dead or (local and place.container is self.local_names and leaving(branch)):
                    ends[i] = DEAD
            if all(end is DEAD for end in ends):
                continue
            if local:
                made.append((place, self._names(merge, ends[0], ends[1], report)))
                continue
            pairs = len(merge.pairs)
            try:
                made.append((place, merge.value(ends[0], ends[1], "the value")))
            except Difference as differ:
                merge.drop(pairs)
                if report is None:
                    raise self._mistake(differ)(self.named(place), self.world.loc) from None
                report("")
        return made

    def _names(self, merge: Merge, a: Any, b: Any, report: Callable[[str], None] | None) -> _Made:
        """Return a function that builds the local variables after two branches, by name, from the results of the IR node.

        A variable whose values cannot be merged becomes `Unusable`: reading it is an error until it is assigned again.

        merge   collects the values that become results of the node
        a, b    the variables after each branch, by name; DEAD (a marker) for a branch that does not get here
        report  called with the name of each variable that becomes unusable; None if nobody asks
        """
        entries: dict[str, _Made] = {}
        for name in dict.fromkeys([*(() if a is DEAD else a), *(() if b is DEAD else b)]):
            pairs = len(merge.pairs)
            try:
                first, second = (DEAD if end is DEAD else end.get(name, UNBOUND) for end in (a, b))
                entries[name] = merge.value(first, second, name)
            except Difference as differ:
                merge.drop(pairs)
                if report is not None:
                    report(name)
                unusable = Unusable(self._mistake(differ))
                entries[name] = lambda made, unusable=unusable: unusable
        return lambda made: {name: build(made) for name, build in entries.items()}

    def _mistake(self, differ: Difference) -> Callable[[str, Loc], Exception]:
        """Return a function that makes the CompileError for two values that cannot be merged.  It is called with the name of a variable and
        a place in the program.

        differ  holds the two values; the returned function must not refer to it, since its traceback keeps variables alive
        """
        first, second = (self.described(x) for x in (differ.first, differ.second))
        decided = self.world.loc
        is_unbound = differ.first is UNBOUND or differ.second is UNBOUND
        remedy, kind = self.remedy(differ), self.kind_of(differ)

        def make(name: str, loc: Loc) -> Exception:
            notes = (Note("both branches are part of the graph, because the condition depends on a tensor",
                          UNKNOWN if loc == decided else decided),)
            if is_unbound:
                return errors.MAYBE_UNASSIGNED.at(loc, f"`{name}` is assigned on one path only", notes=notes,
                                                  help=f"assign a value to `{name}` before")
            subject = f"`{name}`" if name.replace(".", "").isidentifier() else name
            return errors.BRANCHES_DIFFER.at(loc, f"{subject} is {first} on one path and {second} on the other", notes=notes,
                                             help=remedy, kind=kind)

        return make

    def remedy(self, differ: Difference) -> str:
        """Return the advice for an error message about two values that cannot be merged, such as to give both the same dtype.

        differ  holds the two values
        """
        first, second = differ.first, differ.second
        if self.world.kind(first) is not None and self.world.kind(second) is not None:
            return "convert both to one dtype and shape"
        if first is None or second is None:
            return "give a value on both paths"
        if isinstance(first, (list, tuple, dict)) or isinstance(second, (list, tuple, dict)):
            return "give both the same structure, with the same number of items"
        return "a graph can choose between tensors or between numbers only: use these, or make the condition a Python value"

    def kind_of(self, differ: Difference) -> type[Exception]:
        """Return the exception type that MindSpore raises for two values that cannot be merged: ValueError if only the shapes differ,
        otherwise TypeError.

        differ  holds the two values
        """
        first, second = self.world.kind(differ.first), self.world.kind(differ.second)
        shapes = first is not None and second is not None and first.category == second.category and first.type.dtype is second.type.dtype
        return ValueError if shapes else TypeError

    def described(self, x: Any) -> str:
        """Return the text that describes the value `x` in an error message: the type of a tensor, otherwise the shortened `repr`."""
        if self.world.is_dynamic(x):
            return str(self.world.kind(x))
        if isinstance(x, RunTimeText):
            return "a string known only when the graph runs"
        if type(x) in (list, tuple):
            items = ", ".join([*(self.described(item) for item in x[:_SHOWN]), *(["..."] if len(x) > _SHOWN else [])])
            return f"[{items}]" if isinstance(x, list) else f"({items},)" if len(x) == 1 else f"({items})"
        if type(x) is dict:
            entries = [f"{key!r}: {self.described(item)}" for key, item in list(x.items())[:_SHOWN]]
            return f"{{{', '.join([*entries, *(['...'] if len(x) > _SHOWN else [])])}}}"
        text = repr(x)
        return text if len(text) < 40 else f"{type(x).__name__} {text[:30]}..."

    def named(self, place: MutablePlace) -> str:
        """Return the name by which the running function refers to what was changed, for an error message: such as `self.x`.

        place  the changed attribute, container or variable
        """
        if isinstance(place, AttributePlace):
            holder = self._called(place.holder)
            return f"{holder}.{place.name}" if holder.isidentifier() else f"`{place.name}` of {holder}"
        if isinstance(place, ContentsPlace):
            return self._called(place.container)
        return str(getattr(place, "name", "a value"))

    def _called(self, x: Any) -> str:
        return next((name for name, value in self.local_names.items() if value is x), f"a {type(x).__name__}")

    def _emit(self, condition: Atom, a: Branch, b: Branch, merge: Merge) -> Sequence[Any]:
        yields: list[list[Atom]] = []
        for side, branch in enumerate((a, b)):
            self.world.reopen(branch.builder)
            atoms: list[Atom] = []
            for pair in merge.pairs:
                value, kind = pair[side], pair[2]
                if value is DEAD:
                    atoms.append(self.world.builder.emit(Undef((kind.type,)), hint="undefined"))
                else:
                    atoms.append(self.world.atom_as(value, kind))
            self.world.close()
            yields.append(atoms)
        regions = [branch.builder.finish(atoms) for branch, atoms in zip((a, b), yields, strict=True)]
        values = self.world.emit_region(If(), [condition], regions, [_hint(name) for *_, name in merge.pairs])
        return [self.world.wrapped(kind, value) for (_, _, kind, _), value in zip(merge.pairs, values, strict=True)]


def _hint(name: str) -> str:
    """Return a short name for a value of the printed IR, from a description: its first word that is an identifier and not "the", such as
    `way` for "the way out"; `y` if there is none.
    """
    return next((word for word in name.split() if word != "the" and word.isidentifier()), "y")
