"""Calls of functions, of classes and of Cells.

The user's functions and classes are run on their syntax trees, so that they become part of the graph.  All others are left to Python.

    python_functions  compiles functions of the code that becomes the graph, for Python to call when the graph runs
    python_calls      makes calls that are left to Python
    instances         creates instances of classes
    functions         defines the user's functions, and runs calls of them
    builtins          replaces Python's built-in functions by ones that also accept tensors of the graph
    calls             makes a call of any callable
"""
