"""Attributes and items of objects: reading, writing and deleting them."""

from __future__ import annotations

import ast
import inspect
import operator
import types
from collections.abc import Sequence
from typing import Any

from adjoint.foundation.diagnostics import Loc
from adjoint.frontend import errors
from adjoint.frontend.changes.journal import AttributePlace
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.decisions import Decisions
from adjoint.frontend.operations.operators import Operators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.values.chosen import check, chosen
from adjoint.frontend.world import World

__all__ = ["MemberAccess"]


class MemberAccess:
    """Reads and writes attributes and items for the code that becomes the graph.

    Expressions and assignments call it.  It also records which attributes the graph depends on, and which of its writes the graph must
    repeat each time it runs.

    world  the interface to the runtime, which makes the nodes
    stack, objects, operators, run  the parts of the `Lowerer` that it uses
    """

    def __init__(self, world: World, stack: CallStack, objects: Objects, operators: Operators, decisions: Decisions, run: Runner):
        self.world, self.stack, self.objects, self.operators, self.decisions, self.run = world, stack, objects, operators, decisions, run

    def attribute(self, holder: Any, name: str, node: ast.AST) -> Any:
        """Return `holder.name` as an expression of the user's code.  A property of a user's class is run on its syntax tree, like a method.

        node  the expression in the syntax tree, for error messages

        The read is recorded, so that a later call of the function makes a new graph if the attribute has changed.
        """
        check(holder)
        if not self.world.is_dynamic(holder):
            since = self.world.read_count()
            self.stack.read_at(node, self.world.read_attribute, holder, name)
            descriptor = inspect.getattr_static(type(holder), name, None) if not isinstance(holder, type) else None
            if isinstance(descriptor, property) and descriptor.fget is not None and not self.world.is_library(descriptor.fget):
                # all that the property reads is recorded, so its value need not be compared at each call
                self.world.unread(since, self.world.read_count())
                self.world.read_attribute(type(holder), name)
                return self.run.call(descriptor.fget, (holder,), {})
        elif self.world.is_tensor(holder):
            self.objects.used(holder)
            if name in ("name", "requires_grad") or name in holder.__dict__ or not hasattr(type(holder), name):
                self.world.read_attribute(holder, name)
        with self.stack.here(node):
            self.objects.outside.unparsed.read(holder, name)
            return self.objects.outside.part(holder, name, self.objects.attribute(holder, name))

    def item(self, container: Any, index: Any, node: ast.AST) -> Any:
        """Return `container[index]` as an expression of the user's code.

        node  the expression in the syntax tree, for error messages

        If the graph computes the index of a list or tuple of tensors, numbers, or lists of them that are alike, the item is the one that a
        tree of `if`s of the graph returns.

        CompileError if the graph computes the index of another Python container, unless the container holds only cells or functions.
        """
        self.objects.used(container)
        container = self.objects.steady(container)
        with self.stack.here(node):
            if self.world.is_dynamic(index) and (isinstance(container, (list, tuple, dict, range, str)) or self.world.is_cells(container)) \
                    and self.operators.special(container, "__getitem__") is None:
                item = chosen(self.world, container, index)
                if item is not None:
                    return item
                if isinstance(container, (list, tuple)) and self._alike(container):
                    return self._picked(tuple(container), self.world.position(container, index), 0, self.stack.loc_of(node))
                raise errors.VALUE_NEEDED.at(
                    self.stack.loc_of(node), f"a {type(container).__name__} is indexed by a number that is not known while parsing",
                    help="choose with `if` and `elif`, or pass the number as an argument")
            if isinstance(container, dict) and hasattr(container, "__missing__") and index not in container:
                self.objects.touched(container)
                self.objects.outside.unparsed.given(container)
                return self.objects.born(container[index])
            self.objects.outside.unparsed.given(index)
            if self.world.is_tensor(container):
                return container[self.world.index(index)]
            if isinstance(index, slice) and self.world.is_cells(container):
                return self.world.part_of_cells(container, index)
            return self.operators.called_special(container, "__getitem__", (index,), lambda: self.objects.steady_item(container, index))

    def _alike(self, items: Sequence[Any]) -> bool:
        """Return True for tensors, for numbers, and for lists of these with one structure; False if there are none."""
        return len({self._form(item) for item in items} - {None}) == 1 and all(self._form(item) for item in items)

    def _form(self, item: Any) -> Any:
        """Return what is the same for all items that an `if` of the graph may choose between; None for other objects."""
        if self.world.is_tensor(item):
            return "tensor"
        if isinstance(item, (list, tuple)):
            parts = tuple(self._form(part) for part in item)
            return None if None in parts else (type(item), parts)
        return "number" if self.world.is_dynamic(item) or isinstance(item, (bool, int, float)) else None

    def _picked(self, items: tuple[Any, ...], position: Any, start: int, loc: Loc) -> Any:
        """Return the item at a position that the graph computes.  The graph gets a tree of `if`s, each of which halves the candidates.

        items  the candidates that are left
        start  the index of `items[0]` among all candidates
        """
        if len(items) == 1:
            return items[0]
        half = len(items) // 2
        first, second = items[:half], items[half:]
        sides = (lambda: self._picked(first, position, start, loc)), (lambda: self._picked(second, position, start + half, loc))
        condition = self.world.truth(position < start + half)
        if isinstance(condition, bool):
            return sides[0]() if condition else sides[1]()
        return self.decisions.decided(condition, *sides, loc)

    def set_attribute(self, holder: Any, name: str, value: Any) -> None:
        """Assign an attribute that is no Parameter of the holder.

        If the holder's class is the user's and has a property setter or a `__setattr__`, this is called on its syntax tree and becomes part
        of the graph.
        """
        descriptor = inspect.getattr_static(type(holder), name, None)
        setter = getattr(descriptor, "fset", None)
        if isinstance(setter, types.FunctionType) and not self.world.is_library(setter):
            self.world.read_attribute(type(holder), name)
            self.run.call(setter, (holder, value), {})
        else:
            self.objects.outside.unparsed.given(descriptor)
            self.operators.called_special(
                holder, "__setattr__", (name, value), lambda: self.objects.write(AttributePlace(holder, name), value))

    def assign_attribute(self, holder: Any, name: str, value: Any, node: ast.AST) -> None:
        """Run the statement `holder.name = value`.  If the object existed before the function was called, the graph writes the attribute
        again each time it runs.

        node  the target in the syntax tree, for error messages

        CompileError if the graph computes the value, and such a value cannot be stored in the attribute.
        """
        with self.stack.here(node):
            if name == "requires_grad" and self.world.is_tensor(holder) and self.objects.outside.has(AttributePlace(holder, name)):
                raise errors.CHANGED_OUTSIDE.at(
                    self.stack.loc_of(node), "`requires_grad` of a Parameter from outside the function is changed",
                    help="a graph takes gradients of the whole function: set `requires_grad` outside of it")
            if self.world.store_attribute(holder, name, value):
                return
            if self.objects.is_late(value) and self.world.is_cell(holder):
                self._check_kept(holder, name, value, node)
            self.set_attribute(holder, name, value)

    def _check_kept(self, holder: Any, name: str, value: Any, node: ast.AST) -> None:
        """Raise CompileError if the cell `holder` cannot keep a value that the graph computes in its attribute `name`.  Do nothing if it
        can.

        node  the target in the syntax tree, for error messages
        """
        loc, title = self.stack.loc_of(node), type(holder).__name__
        if self.objects.journal.has_made(holder):
            raise errors.STORED_TENSOR.at(
                loc, f"`{name}` is not a Parameter of {title}, which the function makes",
                help=f"make it one, `self.{name} = Parameter(..., requires_grad=False)` in `__init__`; or return the tensor")
        if not self.world.can_write(value):
            kind = errors.with_article(type(value).__name__)
            raise errors.STORED_TENSOR.at(loc, f"`{name}` of {title} would hold a value of the graph in {kind}", help=errors.KEPT)

    def assign_item(self, container: Any, key: Any, value: Any, node: ast.AST) -> None:
        """Run the statement `container[key] = value`.

        node  the target in the syntax tree, for error messages

        CompileError if the container is a dict and the graph computes the key.
        """
        with self.stack.here(node):
            if isinstance(container, dict):
                self.objects.check_key(key, self.world.loc)
            self.objects.touched(container)
            if self.world.is_tensor(container):
                container[self.world.index(key)] = value
            else:
                self.operators.called_special(container, "__setitem__", (key, value), lambda: operator.setitem(container, key, value))

    def delete_item(self, container: Any, key: Any, node: ast.AST) -> None:
        """Run the statement `del container[key]`.

        node  the target in the syntax tree, for error messages

        CompileError if the container is a dict and the graph computes the key.
        """
        if isinstance(container, dict):
            self.objects.check_key(key, self.stack.loc_of(node))
        self.objects.touched(container)
        with self.stack.here(node):
            self.operators.called_special(container, "__delitem__", (key,), lambda: operator.delitem(container, key))
