"""Parameters that are read and written, random numbers, running averages, and what is printed."""

from __future__ import annotations

import adjoint
from adjoint import Parameter, Tensor, nn, ops
from adjoint.ops import operations as P
from programs.program import f32, f64, grid, i32, program


@program(f32(1.0, -2.0), wrt=0, features="parameters read")
class ReadsParameters(nn.Cell):
    """Parameters are read, one of them twice."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor([0.5, -1.5]), name="weight")
        self.bias = Parameter(Tensor(0.25), name="bias")
        self.frozen = Parameter(Tensor([1.0, 2.0]), name="frozen", requires_grad=False)

    def construct(self, x):
        return x * self.weight * self.weight + self.bias * self.frozen


@program(f32(1.0, -2.0), features="parameters written, parameters read")
class CountsCalls(nn.Cell):
    """self.p = ... writes; what is read afterwards is the new value."""

    def __init__(self):
        super().__init__()
        self.calls = Parameter(Tensor(0, adjoint.int32), name="calls", requires_grad=False)
        self.total = Parameter(Tensor([0.0, 0.0]), name="total", requires_grad=False)

    def construct(self, x):
        before = self.total + 0
        self.calls = self.calls + 1
        self.total += x
        self.total = self.total * 2
        return before, self.total - x, self.calls * 1


@program(f32(1.0, -2.0), features="parameters written: assign, ops functions")
class Assigns(nn.Cell):
    """assign, assign_add, assign_sub and what they return."""

    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor([1.0, 1.0]), name="p")
        self.q = Parameter(Tensor([0.5, -0.5]), name="q")

    def construct(self, x):
        ops.assign(self.p, x * 2)
        y = ops.assign_add(self.q, self.p) * 1
        ops.assign_sub(self.p, y)
        return self.p + self.q, y


@program(f32(1.0, -2.0), features="parameters written: assign, primitives")
class AssignsByPrimitive(nn.Cell):
    """The same with Primitives, and a dependence stated."""

    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor([1.0, 1.0]), name="p")
        self.assign = P.Assign()
        self.depend = P.Depend()

    def construct(self, x):
        written = self.assign(self.p, self.p * x)
        x = self.depend(x, written)
        P.AssignAdd()(self.p, x)
        return self.p * x


@program(f32(1.0, -2.0), features="parameters written, aliases")
class ParameterUnderTwoNames(nn.Cell):
    """A name for a parameter is the parameter: it shows later writes; a value computed from it does not."""

    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor([1.0, 3.0]), name="p")

    def construct(self, x):
        p, value = self.p, self.p * 1
        self.p = x
        return p * 2, value, p + value


@program(f32(3.0), wrt=0, features="parameters written, tensor if, parameters read", differences=False)
class WritesInBranch(nn.Cell):
    """Parameters written in a branch on a tensor."""

    def __init__(self):
        super().__init__()
        self.best = Parameter(Tensor(2.0), name="best", requires_grad=False)
        self.rounds = Parameter(Tensor(0, adjoint.int32), name="rounds", requires_grad=False)

    def construct(self, x):
        if x > self.best:
            self.best = x
            self.rounds = self.rounds + 1
        else:
            ops.assign(self.rounds, 0 * self.rounds)
        return x * self.best + self.rounds


@program(f32(0.5, 3.0, -1.0, 4.0), features="parameters written, tensor if, for tensor rows, tensor continue")
class RecordsMaximum(nn.Cell):
    """Parameters written in a loop over a tensor."""

    def __init__(self):
        super().__init__()
        self.highest = Parameter(Tensor(-10.0), name="highest", requires_grad=False)
        self.seen = Parameter(Tensor([0.0, 0.0, 0.0, 0.0]), name="seen", requires_grad=False)

    def construct(self, x):
        for i, value in enumerate(x):
            if value < 0:
                continue
            self.seen[i] = value
            if value > self.highest:
                self.highest = value
        return self.highest * 1, self.seen * 2


@program(f32(1.0), features="parameters written, tensor while, parameters read")
class WritesInWhile(nn.Cell):
    """A parameter carried through a tensor loop."""

    def __init__(self):
        super().__init__()
        self.level = Parameter(Tensor(1.0), name="level", requires_grad=False)

    def construct(self, x):
        while self.level < 20:
            self.level = self.level * 1.5 + x
            x = x + self.level * 0.25
        return x


class Accumulator(nn.Cell):
    """Adds up what it is given."""

    def __init__(self):
        super().__init__()
        self.total = Parameter(Tensor(0.0), name="total", requires_grad=False)

    def add(self, x):
        self.total = self.total + x.sum()
        return self.total * x

    def construct(self, x):
        return self.add(x)


@program(f32(1.0, -2.5), wrt=0, features="parameters written, cells, methods", differences=False)
class WritesInSubcells(nn.Cell):
    """Sub-cells with state, called several times."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Accumulator(), Accumulator()

    def construct(self, x):
        y = self.first(x) + self.second.add(x * 2)
        return self.first(y) + self.second.total


