"""The IR: ordered SSA with regions, its types and ops, and its text.

Each module imports from those before it; `registry`, `op`, `core` and `build` name each other's types.

    errors      the errors in IR text, with codes and help
    interning   makes equal values one object
    types       types of values, and the arithmetic of named sizes
    storage     the storage form and the compute form of arrays
    kernel      the Kernel to which an op describes its C
    public      the names and parameters of an op for users
    registry    the ops by name, each loaded when it is looked up
    op          the base class of ops
    core        values, nodes, regions, functions, modules
    build       the Builder, the only maker of nodes
    attributes  the attributes of ops in text
    ops         the ops: one class each, files by subject
    interpret   the reference interpreter, in NumPy
    print       IR to text
    verify      checks that IR is valid
    parse       text to IR
    arena       one block of memory for values that are not needed at the same time
    plan        the plan of a function: pieces, launches, slots
    plan_text   a plan as text
    html        a module as HTML, for notebooks
"""
