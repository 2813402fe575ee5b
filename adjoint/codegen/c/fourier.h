/* Discrete Fourier transforms of lines of complex numbers, X[k] = sum over j of x[j] w^(jk), w = exp(-2 pi i / n).

   A length whose prime factors are small is split into n = rows * columns, j = columns j1 + j2 and k = k1 + rows k2:

       X[k1 + rows k2] = sum over j2 of w_columns^(j2 k2) (w_n^(j2 k1) sum over j1 of w_rows^(j1 k1) x[columns j1 + j2])

   Each of the two sums transforms all columns of a matrix at once, one pass for each factor (Stockham's order, which needs no permutation of
   bits): the innermost loops go over neighbours and multiply all of them by the same root, so that compilers make vectors of them. Short
   lengths are one sum, for several lines together. Any other length is a convolution with a chirp, whose length m has small factors
   (Bluestein 1970). The inverse is the same with real and imaginary parts exchanged, of what is read and of what is written.

   Roots are computed in double, from the nearest eighth of a turn. A number is the same whatever lines are transformed together.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. */

#ifndef ADJOINT_FOURIER_H
#define ADJOINT_FOURIER_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ADJOINT_FACTORS = 64,        /* at least as many as a length has */
    ADJOINT_PRIME = 47,          /* the largest prime that is a factor of a pass; as in the op */
    ADJOINT_LINES = 16,          /* the most lines that are transformed together; as in the op */
    ADJOINT_BLOCK = 2048,        /* numbers of a matrix that are transformed together, if they make ADJOINT_LINES columns; as in the op */
    ADJOINT_CHUNK = 16,          /* numbers of a loop over registers, for any prime */
};

/* cosine + i sine = exp(2 pi i k / n) for whole numbers 0 <= k < n < 2^48, within 0.51 units in the last place of either.

   All is in floating point, without branches, so that loops become vectors: an angle is a number of eighths of a turn and a rest. */
static inline void adjoint_root(double k, double n, double *cosine, double *sine) {
    const double octant = floor(8 * k / n);
    const double after = 8 * k - octant * n;
    const double half = octant >= 4 ? 1 : 0;
    const double place = octant - 4 * half;
    const double rest = place == 1 || place == 3 ? n - after : after;
    const double share = rest / n;
    double back_low, low, lost;
    const double back = adjoint_exact_product_f64(share, n, &back_low);
    const double angle = adjoint_exact_product_f64(share, 0x1.921fb54442d18p-1, &low); /* pi / 4, whose next bits follow */
    low += share * 0x1.1a62633145c07p-55 + ((rest - back) - back_low) / n * 0x1.921fb54442d18p-1;
    const double even = adjoint_cos_near_zero_f64(angle, low, &lost), odd = adjoint_sin_near_zero_f64(angle, low, &lost);
    const double real = place == 1 || place == 2 ? odd : even, imaginary = place == 1 || place == 2 ? even : odd;
    const double turned = place >= 2 ? -real : real;
    *cosine = half > 0 ? -turned : turned;
    *sine = half > 0 ? -imaginary : imaginary;
}

/* Roots first <= k < last of order n. */
static inline void adjoint_roots(double *cosine, double *sine, int64_t n, int64_t first, int64_t last) {
    for (int64_t k = first; k < last; k++) adjoint_root((double)k, (double)n, &cosine[k - first], &sine[k - first]);
}

/* The factors of a length without large primes, in the order of the passes; returns how many there are. */
static inline int adjoint_factors(int64_t n, int64_t *factor) {
    int count = 0;
    while (n % 4 == 0) {
        factor[count++] = 4;
        n /= 4;
    }
    for (int64_t prime = 2; n > 1; prime += prime == 2 ? 1 : 2) {
        while (n % prime == 0) {
            factor[count++] = prime;
            n /= prime;
        }
    }
    return count;
}

#endif

/* Numbers of lines: element j of line g is at re[j * step + g * across] and im[...]; a part that is NULL is 0 where it is read, and is not
   written. */
struct TYPED(adjoint_lines) {
    ELEMENT *re, *im;
    int64_t step, across;
};

/* How a length is transformed: `split` into rows and columns, with the roots of both, and w_n^(j2 k1) in row k1 and column j2. */
struct TYPED(adjoint_fourier) {
    int64_t n, rows, columns;
    const ELEMENT *row_re, *row_im, *column_re, *column_im, *twiddle_re, *twiddle_im;
};

/* ---- passes ---- */

/* A pass of radix r goes from x[run (p + rest j) + q] to y[run (r p + j) + q], for 0 <= p < rest, 0 <= j < r, 0 <= q < run. Output j is
   multiplied by the root of order r * rest with the number p j, which is at `turn` times that in the table. */
#define PASS_PARAMETERS                                                                                                     \
    const bool turned, int64_t rest, int64_t run, int64_t turn, const ELEMENT *w_re, const ELEMENT *w_im,                   \
        const ELEMENT *restrict x_re, const ELEMENT *restrict x_im, ELEMENT *restrict y_re, ELEMENT *restrict y_im

#if defined(__GNUC__) && !defined(__clang__)
#define NEIGHBOURS _Pragma("GCC ivdep") /* no round of the loop reads what another one writes */
#else
#define NEIGHBOURS
#endif
#if defined(__GNUC__)
#define COPIED __attribute__((always_inline)) /* `turned` is a constant of each copy */
#else
#define COPIED
#endif
/* The root of output j. */
#define ROOT(j) const ELEMENT c##j = turned ? w_re[turn * p * j] : 1, s##j = turned ? w_im[turn * p * j] : 0;
/* Input j. */
#define INPUT(j) const ELEMENT re##j = a_re[q + j * apart], im##j = a_im[q + j * apart];
/* Where the inputs and outputs of round p begin. */
#define PLACES(radix)                                                                \
    const ELEMENT *a_re = x_re + p * run, *a_im = x_im + p * run;                    \
    ELEMENT *b_re = y_re + p * (radix) * run, *b_im = y_im + p * (radix) * run;
/* The rounds whose roots are not 1, or the one whose roots are. */
#define ROUNDS (int64_t p = turned ? 1 : 0; p < (turned ? rest : 1); p++)

/* Puts the output u + iv times the conjugate of the root c + is. */
static inline void TYPED(adjoint_put)(bool turned, ELEMENT *re, ELEMENT *im, ELEMENT u, ELEMENT v, ELEMENT c, ELEMENT s) {
    *re = turned ? TYPED(adjoint_next_term)(u, c, v * s) : u;
    *im = turned ? TYPED(adjoint_next_term)(v, c, -(u * s)) : v;
}

