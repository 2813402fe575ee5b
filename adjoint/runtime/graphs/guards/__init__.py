"""Guards: what a graph depends on besides its arguments, and the check that it is unchanged."""
