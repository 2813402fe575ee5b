"""Transforms of the IR, from module to module.  Importing this package makes every pass known to `Pipeline.parse`.

Each module imports from those before it.  Parts that all passes use:

    errors            the mistakes that passes find
    manager           passes, pipelines and their text
    rebuild           copies of nodes and regions
    patterns          patterns over nodes

Passes that keep the results of functions:

    inline            calls become the nodes of their functions
    cse, dce          equal nodes become one; dead code is removed
    simplify_regions  simplify branches and loops whose path is known
    simplify          algebra that changes no bit
    specialize        named sizes become numbers
    early_steps       an optimiser's step of a large parameter comes right after its gradient
    fuse              elementwise nodes become one kernel
    attention         products with a large softmax become nodes that do not store the softmax
    unhook            after gradients are taken, marks for gradients become identities
    escapes           values used outside of the cell that computes them become its results

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
    order             whether expanded gradients are summed in the order of eager mode
    optimising        the schedule that makes a graph fast where eager mode gives the same result
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
