/* Eigenvalues and eigenvectors of a square matrix that is finite, in row-major order (Golub and Van Loan, Matrix
   Computations, chapter 7):

       balance     rows and columns are multiplied with powers of two until both have about the same size
       Hessenberg  reflections leave one diagonal below the main one
       Schur       QR steps with shifts make the matrix triangular: of a complex matrix one rotation after the other with
                   Wilkinson's shift, of a real one by reflections of three rows with two shifts at a time (Francis), which
                   leave a block of two rows for each pair of complex eigenvalues
       vectors     back substitution in the triangle, for one eigenvalue after the other

   A real matrix has real eigenvalues whose imaginary part is exactly 0, with real vectors, and exactly conjugate pairs,
   the one with the positive imaginary part first.

   This text is pasted for double _Complex: ELEMENT and PART as in `complex.h`. */

#define ADJOINT_QR_STEPS 60

static inline PART TYPED(adjoint_size)(ELEMENT x) {
    return fabs(__real__ x) + fabs(__imag__ x);
}

static inline ELEMENT TYPED(adjoint_by_real)(ELEMENT x, PART factor) {
    return TYPED(adjoint_complex)(ADJOINT_ROUNDED(__real__ x * factor), ADJOINT_ROUNDED(__imag__ x * factor));
}

/* Balances h; scale[i] is the factor of row i of the eigenvectors. */
static inline void TYPED(adjoint_balance)(ELEMENT *h, ELEMENT *scale, int64_t n) {
    for (int64_t i = 0; i < n; i++) scale[i] = TYPED(adjoint_complex)(1, 0);
    int again = 1;
    for (int64_t sweep = 0; again && sweep < 100; sweep++) {
        again = 0;
        for (int64_t i = 0; i < n; i++) {
            PART column = 0, row = 0, factor = 1;
            for (int64_t j = 0; j < n; j++) {
                if (j == i) continue;
                column += TYPED(adjoint_size)(h[j * n + i]);
                row += TYPED(adjoint_size)(h[i * n + j]);
            }
            if (column == 0 || row == 0) continue;
            PART whole = column + row;
            while (column < row / 2 && factor < 0x1p300) {
                factor *= 2;
                column *= 4;
            }
            while (column > row * 2 && factor > 0x1p-300) {
                factor /= 2;
                column /= 4;
            }
            if ((column + row) / factor >= 0.95 * whole) continue;
            again = 1;
            scale[i] = TYPED(adjoint_by_real)(scale[i], factor);
            for (int64_t j = 0; j < n; j++) h[i * n + j] = TYPED(adjoint_by_real)(h[i * n + j], 1 / factor);
            for (int64_t j = 0; j < n; j++) h[j * n + i] = TYPED(adjoint_by_real)(h[j * n + i], factor);
        }
    }
}

/* Multiplies rows first.. of h from column `from` on with the reflection 1 - 2 v v^H, v[first..] of length 1. */
static inline void TYPED(adjoint_reflect_rows)(ELEMENT *h, const ELEMENT *v, int64_t n, int64_t first, int64_t from) {
    for (int64_t j = from; j < n; j++) {
        ELEMENT along = TYPED(adjoint_complex)(0, 0);
        for (int64_t i = first; i < n; i++) along += TYPED(adjoint_times)(TYPED(adjoint_conj)(v[i]), h[i * n + j]);
        along = TYPED(adjoint_by_real)(along, 2);
        for (int64_t i = first; i < n; i++) h[i * n + j] -= TYPED(adjoint_times)(v[i], along);
    }
}

static inline void TYPED(adjoint_reflect_columns)(ELEMENT *h, const ELEMENT *v, int64_t n, int64_t first) {
    for (int64_t i = 0; i < n; i++) {
        ELEMENT along = TYPED(adjoint_complex)(0, 0);
        for (int64_t j = first; j < n; j++) along += TYPED(adjoint_times)(h[i * n + j], v[j]);
        along = TYPED(adjoint_by_real)(along, 2);
        for (int64_t j = first; j < n; j++) h[i * n + j] -= TYPED(adjoint_times)(along, TYPED(adjoint_conj)(v[j]));
    }
}

