"""Small programs as users write them, by theme: what runs op by op must run as a graph, to the bit.

Each is a function or a Cell that says in a sentence what it is about; see `program.Program`.
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
