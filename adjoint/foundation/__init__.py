"""What every part of adjoint builds on, and which knows nothing of graphs, tensors or C.

    dataclass    a `dataclass` that is quick to define
    collector    pause Python's garbage collector
    lazy         load the names of a public module when they are first used
    locking      locks that Ctrl-C does not leave taken
    ownership    the reference count that Python reports for an object with one owner
    settings     all settings: environment variables, and the names that `set_context` accepts
    diagnostics  locations in the user's program, and messages that show a mistake at one
    tracebacks   uncaught exceptions with the frames of the user's program only
    files        write files for the user: complete or not at all
    made         count the objects that are made while a program runs
    budget       a limit in bytes on all caches of a process together
"""
