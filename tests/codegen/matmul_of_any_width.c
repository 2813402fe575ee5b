/* Matrix products of odd shapes, in every layout and split, against their definition: sums over blocks of k, in order.
   Says how many there were, or which one is wrong. Compiled with the text of matmul.h before it, for float and double. */

#include <stdio.h>
#include <stdlib.h>

static const int64_t shapes[][3] = {/* m, n, k */
    {1, 1, 1}, {1, 70, 5}, {70, 1, 5}, {3, 5, 0}, {7, 33, 513}, {15, 65, 512}, {29, 31, 60}, {13, 290, 40}, {57, 256, 67},
    {175, 64, 33}, {430, 258, 17}, {15, 66, 1025}, {15, 64, 1024},
    {1, 37, 1030}, {1, 1063, 515}, {2, 40, 1024}, {3, 19, 100}, {4, 37, 530}, /* few rows */
};

/* What the sanitizers need not look at: most of the time would go there. */
#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))

#define TRY(TYPE, NAME, FMA)                                                                                          \
    static TYPE *array_##NAME(int64_t count, uint32_t seed) {                                                         \
        TYPE *made = malloc((size_t)(count ? count : 1) * sizeof *made);                                              \
        for (int64_t i = 0; i < count; i++) {                                                                         \
            seed = seed * 1664525 + 1013904223;                                                                       \
            made[i] = (TYPE)((int32_t)(seed >> 8) - (1 << 23)) / (1 << 22);                                           \
        }                                                                                                             \
        return made;                                                                                                  \
    }                                                                                                                 \
                                                                                                                      \
    UNCHECKED static void define_##NAME(const TYPE *a, const TYPE *b, TYPE *c, int64_t m, int64_t n, int64_t k, int ta, int tb) {\
        for (int64_t i = 0; i < m; i++) {                                                                             \
            for (int64_t j = 0; j < n; j++) {                                                                         \
                TYPE total = 0;                                                                                       \
                for (int64_t start = 0; start < k; start += ADJOINT_DEPTH) {                                          \
                    TYPE sum = 0;                                                                                     \
                    for (int64_t p = start; p < k && p < start + ADJOINT_DEPTH; p++) {                                \
                        sum = FMA(ta ? a[p * m + i] : a[i * k + p], tb ? b[j * k + p] : b[p * n + j], sum);           \
                    }                                                                                                 \
                    total = start ? total + sum : sum;                                                                \
                }                                                                                                     \
                c[i * n + j] = total;                                                                                 \
            }                                                                                                         \
        }                                                                                                             \
    }                                                                                                                 \
                                                                                                                      \
    static int wrong_##NAME(int64_t m, int64_t n, int64_t k, int ta, int tb, int first) {                             \
        const int64_t shares = (n + 31) / 32, copies = shares * ((k + ADJOINT_DEPTH - 1) / ADJOINT_DEPTH);            \
        TYPE *a = array_##NAME(m * k, 1), *b = array_##NAME(k * n, 2), *expected = array_##NAME(m * n, 3);            \
        define_##NAME(a, b, expected, m, n, k, ta, tb);                                                               \
        int wrong = 0;                                                                                                \
        for (int way = 0; way < 3; way++) { /* units of rows, of columns, of rows with panels that were made before */\
            TYPE *c = array_##NAME(m * n, 3), *panels = array_##NAME(k * shares * 32, 4);                             \
            const int parts = 1 + (first + 2 * way) % 3;                                                              \
            const int64_t unit = way == 1 ? 64 / sizeof(TYPE) : 4, units = ((way == 1 ? n : m) + unit - 1) / unit;    \
            for (int p = 0; way == 2 && p < parts; p++) {                                                             \
                adjoint_matmul_panels_##NAME(b, panels, n, k, tb, copies * p / parts, copies * (p + 1) / parts);      \
            }                                                                                                         \
            for (int p = 0; p < parts; p++) {                                                                         \
                const int64_t begin = units * p / parts, end = units * (p + 1) / parts;                               \
                if (way == 2) adjoint_matmul_shared_##NAME(a, panels, c, m, n, k, ta, unit, begin, end);              \
                else adjoint_matmul_##NAME(a, b, c, m, n, k, ta, tb, way, unit, begin, end);                          \
            }                                                                                                         \
            int differs = 0;                                                                                          \
            for (int64_t i = 0; i < m * n; i++) differs |= c[i] != expected[i];                                       \
            if (differs) printf(#NAME " %d x %d x %d, %d %d, way %d\n", (int)m, (int)n, (int)k, ta, tb, way);         \
            wrong += differs;                                                                                         \
            free(c), free(panels);                                                                                    \
        }                                                                                                             \
        free(a), free(b), free(expected);                                                                             \
        return wrong;                                                                                                 \
    }

#if defined(__FMA__) || defined(__aarch64__)
TRY(float, f32, fmaf)
TRY(double, f64, fma)
#else
#define ROUNDED_TWICE(x, y, z) ((x) * (y) + (z))
TRY(float, f32, ROUNDED_TWICE)
TRY(double, f64, ROUNDED_TWICE)
#endif

int main(void) {
    int count = 0, wrong = 0;
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        const int64_t m = shapes[shape][0], n = shapes[shape][1], k = shapes[shape][2];
        for (int layout = 0; layout < 4; layout++) {
            wrong += wrong_f32(m, n, k, layout & 1, layout >> 1, count);
            wrong += wrong_f64(m, n, k, layout & 1, layout >> 1, count);
            count += 6; /* three ways of each */
        }
    }
    printf("%d products\n", count);
    return wrong;
}
