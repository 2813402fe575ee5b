"""Execution: the executor of the IR.

    buffers    which values live in the arena of their piece, and where
    planning   makes the plan of a function
    sequence   a plan bound to memory, which runs graphs, adjoints and IR text
    run        the parts of one run: blocks of steps, the log, the note on an exception
    tables     the launches of a straight piece, run by one C call
    launches   steps of straight pieces: as a table, or op by op and recorded
    control    steps of nodes with regions
    text       IR text as callable functions
"""