/* Makes v[first..] a vector of length 1 by whose reflection it becomes a multiple of the first unit vector, and returns
   that multiple; v[first] is given, and one of the others is not 0. */
static inline ELEMENT TYPED(adjoint_mirror)(ELEMENT *v, int64_t n, int64_t first) {
    PART largest = 0, square = 0;
    for (int64_t i = first; i < n; i++) largest = fmax(largest, TYPED(adjoint_size)(v[i]));
    for (int64_t i = first; i < n; i++) {
        PART real = __real__ v[i] / largest, imag = __imag__ v[i] / largest;
        square += real * real + imag * imag;
    }
    PART length = largest * sqrt(square), size = TYPED(adjoint_abs)(v[first]);
    ELEMENT sign = size > 0 ? TYPED(adjoint_by_real)(v[first], 1 / size) : TYPED(adjoint_complex)(1, 0);
    ELEMENT made = TYPED(adjoint_by_real)(sign, -length);
    v[first] -= made;
    PART whole = sqrt(2 * length * (length + size)); /* of v, for that v[first] */
    for (int64_t i = first; i < n; i++) v[i] = TYPED(adjoint_by_real)(v[i], 1 / whole);
    return made;
}

static inline void TYPED(adjoint_hessenberg)(ELEMENT *h, ELEMENT *z, ELEMENT *v, int64_t n, int64_t vectors) {
    for (int64_t k = 0; k + 2 < n; k++) {
        PART below = 0;
        for (int64_t i = k + 1; i < n; i++) {
            v[i] = h[i * n + k];
            if (i > k + 1) below = fmax(below, TYPED(adjoint_size)(v[i]));
        }
        if (below == 0) continue;
        ELEMENT made = TYPED(adjoint_mirror)(v, n, k + 1);
        TYPED(adjoint_reflect_rows)(h, v, n, k + 1, k + 1);
        TYPED(adjoint_reflect_columns)(h, v, n, k + 1);
        if (vectors) TYPED(adjoint_reflect_columns)(z, v, n, k + 1);
        h[(k + 1) * n + k] = made;
        for (int64_t i = k + 2; i < n; i++) h[i * n + k] = TYPED(adjoint_complex)(0, 0);
    }
}

/* The rotation [c s; -conj(s) c] that makes (x, y) into (r, 0). */
static inline ELEMENT TYPED(adjoint_rotation)(ELEMENT x, ELEMENT y, PART *cosine, ELEMENT *sine) {
    PART a = TYPED(adjoint_abs)(x), b = TYPED(adjoint_abs)(y);
    if (b == 0) {
        *cosine = 1;
        *sine = TYPED(adjoint_complex)(0, 0);
        return x;
    }
    PART larger = fmax(a, b), length = larger * sqrt((a / larger) * (a / larger) + (b / larger) * (b / larger));
    ELEMENT sign = a > 0 ? TYPED(adjoint_by_real)(x, 1 / a) : TYPED(adjoint_complex)(1, 0);
    *cosine = a / length;
    *sine = TYPED(adjoint_times)(sign, TYPED(adjoint_by_real)(TYPED(adjoint_conj)(y), 1 / length));
    return TYPED(adjoint_by_real)(sign, length);
}

static inline void TYPED(adjoint_rotate_rows)(ELEMENT *h, int64_t n, int64_t k, int64_t from, int64_t to, PART c, ELEMENT s) {
    for (int64_t j = from; j < to; j++) {
        ELEMENT x = h[k * n + j], y = h[(k + 1) * n + j];
        h[k * n + j] = TYPED(adjoint_by_real)(x, c) + TYPED(adjoint_times)(s, y);
        h[(k + 1) * n + j] = TYPED(adjoint_by_real)(y, c) - TYPED(adjoint_times)(TYPED(adjoint_conj)(s), x);
    }
}

