"""Multi-head attention, and the layers of transformers (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adjoint.ir.types import BOOL, F32, U8, DType
from adjoint.nn.activation import GELU, ReLU
from adjoint.nn.checks import boolean, cell_argument, floating, least, positive
from adjoint.nn.container import CellList
from adjoint.nn.dropout import Dropout
from adjoint.nn.linear import Dense
from adjoint.nn.normalization import LayerNorm
from adjoint.ops import activations, arithmetic, creation, linear, parts, reduction, shapes
from adjoint.ops.arguments import check_memory
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.memory.finite_results import finite_ok
from adjoint.runtime.tensor.conversion import dtype_argument
from adjoint.runtime.tensor.initializer import HeUniform, Uniform, XavierNormal, XavierUniform
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor, constant, initializer

__all__ = [
    "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
]


class MultiheadAttention(Cell):
    """Multi-head attention: for each query the mean of the values, weighted by softmax(q k^T / sqrt(size of a head)), in each head.

    embed_dim     size of the queries and of the result; each of `num_heads` heads has an equal part of it
    dropout       in training, the probability that a weight is dropped
    add_bias_kv   whether a learnt key and value stand behind the others
    add_zero_attn whether a key and value of zeros stand behind the others
    kdim, vdim    sizes of keys and values, by default embed_dim
    batch_first   whether batches are the first axis, not the second

    Called with query [l, n, embed_dim], key [s, n, kdim], value [s, n, vdim], or all three without n; key_padding_mask [n, s] and
    attn_mask [l, s] or [n * num_heads, l, s] say which keys do not count: bools, or numbers that are added to the products.  Returns the
    result like the query, and with `need_weights` the weights [n, l, s], the mean over the heads, or with average_attn_weights=False
    those of each head, [n, num_heads, l, s].
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, has_bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False, dtype: DType = F32,
    ):
        super().__init__()
        self.embed_dim, self.num_heads = positive(self, "embed_dim", embed_dim), positive(self, "num_heads", num_heads)
        self.kdim = embed_dim if kdim is None else positive(self, "kdim", kdim)
        self.vdim = embed_dim if vdim is None else positive(self, "vdim", vdim)
        if embed_dim % num_heads:
            raise ValueError(f"For 'MultiheadAttention', the argument 'embed_dim' must be divisible by 'num_heads', "
                             f"but got {embed_dim} and {num_heads}.")
        if least(self, "dropout", dropout, 0.0) > 1:
            raise ValueError(f"For 'MultiheadAttention', the argument 'dropout' must be in [0, 1], but got {dropout}.")
        self.dropout, self.head_dim = float(dropout), embed_dim // num_heads
        self.batch_first, self.add_zero_attn = boolean(self, "batch_first", batch_first), boolean(self, "add_zero_attn", add_zero_attn)
        boolean(self, "has_bias", has_bias)
        self.dtype = F32 if dtype is None else dtype_argument(dtype)

        def drawn(name: str, init: Any, *shape: int) -> Parameter:
            return Parameter(initializer(init, shape, self.dtype), name=name)

        self._same = self.kdim == self.vdim == embed_dim
        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self._same:
            self.in_proj_weight = drawn("in_proj_weight", XavierUniform(), 3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = drawn("q_proj_weight", XavierUniform(), embed_dim, embed_dim)
            self.k_proj_weight = drawn("k_proj_weight", XavierUniform(), embed_dim, self.kdim)
            self.v_proj_weight = drawn("v_proj_weight", XavierUniform(), embed_dim, self.vdim)
        self.in_proj_bias = drawn("in_proj_bias", "zeros", 3 * embed_dim) if has_bias else None
        self.out_proj = _dense(embed_dim, embed_dim, self.dtype, has_bias)
        self.bias_k = drawn("bias_k", XavierNormal(), 1, 1, embed_dim) if boolean(self, "add_bias_kv", add_bias_kv) else None
        self.bias_v = drawn("bias_v", XavierNormal(), 1, 1, embed_dim) if add_bias_kv else None

    def construct(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None, need_weights: bool = True,
        attn_mask: Tensor | None = None, average_attn_weights: bool = True,
    ) -> tuple[Any, ...]:
        q, k, v = floating(self, "query", query, (2, 3)), floating(self, "key", key, query.ndim), floating(self, "value", value, query.ndim)
        alone = q.ndim == 2
        if alone:
            q, k, v = (shapes.expand_dims(x, 1) for x in (q, k, v))
            key_padding_mask = None if key_padding_mask is None else shapes.expand_dims(key_padding_mask, 0)
        elif self.batch_first:
            q, k, v = (shapes.swapaxes(x, 0, 1) for x in (q, k, v))
        self._check(q, k, v)
        length, n, _ = q.shape
        q, k, v = self._projected(q, k, v)
        if self.bias_k is not None and self.bias_v is not None:
            behind = (1, n, self.embed_dim)
            k, v = (parts.concat((x, shapes.broadcast_to(bias, behind))) for x, bias in ((k, self.bias_k), (v, self.bias_v)))
        q, k, v = (shapes.transpose(shapes.reshape(x, (x.shape[0], n, self.num_heads, self.head_dim)), (1, 2, 0, 3)) for x in (q, k, v))
        if self.add_zero_attn:
            zeros = creation.zeros((n, self.num_heads, 1, self.head_dim), k.dtype)
            k, v = parts.concat((k, zeros), 2), parts.concat((v, zeros), 2)
        scores = linear.product("MultiheadAttention", q / math.sqrt(self.head_dim), k, tb=True)
        with finite_ok():  # masks of minus infinity
            keys = key.shape[0 if alone or not self.batch_first else 1]
            for mask in self._masks(key_padding_mask, attn_mask, n, length, keys, k.shape[2]):
                scores = scores + mask.astype(scores.dtype, copy=False)
        weights = activations.softmax(scores, -1)
        if self.dropout and self.training:
            weights = activations.dropout(weights, self.dropout)
        out = shapes.transpose(linear.matmul(weights, v), (2, 0, 1, 3))
        out = self.out_proj(shapes.reshape(out, (length, n, self.embed_dim)))
        if alone:
            out = shapes.squeeze(out, 1)
        elif self.batch_first:
            out = shapes.swapaxes(out, 0, 1)
        if not need_weights:
            return (out,)
        shown = reduction.mean(weights, 1) if average_attn_weights else weights
        return out, shapes.squeeze(shown, 0) if alone else shown

    def _check(self, q: Tensor, k: Tensor, v: Tensor) -> None:
        """Check sizes of [l, n, size] tensors; raise ValueError."""
        for name, x, size in (("query", q, self.embed_dim), ("key", k, self.kdim), ("value", v, self.vdim)):
            if x.shape[2] != size:
                raise ValueError(f"For 'MultiheadAttention', the argument '{name}' must be of last size {size}, but got {x.shape[2]}.")
        if k.shape[:2] != v.shape[:2] or k.shape[1] != q.shape[1]:
            raise ValueError("For 'MultiheadAttention', 'key' and 'value' must be of one length, and all of one batch size, but got "
                             f"{q.shape[:2]} for 'query', {k.shape[:2]} for 'key' and {v.shape[:2]} for 'value', (length, batch size).")

    def _projected(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        size = self.embed_dim
        weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        if self.in_proj_weight is not None:
            weights = parts.parted(self.in_proj_weight, 0, (size,) * 3)
        biases = (None,) * 3 if self.in_proj_bias is None else parts.parted(self.in_proj_bias, 0, (size,) * 3)
        return tuple(linear.dense(x, weight, bias) for x, weight, bias in zip((q, k, v), weights, biases, strict=True))

    def _masks(self, padding: Any, attention: Any, n: int, length: int, keys: int, all_keys: int) -> list[Tensor]:
        """Return what is added to the products [n, heads, length, all_keys]; appended keys are not masked."""
        out: list[Tensor] = []
        of_padding: dict[tuple[int, ...], tuple[int, ...]] = {(n, keys): (n, 1, 1, keys)}
        of_attention: dict[tuple[int, ...], tuple[int, ...]] = {
            (length, keys): (1, 1, length, keys), (n * self.num_heads, length, keys): (n, self.num_heads, length, keys)}
        for name, mask, known in (("key_padding_mask", padding, of_padding), ("attn_mask", attention, of_attention)):
            if mask is None:
                continue
            if not isinstance(mask, Tensor) or not (mask.dtype.is_float or mask.dtype in (BOOL, U8)):
                raise _NotAMask(f"For 'MultiheadAttention', the argument '{name}' must be a Tensor of bools or of a floating dtype, "
                                f"but got {mask.dtype if isinstance(mask, Tensor) else mask!r}.")
            if mask.shape not in known:
                raise ValueError(f"For 'MultiheadAttention', the argument '{name}' must be of shape "
                                 f"{' or '.join(map(str, known))}, but got {mask.shape}.")
            if not mask.dtype.is_float:
                nothing = constant(0.0, F32)
                mask = arithmetic.where(mask.astype(BOOL, copy=False), constant(-math.inf, F32), nothing)
            mask = shapes.reshape(mask, known[mask.shape])
            out.append(mask if keys == all_keys else parts.framed(mask, ((0, 0), (0, 0), (0, 0), (0, all_keys - keys)), 0))
        return out


class _NotAMask(ValueError, AssertionError):
    """Raise for a mask of another dtype; which exception MindSpore raises depends on the layer."""


def _dense(inputs: int, outputs: int, dtype: DType, has_bias: bool = True) -> Dense:
    return Dense(inputs, outputs, HeUniform(math.sqrt(5)), Uniform(1 / math.sqrt(inputs)), has_bias, dtype=dtype)


class _Layer(Cell):
    """Base class of encoder and decoder layers: attention, two dense layers, normalisation, dropout.

    norm_first  whether each part normalises its input, rather than the sum
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu",
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, dtype: DType = F32,
    ):
        super().__init__()
        positive(self, "dim_feedforward", dim_feedforward)
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self._crossed(d_model, nhead, dropout, batch_first, dtype)
        self.dense1, self.dropout = _dense(d_model, dim_feedforward, dtype), Dropout(p=dropout)
        self.dense2 = _dense(dim_feedforward, d_model, dtype)
        self.norm_first = boolean(self, "norm_first", norm_first)
        for number in range(1, self._parts + 1):
            setattr(self, f"norm{number}", LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        for number in range(1, self._parts + 1):
            setattr(self, f"dropout{number}", Dropout(p=dropout))
        self.activation1 = activation
        self.activation = _activation(self, activation)
        self.d_model, self.nhead, self.dim_feedforward, self.dropout_num = d_model, nhead, dim_feedforward, dropout
        self.layernorm_eps, self.batch_first, self.dtype = layer_norm_eps, batch_first, dtype

    _parts: int
    """How many residual additions the layer has."""

    def _crossed(self, d_model: int, nhead: int, dropout: float, batch_first: bool, dtype: DType) -> None:
        """Make the attention to another sequence; overridden by layers that have one."""

    def _added(self, x: Tensor, part: Callable[[Tensor], Tensor], norm: Cell, dropout: Cell) -> Tensor:
        return x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))

    def _dense_part(self, x: Tensor) -> Tensor:
        return self.dense2(self.dropout(self.activation(self.dense1(x))))

    def again(self) -> Any:
        """Return a new layer with the same settings."""
        return type(self)(self.d_model, self.nhead, self.dim_feedforward, self.dropout_num, self.activation1, self.layernorm_eps,
                          self.batch_first, self.norm_first, dtype=self.dtype)


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence [l, n, d_model] to itself, then two dense layers; each is added to what it takes and normalised.

    activation  "relu", "gelu", `ops.relu`, `ops.gelu`, or a cell `nn.ReLU` or `nn.GELU`
    norm_first  whether each part normalises its input, rather than the sum
    """

    _parts = 2

    def construct(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None) -> Tensor:
        x = self._added(src, lambda x: self.self_attn(x, x, x, src_key_padding_mask, False, src_mask)[0], self.norm1, self.dropout1)
        return self._added(x, self._dense_part, self.norm2, self.dropout2)


class TransformerDecoderLayer(_Layer):
    """Attention of a sequence [l, n, d_model] to itself, then to `memory` [s, n, d_model], then two dense layers.

    Arguments are those of the encoder's layer.
    """

    _parts = 3

    def _crossed(self, d_model: int, nhead: int, dropout: float, batch_first: bool, dtype: DType) -> None:
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)

    def construct(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        x = self._added(tgt, lambda x: self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask)[0], self.norm1, self.dropout1)
        x = self._added(x, lambda x: self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask)[0], self.norm2,
                        self.dropout2)
        return self._added(x, self._dense_part, self.norm3, self.dropout3)


