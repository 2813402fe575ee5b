"""Assignment to names, attributes and items, unpacking, augmented assignment, and `del`."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from typing import Any

from adjoint.frontend.changes.journal import ContentsPlace
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.operations.access import MemberAccess
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.iterators import Iterators
from adjoint.frontend.operations.names import Names
from adjoint.frontend.operations.operators import IN_PLACE, Operators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.world import World

__all__ = ["Assignment"]


class Assignment:
    """Runs the assignments and deletions of the code that becomes the graph.  Statements, loops and comprehensions use it.

    world  the interface to the runtime, which makes the nodes
    stack, objects, operators, iterators, names, access, run  the parts of the `Lowerer` that it uses
    """

    def __init__(
        self, world: World, stack: CallStack, objects: Objects, operators: Operators, iterators: Iterators, names: Names,
        access: MemberAccess, run: Runner,
    ):
        self.world, self.stack, self.objects, self.operators = world, stack, objects, operators
        self.iterators, self.names, self.access, self.run = iterators, names, access, run

    def assign(self, target: ast.expr, value: Any) -> None:
        """Assign a value to a target of the syntax tree: a name, an attribute, an item, or several targets to unpack the value into."""
        match target:
            case ast.Name(id=name):
                self.world.hint(value, name)
                if name not in self.stack.frame.local:
                    # other code sees this change, so an error may name the place
                    self.world.loc = self.stack.loc_of(target)
                self.names.bind(name, value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value, target)
            case ast.Attribute(value=holder, attr=name):
                self.access.assign_attribute(self.run.value(holder), name, value, target)
            case ast.Subscript(value=held, slice=key):
                self.access.assign_item(self.run.value(held), self.run.value(key), value, target)
            case ast.Starred(value=inner):
                self.assign(inner, value)
            case _:
                raise self.stack.unsupported(target, "this cannot be assigned to", "assign to a name, an attribute or an item")

    def _unpack(self, targets: Sequence[ast.expr], value: Any, node: ast.AST) -> None:
        starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
        # to detect too many items, one more than there are targets is taken, and no further one
        items = list(itertools.islice(self.iterators.iterated(value, node), None if starred else len(targets) + 1))
        with self.stack.here(node):
            if starred:
                before, after = starred[0], len(targets) - starred[0] - 1
                if len(items) < before + after:
                    raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(items)})")
                middle = items[before : len(items) - after]
                self.objects.journal.born(ContentsPlace(middle))
                items = [*items[:before], middle, *items[len(items) - after :]]
            elif len(items) > len(targets):
                raise ValueError(f"too many values to unpack (expected {len(targets)})")
            elif len(items) < len(targets):
                raise ValueError(f"not enough values to unpack (expected {len(targets)}, got {len(items)})")
        for target, item in zip(targets, items, strict=True):
            self.assign(target, item)

    def augment(self, node: ast.AugAssign) -> None:
        """Run an augmented assignment such as `x += y`: compute the new value, in place if the value's class does so, and assign it."""
        operation = IN_PLACE[type(node.op)]
        container: Any = None
        key: Any = None
        match node.target:
            case ast.Name(id=name):
                before = self.names.read(name, node.target)
            case ast.Attribute(value=holder, attr=name):
                container = self.run.value(holder)
                before = self.access.attribute(container, name, node.target)
            case ast.Subscript(value=held, slice=key_node):
                container, key = self.run.value(held), self.run.value(key_node)
                before = self.access.item(container, key, node.target)
        given = self.run.value(node.value)
        self.objects.touched(before)
        with self.stack.here(node):
            found = self.operators.in_place(operation, before, given)
        match node.target:
            case ast.Name(id=name):
                self.world.hint(found, name)
                self.names.bind(name, found)
            case ast.Attribute(attr=name):
                self.access.assign_attribute(container, name, found, node)
            case ast.Subscript():
                self.access.assign_item(container, key, found, node)

    def delete(self, target: ast.expr) -> None:
        """Run `del target` for a name or an item.  CompileError for an attribute, which a graph cannot delete."""
        match target:
            case ast.Name(id=name):
                self.names.read(name, target)
                self.names.unbind(name)
            case ast.Subscript(value=held, slice=key):
                self.access.delete_item(self.run.value(held), self.run.value(key), target)
            case _:
                raise self.stack.unsupported(target, "only names and items can be deleted", "assign None instead")
