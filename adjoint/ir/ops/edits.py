"""How many edits make one sequence another (Levenshtein 1966), for many pairs of sequences at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.types import F32, I64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = Any

__all__ = ["EditDistance"]


@operation
class EditDistance(Op):
    """The least number of elements inserted, removed or replaced that makes a sequence the true one, for `count` pairs of sequences.

    Row by row, d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (element i differs from j) is the distance of the first
    i elements from the first j (Wagner and Fischer 1974).

    operands groups        i64[m]: the number of the sequence that an element belongs to; elements of one are in their order
             elements      T[m]
             true_groups   i64[n]
             true_elements T[n]
    result   f32[count]: with `normalize` divided by the length of the true sequence, then infinity where that is empty and the other is not
    gradient none: whole numbers
    errors   TypeError: dtypes as above; ValueError: shapes as above; IndexError when run: a number that is none of a sequence

    count      how many pairs there are
    normalize  True to divide
    """

    count: int
    normalize: bool
    cuts = "a number of edits is piecewise constant"
    samples = (
        sample(tensor(I64, (7,)), tensor(F32, (7,)), tensor(I64, (6,)), tensor(F32, (6,)), count=4, normalize=True, values={
            0: [0, 0, 0, 1, 3, 3, 0], 1: [1, 2, 3, 4, 5, 6, 4], 2: [0, 0, 2, 3, 3, 3], 3: [1, 3, 9, 6, 5, 6]}),
        sample(tensor(I64, (5,)), tensor(I64, (5,)), tensor(I64, (4,)), tensor(I64, (4,)), count=2, normalize=False, values={
            0: [1, 0, 1, 0, 1], 1: [7, 1, 8, 2, 9], 2: [0, 1, 1, 0], 3: [2, 8, 9, 1]}),
        sample(tensor(I64, (0,)), tensor(F32, (0,)), tensor(I64, (0,)), tensor(F32, (0,)), count=3, normalize=True),
    )

    def infer(self, groups: TensorType, elements: TensorType, true_groups: TensorType, true_elements: TensorType) -> TensorType:
        for name, numbers, name_of_elements, x in (
            ("groups", groups, "elements", elements), ("true_groups", true_groups, "true_elements", true_elements)):
            if not isinstance(numbers, TensorType) or numbers.dtype is not I64:
                raise mistake(self, name, "a vector of Int64", numbers, TypeError)
            if numbers.rank != 1:
                raise mistake(self, name, "of 1 dimension", numbers)
            if not isinstance(x, TensorType) or x.dtype is not elements.dtype:
                raise mistake(self, name_of_elements, f"a vector of {elements}'s dtype", x, TypeError)
            if x.shape != numbers.shape:
                raise mistake(self, name_of_elements, f"of the shape of '{name}', {numbers}", x)
        if self.count < 1:
            raise mistake(self, "count", "at least 1", self.count)
        return tensor(F32, (self.count,))

    def reference(self, groups: Array, elements: Array, true_groups: Array, true_elements: Array) -> Array:
        found = np.zeros(self.count, np.float32)
        for number in range(self.count):
            one, other = elements[groups == number], true_elements[true_groups == number]
            table = np.zeros((len(one) + 1, len(other) + 1))
            table[:, 0], table[0] = np.arange(len(one) + 1), np.arange(len(other) + 1)
            for i, j in np.ndindex(len(one), len(other)):
                table[i + 1, j + 1] = min(table[i, j + 1] + 1, table[i + 1, j] + 1, table[i, j] + (one[i] != other[j]))
            distance = table[-1, -1]
            found[number] = distance / len(other) if self.normalize and len(other) else np.inf if self.normalize and distance else distance
        return found

    def failure(self, status: int) -> Exception:
        return mistake(self, "groups", f"numbers in [0, {self.count})", "one out of range", IndexError)

    def lower(
        self, k: Kernel, groups: Buffer, elements: Buffer, true_groups: Buffer, true_elements: Buffer, out: Buffer
    ) -> None:
        count = k.size(self.count, "count")
        both = [(groups, k.size(groups.count, "m")), (true_groups, k.size(true_groups.count, "n"))]
        # Where the elements of each sequence begin, in the order in which `places` lists them.
        starts = [k.scratch(I64, self.count + 1, name) for name in ("start", "true_start")]
        places = [k.scratch(I64, max(1, numbers.count), name) for (numbers, _), name in zip(both, ("place", "true_place"), strict=True)]
        row = k.scratch(I64, true_groups.count + self.count, "row")
        with k.stage(1, 1, "unit"):
            for (numbers, length), start, place in zip(both, starts, places, strict=True):
                with k.loop(0, count + 1, "j") as j:
                    k.store(start, j, 0)
                with k.loop(0, length, "j") as j:
                    with k.when(k.either(k.less(numbers[j], 0), k.greater_equal(numbers[j], count))):
                        k.fail(1)
                    k.store(start, numbers[j] + 1, start[numbers[j] + 1] + 1)
                with k.loop(0, count, "j") as j:
                    k.store(start, j + 1, start[j + 1] + start[j])
                with k.loop(0, length, "j") as j:
                    # Sequences are filled by moving their start, which is moved back behind.
                    k.store(place, start[numbers[j]], j)
                    k.store(start, numbers[j], start[numbers[j]] + 1)
                with k.loop(0, count, "j") as j:
                    k.store(start, count - j, start[count - j - 1])
                k.store(start, 0, 0)
        with k.stage(count, 16, "pair") as pair:
            (first, true_first), (last, true_last) = ([start[pair + more] for start in starts] for more in (0, 1))
            length, true_length = k.let(last - first, "length"), k.let(true_last - true_first, "true_length")
            base = k.let(true_first + pair, "base")
            with k.loop(0, true_length + 1, "j") as j:
                k.store(row, base + j, j)
            with k.loop(0, length, "i") as i:
                element = k.let(elements[places[0][first + i]], "element")
                diagonal = k.local(row[base], "diagonal")
                k.store(row, base, i + 1)
                with k.loop(0, true_length, "j") as j:
                    above = k.let(row[base + j + 1], "above")
                    differs = k.not_equal(element, true_elements[places[1][true_first + j]])
                    replaced = diagonal + k.select(differs, k.literal(1, I64), 0)
                    k.store(row, base + j + 1, k.minimum_of(k.minimum_of(above, row[base + j]) + 1, replaced))
                    k.set(diagonal, above)
            self._store(k, out, pair, k.let(row[base + true_length], "distance"), true_length)

    def _store(self, k: Kernel, out: Buffer, pair: Expr, distance: Expr, true_length: Expr) -> None:
        plain = k.cast(distance, F32)
        if not self.normalize:
            k.store(out, pair, plain)
            return
        empty = k.select(k.greater(distance, 0), float("inf"), k.literal(0.0, F32))
        k.store(out, pair, k.select(k.greater(true_length, 0), plain / k.maximum_of(k.cast(true_length, F32), 1.0), empty))
