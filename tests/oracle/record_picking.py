"""Elements picked and put; logarithms of sums; norms: values with gradients, dtypes and mistakes."""

# pyright: reportMissingImports=false

from typing import Any

from answers import brief, outcomes

X = "f32([[1, 2, 3], [4, 5, 6]])"
ROWS = "i32([[0, 2], [1, 0], [0, 2]])"
UNIQUE = (
    "ops.unique(i32([3, 1, 3, 2]))",
    "ops.unique(f32([[1.5, -1.0], [1.5, 0.0]]))",
    "ops.Unique()(i32([5, 5]))",
    "ops.unique_consecutive(i32([1, 1, 2, 2, 1]))",
    "ops.unique_consecutive(i32([1, 1, 2, 2, 1]), True, True)",
    "i32([3, 1, 3]).unique_consecutive()",
    "ops.MaskedSelect()(f32([1, 2, 3]), Tensor([True, False, True]))",
)
SCATTERED = (
    "ops.gather_d(f32(3), 0, Tensor([0, -1]))",
    "f32([[1, 2], [3, 4]]).scatter(0, Tensor([[0, 1], [0, 0]]), f32([[5, 6], [7, 8]]), reduce='add')",
    "ms.mint.scatter(Tensor([[True, True]]), 1, Tensor([[1]]), Tensor([[False]]))",
    "ops.gather_elements(f32([3, 4]), 0, Tensor(1))",
    "curve(lambda u: ops.scatter_nd(i32([[0], [2], [0]]), u, (3, 2)), wave(3, 2))",
    "ops.ScatterNd()(i32([[0, 1], [1, 1]]), f32([3.2, 1.1]), (3, 3))",
    "ops.scatter_nd(i32([[3]]), f32([1.0]), (3,))",
    "ops.scatter_nd(i32([[0]]), f32([1.0, 2.0]), (3,))",
    f"curve(lambda x, u: ops.TensorScatterUpdate()(x, i32([[0, 2], [1, 0]]), u), {X}, f32([9.0, 8.0]))",
    f"curve(lambda x, u: ops.tensor_scatter_add(x, {ROWS}, u), {X}, f32([9.0, 8.0, 7.0]))",
    f"curve(lambda x, u: ops.tensor_scatter_sub(x, {ROWS}, u), {X}, f32([9.0, 8.0, 7.0]))",
    f"ops.tensor_scatter_max({X}, {ROWS}, f32([9.0, 1.0, 7.0]))",
    f"curve(lambda x, u: ops.tensor_scatter_mul(x, i32([[0, 2], [1, 0]]), u), {X}, f32([9.0, 8.0]))",
    f"curve(lambda x, u: ops.tensor_scatter_div(x, i32([[0, 2], [1, 0]]), u), {X}, f32([9.0, 8.0]))",
    f"ops.TensorScatterMul()({X}, {ROWS}, f32([9.0, 8.0, 7.0]))",
    "ops.TensorScatterDiv()(i32([[7, -7, 3], [4, 5, 6]]), i32([[0], [1], [1]]), i32([[2, 2, 3], [4, 5, 6], [2, 2, 2]]))",
    f"ops.tensor_scatter_div({X}, i32([[2, 0]]), f32([1.0]))",
    f"(lambda p: (ops.scatter_mul(p, i32([1, 1]), f32([[7, 8, 9], [2, 1, 1]])), p.value()))(Parameter({X}, name='p'))",
    f"(lambda p: (ops.ScatterDiv()(p, i32([1]), f32([[2, 5, 4]])), p.value()))(Parameter({X}, name='p'))",
    f"(lambda p: (ops.ScatterNdMul()(p, i32([[1], [1]]), f32([[7, 8, 9], [2, 1, 1]])), p.value()))(Parameter({X}, name='p'))",
    f"(lambda p: (ops.scatter_nd_div(p, i32([[1, 2], [0, 0]]), f32([7, 8])), p.value()))(Parameter({X}, name='p'))",
    f"ops.tensor_scatter_min({X}, {ROWS}, f32([9.0, 1.0, 1.0]))",
    f"ops.TensorScatterMax()({X}, {ROWS}, f32([9.0, 1.0, 7.0]))",
    f"ops.TensorScatterSub()({X}, i32([[1]]), f32([[9.0, 1.0, 7.0]]))",
    f"ops.tensor_scatter_elements({X}, i32([[0, 1, 0]]), f32([[7, 8, 9]]), 0)",
    f"ops.tensor_scatter_elements({X}, i32([[2], [-1]]), f32([[7], [8]]), 1, 'add')",
    f"curve(lambda x, s: ops.scatter(x, 1, i32([[0, 2], [1, 0]]), s), {X}, wave(2, 2))",
    f"{X}.index_add(0, i32([1, 1]), f32([[1, 2, 3], [4, 5, 6]]))",
    f"(lambda p: (ops.ScatterUpdate()(p, i32([1, 0]), f32([[7, 8, 9], [1, 1, 1]])), p.value()))(Parameter({X}, name='p'))",
    f"(lambda p: (ops.scatter_add(p, i32([1, 1]), f32([[7, 8, 9], [1, 1, 1]])), p.value()))(Parameter({X}, name='p'))",
    f"(lambda p: (ops.ScatterSub()(p, i32([1, 1]), f32([[7, 8, 9], [1, 1, 1]])), p.value()))(Parameter({X}, name='p'))",
    f"(lambda p: (ops.scatter_max(p, i32([1, 1]), f32([[7, 1, 9], [1, 1, 1]])), p.value()))(Parameter({X}, name='p'))",
    f"(lambda p: (ops.scatter_nd_update(p, i32([[1, 2], [0, 0]]), f32([7, 8])), p.value()))(Parameter({X}, name='p'))",
    f"(lambda p: (ops.ScatterNdAdd()(p, i32([[1], [1]]), f32([[7, 8, 9], [1, 1, 1]])), p.value()))(Parameter({X}, name='p'))",
    f"ops.ScatterUpdate()({X}, i32([1]), f32([[7, 8, 9]]))",
    f"ops.scatter_update(Parameter({X}, name='p'), i32([2]), f32([[7, 8, 9]]))",
    f"ops.scatter_update(Parameter({X}, name='p'), i32([1]), f32([[7, 8]]))",
    f"ops.tensor_scatter_max({X}, i32([[2, 0]]), f32([1.0]))",
    f"ops.tensor_scatter_max({X}, i32([[0, 0]]), f32([1.0, 2.0]))",
    f"curve(lambda x, s: x.masked_scatter(Tensor([[True, False, True], [False, True, True]]), s), {X}, wave(5))",
    f"{X}.masked_scatter(Tensor([True, False, True]), f32([1, 2, 3, 4]))",
    f"{X}.masked_scatter(Tensor([True, False, True]), f32([1, 2, 3]))",
    f"curve(lambda x, s: ops.select_scatter(x, s, 1, -1), {X}, f32([7, 8]))",
    f"ops.select_scatter({X}, f32([7, 8]), 1, 3)",
    f"ops.select_scatter({X}, f32([7, 8, 9]), 1, 0)",
    f"curve(lambda x, s: ops.slice_scatter(x, s, 1, 0, 3, 2), {X}, wave(2, 2))",
    f"ops.slice_scatter({X}, f32([[7], [8]]), 1, -1)",
    f"ops.slice_scatter({X}, f32([[7], [8]]), 1)",
    f"{X}.select_scatter(f32([7, 8, 9]), 0, 1)",
    f"ops.fliplr({X})",
    f"ops.flipud({X})",
    f"{X}.fliplr()",
    "ops.fliplr(f32([1, 2]))",
    "ops.flipud(f32([1, 2]))",
    "ops.flipud(f32(1))",
)
LOGARITHMS = (
    "curve(ops.logaddexp, f32([1, -50, 2]), f32([[1], [3]]))",
    "ops.logaddexp(i32([1]), i32([2]))",
    "curve(ops.logaddexp2, f32([1, -50, 2]), f32([1, 3, 2]))",
    "ops.logcumsumexp(f32([[1, 2, 3], [100, -50, 2]]), 1)",
    "curve(lambda x: ops.logcumsumexp(x, 0), f32([1, 2, 3]))",
    "ops.logcumsumexp(f32([1.0]), 1)",
    "ops.logcumsumexp(i32([1]), 0)",
    f"ops.norm({X}, 1)",
    f"ops.norm({X}, inf)",
    f"ops.norm({X}, 3)",
    f"ops.norm({X}, 3, dim=1)",
    f"ops.norm({X}, 'fro', dim=(0, 1))",
    f"ops.norm({X}, inf, dim=(-1, 0))",
    f"ops.norm({X}, -1, dim=(1, 0))",
)


def record() -> dict[str, Any]:
    return {"unique": outcomes(UNIQUE, brief), "scattered": outcomes(SCATTERED, brief), "logarithms": outcomes(LOGARITHMS, brief)}
