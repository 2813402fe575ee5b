"""`vjp`, `jvp` and `linearize`: a function's result, and products of vectors with its Jacobian.

    y, pull = vjp(f, x)         x' = pull(y')         f runs at once, its adjoint whenever `pull` is called
    y, dy = jvp(f, x, dx)                             f runs with the tangents of its values
    y, push = linearize(f, x)   dy = push(dx)         f runs at once, its tangents whenever `push` is called

The pullback `pull` maps the cotangents of results to those of arguments.  It keeps the tape (the recording) of the forward run: the adjoint
uses the values of that run, and hooks run at each call of the pullback.  So does `push`, without hooks.  A graph that is made has a node
`tangent` for a `jvp`.

Where f has a `bprop` of its own, which computes gradients in Python, there are no tangents.  The pullback is linear, so its own pullback
maps dx to dy: it records what the `bprop` computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.foundation.diagnostics import check_flag
from adjoint.ir.types import BOOL
from adjoint.runtime.cells.nested_gradients import gradients_like
from adjoint.runtime.gradients.adjoints import Program, program_for, tangents_for
from adjoint.runtime.gradients.grad import (
    Recorded,
    _check_function,
    _weights,
    differentiate,
    differentiated,
    ones,
    recorded,
    with_parameters,
)
from adjoint.runtime.gradients.tape import Tape, new_tape
from adjoint.runtime.gradients.trie import TrieStep
from adjoint.runtime.process.tracer import check_gradients, emitter, set_tracer, state
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.structure import CONTAINERS, RESULTS, arranged, leaves
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Pullback", "Pushforward", "check_tensors", "direction_of", "inputs_of", "jvp", "linear", "linearize", "pushed", "ran", "vjp"]


class Pullback:
    """The function that `vjp` returns, as an object: it maps cotangents (gradients of outputs) to gradients of what is differentiated by.

    It may be called any number of times; inside of another gradient its calls are recorded.

    tape     the tape on which the function was recorded
    start    the recorded event at which its recording begins
    outputs  the tensors to differentiate
    wanted   the tape's slots (value numbers) of the values by which the gradient is taken
    own      True if the tape was started for this pullback alone
    hooks    False to leave out hooks on gradients
    """

    def __init__(self, tape: Tape, start: TrieStep, outputs: Sequence[Tensor], wanted: Sequence[int], own: bool, hooks: bool = True):
        self._tape, self._start, self._end, self._wanted, self._hooks = tape, start, tape.at, tuple(wanted), hooks
        self._slots = [None if x.dtype is BOOL else tape.slot_of(x) for x in outputs]
        self._program: Program | None = None
        if own:
            _keep_memories(tape)

    def __call__(self, cotangents: Sequence[Tensor]) -> dict[int, Tensor]:
        """Compute gradients from one cotangent for each output.  Return, for each slot of the tape in `wanted`, the gradient of its value.
        """
        tape = self._tape
        if self._program is None:
            # The path ends where the function returned, even if the tape has advanced since.
            at, tape.at = tape.at, self._end
            try:
                self._program = program_for(tape, self._start, tuple(s for s in self._slots if s is not None), self._wanted, self._hooks)
            finally:
                tape.at = at
        given = [ct for ct, slot in zip(cotangents, self._slots, strict=True) if slot is not None]
        found = self._program.gradients(tape, self._wanted, given, recorded=state.tracer is not None)
        return dict(zip(self._wanted, found, strict=True))


class Pushforward:
    """The function that `linearize` returns, as an object: it maps tangents of what is differentiated by to tangents of the outputs.

    It may be called any number of times; inside of another gradient its calls are recorded.  The arguments are those of `Pullback`.
    """

    def __init__(self, tape: Tape, start: TrieStep, outputs: Sequence[Tensor], wanted: Sequence[int], own: bool):
        self._tape, self._start, self._end, self._wanted = tape, start, tape.at, tuple(wanted)
        self._outputs = [(None if x.dtype is BOOL else tape.slot_of(x), x.type) for x in outputs]
        recorded = [x for x, (slot, _) in zip(outputs, self._outputs, strict=True) if slot is not None]
        self._pull = Pullback(tape, start, recorded, wanted, own=False, hooks=False)
        if own:
            _keep_memories(tape)

    def __call__(self, tangents: Sequence[Tensor]) -> list[Tensor]:
        """Compute the tangent of each output, zeros for one that does not depend on an input, from one for each slot in `wanted`."""
        tape, slots = self._tape, tuple([slot for slot, _ in self._outputs if slot is not None])
        at, tape.at = tape.at, self._end  # the path ends where the function returned, even if the tape has advanced since
        try:
            program = tangents_for(tape, self._start, slots, self._wanted)
        finally:
            tape.at = at
        found = iter(self._along_path(slots, tangents) if program is None
                     else program.gradients(tape, slots, tangents, recorded=state.tracer is not None))
        return [zeros(type_) if slot is None else next(found) for slot, type_ in self._outputs]

    def _along_path(self, slots: Sequence[int], tangents: Sequence[Tensor]) -> list[Tensor]:
        """Return the tangents by the pullback of the pullback, where Python computes gradients."""

        def pulled(*cotangents: Tensor) -> tuple[Tensor, ...]:
            found = self._pull(cotangents)
            return tuple([found[slot] for slot in self._wanted])

        return _transposed(pulled, [self._tape.values[slot] for slot in slots], tangents)


def _transposed(pulled: Callable[..., Any], outputs: Sequence[Tensor], tangents: Sequence[Tensor]) -> list[Any]:
    """Return the tangents of outputs: the gradient of a pullback by its cotangents.

    pulled  the pullback: it takes a cotangent for each output, and returns a tuple of gradients, one for each tangent
    """
    # The pullback is linear, so the cotangents at which it is differentiated do not matter.
    there = tuple(map(ones, outputs))
    return differentiate(pulled, there, {}, range(len(there)), (), sens=tuple(tangents))[1]


def _keep_memories(tape: Tape) -> None:
    """Let a tape keep the memories of its values: it is no longer notified when a tensor is overwritten."""
    tape.values = [x if x is None else wrap(x.type, x.memory) for x in tape.values]


def check_tensors(name: str, what: str, values: Sequence[Any]) -> None:
    for value in values:
        if not all(isinstance(leaf, Tensor) for leaf in leaves(value)):
            raise TypeError(f"For '{name}', the {what} must be Tensors, or tuples, lists or dicts of them, "
                            f"but got {value!r} of type {type(value).__name__}.")


def _check_vector(name: str, what: str, given: Tensor, wanted: Tensor) -> None:
    if given.dtype is not wanted.dtype:
        raise TypeError(f"For '{name}', a vector must have the dtype of its {what}, {wanted.dtype}, but got {given.dtype}.")
    if given.type is not wanted.type:
        raise ValueError(f"For '{name}', a vector must have the shape of its {what}, {wanted.shape}, but got {given.shape}.")


def _in_order(name: str, what: str, vectors: Any, wanted: Any, within: tuple[type, ...]) -> list[Tensor]:
    """Return the tensors in `vectors` in the order of `wanted`, which has the same nested structure; dicts are matched by key.

    name, what  the public function and a description of the vectors, for the message
    within      the classes of containers that are searched

    ValueError if the structures differ.
    """
    try:
        return leaves(arranged(vectors, wanted), Tensor, within)
    except ValueError as wrong:
        raise ValueError(f"For '{name}', the {what} must have the structure of what they are for, but it {wrong}.") from None


def _parts(result: Any, has_aux: bool) -> tuple[Any, tuple[Any, ...]]:
    """Split a function's result into the part to differentiate, and a tuple of what `vjp` or `jvp` returns after its own results.

    Without `has_aux` that tuple is empty.  With it, the tuple has one entry: the auxiliary value, or a tuple of them if there are several.
    """
    if not has_aux:
        return result, ()
    return result[0], (result[1] if len(result) == 2 else tuple(result[1:]),)


_Pull = Callable[[Sequence[Tensor]], tuple[list[Any], list[Tensor]]]
"""A function from the cotangents of the outputs to two lists: gradients of the arguments, each in its structure, and of the weights."""


def ran(
    fn: Any, args: tuple[Any, ...], positions: Sequence[int], weights: Sequence[Parameter], has_aux: bool
) -> tuple[Any, list[Tensor], _Pull]:
    """Run `fn` on the tape (the recording of this thread's operations).

    args       the arguments of the call
    positions  the arguments to differentiate by
    weights    the Parameters to differentiate by
    has_aux    True if only the first item of the result is differentiated

    Return the result, the tensors in it that are differentiated, and the function that computes gradients.
    """
    check_gradients()
    if (graph := emitter()) is not None:
        return graph.record(graph.differentiable(fn, args, {}, positions, weights, has_aux))
    tape, run, result, outputs, own = _on_tape(fn, args, positions, weights, has_aux)
    pullback = Pullback(tape, run.start, outputs, run.wanted, own)
    return result, outputs, lambda cotangents: run.structured(pullback(cotangents))


def _on_tape(fn: Any, args: tuple[Any, ...], positions: Sequence[int], weights: Sequence[Parameter], has_aux: bool,
             ) -> tuple[Tape, Recorded, Any, list[Tensor], bool]:
    """Run `fn` on the tape of this thread, or on a new one; the arguments are those of `ran`.

    Return the tape, what is known of the run, its result, the tensors in it that are differentiated, and True if the tape is new.
    """
    outer: Tape | None = state.tracer  # pyright: ignore[reportAssignmentType] - what records is a Tape
    tape = outer if outer is not None else new_tape()
    depth = tape.depth
    try:
        state.tracer = tape
        run = recorded(tape, fn, args, {}, positions, weights)
        outputs = differentiated(run.result, has_aux)
        result = with_parameters(tape, run.result) if tape.renamed_parameter else run.result
    finally:
        tape.depth = depth
        set_tracer(outer)
        state.tracer = outer
    return tape, run, result, outputs, outer is None


def pushed(fn: Any, args: tuple[Any, ...], positions: Sequence[int], tangents: Sequence[Tensor], has_aux: bool
           ) -> tuple[Any, list[Tensor], list[Tensor]]:
    """Run `fn` with the tangents of its values; return its result, the tensors in it that are differentiated, and their tangents.

    tangents  one for each tensor in the arguments at `positions`

    The other arguments are those of `ran`.
    """
    check_gradients()
    if (graph := emitter()) is not None:
        given = graph.present(tangents)  # `fn` may write them
        return graph.tangent(graph.differentiable(fn, args, {}, positions, (), has_aux), given)
    outer: Tape | None = state.tracer  # pyright: ignore[reportAssignmentType] - what records is a Tape
    given = [wrap(x.type, x.memory) if outer is None else outer.present(x) for x in tangents]
    tape, run, result, outputs, _ = _on_tape(fn, args, positions, (), has_aux)
    return result, outputs, Pushforward(tape, run.start, outputs, run.wanted, own=False)(given)


def linear(fn: Any, args: tuple[Any, ...], positions: Sequence[int], has_aux: bool,
           ) -> tuple[Any, list[Tensor], Callable[[Sequence[Tensor]], list[Tensor]]]:
    """Run `fn`; return its result, the tensors in it that are differentiated, and the function that maps tangents of the arguments to those
    of these tensors.

    The arguments are those of `ran`.
    """
    check_gradients()
    if (graph := emitter()) is not None:
        return graph.linear(graph.differentiable(fn, args, {}, positions, (), has_aux))
    tape, run, result, outputs, own = _on_tape(fn, args, positions, (), has_aux)
    return result, outputs, Pushforward(tape, run.start, outputs, run.wanted, own)


def vjp(fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the result of `fn(*inputs)`, and the function that maps its cotangents to gradients of the inputs.

    fn       a function or Cell
    inputs   Tensors, or tuples, lists or dicts of them
    weights  a Parameter (one gradient) or several (a tuple): the gradients are then (of the inputs, of the weights)
    has_aux  `fn` returns (output to differentiate, aux ...)
    result   (outputs, vjp_fn), with `has_aux` (outputs, vjp_fn, aux).  `vjp_fn(v)` takes one cotangent for each tensor of the outputs, in
             their structure or as separate arguments, and returns a tuple with one gradient for each input, in the input's structure.  It
             may be called any number of times; backward hooks run at each call.

    TypeError if an input or cotangent is not a Tensor, or a cotangent has another dtype than its output; ValueError if it has another shape
    or key; RuntimeError for another number of cotangents.
    """
    _check_function("vjp", fn)
    check_tensors("vjp", "inputs", inputs)
    check_flag("vjp", "has_aux", has_aux)
    asked, single = _weights("vjp", weights)
    result, outputs, pull = ran(fn, inputs, range(len(inputs)), asked, has_aux)
    first, aux = _parts(result, has_aux)

    def vjp_fn(*v: Any) -> Any:
        check_tensors("vjp", "cotangents", v)
        cotangents = _in_order("vjp", "cotangents", v[0] if len(v) == 1 else v, first, RESULTS)
        if len(cotangents) != len(outputs):
            raise RuntimeError(f"For 'vjp', the function must be called with one cotangent for each of the {len(outputs)} outputs, "
                               f"but got {len(cotangents)}.")
        for given, x in zip(cotangents, outputs, strict=True):
            _check_vector("vjp", "output", given, x)
        by_input, by_weight = pull(cotangents)
        if weights is None:
            return tuple(by_input)
        return tuple(by_input), by_weight[0] if single else tuple(by_weight)

    return first, vjp_fn, *aux


def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the result of `fn`, and its derivative along the direction `v`.

    fn       a function or Cell
    inputs   a Tensor or a dict of them, or a tuple or list with the arguments of `fn`
    v        the direction: a Tensor or dict, or a tuple or list with one for each argument, of its structure, shapes and dtypes
    has_aux  `fn` returns (output to differentiate, aux ...)
    result   (outputs, derivative), the latter in the structure of the outputs; with `has_aux` (outputs, derivative, aux)

    TypeError if an input or vector is not a Tensor, or a vector has another dtype than its input; ValueError for another number or shape.
    """
    _check_function("jvp", fn)
    check_flag("jvp", "has_aux", has_aux)
    args, positions = inputs_of("jvp", inputs)
    direction = direction_of("jvp", args, positions, v)
    result, _, along = pushed(fn, args, positions, direction, has_aux)
    first, aux = _parts(result, has_aux)
    return first, gradients_like(first, along, RESULTS), *aux


def linearize(fn: Callable[..., Any], inputs: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the result of `fn`, and the function that maps a direction to its derivative along the direction.

    fn       a function or Cell
    inputs   a Tensor or a dict of them, or a tuple or list with the arguments of `fn`
    has_aux  `fn` returns (output to differentiate, aux ...)
    result   (outputs, push), with `has_aux` (outputs, push, aux).  `push(v)` takes a direction, as `jvp` does, or one argument for each of
             the inputs, and returns the derivative in the structure of the outputs.  `fn` runs once, `push` any number of times

    The errors are those of `jvp`.
    """
    _check_function("linearize", fn)
    check_flag("linearize", "has_aux", has_aux)
    args, positions = inputs_of("linearize", inputs)
    result, _, push = linear(fn, args, positions, has_aux)
    first, aux = _parts(result, has_aux)

    def pushforward(*v: Any) -> Any:
        direction = direction_of("linearize", args, positions, v[0] if len(v) == 1 else v)
        return gradients_like(first, push(direction), RESULTS)

    return first, pushforward, *aux


def inputs_of(name: str, inputs: Any) -> tuple[tuple[Any, ...], list[int]]:
    """Return the arguments of a function that `inputs` gives, and the positions of those with tensors in them."""
    args = _separate(name, "inputs", inputs)
    positions = [i for i, x in enumerate(args) if leaves(x, Tensor)]
    if not positions:
        raise TypeError(f"For '{name}', there must be a Tensor among the 'inputs', but got {inputs!r}.")
    return args, positions


def _separate(name: str, what: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, (Tensor, tuple, list, dict)):
        raise TypeError(f"For '{name}', the argument '{what}' must be a Tensor, or a tuple, list or dict of Tensors, "
                        f"but got {value!r} of type {type(value).__name__}.")
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def direction_of(name: str, args: tuple[Any, ...], positions: Sequence[int], v: Any) -> list[Tensor]:
    """Return the tensors of a direction, in the order of those in the arguments at `positions`."""
    vectors = _separate(name, "v", v)
    if len(args) != len(vectors):
        raise ValueError(f"For '{name}', 'v' must have as many vectors as there are inputs, {len(args)}, but got {len(vectors)}.")
    return [s for i in positions for s in _direction(name, args[i], vectors[i])]


def _direction(name: str, x: Any, vector: Any) -> list[Tensor]:
    """Return the tensors of one vector in the order of its input's; raise an error if their number, dtypes or shapes differ from these."""
    check_tensors(name, "vectors", [vector])
    wanted, given = leaves(x, Tensor), _in_order(name, "vector", vector, x, CONTAINERS)
    if len(wanted) != len(given):
        raise ValueError(f"For '{name}', a vector must have as many tensors as its input, {len(wanted)}, but got {len(given)}.")
    for s, a in zip(given, wanted, strict=True):
        _check_vector(name, "input", s, a)
    return given
