"""Changes of Python objects: undone at the end of a branch, merged, and refused outside.

    journal         the changes of each open branch
    workspace       what a lowering sees of the program around
    aliases         objects that may be the same one
    purity          Python's functions that may be called while parsing
    unparsed_reads  what functions of the user's read that Python calls
    unparsed        changes by functions of the user's that Python calls
    outside         the objects of the program around
    objects         all of these for one lowering
"""
