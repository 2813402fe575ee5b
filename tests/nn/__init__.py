"""Layers, losses and optimisers from the user's point of view."""
