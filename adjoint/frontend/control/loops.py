"""Loops that stay loops of the graph, since a tensor decides how many rounds they have.  Values that the body changes are carried: each
round passes them on to the next.

    Python                   IR
    while c(x): x = f(x)     x1 = while carry (a = x) test { yield c(a) } do { yield f(a) }

The carried values are found by running the body several times, which makes its nodes again each time.  Each value that the body changes
becomes a parameter of the body, until a round changes only carried values.  For a `break` or `return` in the body, a number that tells how
the loop was left is carried too, and the test reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import UNKNOWN, InternalError, Loc, Note
from adjoint.frontend import errors
from adjoint.frontend.changes.aliases import Aliases
from adjoint.frontend.changes.journal import Changes, MutablePlace, NamesPlace
from adjoint.frontend.control.branches import BREAK, CONTINUE, DEAD, NEXT, RETURN, Branching, Difference, Merge, Outcome, Unreachable
from adjoint.frontend.values.frame import UNBOUND, Unusable
from adjoint.frontend.values.structure import items, like
from adjoint.frontend.world import Kind
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Region, Value
from adjoint.ir.ops.control import For, While
from adjoint.ir.ops.stack import Undef
from adjoint.ir.types import I64, scalar

__all__ = ["Looping"]

_MOST_ROUNDS = 50
"""How many times a loop's body is turned into nodes at most, until all values that a round passes on are known; each time finds at least
one.
"""


@dataclass(eq=False)
class _Carried:
    """Describes one value that each round of a loop passes on to the next.

    name    the name of the variable, for the printed IR
    kind    whether it is a tensor or a number, with its IR type
    first   the value before the loop; DEAD (a marker for no value) if only the body assigns it
    inside  the tensor or number that Python code in the body sees
    param   the parameter of the body in the IR for which `inside` stands
    """

    name: str
    kind: Kind
    first: Any
    inside: Any
    param: Value


@dataclass(eq=False)
class _LoopState:
    """Collects what one loop changes while its body is run again and again to make nodes: the changed places (variables, attributes,
    containers), and the values in them that each round passes on to the next.

    carried  those values
    code     how the loop was left, as a number that the graph computes (see `Outcome`); NEXT if the body cannot leave the loop
    codes    the possible values of `code`
    value    the value that a `return` in the body returns; DEAD (a marker) without one
    """

    places: dict[tuple[Any, ...], tuple[MutablePlace, Any, Any]] = field(default_factory=dict)
    """For the key of each changed place (variable, attribute, container): the place, its value before the loop, and its value at the
    beginning of a round, which contains parameters of the body.
    """
    carried: list[_Carried] = field(default_factory=list)
    code: Any = NEXT
    codes: frozenset[int] = frozenset({NEXT})
    value: Any = DEAD
    once: bool = False
    """True if the loop is known to run at least one round, so that names which each round assigns have a value after it."""
    claims: dict[Value, Any] = field(default_factory=dict)
    """For each parameter of the body: the value that the last round leaves for it.  If two variables leave different ones, they need two
    parameters.
    """
    ends: dict[int, Any] = field(default_factory=dict)
    """For the `id` of each tensor or container that the last round wrote in place: its value at the end of the round."""
    made: dict[int, Any] = field(default_factory=dict)
    """For the `id` of each object that stands for a parameter of the body at the beginning of a round: that object."""
    shared: dict[tuple[int, int], tuple[Any, Any, Any]] = field(default_factory=dict)
    """For the `id`s of a value before a round and after it: the value made for the beginning of a round, and these two.  So variables that
    refer to one object still do so.
    """
    given: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)
    """For the key of each changed set of local variables: the names that have no value before the loop, with their values after a round."""


@dataclass(eq=False)
class _Round:
    """Holds one round of a loop's body that has been turned into nodes.

    builder  the nodes
    changes  the values that the round has given to variables, attributes and containers; they have been undone
    outcome  how the body ended: by `break`, `continue` or `return`, or None at its end
    """

    builder: Builder
    changes: Changes
    outcome: Outcome | None

    @property
    def ends(self) -> dict[int, Any]:
        """Return, for the `id` of each tensor or container that the round wrote in place, its value at the end of the round."""
        return {key[1]: after for key, (_, _, after) in self.changes.items() if key[0] in ("atom", "contents")}


class Looping(Branching):
    """Makes nodes of loops whose number of rounds is known only when the graph runs.  `LoopStatements` calls it for such a `for` or
    `while`.

    It also makes nodes of branches of an `if`, as the base class does.
    """

    header: Loc = UNKNOWN
    """The place of the loop that is being turned into nodes, in the user's program."""

    @staticmethod
    def assigned_at(name: str) -> Loc:
        """Return the line where the loop's body changes the variable `name`, for error messages; UNKNOWN here.

        `LoopStatements` replaces this function, for the time of each loop, by one that searches the syntax tree.
        """
        del name
        return UNKNOWN

    def while_loop(self, test: Callable[[], Any], body: Callable[[], Outcome | None], *, once: bool = False) -> Outcome | None:
        """Make a node of a `while` loop.

        test  evaluates the loop's condition and returns its value
        body  runs the body once, which makes its nodes, and returns how it ended
        once  True if the loop is known to run at least one round

        Return None if the body cannot leave the loop, by `break`, `return` or `raise`.  Otherwise return an Outcome with a code that the
        graph computes: it is NEXT if the loop ended because its condition was false.
        """
        state, loc = _LoopState(once=once), self.world.loc
        found = self._settle(state, body)
        self.world.loc = loc
        tested = self._test(state, test)
        self.world.loc = loc
        carried = state.carried
        operands = [self._first(c) for c in carried]
        params = [c.param for c in carried]
        body_region = found.builder.finish(self._yields(state, found), params)
        test_region = Region(tuple(params), tested.nodes, tested.results)
        results = self.world.emit_region(While(), operands, [test_region, body_region], [c.name for c in carried])
        return self._after(state, results)

    def for_loop(self, bounds: Sequence[Any], index: Callable[[Any], None], body: Callable[[], Outcome | None]) -> Outcome | None:
        """Make a node of a `for` loop over a range.  Return how it ended, as `while_loop` does.

        bounds  start, stop and step of the range; ints, or numbers that the graph computes
        index   called at the beginning of a round with its item of the range
        body    runs the body once, which makes its nodes, and returns how it ended
        """
        start, stop, step = bounds
        number = self.world.kind(0)
        assert number is not None
        i = Value(scalar(I64), "i")
        inside = self.world.wrapped(number, i)

        def rounds() -> Outcome | None:
            index(inside)
            return body()

        state, loc = _LoopState(once=all(isinstance(x, int) for x in bounds) and len(range(*bounds)) > 0), self.world.loc
        found = self._settle(state, rounds)
        self.world.loc = loc
        if state.code is not NEXT:
            return self._counted(bounds, index, body)
        atoms = [self.world.atom(x) for x in (start, stop, step)]
        operands = [*atoms, *(self._first(c) for c in state.carried)]
        region = found.builder.finish(self._yields(state, found), [i, *(c.param for c in state.carried)])
        results = self.world.emit_region(For(), operands, [region], [c.name for c in state.carried])
        return self._after(state, results)

    def _counted(self, bounds: Sequence[Any], index: Callable[[Any], None], body: Callable[[], Outcome | None]) -> Outcome | None:
        """Make a node of a `for` loop that has a `break` or `return`: a `while` loop with a counter.  Return how it ended.

        bounds  start, stop and step of the range; ints, or numbers that the graph computes
        index   called at the beginning of a round with its item of the range
        body    runs the body once, and returns how it ended

        CompileError if the step is not known while parsing.
        """
        start, stop, step = bounds
        if not isinstance(step, int):
            raise errors.NOT_A_CONSTANT.at(self.header, "a range whose loop has a `break` or `return` needs a step known while parsing",
                                           help="use a Python number as the step")
        names: dict[str, Any] = {"at": start}
        self.journal.born(NamesPlace(names))

        def test() -> Any:
            return names["at"] < stop if step > 0 else names["at"] > stop

        def one() -> Outcome | None:
            index(names["at"])
            place = NamesPlace(names)
            self.journal.write(place, {"at": names["at"] + step})
            return body()

        known = all(isinstance(x, int) for x in bounds)
        return self.while_loop(test, one, once=known and len(range(*bounds)) > 0)

    def _settle(self, state: _LoopState, body: Callable[[], Outcome | None]) -> _Round:
        """Run the body repeatedly until it changes only carried values (those that each round passes on to the next).  Each time, its nodes
        are made again from the beginning.

        state  collects the carried values

        Return the last round, whose nodes are used.
        """
        calls = self.world.cell_calls()
        for _ in range(_MOST_ROUNDS):
            self.world.count_again(calls)
            found = self._round(state, body)
            if self._settled(state, found):
                return found
        raise InternalError(f"the carried values of the loop at {self.header} do not settle")

    # -- one round --------------------------------------------------------------------------------------------------
    def _round(self, state: _LoopState, body: Callable[[], Outcome | None]) -> _Round:
        """Run the body of a loop once, from the state at the beginning of a round, which makes its nodes.  Return the round; its changes
        are undone.

        state  the values with which a round begins
        body   runs the body, and returns how it ended: an `Outcome`, or None at its end
        """
        self.world.open()
        self.journal.open({key: (place, before, inside) for key, (place, before, inside) in state.places.items()})
        outcome: Outcome | None = None
        try:
            outcome = body()
        except Unreachable:
            outcome = Outcome(BREAK)
        finally:
            self.world.catch_up()
            changes = self.journal.close()
            builder = self.world.close()
        return _Round(builder, changes, outcome)

    def _settled(self, state: _LoopState, found: _Round) -> bool:
        """Return True if a round changed only carried values (those that each round passes on to the next), so that its nodes can be used.

        Otherwise make the other changed values carried, too, and return False: the body must run again, to make its nodes again.

        state  collects the carried values
        found  the round
        """
        known = len(state.carried)
        state.claims.clear()
        state.shared.clear()
        state.ends = found.ends
        for key, (place, before, after) in found.changes.items():
            if key[1] in state.made or (key[0] == "atom" and not self.world.is_here(before)):
                # created by the loop or in the round: the object that refers to it is carried instead
                continue
            if key in state.places:
                place, before, inside = state.places[key]
            else:
                inside = before
            state.places[key] = (place, before, self._widened(state, place, inside, after))
        self._outcome_carried(state, found.outcome)
        return len(state.carried) == known

    def _widened(self, state: _LoopState, place: MutablePlace, inside: Any, after: Any) -> Any:
        """Return what a variable, attribute or container holds at the beginning of a round, with parameters of the body in place of the
        values that a round changes.

        state   collects the parameters
        place   the variable, attribute or container
        inside  what it held at the beginning of the last round
        after   what it held at its end
        """
        if isinstance(place, NamesPlace):
            widened: dict[str, Any] = {}
            for name in dict.fromkeys([*inside, *after]):
                first, last = inside.get(name, UNBOUND), after.get(name, UNBOUND)
                # a name that only the body assigns has no value at the beginning of a round
                widened[name] = UNBOUND if first is UNBOUND else self._parameters(state, first, last, name)
                if first is UNBOUND and state.once and last is not UNBOUND:
                    given = state.given.setdefault(place.key, {})
                    if isinstance(last, Unusable):
                        given[name] = last  # this round may leave the name without a value, although an earlier lowering assigned it
                    elif name not in given:
                        given[name] = self._returned(state, last, name)
            return widened
        return self._parameters(state, inside, after, self.named(place))

    def _parameters(self, state: _LoopState, first: Any, last: Any, name: str) -> Any:
        known = state.shared.get((id(first), id(last)))
        if known is None:
            made = self._parameter(state, first, last, name)
            known = state.shared[id(first), id(last)] = (made, first, last)
        return known[0]

    def _parameter(self, state: _LoopState, first: Any, last: Any, name: str) -> Any:
        if isinstance(first, Unusable) or isinstance(last, Unusable):
            return first if isinstance(first, Unusable) else last
        merge = Merge(self.world, self.aliases, broadcasts=True)
        merge.ends, merge.own = ({}, state.ends), state.made
        try:
            build = merge.value(first, last, name)
        except Difference as differ:
            raise self._changing(name, differ) from None
        inside: list[Any] = []
        for a, b, kind, hint in merge.pairs:
            known = self._carried_as(state, a)
            if known is None:
                known = self._new(state, hint, kind, a)
            elif state.claims.setdefault(known.param, b) is not b:
                # two names that have the same value at the beginning of a round, and different ones at its end
                known = self._new(state, hint, kind, known.first)
            state.claims[known.param] = b
            self.aliases.merged(known.inside, a, b)
            inside.append(known.inside)
        made = build(inside)
        if made is not first:
            state.made[id(made)] = made
        return made

    def _new(self, state: _LoopState, name: str, kind: Kind, first: Any) -> _Carried:
        param = Value(kind.type, name if name.isidentifier() else "v")
        made = _Carried(name, kind, first, self.world.wrapped(kind, param), param)
        state.made[id(made.inside)] = made.inside
        state.carried.append(made)
        return made

    @staticmethod
    def _carried_as(state: _LoopState, x: Any) -> _Carried | None:
        atom = getattr(x, "atom", None)
        return next((c for c in state.carried if c.param is atom), None) if atom is not None else None

    def _changing(self, name: str, differ: Difference) -> Exception:
        first, last = self.described(differ.first), self.described(differ.second)
        kind = self.world.kind(differ.second)
        if kind is not None and kind.category == "tensor":
            shape = f"({', '.join(map(str, kind.type.sizes))}{',' if kind.type.rank == 1 else ''})"
            way = f"begin with a value of the type it will have, such as `ops.zeros({shape}, adjoint.{str(kind.type.dtype).lower()})`"
        elif isinstance(differ.first, list):
            way = "write into the rows of a tensor that is made before the loop (`y[i] = x`), or loop over a range of known length"
        else:
            way = "only tensors and numbers can change in such a loop: use one of these, or loop over a range of known length"
        at = self.assigned_at(name)
        subject = f"`{name}`" if name.replace(".", "").isidentifier() else name
        return errors.LOOP_CHANGES.at(
            at if at != UNKNOWN else self.header, f"{subject} is {first} before an iteration and {last} after it",
            notes=(Note("the loop is part of the graph, because the number of iterations depends on a tensor", self.header),), help=way,
            kind=self.kind_of(differ))

    def _outcome_carried(self, state: _LoopState, outcome: Outcome | None) -> None:
        """If the body can leave the loop, let each round pass on to the next how the loop was left, and the value of a `return`.

        state    collects the values that are passed on
        outcome  how the body ended
        """
        if not _leaves(outcome):
            return
        assert outcome is not None
        number = self.world.kind(0)
        assert number is not None
        state.codes |= outcome.codes - {CONTINUE}
        if state.code is NEXT:
            state.code = self._new(state, "left", number, NEXT).inside
        if state.value is DEAD and outcome.value is not UNBOUND and outcome.value is not DEAD:
            state.value = self._returned(state, outcome.value)

    def _returned(self, state: _LoopState, value: Any, name: str = "returned") -> Any:
        """Return a copy of a value in which new parameters of the body replace the tensors and numbers of the graph.

        This is for values that exist only after a round of the loop, such as that of a `return`.  Before the first round these parameters
        are undefined (`undef` in the IR), so the caller lets nothing read them until a round has assigned them.

        state  collects the parameters
        value  a tensor or number, or a tuple, list or dict of them; any other value is returned itself
        name   the name of the parameters in the IR
        """
        if self.world.is_dynamic(value):
            kind = self.world.kind(value)
            assert kind is not None
            made = self._new(state, name, kind, DEAD).inside
            self.aliases.merged(made, value)
            return made
        if not isinstance(value, (tuple, list, dict)):
            return value
        made = like(value, [self._returned(state, item, name) for item in items(value)])
        if not isinstance(value, tuple):
            self.aliases.merged(made, value)
        return made

    # -- the node ---------------------------------------------------------------------------------------------------
    def _first(self, carried: _Carried) -> Atom:
        if carried.first is DEAD:
            return self.world.builder.emit(Undef((carried.kind.type,)), hint="undefined")
        return self.world.atom_as(carried.first, carried.kind)

    def _test(self, state: _LoopState, test: Callable[[], Any]) -> Region:
        """Make nodes of the loop's condition, and return them as a region (nested list of nodes).  The condition is false once a `break` or
        `return` has left the loop.

        state  the values that each round passes on to the next
        test   evaluates the condition and returns its value

        CompileError if the condition assigns a variable.
        """
        self.world.open()
        self.journal.open({key: (place, before, inside) for key, (place, before, inside) in state.places.items()})
        try:
            if state.code is NEXT:
                condition = self._condition(test())
            else:
                running = self.world.truth(state.code == NEXT)
                assert not isinstance(running, bool)
                inner = self.branch(lambda: self._tested(test()))
                ended = self.branch(lambda: False)
                condition = self._condition(self.merged(running, inner, ended, lambda branch: False))
        finally:
            self.world.catch_up()
            changes = self.journal.close()
            builder = self.world.close()
        if any(_differs(place, state, after) for place, _, after in changes.values()):
            raise errors.UNSUPPORTED.at(self.world.loc, "the condition of this loop depends on a tensor, and assigns a name",
                                        help="assign the name in the body")
        return builder.finish([condition])

    def _bool(self) -> Kind:
        kind = self.world.kind(True)
        assert kind is not None
        return kind

    def _condition(self, tested: Any) -> Atom:
        truth = self.world.truth(tested)
        return Literal(truth, self._bool().type) if isinstance(truth, bool) else truth

    def _tested(self, tested: Any) -> Any:
        """Return the truth of the value `tested`: a Python bool if it is known while the graph is made, otherwise an object for a bool that
        the graph computes.
        """
        truth = self.world.truth(tested)
        return self.world.wrapped(self._bool(), truth) if isinstance(truth, Value) else truth

    def _yields(self, state: _LoopState, found: _Round) -> list[Atom]:
        """Return the values of the IR that a round passes on to the next, in the order of the parameters of the body.

        state  holds the parameters
        found  the round whose nodes are used
        """
        last: dict[Value, Any] = {}
        ends = found.ends
        for key, (_, _, after) in found.changes.items():
            if key[1] in state.made or key not in state.places:
                continue
            self._collect(state.places[key][2], after, last, ends)
            self._collect(state.given.get(key, {}), after, last, ends)
        if state.code is not NEXT:
            outcome = found.outcome
            code = NEXT if outcome is None else outcome.code
            last[state.code.atom] = self._without_continue(found, code)
            if state.value is not DEAD:
                self._collect(state.value, DEAD if outcome is None or outcome.value is UNBOUND else outcome.value, last, ends)
        self.world.reopen(found.builder)
        try:
            return [self.world.atom(last[c.param]) if c.param in last and last[c.param] is not DEAD else c.param for c in state.carried]
        finally:
            self.world.close()

    def _without_continue(self, found: _Round, code: Any) -> Any:
        """Return how a round ended, for the next one: `continue` counts as reaching the end of the body, since it ends only the round.

        found  the round whose nodes are used
        code   how it ended: NEXT, BREAK, CONTINUE or RETURN, or a number of the graph that is one of these
        """
        if isinstance(code, int):
            return NEXT if code == CONTINUE else code
        if found.outcome is not None and CONTINUE not in found.outcome.codes:
            return code
        self.world.reopen(found.builder)
        try:
            return code.kept_if(code != CONTINUE)
        finally:
            self.world.close()

    def _collect(self, inside: Any, after: Any, last: dict[Value, Any], ends: dict[int, Any]) -> None:
        """Find the values that parameters of the body have at the end of a round, and record them in `last`.

        inside  what a variable or container held at the beginning of the round: a parameter, or a structure with parameters in it
        after   what it held at the end
        ends    the values at the end of tensors and containers that were written in place, by `id`
        """
        after = ends.get(id(after), after)
        atom = getattr(inside, "atom", None)
        if isinstance(atom, Value) and after is not UNBOUND:
            last[atom] = after
        elif isinstance(inside, (list, tuple)) and isinstance(after, (list, tuple)):
            for a, b in zip(inside, after, strict=True):
                self._collect(a, b, last, ends)
        elif isinstance(inside, dict) and isinstance(after, dict):
            for key, a in inside.items():
                if key in after:
                    self._collect(a, after[key], last, ends)

    def _after(self, state: _LoopState, results: Sequence[Value]) -> Outcome | None:
        """Set the variables and objects that a loop changes to their values after the loop, and return how the loop was left; None if the
        body cannot leave it.

        state    tells what the loop changes
        results  the results of the loop's node: the values after the loop
        """
        final = _Final(self.aliases)
        for c, value in zip(state.carried, results, strict=True):
            final.values[c.param] = self.world.wrapped(c.kind, value)
            self.aliases.merged(final.values[c.param], c.inside)
        for place, before, inside in state.places.values():
            contents = final.of(inside)
            if isinstance(place, NamesPlace):
                given = final.of(state.given.get(place.key, {}))
                contents = {name: given[name] if name in given else self._maybe(before, name, value) for name, value in contents.items()}
            self.journal.write(place, contents)
        if state.code is NEXT:
            return None
        return Outcome(final.values[state.code.atom], UNBOUND if state.value is DEAD else final.of(state.value), state.codes)

    def _maybe(self, before: dict[str, Any], name: str, value: Any) -> Any:
        """Return the value of a variable after the loop.  It is `Unusable` if only the body assigns it, since the body may run zero times.

        before  the variables before the loop, by name
        name    the variable
        value   its value at the end of the loop; UNBOUND (a marker) if it may have none
        """
        if value is not UNBOUND or before.get(name, UNBOUND) is not UNBOUND:
            return value
        decided = self.world.loc

        def make(name: str, loc: Loc) -> Exception:
            return errors.MAYBE_UNASSIGNED.at(
                loc, f"`{name}` is assigned only inside a loop that may run zero times", help=f"assign a value to `{name}` before the loop",
                notes=(Note("the number of iterations depends on a tensor", decided),))

        return Unusable(make)


