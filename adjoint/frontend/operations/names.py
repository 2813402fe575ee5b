"""Names in the user's code: local, of an enclosing function, global, or built-in."""

from __future__ import annotations

import ast
import builtins
from typing import Any, NoReturn

from adjoint.foundation.diagnostics import noted
from adjoint.frontend.changes.journal import MISSING, CellPlace, ItemPlace, NamesPlace
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.control.raising import raise_late
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.values.frame import UNBOUND, Frame, Unusable
from adjoint.frontend.world import World

__all__ = ["Names"]


class Names:
    """Reads and assigns names in the running function of the code that becomes the graph.  Expressions and assignments use it.  It records
    which names the graph depends on.

    world           the interface to the runtime, which records what the graph depends on
    stack, objects  the parts of the `Lowerer` that it uses
    """

    def __init__(self, world: World, stack: CallStack, objects: Objects):
        self.world, self.stack, self.objects = world, stack, objects

    def read(self, name: str, node: ast.AST) -> Any:
        """Return the value of a name, looked up as Python does: among local variables, those of enclosing functions, global variables and
        built-ins.

        node  the name in the syntax tree, for error messages

        For a global variable, or one of an enclosing function that Python has run, the read is recorded: a later call makes a new graph if
        its value has changed.  NameError if the name is not defined; CompileError if its values after two branches could not be merged.
        """
        frame: Frame | None = self.stack.frame
        space = self.stack.frame.space
        if name not in self.stack.frame.globals:
            while frame is not None:
                if name in frame.local:
                    found = frame.names.get(name, UNBOUND)
                    if isinstance(found, Unusable):
                        raise found.make(name, self.stack.loc_of(node))
                    if found is UNBOUND:
                        self._no_value(name, frame is self.stack.frame, node)
                    return found
                if name in frame.cells:
                    cell = frame.cells[name]
                    self.stack.read_at(node, self.world.read_closure, cell)
                    try:
                        value = self.objects.workspace.variable(cell)
                    except ValueError:
                        self._no_value(name, False, node)
                    if isinstance(value, (list, dict)):
                        self.world.found_in(CellPlace(cell), value)
                    return self.objects.outside.found(value)
                frame = frame.outer
        self.stack.read_at(node, self.world.read_name, space, name)
        if (found := self.objects.workspace.item(space, name)) is not MISSING:
            if isinstance(found, (list, dict)):
                self.world.found_in(ItemPlace(space, name), found)
            return self.objects.outside.found(found)
        if hasattr(builtins, name):
            return getattr(builtins, name)
        missing = NameError(f"The name '{name}' is not defined")
        noted(missing, self.stack.loc_of(node))
        raise missing

    def _no_value(self, name: str, own: bool, node: ast.AST) -> NoReturn:
        """Handle the read of the variable `name`, which has no value: let the graph raise Python's error at this point when it runs.

        own   True for a local variable of the running function, False for one of an enclosing function
        node  the name in the syntax tree, for the place of the error

        This function always raises Unreachable: the code after this point must not add nodes to the graph.
        """
        message = (f"cannot access {'local' if own else 'free'} variable '{name}' where it is not associated with a value"
                   f"{'' if own else ' in enclosing scope'}")
        raise_late(self.world, UnboundLocalError if own else NameError, (message,), self.stack.loc_of(node))

    def bind(self, name: str, value: Any, frame: Frame | None = None) -> None:
        """Assign a value to a name: to a local variable, or to one that the function has declared `global` or `nonlocal`.

        frame  the call whose code assigns, with its variables; None for the running one

        A variable that existed before the function was called is written again each time the graph runs.
        """
        frame = frame or self.stack.frame
        if name in frame.globals:
            self.objects.write(ItemPlace(frame.space, name), value)
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
                self.objects.write(CellPlace(cell), value)
            return
        self._set_name(frame, name, value)

    def _set_name(self, frame: Frame, name: str, value: Any) -> None:
        self.objects.journal.touch(NamesPlace(frame.names))
        frame.names[name] = value

    def unbind(self, name: str) -> None:
        """Delete a local variable of the running function."""
        self.objects.journal.touch(NamesPlace(self.stack.frame.names))
        self.stack.frame.names.pop(name, None)

    def walrus_frame(self) -> Frame:
        """Return the frame (the variables of a call) in which `:=` assigns: the innermost one that does not belong to a comprehension."""
        frame = self.stack.frame
        while frame.is_comprehension:
            assert frame.outer is not None
            frame = frame.outer
        return frame
