"""Settings of the process, the state of its threads, and the line of the user's program that is running.

    epoch             a number that changes when a cell, a list of hooks or the type of a tensor changes, so that graphs notice
    tracer            the tape or the graph that a thread's ops are passed to, and whether the thread runs a function eagerly
    graph_mode        the state of GRAPH_MODE, and the functions that run graphs
    jitted            the marks of functions that run as graphs
    threads           the default number of threads of kernels
    context           the settings of `set_context`
    parallel_context  the settings of `set_auto_parallel_context`
    stored_settings   settings of MindSpore's scripts without effect: `set_ps_context`, `set_algo_parameters`
    summaries         values for training curves, which operators hand to the record that collects them
    streams           streams, events and memory of devices, on a CPU
    function_text     Python functions that are generated as text, for one graph
    location          the line of the user's program that is running
    announcements     functions that are called with new graphs and adjoints
"""