static inline void TYPED(adjoint_pass_2)(PASS_PARAMETERS) {
    const int64_t apart = rest * run;
    for ROUNDS {
        PLACES(2)
        ROOT(1)
        NEIGHBOURS
        for (int64_t q = 0; q < run; q++) {
            INPUT(0) INPUT(1)
            b_re[q] = re0 + re1;
            b_im[q] = im0 + im1;
            TYPED(adjoint_put)(turned, &b_re[q + run], &b_im[q + run], re0 - re1, im0 - im1, c1, s1);
        }
    }
}

static inline void TYPED(adjoint_pass_3)(PASS_PARAMETERS) {
    const ELEMENT half = (ELEMENT)0.5, side = (ELEMENT)0.86602540378443864676;
    const int64_t apart = rest * run;
    for ROUNDS {
        PLACES(3)
        ROOT(1) ROOT(2)
        NEIGHBOURS
        for (int64_t q = 0; q < run; q++) {
            INPUT(0) INPUT(1) INPUT(2)
            const ELEMENT sum_re = re1 + re2, sum_im = im1 + im2;
            const ELEMENT mid_re = TYPED(adjoint_next_term)(-half, sum_re, re0), mid_im = TYPED(adjoint_next_term)(-half, sum_im, im0);
            const ELEMENT off_re = side * (im1 - im2), off_im = side * (re2 - re1);
            b_re[q] = re0 + sum_re;
            b_im[q] = im0 + sum_im;
            TYPED(adjoint_put)(turned, &b_re[q + run], &b_im[q + run], mid_re + off_re, mid_im + off_im, c1, s1);
            TYPED(adjoint_put)(turned, &b_re[q + 2 * run], &b_im[q + 2 * run], mid_re - off_re, mid_im - off_im, c2, s2);
        }
    }
}

static inline void TYPED(adjoint_pass_4)(PASS_PARAMETERS) {
    const int64_t apart = rest * run;
    for ROUNDS {
        PLACES(4)
        ROOT(1) ROOT(2) ROOT(3)
        NEIGHBOURS
        for (int64_t q = 0; q < run; q++) {
            INPUT(0) INPUT(1) INPUT(2) INPUT(3)
            const ELEMENT even_re = re0 + re2, even_im = im0 + im2, other_re = re0 - re2, other_im = im0 - im2;
            const ELEMENT odd_re = re1 + re3, odd_im = im1 + im3, off_re = im1 - im3, off_im = re3 - re1;
            b_re[q] = even_re + odd_re;
            b_im[q] = even_im + odd_im;
            TYPED(adjoint_put)(turned, &b_re[q + run], &b_im[q + run], other_re + off_re, other_im + off_im, c1, s1);
            TYPED(adjoint_put)(turned, &b_re[q + 2 * run], &b_im[q + 2 * run], even_re - odd_re, even_im - odd_im, c2, s2);
            TYPED(adjoint_put)(turned, &b_re[q + 3 * run], &b_im[q + 3 * run], other_re - off_re, other_im - off_im, c3, s3);
        }
    }
}

/* sum + a x + b y */
static inline ELEMENT TYPED(adjoint_two_terms)(ELEMENT a, ELEMENT x, ELEMENT b, ELEMENT y, ELEMENT sum) {
    return TYPED(adjoint_next_term)(b, y, TYPED(adjoint_next_term)(a, x, sum));
}

static inline COPIED void TYPED(adjoint_pass_5)(PASS_PARAMETERS) {
    const ELEMENT cosine1 = (ELEMENT)0.30901699437494742410, sine1 = (ELEMENT)0.95105651629515357212;
    const ELEMENT cosine2 = (ELEMENT)-0.80901699437494742410, sine2 = (ELEMENT)0.58778525229247312917;
    const int64_t apart = rest * run;
    for ROUNDS {
        PLACES(5)
        ROOT(1) ROOT(2) ROOT(3) ROOT(4)
        NEIGHBOURS
        for (int64_t q = 0; q < run; q++) {
            INPUT(0) INPUT(1) INPUT(2) INPUT(3) INPUT(4)
            const ELEMENT sum1_re = re1 + re4, sum1_im = im1 + im4, sum2_re = re2 + re3, sum2_im = im2 + im3;
            const ELEMENT less1_re = re1 - re4, less1_im = im1 - im4, less2_re = re2 - re3, less2_im = im2 - im3;
            const ELEMENT mid1_re = TYPED(adjoint_two_terms)(cosine1, sum1_re, cosine2, sum2_re, re0);
            const ELEMENT mid1_im = TYPED(adjoint_two_terms)(cosine1, sum1_im, cosine2, sum2_im, im0);
            const ELEMENT mid2_re = TYPED(adjoint_two_terms)(cosine2, sum1_re, cosine1, sum2_re, re0);
            const ELEMENT mid2_im = TYPED(adjoint_two_terms)(cosine2, sum1_im, cosine1, sum2_im, im0);
            const ELEMENT off1_re = TYPED(adjoint_next_term)(sine1, less1_im, sine2 * less2_im);
            const ELEMENT off1_im = TYPED(adjoint_next_term)(sine1, less1_re, sine2 * less2_re);
            const ELEMENT off2_re = TYPED(adjoint_next_term)(sine2, less1_im, -(sine1 * less2_im));
            const ELEMENT off2_im = TYPED(adjoint_next_term)(sine2, less1_re, -(sine1 * less2_re));
            b_re[q] = re0 + sum1_re + sum2_re;
            b_im[q] = im0 + sum1_im + sum2_im;
            TYPED(adjoint_put)(turned, &b_re[q + run], &b_im[q + run], mid1_re + off1_re, mid1_im - off1_im, c1, s1);
            TYPED(adjoint_put)(turned, &b_re[q + 2 * run], &b_im[q + 2 * run], mid2_re + off2_re, mid2_im - off2_im, c2, s2);
            TYPED(adjoint_put)(turned, &b_re[q + 3 * run], &b_im[q + 3 * run], mid2_re - off2_re, mid2_im + off2_im, c3, s3);
            TYPED(adjoint_put)(turned, &b_re[q + 4 * run], &b_im[q + 4 * run], mid1_re - off1_re, mid1_im + off1_im, c4, s4);
        }
    }
}

