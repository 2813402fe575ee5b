"""An operator of the user's in NumPy has no C."""
import numpy as np

import adjoint as ms
from adjoint import ops


def sorted_by_numpy(x):
    return np.sort(x)


def step(x):
    custom = ops.Custom(sorted_by_numpy, lambda x: x, lambda x: x, func_type="pyfunc")
    return custom(x) * 2


ms.export(step, ms.Tensor([1.0, -2.0]), file_name="out/net")
