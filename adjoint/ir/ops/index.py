"""Written by `make docs` from the classes of the ops, and compared with them by a test."""

OPS = {
    "activation":
        "sigmoid sigmoid_gradient softplus relu relu_gradient leaky_relu leaky_relu_gradient hard_sigmoid hard_swish gelu "
        "gelu_gradient",
    "adaptive_steps":
        "rms_prop_update centered_rms_prop_update adagrad_update adagrad_v2_update adadelta_update ftrl_update adamax_update "
        "lamb_direction",
    "along":
        "arg_max arg_min",
    "arithmetic":
        "add sub mul mul_no_nan div floor_div mod fmod common_divisor neg abs sign sqrt root_of_sum rsqrt square maximum minimum "
        "floor ceil round next_after",
    "assignment":
        "linear_sum_assignment",
    "attention":
        "attention",
    "bessel":
        "bessel_series bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_y0 bessel_y1 bessel_k0 bessel_k0e "
        "bessel_k1 bessel_k1e",
    "boxes":
        "suppress",
    "check":
        "check!",
    "collective":
        "all_reduce! reduce! all_gather! reduce_scatter! broadcast! all_to_all! barrier!",
    "comparison":
        "less less_equal greater greater_equal equal not_equal is_nan is_inf is_finite",
    "complex":
        "real_part imaginary_part conjugate complex_number",
    "composed":
        "hypot clip soft_shrink smooth_l1 huber",
    "control":
        "if for while cell call gradient record pull! along! tangent batch",
    "conversion":
        "select cast identity examples stop_gradient no_grad straight_through",
    "counted":
        "non_zero up_to find_non_zero find_chosen find_distinct find_counts",
    "cumulative":
        "cum_sum cum_prod linear_recurrence cum_max cum_min",
    "custom":
        "custom",
    "edits":
        "edit_distance",
    "eigen":
        "eigenvalues eigen",
    "elimination":
        "determinant log_determinant matrix_inverse cofactor",
    "extend":
        "extend extend_gradient",
    "extremes":
        "reduce_max reduce_min",
    "fourier":
        "fourier_transform half_spectrum half_spectrum_inverse",
    "fused":
        "fused",
    "gamma":
        "lgamma digamma trigamma mvlgamma polygamma zeta zeta_derivative igamma igammac igamma_derivative log_beta betainc "
        "betainc_derivative",
    "host":
        "hook outputs attach! pack! unpack! callback! backward! bprop! apply! observe!",
    "indexing":
        "gather gather_gradient scatter_add one_hot iota",
    "linalg":
        "matmul outer_product convolution convolution_input_gradient convolution_weight_gradient",
    "linear_systems":
        "solve triangular_solve cholesky_factor pivot_permutation",
    "logic":
        "logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right "
        "population_count",
    "losses":
        "softmax_cross_entropy softmax_cross_entropy_gradient sparse_softmax_cross_entropy sparse_softmax_cross_entropy_gradient",
    "matrix_logarithm":
        "matrix_logarithm matrix_logarithm_derivative",
    "moments":
        "moments",
    "normalize":
        "layer_norm layer_norm_gradient batch_norm batch_norm_gradient batch_norm_inference",
    "number_power":
        "number_power",
    "optimizers":
        "sgd_update sgd_momentum_update momentum_update adam_update amsgrad_update adam_weight_decay_update",
    "patches":
        "unfold fold",
    "pooling":
        "max_pool max_pool_gradient max_pool_select max_pool_indices avg_pool avg_pool_gradient",
    "power":
        "pow",
    "random":
        "draw! random_bits random_uniform random_normal random_integer dropout dropout_kept dropout_gradient",
    "recurrence":
        "lstm_steps lstm_steps_gradient gru_steps gru_steps_gradient rnn_steps rnn_steps_gradient",
    "recurrent":
        "lstm_cell lstm_cell_gradient gru_cell gru_cell_gradient",
    "recurrent_weight":
        "recurrent_weight_gradient",
    "reflections":
        "qr reflections reflections_product",
    "rejection":
        "random_gamma random_poisson candidates",
    "resample":
        "resample resample_gradient",
    "scatter":
        "scatter set_row add_row",
    "shape":
        "reshape broadcast transpose concat slice pad slice_gradient reverse roll",
    "signed_steps":
        "add_sign_update power_sign_update proximal_update proximal_adagrad_update dual_averaging_update",
    "singular":
        "singular_values svd",
    "softmax":
        "softmax softmax_gradient log_softmax log_softmax_gradient",
    "sort":
        "sort top_k search_sorted",
    "stack":
        "stack push pop undef",
    "state":
        "read write!",
    "statistics":
        "statistics",
    "sums":
        "sum sum_of_squares mean prod all any",
    "transcendental":
        "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh asinh acosh atanh xlog_y atan2 tanh tanh_gradient "
        "erf erfc erfinv sinc",
    "triangles":
        "lu_factor",
    "tuples":
        "group item",
    "unrolled":
        "unrolled",
}
"""For each module the names of its ops."""

