"""Operators as objects on sequences: distances, alignments, and a layer of recurrent steps."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.edits import EditDistance as EditDistanceOp
from adjoint.ir.ops.recurrent import LstmCell
from adjoint.ir.types import BOOL, F32, F64, I64
from adjoint.ops import ctc, linear
from adjoint.ops.arguments import check_memory, choice, flag, float_only, integer, operand, sizes_argument, wrong
from adjoint.ops.creation import zeros
from adjoint.ops.parts import concat, narrow, stack, unstack
from adjoint.ops.picking import index_check
from adjoint.ops.primitive import Primitive
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.run_time_checks import checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["CTCLossV2", "EditDistance", "LSTM"]


class EditDistance(Primitive):
    """How many elements must be inserted, removed or replaced to make sequences the true ones; Float32.

    It is called on two sparse tables of sequences, along their last axis: indices [m, rank], Int64, elements [m], and the shape of the
    table, [rank], Int64.  The result has a number for each pair of sequences, in the larger of both shapes without the last axis.

    normalize  True to divide by the length of the true sequence; then infinity where that alone is empty
    """

    def __init__(self, normalize: bool = True):
        super().__init__(normalize=flag("EditDistance", "normalize", normalize))

    def __call__(
        self, hypothesis_indices: Any, hypothesis_values: Any, hypothesis_shape: Any, truth_indices: Any, truth_values: Any,
        truth_shape: Any,
    ) -> Tensor:
        op, sizes, values = self.name, [], []
        given = (("hypothesis", hypothesis_indices, hypothesis_values, hypothesis_shape),
                 ("truth", truth_indices, truth_values, truth_shape))
        for name, indices, elements, shape in given:
            places, values_of = operand(op, indices, f"{name}_indices"), operand(op, elements, f"{name}_values")
            for argument, x in ((f"{name}_indices", places), (f"{name}_shape", operand(op, shape, f"{name}_shape"))):
                if x.dtype is not I64:
                    raise wrong(op, argument, "a Tensor of Int64", x, TypeError)
            if values_of.dtype is BOOL or (values and values_of.dtype is not values[0].dtype):
                raise wrong(op, f"{name}_values", "a Tensor of numbers, both of one dtype", values_of, TypeError)
            own = sizes_argument(op, f"{name}_shape", shape, least=1)
            if len(own) < 2 or (sizes and len(own) != len(sizes[0])):
                raise wrong(op, f"{name}_shape", "of at least 2 elements, both as long", own)
            if places.ndim != 2 or places.shape[1] != len(own):
                raise wrong(op, f"{name}_indices", f"of shape [n, {len(own)}]", places)
            if values_of.shape != places.shape[:1]:
                raise wrong(op, f"{name}_values", f"of shape {places.shape[:1]}", values_of)
            sizes.append(own)
            values.append(values_of)
        table = tuple(max(pair) for pair in zip(*sizes, strict=True))[:-1]
        check_memory(op, "the result", 12.0 * math.prod(table))
        groups: list[Tensor] = []
        for name, indices, _, _ in given:
            columns = unstack(indices, 1)[:-1]
            flat = columns[0] * 0
            for column, size in zip(columns, table, strict=True):
                checked_on_host(index_check(op, f"{name}_indices", 0, size), column)
                flat = flat * size + column
            groups.append(flat)
        found = apply(made(EditDistanceOp, math.prod(table), self.normalize), groups[0], values[0], groups[1], values[1])
        return reshape(found, table)


class CTCLossV2(Primitive):
    """The losses of `ops.ctc_loss`, [n], and the logarithms of the forward probabilities, [n, t, 2 s + 1].

    It is called on log_probs, Float32 or Float64, targets, input_lengths and target_lengths.

    blank          the class between labels
    reduction      "none" is the only one
    zero_infinity  True to have 0 as the loss of a target that does not fit into its sequence
    """

    def __init__(self, blank: int = 0, reduction: str = "none", zero_infinity: bool = False):
        op = "CTCLossV2"
        super().__init__(blank=integer(op, "blank", blank), reduction=choice(op, "reduction", reduction, ("none",)),
                         zero_infinity=flag(op, "zero_infinity", zero_infinity))

    def __call__(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> tuple[Tensor, Tensor]:
        given = operand(self.name, log_probs, "log_probs")
        if given.dtype not in (F32, F64):
            raise wrong(self.name, "log_probs", "a Tensor of Float32 or Float64", given, TypeError)
        held, wanted = (Tensor(x, I64) if isinstance(x, (tuple, list)) else x for x in (input_lengths, target_lengths))
        return ctc.ctc_loss(given, targets, held, wanted, self.blank, self.reduction, self.zero_infinity)


class LSTM(Primitive):
    """One layer of an LSTM over sequences [steps, n, input_size], with its weights in one Tensor.

    It is called on the sequences, h [directions, n, hidden_size or proj_size], c [directions, n, hidden_size], and w.  That holds, each for
    all directions, the weights of the input, [4 hidden_size, input_size], those of the state, with `proj_size` the projection
    [proj_size, hidden_size], and with `has_bias` a bias [4 hidden_size].  The gates are i, f, g, o.  What is left of w is not used.

    num_layers     1 is the only number
    bidirectional  True to run over the sequences backwards too
    dropout        has no effect in one layer
    proj_size      the size of the outputs and of h, which are projected; 0: they are not
    result         outputs [steps, n, directions * size], the last h and c, and two Tensors without a meaning
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int, has_bias: bool, bidirectional: bool, dropout: float, proj_size: int = 0
    ):
        op = "LSTM"
        sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
        super().__init__(None, **{name: integer(op, name, value) for name, value in sizes.items()}, has_bias=flag(op, "has_bias", has_bias),
                         bidirectional=flag(op, "bidirectional", bidirectional), dropout=float_only(op, "dropout", dropout),
                         proj_size=integer(op, "proj_size", proj_size))
        for name in sizes:
            if self.attrs[name] < 1:
                raise wrong(op, name, "at least 1", self.attrs[name])
        if self.num_layers != 1:
            raise wrong(op, "num_layers", "1: `nn.LSTM` has more layers", num_layers)
        if not 0.0 <= self.dropout <= 1.0:
            raise wrong(op, "dropout", "in [0, 1]", dropout)
        if not 0 <= self.proj_size < self.hidden_size:
            raise wrong(op, "proj_size", f"in [0, {self.hidden_size})", proj_size)

    def __call__(self, input: Any, h: Any, c: Any, w: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        x, state, memory, weights = (operand(self.name, t, name) for name, t in (("input", input), ("h", h), ("c", c), ("w", w)))
        ways, size, shown = 2 if self.bidirectional else 1, self.hidden_size, self.proj_size or self.hidden_size
        for name, t in (("input", x), ("h", state), ("c", memory), ("w", weights)):
            if not t.dtype.is_float or t.dtype is not x.dtype:
                raise wrong(self.name, name, "a Tensor of a floating point type, that of 'input'", t, TypeError)
        if x.ndim != 3 or x.shape[2] != self.input_size or not x.shape[0]:
            raise wrong(self.name, "input", f"of shape [steps, n, {self.input_size}]", x)
        for name, t, width in (("h", state, shown), ("c", memory, size)):
            if t.shape != (ways, x.shape[1], width):
                raise wrong(self.name, name, f"of shape {(ways, x.shape[1], width)}", t)
        shapes = [(4 * size, self.input_size), (4 * size, shown)]
        shapes += [(shown, size)] * bool(self.proj_size) + [(4 * size,)] * self.has_bias
        needed = ways * sum(math.prod(shape) for shape in shapes)
        if weights.size < needed:
            raise wrong(self.name, "w", f"of at least {needed} elements", weights)
        flat, taken, parts = reshape(weights, (-1,)), 0, []
        for shape in shapes:
            parts.append(unstack(reshape(narrow(flat, 0, taken, ways * math.prod(shape)), (ways, *shape)), 0))
            taken += ways * math.prod(shape)
        outputs, last = [], []
        for way, (of_input, of_state, *rest) in enumerate(zip(*parts, strict=True)):
            bias, projection = rest[-1] if self.has_bias else None, rest[0] if self.proj_size else None
            carried = linear.dense(x, of_input, bias)
            now, cell, row = state[way], memory[way], []
            for step in range(x.shape[0])[::-1 if way else 1]:
                now, cell = apply(made(LstmCell), carried[step], linear.dense(now, of_state), cell)
                now = now if projection is None else linear.dense(now, projection)
                row.append(now)
            outputs.append(stack(row[::-1] if way else row, 0))
            last.append((now, cell))
        none = zeros((1, 1), x.dtype)
        return concat(outputs, 2), stack([now for now, _ in last], 0), stack([cell for _, cell in last], 0), none, none
