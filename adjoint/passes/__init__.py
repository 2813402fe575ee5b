"""Passes: transforms of the IR, from module to module.  A pass is loaded when it is used.

Each module imports from those before it.  Parts that all passes use:

    errors            the mistakes that passes find
    manager           passes, pipelines and their text
    rebuild           copies of nodes and regions
    patterns          patterns over nodes
    rounds            which values inside of a loop are the same in each round

Passes that keep the results of functions:

    inline            calls become the nodes of their functions
    cse, dce          equal nodes become one; dead code is removed
    simplify_regions  simplify branches and loops of which it is known how they run
    simplify          algebra that changes no bit
    stretches         nodes whose order may change, of which some become one
    hoist             what is the same in each round of a loop comes before it
    specialize        named sizes become numbers
    early_steps       an optimiser's step of a large parameter comes right after its gradient
    expand            moments become their steps, which can be fused
    row_sums          the gradient of a row in a loop is added to the sum, in its memory
    fuse              elementwise nodes become one kernel
    choices           a branch on a few numbers computes both sides, and chooses
    bundle            stacks of a few numbers that two loops fill and empty become one
    unroll            nodes on a few numbers become one kernel without loops
    attention         products with a large softmax become nodes that do not store the softmax
    unhook            after gradients are taken, marks for gradients become identities
    escapes           values used outside of the cell that computes them become its results

Gradients:

    cotangent         cotangents (gradients of values) that exist only if a condition holds when the function runs
    activity          which values depend on what is differentiated, and which callbacks are registered on them
    residuals         the forward copy that returns the residuals, the values which the reverse pass needs
    sweep             the walk backwards over nodes
    autodiff_regions  the rules of nodes with regions
    reverse           a sweep with these rules
    order             whether expanded gradients are summed in the order of eager mode
    forward           tangents beside values: derivatives along a direction
    first_rounds      the first round of a loop comes before it, if a value would have two names in it
    batch             regions for each example become nodes for all examples
    differentiate     gradients and batches inside of functions
    autodiff          gradients of functions: `grad`, `pair`
    reads             which operands and results of an op its gradient reads
    lift_state        parameters become arguments, writes become results

Before a graph runs:

    schedule          for each purpose, which passes run in which order
    optimising        the schedule that makes a graph fast where eager mode gives the same result
"""

from adjoint.foundation import lazy

PASSES = {
    "attend": "attention", "bundle": "bundle", "choices": "choices", "cse": "cse", "dce": "dce", "differentiate": "differentiate",
    "early-steps": "early_steps", "expand": "expand", "fuse": "fuse", "grad": "autodiff", "hoist": "hoist", "inline": "inline",
    "lift-state": "lift_state", "pair": "autodiff", "row-sums": "row_sums", "simplify": "simplify", "specialize": "specialize",
    "unhook": "unhook", "unroll": "unroll",
}
"""For each pass, by its name in the text of a pipeline, the module that defines it: it is loaded with the first pipeline that has the pass.
"""

__getattr__ = lazy.deferring(__name__, "forward", "order")
