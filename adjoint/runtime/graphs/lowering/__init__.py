"""Lower a function to a graph: handle ops, cells, gradients and Python objects while its source runs on symbolic tensors."""
