/* Steers a mass of 1 kg along a path by gradient descent on the cost of examples/steering.py, which says how to build this. */

#include <stdio.h>

#define N 20

int cost(const float *forces, const float *target, const float *response, float *result);
int cost_grad(
    const float *forces, const float *target, const float *response, const float *result_bar, float *forces_bar,
    float *target_bar, float *response_bar);

static float forces[N], target[N], response[N * N], forces_bar[N], target_bar[N], response_bar[N * N];

int main(void) {
    const float one = 1.0f, step = 0.25f; /* seconds */
    for (int i = 0; i < N; i++) {
        target[i] = 0.1f * (float)i;
        for (int j = 0; j < i; j++) {
            response[i * N + j] = step * step * (float)(i - j); /* a force now is a speed from now on */
        }
    }
    float value = 0.0f;
    for (int round = 0; round <= 400; round++) {
        if (cost(forces, target, response, &value) != 0) {
            return 1;
        }
        if (round % 100 == 0) {
            printf("%3d  %.6f\n", round, (double)value);
        }
        if (cost_grad(forces, target, response, &one, forces_bar, target_bar, response_bar) != 0) {
            return 1;
        }
        for (int i = 0; i < N; i++) {
            forces[i] -= 0.5f * forces_bar[i];
        }
    }
    return 0;
}
