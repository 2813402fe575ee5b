"""Running a graph: the steps by which its nodes meet Python, state, cells and gradients."""
