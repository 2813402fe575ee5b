"""Operations on values: operators, names, attributes, items, iteration, truth.

    runner      how parts call parts that are created later
    call_stack  open calls, places in the user's program
    operators   operators and special methods
    iterators   iterators, and the items of loops
    decisions   truth, and the choice between values
    names       names
    access      attributes and items
"""
