"""Changes of Python objects: undone at the end of a branch, merged, and refused outside.

While a graph is made, both branches of an `if` on a tensor are run, one after the other, and other threads may run the same program.  So
the frontend records what the user's code changes.  Objects are called *outside* if they existed before the function was called.

    journal         records the changes of each open branch, so that they can be undone
    workspace       keeps what the user's code writes to attributes and names from outside, so that other code does not see it yet
    aliases         finds out which objects may be the same one
    purity          tells which functions of Python and NumPy may be called while the graph is made
    unparsed_reads  records what user functions read when Python calls them by itself, such as `__lt__`
    unparsed        finds what such functions have changed
    outside         knows the objects from outside, and refuses changes that the graph could not repeat when it runs
    objects         combines all of these for one graph that is made
"""