/* Any odd radix: outputs j and radix - j are sum and difference of the same two sums, over pairs of inputs. `period` times the number of a
   root of order `radix` is its place in the table. */
static void TYPED(adjoint_pass_odd)(
    int64_t radix, int64_t period, int64_t rest, int64_t run, int64_t turn, const ELEMENT *w_re, const ELEMENT *w_im,
    const ELEMENT *restrict x_re, const ELEMENT *restrict x_im, ELEMENT *restrict y_re, ELEMENT *restrict y_im) {
    const int64_t apart = rest * run, pairs = radix / 2;
    for (int64_t p = 0; p < rest; p++) {
        for (int64_t from = 0; from < run; from += ADJOINT_CHUNK) {
            const int64_t count = run - from < ADJOINT_CHUNK ? run - from : ADJOINT_CHUNK;
            const ELEMENT *a_re = x_re + p * run + from, *a_im = x_im + p * run + from;
            ELEMENT *b_re = y_re + p * radix * run + from, *b_im = y_im + p * radix * run + from;
            ELEMENT sum[2][ADJOINT_PRIME / 2][ADJOINT_CHUNK], less[2][ADJOINT_PRIME / 2][ADJOINT_CHUNK];
            ELEMENT first[2][ADJOINT_CHUNK], total[2][ADJOINT_CHUNK];
            for (int64_t q = 0; q < ADJOINT_CHUNK; q++) {
                first[0][q] = total[0][q] = q < count ? a_re[q] : 0;
                first[1][q] = total[1][q] = q < count ? a_im[q] : 0;
            }
            for (int64_t i = 0; i < pairs; i++) {
                const int64_t low = (i + 1) * apart, high = (radix - 1 - i) * apart;
                for (int64_t q = 0; q < ADJOINT_CHUNK; q++) {
                    const int64_t at = q < count ? q : count - 1;
                    sum[0][i][q] = a_re[low + at] + a_re[high + at];
                    sum[1][i][q] = a_im[low + at] + a_im[high + at];
                    less[0][i][q] = a_re[low + at] - a_re[high + at];
                    less[1][i][q] = a_im[low + at] - a_im[high + at];
                    total[0][q] += sum[0][i][q];
                    total[1][q] += sum[1][i][q];
                }
            }
            for (int64_t q = 0; q < count; q++) {
                b_re[q] = total[0][q];
                b_im[q] = total[1][q];
            }
            for (int64_t j = 1; j <= pairs; j++) {
                ELEMENT mid[2][ADJOINT_CHUNK], off[2][ADJOINT_CHUNK];
                for (int64_t q = 0; q < ADJOINT_CHUNK; q++) {
                    mid[0][q] = first[0][q];
                    mid[1][q] = first[1][q];
                    off[0][q] = off[1][q] = 0;
                }
                int64_t number = 0;
                for (int64_t i = 0; i < pairs; i++) {
                    number += j;
                    number -= number >= radix ? radix : 0;
                    const ELEMENT c = w_re[number * period], s = w_im[number * period];
                    for (int64_t q = 0; q < ADJOINT_CHUNK; q++) {
                        mid[0][q] = TYPED(adjoint_next_term)(c, sum[0][i][q], mid[0][q]);
                        mid[1][q] = TYPED(adjoint_next_term)(c, sum[1][i][q], mid[1][q]);
                        off[0][q] = TYPED(adjoint_next_term)(s, less[1][i][q], off[0][q]);
                        off[1][q] = TYPED(adjoint_next_term)(-s, less[0][i][q], off[1][q]);
                    }
                }
                const int64_t low = turn * p * j, high = turn * p * (radix - j);
                for (int64_t q = 0; q < count; q++) {
                    ELEMENT u = mid[0][q] + off[0][q], v = mid[1][q] + off[1][q];
                    b_re[j * run + q] = p ? TYPED(adjoint_next_term)(u, w_re[low], v * w_im[low]) : u;
                    b_im[j * run + q] = p ? TYPED(adjoint_next_term)(v, w_re[low], -(u * w_im[low])) : v;
                    u = mid[0][q] - off[0][q];
                    v = mid[1][q] - off[1][q];
                    b_re[(radix - j) * run + q] = p ? TYPED(adjoint_next_term)(u, w_re[high], v * w_im[high]) : u;
                    b_im[(radix - j) * run + q] = p ? TYPED(adjoint_next_term)(v, w_re[high], -(u * w_im[high])) : v;
                }
            }
        }
    }
}

/* All rounds of a pass. */
#define BOTH(pass)                                                                   \
    pass(false, rest, run, turn, w_re, w_im, x_re, x_im, y_re, y_im);                \
    pass(true, rest, run, turn, w_re, w_im, x_re, x_im, y_re, y_im);

/* Transforms the columns of a matrix of n rows in data[0] + i data[1], with as much memory in data[2], data[3]. The pointers are exchanged
   so that the result is in data[0] + i data[1]. `w`: the roots of order n. */
static void TYPED(adjoint_fourier_columns)(
    ELEMENT *data[4], int64_t n, int64_t columns, const ELEMENT *w_re, const ELEMENT *w_im) {
    int64_t factor[ADJOINT_FACTORS];
    const int count = adjoint_factors(n, factor);
    int64_t turn = 1;
    for (int i = 0; i < count; i++) {
        const int64_t radix = factor[i], rest = n / (turn * radix), run = turn * columns;
        ELEMENT *x_re = data[0], *x_im = data[1], *y_re = data[2], *y_im = data[3];
        if (radix == 2) {
            BOTH(TYPED(adjoint_pass_2))
        } else if (radix == 3) {
            BOTH(TYPED(adjoint_pass_3))
        } else if (radix == 4) {
            BOTH(TYPED(adjoint_pass_4))
        } else if (radix == 5) {
            BOTH(TYPED(adjoint_pass_5))
        } else {
            TYPED(adjoint_pass_odd)(radix, n / radix, rest, run, turn, w_re, w_im, x_re, x_im, y_re, y_im);
        }
        data[0] = y_re;
        data[1] = y_im;
        data[2] = x_re;
        data[3] = x_im;
        turn *= radix;
    }
}

/* ---- reading and writing lines ---- */

/* target[i * target_step] = scale * source[i * source_step] for i < count; steps of 1 and 2 become vectors. */
static inline void TYPED(adjoint_copy_line)(
    ELEMENT *restrict target, int64_t target_step, const ELEMENT *restrict source, int64_t source_step, int64_t count, ELEMENT scale) {
    if (target_step == 1 && source_step == 1) {
        for (int64_t i = 0; i < count; i++) target[i] = scale * source[i];
    } else if (target_step == 1 && source_step == 2) {
        for (int64_t i = 0; i < count; i++) target[i] = scale * source[2 * i];
    } else {
        for (int64_t i = 0; i < count; i++) target[i * target_step] = scale * source[i * source_step];
    }
}

