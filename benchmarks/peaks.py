"""Show what share of this processor's peaks adjoint reaches: products and convolutions of its multiply-adds, sums of its memory's reads.

    python benchmarks/peaks.py [--rounds 20] [--seconds 0.1]

The peaks are measured by the kernels of `adjoint profile` (adjoint/codegen/c/peaks.c), with one thread and two, by turns with adjoint's own
work: other programs slow both down alike.  The best of all rounds counts.  `ADJOINT_CPU=avx2` measures both without AVX-512.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from timing import best_of

import adjoint as ms
from adjoint import Tensor, ops
from adjoint.runtime.inspection.peaks import measured
from adjoint.runtime.memory.machine import machine

SIZES = (256, 512, 1024, 2048)


def cases() -> dict[str, tuple[Callable[[], Any], int, float]]:
    """name -> the call, the position of its peak (operations, reads of 1 MiB, of 256 MiB), and its operations or bytes in units of 1e9"""
    random = np.random.default_rng(0)

    def tensor(*shape: int) -> Tensor:
        return Tensor(random.standard_normal(shape).astype(np.float32))

    found: dict[str, tuple[Callable[[], Any], int, float]] = {}
    for n in SIZES:
        a, b = tensor(n, n), tensor(n, n)
        found[f"matrix product, n = {n}"] = (lambda a=a, b=b: ops.matmul(a, b)), 0, 2 * n**3 / 1e9
    images, filters = tensor(8, 64, 56, 56), tensor(64, 64, 3, 3)
    convolution = ops.Conv2D(64, 3, pad_mode="pad", pad=1)
    found["convolution 8x64x56x56, 3x3"] = (lambda: convolution(images, filters)), 0, 2 * images.size * filters.size / 64 / 1e9
    few, many = tensor(512, 512), tensor(8192, 8192)
    for name, square, peak in (("sum of 1 MiB", few, 1), ("sum of 256 MiB", many, 2)):
        found[name] = square.sum, peak, square.size * 4 / 1e9
    found["sum of 256 MiB over axis 0"] = (lambda: many.sum(0)), 2, many.size * 4 / 1e9
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.1, help="per measurement")
    asked = parser.parse_args()
    kernels = machine().kernels
    assert kernels is not None, "there is no C compiler"
    functions = kernels.workshop.peak_kernels()
    for threads in (1, 2):
        ms.set_context(num_threads=threads)
        best, peaks = dict.fromkeys(made := cases(), 0.0), [0.0, 0.0, 0.0]
        for _ in range(asked.rounds):
            found = [rate / 1e9 for rate in measured(functions, [threads << 20, threads << 28], 20)]
            peaks = [max(pair) for pair in zip(peaks, found, strict=True)]
            for name, (call, _, work) in made.items():
                best[name] = max(best[name], work / (best_of(call, asked.seconds) / 1e6))
        print(f"threads {threads}: {peaks[0]:.0f} GFLOP/s, {peaks[1]:.0f} GB/s of 1 MiB, {peaks[2]:.1f} GB/s of 256 MiB a thread")
        for name, (_, peak, _) in made.items():
            print(f"  {name:30} {best[name]:8.1f} {'GFLOP/s' if peak == 0 else 'GB/s':8} {best[name] / peaks[peak]:6.2f}")


if __name__ == "__main__":
    main()
