"""Small programs as users write them, by theme: each must compute the same in eager mode and as a graph, to the bit.

Each is a function or a Cell whose docstring says in a sentence what it shows; see `program.Program`.
"""

from programs import (
    arguments,
    branches,
    changing,
    containers,
    corners,
    custom_functions,
    errors,
    gradients,
    indexing,
    loops,
    methods,
    networks,
    no_grad,
    numerics,
    operators,
    state,
)
from programs.program import PROGRAMS, Program

__all__ = [
    "PROGRAMS", "Program", "arguments", "branches", "changing", "containers", "corners", "custom_functions", "errors", "gradients",
    "indexing", "loops", "methods", "networks", "no_grad", "numerics", "operators", "state",
]
