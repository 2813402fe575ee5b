"""Calls of functions, of classes and of Cells.

    python_functions  functions of parsed code, for Python to call
    python_calls      calls that are not parsed
    instances         instances of classes
    functions         definitions, and calls of the user's functions
    builtins          replacements of Python's built-in functions
    calls             calls of any callable
"""
