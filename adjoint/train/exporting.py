"""`export`: a network as C, with its parameters, a header and a test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from adjoint.codegen.standalone import StandaloneFile
from adjoint.codegen.user_names import local_name
from adjoint.foundation.files import write_file
from adjoint.ir.core import Module
from adjoint.ir.print import print_module
from adjoint.ir.storage import from_compute
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.text import load_ir
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.inspection.stages import adjoint_of, standalone, wanted
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["export"]

_OTHERS = ("MINDIR", "AIR", "ONNX")
_PER_LINE = 8


def export(net: Cell | Callable[..., Any], *inputs: Any, file_name: str, file_format: str = "C", gradient: bool = False,
           plain: bool = False, **kwargs: Any) -> None:
    """Write a network, or a function of tensors, as C that needs neither Python nor this package.

    net          a Cell, which is taken as it is without training, or a function
    inputs       the arguments: tensors of the sizes that the C has
    file_name    where the files go: `net` or `net.c` gives `net.c`, `net.h`, `net_test.c`, and `net_weights.c` if there are parameters
    file_format  "C"
    gradient     True: the file also has the function's gradient by its floating arguments and by trained parameters; the network is taken
        as it is in training then
    plain        True: matrix products and convolutions are simple loops

    The C function takes a pointer for each argument, each parameter and each result, contiguous arrays in row-major order, and returns 0 or
    the status of a kernel that failed.  The test calls it with `inputs`, and compares its results with those that they have here: it prints
    whether the bits are equal, and fails if a number is further away than rounding explains.  The bits are equal where C and Python
    contract the same products: with `-ffp-contract=off`, and here with `ADJOINT_CPU=baseline`.

    CompileError with the user's line for what C without Python cannot do: hooks, prints, control flow that tensors decide, sizes that are
    not known, parameters that are written (a normalisation in training).  ValueError for MindSpore's other formats and options, TypeError
    for other arguments.
    """
    if not isinstance(net, Cell) and (not callable(net) or isinstance(net, type)):
        raise TypeError(f"For 'export', the argument 'net' must be a Cell or a function, but got {net!r} of type {type(net).__name__}.")
    for value in inputs:
        if not isinstance(value, Tensor):
            raise TypeError(f"For 'export', the argument 'inputs' must be Tensors, but got {value!r} of type {type(value).__name__}.")
    if not isinstance(file_name, str) or not file_name:
        raise TypeError(f"For 'export', the argument 'file_name' must be a str, but got {file_name!r} of type {type(file_name).__name__}.")
    if file_format != "C":
        kept = "; `save_checkpoint` keeps parameters" if file_format in _OTHERS else ""
        raise ValueError(f"For 'export', the argument 'file_format' must be 'C', but got {file_format!r}: a network leaves Python as C here"
                         f"{kept}.")
    for name, value in kwargs.items():
        if value is not None:
            raise ValueError(f"For 'export', the argument {name!r} is one of MindSpore's other formats, and has no meaning for C.")
    trained = net if isinstance(net, Cell) and net.training and not gradient else None
    if trained is not None:
        trained.set_train(False)
    try:
        lowered = parsed(net, *inputs).graph
    finally:
        if trained is not None:
            trained.set_train()
    names = ()
    if gradient:
        names = wanted(lowered.module, lowered.symbol, {
            symbol: isinstance(x, Parameter) and x.requires_grad for symbol, x in lowered.state.items()})
    adjoint = adjoint_of(lowered.module, lowered.symbol, names).module if names else None
    made = standalone(lowered.module, lowered.symbol, adjoint, names, plain=plain)
    base = Path(file_name.removesuffix(".c"))
    files = _Files(base, made, lowered.module, lowered.symbol, dict(lowered.state), inputs)
    for path, text in files.texts().items():
        write_file(str(path), [text.encode()])


class _Files:
    """The files of one network.

    base    their path, without the ends
    made    the C
    module  the graph; `symbol` is its function
    state   the tensors that it reads, by symbol
    inputs  the arguments of the test
    """

    def __init__(self, base: Path, made: StandaloneFile, module: Module, symbol: str, state: dict[str, Tensor], inputs: Sequence[Tensor]):
        self.base, self.made, self.module, self.symbol, self.state, self.inputs = base, made, module, symbol, state, inputs
        self.stem = local_name(base.name)
        read = dict.fromkeys(symbol for reads in made.reads for symbol in reads)
        self.weights = {symbol: local_name(f"{self.stem}_{symbol.lstrip('_')}") for symbol in read}

    def texts(self) -> dict[Path, str]:
        """Return the text of each file."""
        files = {".c": self.made.text, ".h": self._header(), "_test.c": self._test()}
        if self.weights:
            weights = self._arrays(f'#include "{self.base.name}.h"', {name: self.state[symbol] for symbol, name in self.weights.items()})
            files["_weights.c"] = ("#include <math.h>\n" if "NAN" in weights or "INFINITY" in weights else "") + weights
        return {self.base.with_name(self.base.name + end): text for end, text in files.items()}

    def _header(self) -> str:
        guard = f"{self.stem.upper()}_H"
        lines = [f"/* {', '.join(self.made.names)}: made by adjoint */", f"#ifndef {guard}", f"#define {guard}", "", "#include <stdbool.h>",
                 "#include <stdint.h>", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
        for prototype in self.made.prototypes:
            lines += [prototype.replace("*restrict ", "*"), ""]
        for symbol, name in self.weights.items():
            lines.append(f"extern const {_declared(name, self.state[symbol])};")
        return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])

    def _arrays(self, first: str, arrays: dict[str, Tensor], kind: str = "const") -> str:
        return "\n\n".join([first, *(f"{kind} {_declared(name, x)} = {_numbers(x)};" for name, x in arrays.items())]) + "\n"

    def _test(self) -> str:
        """Return a program that calls the function with the arguments, and compares the results."""
        results = load_ir(print_module(self.module), state=self.state).run(self.symbol, self.inputs)
        given = {f"input_{place}": x for place, x in enumerate(self.inputs)}
        wanted_ = {f"wanted_{place}": x for place, x in enumerate(results)}
        head = f'#include <math.h>\n#include <stdio.h>\n#include <string.h>\n\n#include "{self.base.name}.h"'
        apart = {x.dtype.c_name: _APART[_kind(x)].format(type=x.dtype.c_name) for x in results}
        head = "\n\n".join([head, *apart.values()])
        name, reads = self.made.names[0], self.made.reads[0]
        own = [f"    static {_declared(f'result_{place}', x)};" for place, x in enumerate(results)]
        call = ", ".join([*given, *(self.weights[symbol] for symbol in reads), *(f"result_{place}" for place in range(len(results)))])
        body = [*own, "", *wrap(f"int status = {name}({call});", 120, initial_indent="    ", subsequent_indent="        "),
                "    if (status != 0) {", f'        printf("{name}: status %d\\n", status);', "        return 1;", "    }"]
        body.append("    int equal = 1;")
        for place, x in enumerate(results):
            body += [f"    if (memcmp(result_{place}, wanted_{place}, sizeof wanted_{place}) != 0) {{", "        equal = 0;",
                     f"        if (apart_{x.dtype.c_name}(result_{place}, wanted_{place}, {x.size})) {{",
                     f'            puts("{name}: result {place} differs");', "            return 1;", "        }", "    }"]
        return "\n".join([self._arrays(head, {**given, **wanted_}, "static const"), "int main(void) {", *body,
                          f'    puts(equal ? "{name}: equal" : "{name}: equal but for rounding");', "    return 0;", "}", ""])


def _kind(x: Tensor) -> str:
    return "two bytes" if x.dtype.is_float and x.dtype.size == 2 else x.dtype.c_name if x.dtype.is_float else "exact"


_FLOATS = """static int apart_{{type}}(const {{type}} *got, const {{type}} *wanted, int count) {{{{
    double largest = 0.0;
    for (int i = 0; i < count; i++) {{{{
        if (isfinite(wanted[i]) && fabs((double)wanted[i]) > largest) {{{{
            largest = fabs((double)wanted[i]);
        }}}}
    }}}}
    for (int i = 0; i < count; i++) {{{{
        int alike = got[i] == wanted[i] || (isnan(got[i]) && isnan(wanted[i]));
        if (!alike && !(fabs((double)got[i] - (double)wanted[i]) <= {bound} * largest)) {{{{
            return 1;
        }}}}
    }}}}
    return 0;
}}}}"""
_APART = {
    "float": _FLOATS.format(bound="1e-5"), "double": _FLOATS.format(bound="1e-12"),
    "two bytes": """static int apart_{type}(const {type} *got, const {type} *wanted, int count) {{
    for (int i = 0; i < count; i++) {{
        int apart = (int)got[i] - (int)wanted[i];
        if (apart < -2 || apart > 2) {{
            return 1;
        }}
    }}
    return 0;
}}""",
    "exact": """static int apart_{type}(const {type} *got, const {type} *wanted, int count) {{
    return memcmp(got, wanted, (size_t)count * sizeof *got) != 0;
}}""",
}
"""For each kind of numbers the C function of the test that says whether they are further apart than rounding explains."""


def _declared(name: str, x: Tensor) -> str:
    """Return the declaration of an array for the numbers of a tensor, without a semicolon."""
    return f"{x.dtype.c_name} {name}[{max(math.prod(x.shape), 1)}]"


def _numbers(x: Tensor) -> str:
    """Return the numbers of a tensor as an initialiser; reading them gives the same bits."""
    dtype, array = x.dtype, x.asnumpy().reshape(-1)
    if dtype.is_float and dtype.compute is not dtype:  # two bytes, which C has no numbers for
        texts = [str(bits) for bits in from_compute(np.asarray(array, dtype.compute.array), dtype).view(np.uint16).tolist()]
    elif dtype.is_float:
        texts = [_float(value, 9 if dtype.size == 4 else 17, "f" if dtype.size == 4 else "") for value in array.tolist()]
    else:
        texts = [str(int(value)) for value in array.tolist()]
        texts = ["INT64_MIN" if text == str(-(2**63)) else text for text in texts]
    lines = [", ".join(texts[i : i + _PER_LINE]) for i in range(0, max(len(texts), 1), _PER_LINE)]
    return "{\n    " + ",\n    ".join(line or "0" for line in lines) + "\n}"


def _float(value: float, digits: int, suffix: str) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = f"{value:.{digits}g}"
    return (text if any(mark in text for mark in ".e") else text + ".0") + suffix
