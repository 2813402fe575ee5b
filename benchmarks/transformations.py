"""Time `vmap`, Jacobians and Hessians beside JAX (`jax.jit(jax.vmap(...))`) and PyTorch (`torch.func`).

    python benchmarks/transformations.py --jax ENV/bin/python --torch ENV/bin/python [--only TEXT] [--threads 1]

All libraries take turns in one run, and the best sample counts; with one thread it is processor time.  A ratio above 1 says that the other
library takes longer.  PyTorch has no `while` that depends on data.

--markdown FILE  writes the table as it stands in RESULTS.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from peers import arguments, measured, show
from timing import serve

BATCH, CHUNK, NETWORKS, ROOTS, POINTS, SIZE, FEW, MANY = 64, 16, 32, 1000, 300, 100, 10, 1000

Cases = Iterator[tuple[str, Callable[[], Any]]]
MLP, LENET, CHUNKS, ENSEMBLE, NEWTON, PAIRS, HESSIAN, JACOBIAN, COLUMNS, ALONG = (
    f"gradients of each of {BATCH} examples, MLP", f"gradients of each of {BATCH} examples, LeNet",
    f"the same, {CHUNK} at a time", f"gradients of {NETWORKS} networks, MLP, batch {BATCH}",
    f"Newton's method with `while`, {ROOTS} equations", f"kernel of {POINTS} by {POINTS} points", f"Hessian by {SIZE} numbers",
    f"Jacobian of {SIZE} numbers by {SIZE}", f"Jacobian of {MANY} numbers by {FEW}, forward mode",
    f"derivative of Newton's method along a direction, {ROOTS} equations")


def drawn(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


IMAGES, ROWS = drawn(0, BATCH, 1, 28, 28), drawn(1, BATCH, 20)
LABELS = np.random.default_rng(2).integers(0, 10, BATCH).astype(np.int32)
LAYERS = ((20, 64), (64, 10))
FILTERS, DENSE = ((6, 1, 5, 5), (16, 6, 5, 5)), ((256, 120), (120, 84), (84, 10))
WEIGHTS = [drawn(i, *shape) / math.sqrt(shape[0]) for i, shape in enumerate(LAYERS)]
LENET_WEIGHTS = [drawn(i, *shape) / math.sqrt(math.prod(shape[1:])) for i, shape in enumerate(FILTERS)] + [
    drawn(i, *shape) / math.sqrt(shape[0]) for i, shape in enumerate(DENSE)]
STACKED = [drawn(10 + i, NETWORKS, *shape) / math.sqrt(shape[0]) for i, shape in enumerate(LAYERS)]
TARGETS, CLOUD, POINT, MATRIX = np.abs(drawn(3, ROOTS)) + 0.5, drawn(4, POINTS, 3), drawn(5, SIZE), drawn(6, SIZE, SIZE)
TALL, WAY = drawn(7, MANY, FEW), drawn(8, ROOTS)


def our_cases() -> Cases:
    import adjoint as ms
    from adjoint import Parameter, Tensor, ops

    ms.set_context(background_compile="wait")  # kernels in their final form
    weights = [Parameter(Tensor(w), name=f"w{i}") for i, w in enumerate(WEIGHTS)]
    lenet = [Parameter(Tensor(w), name=f"l{i}") for i, w in enumerate(LENET_WEIGHTS)]
    rows, images, labels = Tensor(ROWS), Tensor(IMAGES), Tensor(LABELS)

    def of_row(x: Any, y: Any) -> Any:
        return ops.cross_entropy(ops.relu(x[None] @ weights[0]) @ weights[1], y[None])

    def of_image(x: Any, y: Any) -> Any:
        x = ops.max_pool2d(ops.relu(ops.conv2d(x[None], lenet[0])), 2, 2)
        x = ops.max_pool2d(ops.relu(ops.conv2d(x, lenet[1])), 2, 2).reshape((1, 256))
        return ops.cross_entropy(ops.relu(ops.relu(x @ lenet[2]) @ lenet[3]) @ lenet[4], y[None])

    def of_rows(w: Any, x: Any, y: Any) -> Any:
        return ops.cross_entropy(ops.relu(x @ w[0]) @ w[1], y)

    def root(target: Any) -> Any:
        x = target
        while ops.abs(x * x - target) > 1e-5:
            x = x - (x * x - target) / (2.0 * x)
        return x

    def kernel(a: Any, b: Any) -> Any:
        return ops.exp(-((a - b) ** 2).sum())

    matrix = Tensor(MATRIX)

    def energy(x: Any) -> Any:
        return ops.log(ops.exp(matrix @ x / 10.0).sum()) + (ops.sin(x) * x).sum()

    def field(x: Any) -> Any:
        return ops.tanh(matrix @ x)

    first, second = ms.vmap(ms.grad(of_row, None, weights)), ms.vmap(ms.grad(of_image, None, lenet))
    yield MLP, lambda: first(rows, labels)
    yield LENET, lambda: second(images, labels)
    chunks = ms.vmap(ms.grad(of_image, None, lenet), chunk_size=CHUNK)
    yield CHUNKS, lambda: chunks(images, labels)
    ensemble, stacked = ms.vmap(ms.grad(of_rows), (0, None, None)), [Tensor(w) for w in STACKED]
    yield ENSEMBLE, lambda: ensemble(stacked, rows, labels)
    solve, targets = ms.vmap(root), Tensor(TARGETS)
    yield NEWTON, lambda: solve(targets)
    pairs, cloud = ms.vmap(ms.vmap(kernel, (None, 0)), (0, None)), Tensor(CLOUD)
    yield PAIRS, lambda: pairs(cloud, cloud)
    hessian, jacobian, point = ms.hessian(energy), ms.jacrev(field), Tensor(POINT)
    yield HESSIAN, lambda: hessian(point)
    yield JACOBIAN, lambda: jacobian(point)
    tall, way, few = Tensor(TALL), Tensor(WAY), Tensor(POINT[:FEW])
    columns = ms.jacfwd(lambda x: ops.tanh(tall @ x))
    yield COLUMNS, lambda: columns(few)
    along = ms.jit(lambda targets, way: ms.jvp(ms.vmap(root), targets, way))
    yield ALONG, lambda: along(targets, way)


def torch_cases() -> Cases:
    import torch
    from torch.func import grad, hessian, jacfwd, jacrev, vmap
    from torch.nn import functional

    weights, lenet = [torch.from_numpy(w) for w in WEIGHTS], [torch.from_numpy(w) for w in LENET_WEIGHTS]
    rows, images, labels = torch.from_numpy(ROWS), torch.from_numpy(IMAGES), torch.from_numpy(LABELS).long()

    def of_row(w: Any, x: Any, y: Any) -> Any:
        return functional.cross_entropy(torch.relu(x[None] @ w[0]) @ w[1], y[None])

    def of_rows(w: Any, x: Any, y: Any) -> Any:
        return functional.cross_entropy(torch.relu(x @ w[0]) @ w[1], y)

    def of_image(w: Any, x: Any, y: Any) -> Any:
        x = functional.max_pool2d(torch.relu(functional.conv2d(x[None], w[0])), 2, 2)
        x = functional.max_pool2d(torch.relu(functional.conv2d(x, w[1])), 2, 2).reshape(1, 256)
        return functional.cross_entropy(torch.relu(torch.relu(x @ w[2]) @ w[3]) @ w[4], y[None])

    def kernel(a: Any, b: Any) -> Any:
        return torch.exp(-((a - b) ** 2).sum())

    matrix = torch.from_numpy(MATRIX)

    def energy(x: Any) -> Any:
        return torch.log(torch.exp(matrix @ x / 10.0).sum()) + (torch.sin(x) * x).sum()

    first, second = vmap(grad(of_row), (None, 0, 0)), vmap(grad(of_image), (None, 0, 0))
    yield MLP, lambda: first(weights, rows, labels)
    yield LENET, lambda: second(lenet, images, labels)
    chunks = vmap(grad(of_image), (None, 0, 0), chunk_size=CHUNK)
    yield CHUNKS, lambda: chunks(lenet, images, labels)
    ensemble, stacked = vmap(grad(of_rows), (0, None, None)), [torch.from_numpy(w) for w in STACKED]
    yield ENSEMBLE, lambda: ensemble(stacked, rows, labels)
    pairs, cloud = vmap(vmap(kernel, (None, 0)), (0, None)), torch.from_numpy(CLOUD)
    yield PAIRS, lambda: pairs(cloud, cloud)
    point, by_rows, jacobian = torch.from_numpy(POINT), hessian(energy), jacrev(lambda x: torch.tanh(matrix @ x))
    yield HESSIAN, lambda: by_rows(point)
    yield JACOBIAN, lambda: jacobian(point)
    tall, few = torch.from_numpy(TALL), torch.from_numpy(POINT[:FEW])
    columns = jacfwd(lambda x: torch.tanh(tall @ x))
    yield COLUMNS, lambda: columns(few)


def jax_cases() -> Cases:
    import jax
    import jax.numpy as jnp

    weights, lenet = [jnp.asarray(w) for w in WEIGHTS], [jnp.asarray(w) for w in LENET_WEIGHTS]
    rows, images, labels = jnp.asarray(ROWS), jnp.asarray(IMAGES), jnp.asarray(LABELS)

    def cross_entropy(scores: Any, y: Any) -> Any:
        return -jax.nn.log_softmax(scores)[0, y]

    def of_row(w: Any, x: Any, y: Any) -> Any:
        return cross_entropy(jax.nn.relu(x[None] @ w[0]) @ w[1], y)

    def of_rows(w: Any, x: Any, y: Any) -> Any:
        scores = jax.nn.log_softmax(jax.nn.relu(x @ w[0]) @ w[1])
        return -scores[jnp.arange(BATCH), y].mean()

    def pooled(x: Any) -> Any:
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def of_image(w: Any, x: Any, y: Any) -> Any:
        x = pooled(jax.nn.relu(jax.lax.conv(x[None], w[0], (1, 1), "VALID")))
        x = pooled(jax.nn.relu(jax.lax.conv(x, w[1], (1, 1), "VALID"))).reshape(1, 256)
        return cross_entropy(jax.nn.relu(jax.nn.relu(x @ w[2]) @ w[3]) @ w[4], y)

    def root(target: Any) -> Any:
        return jax.lax.while_loop(lambda x: jnp.abs(x * x - target) > 1e-5, lambda x: x - (x * x - target) / (2.0 * x), target)

    def kernel(a: Any, b: Any) -> Any:
        return jnp.exp(-((a - b) ** 2).sum())

    matrix = jnp.asarray(MATRIX)

    def energy(x: Any) -> Any:
        return jnp.log(jnp.exp(matrix @ x / 10.0).sum()) + (jnp.sin(x) * x).sum()

    def ready(call: Any, *given: Any) -> Callable[[], Any]:
        compiled = jax.jit(call)
        return lambda: jax.block_until_ready(compiled(*given))

    yield MLP, ready(jax.vmap(jax.grad(of_row), (None, 0, 0)), weights, rows, labels)
    yield LENET, ready(jax.vmap(jax.grad(of_image), (None, 0, 0)), lenet, images, labels)
    yield CHUNKS, ready(lambda w, *given: jax.lax.map(lambda each: jax.grad(of_image)(w, *each), given, batch_size=CHUNK), lenet, images,
                        labels)
    yield ENSEMBLE, ready(jax.vmap(jax.grad(of_rows), (0, None, None)), [jnp.asarray(w) for w in STACKED], rows, labels)
    yield NEWTON, ready(jax.vmap(root), jnp.asarray(TARGETS))
    cloud, point = jnp.asarray(CLOUD), jnp.asarray(POINT)
    yield PAIRS, ready(jax.vmap(jax.vmap(kernel, (None, 0)), (0, None)), cloud, cloud)
    yield HESSIAN, ready(jax.hessian(energy), point)
    yield JACOBIAN, ready(jax.jacrev(lambda x: jnp.tanh(matrix @ x)), point)
    tall = jnp.asarray(TALL)
    yield COLUMNS, ready(jax.jacfwd(lambda x: jnp.tanh(tall @ x)), jnp.asarray(POINT[:FEW]))
    yield ALONG, ready(lambda targets, way: jax.jvp(jax.vmap(root), (targets,), (way,)), jnp.asarray(TARGETS), jnp.asarray(WAY))


CASES = {"adjoint": our_cases, "torch": torch_cases, "jax": jax_cases}
TITLES = ("program", "adjoint us", "JAX us", "PyTorch us", "JAX / adjoint", "PyTorch / adjoint")


def main() -> None:
    given = arguments(__doc__, CASES).parse_args()
    if given.serve:
        if given.serve == "torch":
            import torch

            torch.set_num_threads(given.threads)
        serve({title: call for title, call in CASES[given.serve]() if given.only in title}, given.threads)
        return
    best, cases = measured(__file__, given, ("adjoint",))
    rows: list[list[str]] = []
    for title in cases:
        times = [best.get((name, title)) for name in ("adjoint", "jax", "torch")]
        ratios = [time / times[0] if time and times[0] else None for time in times[1:]]
        rows.append([title, *(f"{time:.0f}" if time else "" for time in times), *(f"{ratio:.2f}" if ratio else "" for ratio in ratios)])
    show(TITLES, rows, given)


if __name__ == "__main__":
    main()
