"""From an op to C, and from C to a function that can be called: emitter, compiler, cache of kernels.

    emit      an op with operand types to the text of a kernel (`adjoint.ir.kernel`)
    c_print   the text of a tree of C
    toolchain the C compiler and its flags
    compiler_process  a run of the compiler: what it sees, and when it ends
    probe     whether a compiler can be trusted
    private_folder    a directory that is this user's alone; `locks` and `scratch`, files that processes share in it
    cache     compiled libraries, kept between runs
    loading   from a library to the addresses of its functions
    workshop  a compiler and a cache that work together, and the run-time library
    compile   from texts to function pointers
    packs     which kernels are compiled together
    headers   the C that kernels share; its files are in `c/`
"""
