"""Print the bits that kernels give for the samples of the ops, for `make arm64`: it compares them between processors.

    python tests/kernel_bits.py FILE    write {case: results, as hexadecimal text} as JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from op_cases import Case, Kernels, cases, lowered_cases

from adjoint.codegen.toolchain import Toolchain
from adjoint.ir.op import Op
from adjoint.ir.types import F32


def chosen() -> list[Case]:
    """Return the float32 cases of all ops that have a kernel."""
    return [case for case in cases() if type(case.op).lower is not Op.lower and any(t.dtype is F32 for t in case.types)]


def bits(x: Any) -> str:
    """Return an array's bytes, with one NaN for all."""
    array = np.ascontiguousarray(x)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.tobytes().hex()


def main() -> None:
    if Toolchain.find() is None:
        raise SystemExit("there is no C compiler")
    kernels = Kernels()
    kernels.compile(lowered_cases(chosen()))
    found = {f"{type(case.op).__name__}, {case.name}": [bits(x) for seed in range(2) for x in kernels.run(case, case.arrays(seed))]
             for case in chosen()}
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
