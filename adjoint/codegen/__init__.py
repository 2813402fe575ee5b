"""From ops to C, from C to functions that can be called.

    kernel    what an op describes its computation to
    c_ast     the tree of C that comes of it, `c_print` its text
    emit      an op with operand types to the text of a kernel
    toolchain the C compiler and its flags
    cache     compiled libraries, kept between runs
    compile   from texts to function pointers
    packs     which kernels are compiled together
    headers   the C that kernels share; its files are in `c/`
"""
