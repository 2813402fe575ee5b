"""Run what the rest of the package describes: tensors, cells and hooks, gradients, and functions as graphs.

Each package imports from those before it, never from those behind it:

    process      settings, the state of a thread, the line of the user's program that is running
    memory       buffers, and the compiled function of each op
    hooks        hooks and their handles, and how they fire
    tensor       the Tensor, and the functions that compute on it eagerly
    execution    the executor: plans of functions, and bound plans, which run them
    cells        the Cell: its parameters, its calls, its own `bprop`
    gradients    the tape, the adjoints built from what it records, and the functions that take gradients
    checkpoints  reading and writing files of parameters
    graphs       `jit`: functions as graphs, kept for as long as their guards hold
    inspection   the stages of a graph, for display or in files
"""
