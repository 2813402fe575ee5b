"""From an op to C, and from C to a callable function: emitter, compiler, cache of kernels.

Each module imports from those before it.

    errors            the mistakes that codegen finds
    accuracy          the largest errors of the elementary functions in `c/`
    c_print           the text of a tree of C (`adjoint.ir.kernel.c_ast`)
    headers           the C that kernels share; its files are in `c/`
    user_names        names of the user's that C leaves free
    emit              an op with operand types to the text of a kernel
    recipes           kernels for other sizes, without emitting them again
    packs             which kernels are compiled together
    portable          C99 for other machines, of the shared C only what a file uses
    standalone        functions of the IR as C that needs nothing else
    compiler_process  a run of the compiler: what it sees, and when it ends
    toolchain         the C compiler and its flags
    private_folder    a directory that is this user's alone
    locks, scratch    files that processes share in such a directory
    cache             compiled libraries, kept between runs
    declarations      how Python calls the run-time library and the system's
    loading           from a library to the addresses of its functions
    probe             whether a compiler can be trusted
    workshop          a compiler and a cache that work together, and the run-time library; its files are in `c/runtime/`
    compile           from texts to function pointers
"""
