"""Parts of MindSpore's attention that copies of it call: projections of queries, keys and values, and checks of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.types import BOOL, I32
from adjoint.ops import activations, linear, parts
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["check_attention_mask", "check_padding_mask", "dropped", "is_batched", "padded", "projected", "projected_together"]


def is_batched(query_ndim: int, key_ndim: int, value_ndim: int) -> bool:
    """Return whether queries are of three dimensions, and not of two; ValueError for others, and for keys or values of another number."""
    if query_ndim not in (2, 3) or key_ndim != query_ndim or value_ndim != query_ndim:
        raise ValueError(f"The arguments 'query', 'key' and 'value' must be of 2 dimensions, or of 3 with a batch, but got {query_ndim}, "
                         f"{key_ndim} and {value_ndim}.")
    return query_ndim == 3


def check_padding_mask(query_ndim: int, mask_ndim: int) -> None:
    """Raise ValueError unless a mask of keys has one dimension less than the queries."""
    if mask_ndim != query_ndim - 1:
        raise ValueError(f"The argument 'key_padding_mask' must be of {query_ndim - 1} dimensions for queries of {query_ndim}, but got "
                         f"{mask_ndim}.")


def check_attention_mask(
    query_ndim: int, query_shape: Sequence[int], key_shape: Sequence[int], mask_ndim: int, mask_shape: Sequence[int], heads: int
) -> None:
    """Raise ValueError for a mask of scores of another number of dimensions than 2 and 3, or, for queries without a batch, of a shape that
    does not fit the heads.
    """
    if mask_ndim not in (2, 3):
        raise ValueError(f"The argument 'attn_mask' must be of 2 or 3 dimensions, but got {mask_ndim}.")
    fitting = (heads, query_shape[0], key_shape[0])
    if query_ndim == 2 and mask_ndim == 3 and tuple(mask_shape) != fitting:
        raise ValueError(f"The argument 'attn_mask' must be of shape {fitting}, but got {tuple(mask_shape)}.")


def dropped(x: Tensor, p: float, training: bool) -> Tensor:
    """Return a tensor some of whose elements are dropped, in training and for a probability above 0."""
    return activations.dropout(x, p) if training and 0.0 < p <= 1.0 else x


def padded(x: Tensor, padding: Sequence[int], value: float | None = None) -> Tensor:
    """Return a tensor with a frame, as `ops.pad`; of Bool as well."""
    return parts.pad(x.astype(I32), padding, value=value).astype(BOOL) if x.dtype is BOOL else parts.pad(x, padding, value=value)


def projected(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, b_q: Tensor | None = None, b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values, each multiplied by a weight of its own; ValueError for weights and biases that do not fit."""
    width = q.shape[-1]
    for name, x, weight, bias in (("query", q, w_q, b_q), ("key", k, w_k, b_k), ("value", v, w_v, b_v)):
        if weight.shape != (width, x.shape[-1]):
            raise ValueError(f"The weight of the {name} must be of shape {(width, x.shape[-1])}, but got {weight.shape}.")
        if bias is not None and bias.shape != (width,):
            raise ValueError(f"The bias of the {name} must be of shape {(width,)}, but got {bias.shape}.")
    return linear.dense(q, w_q, b_q), linear.dense(k, w_k, b_k), linear.dense(v, w_v, b_v)


def projected_together(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None, k_is_v: bool, q_is_k: bool) -> tuple[Any, ...]:
    """Return queries, keys and values, multiplied by a weight that holds those of all three one below the other.

    k_is_v, q_is_k  whether keys and values, or also queries, are one tensor: then one product gives them together
    """
    if k_is_v and q_is_k:
        return tuple(parts.tensor_split(linear.dense(q, w, b), 3, -1))
    weights = parts.tensor_split(w, 3, 0)
    biases = (None,) * 3 if b is None else parts.tensor_split(b, 3, 0)
    return tuple(linear.dense(x, weight, bias) for x, weight, bias in zip((q, k, v), weights, biases, strict=True))
