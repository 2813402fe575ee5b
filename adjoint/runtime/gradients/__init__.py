"""The tape that records what runs, the adjoints made of it, and the functions that take gradients.

    argument_copy    arguments whose containers the function may change
    trie             all paths that were recorded, and the adjoints made of them
    assembly         from a path to IR
    tape             what one thread records while a gradient is taken
    adjoints         adjoints, bound to plans and run
    grad             `grad`, `value_and_grad`, `GradOperation`
    products         `vjp` and `jvp`
    no_grad          `_no_grad`: what is constant for every gradient
    custom_function  `_Function`: a forward and a backward pass of the user's own
    trace            a function, run once on examples, as a module
"""
