"""The IR: ordered SSA with regions, its types and ops, and its text.

Each module imports from those before it; `op`, `core` and `build` name each other's types.

    errors      mistakes in a text of the IR
    interning   equal values as one object
    types       types of values, and the arithmetic of named sizes
    storage     arrays as they are stored, and as they are computed with
    kernel      the Kernel to which an op describes its C
    op          what an op is
    core        values, nodes, regions, functions, modules
    build       the Builder, the only maker of nodes
    attributes  attributes of ops, for the text
    ops         the ops: one class each, files by subject
    interpret   the meaning of the IR, in NumPy
    print       IR to text
    verify      what makes IR valid
    parse       text to IR
    plan        what is run for a function: pieces, launches, slots
    plan_text   a plan as text
"""
