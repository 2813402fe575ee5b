"""Run the IR of a graph on tensors, node by node."""