/* Elements i * stride + j of lines g < lines, for i < rows and first <= j < last, become a matrix with rows i and columns (j, g). */
static void TYPED(adjoint_read_lines)(
    ELEMENT *re, ELEMENT *im, struct TYPED(adjoint_lines) from, int64_t lines, int64_t rows, int64_t stride, int64_t first, int64_t last) {
    if (lines == 1 && last - first == 1 && stride == 1) { /* a column of one line is a row */
        last = first + rows;
        rows = 1;
    }
    const int64_t columns = (last - first) * lines;
    for (int part = 0; part < 2; part++) {
        ELEMENT *target = part ? im : re;
        const ELEMENT *source = part ? from.im : from.re;
        if (!source) {
            for (int64_t i = 0; i < rows * columns; i++) target[i] = 0;
        } else if (lines > 1 && from.across > from.step) {
            for (int64_t g = 0; g < lines; g++) {
                for (int64_t j = first; j < last; j++) {
                    TYPED(adjoint_copy_line)(target + (j - first) * lines + g, columns, source + j * from.step + g * from.across,
                                             stride * from.step, rows, 1);
                }
            }
        } else {
            for (int64_t i = 0; i < rows; i++) {
                if (lines == 1) {
                    TYPED(adjoint_copy_line)(target + i * columns, 1, source + (i * stride + first) * from.step, from.step, columns, 1);
                    continue;
                }
                for (int64_t j = first; j < last; j++) {
                    TYPED(adjoint_copy_line)(target + i * columns + (j - first) * lines, 1, source + (i * stride + j) * from.step,
                                             from.across, lines, 1);
                }
            }
        }
    }
}

/* The other way round, times `scale`. */
static void TYPED(adjoint_write_lines)(
    const ELEMENT *re, const ELEMENT *im, struct TYPED(adjoint_lines) to, int64_t lines, int64_t rows, int64_t stride, int64_t first,
    int64_t last, ELEMENT scale) {
    if (lines == 1 && last - first == 1 && stride == 1) { /* a column of one line is a row */
        last = first + rows;
        rows = 1;
    }
    const int64_t columns = (last - first) * lines;
    const bool together = to.re && to.im && (to.im - to.re == 1 || to.re - to.im == 1);
    if (together && ((lines == 1 && to.step == 2) || (lines > 1 && to.across == 2))) {
        ELEMENT *target = to.re < to.im ? to.re : to.im;
        const ELEMENT *even = to.re < to.im ? re : im, *odd = to.re < to.im ? im : re;
        const int64_t runs = lines == 1 ? 1 : last - first, run = columns / runs;
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < runs; j++) {
                ELEMENT *restrict pairs = target + (i * stride + first + j) * to.step;
                const ELEMENT *restrict evens = even + i * columns + j * run, *restrict odds = odd + i * columns + j * run;
                for (int64_t q = 0; q < run; q++) {
                    pairs[2 * q] = scale * evens[q];
                    pairs[2 * q + 1] = scale * odds[q];
                }
            }
        }
        return;
    }
    if (together && lines > 1 && to.across > to.step && to.step == 2) {
        ELEMENT *target = to.re < to.im ? to.re : to.im;
        const ELEMENT *even = to.re < to.im ? re : im, *odd = to.re < to.im ? im : re;
        for (int64_t g = 0; g < lines; g++) {
            for (int64_t j = first; j < last; j++) {
                ELEMENT *restrict pairs = target + 2 * j + g * to.across;
                const int64_t column = (j - first) * lines + g;
                for (int64_t i = 0; i < rows; i++) {
                    pairs[2 * i * stride] = scale * even[i * columns + column];
                    pairs[2 * i * stride + 1] = scale * odd[i * columns + column];
                }
            }
        }
        return;
    }
    for (int part = 0; part < 2; part++) {
        ELEMENT *target = part ? to.im : to.re;
        const ELEMENT *source = part ? im : re;
        if (!target) continue;
        if (lines > 1 && to.across > to.step) {
            for (int64_t g = 0; g < lines; g++) {
                for (int64_t j = first; j < last; j++) {
                    TYPED(adjoint_copy_line)(target + j * to.step + g * to.across, stride * to.step, source + (j - first) * lines + g,
                                             columns, rows, scale);
                }
            }
        } else {
            for (int64_t i = 0; i < rows; i++) {
                if (lines == 1) {
                    TYPED(adjoint_copy_line)(target + (i * stride + first) * to.step, to.step, source + i * columns, 1, columns, scale);
                    continue;
                }
                for (int64_t j = first; j < last; j++) {
                    TYPED(adjoint_copy_line)(target + (i * stride + j) * to.step, to.across, source + i * columns + (j - first) * lines, 1,
                                             lines, scale);
                }
            }
        }
    }
}

/* ---- lengths with small factors ---- */

/* target[j * target_row + i] = source[i * source_row + j], each of them `lines` neighbours, for i < rows, j < columns. */
static void TYPED(adjoint_transpose_lines)(
    const ELEMENT *restrict source, int64_t source_row, ELEMENT *restrict target, int64_t target_row, int64_t rows, int64_t columns,
    int64_t lines) {
    enum { TILE = 8 };
    if (lines > 1) {
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < columns; j++) {
                const ELEMENT *from = source + i * source_row + j * lines;
                ELEMENT *to = target + j * target_row + i * lines;
                for (int64_t g = 0; g < lines; g++) to[g] = from[g];
            }
        }
        return;
    }
    int64_t i = 0;
    for (; i + TILE <= rows; i += TILE) {
        for (int64_t j = 0; j < columns; j++) {
            for (int t = 0; t < TILE; t++) target[j * target_row + i + t] = source[(i + t) * source_row + j];
        }
    }
    for (; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) target[j * target_row + i] = source[i * source_row + j];
    }
}

/* How many columns, of those of a matrix with so many rows, are transformed together; a column is of all lines. */
static inline int64_t TYPED(adjoint_fourier_block)(int64_t rows, int64_t columns, int64_t lines) {
    int64_t block = ADJOINT_BLOCK / (rows * lines), least = (ADJOINT_LINES + lines - 1) / lines;
    block = block < least ? least : block;
    return block < columns ? block : columns;
}

