"""The frontend: Python source to IR.  A function's syntax tree is run on symbolic tensors; what it does becomes nodes."""
