"""Measure the elementary functions of `codegen/c/math_f32.h` and `math_f64.h` against mpmath.

    python benchmarks/accuracy.py [--samples 10000] [--baseline] [exp tanh ...]

Compiles the headers with the C compiler that kernels are compiled with, for this processor or, with `--baseline`, for any
of its family (no fused multiply-add), and prints for each function the largest error found, in units in the last place of
the exact result, the argument where it was found, and the bound that `adjoint.codegen.accuracy` states. Ends with status 1 if
a bound is exceeded. Half of the arguments are random bit patterns, so every binade has its share; the others lie where the
function is usually called. The whole table takes about twenty seconds; mpmath is needed, gmpy2 makes it faster.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import mpmath
import numpy as np
from cffi import FFI
from mpmath import mp

from adjoint.codegen import headers
from adjoint.codegen.accuracy import ULP
from adjoint.codegen.toolchain import Toolchain

C_TYPE: Final = {"f32": "float", "f64": "double"}
ARRAY_TYPE: Final = {"f32": np.float32, "f64": np.float64}
DIGITS: Final = {"f32": 24, "f64": 53}
LEAST: Final = {"f32": -149, "f64": -1074}
"""Exponent of the smallest positive number."""

REFERENCES: Final[dict[str, tuple[Callable[..., Any], float, float]]] = {
    "exp": (mp.exp, -20, 20),
    "exp2": (lambda x: mp.power(2, x), -20, 20),
    "expm1": (mp.expm1, -5, 5),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), -20, 20),
    "tanh": (mp.tanh, -4, 4),
    "sinh": (mp.sinh, -4, 4),
    "cosh": (mp.cosh, -4, 4),
    "log": (mp.log, 0, 4),
    "log2": (lambda x: mp.log(x) / mp.log(2), 0, 4),
    "log10": (mp.log10, 0, 4),
    "log1p": (mp.log1p, -1, 4),
    "softplus": (lambda x: mp.log1p(mp.exp(x)), -20, 20),
    "asinh": (mp.asinh, -4, 4),
    "acosh": (mp.acosh, 1, 4),
    "atanh": (mp.atanh, -1, 1),
    "sin": (mp.sin, -20, 20),
    "cos": (mp.cos, -20, 20),
    "tan": (mp.tan, -20, 20),
    "asin": (mp.asin, -1, 1),
    "acos": (mp.acos, -1, 1),
    "atan": (mp.atan, -4, 4),
    "atan2": (mp.atan2, -4, 4),
    "erf": (mp.erf, -4, 4),
    "erfc": (mp.erfc, -4, 10),
    "pow": (mp.power, 0, 10),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), 0, 4),
}
"""Each function at high precision, and where half of the arguments lie."""

TWO_ARGUMENTS: Final = {"pow", "atan2"}


def loop(name: str, dtype: str) -> str:
    """The declaration of a C function that applies one of ours to arrays."""
    array = f"const {C_TYPE[dtype]} *restrict"
    second = f"{array} y, " if name in TWO_ARGUMENTS else ""
    return f"void {name}_{dtype}({array} x, {second}{C_TYPE[dtype]} *restrict out, int64_t count)"


def compiled(keys: list[tuple[str, str]], baseline: bool) -> tuple[FFI, Any]:
    """A library with a loop over each function."""
    toolchain = Toolchain.find()
    if toolchain is None:
        sys.exit("no C compiler was found")
    if baseline:
        toolchain = toolchain.without_machine()
    texts = [headers.text("bits.h"), headers.text("math_f32.h"), headers.text("math_f64.h")]
    for name, dtype in keys:
        second = ", y[i]" if name in TWO_ARGUMENTS else ""
        call = f"adjoint_{name}_{dtype}(x[i]{second})"
        texts.append(f"{loop(name, dtype)} {{\n    for (int64_t i = 0; i < count; i++) out[i] = {call};\n}}\n")
    ffi = FFI()
    ffi.cdef("".join(f"{loop(name, dtype)};" for name, dtype in keys).replace("restrict", ""))
    with tempfile.TemporaryDirectory() as directory:
        source, library = Path(directory, "accuracy.c"), Path(directory, "accuracy.so")
        source.write_text("\n".join(texts), encoding="utf-8")
        toolchain.compile(source, library)
        return ffi, ffi.dlopen(str(library))


def arguments(name: str, dtype: str, samples: int, random: np.random.Generator) -> list[np.ndarray]:
    """Arguments, one array for each; those for which the function has no finite value among them."""
    _, low, high = REFERENCES[name]
    kind = ARRAY_TYPE[dtype]
    half = samples // 2
    arrays = []
    for _ in range(2 if name in TWO_ARGUMENTS else 1):
        patterns = np.frombuffer(random.bytes(half * kind().itemsize), kind)
        arrays.append(np.concatenate([patterns, random.uniform(low, high, samples - half).astype(kind)]))
    if name == "pow":  # powers that are neither 0 nor infinite need exponents to match
        with np.errstate(all="ignore"):
            arrays[1][:half] = random.uniform(-1, 1, half) * -LEAST[dtype] / np.abs(np.log2(np.abs(arrays[0][:half])))
    return arrays


def errors(name: str, dtype: str, inputs: list[np.ndarray], found: np.ndarray) -> np.ndarray:
    """The error of each value in units in the last place; 0 where the exact value is not a finite number."""
    exact_function = REFERENCES[name][0]
    largest = mp.mpf(float(np.finfo(ARRAY_TYPE[dtype]).max))
    result = np.zeros(len(found))
    for i, (value, *given) in enumerate(zip(found.tolist(), *(array.tolist() for array in inputs))):
        if not all(map(np.isfinite, given)):
            continue
        try:
            exact = exact_function(*map(mp.mpf, given))
        except (ValueError, ZeroDivisionError):
            continue
        if isinstance(exact, mpmath.mpc) or not mp.isfinite(exact) or abs(exact) > largest or exact == 0:
            continue
        last_place = max(mp.frexp(exact)[1] - DIGITS[dtype], LEAST[dtype])
        result[i] = abs(mp.mpf(value) - exact) * mp.power(2, -last_place)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("function", nargs="*", help="names of functions; all if none is given")
    parser.add_argument("--samples", type=int, default=10000, help="arguments for each function and dtype")
    parser.add_argument("--baseline", action="store_true", help="compile for any processor of this family")
    options = parser.parse_args()
    mp.prec = 120

    keys = [key for key in ULP if not options.function or key[0] in options.function]
    ffi, library = compiled(keys, options.baseline)
    exceeded = 0
    print(f"{'function':<10} {'dtype':<6} {'error':>7} {'bound':>7}  at")
    for name, dtype in keys:
        inputs = arguments(name, dtype, options.samples, np.random.default_rng(20))
        found = np.empty_like(inputs[0])
        pointers = [ffi.from_buffer(f"{C_TYPE[dtype]}[]", array) for array in (*inputs, found)]
        getattr(library, f"{name}_{dtype}")(*pointers, len(found))
        error = errors(name, dtype, inputs, found)
        worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
        good = error[worst] <= ULP[name, dtype]
        exceeded += not good
        place = ", ".join(repr(float(array[worst])) for array in inputs)
        print(f"{name:<10} {dtype:<6} {error[worst]:7.3f} {ULP[name, dtype]:7.2f}  {place}{'' if good else '  exceeded'}")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
