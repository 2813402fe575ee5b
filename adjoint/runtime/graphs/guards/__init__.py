"""Guards: what a graph depends on besides its arguments, and the check that it is unchanged.

    references        weak references to what guards depend on
    constants         when two Python values are the same constant
    names             which attributes of a cell the library's own code may read
    check             compiles the check of a graph to one function
    places            where a constant was read: a global, a closure, an attribute, a setting
    call_results      what a function of Python's returned for objects from outside
    objects           an object as a whole: attributes, a cell's state, hook slots, a tensor's type
    patterns          places whose numbers and tensors each run reads again
    changed_in_a_run  what the user's code changes in the middle of a run
    disturbances      what other threads change while a graph is made
    guards            all guards of a graph
"""
