"""The tape that records what runs, the adjoints made of it, and the functions that take gradients."""
