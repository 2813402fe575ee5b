"""Calls of functions, of classes and of Cells.

Calls of the user's functions and classes are parsed: the frontend runs their syntax trees.  All others are left to Python.

    python_functions  compiles functions that parsed code has defined, for Python to call when the graph runs
    python_calls      makes calls that are not parsed
    instances         creates instances of classes
    functions         defines the user's functions, and runs calls of them
    builtins          replaces Python's built-in functions by ones that also accept tensors of the graph
    calls             makes a call of any callable
"""
