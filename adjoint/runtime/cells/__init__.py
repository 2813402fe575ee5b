"""The Cell: its attributes and values, its precision, the tensors that cross its boundary, a `bprop` of its own.

    attributes        the `__dict__` of a cell, which notices writes
    boundary          the tensors of a call that have names of their own inside of the cell
    nested_gradients  gradients in the structure of what they are of
    custom_bprop      what a `bprop` is called with, and what it may return
    inputs            what `set_inputs` says, and the check of a call against it
    precision         computing in another float type: `to_float`
    values            buffers, `state_dict` and `load_state_dict`
    cell              the Cell
"""
