"""Settings of the process, state of its threads, and the line of the user's program that is running.

    epoch             the number that moves when a cell, a hook slot or the type of a tensor changes
    graph_mode        whether GRAPH_MODE is on, and who runs graphs then
    threads           how many threads kernels use when nobody has said it
    tracer            the tape or the graph that a thread's ops go to
    context           the settings of `set_context`
    parallel_context  the settings of `set_auto_parallel_context`
    location          the line of the user's program that is running
    observers         announcements of graphs and adjoints that are made
"""
