"""The frontend of one lowering (the making of one graph from a call of a user's function): creates its parts and connects them.

Each part receives the parts that it uses, so the order below is the order of these dependencies.  Calls in the other direction go through
`Runner`.  Parsed code is the code that becomes the graph, since the frontend runs its syntax tree.

    part            what it does                                              what state it keeps
    CallStack       open calls, places in the user's program                  the variables of calls, the depth
    Objects         objects that are created, changed, passed on or found     journal, workspace, outside, aliases
    Operators       operators and special methods
    Iterators       iterators, items of loops                                 the iterators that parsed code has created
    Looping         branches and loops of the graph (`Branching`)             the loop that is turned into a node
    Decisions       truth, choices between values
    Conditions      `and`, `or`, `not`, comparisons
    Names           names
    MemberAccess    attributes and items
    PythonCalls     calls that are not parsed
    Instances       instances of classes                                      how many `__init__`s of cells run
    Functions       definitions, and calls of the user's functions
    Builtins        replacements of Python's built-in functions
    Calls           calls of any callable
    Comprehensions  comprehensions
    Expressions     expressions
    Assignment      assignment and `del`
    Patterns        patterns of `match`
    IfStatements    `if`, `match`
    LoopStatements  `for`, `while`
    Statements      blocks, and all other statements
"""

from __future__ import annotations

from typing import Any

from adjoint.foundation.diagnostics import Loc
from adjoint.frontend.calls.builtins import Builtins
from adjoint.frontend.calls.calls import Calls
from adjoint.frontend.calls.functions import Functions
from adjoint.frontend.calls.instances import Instances
from adjoint.frontend.calls.python_calls import PythonCalls
from adjoint.frontend.calls.python_functions import as_python, names_around
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.code.assignment import Assignment
from adjoint.frontend.code.comprehensions import Comprehensions
from adjoint.frontend.code.conditions import Conditions
from adjoint.frontend.code.expressions import Expressions
from adjoint.frontend.code.if_statements import IfStatements
from adjoint.frontend.code.loop_statements import LoopStatements
from adjoint.frontend.code.patterns import Patterns
from adjoint.frontend.code.statements import Statements
from adjoint.frontend.control.loops import Looping
from adjoint.frontend.operations.access import MemberAccess
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.decisions import Decisions
from adjoint.frontend.operations.iterators import Iterators
from adjoint.frontend.operations.names import Names
from adjoint.frontend.operations.operators import Operators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.values.frame import Closure
from adjoint.frontend.world import World

__all__ = ["Lowerer"]


class Lowerer:
    """Runs the user's functions on their syntax trees, so that what they do with tensors becomes nodes of a graph.  The runtime creates one
    object for each graph that it makes, and calls the functions below.

    world         the interface to the runtime, which makes the nodes
    call          calls any callable with a tuple of positional and a dict of keyword arguments, and returns its result
    run_function  the same for a Python function
    with_around   returns a function in which the variables of enclosing functions have given values
    journal       records the changes of objects, so that they can be undone
    workspace     keeps what the user's code writes to attributes and names from outside of the function, while the graph is made
    outside       knows the objects that existed before the function was called
    aliases       knows which objects may be the same one
    branching     makes nodes of branches and loops
    iterators     the iterators that the user's code has created, by `id`
    """

    def __init__(self, world: World):
        self.world = world
        run = self._run = Runner()
        stack = self._stack = CallStack(world)
        objects = self._objects = Objects(world, lambda: stack.frame)
        operators = Operators(world, objects, run)
        iterators = Iterators(world, stack, objects, operators, run)
        branching = Looping(world, objects.journal, objects.aliases)
        decisions = Decisions(world, stack, objects, operators, branching, run)
        conditions = Conditions(world, stack, objects, operators, iterators, decisions, run)
        names = Names(world, stack, objects)
        access = MemberAccess(world, stack, objects, operators, decisions, run)
        python = PythonCalls(world, stack, objects, iterators, run)
        instances = self._instances = Instances(world, objects, operators, python, run)
        functions = Functions(world, stack, objects, branching, decisions, run)
        builtins = Builtins(world, stack, objects, operators, iterators, branching, access, python, run)
        calls = Calls(world, decisions, python, instances, functions, builtins)
        comprehensions = Comprehensions(stack, objects, iterators, conditions, run)
        expressions = Expressions(
            stack, objects, operators, iterators, decisions, conditions, names, access, functions, comprehensions, run)
        assignment = Assignment(world, stack, objects, operators, iterators, names, access, run)
        patterns = Patterns(world, stack, objects, decisions, conditions, access, run)
        ifs = IfStatements(stack, branching, decisions, conditions, names, patterns, run)
        loops = LoopStatements(world, stack, iterators, branching, decisions, conditions, ifs, run)
        statements = Statements(
            world, stack, operators, decisions, conditions, names, functions, expressions, assignment, ifs, loops, run)

        run.value, run.block, run.assign, run.call = expressions.value, statements.block, assignment.assign, calls.call
        self.call, self.run_function, self.with_around = calls.call, functions.run_function, functions.with_around
        self.journal, self.workspace, self.outside, self.aliases = objects.journal, objects.workspace, objects.outside, objects.aliases
        self.branching, self.iterators = branching, iterators.made

    @property
    def depth(self) -> int:
        """Return how many nested calls of the user's functions are being turned into nodes at present."""
        return self._stack.depth

    @property
    def returned_at(self) -> Loc:
        """Return the line of the `return` statement by which the outermost call ended, for error messages about its result."""
        return self._stack.returned_at

    @property
    def initialising(self) -> int:
        """Return how many `__init__` methods of the user's cells have begun and not ended."""
        return self._instances.initialising

    def as_python(self, function: Any) -> Any:
        """Return a function, such as a hook, in a form that Python can call when the graph runs.  A function that Python has defined is
        returned itself.

        CompileError if the function uses a value that the graph computes, or assigns a variable of an enclosing function.
        """
        return as_python(function, self._objects.is_late, self.workspace.variable)

    def names_around(self, function: Closure, what: str) -> dict[str, Any]:
        """Return the variables of enclosing functions that a function reads, by name, with their present values.

        function  a function defined in the code that becomes the graph
        what      describes it in an error message

        CompileError if the function declares a `nonlocal` name.
        """
        return names_around(function, what, self.workspace.variable)

    def end(self) -> bool:
        """Free all objects when the graph has been made, and return False.  This object must not be used afterwards.

        If functions defined in the user's code are still used elsewhere, return True and keep the parts, which calls of these functions
        need.
        """
        in_use = self._stack.end()
        self.aliases.frame = lambda: None
        if not in_use:
            # the parts refer to this object, and to each other through `Runner`
            for let_go in self.aliases.at_end:
                let_go()
            vars(self.outside).clear()
            self.workspace.end()
            self.journal.end()
            self.iterators.clear()  # generators and `map` objects refer to the parts, which refer to them
            vars(self._run).clear()
            vars(self).clear()
        return in_use
