"""Execution: the executor of the IR.

    carrying   how nested control flow passes values on without copying them
    written_in_loops  state that nested control flow writes
    buffers    which values live in the arena of their piece, and where
    nesting    which branches and loops run inside of the C call of the piece around them
    planning   makes the plan of a function
    tiers      fused kernels for a bound plan that runs often
    bound_plan  a plan bound to memory, which runs graphs, adjoints and IR text
    recording  the ops of a straight piece, recorded by one call
    run        the parts of one run: blocks of steps, the log, the note on an exception
    in_place   which results become the memory of state, and which are computed in it
    stacks     what a loop leaves for its gradient, last in first out
    stages     the stages of the C call of a straight piece
    batches    which launches of a table run as one
    nested_stages  the stages of nested control flow
    call_functions  one function that does a call, from its arguments to its result
    python_numbers  numbers that Python reads, computes and writes around the C call
    tables     the launches of a straight piece, run by one C call
    written_calls  the text of a function that does a call, with the C calls of straight pieces in it
    launches   steps of straight pieces: as a table, or op by op and recorded
    recorded   steps of straight pieces under a tape
    control    steps of nodes with regions that Python runs
    library_traces  library code called once on symbolic tensors, and the ops that it runs
    procedures library code that writes tensors, traced and run as one bound plan
    fusible_calls  the sequence of kernels of a function of the library
    text       IR text as callable functions
"""
