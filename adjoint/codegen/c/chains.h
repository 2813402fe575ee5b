/* The product of two vectors, in the order of additions that `matmul.h` defines: chains of ADJOINT_LINK products, one block after
   the other. The chains of blocks do not wait for each other, so vectors of them are computed side by side.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. */

#ifndef ADJOINT_CHAINS_H
#define ADJOINT_CHAINS_H

enum {
    ADJOINT_LINK = 512, /* ADJOINT_DEPTH in `matmul.h` */
    ADJOINT_FEW_CHAINS = 4,
    ADJOINT_SOON = 256, /* bytes from a request for memory to its use */
};

#endif

#define LANES ((int)(ADJOINT_VECTOR / sizeof(ELEMENT)))
#define SPAN ADJOINT_SPAN(ELEMENT)

/* sums[i] = the chain over block i of the `k` elements of `a` and `b`, for the blocks begin..end. The last block is filled up with 1 and
   -0, whose product changes no sum, not even -0. */
static void TYPED(adjoint_chains)(const ELEMENT *a, const ELEMENT *b, ELEMENT *sums, int64_t k, int64_t begin, int64_t end) {
    ELEMENT full_a[ADJOINT_LINK], full_b[ADJOINT_LINK];
    for (int64_t first = begin; first < end; first += LANES) {
        const ELEMENT *left[LANES], *right[LANES];
        for (int i = 0; i < LANES; i++) {
            const int64_t start = (first + i < end ? first + i : end - 1) * ADJOINT_LINK, depth = k - start;
            left[i] = a + start;
            right[i] = b + start;
            if (depth < ADJOINT_LINK) {
                for (int64_t p = 0; p < ADJOINT_LINK; p++) {
                    full_a[p] = p < depth ? left[i][p] : 1;
                    full_b[p] = p < depth ? right[i][p] : -(ELEMENT)0;
                }
                for (; i < LANES; i++) { /* the last block, and copies of it */
                    left[i] = full_a;
                    right[i] = full_b;
                }
            }
        }
        TYPED(adjoint_vector) sum = {0};
        for (int64_t p = 0; p < ADJOINT_LINK; p += SPAN) {
            TYPED(adjoint_vector) x[SPAN], y[SPAN];
            for (int i = 0; i < LANES && p % (64 / (int)sizeof(ELEMENT)) == 0; i++) { /* a processor does not follow so many rows */
                __builtin_prefetch(left[i] + p + ADJOINT_SOON / (int)sizeof(ELEMENT));
                __builtin_prefetch(right[i] + p + ADJOINT_SOON / (int)sizeof(ELEMENT));
            }
            TYPED(adjoint_transpose)(left, p, x);
            TYPED(adjoint_transpose)(right, p, y);
            for (int q = 0; q < SPAN; q++) sum = TYPED(adjoint_multiply_add)(x[q], y[q], sum);
        }
        ELEMENT line[LANES];
        TYPED(adjoint_store)(line, sum);
        TYPED(adjoint_copy_few)(sums + first, line, end - first < LANES ? end - first : LANES);
    }
}

/* The same for all `count` blocks, where these are too few for a vector: the chain of each is in all lanes of a vector of its own, and
   nothing has to be transposed or filled up. `count` is a constant wherever this is inlined. */
ADJOINT_INLINE void TYPED(adjoint_chains_apart)(const int count, const ELEMENT *a, const ELEMENT *b, ELEMENT *sums, int64_t k) {
    const int64_t depth = k - (count - 1) * ADJOINT_LINK; /* of the last block */
    TYPED(adjoint_vector) sum[ADJOINT_FEW_CHAINS];
    for (int i = 0; i < count; i++) sum[i] = (TYPED(adjoint_vector)){0};
#define IN_ALL_LANES(x) ((x) - (TYPED(adjoint_vector)){0})
#define ADD(i, at) sum[i] = TYPED(adjoint_multiply_add)(IN_ALL_LANES(a[at]), IN_ALL_LANES(b[at]), sum[i])
    for (int64_t p = 0; p < depth; p++) {
        for (int i = 0; i < count; i++) ADD(i, i * ADJOINT_LINK + p);
    }
    for (int64_t p = depth; p < ADJOINT_LINK; p++) {
        for (int i = 0; i < count - 1; i++) ADD(i, i * ADJOINT_LINK + p);
    }
#undef ADD
#undef IN_ALL_LANES
    for (int i = 0; i < count; i++) sums[i] = sum[i][0];
}

/* For 1 to ADJOINT_FEW_CHAINS blocks. */
static void TYPED(adjoint_few_chains)(const ELEMENT *a, const ELEMENT *b, ELEMENT *sums, int64_t k) {
    switch ((k + ADJOINT_LINK - 1) / ADJOINT_LINK) {
    case 1: TYPED(adjoint_chains_apart)(1, a, b, sums, k); break;
    case 2: TYPED(adjoint_chains_apart)(2, a, b, sums, k); break;
    case 3: TYPED(adjoint_chains_apart)(3, a, b, sums, k); break;
    default: TYPED(adjoint_chains_apart)(ADJOINT_FEW_CHAINS, a, b, sums, k); break;
    }
}

#undef LANES
#undef SPAN
