"""`jit`: turn a function into a graph, once for each kind of arguments; a cached graph is reused while its guards hold.

Guards are the conditions under which a graph may run again, such as that a global variable is unchanged.  The story of a call, by rooms:

    lock       the lock of lowering: one function at a time is made into a graph
    options    the options of `jit`
    reports    which way calls took, and why graphs were made
    guards     what a graph depends on besides its arguments
    inputs     what a call gives a graph, and what the graph gives back
    graph      a graph: a function of the IR with the tensors and Python objects that its symbols refer to
    lowering   makes a graph of a function
    running    runs a graph
    calls      how a call finds its graph, and how it runs
    parsed     methods of this package that are parsed like the user's functions
    jit        the decorator; here a call begins
    transformations  functions of the library that run as graphs, or as they are
    vmap       functions of a batch of examples
    jacobians  Jacobians and Hessians
    starting   loads `jit` with the first call in graph mode
    jit_stats  how the calls of a function ran, as a report
"""