def _activation(owner: Cell, activation: Any) -> Any:
    if isinstance(activation, str) and activation in ("relu", "gelu"):
        return activations.relu if activation == "relu" else activations.gelu
    if isinstance(activation, (ReLU, GELU)) or activation is activations.relu or activation is activations.gelu:
        return activation
    raise ValueError(f"For '{type(owner).__name__}', the argument 'activation' must be 'relu', 'gelu', ops.relu, ops.gelu, or a cell "
                     f"nn.ReLU or nn.GELU, but got {activation!r}.")


class TransformerEncoder(Cell):
    """`num_layers` layers like `encoder_layer`, one after the other, and `norm` at the end if it is given; all begin with equal weights."""

    def __init__(self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Cell | None = None):
        super().__init__()
        self.layers, self.num_layers = CellList(_equal(self, "encoder_layer", encoder_layer, num_layers)), num_layers
        self.norm = None if norm is None else cell_argument(self, "norm", norm)

    def construct(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            src = layer(src, src_mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Cell):
    """`num_layers` layers like `decoder_layer`, one after the other, and `norm` at the end if it is given; all begin with equal weights."""

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Cell | None = None):
        super().__init__()
        self.layers, self.num_layers = CellList(_equal(self, "decoder_layer", decoder_layer, num_layers)), num_layers
        self.norm = None if norm is None else cell_argument(self, "norm", norm)

    def construct(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return tgt if self.norm is None else self.norm(tgt)


def _equal(owner: Cell, argument: str, layer: Any, count: int) -> list[Cell]:
    """Return layers with the settings of one, and equal initial weights; raise MemoryError if memory cannot hold so many."""
    if not isinstance(layer, _Layer):
        raise TypeError(f"For '{type(owner).__name__}', the argument '{argument}' must be a layer of a transformer, but got {layer!r} "
                        f"of type {type(layer).__name__}.")
    nbytes = positive(owner, "num_layers", count) * sum(parameter.nbytes for parameter in layer.get_parameters())
    check_memory(type(owner).__name__, f"the parameters of 'num_layers' = {count} layers", nbytes)
    made = [layer.again() for _ in range(count)]
    for other in made[1:]:
        for parameter, first in zip(other.get_parameters(), made[0].get_parameters(), strict=True):
            parameter.set_data(first.value())
    return made


class Transformer(Cell):
    """An encoder over `src` [s, n, d_model] and a decoder over `tgt` [l, n, d_model] that attends to the encoder's result."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048,
        dropout: float = 0.1, activation: Any = "relu", custom_encoder: Cell | None = None, custom_decoder: Cell | None = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, dtype: DType = F32,
    ):
        super().__init__()
        for half, custom, layers in (("encoder", custom_encoder, num_encoder_layers), ("decoder", custom_decoder, num_decoder_layers)):
            if custom is None:
                positive(self, f"num_{half}_layers", layers)
            else:
                cell_argument(self, f"custom_{half}", custom)
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype)

        def norm() -> Cell:
            return LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)

        self.encoder = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*settings), num_encoder_layers, norm())
        self.decoder = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*settings), num_decoder_layers, norm())
        for parameter in self.get_parameters():
            if parameter.ndim > 1:
                parameter.set_data(initializer(XavierUniform(), parameter.shape, parameter.dtype))
        self.d_model, self.nhead, self.batch_first = d_model, nhead, boolean(self, "batch_first", batch_first)

    def construct(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        for name, x in (("src", src), ("tgt", tgt)):
            if floating(self, name, x, (2, 3)).shape[-1] != self.d_model:
                raise ValueError(f"For 'Transformer', the argument '{name}' must be of last size {self.d_model}, but got shape {x.shape}.")
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
