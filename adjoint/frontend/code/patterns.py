"""Patterns of `match` statements.

Most of a pattern concerns structure, which is known while the graph is made: types, lengths, keys, attributes.  If a value pattern is
compared with a tensor or a number that the graph computes, the graph decides whether it matches, and the case becomes a branch of an `if`.

    match state:
        case ("go", 0):  ..       "go" is compared while the graph is made; 0 is compared with a tensor when the graph runs
        case (_, n) if n > 3: ..
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.changes.journal import ContentsPlace
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.code.conditions import Conditions
from adjoint.frontend.operations.access import MemberAccess
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.decisions import Decisions
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.values.numbers import RunTimeRange
from adjoint.frontend.world import World

__all__ = ["Patterns"]

_ITSELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Built-in types for which a class pattern with one part, as in `int(n)`, matches that part with the value itself."""


_SEQUENCE, _MAPPING = 1 << 5, 1 << 6
"""The flags of classes whose objects match sequence and mapping patterns (PEP 634).  NumPy's array has the first from NumPy 2.5 on."""


class Patterns:
    """Matches the patterns of `match` statements against values.  `IfStatements` uses it for each `case`.

    world  the interface to the runtime, which makes the nodes
    stack, objects, decisions, conditions, access, run  the parts of the `Lowerer` that it uses
    """

    def __init__(
        self, world: World, stack: CallStack, objects: Objects, decisions: Decisions, conditions: Conditions, access: MemberAccess,
        run: Runner,
    ):
        self.world, self.stack, self.objects, self.decisions = world, stack, objects, decisions
        self.conditions, self.access, self.run = conditions, access, run

    def matched(self, pattern: ast.pattern, subject: Any, names: dict[str, Any]) -> Any:
        """Return whether a pattern matches a value: a Python bool if that is known while the graph is made, otherwise an object for a bool
        that the graph computes.

        pattern  the pattern in the syntax tree
        subject  the value that is matched
        names    receives the variables that the pattern assigns, with their values
        """
        match pattern:
            case ast.MatchValue(value=value):
                return self.decisions.as_bool(self.conditions.comparison(ast.Eq(), subject, self.run.value(value), pattern), pattern)
            case ast.MatchSingleton(value=value):
                kind = self.world.kind(subject) if self.world.is_dynamic(subject) else None
                if kind is not None and kind.category == "bool" and value is not None:
                    return subject if value else subject.negated()
                return subject is value
            case ast.MatchAs(pattern=None, name=name):
                return self._captured(name, subject, names)
            case ast.MatchAs(pattern=inner, name=name):
                assert inner is not None
                return self.decisions.both(self.matched(inner, subject, names), self._captured(name, subject, names))
            case ast.MatchOr(patterns=alternatives):
                return self._one_of(alternatives, subject, names, pattern)
            case ast.MatchSequence(patterns=patterns):
                return self._sequence(patterns, subject, names, pattern)
            case ast.MatchMapping():
                return self._mapping(pattern, subject, names)
            case ast.MatchClass():
                return self._instance(pattern, subject, names)
            case _:
                raise self.stack.unsupported(pattern, "this pattern is not supported in a graph", "write `if` and `elif`")

    @staticmethod
    def _captured(name: str | None, value: Any, names: dict[str, Any]) -> bool:
        if name is not None:
            names[name] = value
        return True

    def _one_of(self, alternatives: Sequence[ast.pattern], subject: Any, names: dict[str, Any], node: ast.AST) -> Any:
        found: Any = False
        for alternative in alternatives:
            bound: dict[str, Any] = {}
            held = self.matched(alternative, subject, bound)
            if held is False:
                continue
            if bound and (held is not True or found is not False):
                raise errors.VALUE_NEEDED.at(self.stack.loc_of(node), "which alternative binds the names is known only when the graph runs",
                                             help="write a `case` for each alternative")
            if held is True:
                names.update(bound)
                return True
            found = held if found is False else found.either(held)
        return found

    def _sequence(self, patterns: Sequence[ast.pattern], subject: Any, names: dict[str, Any], node: ast.AST) -> Any:
        with self.stack.here(node):
            if isinstance(subject, RunTimeRange):
                len(subject)  # raises an error, since the length is not known
            if not type(subject).__flags__ & _SEQUENCE:
                return False
        self.objects.used(subject)
        starred = next((i for i, pattern in enumerate(patterns) if isinstance(pattern, ast.MatchStar)), None)
        if len(subject) != len(patterns) if starred is None else len(subject) < len(patterns) - 1:
            return False
        items = list(subject)
        if starred is not None:
            behind = len(items) - (len(patterns) - starred - 1)
            middle = items[starred:behind]
            self.objects.journal.born(ContentsPlace(middle))
            items = [*items[:starred], middle, *items[behind:]]
        held: Any = True
        for pattern, item in zip(patterns, items, strict=True):
            part = self._captured(pattern.name, item, names) if isinstance(pattern, ast.MatchStar) else self.matched(pattern, item, names)
            held = self.decisions.both(held, part)
            if held is False:
                return False
        return held

    def _mapping(self, node: ast.MatchMapping, subject: Any, names: dict[str, Any]) -> Any:
        if not type(subject).__flags__ & _MAPPING:
            return False
        self.objects.used(subject)
        held: Any = True
        keys = [self.run.value(key) for key in node.keys]
        for key, pattern in zip(keys, node.patterns, strict=True):
            with self.stack.here(pattern):
                if key not in subject:
                    return False
                item = subject[key]
            held = self.decisions.both(held, self.matched(pattern, item, names))
            if held is False:
                return False
        if node.rest is not None:
            rest = {key: item for key, item in subject.items() if key not in keys}
            self.objects.journal.born(ContentsPlace(rest))
            names[node.rest] = rest
        return held

    def _instance(self, node: ast.MatchClass, subject: Any, names: dict[str, Any]) -> Any:
        cls = self.run.value(node.cls)
        with self.stack.here(node):
            if not isinstance(cls, type):
                raise TypeError("called match pattern must be a class")
            if not self.run.call(isinstance, (subject, cls), {}):
                return False
            itself, attributes = self._positional(cls, len(node.patterns))
        held: Any = True
        if itself:
            held = self.matched(node.patterns[0], subject, names)
        parts = [*zip(attributes, node.patterns, strict=not itself), *zip(node.kwd_attrs, node.kwd_patterns, strict=True)]
        for name, pattern in parts:
            if held is False:
                return False
            try:
                item = self.access.attribute(subject, name, pattern)
            except AttributeError:
                return False
            held = self.decisions.both(held, self.matched(pattern, item, names))
        return held

    @staticmethod
    def _positional(kind: type, count: int) -> tuple[bool, Sequence[str]]:
        """Return what the positional parts of a class pattern such as `Point(x, y)` are matched with: a pair (itself, names).

        itself  True if the single part is matched with the value itself, as in `int(n)`
        names   otherwise the names of the attributes, one for each part

        kind   the class
        count  the number of positional parts; TypeError if the class accepts fewer
        """
        known = getattr(kind, "__match_args__", None)
        itself = known is None and issubclass(kind, _ITSELF)
        allowed = 1 if itself else len(known or ())
        if count > allowed:
            raise TypeError(f"{kind.__name__}() accepts {allowed} positional sub-pattern{'' if allowed == 1 else 's'} ({count} given)")
        return itself and count == 1, [] if itself else list(known or ())[:count]