PACKS = {
    "activation":
        "sigmoid sigmoid_gradient softplus relu relu_gradient tanh tanh_gradient erf",
    "leaky":
        "leaky_relu leaky_relu_gradient",
    "gelu":
        "gelu gelu_gradient",
    "optimizer":
        "rms_prop_update centered_rms_prop_update adagrad_update adagrad_v2_update adadelta_update ftrl_update adamax_update "
        "lamb_direction sgd_update sgd_momentum_update momentum_update adam_update amsgrad_update adam_weight_decay_update "
        "add_sign_update power_sign_update proximal_update proximal_adagrad_update dual_averaging_update",
    "reduce":
        "arg_max arg_min reduce_max reduce_min moments sum sum_of_squares mean all any",
    "arithmetic":
        "add sub mul div neg abs square",
    "compare":
        "sign maximum minimum less less_equal greater greater_equal equal not_equal is_nan is_inf is_finite select",
    "roots":
        "sqrt root_of_sum rsqrt floor ceil round",
    "complex":
        "real_part imaginary_part conjugate",
    "cast":
        "cast",
    "gather":
        "gather gather_gradient one_hot",
    "matmul":
        "matmul",
    "convolution":
        "convolution convolution_input_gradient convolution_weight_gradient",
    "logic":
        "logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right",
    "loss":
        "softmax_cross_entropy softmax_cross_entropy_gradient sparse_softmax_cross_entropy sparse_softmax_cross_entropy_gradient",
    "norm":
        "layer_norm layer_norm_gradient batch_norm batch_norm_gradient batch_norm_inference",
    "pool":
        "max_pool max_pool_gradient avg_pool avg_pool_gradient",
    "power":
        "pow",
    "random":
        "random_bits random_uniform random_normal random_integer dropout dropout_kept dropout_gradient",
    "lstm":
        "lstm_steps lstm_steps_gradient",
    "gru":
        "gru_steps gru_steps_gradient",
    "rnn":
        "rnn_steps rnn_steps_gradient",
    "recurrent":
        "lstm_cell lstm_cell_gradient gru_cell gru_cell_gradient",
    "shape":
        "broadcast transpose concat slice pad slice_gradient roll",
    "softmax":
        "softmax softmax_gradient log_softmax log_softmax_gradient",
    "exponential":
        "exp exp2 expm1 log log2 log10 log1p",
    "trigonometric":
        "sin cos tan",
    "inverse":
        "asin acos atan sinh cosh asinh acosh atanh atan2 erfc",
}
"""For each pack (kernels that are compiled together) the names of its ops."""

FUNCTIONS = {
    "sigmoid": "sigmoid", "add": "add", "tensor_add": "add", "sub": "sub", "tensor_sub": "sub", "mul": "mul", "multiply": "mul",
    "tensor_mul": "mul", "mul_no_nan": "mul_no_nan", "floor_divide": "floor_div", "floor_div": "floor_div", "floordiv": "floor_div",
    "tensor_floordiv": "floor_div", "remainder": "mod", "mod": "mod", "tensor_mod": "mod", "floor_mod": "mod", "floormod": "mod", "neg":
    "neg", "negative": "neg", "abs": "abs", "absolute": "abs", "sign": "sign", "sqrt": "sqrt", "rsqrt": "rsqrt", "square": "square",
    "maximum": "maximum", "minimum": "minimum", "floor": "floor", "ceil": "ceil", "nextafter": "next_after", "bessel_i0": "bessel_i0", "i0":
    "bessel_i0", "bessel_i0e": "bessel_i0e", "bessel_i1": "bessel_i1", "bessel_i1e": "bessel_i1e", "bessel_j0": "bessel_j0", "bessel_j1":
    "bessel_j1", "bessel_y0": "bessel_y0", "bessel_y1": "bessel_y1", "bessel_k0": "bessel_k0", "bessel_k0e": "bessel_k0e", "bessel_k1":
    "bessel_k1", "bessel_k1e": "bessel_k1e", "less": "less", "lt": "less", "tensor_lt": "less", "less_equal": "less_equal", "le":
    "less_equal", "tensor_le": "less_equal", "greater": "greater", "gt": "greater", "tensor_gt": "greater", "greater_equal":
    "greater_equal", "ge": "greater_equal", "tensor_ge": "greater_equal", "equal": "equal", "eq": "equal", "not_equal": "not_equal", "ne":
    "not_equal", "isnan": "is_nan", "isinf": "is_inf", "isfinite": "is_finite", "lgamma": "lgamma", "digamma": "digamma", "igamma":
    "igamma", "igammac": "igammac", "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "logical_not":
    "logical_not", "population_count": "population_count", "pow": "pow", "tensor_pow": "pow", "pows": "pow", "exp": "exp", "tensor_exp":
    "exp", "exp2": "exp2", "expm1": "expm1", "tensor_expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "arcsin": "asin", "acos": "acos", "arccos": "acos", "atan": "atan", "arctan":
    "atan", "sinh": "sinh", "cosh": "cosh", "asinh": "asinh", "arcsinh": "asinh", "acosh": "acosh", "arccosh": "acosh", "atanh": "atanh",
    "arctanh": "atanh", "atan2": "atan2", "arctan2": "atan2", "tanh": "tanh", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "sinc":
    "sinc"
}
"""For each function in `ops` that `public` of an op describes, the name of the op."""

