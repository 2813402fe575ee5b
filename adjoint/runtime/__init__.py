"""Run what the rest of the package describes: tensors, cells and hooks, gradients, and functions as graphs.

Each package imports from those before it, never from those behind it:

    process      settings, the state of a thread, the user's line that is running
    memory       buffers, and the compiled function of each op
    hooks        hooks and their handles, and how they fire
    tensor       the Tensor, and what computes on it at once
    execution    the one executor: plans of functions, and the sequences that run them
    cells        the Cell, and what surrounds a call of one
    gradients    the tape, the adjoints made of what it records, and the functions that take gradients
    checkpoints  files of parameters
    graphs       `jit`: functions as graphs, kept for as long as their guards hold
    inspection   the stages of a graph, to be shown or written to files
"""