/* Transforms lines, times `scale`; `from` and `to` may be the same.

   work  2 n lines numbers, and 4 for each number of the larger of the two blocks */
static void TYPED(adjoint_fourier_lines)(
    const struct TYPED(adjoint_fourier) *plan, struct TYPED(adjoint_lines) from, struct TYPED(adjoint_lines) to, int64_t lines,
    ELEMENT scale, ELEMENT *work) {
    const int64_t n = plan->n, rows = plan->rows, columns = plan->columns;
    if (columns == 1) {
        ELEMENT *data[4];
        for (int i = 0; i < 4; i++) data[i] = work + i * n * lines;
        TYPED(adjoint_read_lines)(data[0], data[1], from, lines, n, 1, 0, 1);
        TYPED(adjoint_fourier_columns)(data, n, lines, plan->row_re, plan->row_im);
        TYPED(adjoint_write_lines)(data[0], data[1], to, lines, n, 1, 0, 1, scale);
        return;
    }
    ELEMENT *half_re = work, *half_im = work + n * lines, *blocks = work + 2 * n * lines;
    int64_t block = TYPED(adjoint_fourier_block)(rows, columns, lines);
    for (int64_t first = 0; first < columns; first += block) {
        const int64_t last = first + block < columns ? first + block : columns, width = (last - first) * lines;
        ELEMENT *data[4];
        for (int i = 0; i < 4; i++) data[i] = blocks + i * rows * width;
        TYPED(adjoint_read_lines)(data[0], data[1], from, lines, rows, columns, first, last);
        TYPED(adjoint_fourier_columns)(data, rows, width, plan->row_re, plan->row_im);
        for (int64_t i = 1; i < rows; i++) {
            const ELEMENT *c = plan->twiddle_re + i * columns + first, *s = plan->twiddle_im + i * columns + first;
            ELEMENT *restrict re = data[0] + i * width, *restrict im = data[1] + i * width;
            if (lines == 1) {
                for (int64_t q = 0; q < width; q++) {
                    const ELEMENT u = re[q], v = im[q];
                    re[q] = TYPED(adjoint_next_term)(u, c[q], v * s[q]);
                    im[q] = TYPED(adjoint_next_term)(v, c[q], -(u * s[q]));
                }
                continue;
            }
            for (int64_t j = 0; j < last - first; j++) {
                for (int64_t q = j * lines; q < (j + 1) * lines; q++) {
                    const ELEMENT u = re[q], v = im[q];
                    re[q] = TYPED(adjoint_next_term)(u, c[j], v * s[j]);
                    im[q] = TYPED(adjoint_next_term)(v, c[j], -(u * s[j]));
                }
            }
        }
        TYPED(adjoint_transpose_lines)(data[0], width, half_re + first * rows * lines, rows * lines, rows, last - first, lines);
        TYPED(adjoint_transpose_lines)(data[1], width, half_im + first * rows * lines, rows * lines, rows, last - first, lines);
    }
    block = TYPED(adjoint_fourier_block)(columns, rows, lines);
    for (int64_t first = 0; first < rows; first += block) {
        const int64_t last = first + block < rows ? first + block : rows, width = (last - first) * lines;
        ELEMENT *data[4];
        for (int i = 0; i < 4; i++) data[i] = blocks + i * columns * width;
        if (block >= rows) {
            data[0] = half_re;
            data[1] = half_im;
        } else {
            for (int64_t i = 0; i < columns; i++) {
                TYPED(adjoint_copy_line)(data[0] + i * width, 1, half_re + (i * rows + first) * lines, 1, width, 1);
                TYPED(adjoint_copy_line)(data[1] + i * width, 1, half_im + (i * rows + first) * lines, 1, width, 1);
            }
        }
        TYPED(adjoint_fourier_columns)(data, columns, width, plan->column_re, plan->column_im);
        TYPED(adjoint_write_lines)(data[0], data[1], to, lines, columns, rows, first, last, scale);
    }
}

/* ---- transforms of any length ---- */

/* How lines of n numbers are transformed.

   size   the length of the complex transform: n, or n / 2 for an even number n of real ones
   m      the length that is computed, whose factors are small: `size`, or the length of the convolution
   plan   of m
   turn_re, turn_im        roots of order n, up to a quarter turn: for real numbers, n even
   chirp_re, chirp_im      the roots of order 2 size with the numbers j^2, if m is not `size`
   spectrum_re, spectrum_im  the transform of the chirp, divided by m */
struct TYPED(adjoint_transform) {
    int64_t n, size, m;
    struct TYPED(adjoint_fourier) plan;
    ELEMENT *turn_re, *turn_im, *chirp_re, *chirp_im, *spectrum_re, *spectrum_im;
};

/* The plan whose tables are in `table`: 2 (rows + columns + m + n / 4 + 1) numbers, and 2 (size + m) if m is not `size`. */
static inline struct TYPED(adjoint_transform) TYPED(adjoint_transform_of)(
    ELEMENT *table, int64_t n, int64_t size, int64_t m, int64_t rows) {
    const int64_t columns = m / rows;
    ELEMENT *twiddles = table + 2 * (rows + columns), *turns = twiddles + 2 * m, *chirp = turns + 2 * (n / 4 + 1);
    struct TYPED(adjoint_transform) made = {n, size, m, {m, rows, columns, table, table + rows, table + 2 * rows,
        table + 2 * rows + columns, twiddles, twiddles + m}, turns, turns + n / 4 + 1, chirp, chirp + size, chirp + 2 * size,
        chirp + 2 * size + m};
    return made;
}

static inline void TYPED(adjoint_rounded_roots)(ELEMENT *re, ELEMENT *im, int64_t n, int64_t count) {
    double cosine[ADJOINT_CHUNK], sine[ADJOINT_CHUNK];
    for (int64_t first = 0; first < count; first += ADJOINT_CHUNK) {
        const int64_t last = first + ADJOINT_CHUNK < count ? first + ADJOINT_CHUNK : count;
        adjoint_roots(cosine, sine, n, first, last);
        for (int64_t k = first; k < last; k++) {
            re[k] = (ELEMENT)cosine[k - first];
            im[k] = (ELEMENT)sine[k - first];
        }
    }
}

