"""How a call finds its graph, and how it runs.

    cache                  the cache of the graphs of one function or Cell
    call                   one call, for which a graph has been found
    causes                 the reason why a new graph is made: what differs from the nearest graph
    functions_of_one_code  graphs shared by functions that a program makes again and again, such as a lambda in a loop
    any_size               graphs whose arguments have named sizes, specialised when a size comes
    joint_gradients        a graph and its gradient as one function, without a tape
    bound_graph            a graph that is ready to run, with facts about it
    entry                  an entry of the cache: a graph, and the choice how its calls run
    making                 makes graphs; importing it loads the frontend
"""

from adjoint.foundation import lazy

__getattr__ = lazy.deferring(__name__)
