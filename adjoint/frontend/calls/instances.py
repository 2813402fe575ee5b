"""Instances of classes that the code that becomes the graph creates."""

from __future__ import annotations

import types
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.calls.python_calls import PythonCalls
from adjoint.frontend.changes import purity
from adjoint.frontend.changes.journal import ObjectPlace
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.operations.operators import Operators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.world import World

__all__ = ["Instances"]


class Instances:
    """Creates objects when the code that becomes the graph calls a class.  A user-defined `__new__` or `__init__` becomes part of the
    graph, too; Python or the library does the rest.

    world         the interface to the runtime, which makes the nodes
    objects, operators, python, run  the parts of the `Lowerer` that it uses
    initialising  the number of user-defined `__init__`s of cells that are running now
    """

    def __init__(self, world: World, objects: Objects, operators: Operators, python: PythonCalls, run: Runner):
        self.world, self.objects, self.operators, self.python, self.run = world, objects, operators, python, run
        self.initialising = 0

    def make(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a new instance of a class.  A user-defined `__new__` and `__init__` are run on their syntax trees, so they become part of
        the graph.

        CompileError if the class is derived from one of the library whose objects a graph cannot create.
        """
        if self.world.is_library(cls) or issubclass(cls, BaseException) or cls.__module__.partition(".")[0] in purity.MODULES:
            made = self.python.call(cls, args, kwargs)
            if isinstance(made, BaseException):
                self.objects.journal.born(ObjectPlace(made))
            return made
        new, init = self.operators.special_of(cls, "__new__"), cls.__init__
        if self.world.is_cell_class(cls) and new is None and type(cls) is type:
            return self._made_cell(cls, init, args, kwargs)
        if any(self.world.is_library(base) for base in cls.__mro__ if base is not object):
            raise errors.UNSUPPORTED.at(self.world.loc, f"a {cls.__name__} is made inside of the graph", help="make it outside, once")
        if (cls.__new__ is not object.__new__ and new is None) or type(cls) is not type:
            self._read_defaults(cls.__new__)
            return self.python.call(cls, args, kwargs)
        made = object.__new__(cls) if new is None else self.run.call(new, (cls, *args), kwargs)
        if not isinstance(made, cls):
            return made
        self.objects.journal.born(ObjectPlace(made))
        if hasattr(cls, "__dataclass_fields__"):
            self._filled(made, args, kwargs)
        elif isinstance(init, types.FunctionType):
            self.run.call(init, (made, *args), kwargs)
        elif new is None:
            return self.python.call(cls, args, kwargs)
        return made

    def _made_cell(self, cls: type, init: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a new cell of a user-defined class.

        init  the `__init__` of the class; the user's is run on its syntax tree, so that it becomes part of the graph; one of the library is
            called as it is
        """
        made = self.world.new_cell(cls)
        if self.world.is_library(init):
            self.world.initialise(made, init, args, kwargs)
            return made
        self.initialising += 1
        try:
            self.run.call(init, (made, *args), kwargs)
        finally:
            self.initialising -= 1
        return made

    def _filled(self, made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Run the `__init__` that Python generated for a dataclass on a new object.

        A user-defined `__post_init__` is called afterwards, on its syntax tree, so that it becomes part of the graph.
        """
        self._read_defaults(type(made).__init__)
        after = self.operators.special(made, "__post_init__")
        given: list[tuple[Any, ...]] = []
        own = getattr(made, "__dict__", None)
        if after is None or own is None:
            self.python.call(type(made).__init__, (made, *args), kwargs)
            return
        own["__post_init__"] = lambda *rest: given.append(rest)
        self.python.call(type(made).__init__, (made, *args), kwargs)
        del own["__post_init__"]
        self.run.call(after, (made, *given[0]), {})

    def _read_defaults(self, function: Any) -> None:
        """Record that the graph depends on the default values of a function that Python calls itself.  The code that Python runs is not
        parsed, so nothing else would notice that a default value has changed.

        Do nothing for a function that is not written in Python.
        """
        if isinstance(function, types.FunctionType):
            self.world.read_attribute(function, "__defaults__")
            self.world.read_attribute(function, "__kwdefaults__")
