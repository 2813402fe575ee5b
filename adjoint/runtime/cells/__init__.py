"""The Cell: its attributes and values, its precision, the tensors that cross its boundary, a `bprop` of its own."""
