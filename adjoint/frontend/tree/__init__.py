"""Syntax trees of the user's functions.

    private    private names of classes, as Python compiles them
    rewritten  code objects whose `assert` statements a tool has rewritten
    source     from a function object to its tree, with positions in the user's file
    scope      the names that statements assign or read, and whether control can leave the statements
"""
