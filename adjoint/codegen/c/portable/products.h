/* Matrix products and copies as simple loops, with the numbers of the header that has them for speed. */

enum { ADJOINT_CHAIN = 512 }; /* products that are added one after the other; their sums are added then */

/* Rows begin..end of C[m, n] = A[m, k] @ B[k, n]; A is stored as [k, m] with transpose_a, B as [n, k] with transpose_b. */
static void TYPED(adjoint_plain_product)(
    const ELEMENT *a, const ELEMENT *b, ELEMENT *c, int64_t m, int64_t n, int64_t k, int64_t transpose_a,
    int64_t transpose_b, int64_t begin, int64_t end) {
    const int64_t a_row = transpose_a ? 1 : k, a_step = transpose_a ? m : 1;
    const int64_t b_column = transpose_b ? k : 1, b_step = transpose_b ? 1 : n;
    for (int64_t row = begin; row < end; row++) {
        for (int64_t column = 0; column < n; column++) {
            const ELEMENT *left = a + row * a_row, *right = b + column * b_column;
            ELEMENT sum = 0;
            int64_t done = 0;
            do {
                ELEMENT chain = 0;
                const int64_t stop = k - done < ADJOINT_CHAIN ? k : done + ADJOINT_CHAIN, start = done;
                for (; done < stop; done++, left += a_step, right += b_step) {
                    chain = TYPED(ADJOINT_MULTIPLY_ADD)(*left, *right, chain);
                }
                sum = start > 0 ? sum + chain : chain;
            } while (done < k);
            c[row * n + column] = sum;
        }
    }
}

/* target[i * target_row + j] = source[j * source_row + i] for i < rows, j < columns. */
static inline void TYPED(adjoint_transpose_block)(
    const void *source, int64_t source_row, void *target, int64_t target_row, int64_t rows, int64_t columns) {
    const unsigned char *from = source;
    unsigned char *to = target;
    const int64_t size = (int64_t)sizeof(ELEMENT);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            memcpy(to + (i * target_row + j) * size, from + (j * source_row + i) * size, sizeof(ELEMENT));
        }
    }
}
