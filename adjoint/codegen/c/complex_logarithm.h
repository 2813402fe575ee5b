/* The logarithm of a square matrix that is finite, in row-major order (N. Higham, Functions of Matrices, chapter 11): of its
   Schur form square roots are taken until it is near 1; there the logarithm is a quadrature of Gauss, exact to rounding,

       log(1 + x) = sum_j weight_j x (1 + node_j x)^-1,

   and each square root doubles it. The eigenvalues' own logarithms are the diagonal.

   This text is pasted for double _Complex: ELEMENT and PART as in `complex.h`. */

/* Replaces an upper triangle by its square root (A. Bjorck and S. Hammarling, A Schur method for the square root of a matrix,
   Linear Algebra and its Applications 52, 1983). */
static inline void TYPED(adjoint_root_of_triangle)(ELEMENT *t, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
        t[j * n + j] = TYPED(adjoint_sqrt)(t[j * n + j]);
        for (int64_t i = j - 1; i >= 0; i--) {
            ELEMENT sum = t[i * n + j];
            for (int64_t k = i + 1; k < j; k++) sum -= TYPED(adjoint_times)(t[i * n + k], t[k * n + j]);
            t[i * n + j] = TYPED(adjoint_over)(sum, t[i * n + i] + t[j * n + j]);
        }
    }
}

/* The logarithm of h, to h.

   z, t, sum  n n numbers each
   work       3 n numbers

   Returns 1 if the eigenvalues do not converge. */
static inline int64_t TYPED(adjoint_logarithm)(ELEMENT *h, ELEMENT *z, ELEMENT *t, ELEMENT *sum, ELEMENT *work, int64_t n) {
    static const PART nodes[8] = {
        0x1.454e34f5339a0p-6, 0x1.a06d536d82f88p-4, 0x1.e5dad4f9af698p-3, 0x1.a214dac30e32fp-2,
        0x1.2ef5929e78e68p-1, 0x1.86894ac19425ap-1, 0x1.cbf255924fa0fp-1, 0x1.f5d58e5856633p-1
    };
    static const PART weights[8] = {
        0x1.9ea1d04ca03aep-5, 0x1.c76fb531d2b94p-4, 0x1.413c50a25560ep-3, 0x1.736360b19933dp-3,
        0x1.736360b19933dp-3, 0x1.413c50a25560ep-3, 0x1.c76fb531d2b94p-4, 0x1.9ea1d04ca03aep-5
    };
    for (int64_t i = 0; i < n * n; i++) z[i] = TYPED(adjoint_complex)(i / n == i % n, 0);
    TYPED(adjoint_hessenberg)(h, z, work, n, 1);
    if (TYPED(adjoint_schur)(h, z, work + n, n, 1)) return 1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            t[i * n + j] = j < i ? TYPED(adjoint_complex)(0, 0) : h[i * n + j];
            sum[i * n + j] = TYPED(adjoint_complex)(0, 0);
        }
        /* A negative real eigenvalue is above its branch cut. */
        t[i * n + i] = TYPED(adjoint_complex)(__real__ t[i * n + i], __imag__ t[i * n + i] + 0);
        work[i] = TYPED(adjoint_log)(t[i * n + i]);
    }
    PART times = 1;
    for (int64_t roots = 0; roots < 100; roots++) {
        PART largest = 0;
        for (int64_t j = 0; j < n; j++) {
            PART column = TYPED(adjoint_size)(t[j * n + j] - TYPED(adjoint_complex)(1, 0));
            for (int64_t i = 0; i < j; i++) column += TYPED(adjoint_size)(t[i * n + j]);
            largest = fmax(largest, column);
        }
        if (!(largest > 0.25)) break;
        TYPED(adjoint_root_of_triangle)(t, n);
        times *= 2;
    }
    for (int64_t i = 0; i < n; i++) t[i * n + i] -= TYPED(adjoint_complex)(1, 0);
    ELEMENT *x = work + n; /* a column of t (1 + node t)^-1 */
    for (int64_t part = 0; part < 8; part++) {
        for (int64_t j = 0; j < n; j++) {
            for (int64_t i = j; i >= 0; i--) {
                ELEMENT rest = t[i * n + j];
                for (int64_t k = i + 1; k <= j; k++)
                    rest -= TYPED(adjoint_by_real)(TYPED(adjoint_times)(t[i * n + k], x[k]), nodes[part]);
                x[i] = TYPED(adjoint_over)(rest, TYPED(adjoint_by_real)(t[i * n + i], nodes[part]) + TYPED(adjoint_complex)(1, 0));
                sum[i * n + j] += TYPED(adjoint_by_real)(x[i], weights[part]);
            }
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) sum[i * n + j] = i == j ? work[i] : TYPED(adjoint_by_real)(sum[i * n + j], times);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            ELEMENT of_row = TYPED(adjoint_complex)(0, 0);
            for (int64_t k = 0; k <= j; k++) of_row += TYPED(adjoint_times)(z[i * n + k], sum[k * n + j]);
            t[i * n + j] = of_row;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            ELEMENT element = TYPED(adjoint_complex)(0, 0);
            for (int64_t k = 0; k < n; k++) element += TYPED(adjoint_times)(t[i * n + k], TYPED(adjoint_conj)(z[j * n + k]));
            h[i * n + j] = element;
        }
    }
    return 0;
}
