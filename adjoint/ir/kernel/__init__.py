"""Kernels: an op's `lower` is given a Kernel, to which it describes its loops, and Buffers to read and write.

    def lower(self, k, x, y, out):
        n = k.size(out.count, "n")
        with k.stage(units=n, grain=32768) as i:
            k.store(out, i, x[i] + y[i])

becomes

    static int add_f32_units(const float *restrict x, const float *restrict y, float *restrict out, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            out[i] = x[i] + y[i];
        }
        return 0;
    }

    int add_f32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
        (void)size;
        return add_f32_units(operand[0], operand[1], operand[2], begin, end);
    }

A kernel is one or more *stages*, each one C function that computes the units `begin..end` of its work; the runtime cuts the
units into ranges and runs the stages in order on the same operands: inputs, outputs, then scratch.  A unit's values must not
depend on `begin` and `end`.  Outputs and scratch overlap nothing else, except that an op's `in_place` may let the caller pass
the same memory for a result and an operand; inputs may overlap.

Whatever may change without another kernel being needed goes through `size`: it becomes an element of the size array, not
of the text.  So the text holds no shapes, and a new shape finds the kernel of the old one.  A Kernel made with
`specialized=True` writes sizes into the text instead, from the same `lower`.

Elements are loaded in the dtype they are computed in (f16 and bf16 as float, bool as bool) and rounded when stored.

    names            names that C accepts
    c_ast            the tree of C that a kernel becomes; `codegen.c_print` prints it
    conversion       casts, loads and stores
    operands         Buffer and LocalArray
    sizes            sizes that are recorded while a kernel is described
    kernel           Kernel, which records what `lower` describes
    unrolling        loops done in advance, for operands of a few numbers
    formula          the formulas of users' operators, parsed into a tree
    formula_writer   the same tree, written into a kernel
"""

from adjoint.ir.kernel.c_ast import Expr
from adjoint.ir.kernel.kernel import Kernel
from adjoint.ir.kernel.operands import Buffer, LocalArray

__all__ = ["Buffer", "Expr", "Kernel", "LocalArray"]
