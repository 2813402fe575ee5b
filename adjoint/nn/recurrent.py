"""Recurrent layers and the cells they repeat: RNN, GRU and LSTM.

The products with the sequence are computed for all steps at once; one kernel then does all steps of a direction. Weights and biases are
drawn uniformly from +-1/sqrt(hidden_size).
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.ops.recurrence import GruSteps, LstmSteps, RnnSteps
from adjoint.ir.ops.recurrent import GruCell, LstmCell
from adjoint.ir.types import F32, I64, DType, tensor
from adjoint.nn.checks import boolean, choice, floating, positive
from adjoint.nn.dropout import Dropout
from adjoint.ops import activations, arithmetic, creation, linear, parts, picking, shapes
from adjoint.ops.arguments import check_memory
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.conversion import dtype_argument
from adjoint.runtime.tensor.initializer import Uniform
from adjoint.runtime.tensor.parameter import Parameter, ParameterTuple
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply, constant, initializer

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"]

State = tuple[Tensor, ...]
"""The state carried from step to step: (h,), of an LSTM (h, c)."""
_LSTM, _GRU = LstmCell(), GruCell()


# One step ------------------------------------------------------------------------------------------------------------


def _tanh(inputs: Tensor, carried: Tensor, state: State) -> State:
    return (arithmetic.tanh(inputs + carried),)


def _relu(inputs: Tensor, carried: Tensor, state: State) -> State:
    return (activations.relu(inputs + carried),)


def _gru(inputs: Tensor, carried: Tensor, state: State) -> State:
    return (apply(_GRU, inputs, carried, state[0]),)


def _lstm(inputs: Tensor, carried: Tensor, state: State) -> State:
    return apply(_LSTM, inputs, carried, state[1])


_STEPS = {"tanh": _tanh, "relu": _relu, "gru": _gru, "lstm": _lstm}
_SEQUENCES = {"tanh": RnnSteps, "relu": RnnSteps, "gru": GruSteps, "lstm": LstmSteps}
_GATES = {"tanh": 1, "relu": 1, "gru": 3, "lstm": 4}


class RNNCellBase(Cell):
    """The parameters of one step of a recurrent layer, for subclasses that define `construct`.

    With g for `num_chunks`: weight_ih [g * hidden_size, input_size], weight_hh [g * hidden_size, hidden_size], and with `has_bias` bias_ih
    and bias_hh [g * hidden_size] (otherwise None), all of `dtype`.  TypeError, ValueError for sizes that are not positive integers.
    """

    _kind: str

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool, num_chunks: int, dtype: DType = F32):
        super().__init__()
        self.has_bias = boolean(self, "has_bias", has_bias)
        self.hidden_size, self.input_size = positive(self, "hidden_size", hidden_size), positive(self, "input_size", input_size)
        dtype_argument(dtype)
        rows, bound = positive(self, "num_chunks", num_chunks) * hidden_size, 1 / math.sqrt(hidden_size)

        def drawn(name: str, *shape: int) -> Parameter:
            return Parameter(initializer(Uniform(bound), shape, dtype), name=name)

        self.weight_ih, self.weight_hh = drawn("weight_ih", rows, input_size), drawn("weight_hh", rows, hidden_size)
        self.bias_ih = drawn("bias_ih", rows) if has_bias else None
        self.bias_hh = drawn("bias_hh", rows) if has_bias else None

    def reset_parameters(self, dtype: DType = F32) -> None:
        """Give the parameters new random numbers of this dtype, uniform from -1/sqrt(hidden_size) to 1/sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.get_parameters():
            parameter.set_data(initializer(Uniform(bound), parameter.shape, dtype_argument(dtype)))

    def _step(self, x: Any, state: tuple[Any, ...], names: tuple[str, ...]) -> State:
        x = floating(self, "x", x, 2)
        held = tuple(floating(self, name, part, 2) for name, part in zip(names, state, strict=True))
        _check_size(self, "x", x, self.input_size)
        for name, part in zip(names, held, strict=True):
            if part.shape != (x.shape[0], self.hidden_size):
                raise ValueError(f"For '{type(self).__name__}', the argument '{name}' must be of shape {(x.shape[0], self.hidden_size)}, "
                                 f"but got {part.shape}.")
        return _STEPS[self._kind](linear.dense(x, self.weight_ih, self.bias_ih), linear.dense(held[0], self.weight_hh, self.bias_hh), held)


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu in place of tanh; x [n, input_size], h and the result [n, hidden_size]."""

    _kind = "tanh"

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, nonlinearity: str = "tanh", dtype: DType = F32):
        super().__init__(input_size, hidden_size, has_bias, _GATES["tanh"], dtype)
        if not isinstance(nonlinearity, str):
            raise TypeError(f"For 'RNNCell', the argument 'nonlinearity' must be a str, but got {nonlinearity!r} "
                            f"of type {type(nonlinearity).__name__}.")
        self.nonlinearity = self._kind = choice(self, "nonlinearity", nonlinearity, ("tanh", "relu"))

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self._step(x, (hx,), ("hx",))[0]


class GRUCell(RNNCellBase):
    """h' = n + z * (h - n), with r, z = sigmoid(W_ih x + b_ih + W_hh h + b_hh) and n = tanh(W_in x + b_in + r * (W_hn h + b_hn)).

    x [n, input_size], h and the result [n, hidden_size]; the weights hold r, z and n one below the other.
    """

    _kind = "gru"

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = F32):
        super().__init__(input_size, hidden_size, has_bias, _GATES["gru"], dtype)

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self._step(x, (hx,), ("hx",))[0]


class LSTMCell(RNNCellBase):
    """c' = f * c + i * g and h' = o * tanh(c'), where the gates i, f, g, o are sigmoid (g: tanh) of W_ih x + b_ih + W_hh h + b_hh.

    x [n, input_size], the state a tuple (h, c) of [n, hidden_size] each, the result (h', c'); the weights hold i, f, g and o one below the
    other.
    """

    _kind = "lstm"

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = F32):
        super().__init__(input_size, hidden_size, has_bias, _GATES["lstm"], dtype)

    def construct(self, x: Tensor, hx: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        h, c = self._step(x, _pair(self, hx), ("hx[0]", "hx[1]"))
        return h, c


def _pair(owner: Cell, state: Any) -> tuple[Any, Any]:
    """Return the state of an LSTM, (h, c)."""
    if not isinstance(state, (tuple, list)) or len(state) != 2:
        raise TypeError(f"For '{type(owner).__name__}', the argument 'hx' must be a tuple of two Tensors, h and c, "
                        f"but got {state!r} of type {type(state).__name__}.")
    return state[0], state[1]


def _check_size(owner: Cell, argument: str, x: Tensor, size: int) -> None:
    if x.shape[-1] != size:
        raise ValueError(f"For '{type(owner).__name__}', the argument '{argument}' must be of last size {size}, but got shape {x.shape}.")


# Sequences -----------------------------------------------------------------------------------------------------------


class _Layers(Cell):
    """Base class of RNN, GRU and LSTM: everything but the step."""

    _kind: str

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, has_bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, dtype: DType = F32,
    ):
        super().__init__()
        name = type(self).__name__
        self.hidden_size, self.input_size = positive(self, "hidden_size", hidden_size), positive(self, "input_size", input_size)
        self.num_layers = positive(self, "num_layers", num_layers)
        if not isinstance(dropout, float):
            raise TypeError(f"For '{name}', the argument 'dropout' must be a float, but got {dropout!r} of type {type(dropout).__name__}.")
        if not 0 <= dropout < 1:
            raise ValueError(f"For '{name}', the argument 'dropout' must be in [0.0, 1.0), but got {dropout}.")
        self.has_bias, self.batch_first = boolean(self, "has_bias", has_bias), boolean(self, "batch_first", batch_first)
        self.bidirectional, self.dropout = boolean(self, "bidirectional", bidirectional), dropout
        self.dropout_op = Dropout(p=dropout)
        bound, rows = 1 / math.sqrt(hidden_size), _GATES[self._kind] * hidden_size
        directions = 2 if bidirectional else 1
        columns = input_size + num_layers * hidden_size + (num_layers - 1) * hidden_size * directions + 2 * num_layers * has_bias
        check_memory(name, f"the parameters of 'num_layers' = {num_layers} layers",
                     directions * rows * columns * dtype_argument(dtype).size)
        held: dict[str, list[Parameter]] = {"weight_ih": [], "weight_hh": [], "bias_ih": [], "bias_hh": []}
        for place in range(num_layers * directions):
            layer, suffix = place // directions, "_reverse" if place % directions else ""
            width = input_size if layer == 0 else hidden_size * directions
            shapes_of = {"weight_ih": (rows, width), "weight_hh": (rows, hidden_size), "bias_ih": (rows,), "bias_hh": (rows,)}
            for kind, shape in shapes_of.items():
                if has_bias or kind.startswith("weight"):
                    held[kind].append(Parameter(initializer(Uniform(bound), shape, dtype), name=f"{kind}_l{layer}{suffix}"))
        self.w_ih_list, self.w_hh_list = ParameterTuple(held["weight_ih"]), ParameterTuple(held["weight_hh"])
        self.b_ih_list, self.b_hh_list = ParameterTuple(held["bias_ih"]), ParameterTuple(held["bias_hh"])

    def construct(self, x: Tensor, hx: Any = None, seq_length: Tensor | None = None) -> tuple[Tensor, Any]:
        x = floating(self, "x", x, 3)
        _check_size(self, "x", x, self.input_size)
        if self.batch_first:
            x = shapes.swapaxes(x, 0, 1)
        steps, n = x.shape[:2]
        if steps == 0:
            raise ValueError(f"For '{type(self).__name__}', the argument 'x' must have at least one step, but got shape {x.shape}.")
        states = self._states(x, hx)
        parts_of_state = 2 if self._kind == "lstm" else 1
        nothing: State = () if states is not None else (creation.zeros((n, self.hidden_size), x.dtype),) * parts_of_state
        lengths, there = self._lengths(seq_length, steps, n)
        lasts: list[State] = []
        directions = 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            outputs: list[Tensor] = []
            for place in range(layer * directions, (layer + 1) * directions):
                first = nothing if states is None else tuple(shapes.squeeze(parts.narrow(state, 0, place, 1), 0) for state in states)
                found, last = self._layer(x, first, place, place % directions == 1, lengths)
                outputs.append(found)
                lasts.append(last)
            x = outputs[0] if directions == 1 else parts.concat(outputs, 2)
            if there is not None:
                x = arithmetic.where(there, x, constant(0.0, x.dtype))
            if self.dropout != 0 and layer < self.num_layers - 1:
                x = self.dropout_op(x)
        found = tuple(shapes.expand_dims(part[0], 0) if len(lasts) == 1 else parts.stack(part, 0) for part in zip(*lasts, strict=True))
        return shapes.swapaxes(x, 0, 1) if self.batch_first else x, found if self._kind == "lstm" else found[0]

    def _states(self, x: Tensor, hx: Any) -> State | None:
        """Return the state before the first step of all layers; None if none is given."""
        if hx is None:
            return None
        shape = (self.num_layers * (2 if self.bidirectional else 1), x.shape[1], self.hidden_size)
        lstm = self._kind == "lstm"
        given = _pair(self, hx) if lstm else (hx,)
        for name, state in zip(("hx[0]", "hx[1]") if lstm else ("hx",), given, strict=True):
            floating(self, name, state)
            if state.dtype is not x.dtype:
                raise TypeError(f"For '{type(self).__name__}', the argument '{name}' must be of the dtype of 'x', {x.dtype}, "
                                f"but got {state.dtype}.")
            if state.shape != shape:
                raise ValueError(f"For '{type(self).__name__}', the argument '{name}' must be of shape {shape}, but got {state.shape}.")
        return given

    def _lengths(self, seq_length: Any, steps: int, n: int) -> tuple[tuple[Tensor, ...], Tensor | None]:
        """Return the lengths of the sequences, Int64 [n], and for each step which sequences have it, [steps, n, 1]; () and None if no
        lengths are given."""
        if seq_length is None:
            return (), None
        name = type(self).__name__
        lengths = picking.indices_argument(name, "seq_length", seq_length)
        if lengths.shape != (n,):
            raise ValueError(f"For '{name}', the argument 'seq_length' must hold one length for each of {n} sequences, "
                             f"but got shape {lengths.shape}.")

        def length(given: Tensor, range_: Range) -> None:
            found, most = given.asnumpy(), range_.high
            if found.size and (found.max() > most or found.min() < 0):
                raise ValueError(f"For '{name}', the argument 'seq_length' must hold lengths in [0, {most}], but got {found.tolist()}.")

        checked_on_host(RangeCheck(Range(0, steps), length), lengths)
        wide = lengths.astype(I64, copy=False)
        return (wide,), shapes.expand_dims(apply(made(Iota, tensor(I64, (steps, 1)), 0)) < wide, 2)

    def _layer(self, x: Tensor, state: State, place: int, backward: bool, lengths: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Run one direction of a layer over a sequence; return the state h after each step, and the last state."""
        weights = [held[place].astype(x.dtype, copy=False) for held in (self.w_ih_list, self.w_hh_list)]
        b_ih, b_hh = (held[place].astype(x.dtype, copy=False) if self.has_bias else None for held in (self.b_ih_list, self.b_hh_list))
        bias = creation.zeros((weights[1].shape[0],), x.dtype) if b_hh is None else b_hh
        if b_ih is not None and self._kind != "gru":  # a GRU multiplies one of its biases by a gate
            b_ih, bias = None, b_ih + bias
        op = made(_SEQUENCES[self._kind], backward, **({"relu": True} if self._kind == "relu" else {}))
        found = apply(op, linear.dense(x, weights[0], b_ih), weights[1], bias, *state, *lengths)
        return found[0], found[1 : 1 + len(state)]

    def extend_repr(self) -> str:
        return (f"input_size={self.input_size}, hidden_size={self.hidden_size}, num_layers={self.num_layers}, has_bias={self.has_bias}, "
                f"batch_first={self.batch_first}, dropout={self.dropout}, bidirectional={self.bidirectional}")


class RNN(_Layers):
    """Layers of `RNNCell` over x [steps, n, input_size]; `nonlinearity="relu"` has relu in place of tanh.

    Arguments and results are those of `LSTM`; the state is h alone.
    """

    _kind = "tanh"

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, has_bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, dtype: DType = F32, *, nonlinearity: str = "tanh",
    ):
        super().__init__(input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype)
        self._kind = choice(self, "nonlinearity", nonlinearity, ("tanh", "relu"))


class GRU(_Layers):
    """Layers of `GRUCell` over x [steps, n, input_size]; arguments and results are those of `LSTM`, the state is h alone."""

    _kind = "gru"


class LSTM(_Layers):
    """Layers of `LSTMCell` over x [steps, n, input_size], or with `batch_first` [n, steps, input_size].

    num_layers     layers, each over what the one before gives
    bidirectional  whether each layer has a second half, which goes from the last step to the first; outputs stand side by side
    dropout        a float in [0, 1): in training, the probability that an output of a layer but the last is dropped

    Called with (x, hx=None, seq_length=None): the state (h, c) before the first step, each [layers * directions, n, hidden_size], zeros by
    default; and how many steps of each sequence count, integers [n]: behind these the outputs are zeros and the state stays as it is.
    Returns the outputs [steps, n, directions * hidden_size] and the last state.

    Parameters of layer k: `weight_ih_lk`, `weight_hh_lk`, `bias_ih_lk` and `bias_hh_lk`; `_reverse` is appended for the second half.
    """

    _kind = "lstm"
