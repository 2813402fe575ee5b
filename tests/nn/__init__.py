"""Layers, losses and optimisers as users see them."""