PRIMITIVES = {
    "Sigmoid": "sigmoid", "Add": "add", "TensorAdd": "add", "Sub": "sub", "Mul": "mul", "MulNoNan": "mul_no_nan", "FloorDiv": "floor_div",
    "FloorMod": "mod", "Neg": "neg", "Abs": "abs", "Sign": "sign", "Sqrt": "sqrt", "Rsqrt": "rsqrt", "Square": "square", "Maximum":
    "maximum", "Minimum": "minimum", "Floor": "floor", "Ceil": "ceil", "NextAfter": "next_after", "BesselI0": "bessel_i0", "BesselI0e":
    "bessel_i0e", "BesselI1": "bessel_i1", "BesselI1e": "bessel_i1e", "BesselJ0": "bessel_j0", "BesselJ1": "bessel_j1", "BesselY0":
    "bessel_y0", "BesselY1": "bessel_y1", "BesselK0": "bessel_k0", "BesselK0e": "bessel_k0e", "BesselK1": "bessel_k1", "BesselK1e":
    "bessel_k1e", "Less": "less", "LessEqual": "less_equal", "Greater": "greater", "GreaterEqual": "greater_equal", "Equal": "equal",
    "NotEqual": "not_equal", "IsNan": "is_nan", "IsInf": "is_inf", "IsFinite": "is_finite", "Lgamma": "lgamma", "Digamma": "digamma",
    "Igamma": "igamma", "Igammac": "igammac", "LogicalXor": "logical_xor", "LogicalNot": "logical_not", "PopulationCount":
    "population_count", "Pow": "pow", "Exp": "exp", "Expm1": "expm1", "Log": "log", "Log1p": "log1p", "Sin": "sin", "Cos": "cos", "Tan":
    "tan", "Asin": "asin", "ACos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "Asinh": "asinh", "Acosh": "acosh", "Atanh":
    "atanh", "Atan2": "atan2", "Tanh": "tanh", "Erf": "erf", "Erfc": "erfc", "Erfinv": "erfinv", "Sinc": "sinc"
}
"""For each such Primitive the name of the op."""

METHODS = {
    "sigmoid": "sigmoid", "sigmoid_": "sigmoid", "mul": "mul", "mul_": "mul", "floor_divide": "floor_div", "floor_divide_": "floor_div",
    "neg": "neg", "negative": "neg", "abs": "abs", "absolute": "abs", "sign": "sign", "sign_": "sign", "sqrt": "sqrt", "rsqrt": "rsqrt",
    "square": "square", "maximum": "maximum", "minimum": "minimum", "floor": "floor", "floor_": "floor", "ceil": "ceil", "nextafter":
    "next_after", "i0": "bessel_i0", "less": "less", "lt": "less", "less_equal": "less_equal", "le": "less_equal", "greater": "greater",
    "gt": "greater", "greater_equal": "greater_equal", "ge": "greater_equal", "equal": "equal", "eq": "equal", "not_equal": "not_equal",
    "ne": "not_equal", "isnan": "is_nan", "isinf": "is_inf", "isfinite": "is_finite", "lgamma": "lgamma", "digamma": "digamma", "igamma":
    "igamma", "igammac": "igammac", "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "logical_not":
    "logical_not", "pow": "pow", "exp": "exp", "exp_": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log_": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "arcsin": "asin", "acos": "acos",
    "arccos": "acos", "atan": "atan", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "asinh": "asinh", "arcsinh": "asinh", "acosh":
    "acosh", "arccosh": "acosh", "atanh": "atanh", "arctanh": "atanh", "atan2": "atan2", "arctan2": "atan2", "tanh": "tanh", "tanh_":
    "tanh", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "erfinv_": "erfinv", "sinc": "sinc"
}
"""For each such method of Tensor the name of the op."""
