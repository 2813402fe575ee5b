"""Numerical methods: iterations, simulations, products that grow."""

from __future__ import annotations

from adjoint import grad, ops
from programs.program import f16, f32, f64, grid, i32, program


@program(f64(7.0), wrt=0, features="Newton iteration, tensor while")
def square_root(a):
    """Newton's iteration until it is accurate enough."""
    x = a
    while abs(x * x - a) > 1e-9:
        x = (x + a / x) / 2
    return x


@program(f64(0.5), f64(3.0), wrt=1, features="Newton iteration, tensor while, grad, number computed in loop", differences=False)
def newton_with_gradient(x, a):
    """Newton's iteration with a derivative taken inside, with a limit on the iterations."""

    def residual(y):
        return y**3 + y - a

    rounds = 0
    while abs(residual(x)) > 1e-8 and rounds < 20:
        x = x - residual(x) / grad(residual)(x)
        rounds += 1
    return x, rounds


@program(f64(0.25), wrt=0, features="fixed-point iteration, tensor while, tensor break")
def fixed_point(x):
    """x = cos(x), until two values are close."""
    for _ in range(60):
        following = ops.cos(x)
        if abs(following - x) < 1e-3:
            break
        x = following
    return following


@program(f32(0.3, -0.8), wrt=0, features="fixed-point iteration, tensor while")
def fixed_point_of_vectors(x):
    """A contraction of a vector, until its change is small."""
    change = x + 1
    while ops.sqrt((change * change).sum()) > 0.05:
        following = 0.5 * ops.tanh(x) + 0.1
        change = following - x
        x = following
    return x


@program(f64(0.0), f64(2.0), features="bisection, tensor while")
def bisection(low, high):
    """A zero between two bounds."""
    while high - low > 1e-6:
        middle = (low + high) / 2
        if middle * middle * middle < 2:
            low = middle
        else:
            high = middle
    return low, high


@program(f64(2.0), wrt=0, features="bisection, for else, tensor early return")
def bisection_with_returns(target):
    """The same in a bounded loop that may return early."""
    low, high = target * 0, target + 1
    for _ in range(12):
        middle = (low + high) * 0.5
        value = middle * middle - target
        if abs(value) < 1e-2:
            return middle * target
        low, high = (middle, high) if value < 0 else (low, middle)
    return low


@program(f64([2.0, 1.0], [1.0, 3.0]), wrt=0, features="power iteration")
def power_iteration(matrix):
    """The largest eigenvalue of a symmetric matrix."""
    vector = ops.ones((2, 1), matrix.dtype)
    for _ in range(6):
        vector = matrix @ vector
        vector = vector / ops.sqrt((vector * vector).sum())
    return (vector.T @ matrix @ vector).reshape(())


@program(f32([2.0, 1.0], [1.0, 3.0]), wrt=0, features="power iteration, tensor while")
def power_iteration_to_convergence(matrix):
    """The same until the estimate does not change."""
    vector = matrix[:, 0]
    estimate, change = matrix[0, 0], matrix[0, 0] * 0 + 1
    while change > 1e-2:
        vector = matrix @ vector
        vector = vector / vector.abs().max()
        following = (vector * (matrix @ vector)).sum() / (vector * vector).sum()
        change = abs(following - estimate)
        estimate = following
    return estimate


@program(f64(1.0, 0.0), f64(0.0, 0.8), wrt=(0, 1), features="simulation")
def orbit(position, speed):
    """A planet around a star, by the leapfrog method."""

    def pull(place):
        return -place / (place * place).sum() ** 1.5

    step = 0.1
    for _ in range(5):
        speed = speed + 0.5 * step * pull(position)
        position = position + step * speed
        speed = speed + 0.5 * step * pull(position)
    return position, speed


@program(f64(2.0), f64(0.0), wrt=(0, 1), features="simulation, tensor if, list methods")
def bouncing_ball(height, speed):
    """A ball that loses speed whenever it hits the ground."""
    heights = []
    for _ in range(12):
        speed = speed - 9.81 * 0.08
        height = height + speed * 0.08
        if height < 0:
            height, speed = -0.7 * height, -0.7 * speed
        heights.append(height)
    return ops.stack(heights), speed


@program(f32(0.0, 0.0, 1.0, 0.0, 0.0), 0.2, wrt=0, features="simulation, writes: slice")
def heat(rod, rate):
    """Heat spreading in a rod whose ends are kept cold."""
    rod = rod * 1
    for _ in range(4):
        inside = rod[1:-1] + rate * (rod[2:] - 2 * rod[1:-1] + rod[:-2])
        rod[1:-1] = inside
        rod[0] = 0.0
    return rod


@program(f64(1.0, 0.5), 0.05, features="simulation, tensor while, number computed in loop")
def predators(populations, step):
    """Two populations, until the first has halved; how many steps it took."""
    prey, hunters = populations
    steps, start = 0, prey
    while prey > start / 2:
        prey, hunters = prey + step * prey * (1 - 2 * hunters), hunters + step * hunters * (prey - 0.5)
        steps += 1
        if steps >= 40:
            break
    return prey, hunters, steps


