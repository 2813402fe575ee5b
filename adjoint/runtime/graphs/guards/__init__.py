"""What a graph depends on outside of its arguments, and whether that is still so."""
