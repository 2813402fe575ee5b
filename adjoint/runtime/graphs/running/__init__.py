"""Running a graph: the steps of nodes that call Python, use state, or run cells and gradients.

A step is the Python function that does the work of one node in a run.  A run goes *along the path* if it executes the graph node by node
and keeps the result of each node in a log, so that it can continue in another graph when a hook returns something unexpected.

    cells               steps of cells: hooks and construct of a Cell while a graph runs
    gradient_hosts      the Python objects that the code of a gradient calls: hooks and `bprop`s
    gradients           steps of nodes that take a gradient, by recording a region on a tape
    hosts               steps of nodes that use objects outside of the graph: Parameters, hooks, Python functions
    node_by_node        one run on sizes that are new, node by node
    user_code           where the user's code runs, and what comes after it
    optimised           the optimised form of a graph, which runs when no tape records
    at_once             runs a graph by one call on a tape
    binding             makes the bound plan (the object that runs a graph)
    observed_functions  graphs in which forward hooks are expected only to look at values
    observed_hooks      steps of such hooks: they check that a hook has changed nothing
    repetition          one more run on a tape, which uses the hooks' answers of the first run
    observed_runs       runs with such hooks, and how one continues when a hook has done more than look
    counted_sizes       graphs in which values decide sizes, which run in parts
    two_parts           a graph split in two, the second part of which runs optimised
"""

from adjoint.foundation import lazy

__getattr__ = lazy.deferring(__name__)
