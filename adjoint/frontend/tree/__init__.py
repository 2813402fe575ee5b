"""Syntax trees of the user's functions.

    source     from a function object to its tree, with positions in the user's file
    rewritten  code objects whose asserts a tool has rewritten
    scope      the names that statements assign or read, and whether control can leave them
"""
