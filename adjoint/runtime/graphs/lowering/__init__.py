"""Make a graph of a function: what ops, cells, gradients and Python objects become while its source is run on symbolic tensors."""
