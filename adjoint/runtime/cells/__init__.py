"""The Cell: its attributes and values, its call with hooks, its precision, the tensors that cross its boundary, a `bprop` of its own.

    attributes        the `__dict__` of a cell, which detects writes
    boundary          the tensors of a call that get new names inside the cell
    nested_gradients  gradients that have the structure of the value they belong to
    custom_bprop      the arguments of a `bprop`, and the check of its result
    inputs            the inputs that `set_inputs` declares, and the check of a call against them
    precision         casts to another float type
    substitutes       what construct sees in the place of Parameters: because of hooks on them, and `to_float`
    calling           the one way to call a cell: the order of its hooks around construct, and its region on a tape
    values            buffers, `state_dict` and `load_state_dict`
    cell              the Cell
    kept_attributes   attributes that one thread sees in cells instead of their own, while it makes a graph
"""
