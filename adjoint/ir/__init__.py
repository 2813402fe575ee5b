"""The IR: types, nodes, ops, and their text."""