/* All tables but the twiddles and the spectrum of the chirp. `base`, of 2 (rows + columns) numbers, gets what the twiddles are made of. */
static void TYPED(adjoint_fourier_tables)(
    ELEMENT *table, double *base, int64_t n, int64_t size, int64_t m, int64_t rows) {
    const struct TYPED(adjoint_transform) plan = TYPED(adjoint_transform_of)(table, n, size, m, rows);
    const int64_t columns = m / rows;
    ELEMENT *roots = table;
    TYPED(adjoint_rounded_roots)(roots, roots + rows, rows, rows);
    if (columns > 1) {
        TYPED(adjoint_rounded_roots)(roots + 2 * rows, roots + 2 * rows + columns, columns, columns);
        double *small_re = base + 2 * rows, *small_im = small_re + columns;
        adjoint_roots(base, base + rows, rows, 0, rows);
        adjoint_roots(small_re, small_im, 2 * m, 0, columns);
        for (int64_t j = 0; j < columns; j++) small_re[j] = -2 * small_im[j] * small_im[j]; /* cos 2x - 1 = -2 sin^2 x */
        double unused[ADJOINT_CHUNK];
        for (int64_t first = 0; first < columns; first += ADJOINT_CHUNK) {
            const int64_t last = first + ADJOINT_CHUNK < columns ? first + ADJOINT_CHUNK : columns;
            adjoint_roots(unused, small_im + first, m, first, last);
        }
    }
    if (size < n) TYPED(adjoint_rounded_roots)(plan.turn_re, plan.turn_im, n, n / 4 + 1);
    if (m == size) return;
    int64_t square = 0; /* j^2 modulo 2 size */
    for (int64_t first = 0; first < size; first += ADJOINT_CHUNK) {
        double number[ADJOINT_CHUNK], cosine[ADJOINT_CHUNK], sine[ADJOINT_CHUNK];
        for (int64_t q = 0; q < ADJOINT_CHUNK; q++) {
            number[q] = (double)square;
            square = (square + 2 * (first + q) + 1) % (2 * size);
        }
        for (int64_t q = 0; q < ADJOINT_CHUNK; q++) adjoint_root(number[q], 2 * (double)size, &cosine[q], &sine[q]);
        for (int64_t j = first; j < first + ADJOINT_CHUNK && j < size; j++) {
            plan.chirp_re[j] = (ELEMENT)cosine[j - first];
            plan.chirp_im[j] = (ELEMENT)sine[j - first];
        }
    }
}

/* Rows begin <= k1 < end of the twiddles: number k1 j2 = columns a + b of order m is that of a of order rows, times that of b of order m,
   which is added as a difference from 1: the sum is then rounded by little more than half a unit. */
static void TYPED(adjoint_fourier_twiddles)(ELEMENT *table, const double *base, int64_t m, int64_t rows, int64_t begin, int64_t end) {
    const int64_t columns = m / rows;
    const double *turn_re = base, *turn_im = base + rows, *small_re = base + 2 * rows, *small_im = small_re + columns;
    ELEMENT *re = table + 2 * (rows + columns), *im = re + m;
    for (int64_t i = begin; i < end; i++) {
        int64_t a = 0, b = 0;
        for (int64_t j = 0; j < columns; j++) {
            const double c = turn_re[a], s = turn_im[a];
            re[i * columns + j] = (ELEMENT)(c + (c * small_re[b] - s * small_im[b]));
            im[i * columns + j] = (ELEMENT)(s + (s * small_re[b] + c * small_im[b]));
            b += i; /* less than rows, and so at most twice columns */
            if (b >= columns) {
                b -= columns;
                a++;
            }
        }
    }
}

/* The spectrum of the chirp: the transform of exp(pi i j^2 / size) for |j| < size. */
static void TYPED(adjoint_fourier_spectrum)(ELEMENT *table, ELEMENT *work, int64_t n, int64_t size, int64_t m, int64_t rows) {
    const struct TYPED(adjoint_transform) plan = TYPED(adjoint_transform_of)(table, n, size, m, rows);
    ELEMENT *re = plan.spectrum_re, *im = plan.spectrum_im;
    for (int64_t j = 0; j < m; j++) re[j] = im[j] = 0;
    for (int64_t j = 0; j < size; j++) {
        const int64_t back = j ? m - j : 0;
        re[j] = re[back] = plan.chirp_re[j];
        im[j] = im[back] = plan.chirp_im[j];
    }
    const struct TYPED(adjoint_lines) lines = {re, im, 1, m};
    TYPED(adjoint_fourier_lines)(&plan.plan, lines, lines, 1, (ELEMENT)(1.0 / (double)m), work);
}

/* Multiplies row j of a matrix by re[j] + i im[j], or by its conjugate. */
static inline void TYPED(adjoint_times_rows)(
    ELEMENT *restrict x_re, ELEMENT *restrict x_im, const ELEMENT *restrict re, const ELEMENT *restrict im, int64_t rows, int64_t lines,
    bool conjugate) {
    if (lines == 1) {
        const ELEMENT sign = conjugate ? -1 : 1;
        for (int64_t j = 0; j < rows; j++) {
            const ELEMENT c = re[j], s = sign * im[j], u = x_re[j], v = x_im[j];
            x_re[j] = TYPED(adjoint_next_term)(u, c, -(v * s));
            x_im[j] = TYPED(adjoint_next_term)(v, c, u * s);
        }
        return;
    }
    for (int64_t j = 0; j < rows; j++) {
        const ELEMENT c = re[j], s = conjugate ? -im[j] : im[j];
        for (int64_t q = j * lines; q < (j + 1) * lines; q++) {
            const ELEMENT u = x_re[q], v = x_im[q];
            x_re[q] = TYPED(adjoint_next_term)(u, c, -(v * s));
            x_im[q] = TYPED(adjoint_next_term)(v, c, u * s);
        }
    }
}

/* Transforms lines of `size` numbers, times `scale`.

   work  as `adjoint_fourier_lines` needs for m, and 2 m lines numbers before if m is not `size` */
