"""From Python source to IR: a function's syntax tree is run on symbolic tensors, and what it does becomes nodes.

Each package imports from those before it, never from those behind it:

    errors      the mistakes that the frontend finds in the user's functions
    world       the interface through which the frontend uses the runtime
    tree        syntax trees of the user's functions
    values      values that plain Python does not have, such as text that contains numbers which the graph computes
    changes     changes of Python objects: undone at the end of a branch, merged, refused for objects from outside
    control     branches and loops of the graph
    operations  operators, names, attributes, iterators, truth
    calls       calls of any callable
    code        expressions and statements
    lowerer     creates all parts that make one graph, and connects them
"""
