"""How a call finds its graph, and how it runs.

    cache                  the graphs of one function or Cell
    call                   a call for which a graph has been found
    causes                 what differs from the nearest graph, where a new one is made
    functions_of_one_code  graphs that functions of one code share
    any_size               graphs for any size
    joint_gradients        a graph and its gradient as one function
    bound_graph            a graph that is bound, and what is known of it
    entry                  an entry of the cache: a graph, and the class that runs its calls
    making                 makes graphs; with it the frontend is loaded
"""
