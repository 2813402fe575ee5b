"""Control flow of the graph.

    branches  branches lowered from one state, and merged
    loops     loops whose changes are carried from round to round
    raising   exceptions that are raised when the graph runs
"""
