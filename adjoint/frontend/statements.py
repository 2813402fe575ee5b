"""Statements.  A list of statements ends in an outcome: None when control falls off its end, else how it left.

    if c: return a           the rest is lowered inside the branch that goes on
    rest
"""

from __future__ import annotations

import ast
import inspect
import itertools
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.diagnostics import UNKNOWN, CompileError, Loc
from adjoint.frontend import errors
from adjoint.frontend.branches import BREAK, CONTINUE, NEXT, RETURN, Branch, Difference, Outcome, Unreachable
from adjoint.frontend.frame import UNBOUND
from adjoint.frontend.journal import AttributePlace, ContentsPlace, NamesPlace
from adjoint.frontend.numbers import RunTimeRange
from adjoint.frontend.operators import IN_PLACE
from adjoint.frontend.patterns import Patterns
from adjoint.frontend.scope import changed_at, jumps, reads_name
from adjoint.ir.core import Value

__all__ = ["Statements"]

_ROLLED_FROM = 3
"""Rounds from which a loop whose index nobody reads stays a loop."""

_UNROLLED_TO = 16
"""Rounds up to which a loop that a tensor may leave is written out."""


_MOST_ITEMS = 1_000_000
"""How many items a loop that is written out may have."""


class Statements(Patterns):
    """Runs statements in the current frame."""

    def block(self, body: Sequence[ast.stmt]) -> Outcome | None:
        """Run statements in order; how they ended."""
        for i, statement in enumerate(body):
            rest = body[i + 1 :]
            try:
                outcome, done = self._ended(statement, rest)
            except (CompileError, Unreachable, RecursionError):
                raise
            except Exception as mistake:
                if not self.world.raises_late:
                    raise
                # Where it is reached, and after the effects before it: not before, as the mistake of a graph.
                self.raised_as(mistake)
            if done:
                return outcome
            if outcome is None:
                continue
            if outcome.is_known:
                return outcome
            if not rest:
                return outcome
            return self._guarded(outcome, lambda rest=rest: self.block(rest), statement)
        return None

    def _ended(self, statement: ast.stmt, rest: Sequence[ast.stmt]) -> tuple[Outcome | None, bool]:
        """How a statement ended, and whether what follows it has been lowered with it."""
        match statement:
            case ast.If():
                return self._if(statement, rest)
            case ast.Match():
                return self._match(statement, rest)
            case _:
                return self._statement(statement), False

    def _guarded(self, outcome: Outcome, rest: Callable[[], Outcome | None], node: ast.AST) -> Outcome | None:
        """The rest of a block behind a statement that may have left it."""
        condition = self.truth(outcome.code == NEXT, node)
        on = self.branching.branch(rest)
        left = self.branching.branch(lambda: outcome.without(NEXT))
        return self._merged(condition, on, left, node)

    def _merged(self, condition: Any, a: Branch, b: Branch, node: ast.AST) -> Outcome | None:
        self.world.loc = self.place_of(node)
        self.branching.local_names = self.frame.names
        try:
            return self.branching.merged(condition, a, b, _leaving, goes_out=self.frame.goes_out)
        except Difference as differ:
            first, second = self.branching.described(differ.first), self.branching.described(differ.second)
            raise errors.RETURNS_DIFFER.at(self.place_of(node), f"{first} is returned on one path and {second} on the other",
                                           help=self.branching.remedy(differ), kind=self.branching.kind_of(differ)) from None

    # -- dispatch ---------------------------------------------------------------------------------------------------
    def _statement(self, node: ast.stmt) -> Outcome | None:
        match node:
            case ast.Expr(value=value):
                self.value(value)
            case ast.Assign(targets=targets, value=value):
                found = self.value(value)
                for target in targets:
                    self.assign(target, found)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assign(target, self.value(value))
            case ast.AugAssign():
                self._augmented(node)
            case ast.Return(value=value):
                self.returns_at(node if value is None else value)
                return Outcome(RETURN, None if value is None else self.value(value))
            case ast.For():
                return self._for(node)
            case ast.While():
                return self._while(node)
            case ast.Break():
                return Outcome(BREAK)
            case ast.Continue():
                return Outcome(CONTINUE)
            case ast.Pass() | ast.Global() | ast.Nonlocal():
                pass
            case ast.FunctionDef(name=name):
                self.bind(name, self._defined(node))
            case ast.Assert():
                self._assert(node)
            case ast.Raise():
                self._raise(node)
            case ast.Delete(targets=targets):
                for target in targets:
                    self._delete(target)
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case _:
                raise self.unsupported(node, f"`{_WORDS.get(type(node), type(node).__name__.lower())}` is not parsed",
                                       _INSTEAD.get(type(node), "write it outside of the function that is parsed"))
        return None

    def _defined(self, node: ast.FunctionDef) -> Any:
        decorators = [self.value(decorator) for decorator in node.decorator_list]
        function = self.closure(node)
        for decorator in reversed(decorators):
            function = self.call(decorator, (function,), {})
        return function

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """An import binds names that Python finds; it runs while parsing."""
        names: dict[str, Any] = {}
        code = compile(ast.fix_missing_locations(ast.Module([node], [])), self.frame.source.file, "exec")
        with self.here(node):
            exec(code, {"__name__": self.frame.space.get("__name__"), "__package__": self.frame.space.get("__package__")}, names)
        for name, value in names.items():
            self.bind(name, value)

    # -- assignment -------------------------------------------------------------------------------------------------
    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a name, unpack, or write an attribute or item."""
        match target:
            case ast.Name(id=name):
                hint(value, name)
                if name not in self.frame.local:
                    # It is changed where others see it, which may be a mistake.
                    self.world.loc = self.place_of(target)
                self.bind(name, value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value, target)
            case ast.Attribute(value=holder, attr=name):
                self._set_attribute(self.value(holder), name, value, target)
            case ast.Subscript(value=held, slice=key):
                self._set_item(self.value(held), self.value(key), value, target)
            case ast.Starred(value=inner):
                self.assign(inner, value)
            case _:
                raise self.unsupported(target, "this cannot be assigned to", "assign to a name, an attribute or an item")

    def _unpack(self, targets: Sequence[ast.expr], value: Any, node: ast.AST) -> None:
        items = list(self.iterated(value, node))
        starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
        with self.here(node):
            if starred:
                before, after = starred[0], len(targets) - starred[0] - 1
                if len(items) < before + after:
                    raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(items)})")
                middle = items[before : len(items) - after]
                self.journal.born(ContentsPlace(middle))
                items = [*items[:before], middle, *items[len(items) - after :]]
            elif len(items) > len(targets):
                raise ValueError(f"too many values to unpack (expected {len(targets)})")
            elif len(items) < len(targets):
                raise ValueError(f"not enough values to unpack (expected {len(targets)}, got {len(items)})")
        for target, item in zip(targets, items, strict=True):
            self.assign(target, item)

    def _set_attribute(self, holder: Any, name: str, value: Any, node: ast.AST) -> None:
        with self.here(node):
            if self.world.store_attribute(holder, name, value):
                return
            if self.is_late(value) and self.world.is_cell(holder):
                kind = "a tensor, but no" if self.world.is_tensor(vars(holder).get(name)) else "no"
                raise errors.STORED_TENSOR.at(
                    self.place_of(node), f"`{name}` is {kind} Parameter of {type(holder).__name__}",
                    help=f"let it be one, which is written at each call: `self.{name} = Parameter(..., requires_grad=False)` in `__init__`"
                         "; or return the tensor")
            self.set_attribute(holder, name, value)

    def set_attribute(self, holder: Any, name: str, value: Any) -> None:
        """`holder.name = value`, no Parameter; by the property or the `__setattr__` of the user's class, if there is one."""
        descriptor = inspect.getattr_static(type(holder), name, None)
        setter = getattr(descriptor, "fset", None)
        if isinstance(setter, types.FunctionType) and not self.world.is_library(setter):
            self.world.read_attribute(type(holder), name)
            self.call(setter, (holder, value), {})
        else:
            self.outside.unparsed.given(descriptor)
            self.called_special(holder, "__setattr__", (name, value), lambda: self.journal.write(AttributePlace(holder, name), value))

    def _set_item(self, container: Any, key: Any, value: Any, node: ast.AST) -> None:
        with self.here(node):
            if isinstance(container, dict):
                self.check_key(key, self.world.loc)
            self.touched(container)
            if self.world.is_tensor(container):
                container[self.world.index(key)] = value
            else:
                self.called_special(container, "__setitem__", (key, value), lambda: operator.setitem(container, key, value))

    def _augmented(self, node: ast.AugAssign) -> None:
        operation = IN_PLACE[type(node.op)]
        container: Any = None
        key: Any = None
        match node.target:
            case ast.Name(id=name):
                before = self.name(name, node.target)
            case ast.Attribute(value=holder, attr=name):
                container = self.value(holder)
                before = self.attribute(container, name, node.target)
            case ast.Subscript(value=held, slice=key_node):
                container, key = self.value(held), self.value(key_node)
                before = self._item(container, key, node.target)
        given = self.value(node.value)
        self.touched(before)
        with self.here(node):
            found = self.in_place(operation, before, given)
        match node.target:
            case ast.Name(id=name):
                hint(found, name)
                self.bind(name, found)
            case ast.Attribute(attr=name):
                self._set_attribute(container, name, found, node)
            case ast.Subscript():
                self._set_item(container, key, found, node)

    def _delete(self, target: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self.name(name, target)
                self.journal.touch(NamesPlace(self.frame.names))
                self.frame.names.pop(name, None)
            case ast.Subscript(value=held, slice=key):
                container, index = self.value(held), self.value(key)
                if isinstance(container, dict):
                    self.check_key(index, self.place_of(target))
                self.touched(container)
                with self.here(target):
                    self.called_special(container, "__delitem__", (index,), lambda: operator.delitem(container, index))
            case _:
                raise self.unsupported(target, "only names and items can be deleted", "assign None instead")

    # -- if -----------------------------------------------------------------------------------------------------------
    def _if(self, node: ast.If, rest: Sequence[ast.stmt]) -> tuple[Outcome | None, bool]:
        """How an `if` ended, and whether the rest of its block has been lowered with it."""
        condition = self.test(node.test)
        if isinstance(condition, bool):
            return self.block(node.body if condition else node.orelse), False
        return self._decided(condition, lambda: self.block(node.body), lambda: self.block(node.orelse), rest, node)

    def _decided(self, condition: Any, first: Callable[[], Outcome | None], second: Callable[[], Outcome | None], rest: Sequence[ast.stmt],
                 node: ast.AST) -> tuple[Outcome | None, bool]:
        """Two branches that a tensor decides between, and whether the rest of the block has been lowered with them."""
        names = self.frame.names
        a = self.branching.branch(first)
        b = self.branching.branch(second)
        done = False
        self.branching.local_names = names
        goes_on = [not branch.dead and (branch.result is None or NEXT in branch.result.codes) for branch in (a, b)]

        def following(branch: Branch) -> Branch:
            if branch.result is None:
                return self.branching.resume(branch, lambda: self.block(rest))
            return self.branching.resume(branch, lambda: self._guarded(branch.result, lambda: self.block(rest), node))

        if rest and goes_on[0] != goes_on[1]:
            # One branch leaves: what follows belongs to the other.
            done = True
            a, b = (following(a), b) if goes_on[0] else (a, following(b))
        elif rest and all(goes_on) and self._matters(self.branching.differences(a, b, _leaving), rest):
            # The two leave values that cannot be one: each goes on by itself.
            done = True
            a, b = following(a), following(b)
        return self._merged(condition, a, b, node), done

    # -- match --------------------------------------------------------------------------------------------------------
    def _match(self, node: ast.Match, rest: Sequence[ast.stmt]) -> tuple[Outcome | None, bool]:
        """How a `match` ended, and whether the rest of its block has been lowered with it."""
        return self._cases(node.cases, self.value(node.subject), rest)

    def _cases(self, cases: Sequence[ast.match_case], subject: Any, rest: Sequence[ast.stmt]) -> tuple[Outcome | None, bool]:
        for i, case in enumerate(cases):
            names: dict[str, Any] = {}
            held = self.matched(case.pattern, subject, names)
            if held is False:
                continue
            if case.guard is not None:
                held = self._guard(held, case.guard, names)
            elif held is True:
                self._bound(names)
            condition = held if isinstance(held, bool) else self.truth(held, case.pattern)
            if condition is False:
                continue
            if condition is True:
                return self.block(case.body), False

            def chosen(case: ast.match_case = case, names: dict[str, Any] = names) -> Outcome | None:
                self._bound(names)
                return self.block(case.body)

            return self._decided(condition, chosen, lambda i=i: self._cases(cases[i + 1 :], subject, ())[0], rest, case.pattern)
        return None, False

    def _guard(self, held: Any, guard: ast.expr, names: dict[str, Any]) -> Any:
        """Whether a pattern that may hold does so with its guard: a bool, or a run-time one.  The guard sees the names."""
        def guarded() -> Any:
            self._bound(names)
            return self._as_bool(self.tested(guard), guard)

        return guarded() if held is True else self.choice(held, guarded, lambda: False, guard)

    def _bound(self, names: dict[str, Any]) -> None:
        for name, value in names.items():
            self.bind(name, value)

    @staticmethod
    def _matters(names: set[str], rest: Sequence[ast.stmt]) -> bool:
        return any(not name or reads_name(rest, name) for name in names)

    # -- loops --------------------------------------------------------------------------------------------------------
    def _for(self, node: ast.For) -> Outcome | None:
        over = self.value(node.iter)
        self.world.loc = self.place_of(node)
        if isinstance(over, RunTimeRange):
            outcome = self._looping(lambda: self.branching.for_loop(
                (over.start, over.stop, over.step), lambda i: self.assign(node.target, i), lambda: self.block(node.body)), node)
        elif self._stays_loop(node, over):
            rounds = range(len(over))
            outcome = self._looping(lambda: self.branching.for_loop(
                (rounds.start, rounds.stop, rounds.step), lambda i: None, lambda: self.block(node.body)), node)
            self.assign(node.target, over[-1])
        elif isinstance(over, range) and len(over) > _UNROLLED_TO \
                and self._leaves_by_tensor(node.body, lambda: self.assign(node.target, over[0])):
            outcome = self._looping(lambda: self.branching.for_loop(
                (over.start, over.stop, over.step), lambda i: self.assign(node.target, i), lambda: self.block(node.body)), node)
        else:
            outcome = self._unrolled(node, self._all_items(over, node.iter), 0)
        return self._left(outcome, node.orelse, node)

    def _all_items(self, over: Any, node: ast.expr) -> list[Any]:
        """What a `for` goes through.  An iterator has been gone through with it."""
        items = list(itertools.islice(self.iterated(over, node), _MOST_ITEMS + 1))
        if len(items) > _MOST_ITEMS:
            raise self.unsupported(node, "this iterator does not seem to end", "count in a `while`, or loop over a range")
        self.looped(over)
        return items

    def _looping(self, loop: Callable[[], Outcome | None], node: ast.For | ast.While) -> Outcome | None:
        self.branching.local_names = self.frame.names
        source = self.frame.source

        def assigned_at(name: str) -> Loc:
            found = changed_at(node.body, name)
            return UNKNOWN if found is None else source.at(found)

        outer = self.branching.header, self.branching.assigned_at
        self.branching.header, self.branching.assigned_at = self.place_of(node), assigned_at
        try:
            with self.here(node):
                return loop()
        finally:
            self.branching.header, self.branching.assigned_at = outer

    def _stays_loop(self, node: ast.For, over: Any) -> bool:
        """Whether a loop of known length stays one: nothing in it needs the number of the round, or differs from round to round."""
        if not isinstance(over, range) or len(over) < _ROLLED_FROM or not isinstance(node.target, ast.Name):
            return False
        if reads_name(node.body, node.target.id) or not all(_is_plain(statement) for statement in node.body):
            return False
        return self._is_settled(node)

    def _is_settled(self, node: ast.For) -> bool:
        """Whether a round leaves every name as it found it, but for the numbers in tensors."""
        names = self.frame.names
        found = self.branching.branch(lambda: self.block(node.body))
        if found.dead or found.result is not None:
            return False
        for place, before, after in found.changes.values():
            if not isinstance(place, NamesPlace) or place.container is not names:
                return False
            for name, last in after.items():
                first = before.get(name, UNBOUND)
                if first is last:
                    continue
                if first is UNBOUND or not self.world.is_dynamic(first) or self.world.kind(first) != self.world.kind(last):
                    return False
        return True

    def _unrolled(self, node: ast.For, items: Sequence[Any], index: int) -> Outcome | None:
        """The rounds of a loop over known items, one after the other."""
        for i in range(index, len(items)):
            self.assign(node.target, items[i])
            outcome = self.block(node.body)
            if outcome is None or (outcome.is_known and outcome.code == CONTINUE):
                continue
            if outcome.is_known:
                return outcome
            outcome = self._continued(outcome, node)
            if i + 1 == len(items):
                return outcome
            return self._guarded(outcome, lambda i=i: self._unrolled(node, items, i + 1), node)
        return None

    def _continued(self, outcome: Outcome, node: ast.AST) -> Outcome:
        """An outcome of a round as the loop sees it: `continue` is its end."""
        with self.here(node):
            return Outcome(outcome.code.kept_if(outcome.code != CONTINUE), outcome.value,
                           outcome.codes - {CONTINUE} | {NEXT})

    def _while(self, node: ast.While) -> Outcome | None:
        outcome: Outcome | None = None
        while True:
            # Looked at in a branch of its own: when a tensor decides, the test belongs into the loop.
            probe = self.branching.branch(lambda: self.test(node.test))
            if not isinstance(probe.result, bool) or (probe.result and self._leaves_by_tensor(node.body)):
                outcome = self._looping(lambda once=probe.result is True: self.branching.while_loop(
                    lambda: self.tested(node.test), lambda: self.block(node.body), once=once), node)
                break
            if not self.test(node.test):
                break
            outcome = self.block(node.body)
            if outcome is not None and outcome.code != CONTINUE:
                break
            outcome = None
        return self._left(outcome, node.orelse, node)

    def _leaves_by_tensor(self, body: Sequence[ast.stmt], begin: Callable[[], None] = lambda: None) -> bool:
        """Whether a tensor decides that a round is the last one."""
        if not jumps(body):
            return False

        def one() -> Outcome | None:
            begin()
            return self.block(body)

        found = self.branching.branch(one).result
        return isinstance(found, Outcome) and not found.is_known

    def _left(self, outcome: Outcome | None, orelse: Sequence[ast.stmt], node: ast.AST) -> Outcome | None:
        """A loop has ended: its `else`, and what of its outcome concerns the statements after it."""
        if outcome is None:
            return self.block(orelse)
        if outcome.is_known:
            return outcome if outcome.code == RETURN else None
        if orelse:
            ended = self.truth(outcome.code == NEXT, node)
            a = self.branching.branch(lambda: self.block(orelse))
            b = self.branching.branch(lambda: self._returning(outcome.without(NEXT)))
            return self._merged(ended, a, b, node)
        with self.here(node):
            return self._returning(outcome)

    def _returning(self, outcome: Outcome) -> Outcome | None:
        """What of a loop's outcome concerns the statements after it: whether it returns."""
        if RETURN not in outcome.codes:
            return None
        if outcome.is_known or BREAK not in outcome.codes:
            return outcome
        return Outcome(outcome.code.kept_if(outcome.code == RETURN), outcome.value, frozenset({NEXT, RETURN}))

    # -- raise and assert -----------------------------------------------------------------------------------------------
    def _assert(self, node: ast.Assert) -> None:
        tested = self.tested(node.test)
        condition = self.truth(tested, node.test)
        if condition is True:
            return
        message = () if node.msg is None else (self.value(node.msg),)
        if condition is False:
            self.raised(AssertionError, message, node)

        def check(holds: Any, *said: Any) -> None:
            if not holds:
                raise AssertionError(*said)

        self.world.loc = self.place_of(node)
        self.world.effect("assert", check, [self.world.number("bool", tested), *message])

    def _raise(self, node: ast.Raise) -> None:
        if node.exc is None:
            raise self.unsupported(node, "a bare `raise` re-raises what a `try` has caught", "name the exception")
        if isinstance(node.exc, ast.Call):
            kind = self.value(node.exc.func)
            args: tuple[Any, ...] = tuple(self._items(node.exc.args))
            if not node.exc.keywords and isinstance(kind, type) and issubclass(kind, BaseException):
                self.raised(kind, args, node)
        found = self.value(node.exc)
        if isinstance(found, type) and issubclass(found, BaseException):
            self.raised(found, (), node)
        if isinstance(found, BaseException):
            self.raised(type(found), found.args, node)
        with self.here(node):
            raise TypeError("exceptions must derive from BaseException")


def _leaving(branch: Branch) -> bool:
    """Whether a branch ends in a `return`, behind which no local name matters."""
    return isinstance(branch.result, Outcome) and branch.result.is_known and branch.result.code == RETURN


def hint(value: Any, name: str) -> None:
    """Call a value by the first name it is assigned to; what is called by more than the first letter of its op has one already."""
    atom = getattr(value, "atom", None)
    if isinstance(atom, Value) and atom not in value.owner.named:
        value.owner.named.add(atom)
        if len(atom.hint) == 1:
            atom.hint = name


def _is_plain(statement: ast.stmt) -> bool:
    """A statement whose effects are those of its assignments: it may be lowered once for all rounds."""
    match statement:
        case ast.Assign(targets=targets):
            plain = all(isinstance(t, (ast.Name, ast.Tuple)) for t in targets)
        case ast.AugAssign(target=ast.Name()) | ast.Pass():
            plain = True
        case ast.If(body=body, orelse=orelse):
            return all(_is_plain(s) for s in (*body, *orelse))
        case ast.For(body=body, orelse=[]):
            return all(_is_plain(s) for s in body)
        case _:
            return False
    return plain and not any(isinstance(inner, (ast.NamedExpr, ast.Lambda)) for inner in ast.walk(statement))


_WORDS: dict[type[ast.stmt], str] = {
    ast.With: "with", ast.Try: "try", ast.ClassDef: "class", ast.AsyncFunctionDef: "async def", ast.AsyncFor: "async for",
    ast.AsyncWith: "async with",
}
_INSTEAD: dict[type[ast.stmt], str] = {
    ast.With: "open and close outside of the function that is parsed",
    ast.Try: "test for the condition with `if`; exceptions leave a graph",
    ast.ClassDef: "define the class outside", ast.AsyncFunctionDef: "define an ordinary function",
}
