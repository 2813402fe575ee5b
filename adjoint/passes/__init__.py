"""Transforms of the IR, from module to module.  Importing this package makes every pass known to `Pipeline.parse`.

Each module imports from those before it.  What all passes use:

    errors            the mistakes that passes find
    manager           passes, pipelines and their text
    rebuild           copies of nodes and regions
    patterns          patterns over nodes

Passes that keep what a function computes:

    inline            calls become the nodes of their functions
    cse, dce          equal nodes become one; dead code goes
    simplify_regions  control flow that is decided
    simplify          algebra that changes no bit
    specialize        named sizes become numbers
    early_steps       an optimiser's step of a large parameter comes right after its gradient
    fuse              elementwise nodes become one kernel
    attention         products with a large softmax become nodes that do not store it
    unhook            marks for gradients become identities, when these have been taken
    escapes           values used outside of the cell that made them become its results

Gradients:

    cotangent         cotangents that are present on some paths only
    activity          which values are active, and which callbacks are registered on them
    residuals         the forward copy that returns the residuals
    sweep             the walk backwards
    autodiff_regions  the rules of nodes with regions
    reverse           a sweep with these rules
    differentiate     gradients inside of functions
    autodiff          gradients of functions: `grad`, `pair`
    lift_state        parameters become arguments, writes become results

Before a graph runs:

    schedule          for each purpose, which passes run in which order
    order             whether gradients that are expanded are summed as in eager mode
    optimising        the schedule that makes a graph fast, where eager mode gives the same
"""

from adjoint.passes import (
    attention,
    autodiff,
    cse,
    dce,
    differentiate,
    early_steps,
    fuse,
    inline,
    lift_state,
    simplify,
    specialize,
    unhook,
)

__all__ = [
    "attention",
    "autodiff",
    "cse",
    "dce",
    "differentiate",
    "early_steps",
    "fuse",
    "inline",
    "lift_state",
    "simplify",
    "specialize",
    "unhook",
]
