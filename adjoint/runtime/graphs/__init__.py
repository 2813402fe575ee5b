"""`jit`: turn a function into a graph, once for each kind of arguments; a cached graph is reused while its guards hold.

What a graph is, and what is said of its calls:

    graph             a function of the IR with the tensors and Python objects that its symbols refer to
    ways              the ways of a call, the reasons for them, and the causes of graphs: three closed lists
    lock              the lock of lowering
    options           the options of `jit`
    parsed            methods of this package that are parsed like the user's functions
    history           why each graph of a function was made, and how its calls ran

What a graph depends on besides its arguments:

    guards            the package of guards

What the arguments and the results of a call are:

    outline           a value with a slot in place of each tensor
    templates         the arguments of a call without their tensors
    call_text         the same as the text of a function, for one template
    subjects          the function, method or Cell that is called: its name and those of its arguments
    dynamic           the sizes that `enable_dynamic` declares
    changing          which values that change from call to call become inputs
    changing_numbers  the same for numbers among the arguments
    state             attributes and names that a graph reads and writes when it runs
    changing_state    the same for attributes and names that others change

How a graph is made and run:

    lowering          the package that makes a graph of a function
    running           the package that runs a graph
    sizes             graphs for any size

How a call finds its graph, and what becomes of it:

    cache             the graphs of one function or Cell
    call              a call for which a graph has been found
    causes            what differs from the nearest graph, where a new one is made
    made_anew         graphs that functions of one code share
    whole_gradients   a graph and its gradient as one function
    bound_graph       a graph that is bound, and what is known of it
    entry             an entry of the cache: a graph, and the class that runs its calls
    making            makes graphs; with it the frontend is loaded
    jit               the decorator, and how a call finds its graph
    jit_stats         how the calls of a function ran, for who asks
"""