static void TYPED(adjoint_transform_lines)(
    const struct TYPED(adjoint_transform) *plan, struct TYPED(adjoint_lines) from, struct TYPED(adjoint_lines) to, int64_t lines,
    ELEMENT scale, ELEMENT *work) {
    if (plan->m == plan->size) {
        TYPED(adjoint_fourier_lines)(&plan->plan, from, to, lines, scale, work);
        return;
    }
    const int64_t size = plan->size, m = plan->m;
    ELEMENT *re = work, *im = work + m * lines;
    const struct TYPED(adjoint_lines) here = {re, im, lines, 1}, exchanged = {im, re, lines, 1};
    TYPED(adjoint_read_lines)(re, im, from, lines, size, 1, 0, 1);
    TYPED(adjoint_times_rows)(re, im, plan->chirp_re, plan->chirp_im, size, lines, true);
    for (int64_t i = size * lines; i < m * lines; i++) re[i] = im[i] = 0;
    TYPED(adjoint_fourier_lines)(&plan->plan, here, here, lines, 1, work + 2 * m * lines);
    TYPED(adjoint_times_rows)(re, im, plan->spectrum_re, plan->spectrum_im, m, lines, false);
    TYPED(adjoint_fourier_lines)(&plan->plan, exchanged, exchanged, lines, 1, work + 2 * m * lines);
    TYPED(adjoint_times_rows)(re, im, plan->chirp_re, plan->chirp_im, size, lines, true);
    TYPED(adjoint_write_lines)(re, im, to, lines, size, 1, 0, 1, scale);
}

/* ---- real numbers ----

   An even number n of real ones is n / 2 complex ones, z[j] = x[2j] + i x[2j + 1]. With h = n / 2 and their transform Z, the transform X of x is

       X[k] = E + w_n^k O,   X[h - k] = conj(E - w_n^k O),   E = (Z[k] + conj Z[h - k]) / 2,   O = (Z[k] - conj Z[h - k]) / 2i

   of which 0 <= k <= h are kept: the half spectrum; the others are their conjugates. An odd number is transformed as complex numbers.
   `doubled` says that elements count twice which have a conjugate among the others: all but the first, and the last if n is even. */

/* Makes E + w O and conj(E - w O) of a = Z[k] and b = Z[h - k], in their places; w = c - is. */
static inline void TYPED(adjoint_unpack_pair)(
    ELEMENT *a_re, ELEMENT *a_im, ELEMENT *b_re, ELEMENT *b_im, ELEMENT c, ELEMENT s, ELEMENT share) {
    const ELEMENT even_re = *a_re + *b_re, even_im = *a_im - *b_im, odd_re = *a_im + *b_im, odd_im = *b_re - *a_re;
    const ELEMENT turned_re = TYPED(adjoint_next_term)(odd_re, c, odd_im * s);
    const ELEMENT turned_im = TYPED(adjoint_next_term)(odd_im, c, -(odd_re * s));
    *a_re = share * (even_re + turned_re);
    *a_im = share * (even_im + turned_im);
    *b_re = share * (even_re - turned_re);
    *b_im = share * (turned_im - even_im);
}

/* The other way round: of a = X[k] and b = X[h - k] what the inverse transform of h numbers takes to 2 h real ones. */
static inline void TYPED(adjoint_pack_pair)(
    ELEMENT *a_re, ELEMENT *a_im, ELEMENT *b_re, ELEMENT *b_im, ELEMENT c, ELEMENT s, ELEMENT share) {
    const ELEMENT even_re = *a_re + *b_re, even_im = *a_im - *b_im, less_re = *a_re - *b_re, less_im = *a_im + *b_im;
    const ELEMENT odd_re = TYPED(adjoint_next_term)(less_re, c, -(less_im * s));
    const ELEMENT odd_im = TYPED(adjoint_next_term)(less_im, c, less_re * s);
    *a_re = share * (even_re - odd_im);
    *a_im = share * (even_im + odd_re);
    *b_re = share * (even_re + odd_im);
    *b_im = share * (odd_re - even_im);
}

/* Does that for all pairs of rows k and h - k, 0 < k, of a matrix whose columns are the lines; a row may be its own partner. */
#define PAIRS(pair)                                                                                                         \
    if (lines == 1) {                                                                                                       \
        NEIGHBOURS                                                                                                          \
        for (int64_t k = 1; k < (h + 1) / 2; k++) {                                                                         \
            pair(&re[k], &im[k], &re[h - k], &im[h - k], plan->turn_re[k], plan->turn_im[k], share);                        \
        }                                                                                                                   \
    }                                                                                                                       \
    for (int64_t k = lines == 1 ? (h + 1) / 2 : 1; k > 0 && 2 * k <= h; k++) {                                              \
        ELEMENT *a_re = re + k * lines, *a_im = im + k * lines, *b_re = re + (h - k) * lines, *b_im = im + (h - k) * lines; \
        NEIGHBOURS                                                                                                          \
        for (int64_t g = 0; g < lines; g++) {                                                                               \
            pair(&a_re[g], &a_im[g], &b_re[g], &b_im[g], plan->turn_re[k], plan->turn_im[k], share);                        \
        }                                                                                                                   \
    }

/* The half spectrum of n = 2 h numbers, times `scale`, from the transform of h, a matrix whose columns are the lines. */
static void TYPED(adjoint_unpack_half)(
    const struct TYPED(adjoint_transform) *plan, ELEMENT *re, ELEMENT *im, struct TYPED(adjoint_lines) to, int64_t lines,
    ELEMENT scale, bool doubled) {
    const int64_t h = plan->size;
    const ELEMENT share = doubled ? 1 : (ELEMENT)0.5;
    PAIRS(TYPED(adjoint_unpack_pair))
    for (int64_t g = 0; g < lines; g++) {
        const ELEMENT first = re[g], second = im[g];
        const int64_t end = h * to.step + g * to.across;
        re[g] = first + second;
        im[g] = 0;
        to.re[end] = scale * (first - second);
        to.im[end] = 0;
    }
    TYPED(adjoint_write_lines)(re, im, to, lines, h, 1, 0, 1, scale);
}

/* The other way round. */
static void TYPED(adjoint_pack_half)(
    const struct TYPED(adjoint_transform) *plan, struct TYPED(adjoint_lines) from, ELEMENT *re, ELEMENT *im, int64_t lines, bool doubled) {
    const int64_t h = plan->size;
    const ELEMENT share = doubled ? 1 : (ELEMENT)0.5;
    TYPED(adjoint_read_lines)(re, im, from, lines, h, 1, 0, 1);
    PAIRS(TYPED(adjoint_pack_pair))
    for (int64_t g = 0; g < lines; g++) {
        const ELEMENT first = re[g], last = from.re[h * from.step + g * from.across];
        re[g] = first + last;
        im[g] = first - last;
    }
}

