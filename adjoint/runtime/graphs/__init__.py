"""`jit`: a function as a graph, made once for each kind of arguments and kept for as long as its guards hold."""
