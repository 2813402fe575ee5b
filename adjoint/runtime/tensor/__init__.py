"""The Tensor, its operators and dtypes, Parameters, random numbers, and nested structures of tensors."""