static inline void TYPED(adjoint_rotate_columns)(ELEMENT *h, int64_t n, int64_t k, int64_t from, int64_t to, PART c, ELEMENT s) {
    for (int64_t i = from; i < to; i++) {
        ELEMENT x = h[i * n + k], y = h[i * n + k + 1];
        h[i * n + k] = TYPED(adjoint_by_real)(x, c) + TYPED(adjoint_times)(TYPED(adjoint_conj)(s), y);
        h[i * n + k + 1] = TYPED(adjoint_by_real)(y, c) - TYPED(adjoint_times)(s, x);
    }
}

/* Makes a Hessenberg matrix triangular; with `vectors` all of it, and z is multiplied with the same rotations. Returns 1
   if that takes too many steps. `turns` has room for 2 n numbers. */
static inline int64_t TYPED(adjoint_schur)(ELEMENT *h, ELEMENT *z, ELEMENT *turns, int64_t n, int64_t vectors) {
    int64_t high = n - 1, steps = 0;
    while (high > 0) {
        int64_t low = high;
        for (; low > 0; low--) {
            PART beside = TYPED(adjoint_size)(h[low * n + low]) + TYPED(adjoint_size)(h[(low - 1) * n + low - 1]);
            if (beside == 0) beside = 1; /* the largest element is about 1 */
            if (TYPED(adjoint_size)(h[low * n + low - 1]) <= 0x1p-53 * beside) {
                h[low * n + low - 1] = TYPED(adjoint_complex)(0, 0);
                break;
            }
        }
        if (low == high) {
            high--;
            steps = 0;
            continue;
        }
        if (steps == ADJOINT_QR_STEPS) return 1;
        ELEMENT shift = h[high * n + high];
        if (steps % 10 == 9) {
            shift += TYPED(adjoint_complex)(0.75 * TYPED(adjoint_size)(h[high * n + high - 1]), 0);
        } else { /* the eigenvalue of the last two rows that is closer to the last element */
            ELEMENT half = TYPED(adjoint_by_real)(h[(high - 1) * n + high - 1] - shift, 0.5);
            ELEMENT product = TYPED(adjoint_times)(h[(high - 1) * n + high], h[high * n + high - 1]);
            ELEMENT root = TYPED(adjoint_sqrt)(TYPED(adjoint_times)(half, half) + product);
            if (__real__ half * __real__ root + __imag__ half * __imag__ root < 0) root = -root;
            ELEMENT divisor = half + root;
            if (TYPED(adjoint_size)(divisor) > 0) shift -= TYPED(adjoint_over)(product, divisor);
        }
        steps++;
        int64_t end = vectors ? n : high + 1, begin = vectors ? 0 : low;
        for (int64_t k = low; k <= high; k++) h[k * n + k] -= shift;
        for (int64_t k = low; k < high; k++) {
            PART cosine;
            ELEMENT sine, made = TYPED(adjoint_rotation)(h[k * n + k], h[(k + 1) * n + k], &cosine, &sine);
            TYPED(adjoint_rotate_rows)(h, n, k, k + 1, end, cosine, sine);
            h[k * n + k] = made;
            h[(k + 1) * n + k] = TYPED(adjoint_complex)(0, 0);
            turns[2 * k] = TYPED(adjoint_complex)(cosine, 0);
            turns[2 * k + 1] = sine;
        }
        for (int64_t k = low; k < high; k++) {
            PART cosine = __real__ turns[2 * k];
            TYPED(adjoint_rotate_columns)(h, n, k, begin, k + 2, cosine, turns[2 * k + 1]);
            if (vectors) TYPED(adjoint_rotate_columns)(z, n, k, 0, n, cosine, turns[2 * k + 1]);
        }
        for (int64_t k = low; k <= high; k++) h[k * n + k] += shift;
    }
    return 0;
}

static inline void TYPED(adjoint_turn_rows)(PART *h, int64_t n, int64_t k, int64_t from, int64_t to, PART c, PART s) {
    for (int64_t j = from; j < to; j++) {
        PART x = h[k * n + j], y = h[(k + 1) * n + j];
        h[k * n + j] = ADJOINT_ROUNDED(c * x) + ADJOINT_ROUNDED(s * y);
        h[(k + 1) * n + j] = ADJOINT_ROUNDED(c * y) - ADJOINT_ROUNDED(s * x);
    }
}

