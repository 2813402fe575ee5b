"""Functions of the IR as C that needs nothing else: what `adjoint export` and `dump-ir --stage c --standalone` write.

Each module imports from those before it.

    hooks       hooks as function pointers
    entry       an exported function: its names in C, what it may return, what it cannot contain
    batch       one function for batches of several sizes
    memory      where the values of a function are
    arithmetic  statements that compute with a few numbers
    kernels     the kernels of a file, and which of them computes a node for which batch
    order       state is written after what may fail
    function    the text of a function
    file        functions and their kernels as one C file
    stack       how many bytes of arrays its functions have on the stack
    table       what such a file needs, by layer
    project     such a file with its state, a header and a test
"""
