"""The stages of a graph from its IR to its C, and the files that `save_graphs` writes."""
