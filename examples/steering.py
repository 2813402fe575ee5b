"""The cost of a path, for a controller that runs where there is no Python: `steering.c` lowers it by its gradient.

    adjoint dump-ir examples/steering.py:cost --args "f32[20], f32[20], f32[20, 20]" --stage c --standalone > cost.c
    cc -std=c11 -O2 -o steering examples/steering.c cost.c -lm && ./steering
"""

from adjoint import ops


def cost(forces, target, response):
    """How far from `target` f32[n] m the path is that `forces` f32[n] N lead along, and what they cost.

    response  f32[n, n] m/N: place at each step by force at each step; the actuator saturates at 1 N
    """
    path = ops.matmul(response, ops.tanh(forces))
    return ((path - target) ** 2).mean() + 0.01 * (forces**2).mean()