static inline void TYPED(adjoint_turn_columns)(PART *h, int64_t n, int64_t k, int64_t from, int64_t to, PART c, PART s) {
    for (int64_t i = from; i < to; i++) {
        PART x = h[i * n + k], y = h[i * n + k + 1];
        h[i * n + k] = ADJOINT_ROUNDED(c * x) + ADJOINT_ROUNDED(s * y);
        h[i * n + k + 1] = ADJOINT_ROUNDED(c * y) - ADJOINT_ROUNDED(s * x);
    }
}

/* As `adjoint_schur` for a real matrix: blocks of two rows stay, which have complex eigenvalues. */
static inline int64_t TYPED(adjoint_real_schur)(PART *h, PART *z, int64_t n, int64_t vectors) {
    int64_t high = n - 1, steps = 0;
    PART moved = 0;
    while (high > 0) {
        int64_t low = high;
        for (; low > 0; low--) {
            PART beside = fabs(h[low * n + low]) + fabs(h[(low - 1) * n + low - 1]);
            if (beside == 0) beside = 1;
            if (fabs(h[low * n + low - 1]) <= 0x1p-53 * beside) {
                h[low * n + low - 1] = 0;
                break;
            }
        }
        int64_t end = vectors ? n : high + 1, begin = vectors ? 0 : low;
        if (low + 1 >= high) {
            if (low < high) { /* a block of two rows: a rotation makes it triangular if its eigenvalues are real */
                PART a = h[low * n + low], b = h[low * n + high], c = h[high * n + low], d = h[high * n + high];
                PART half = 0.5 * (a - d), inside = half * half + b * c;
                if (inside >= 0) {
                    PART root = half + copysign(sqrt(inside), half); /* of the larger size: (root, c) is an eigenvector */
                    PART larger = fmax(fabs(root), fabs(c));
                    PART length = larger * sqrt((root / larger) * (root / larger) + (c / larger) * (c / larger));
                    TYPED(adjoint_turn_rows)(h, n, low, low, end, root / length, c / length);
                    TYPED(adjoint_turn_columns)(h, n, low, begin, high + 1, root / length, c / length);
                    if (vectors) TYPED(adjoint_turn_columns)(z, n, low, 0, n, root / length, c / length);
                    h[high * n + low] = 0;
                }
            }
            high = low - 1;
            steps = 0;
            continue;
        }
        if (steps == ADJOINT_QR_STEPS) return 1;
        PART x = h[high * n + high], y = h[(high - 1) * n + high - 1], w = h[high * n + high - 1] * h[(high - 1) * n + high];
        if (steps % 10 == 9) { /* another shift than that of the last two rows */
            moved = fabs(h[high * n + high - 1]) + fabs(h[(high - 1) * n + high - 2]);
            x += 0.75 * moved;
            y = x;
            w = -0.4375 * moved * moved;
        }
        steps++;
        /* The first column of (h - shift) (h - other shift). */
        PART t = h[low * n + low], below = h[(low + 1) * n + low];
        PART p = ((t - x) * (t - y) - w) / below + h[low * n + low + 1];
        PART q = h[(low + 1) * n + low + 1] + t - x - y, r = h[(low + 2) * n + low + 1];
        for (int64_t k = low; k < high; k++) {
            int64_t count = k + 2 <= high ? 3 : 2;
            if (k > low) {
                p = h[k * n + k - 1];
                q = h[(k + 1) * n + k - 1];
                r = count == 3 ? h[(k + 2) * n + k - 1] : 0;
            } else if (count == 2) {
                r = 0;
            }
            PART largest = fmax(fabs(p), fmax(fabs(q), fabs(r)));
            if (largest == 0) continue;
            p /= largest;
            q /= largest;
            r /= largest;
            PART length = copysign(sqrt(p * p + q * q + r * r), p), first = p + length;
            /* The reflection 1 - (first, q, r) (1, q / first, r / first)^T / length */
            PART by_q = q / first, by_r = r / first, of_p = first / length, of_q = q / length, of_r = r / length;
            if (k > low) {
                h[k * n + k - 1] = -length * largest;
                h[(k + 1) * n + k - 1] = 0;
                if (count == 3) h[(k + 2) * n + k - 1] = 0;
            }
            for (int64_t j = k; j < end; j++) {
                PART along = h[k * n + j] + by_q * h[(k + 1) * n + j];
                if (count == 3) along += by_r * h[(k + 2) * n + j];
                h[k * n + j] -= along * of_p;
                h[(k + 1) * n + j] -= along * of_q;
                if (count == 3) h[(k + 2) * n + j] -= along * of_r;
            }
            int64_t last = k + 3 < high ? k + 3 : high;
            for (int64_t i = begin; i <= last; i++) {
                PART along = of_p * h[i * n + k] + of_q * h[i * n + k + 1];
                if (count == 3) along += of_r * h[i * n + k + 2];
                h[i * n + k] -= along;
                h[i * n + k + 1] -= along * by_q;
                if (count == 3) h[i * n + k + 2] -= along * by_r;
            }
            for (int64_t i = 0; vectors && i < n; i++) {
                PART along = of_p * z[i * n + k] + of_q * z[i * n + k + 1];
                if (count == 3) along += of_r * z[i * n + k + 2];
                z[i * n + k] -= along;
                z[i * n + k + 1] -= along * by_q;
                if (count == 3) z[i * n + k + 2] -= along * by_r;
            }
        }
    }
    return 0;
}

