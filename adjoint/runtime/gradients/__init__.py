"""The tape that records operations, the adjoints (gradient functions) built from it, and the functions that take gradients.

    argument_copy    copies of arguments, and writing changes back to the caller's containers
    trie             the tree of all sequences of events ever recorded, and the adjoints built from them
    path             one way through the tree: the values that its steps define, and how its next step is made
    packing          which tensors `saved_tensors_hooks` pack: those that the gradients of ops read
    extended         the pieces that a tape has recorded by one call
    tape             the recording of one thread while a gradient is taken
    awaited          a tape that is made when it is first used
    assembly         the IR of what a tape has recorded
    adjoints         builds, binds and runs adjoints
    grad             `grad`, `value_and_grad`, `GradOperation`
    products         `vjp` and `jvp`
    no_grad          `_no_grad`: switches gradients off
    custom_function  `_Function`: a function with its own forward and backward pass
    trace            traces a function on example inputs into a module of the IR
"""