/* Real lines to half spectra; `work` begins with 2 size lines numbers. */
static void TYPED(adjoint_transform_real)(
    const struct TYPED(adjoint_transform) *plan, struct TYPED(adjoint_lines) x, struct TYPED(adjoint_lines) to, int64_t lines,
    ELEMENT scale, bool doubled, ELEMENT *work) {
    const int64_t size = plan->size, step = x.step;
    ELEMENT *re = work, *im = work + size * lines, *rest = work + 2 * size * lines;
    const struct TYPED(adjoint_lines) here = {re, im, lines, 1};
    if (size < plan->n) {
        const struct TYPED(adjoint_lines) pairs = {x.re, x.re + step, 2 * step, x.across};
        TYPED(adjoint_transform_lines)(plan, pairs, here, lines, 1, rest);
        TYPED(adjoint_unpack_half)(plan, re, im, to, lines, scale, doubled);
        return;
    }
    TYPED(adjoint_transform_lines)(plan, x, here, lines, 1, rest);
    TYPED(adjoint_write_lines)(re, im, to, lines, 1, 1, 0, 1, scale);
    for (int64_t g = 0; g < lines; g++) to.im[g * to.across] = 0;
    if (size < 2) return;
    const struct TYPED(adjoint_lines) others = {to.re + to.step, to.im + to.step, to.step, to.across};
    TYPED(adjoint_write_lines)(re + lines, im + lines, others, lines, size / 2, 1, 0, 1, doubled ? 2 * scale : scale);
}

/* Half spectra to real lines; `work` begins with 2 size lines numbers. */
static void TYPED(adjoint_transform_half)(
    const struct TYPED(adjoint_transform) *plan, struct TYPED(adjoint_lines) from, struct TYPED(adjoint_lines) x, int64_t lines,
    ELEMENT scale, bool doubled, ELEMENT *work) {
    const int64_t size = plan->size, step = x.step;
    ELEMENT *re = work, *im = work + size * lines, *rest = work + 2 * size * lines;
    const struct TYPED(adjoint_lines) exchanged = {im, re, lines, 1};
    if (size < plan->n) {
        const struct TYPED(adjoint_lines) pairs = {x.re + step, x.re, 2 * step, x.across};
        TYPED(adjoint_pack_half)(plan, from, re, im, lines, doubled);
        TYPED(adjoint_transform_lines)(plan, exchanged, pairs, lines, scale, rest);
        return;
    }
    const ELEMENT share = doubled ? 1 : (ELEMENT)0.5;
    for (int64_t k = 0; 2 * k < size; k++) {
        for (int64_t g = 0; g < lines; g++) {
            const int64_t at = k * from.step + g * from.across, high = (size - k) * lines + g;
            re[k * lines + g] = k ? share * from.re[at] : from.re[at];
            im[k * lines + g] = k ? share * from.im[at] : 0;
            if (k) {
                re[high] = share * from.re[at];
                im[high] = -(share * from.im[at]);
            }
        }
    }
    const struct TYPED(adjoint_lines) real = {NULL, x.re, step, x.across};
    TYPED(adjoint_transform_lines)(plan, exchanged, real, lines, scale, rest);
}

/* ---- batches ---- */

/* Transforms units begin <= u < end of a batch of outer * inner lines, along the middle one of three axes of the sizes outer, length, inner.

   kind      0: complex to complex; 1: its inverse; 2: real to half spectrum; 3: half spectrum to real
   doubled   for kinds 2 and 3, see there
   root      the power of 1 / sqrt(n) by which the result is multiplied: 0, 1 or 2
   together  how many lines are transformed together
   units     among which the groups of so many lines are shared; for each there are `room` numbers of `work` */
static void TYPED(adjoint_fourier_batch)(
    const void *x, void *out, ELEMENT *table, ELEMENT *work, int64_t kind, int64_t doubled, int64_t root, int64_t n, int64_t size,
    int64_t m, int64_t rows, int64_t outer, int64_t inner, int64_t together, int64_t units, int64_t room, int64_t begin, int64_t end) {
    const struct TYPED(adjoint_transform) plan = TYPED(adjoint_transform_of)(table, n, size, m, rows);
    const ELEMENT scale = (ELEMENT)(root == 2 ? 1.0 / (double)n : root == 1 ? 1.0 / sqrt((double)n) : 1.0);
    const int64_t width = inner > 1 ? (inner + together - 1) / together : 1;
    const int64_t groups = inner > 1 ? outer * width : (outer + together - 1) / together;
    /* What is read and what is written: numbers for each element, and elements in a line. */
    const int64_t parts = kind == 2 ? 1 : 2, out_parts = kind == 3 ? 1 : 2;
    const int64_t length = kind == 3 ? n / 2 + 1 : n, out_length = kind == 2 ? n / 2 + 1 : n;
    for (int64_t unit = begin; unit < end; unit++) {
        for (int64_t group = unit * groups / units; group < (unit + 1) * groups / units; group++) {
            const int64_t first = inner > 1 ? group % width * together : group * together, block = inner > 1 ? group / width * inner : 0;
            const int64_t left = (inner > 1 ? inner : outer) - first, lines = left < together ? left : together;
            const int64_t at = inner > 1 ? block * length + first : first * length;
            const int64_t out_at = inner > 1 ? block * out_length + first : first * out_length;
            ELEMENT *source = (ELEMENT *)x + parts * at, *target = (ELEMENT *)out + out_parts * out_at;
            struct TYPED(adjoint_lines) from = {source, parts == 2 ? source + 1 : NULL, parts * inner,
                                                parts * (inner > 1 ? 1 : length)};
            struct TYPED(adjoint_lines) to = {target, out_parts == 2 ? target + 1 : NULL, out_parts * inner,
                                              out_parts * (inner > 1 ? 1 : out_length)};
            ELEMENT *memory = work + begin * room; /* that of the first unit of this range: the others of the range come after it */
            if (kind == 2) {
                TYPED(adjoint_transform_real)(&plan, from, to, lines, scale, doubled, memory);
            } else if (kind == 3) {
                TYPED(adjoint_transform_half)(&plan, from, to, lines, scale, doubled, memory);
            } else {
                if (kind == 1) {
                    ELEMENT *exchanged = from.re;
                    from.re = from.im;
                    from.im = exchanged;
                    exchanged = to.re;
                    to.re = to.im;
                    to.im = exchanged;
                }
                TYPED(adjoint_transform_lines)(&plan, from, to, lines, scale, memory);
            }
        }
    }
}

#undef PASS_PARAMETERS
#undef COPIED
#undef PLACES
#undef PAIRS
#undef ROUNDS
#undef BOTH
#undef ROOT
#undef INPUT
#undef NEIGHBOURS
