"""The Tensor, its operators and dtypes, Parameters, random numbers, and nested structures of tensors.

    structure           nested containers: take apart, rebuild, map
    conversion          converts the user's data and dtypes to arrays and dtypes
    promotion           the dtype in which an op on two operands is computed
    display             `str` and `repr`
    numpy_functions     tensors as operands of NumPy's functions
    random              seeds, and the streams of draws
    initializer         initialisers: the values of a new tensor
    placement           where a tensor's numbers are: devices and bytes
    tensor              the Tensor: what it holds, reading and writing it; and `apply`, which runs an op
    operators           Python's operators on tensors and numbers
    description         a tensor with a size of None, for `Cell.set_inputs`
    filled              tensors with one number in every element
    kinds               MindSpore's names for kinds of values
    mutable             `mutable`: numbers and containers that are inputs of a graph
    parameter           Parameters
    lending             Parameters that stand for other tensors for a while
    fusible             functions of the library, run as one sequence of kernels in eager mode
    random_keys         the keys that ops of random numbers draw from
    generator           Generators: states of random numbers
    run_time_checks     checks of numbers, made at once or when a graph runs
    sizes_of_values     how many elements are not 0, in a graph: sizes that values decide
    run_time_promotion  promotion with a number that is known only when a graph runs
    stored_number       a Python number converted for storage in a tensor
    indexing            reading and writing parts by index
"""
