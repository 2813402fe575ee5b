"""Inputs of graphs and their results: tensors in slots of a structure.

    outline           outlines: a value with a slot in place of each tensor and run-time number
    templates         templates: the arguments of a call with their tensors taken out, by which graphs are looked up
    callables         the function, method or Cell that is called: its name and those of its arguments
    argument_text     generated code that takes arguments apart, for one template
    dynamic           the sizes that `enable_dynamic` declares
    changing_values   the choice which values that change from call to call become inputs
    changing_numbers  the same for numbers among the arguments
    python_state      attributes and variables that a graph reads and writes when it runs
    changing_state    attributes and variables that others change from call to call
"""