def _leaves(outcome: Outcome | None) -> bool:
    """Return True if the loop may be left after a round with this outcome: by `break`, `return`, or as a tensor decides."""
    return outcome is not None and (not outcome.is_known or outcome.code in (BREAK, RETURN))


def _differs(place: MutablePlace, state: _LoopState, after: Any) -> bool:
    known = state.places.get(place.key)
    if known is None:
        return True
    inside = known[2]
    if isinstance(inside, dict) and isinstance(after, dict):
        return any(inside.get(k, UNBOUND) is not v for k, v in after.items())
    return False


class _Final:
    """Converts what variables hold at the beginning of a round into what they hold after the loop.  It replaces the parameters of the body
    by the results of the loop's node, also inside of lists, tuples and dicts.

    aliases  is told which objects a new list, tuple or dict may be
    """

    def __init__(self, aliases: Aliases):
        self.values: dict[Value, Any] = {}
        self._aliases = aliases
        self._made: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        """Return a value or structure as it is after the loop.  If it contains no parameter of the body, the same object is returned."""
        atom = getattr(value, "atom", None)
        if isinstance(atom, Value):
            return self.values.get(atom, value)
        if not isinstance(value, (list, tuple, dict)):
            return value
        if id(value) not in self._made:
            self._made[id(value)] = self._structure(value)
        return self._made[id(value)]

    def _structure(self, value: Any) -> Any:
        parts = [self.of(item) for item in items(value)]
        if all(map(is_, parts, items(value))):
            return value
        made = like(value, parts)
        self._aliases.merged(made, value)
        return made
