/* Matrix product that is quick to compile: every loop is over whole tiles of one size.

   The numbers are those of `matmul.h`, to the bit: an element of C is the sum, in order, of chains of ADJOINT_CHAIN
   products. A chain begins at 0 and adds one product after the other. Lanes and rows that are missing to a whole tile are
   computed and not stored.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. */

#ifndef ADJOINT_PLAIN_MATMUL_H
#define ADJOINT_PLAIN_MATMUL_H

#include <stdint.h>
#include <string.h>

enum {
    ADJOINT_CHAIN = 512, /* ADJOINT_DEPTH in `matmul.h` */
    ADJOINT_TALL = 64,   /* rows that are computed with one copy of a piece of B */
    ADJOINT_PIECE = 64,  /* rows of B that are copied at a time */
};

static inline int64_t adjoint_plain_lesser(int64_t a, int64_t b) { return a < b ? a : b; }

#endif

#define VECTOR TYPED(adjoint_vector)
#define WIDTH ((int)(4 * sizeof(VECTOR) / sizeof(ELEMENT)))
#define ROWS(each) each(0) each(1) each(2) each(3)

/* Adds to each of four lines of `sum`: the products of at[i][p * step] and the lines p < depth of `right`. The sums have
   names, since without optimisation an array would stay in memory. */
static void TYPED(adjoint_plain_tile)(
    VECTOR (*sum)[4], const ELEMENT *const *at, int64_t step, VECTOR (*right)[4], int64_t depth) {
#define READ(i)                                    \
    const ELEMENT *at##i = at[i];                  \
    VECTOR sum##i##0 = sum[i][0], sum##i##1 = sum[i][1], sum##i##2 = sum[i][2], sum##i##3 = sum[i][3];
#define ADD(i)                                                                       \
    const VECTOR left##i = at##i[p * step] - (VECTOR){0}; /* in every lane */        \
    sum##i##0 = TYPED(adjoint_multiply_add)(left##i, right0, sum##i##0);             \
    sum##i##1 = TYPED(adjoint_multiply_add)(left##i, right1, sum##i##1);             \
    sum##i##2 = TYPED(adjoint_multiply_add)(left##i, right2, sum##i##2);             \
    sum##i##3 = TYPED(adjoint_multiply_add)(left##i, right3, sum##i##3);
#define WRITE(i) sum[i][0] = sum##i##0, sum[i][1] = sum##i##1, sum[i][2] = sum##i##2, sum[i][3] = sum##i##3;
    ROWS(READ)
    for (int64_t p = 0; p < depth; p++) {
        const VECTOR right0 = right[p][0], right1 = right[p][1], right2 = right[p][2], right3 = right[p][3];
        ROWS(ADD)
    }
    ROWS(WRITE)
#undef READ
#undef ADD
#undef WRITE
}

/* Rows begin..end of C[m, n] = A[m, k] @ B[k, n]; A is stored as [k, m] with transpose_a, B as [n, k] with
   transpose_b. */
static void TYPED(adjoint_plain_product)(
    const ELEMENT *a, const ELEMENT *b, ELEMENT *c, int64_t m, int64_t n, int64_t k, int64_t transpose_a,
    int64_t transpose_b, int64_t begin, int64_t end) {
    const int64_t a_row = transpose_a ? 1 : k, a_step = transpose_a ? m : 1;
    VECTOR sum[ADJOINT_TALL][4], right[ADJOINT_PIECE][4] = {0};
    ELEMENT *const line = (ELEMENT *)right;
    for (int64_t column = 0; column < n; column += WIDTH) {
        const int64_t width = adjoint_plain_lesser(n - column, WIDTH);
        for (int64_t top = begin; top < end; top += ADJOINT_TALL) {
            const int64_t rows = adjoint_plain_lesser(end - top, ADJOINT_TALL);
            int64_t start = 0;
            do {
                const int64_t stop = adjoint_plain_lesser(k, start + ADJOINT_CHAIN);
                memset(sum, 0, sizeof(sum));
                for (int64_t p = start; p < stop; p += ADJOINT_PIECE) {
                    const int64_t depth = adjoint_plain_lesser(stop - p, ADJOINT_PIECE);
                    if (transpose_b)
                        for (int64_t j = 0; j < width; j++)
                            for (int64_t q = 0; q < depth; q++) line[q * WIDTH + j] = b[(column + j) * k + p + q];
                    else
                        for (int64_t q = 0; q < depth; q++)
                            memcpy(line + q * WIDTH, b + (p + q) * n + column, (size_t)width * sizeof(ELEMENT));
                    for (int64_t i = 0; i < rows; i += 4) {
                        const ELEMENT *at[4]; /* the last row again for those that are missing */
                        for (int64_t j = 0; j < 4; j++)
                            at[j] = a + adjoint_plain_lesser(top + i + j, end - 1) * a_row + p * a_step;
                        TYPED(adjoint_plain_tile)(sum + i, at, a_step, right, depth);
                    }
                }
                for (int64_t i = 0; i < rows; i++) {
                    const ELEMENT *from = (const ELEMENT *)sum[i];
                    ELEMENT *to = c + (top + i) * n + column;
                    for (int64_t j = 0; j < width; j++) to[j] = start > 0 ? to[j] + from[j] : from[j];
                }
                start = stop;
            } while (start < k);
        }
    }
}

#undef VECTOR
#undef WIDTH
#undef ROWS
