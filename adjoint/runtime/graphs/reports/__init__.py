"""Reports about the calls of a function: which way each took, and why each graph was made.

    ways     the ways of a call, the reasons for them, and the causes of graphs: three closed lists
    history  the graphs of a function, and how its calls ran
"""
