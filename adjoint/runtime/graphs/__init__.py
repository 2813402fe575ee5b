"""`jit`: turn a function into a graph, once for each kind of arguments; a cached graph is reused while its guards hold."""
