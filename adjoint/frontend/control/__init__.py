"""Control flow of the graph.

An `if` or a loop of the user's function becomes part of the graph if a value that is known only when the graph runs, such as a tensor,
decides what happens.

    branches  makes nodes of both branches of an `if` from the same state of the program, and merges their results
    loops     makes a node of a loop, and finds the values that each round passes on to the next
    raising   lets the graph raise an exception of the user's program when it runs
"""
