"""Control flow of the graph.

    branches  branches that are lowered from one state, and merged
    loops     loops that carry changed values from round to round
    raising   exceptions that are raised when the graph runs
"""
