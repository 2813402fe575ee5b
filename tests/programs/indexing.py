"""Parts of tensors, read and written."""

from __future__ import annotations

import numpy as np

from adjoint import Tensor, ops
from programs.program import boolean, f32, f64, grid, i32, i64, program

CUBE = np.linspace(-1.3, 2.1, 24).astype(np.float32).reshape(2, 3, 4)


@program(CUBE, wrt=0, features="reads: int, reads: slice")
def ints_and_slices(x):
    """Ints from both ends, slices with and without ends."""
    return x[0] * x[-1], x[1, 2], x[:, 1:], x[0, :2, 3], x[-1][0][2]


@program(CUBE, wrt=0, features="reads: negative step, reads: slice")
def steps(x):
    """Steps, also negative ones."""
    return x[:, ::2], x[::-1], x[0, 2:0:-1, ::-2], x[..., 3:0:-2]


@program(CUBE, wrt=0, features="reads: list, writes: list")
def tuples_inside_of_a_key(x):
    """A tuple inside of a key is a list, as in NumPy."""
    y = x * 2
    y[:, (0, 2), (1, 3)] = x[:, (1, 1), (0, 2)]
    return y, x[tuple(range(len(x))), 1], x[..., ((0, 1), (3, 2))]


@program(CUBE, wrt=0, features="reads: ellipsis, reads: new axis")
def ellipsis_and_new_axes(x):
    """`...` and None."""
    return x[..., 0], x[None, 0], x[0, ..., None], x[:, None, ..., 1] * x[..., 2, None, :2].sum()


@program(CUBE, i64([2, 0], [-1, 1]), wrt=0, features="reads: tensor index")
def tensor_indices(x, places):
    """An integer tensor as index, alone and beside slices and ints."""
    return x[0][places], x[:, places[0]], x[1, places, 2], x[..., places[1]]


@program(CUBE, wrt=0, features="reads: tensor index")
def list_indices(x):
    """Lists of ints as indices."""
    return x[:, [2, 0]], x[[1, 0], [0, 2]], x[0, :, [3, 3, 1]]


@program(f32(1.0, -2.0, 3.0), i32(1), wrt=0, features="reads: tensor index")
def index_of_one_element(x, i):
    """A 0-d integer tensor as index."""
    return x[i] * x[i - 1] - x[-1]


@program(f32(1.0, -2.0, 3.0, 0.5), wrt=0, features="reads: loop variable")
def index_from_loop_variable(x):
    """The loop variable picks elements, neighbours and slices."""
    total = x[0]
    for i in range(1, 4):
        total = total * 0.5 + x[i] * x[i - 1] + x[:i].sum()
    return total


@program(f64(1.0, -2.0, 3.0, 0.5), wrt=0, features="reads: loop variable, tensor while, number computed in loop")
def index_in_tensor_loop(x):
    """A counter in a tensor loop picks elements."""
    i, total = 0, x[0] * 0
    while total < 1.5:
        total = total + x[i] * x[i]
        i += 1
    return total, i


@program(f32(1.0, -2.0, 3.0, 0.5), wrt=0, features="reads: computed index")
def index_by_argmax(x):
    """The index of the largest element."""
    return x[x.argmax()] * 2 + x[ops.argmin(x)]


@program(f32(1.0, -2.0, 3.0), f32(0.5), wrt=(0, 1), features="writes: int")
def write_one_element(x, value):
    """One element of a new tensor is replaced."""
    y = x * 2
    y[1] = value
    y[-1] = 4
    return y * x


@program(CUBE, grid(3, 2), wrt=(0, 1), features="writes: slice, writes: ellipsis")
def write_slices(x, rows):
    """Slices are replaced by tensors, numbers and broadcast rows."""
    y = x * 1
    y[0, :, 1:3] = rows
    y[..., 0] = 0.5
    y[1, 1:] = y[0, 0]
    return y * y


@program(f32(1.0, -2.0, 3.0, 0.5, -1.0), f32(7.0, 8.0), wrt=(0, 1), features="writes: negative step")
def write_with_steps(x, values):
    """Every second element, backwards."""
    y = x + 0
    y[::2] = -1.0
    y[3:0:-2] = values
    return y * x


@program(CUBE, i64(1, 0), wrt=0, features="writes: tensor index")
def write_at_tensor_indices(x, rows):
    """Rows at the indices in a tensor, and elements at those in two tensors."""
    y = x * 2
    y[0, rows] = y[0, rows] * 3
    y[rows, rows + 1] = 0.25
    return y


