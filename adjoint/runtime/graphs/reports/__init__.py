"""Reports about the calls of a function: which way each took, and why each graph was made.

    ways     the ways in which a call can run, the reasons for them, and the causes of graphs: three closed lists
    history  the graphs of a function, and counts of how its calls ran
"""