@program(f64(1.5, -0.5, 2.0, 0.25), wrt=0, features="cumulative products, for tensor rows, list methods")
def cumulative_products(x):
    """Cumulative products, collected."""
    product, products = x[0] * 0 + 1, []
    for value in x:
        product = product * value
        products.append(product)
    return ops.stack(products)


@program(f64(1.5, -0.5, 2.0, 0.25), wrt=0, features="cumulative products, reads: loop variable, tensor if")
def product_without_small(x):
    """The product of the elements that are large enough."""
    product = 1.0
    for i in range(len(x)):
        if abs(x[i]) > 0.3:
            product = product * x[i]
    return product


@program(f64(0.7), 6, wrt=0, features="series, Python recurrences")
def taylor_series(x, order):
    """A sine by its series; the coefficients are Python numbers."""
    term, total, factorial = x, x, 1
    for k in range(1, order):
        factorial *= -(2 * k) * (2 * k + 1)
        term = term * x * x
        total = total + term / factorial
    return total


@program(f64(0.7), wrt=0, features="series, tensor while, number computed in loop")
def series_until_small(x):
    """The exponential series until its terms are small."""
    total, term, k = x * 0 + 1, x * 0 + 1, 1
    while abs(term) > 1e-6:
        term = term * x / k
        total = total + term
        k += 1
    return total


@program(f64(-1.5, 0.2, 0.9, 3.0), wrt=0, features="piecewise functions, tensor elif, for tensor rows, list methods")
def spline(x):
    """A piecewise polynomial, element by element."""

    def piece(t):
        if t < 0:
            return t * 0
        elif t < 0.5:
            return 2 * t * t
        elif t < 1:
            return 1 - 2 * (1 - t) ** 2
        return t * 0 + 1

    return ops.stack([piece(t) for t in x]) + x


@program(f64(-1.5, 0.2, 0.9, 3.0), wrt=0, features="piecewise functions")
def smooth_steps(x):
    """The same with masks instead of branches."""
    middle = ops.where(x < 0.5, 2 * x * x, 1 - 2 * (1 - x) ** 2)
    return ops.where(x < 0, x * 0, ops.where(x < 1, middle, ops.ones_like(x))) + x


@program(f64(3.0, -1.0), wrt=0, features="early stopping, tensor while, grad, tensor break", differences=False)
def descent(x):
    """Gradient descent that halves its step when it fails, and stops when it is good enough."""

    def loss(y):
        return ((y - 0.5) ** 4).sum() + (y * y).sum()

    rate, value = 0.1, loss(x)
    for _ in range(10):
        proposed = x - rate * grad(loss)(x)
        reached = loss(proposed)
        if reached < value:
            x, value = proposed, reached
        else:
            rate = rate * 0.5
        if value < 0.75:
            break
    return x, value


@program(i32(48), i32(36), features="integer algorithms, tensor while, results of dtype int")
def greatest_common_divisor(a, b):
    """Euclid's algorithm on integer tensors."""
    while b:
        a, b = b, a % b
    return a


@program(i32(1, 2, 3, 4, 5, 6), 3, features="integer algorithms, results of dtype int, reads: loop variable, tensor if")
def count_multiples(numbers, divisor):
    """A Python number that counts in a branch of a tensor."""
    count = 0
    for i in range(numbers.shape[0]):
        if numbers[i] % divisor == 0:
            count += 1
    return count, numbers.sum() + count


@program(f32(3.0, 1.0, 2.0, -1.0), wrt=0, features="sorting network, writes: int, nested loops, tensor if")
def bubble_sort(x):
    """Adjacent elements are exchanged if they are out of order."""
    y = x * 1
    for i in range(3):
        for j in range(3 - i):
            if y[j] > y[j + 1]:
                larger = y[j] + 0
                y[j] = y[j + 1]
                y[j + 1] = larger
    return y * ops.arange(4)


@program(f64(0.3, -0.4), f64(1.2), wrt=(0, 1), features="continued fraction, recursion")
def continued_fraction(x, y):
    """A continued fraction of some depth, by recursion."""

    def fraction(depth):
        return y if depth == 0 else y + x / fraction(depth - 1)

    return fraction(4)


@program(f16(0.5), f32(1e-3), wrt=0, features="early stopping, tensor while, promotion", differences=False)
def descent_in_half_precision(x, tolerance):
    """A float16 iteration whose tolerance is a float32."""
    step = x
    while ops.abs(step) > tolerance:
        step = x * 0.25
        x = x - step
    return x


@program(grid(3, 3), wrt=0, features="Gram-Schmidt, list methods")
def orthogonal_rows(matrix):
    """Each row made orthogonal to those before it."""
    rows = []
    for row in matrix:
        for earlier in rows:
            row = row - (row * earlier).sum() * earlier
        rows.append(row / row.norm())
    return ops.stack(rows)