@program(f32([1.0, -2.0], [3.0, -0.5]), wrt=0, features="writes: mask")
def write_by_mask(x):
    """Elements selected by a mask are replaced by a number."""
    y = x * 1
    y[x < 0] = 0.1
    y[y > 2] = 2.0
    return y * x


@program(f32([1.0, -2.0], [3.0, -0.5]), boolean(True, False), wrt=0, features="writes: mask")
def write_rows_by_mask(x, mask):
    """A mask of rows."""
    y = x + 1
    y[mask] = -1.0
    return ops.where(mask, y * x, y)


@program(f32(1.0, -2.0, 3.0), wrt=0, features="writes: augmented")
def augmented_writes(x):
    """Parts changed in place by augmented assignment."""
    y = x * 1
    y[0] += 5
    y[1:] *= x[:2]
    y[2] -= y[0]
    return y


@program(f32(1.0, -2.0, 3.0, 0.5), wrt=0, features="writes: loop variable")
def write_in_loop(x):
    """A tensor filled element by element."""
    y = ops.zeros_like(x)
    for i in range(4):
        y[i] = x[i] * i + (y[i - 1] if i else 0.0)
    return y


@program(f32(1.0, -2.0, 3.0, 0.5), wrt=0, features="writes: loop variable, tensor if, for tensor rows")
def write_in_tensor_branch(x):
    """A write that depends on a tensor."""
    y = x * 1
    for i in range(4):
        if x[i] < 0.75:
            y[i] = -x[i] * 2
    if y.sum() > 5:
        y[1:3] = 0
    return y


@program(f32(1.0, -2.0, 3.0), wrt=0, features="writes: int, aliases")
def write_seen_by_other_names(x):
    """A write is seen by every name of the tensor, not by tensors computed before."""
    y = x * 2
    same, before = y, y + 0
    y[0] = 9.0
    return same * x, before


@program(f32(1.0, -2.0, 3.0), wrt=0, features="writes: int, functions, aliases")
def write_inside_function(x):
    """A function writes into its argument."""

    def clear(y, i):
        y[i] = 0.0

    y = x * x
    clear(y, 1)
    return y


@program(i32([1, -2, 3], [4, 5, 6]), features="writes: slice, results of dtype int, reads: negative step")
def integer_tables(x):
    """Reading and writing integers."""
    y = x[:, ::-1] * 2
    y[0] = x[1]
    y[1, 1:] = -7
    return y, y[1, 2], y[:, 0].sum()


@program(f32(np.zeros((0, 3))), f32(1.0, 2.0, 3.0), wrt=(0, 1), features="empty, reads: slice")
def empty_parts(table, row):
    """Parts without elements."""
    return row[3:] * 2, row[2:1], table[:, 1:], ops.concat((table, row[None]), axis=0)


@program(CUBE, wrt=0, features="reads: slice, shapes")
def windows(x):
    """Overlapping windows, stacked."""
    return ops.stack([x[..., i : i + 2].mean(axis=-1) for i in range(x.shape[-1] - 1)], axis=0)


@program(grid(3, 3), wrt=0, features="reads: int, writes: int, nested loops")
def triangular_solve(a):
    """Forward substitution, element by element."""
    lower = ops.tril(a) + 2.0 * ops.eye(3)
    solution = [None] * 3
    for i in range(3):
        known = a[i, 2]
        for j in range(i):
            known = known - lower[i, j] * solution[j]
        solution[i] = known / lower[i, i]
    return ops.stack(solution)


@program(f32(1.0, -2.0), features="reads: int, constant tensors")
def index_of_constants(x):
    """Constant tensors are indexed like others."""
    table = Tensor([[1.0, 2.0], [-3.0, 0.25]])
    total = x
    for i in range(2):
        total = total * table[i] + table[i, 1 - i]
    return total


@program(CUBE, f32(1.0, -1.0), wrt=(0, 1), features="reads: ellipsis, reads: new axis, writes: ellipsis, writes: negative step")
def every_kind_at_once(x, pair):
    """New axes, ellipses and steps, read and written."""
    y = x[None, ..., ::-1] * pair[:, None, None, None]
    y[..., 1] = pair[0]
    y[1, ..., 3:1:-1] = x[..., :2] * 2
    return y * y


@program(f32(1.0, -2.0, 3.0, 0.5), i64(3, 1), wrt=0, features="reads: tensor index, writes: tensor index")
def swap_by_index(x, places):
    """Elements at the indices in a tensor are exchanged."""
    y = x * 1
    y[places] = y[places[::-1]]
    y[places[0]] = y[places[0]] * 10
    return y * x
