"""Operations on values: operators, names, attributes, items, iteration, truth.

The code that becomes the graph uses them on ordinary Python values, and on tensors of the graph.

    runner      lets a part of the frontend call parts that are created later
    call_stack  keeps the open calls, and finds places in the user's program
    operators   applies operators, and calls special methods
    iterators   makes iterators for loops, and checks which may be advanced
    decisions   finds the truth of values, and chooses between two values
    names       reads and assigns names
    access      reads and writes attributes and items
"""
