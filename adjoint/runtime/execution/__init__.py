"""Execution: the executor of the IR.

    planning   makes the plan of a function
    sequence   a plan bound to memory, which runs graphs, adjoints and IR text
    run        the parts of one run: blocks of steps, the log, the note on an exception
    launches   steps that run kernels
    control    steps of nodes with regions
    text       IR text as callable functions
"""
