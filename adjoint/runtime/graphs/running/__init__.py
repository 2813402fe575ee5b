"""Running a graph: the steps of nodes that call Python, use state, or run cells and gradients.

    cells               steps of cells: the moves of `cells.calling` while a graph runs
    gradient_hosts      what expanded gradients call: hooks and `bprop`s
    gradients           steps of gradients of regions, which a tape takes
    hosts               steps of nodes that use objects outside of the graph
    node_by_node        one run on sizes that are new, node by node
    user_code           where the user's code runs, and what comes after it
    optimised           what runs when nothing is recorded: the optimised function
    binding             makes the bound plan of a graph
    observed_functions  functions of graphs whose forward hooks are expected to look
    observed_hooks      steps of such hooks
    repetition          one more run on a tape, with the answers of the first
    observed_runs       runs with such hooks, and how one goes on where a hook has done more
    two_parts           a graph in two parts, the second of which runs optimised
"""