/* Copies a real Schur form to a complex one, and makes its blocks triangular. */
static inline void TYPED(adjoint_of_real_schur)(
    ELEMENT *h, ELEMENT *z, const PART *real, const PART *real_z, int64_t n, int64_t vectors
) {
    for (int64_t i = 0; i < n * n; i++) {
        h[i] = TYPED(adjoint_complex)(real[i], 0);
        if (vectors) z[i] = TYPED(adjoint_complex)(real_z[i], 0);
    }
    for (int64_t k = 0; k + 1 < n; k++) {
        PART a = real[k * n + k], b = real[k * n + k + 1], c = real[(k + 1) * n + k], d = real[(k + 1) * n + k + 1];
        if (c == 0) continue;
        PART half = 0.5 * (a - d), imag = sqrt(fmax(0, -(half * half + b * c)));
        ELEMENT value = TYPED(adjoint_complex)(d + half, imag);
        if (vectors) { /* (value - d, c) is an eigenvector of the block */
            PART cosine;
            ELEMENT sine;
            ELEMENT x = TYPED(adjoint_complex)(half, imag), y = TYPED(adjoint_complex)(c, 0);
            TYPED(adjoint_rotation)(x, y, &cosine, &sine);
            TYPED(adjoint_rotate_rows)(h, n, k, k, n, cosine, sine);
            TYPED(adjoint_rotate_columns)(h, n, k, 0, k + 2, cosine, sine);
            TYPED(adjoint_rotate_columns)(z, n, k, 0, n, cosine, sine);
        }
        h[k * n + k] = value;
        h[(k + 1) * n + k + 1] = TYPED(adjoint_conj)(value);
        h[(k + 1) * n + k] = TYPED(adjoint_complex)(0, 0);
        k++;
    }
}

/* Writes the eigenvector of value number `place` of the triangle h, in the basis z, to column `place` of h: of length 1,
   the element of the largest size positive. */
