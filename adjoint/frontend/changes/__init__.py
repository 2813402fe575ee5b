"""Changes of Python objects: undone at the end of a branch, merged, and refused outside.

    journal         the changes of each open branch
    workspace       the attributes and names of the program around, as one lowering sees them
    aliases         objects that may be the same one
    purity          Python's functions that may be called while parsing
    unparsed_reads  the values that user functions read when Python calls them
    unparsed        changes by user functions that Python calls
    outside         the objects of the program around
    objects         all of these for one lowering
"""
