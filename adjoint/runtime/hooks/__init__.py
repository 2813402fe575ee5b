"""Hooks of tensors and cells: their handles, and how they fire."""