@program(f64(1.0, -2.0), wrt=0, features="parameters written, parameters read")
class ReadsBeforeWriting(nn.Cell):
    """Differentiated by a parameter that is written after it was read."""

    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor([1.5, -0.5]), name="p")

    def construct(self, x):
        y = x * self.p
        ops.assign(self.p, ops.stop_gradient(y))
        return y * y


# Running averages, random numbers ----------------------------------------------------------------------------------------


@program(grid(4, 3), wrt=0, features="moving average, parameters written", differences=False)
class MovingAverage(nn.Cell):
    """A moving average of the inputs."""

    def __init__(self, decay=0.75):
        super().__init__()
        self.decay = decay
        self.mean = Parameter(Tensor([0.0, 0.5, 1.0]), name="mean", requires_grad=False)

    def construct(self, x):
        self.mean = self.decay * self.mean + (1 - self.decay) * ops.stop_gradient(x.mean(axis=0))
        return x - self.mean


@program(grid(6, 3), wrt=0, features="moving average, cells, training", differences=False)
class TrainedBatchNorm(nn.Cell):
    """Batch normalisation in training writes its moving averages."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3, momentum=0.8)
        self.set_train()

    def construct(self, x):
        return self.norm(x) * x


@program(grid(6, 3), wrt=0, features="moving average, cells, training", differences=False)
class EvaluatedBatchNorm(nn.Cell):
    """In evaluation the averages are used and do not change; `training` is a Python value."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3, moving_mean_init=Tensor([0.1, -0.2, 0.3]), moving_var_init=Tensor([1.5, 0.5, 2.0]))

    def construct(self, x):
        scale = 2.0 if self.training else 0.5
        return self.norm(x) * scale


@program(grid(4, 5), wrt=0, features="random numbers, training", differences=False)
class TrainedDropout(nn.Cell):
    """Two layers of dropout draw different elements."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dropout(p=0.4), nn.Dropout(p=0.5)
        self.set_train()

    def construct(self, x):
        return self.second(self.first(x) * x)


@program(grid(4, 5), wrt=0, features="random numbers, tensor if, nested loops", differences=False)
def random_draws(x):
    """Random numbers in a loop and in a branch."""
    for _ in range(2):
        x = x + ops.standard_normal((4, 5)) * 0.1
    if x.sum() > 100:
        x = x * ops.rand(4, 5)
    return x + ops.dropout(x, p=0.5)


# Printing ---------------------------------------------------------------------------------------------------------------


@program(f32(1.0, -0.0, 0.1), wrt=0, features="printing")
def prints(x):
    """Tensors, numbers and text are printed in order."""
    print("input", x, 3)
    y = x * x
    print(y.shape, y.dtype, sep=" | ", end=".\n")
    print()
    print("squares:", y)
    return y


@program(i32(3), f32(2.5), features="printing, tensor if, tensor while, number computed in loop, f-strings")
def prints_in_control_flow(n, x):
    """What is printed in branches and loops."""
    k = 0
    while n > 0:
        print("n is", n, "k is", k)
        n = n - 1
        k += 1
    if x > 2:
        print(f"large: {x}, twice that: {x * 2}")
    else:
        print("small")
    for i in range(2):
        print(i, x + i)
    return n, k


@program(f32([1.0, -2.0], [3.0, 4.0]), wrt=0, features="printing, primitives")
def prints_by_primitive(x):
    """ops.Print, one value to a line, and tuples of tensors."""
    ops.Print()("x", x)
    print((x[0], x[1]), [1, 2])
    return x + 1


@program(f32(1.0, -2.0), wrt=0, features="printing, cells")
class PrintsInCells(nn.Cell):
    """Parameters and cells' values printed."""

    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor([1.0, 3.0]), name="p")

    def show(self, name, value):
        print(f"{name}:", value)

    def construct(self, x):
        self.show("p times x", self.p * x)
        return self.p * x
