"""Guards: what a graph depends on besides its arguments, and the check that it is unchanged.

A *place* is where Python keeps a value that the graph was made from, such as a global variable or an attribute.

    references        weak references to objects that guards depend on
    constants         the rule when two Python values are the same constant
    names             which attributes of a cell the library's own code may read
    check             compiles the check of a graph to one function
    places            places: a global, a variable of an enclosing function, an attribute, a setting
    call_results      what a function of Python's returned for objects from outside
    objects           an object as a whole: attributes, a cell's state, hook slots, a tensor's type
    patterns          places whose numbers and tensors each run reads again: only their types are compared
    changed_in_a_run  what the user's code changes in the middle of a run
    disturbances      what other threads change while a graph is made
    guards            all guards of a graph
"""
