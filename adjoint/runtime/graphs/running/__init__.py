"""Running a graph: the steps of nodes that call Python, use state, or run cells and gradients."""