static inline void TYPED(adjoint_eigenvector)(
    ELEMENT *h, const ELEMENT *z, const ELEMENT *scale, ELEMENT *x, ELEMENT *vector, int64_t n, int64_t place
) {
    ELEMENT value = h[place * n + place];
    PART least = 0x1p-52 * TYPED(adjoint_size)(value), largest = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j <= place; j++) least = fmax(least, 0x1p-53 * TYPED(adjoint_size)(h[i * n + j]));
    if (least == 0) least = 0x1p-1000;
    x[place] = TYPED(adjoint_complex)(1, 0);
    for (int64_t i = place - 1; i >= 0; i--) {
        ELEMENT sum = TYPED(adjoint_complex)(0, 0), apart = h[i * n + i] - value;
        for (int64_t j = i + 1; j <= place; j++) sum += TYPED(adjoint_times)(h[i * n + j], x[j]);
        if (TYPED(adjoint_size)(apart) < least) apart = TYPED(adjoint_complex)(least, 0);
        x[i] = -TYPED(adjoint_over)(sum, apart);
        if (TYPED(adjoint_size)(x[i]) > 0x1p200)
            for (int64_t j = i; j <= place; j++) x[j] = TYPED(adjoint_by_real)(x[j], 0x1p-200);
    }
    for (int64_t i = 0; i < n; i++) {
        ELEMENT sum = TYPED(adjoint_complex)(0, 0);
        for (int64_t j = 0; j <= place; j++) sum += TYPED(adjoint_times)(z[i * n + j], x[j]);
        vector[i] = TYPED(adjoint_by_real)(sum, __real__ scale[i]);
        largest = fmax(largest, TYPED(adjoint_size)(vector[i]));
    }
    PART square = 0, best = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        vector[i] = TYPED(adjoint_by_real)(vector[i], 1 / largest);
        PART own = __real__ vector[i] * __real__ vector[i] + __imag__ vector[i] * __imag__ vector[i];
        square += own;
        if (own > best) {
            best = own;
            at = i;
        }
    }
    PART length = sqrt(square), size = TYPED(adjoint_abs)(vector[at]);
    ELEMENT turn = TYPED(adjoint_by_real)(TYPED(adjoint_conj)(vector[at]), 1 / (size * length));
    for (int64_t i = 0; i < n; i++) h[i * n + place] = TYPED(adjoint_times)(vector[i], turn);
    h[at * n + place] = TYPED(adjoint_complex)(size / length, 0);
}

/* The eigenvalues of the matrix h to values, and with `vectors` the eigenvectors to its columns.

   is_real  the imaginary parts are all 0
   z        n n numbers, if there are vectors
   work     5 n numbers
   real     2 n n numbers, if h is real

   Returns 1 without convergence. */
static inline int64_t TYPED(adjoint_eigenvalues)(
    ELEMENT *h, ELEMENT *z, ELEMENT *values, ELEMENT *work, PART *real, int64_t n, int64_t is_real, int64_t vectors
) {
    ELEMENT *scale = work, *x = work + n, *vector = work + 2 * n, *turns = work + 3 * n;
    TYPED(adjoint_balance)(h, scale, n);
    for (int64_t i = 0; vectors && i < n * n; i++) z[i] = TYPED(adjoint_complex)(i / n == i % n, 0);
    TYPED(adjoint_hessenberg)(h, z, x, n, vectors);
    if (is_real) {
        PART *real_z = real + n * n;
        for (int64_t i = 0; i < n * n; i++) {
            real[i] = __real__ h[i];
            if (vectors) real_z[i] = __real__ z[i];
        }
        if (TYPED(adjoint_real_schur)(real, real_z, n, vectors)) return 1;
        TYPED(adjoint_of_real_schur)(h, z, real, real_z, n, vectors);
    } else if (TYPED(adjoint_schur)(h, z, turns, n, vectors)) {
        return 1;
    }
    for (int64_t i = 0; i < n; i++) values[i] = h[i * n + i];
    for (int64_t place = n - 1; vectors && place >= 0; place--) {
        PART imag = is_real ? __imag__ values[place] : 1;
        if (imag < 0) { /* the conjugate of the one before */
            TYPED(adjoint_eigenvector)(h, z, scale, x, vector, n, place - 1);
            for (int64_t i = 0; i < n; i++) h[i * n + place] = TYPED(adjoint_conj)(h[i * n + place - 1]);
            place--;
            continue;
        }
        TYPED(adjoint_eigenvector)(h, z, scale, x, vector, n, place);
        for (int64_t i = 0; imag == 0 && i < n; i++) h[i * n + place] = TYPED(adjoint_complex)(__real__ h[i * n + place], 0);
    }
    return 0;
}

#undef ADJOINT_QR_STEPS
