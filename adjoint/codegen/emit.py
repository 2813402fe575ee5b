"""Emit the text of a kernel from an op and the types of its operands.

The text is the kernel's identity: the same text is the same kernel, for any shapes; see `kernel`.  It begins with the op's
signature, so that a file of kernels can be read:

    /* add(x: f32[...], y: f32[...]) -> out: f32[...] */
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from inspect import CO_VARARGS
from textwrap import wrap
from types import FunctionType
from typing import Final

from adjoint.codegen import headers
from adjoint.codegen.c_print import INDEPENDENT, WIDTH, DirectText, comment, direct_text, function_text
from adjoint.codegen.user_names import local_name
from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Node
from adjoint.ir.kernel import Kernel
from adjoint.ir.kernel.names import identifier
from adjoint.ir.op import Op
from adjoint.ir.ops.fused import FusedKernel, kernel_op
from adjoint.ir.types import DType, TensorType, Type

__all__ = ["INCLUDES", "KernelText", "KernelStage", "integer_text", "lower", "plain_form", "shown", "unit_text"]


PLAIN_WORK: Final = 2**27
"""The number of multiply-adds up to which a plain kernel, compiled quickly, is ready and done before a tuned one would be compiled."""


@dataclass(frozen=True, slots=True)
class KernelStage:
    """One C function of a kernel, and the sizes with which it is launched.  A kernel has several if they must run one after the other.

    function       its name in the text
    sizes          its size array: units, units per thread below which threads do not pay, then the kernel's sizes
    direct         for a kernel in the direct form: its text and its parameters
    """

    function: str
    sizes: tuple[int, ...]
    direct: DirectText | None = None

    @property
    def units(self) -> int:
        """Return how many units of work (such as elements or rows) there are; a stage with 0 units is not run."""
        return self.sizes[0]

    def arguments(self, operands: Sequence[str], size: Callable[[int], str]) -> list[str]:
        """Return the arguments of a call that computes all units, for a kernel in the direct form.

        operands  the C text of each operand: inputs, outputs, scratch
        size      returns that of a size, by its position in `sizes`
        """
        assert self.direct is not None, self.function
        taken = [*(operands[i] for i in self.direct.operands), *map(size, self.direct.sizes)]
        return [*taken, "0", size(0)] if self.direct.ranged else taken


def integer_text(number: int) -> str:
    """Return a number of 64 bits as C, which has no literal for the least one."""
    return "INT64_MIN" if number == -(1 << 63) else str(number)


@dataclass(frozen=True, slots=True)
class KernelText:
    """The C text of a kernel, and how to launch it on operands of the given types.

    Equal kernels may serve different nodes; `places` says which line of the text computes which step of a fused kernel.

    name     for messages: op and dtypes
    text     its functions; with the headers this is what identifies it
    headers  files of `codegen/c/` that it needs, in order
    stages   its functions, to be run in order on the same operands: inputs, outputs, scratch
    scratch  bytes of each scratch buffer
    pack     the pack (group of kernels) with which it is compiled, or ""
    dtype    the dtype that it belongs to in its pack
    places   for each line of a fused kernel's text that computes a step, its number, from 1, and the step
    plain    True for a kernel that is to be compiled soon rather than well
    two_forms  True if the plain kernel of the same op and types has another text
    scalar   True for a kernel without loops, in which vectors gain nothing
    """

    name: str
    text: str
    headers: tuple[str, ...]
    stages: tuple[KernelStage, ...]
    scratch: tuple[int, ...]
    pack: str
    dtype: DType
    places: tuple[tuple[int, int], ...] = ()
    plain: bool = False
    two_forms: bool = False
    scratch_dtypes: tuple[DType, ...] = ()
    scalar: bool = False


@cache
def _parameters(cls: type[Op]) -> tuple[tuple[str, ...], str]:
    """Return the names of the parameters of an op's method `lower` that receive its buffers, and the name of the `*` parameter; "" if there
    is none.
    """
    function = cls.lower
    if not isinstance(function, FunctionType):
        raise TypeError(f"{cls.__name__}.lower must be a plain method")
    code = function.__code__
    rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if code.co_flags & CO_VARARGS else ""
    return code.co_varnames[2 : code.co_argcount], rest


def _names(op: Op, operands: int, results: int) -> list[str]:
    """Return a name for each operand, then for each result: those of the parameters of `lower`.

    If it takes any number of buffers, operands are named as in the op's `takes`, if it has one, else `x_0`, `x_1`, ..., and results `out`.
    """
    fixed, rest = _parameters(type(op))
    total = operands + results
    if len(fixed) == total:
        return list(fixed)
    if not rest or len(fixed) > operands:
        raise TypeError(f"{op.name}.lower takes {len(fixed)} buffers, not {total}")
    taken: tuple[str, ...] = getattr(op, "takes", ())
    free = operands - len(fixed)
    inputs = taken[len(fixed) :] if len(taken) == operands else [f"x_{i}" for i in range(free)] if free > 1 else ["x"][:free]
    return [*fixed, *inputs, *(["out"] if results == 1 else [f"out_{i}" for i in range(results)])]


def lower(
    op: Op, operands: Sequence[Type], results: Sequence[Type], *, specialized: bool = False, name: str = "", private: bool = False,
    direct: bool = False, plain_work: float = 0, values: Sequence[str] = (),
) -> KernelText:
    """Return the kernel of `op` for these operand and result types, which must be tensors without symbolic dimensions.

    specialized  True: the sizes are written into the text, for a kernel of these shapes only
    name         the name of the C function; "" for one made of op and dtypes
    private      True: the kernel is visible in its file only, and has only the stages that these types need
    direct       True: private, and in the form that people write: its functions take operands and sizes as parameters
    plain_work   0 for a tuned kernel; otherwise the kernel is plain (quick to compile), unless the op has a tuned form and does more
                 multiply-adds than this
    values       names for the values of a fused kernel, see `shown`
    """
    kernel = Kernel(specialized=specialized, plain_work=plain_work, values=values)
    names = op.buffer_names(values) if values and isinstance(op, FusedKernel) else _names(op, len(operands), len(results))
    types = [*operands, *results]
    first_result = len(operands)
    buffers = [
        kernel.operand(_concrete(op, type_), name, written=position >= first_result)
        for position, (name, type_) in enumerate(zip(names, types, strict=True))
    ]
    in_place: Mapping[int, int] = getattr(op, "in_place", {})
    for result, operand in in_place.items():
        buffers[operand].alone = buffers[first_result + result].alone = False
    op.lower(kernel, *buffers)

    dtypes = [buffer.dtype for buffer in buffers]
    name = name or identifier("_".join(dict.fromkeys([op.name, *(dtype.name for dtype in dtypes)])))
    shapes = kernel.titles
    shown = [f"{b.name}: {b.dtype.name}[{shapes.get(b.name, '...')}]" for b in buffers]
    title = f"{op.name}({', '.join(shown[:first_result])}) -> {', '.join(shown[first_result:])}"

    used: set[str] = set()
    places: list[tuple[int, int]] = []
    texts = comment("\n".join(wrap(title, WIDTH - 3, break_long_words=False, break_on_hyphens=False)))
    stages: list[KernelStage] = []
    for function, sizes in zip(kernel.functions(name), kernel.launches(), strict=True):
        if direct:
            stages.append(stage := KernelStage(function.name, sizes, written := direct_text(function)))
            if stage.units:
                texts.append(written.text)
                used |= written.names
            continue
        stages.append(stage := KernelStage(function.name, sizes))
        if private and not stage.units:
            continue
        made = function_text(function, private=private, steps=kernel.steps)
        above = sum(text.count("\n") + 1 for text in texts)
        places += [(above + line + 1, step) for line, step in made.places]
        texts.append(made.text)
        used |= made.names
    return KernelText(
        name,
        "\n".join(texts),
        headers.needed(used),
        tuple(stages),
        kernel.scratch_bytes(),
        op.pack,
        next((dtype for dtype in dtypes if dtype.is_complex), None) or next((dtype for dtype in dtypes if dtype.is_float), dtypes[0]),
        tuple(places),
        kernel.plain,
        kernel.two_forms,
        kernel.scratch_dtypes(),
        not op.any_size,
    )


def shown(node: Node) -> KernelText:
    """Return the kernel of a node for people to read: in a fused kernel the values have the names that they have in the program.

    The compiled kernel has general names, `x_0`, `mul_3`: its text is its identity, and programs that differ in names share kernels.
    Nothing but names differs.
    """
    operands, results = [x.type for x in node.operands], [x.type for x in node.results]
    op = kernel_op(node)
    if op is node.op:
        return lower(op, operands, results)
    (region,) = node.regions
    values = [*region.params, *(value for inner in region.nodes for value in inner.results)]
    return lower(op, operands, results, values=[local_name(value.hint) for value in values])


def plain_form(tuned: KernelText, op: Op, operands: Sequence[Type], results: Sequence[Type]) -> KernelText:
    """Return the kernel to use until the tuned one is compiled; it is the tuned one if that is worth waiting for."""
    return lower(op, operands, results, plain_work=PLAIN_WORK) if tuned.two_forms else replace(tuned, plain=True)


def _concrete(op: Op, type_: Type) -> TensorType:
    if not isinstance(type_, TensorType) or not type_.is_static:
        raise TypeError(f"{op.name}: kernels are for tensors of known size, not for {type_}")
    return type_


INCLUDES: Final = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"


def unit_text(title: str, needed: Iterable[str], texts: Iterable[str], includes: str = INCLUDES) -> str:
    """Return the text of one C file: a title, the headers, then the kernels.

    title     the first comment
    needed    the names of the headers that are copied into it
    texts     the kernels
    includes  the `#include` lines
    """
    texts = [*texts]
    if any(INDEPENDENT in text for text in texts):
        includes += _INDEPENDENT
    pasted = [f"{_banner(header)}\n{headers.text(header)}" for header in needed]
    if pasted:
        pasted = [_QUIET, *pasted, "#pragma GCC diagnostic pop\n", _banner("kernels")]
    return "\n".join([*comment(title), "", includes, *pasted, *texts])


_INDEPENDENT: Final = f"""
/* No round of the loop that follows reads or writes what another round writes. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define {INDEPENDENT} _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define {INDEPENDENT} _Pragma("GCC ivdep")
#else
#define {INDEPENDENT}
#endif
"""

_QUIET: Final = '#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored "-Wunused-function"\n'


def _banner(title: str) -> str:
    return f"/* ---- {title} {'-' * (108 - len(title))} */\n"
