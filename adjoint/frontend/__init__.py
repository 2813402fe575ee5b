"""From Python source to IR: a function's syntax tree is run on symbolic tensors, and what it does becomes nodes.

Each package imports from those before it, never from those behind it:

    errors      the mistakes that the frontend finds
    world       what the frontend asks of the runtime
    tree        syntax trees of the user's functions
    values      text, ranges and functions that parsed code handles
    changes     changes of Python objects: undone, merged, refused
    control     branches and loops of the graph
    operations  operators, names, attributes, iterators, truth
    calls       calls of any callable
    code        expressions and statements
    lowerer     all parts of one lowering, put together
"""
