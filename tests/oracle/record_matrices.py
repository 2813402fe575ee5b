"""Determinants, inverses, singular values and the norms made of them: values with gradients, dtypes and mistakes."""

# pyright: reportMissingImports=false

from typing import Any

from answers import brief, outcomes

REGULAR = "f32([[0.5, 2, 1], [-1, 1.5, 0.25], [2, -0.5, 3]])"
"""Of three rows, with a positive determinant and singular values that lie apart."""
NEGATIVE = "f32([[1, 2], [3, 4]])"
STACK = "f32([[[2, 1], [1, 3]], [[0, 1], [-2, 0.5]]])"
TALL = "f32([[1, 0.5], [-0.5, 2], [0.75, 0.25]])"
SINGULAR = "f32([[1, 2], [2, 4]])"
WRONG = ("f32([[1, 2, 3], [4, 5, 6]])", "f32([1, 2])", "f32(1)", "[[1.0]]")
DETERMINANTS = (
    *(f"curve(ops.det, {x})" for x in (REGULAR, NEGATIVE, STACK)),
    *(f"ops.det({x})" for x in WRONG),
    f"ops.det({REGULAR}.astype(ms.float64))",
    f"ops.det({NEGATIVE}.astype(ms.float16))",
    f"ops.det({SINGULAR})",
    f"{REGULAR}.det()",
    f"{REGULAR}.matrix_determinant()",
    f"ops.MatrixDeterminant()({NEGATIVE})",
    f"ops.slogdet({STACK})",
    *(f"curve(lambda x: ops.slogdet(x)[1], {x})" for x in (REGULAR, NEGATIVE, STACK)),
    *(f"ops.slogdet({x})" for x in (SINGULAR, *WRONG)),
    f"{REGULAR}.slogdet()",
    f"{NEGATIVE}.log_matrix_determinant()",
    f"ops.LogMatrixDeterminant()({STACK})",
    *(f"curve(ops.logdet, {x})" for x in (REGULAR, NEGATIVE, STACK)),
    *(f"ops.logdet({x})" for x in (SINGULAR, *WRONG)),
    f"{REGULAR}.logdet()",
)
INVERSES = (
    *(f"curve(ops.inverse, {x})" for x in (REGULAR, NEGATIVE, STACK)),
    f"ops.inverse({REGULAR}.astype(ms.float64))",
    *(f"ops.inverse({x})" for x in (f"{NEGATIVE}.astype(ms.float16)", "i32([[1, 2], [3, 4]])", *WRONG)),
    f"{REGULAR}.inverse()",
    f"ops.MatrixInverse()({STACK})",
    f"ops.MatrixInverse(True)({STACK})",
    "ops.MatrixInverse(adjoint=1)",
)
NORMS = (
    *(f"curve(lambda x: ops.norm(x, {ord}), {x})" for x in (REGULAR, NEGATIVE, TALL) for ord in ("'nuc'", "2", "-2")),
    *(f"curve(lambda x: ops.norm(x, {ord}, (0, 2), True), {STACK})" for ord in ("'nuc'", "2", "-2")),
    *(f"ops.norm({STACK}, {ord}, (-1, 1))" for ord in ("'nuc'", "2", "-2")),
    f"{TALL}.norm('nuc')",
    *(f"ops.norm({TALL}.astype(ms.float16), {ord})" for ord in ("'nuc'", "2", "-2")),
    "ops.norm(i32([[1, 2], [3, 4]]), 'nuc')",
    "ops.norm(f32([1, 2]), 'nuc')",
    f"ops.norm({STACK}, 'nuc', 1)",
    f"ops.norm({STACK}, 'nuc', (1, 1))",
    f"ops.norm({STACK}, 'nuc', (0, 1, 2))",
    f"ops.norm({NEGATIVE}, 3)",
    *(f"curve(lambda x: ops.svd(x, compute_uv=False), {x})" for x in (REGULAR, TALL, STACK)),
    f"ops.svd({TALL})[0]",
    f"[x.shape for x in ops.svd({TALL}, True)]",
    f"[x.shape for x in ops.Svd(True, False)({TALL})]",
    f"{TALL}.svd(compute_uv=False)",
    "ops.svd(i32([[1, 2], [3, 4]]))",
    f"ops.svd({NEGATIVE}.astype(ms.float16))",
    "ops.svd([[1.0]])",
    f"ops.svd({NEGATIVE}, 1)",
)


def record() -> dict[str, Any]:
    return {"determinants": outcomes(DETERMINANTS, brief), "inverses": outcomes(INVERSES, brief), "norms": outcomes(NORMS, brief)}
