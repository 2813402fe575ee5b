"""Lower a function to a graph: handle ops, cells, gradients and Python objects while its source runs on symbolic tensors.

*Lowering* is to make a Python function into a graph.  *Parsed code* is the user's code whose source is run in this way.

    regions            Regions: the open regions (bodies of the function, of branches, loops and cells), to which nodes are added
    made               Made: cells, Parameters and tensors that parsed code has made
    graph_sizes        GraphSize: sizes of tensors that are not numbers, while a graph is made for any size
    python_arithmetic  Python's arithmetic on run-time numbers: bounds, where kernels do the same, what Python raises
    graph_values       GraphTensor, GraphNumber: tensors and numbers without values; Owner: the graph that they belong to
    categories         the categories of values: tensors and Python's numbers
    assumptions        Assumptions: what forward hooks are assumed to return
    changes            changes of tensors and cells that the frontend can undo
    symbols            Symbols: names of tensors from outside and of Python objects that nodes call
    values             Values: Python's objects as atoms (values and literals) of the IR, and atoms as tensors and numbers
    cuts               Cuts: values inside of `_no_grad`
    hosts              Hosts: Python functions that run with the graph
    run_time_numbers   RunTimeNumbers: numbers that are known when the graph runs, as conditions and indices
    operations         Operations: ops, writes, random draws
    value_hooks        ValueHooks: hooks on tensors
    stored_containers  StoredContainers: lists and dicts outside that parsed code stores or changes
    python_state       PythonState: attributes and variables outside that parsed code writes
    reads              Reads: reads of the program around, as guards
    python_objects     PythonObjects: what Python objects are
    library_instances  LibraryInstances: instances of the library's classes, and attributes
    forward_hooks      ForwardHooks: forward hooks of cells, whose results are assumed
    cell_boundary      the arguments and results of a cell's call, rebuilt from tensors
    cell_calls         CellCalls: calls of cells
    gradients          Gradients: `grad`, `vjp` and related functions
    batches            Batches: `vmap`
    returned           Returned: the pattern from which each run makes the function's result
    world              GraphWorld: the runtime as the frontend sees it
    lowering           Lowering: the parts, put together
"""
