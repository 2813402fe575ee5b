"""Buffers of tensors, and for each op and types of operands the function that computes it."""
