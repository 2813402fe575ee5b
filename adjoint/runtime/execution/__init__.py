"""Execution: the one executor of the IR.

    planning   a function -> its plan
    sequence   a plan bound to memory: what runs graphs, adjoints and IR text
    run        one run: blocks of steps, the log, the note on an exception
    launches   steps that run kernels
    control    steps of nodes with regions
    text       IR text as something to call
"""
