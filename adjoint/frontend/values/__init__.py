"""Values of parsed code that Python does not have: text, ranges and list items that depend on run-time numbers.

    text       text with run-time values in it
    numbers    ranges of run-time numbers
    chosen     an item that a run-time number chooses
    frame      the names of a running function, and functions that parsed code defines
    structure  containers: their items, and copies with other items
    endless    iterators that do not end
"""
