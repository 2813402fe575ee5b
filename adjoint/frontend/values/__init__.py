"""Values of parsed code that Python does not have: text, ranges and list items that depend on run-time numbers.

Parsed code is the user's code that becomes the graph, since the frontend runs its syntax tree; a run-time number is one that the graph
computes.

    text       text with values of the graph in it
    numbers    ranges of run-time numbers
    chosen     an item of a list that a run-time number chooses
    frame      the variables of a running function, and functions that parsed code defines
    structure  containers: their items, and copies with other items
    endless    iterators that do not end
"""
