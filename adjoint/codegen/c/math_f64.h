/* Elementary functions of double: the sister of math_f32.h, whose introduction holds here too.

   The error in the comment over a function is the largest one found among 10^7 arguments, random ones in every binade
   and others around the places where the computation changes its course, against results of 113 bits. */

#ifndef ADJOINT_MATH_F64_H
#define ADJOINT_MATH_F64_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* a * b + c, rounded once where the machine can do so in one instruction. */
#ifndef ADJOINT_FMA_F64
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define ADJOINT_FMA_F64(a, b, c) fma(a, b, c)
#else
#define ADJOINT_FMA_F64(a, b, c) ((a) * (b) + (c))
#endif
#endif

/* x * y as the only term of a sum that begins with 0, in the way of a matrix product: -0 only by underflow. */
static inline double adjoint_term_f64(double x, double y) {
    return ADJOINT_FMA_F64(x, y, 0.0);
}

/* x * y as a further term of such a sum. */
static inline double adjoint_next_term_f64(double x, double y, double sum) {
    return ADJOINT_FMA_F64(x, y, sum);
}

/* Adding this to |x| < 2^51 rounds x to an integer, whose two's complement is then in the low bits of the sum. */
#define ADJOINT_ROUND_F64 0x1.8p52

/* ln 2 in two parts. The first has 41 bits, so that its products with exponents are exact. */
#define ADJOINT_LN2_HIGH_F64 0x1.62e42fefa2p-1
#define ADJOINT_LN2_LOW_F64 0x1.9ef35793c7673p-41

/* ---- sums and products with what their rounding lost ---- */

static inline double adjoint_exact_sum_f64(double a, double b, double *lost) {
    double sum = a + b, b_rounded = sum - a;
    *lost = (a - (sum - b_rounded)) + (b - b_rounded);
    return sum;
}

/* The same for |a| >= |b|, or a = 0. */
static inline double adjoint_exact_ordered_sum_f64(double a, double b, double *lost) {
    double sum = a + b;
    *lost = b - (sum - a);
    return sum;
}

/* Without fused multiply-add: by halves of 26 bits, whose products are exact (Dekker, Veltkamp). */
static inline double adjoint_exact_product_f64(double a, double b, double *lost) {
    double product = a * b;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    *lost = fma(a, b, -product);
#else
    double a_scaled = a * 0x1.0000002p27, a_high = a_scaled - (a_scaled - a), a_low = a - a_high;
    double b_scaled = b * 0x1.0000002p27, b_high = b_scaled - (b_scaled - b), b_low = b - b_high;
    *lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
#endif
    return product;
}

/* ---- exponential family ---- */

/* `x`, or the limit that it is beyond, or NaN. Both limits are compared with x, lest compilers make branches of it. */
static inline double adjoint_between_f64(double x, double least, double most) {
    double bounded = x > most ? most : x;
    return x < least ? least : bounded;
}

/* 2^n, where `biased` is n + 1023 + a multiple of 2^12. */
static inline double adjoint_power_of_two_f64(uint64_t biased) {
    return adjoint_double_of_bits(biased << 52);
}

/* value * 2^n, where `biased` is n + 2046 + a multiple of 2^13 and 2^n need not be a double: by two powers, of which
   only the last rounds. */
static inline double adjoint_scale_f64(double value, uint64_t biased) {
    uint64_t half = biased >> 1;
    return value * adjoint_power_of_two_f64(half) * adjoint_power_of_two_f64(biased - half);
}

/* e^x = 2^n * e^r, n being the integer nearest to x / ln 2. r is `*high` - n * ADJOINT_LN2_LOW_F64, |r| < 0.35, and
   `*high` is exact. Returns the bits of n + `bias` + ADJOINT_ROUND_F64. */
static inline uint64_t adjoint_reduce_exp_f64(double x, double bias, double *n, double *high) {
    double rounding = ADJOINT_ROUND_F64 + bias;
    double rounded = ADJOINT_FMA_F64(x, 0x1.71547652b82fep+0, rounding);
    *n = rounded - rounding;
    *high = ADJOINT_FMA_F64(-*n, ADJOINT_LN2_HIGH_F64, x);
    return adjoint_bits_of_double(rounded);
}

/* (e^r - 1 - r) / r^2 for |r| < 0.35, to 2^-57 of e^r, from its even and its odd terms. */
static inline double adjoint_exp_tail_f64(double r, double square) {
    double even = 2.763047023380613e-07, odd = 2.5011238341901677e-08;
    even = ADJOINT_FMA_F64(even, square, 2.480149242093023e-05);
    odd = ADJOINT_FMA_F64(odd, square, 2.7557549908276837e-06);
    even = ADJOINT_FMA_F64(even, square, 0.001388888894436099);
    odd = ADJOINT_FMA_F64(odd, square, 0.00019841269549001752);
    even = ADJOINT_FMA_F64(even, square, 0.04166666666652693);
    odd = ADJOINT_FMA_F64(odd, square, 0.008333333333473953);
    even = ADJOINT_FMA_F64(even, square, 0.5000000000000011);
    odd = ADJOINT_FMA_F64(odd, square, 0.16666666666666446);
    return ADJOINT_FMA_F64(odd, r, even);
}

/* e^(r + cut) for |r| < 0.35 and a `cut` below its last place, as a sum of two doubles. */
static inline double adjoint_exp_near_zero_f64(double r, double cut, double *low) {
    double lost, sum = adjoint_exact_ordered_sum_f64(1, r, &lost), square = r * r;
    return adjoint_exact_ordered_sum_f64(sum, ADJOINT_FMA_F64(square, adjoint_exp_tail_f64(r, square), cut) + lost, low);
}

/* e^x = 2^n * (1 + t). Returns t; 2^(n + shift) goes to `*power`, and must be a normal number. */
static inline double adjoint_exp_split_f64(double x, double shift, double *power) {
    double n, high;
    *power = adjoint_power_of_two_f64(adjoint_reduce_exp_f64(x, 1023 + shift, &n, &high));
    double r = ADJOINT_FMA_F64(-n, ADJOINT_LN2_LOW_F64, high), square = r * r;
    return ADJOINT_FMA_F64(square, adjoint_exp_tail_f64(r, square), r);
}

/* e^x * 2^shift for -746 <= x <= 711. What the sum 1 + r loses is put back. */
static inline double adjoint_shifted_exp_f64(double x, double shift) {
    double n, high;
    uint64_t biased = adjoint_reduce_exp_f64(x, 2046 + shift, &n, &high);
    double r = ADJOINT_FMA_F64(-n, ADJOINT_LN2_LOW_F64, high), square = r * r;
    double lost, sum = adjoint_exact_ordered_sum_f64(1, high, &lost);
    double rest = ADJOINT_FMA_F64(-n, ADJOINT_LN2_LOW_F64, lost);
    return adjoint_scale_f64(sum + ADJOINT_FMA_F64(square, adjoint_exp_tail_f64(r, square), rest), biased);
}

/* e^x. Error 0.8. */
static inline double adjoint_exp_f64(double x) {
    /* Above 710 it is infinite. Below -746 it is 0; a product that is too small for a double would take a processor 100 times as long. */
    double power = adjoint_shifted_exp_f64(adjoint_between_f64(x < -746 ? 0 : x, -746, 710), 0);
    return x < -746 ? 0 : power;
}

/* e^x / 2 for x >= 0, finite as far as sinh and cosh are. */
static inline double adjoint_half_exp_f64(double x) {
    return adjoint_shifted_exp_f64(x > 711 ? 711 : x, -1);
}

/* 2^x. Error 0.8. */
static inline double adjoint_exp2_f64(double x) {
    double bounded = adjoint_between_f64(x, -1100, 1100);
    double rounded = bounded + (ADJOINT_ROUND_F64 + 2046);
    double fraction = bounded - (rounded - (ADJOINT_ROUND_F64 + 2046)), cut, low;
    double r = adjoint_exact_product_f64(fraction, 0x1.62e42fefa39efp-1, &cut);
    cut = ADJOINT_FMA_F64(fraction, 0x1.abc9e3b39803fp-56, cut);
    return adjoint_scale_f64(adjoint_exp_near_zero_f64(r, cut, &low), adjoint_bits_of_double(rounded));
}

/* e^x - 1 = (2^n - 1) + 2^n * r + 2^n * r^2 * q(r); what the first sum loses is put back. Error 1.1. */
static inline double adjoint_expm1_f64(double x) {
    double n, high;
    /* Beyond -50 and 710 the result is -1 or infinite. */
    uint64_t biased = adjoint_reduce_exp_f64(adjoint_between_f64(x, -50, 710), 1023, &n, &high);
    double r = ADJOINT_FMA_F64(-n, ADJOINT_LN2_LOW_F64, high);
    double cut = ADJOINT_FMA_F64(-n, ADJOINT_LN2_LOW_F64, high - r);
    double overflow = n > 1023 ? 2 : 1; /* 2^1024 is not a double: double the half of it */
    double scale = adjoint_power_of_two_f64(n > 1023 ? biased - 1 : biased);
    /* (e^r - 1 - r) / r^2, to 2^-61 of e^r - 1 */
    double q = 2.0928966041796496e-09;
    q = ADJOINT_FMA_F64(q, r, 2.5109285604658425e-08);
    q = ADJOINT_FMA_F64(q, r, 2.7557232158261406e-07);
    q = ADJOINT_FMA_F64(q, r, 2.7557243535544846e-06);
    q = ADJOINT_FMA_F64(q, r, 2.4801587367527973e-05);
    q = ADJOINT_FMA_F64(q, r, 0.00019841269886753846);
    q = ADJOINT_FMA_F64(q, r, 0.001388888888886668);
    q = ADJOINT_FMA_F64(q, r, 0.0083333333333214);
    q = ADJOINT_FMA_F64(q, r, 0.04166666666666669);
    q = ADJOINT_FMA_F64(q, r, 0.16666666666666677);
    q = ADJOINT_FMA_F64(q, r, 0.5);
    double tail = ADJOINT_FMA_F64(r * r, q, cut);
    double one = 1 / overflow, first = scale - one, second = scale * r;
    double sum = first + second, lost = second - (sum - first) + ((scale - first) - one);
    double result = (sum + ADJOINT_FMA_F64(scale, tail, lost)) * overflow;
    return copysign(result, x);
}

/* 1 / (1 + e^-x), both terms times 2^-64, which keeps e^-x finite. What their sum loses is put back. Error 1.75. */
static inline double adjoint_sigmoid_f64(double x) {
    double power, t = adjoint_exp_split_f64(-adjoint_between_f64(x, -746, 40), -64, &power); /* beyond it is 0 or 1 */
    double sum = power + 0x1p-64, lost = 0x1p-64 - (sum - power);
    return 0x1p-64 / (sum + ADJOINT_FMA_F64(t, power, lost));
}

/* tanh x: x + x^3 p(x^2) below 0.6, above 1 - 2 / (e^2x + 1). Error 1.3. */
static inline double adjoint_tanh_f64(double x) {
    double a = fabs(x), z = x * x, square = z * z;
    /* (tanh x / x - 1) / x^2, to 2^-57 of tanh x / x, from its even and its odd terms */
    double even = -1.717978989675003e-05, odd = 7.931616358137391e-05;
    even = ADJOINT_FMA_F64(even, square, -0.0002303988081429815);
    odd = ADJOINT_FMA_F64(odd, square, 0.0005871894303859626);
    even = ADJOINT_FMA_F64(even, square, -0.0014552156918521669);
    odd = ADJOINT_FMA_F64(odd, square, 0.0035920374476754984);
    even = ADJOINT_FMA_F64(even, square, -0.008863226786690019);
    odd = ADJOINT_FMA_F64(odd, square, 0.02186948800335172);
    even = ADJOINT_FMA_F64(even, square, -0.05396825394933568);
    odd = ADJOINT_FMA_F64(odd, square, 0.13333333333299768);
    even = ADJOINT_FMA_F64(even, square, -0.33333333333333126);
    double near = ADJOINT_FMA_F64(a * z, ADJOINT_FMA_F64(odd, z, even), a);
    double power, t = adjoint_exp_split_f64(a > 20 ? 40 : 2 * a, 0, &power); /* from 19.1 on the result is 1 */
    double far = 1 - 2 / ADJOINT_FMA_F64(t, power, power + 1);
    return copysign(a < 0.6 ? near : far, x);
}

/* sinh x, from a polynomial below 1. Error 1.6. */
static inline double adjoint_sinh_f64(double x) {
    double a = fabs(x), z = a > 1 ? 1 : x * x;
    /* (sinh x / x - 1) / x^2, to 2^-61 of sinh x / x */
    double p = 7.776694244998883e-13;
    p = ADJOINT_FMA_F64(p, z, 1.6056657151806755e-10);
    p = ADJOINT_FMA_F64(p, z, 2.5052131012920062e-08);
    p = ADJOINT_FMA_F64(p, z, 2.7557319106722884e-06);
    p = ADJOINT_FMA_F64(p, z, 0.00019841269841593416);
    p = ADJOINT_FMA_F64(p, z, 0.008333333333332912);
    p = ADJOINT_FMA_F64(p, z, 0.16666666666666669);
    double near = ADJOINT_FMA_F64(a * z, p, a);
    double half = adjoint_half_exp_f64(a);
    return copysign(a < 1 ? near : half - 0.25 / half, x);
}

/* cosh x. Error 1.15. */
static inline double adjoint_cosh_f64(double x) {
    double half = adjoint_half_exp_f64(fabs(x));
    return half + 0.25 / half;
}

/* ---- logarithms ---- */

/* ln((1 + f + cut) * 2^exponent) for 1 + f between sqrt(1/2) and sqrt(2), and a `cut` below the last place of f. With
   s = f / (2 + f): ln(1 + f) = 2 artanh s = 2 s + s r, and 2 s = f - f^2 / 2 + s f^2 / 2. */
static inline double adjoint_log_near_one_f64(double f, double cut, double exponent) {
    double s = f / (2 + f), z = s * s;
    /* r / z, to 2^-58 of ln(1 + f) */
    double p = 0.14795814569948623;
    p = ADJOINT_FMA_F64(p, z, 0.1531406878455858);
    p = ADJOINT_FMA_F64(p, z, 0.18183563388707916);
    p = ADJOINT_FMA_F64(p, z, 0.222221985966923);
    p = ADJOINT_FMA_F64(p, z, 0.285714287420872);
    p = ADJOINT_FMA_F64(p, z, 0.39999999999416497);
    p = ADJOINT_FMA_F64(p, z, 0.6666666666666734);
    double half = 0.5 * f * f;
    double tail = ADJOINT_FMA_F64(exponent, ADJOINT_LN2_LOW_F64, cut);
    tail = ADJOINT_FMA_F64(s, ADJOINT_FMA_F64(z, p, half), tail);
    double lost, sum = adjoint_exact_ordered_sum_f64(exponent * ADJOINT_LN2_HIGH_F64, f, &lost);
    return sum + ((tail - half) + lost);
}

/* x = m * 2^n with m between sqrt(1/2) and sqrt(2), for a positive normal x. Returns m; n + 1023 goes to `*biased`. */
static inline double adjoint_split_f64(double x, uint64_t *biased) {
    uint64_t bits = adjoint_bits_of_double(x);
    *biased = (bits - 0x3fe6a09e667f3bcd + (1023ull << 52)) >> 52; /* bits of sqrt(1/2) */
    return adjoint_double_of_bits(bits - (*biased << 52) + (1023ull << 52));
}

/* The double n, for n + 1023. */
static inline double adjoint_exponent_f64(uint64_t biased) {
    return adjoint_double_of_bits(biased | 0x4330000000000000) - (0x1p52 + 1023);
}

/* ln x. Error 0.9. */
static inline double adjoint_log_f64(double x) {
    uint64_t biased;
    double m = adjoint_split_f64(x < 0x1p-1022 ? x * 0x1p54 : x, &biased);
    double exponent = adjoint_exponent_f64(biased) - (x < 0x1p-1022 ? 54 : 0);
    double result = adjoint_log_near_one_f64(m - 1, 0, exponent);
    result = x < (double)INFINITY ? result : x; /* infinity, NaN */
    result = x < 0 ? (double)NAN : result;
    return x == 0 ? -(double)INFINITY : result;
}

/* ln(1 + x + low) for -1 < x < infinity and a `low` below the last place of x. What the rounding of 1 + x cut off is put
   back. */
static inline double adjoint_log1p_inside_f64(double x, double low) {
    double u = 1 + x;
    double cut = (x > 1 ? 1 - (u - x) : x - (u - 1)) + low;
    uint64_t biased;
    double m = adjoint_split_f64(u, &biased), exponent = adjoint_exponent_f64(biased);
    cut *= exponent < 60 ? adjoint_double_of_bits((2046 - biased) << 52) : 0;
    double f = (m - 1) + cut; /* is x if the exponent is 0 */
    cut -= f - (m - 1);
    return adjoint_log_near_one_f64(f, cut, exponent);
}

/* ln(1 + x). Error 0.95. */
static inline double adjoint_log1p_f64(double x) {
    double result = adjoint_log1p_inside_f64(x, 0);
    result = x < (double)INFINITY ? result : x;
    result = x < -1 ? (double)NAN : result;
    result = x == -1 ? -(double)INFINITY : result;
    return copysign(result, x);
}

/* ln(1 + e^x), which never overflows. Error 1.5. */
static inline double adjoint_softplus_f64(double x) {
    return (x > 0 ? x : 0) + adjoint_log1p_inside_f64(adjoint_exp_f64(-fabs(x)), 0);
}

/* log2 a for a >= 0 as a sum of two doubles, to 2^-64: with s = (m - 1) / (m + 1) and z = s^2,
   log2 m = s * (c0 + c1 z + z^2 p(z)), where c0 and c1 z, and s itself, are sums of two doubles too. */
static inline double adjoint_log2_parts_f64(double a, double *low) {
    uint64_t biased;
    double m = adjoint_split_f64(a < 0x1p-1022 ? a * 0x1p54 : a, &biased);
    double exponent = adjoint_exponent_f64(biased) - (a < 0x1p-1022 ? 54 : 0);

    double below_low, below = adjoint_exact_ordered_sum_f64(1, m, &below_low);
    double s = (m - 1) / below;
    double product_low, product = adjoint_exact_product_f64(s, below, &product_low);
    double s_low = (((m - 1) - product) - product_low - s * below_low) / below;
    double z_low, z = adjoint_exact_product_f64(s, s, &z_low);
    z_low = ADJOINT_FMA_F64(2 * s, s_low, z_low);

    /* p, to 2^-66 of log2 m */
    double p = 0.1903856285174252;
    p = ADJOINT_FMA_F64(p, z, 0.1912551447723568);
    p = ADJOINT_FMA_F64(p, z, 0.22198399821655526);
    p = ADJOINT_FMA_F64(p, z, 0.2623077011205034);
    p = ADJOINT_FMA_F64(p, z, 0.32059890227357224);
    p = ADJOINT_FMA_F64(p, z, 0.4121985830919401);
    p = ADJOINT_FMA_F64(p, z, 0.577078016355618);
    double w_low, w = adjoint_exact_ordered_sum_f64(0x1.ec709dc3a03fdp-1, z * p, &w_low); /* c1 + z p */
    w_low += 0x1.d27f05548af0cp-55;
    double v_low, v = adjoint_exact_product_f64(z, w, &v_low); /* z (c1 + z p) */
    v_low += z * w_low + z_low * w;
    double g_low, g = adjoint_exact_ordered_sum_f64(0x1.71547652b82fep+1, v, &g_low); /* c0 + v */
    g_low += v_low + 0x1.777d0ffda0d24p-55;
    double log_low, log = adjoint_exact_product_f64(s, g, &log_low);
    log_low += s * g_low + s_low * g;

    double sum_low, sum = adjoint_exact_ordered_sum_f64(exponent, log, &sum_low);
    double result = adjoint_exact_ordered_sum_f64(sum, sum_low + log_low, low);
    result = a == 0 ? -(double)INFINITY : result;
    return a < (double)INFINITY ? result : a; /* infinity, NaN */
}

/* log2 x. Error 0.55. */
static inline double adjoint_log2_f64(double x) {
    double low, result = adjoint_log2_parts_f64(x, &low);
    return x < 0 ? (double)NAN : result;
}

/* log10 x. Error 0.55. */
static inline double adjoint_log10_f64(double x) {
    double low, high = adjoint_log2_parts_f64(x, &low);
    double lost, product = adjoint_exact_product_f64(high, 0x1.34413509f79ffp-2, &lost);
    double result = product + (lost + (low * 0x1.34413509f79ffp-2 - high * 0x1.9dc1da994fd21p-59));
    result = fabs(high) < (double)INFINITY ? result : high;
    return x < 0 ? (double)NAN : result;
}

/* The C library's pow, as a call: of a constant compilers make other things, such as x * x. */
static inline double adjoint_library_pow_f64(double x, double y) {
    volatile double base = x, exponent = y;
    return pow(base, exponent);
}

/* x^y, as 2^(y log2 |x|), with the sign that belongs to it. Error 0.8.
   x * x for y = 2, x for y = 1; 1 for y = 0 and for x = 1, whatever the other is; NaN for a negative x and a y that is not an integer. */
static inline double adjoint_pow_f64(double x, double y) {
    double size = fabs(y), low, high = adjoint_log2_parts_f64(fabs(x), &low);
    double bounded = y > 0x1p65 ? 0x1p65 : y < -0x1p65 ? -0x1p65 : y; /* beyond, all is 0, 1 or infinite */
    double t_low, t = adjoint_exact_product_f64(bounded, high, &t_low);
    t_low = ADJOINT_FMA_F64(bounded, low, t_low);
    t_low = fabs(t) < 1100 ? t_low : 0;
    t = t > 1100 ? 1100 : t < -1100 ? -1100 : t;

    double rounded = t + (ADJOINT_ROUND_F64 + 2046);
    double fraction = t - (rounded - (ADJOINT_ROUND_F64 + 2046)), cut, power_low;
    double r = adjoint_exact_product_f64(fraction, 0x1.62e42fefa39efp-1, &cut);
    cut += fraction * 0x1.abc9e3b39803fp-56 + t_low * 0x1.62e42fefa39efp-1;
    r = adjoint_exact_ordered_sum_f64(r, cut, &cut);
    double result = adjoint_scale_f64(adjoint_exp_near_zero_f64(r, cut, &power_low), adjoint_bits_of_double(rounded));

    /* |y| is an integer if rounding changes nothing, and even if rounding |y| / 2 changes nothing */
    int integer = (size >= 0x1p52) | ((size + 0x1p52) - 0x1p52 == size);
    int even = (size >= 0x1p53) | ((0.5 * size + 0x1p52) - 0x1p52 == 0.5 * size);
    int odd = integer & !even;
    result = odd ? copysign(result, x) : result;
    result = ((x < 0) & (x > -(double)INFINITY) & !integer) ? (double)NAN : result;
    result = y == 2 ? x * x : y == 1 ? x : result;
    return ((y == 0) | (x == 1)) ? 1 : result;
}

/* high + low, or high where that is infinite, NaN or 0 */
static inline double adjoint_completed_f64(double high, double low) {
    return ((fabs(high) <= 0x1.fffffffffffffp+1023) & (high != 0)) ? high + low : high;
}

/* x^y for the y that programs write most often: products, quotients and roots, to whose results what rounding has lost is
   added. Error 0.55. */
static inline double adjoint_cube_f64(double x) {
    double square_low, square = adjoint_exact_product_f64(x, x, &square_low);
    double low, cube = adjoint_exact_product_f64(square, x, &low);
    return adjoint_completed_f64(cube, ADJOINT_FMA_F64(square_low, x, low));
}

static inline double adjoint_fourth_power_f64(double x) {
    double square_low, square = adjoint_exact_product_f64(x, x, &square_low);
    double low, power = adjoint_exact_product_f64(square, square, &low);
    return adjoint_completed_f64(power, ADJOINT_FMA_F64(2 * square, square_low, low));
}

static inline double adjoint_inverse_f64(double x) { return 1 / x; }

static inline double adjoint_inverse_square_f64(double x) {
    double inverse = 1 / x, one_low, one = adjoint_exact_product_f64(inverse, x, &one_low);
    double low, square = adjoint_exact_product_f64(inverse, inverse, &low);
    return adjoint_completed_f64(square, ADJOINT_FMA_F64(2 * square, (1 - one) - one_low, low));
}

/* Unlike sqrt, 0 for -0 and infinity for -infinity. */
static inline double adjoint_square_root_f64(double x) {
    double root = sqrt(fabs(x));
    return ((x < 0) & (x > -(double)INFINITY)) ? (double)NAN : root;
}

/* Error 1 for subnormal x. */
static inline double adjoint_inverse_root_f64(double x) {
    double size = fabs(x), root = sqrt(size), square_low, square = adjoint_exact_product_f64(root, root, &square_low);
    double inverse = 1 / root, one_low, one = adjoint_exact_product_f64(inverse, root, &one_low);
    double missing = ((1 - one) - one_low) - 0.5 * (((size - square) - square_low) / size);
    double result = adjoint_completed_f64(inverse, inverse * missing);
    return ((x < 0) & (x > -(double)INFINITY)) ? (double)NAN : result;
}

/* arsinh x = ln(x + sqrt(x^2 + 1)); for large x, where adding 1 changes nothing, ln x + ln 2. Error 1.7. */
static inline double adjoint_asinh_f64(double x) {
    double a = fabs(x), z = a > 0x1p60 ? 0 : x * x;
    double inside = a + z / (1 + sqrt(1 + z)); /* for large a: a */
    double result = adjoint_log1p_f64(inside) + (a > 0x1p60 ? 0x1.62e42fefa39efp-1 : 0);
    return copysign(result, x);
}

/* arcosh x = ln(1 + t + sqrt(2 t + t^2)) with t = x - 1, the root and the sum with what their rounding lost; for large x
   ln x + ln 2. Error 1.0. */
static inline double adjoint_acosh_f64(double x) {
    int large = x > 0x1p60;
    double t = large ? 1 : x - 1;
    double square_low, square = adjoint_exact_product_f64(t, t, &square_low);
    double inside_low, inside = adjoint_exact_sum_f64(2 * t, square, &inside_low);
    double root = sqrt(inside), product_low, product = adjoint_exact_product_f64(root, root, &product_low);
    double root_low = ((inside - product) - product_low + (inside_low + square_low)) / (2 * root);
    double sum_low, sum = adjoint_exact_ordered_sum_f64(root, t, &sum_low);
    double low = t > 0 && !large ? sum_low + root_low : 0; /* the root of 0 has lost nothing */
    double result = adjoint_log1p_inside_f64(large ? x : sum, low) + (large ? 0x1.62e42fefa39efp-1 : 0);
    result = x < (double)INFINITY ? result : x;
    return x < 1 ? (double)NAN : result;
}

/* artanh x = ln((1 + x) / (1 - x)) / 2. Error 1.95. */
static inline double adjoint_atanh_f64(double x) {
    double a = fabs(x);
    double result = copysign(0.5 * adjoint_log1p_f64(2 * a / (1 - a)), x);
    return a > 1 ? (double)NAN : result;
}

/* ---- trigonometry, for arguments of any size ---- */

/* 1 / (2 pi) * 2^(32 i) less its integer part, as a sum of four doubles of 53 bits each, end to end. */
static const double adjoint_turns_f64[31][4] = {
    {0x1.45f306dc9c88p-3, 0x1.529fc2757d1f5p-54, 0x1.a6ee06db14accp-109, 0x1.3c439041fe514p-162},
    {0x1.27220a94fe13ap-1, 0x1.7d1f534ddc0dbp-54, 0x1.8a5664f10e41p-108, 0x1.fe5163abdebbcp-162},
    {0x1.fc2757d1f534cp-2, 0x1.dc0db6295993cp-54, 0x1.0e4107f9458eap-108, 0x1.ef5de2b0db922p-161},
    {0x1.f534ddc0db628p-2, 0x1.5993c439041fep-54, 0x1.458eaf7aef158p-108, 0x1.b7246e3a424dcp-162},
    {0x1.b6c52b327887p-3, 0x1.041fe5163abdep-54, 0x1.778ac36e48dc7p-107, 0x1.2126e97003248p-161},
    {0x1.3c439041fe516p-2, 0x1.d5ef5de2b0db8p-57, 0x1.2371d2126e97p-109, 0x1.924bba82746p-168},
    {0x1.fe5163abdebbcp-2, 0x1.586dc91b8e908p-56, 0x1.374b801924bbap-108, 0x1.04e8c90e7f0eep-161},
    {0x1.ef5de2b0db923p-1, 0x1.c74849ba5c00cp-55, 0x1.24bba82746486p-108, 0x1.3f877ac72c4a6p-160},
    {0x1.b7246e3a424dcp-2, 0x1.2e006492eea09p-54, 0x1.a32439fc3bd63p-107, 0x1.2c4a69cfba208p-160},
    {0x1.2126e97003249p-1, 0x1.dd413a32439fcp-55, 0x1.deb1cb129a738p-110, 0x1.ba208d7d4baedp-160},
    {0x1.924bba82746p-8, 0x1.21cfe1deb1cb1p-54, 0x1.4d39f74411af8p-109, 0x1.4baed1213a671p-160},
    {0x1.04e8c90e7f0efp-1, 0x1.63962534e7ddp-55, 0x1.046bea5d7689p-107, 0x1.3a671c09ad17dp-160},
    {0x1.fc3bd63962534p-3, 0x1.cfba208d7d4b8p-56, 0x1.768909d338e04p-107, 0x1.ad17df904e647p-160},
    {0x1.62534e7dd1044p-3, 0x1.5f52ebb4484e9p-54, 0x1.38e04d68befc8p-107, 0x1.3991d6398353p-162},
    {0x1.74411afa975dap-1, 0x1.213a671c09adp-56, 0x1.7df904e64758ep-108, 0x1.835339f49c844p-162},
    {0x1.2ebb4484e99c6p-2, 0x1.026b45f7e4139p-54, 0x1.23ac7306a673ep-107, 0x1.272117e2ef7e4p-160},
    {0x1.d338e04d68becp-3, 0x1.e413991d63983p-54, 0x1.4ce7d272117e2p-108, 0x1.defc941d8ffc4p-161},
    {0x1.5a2fbf209cc8ep-1, 0x1.639835339f49cp-54, 0x1.08bf177bf2507p-107, 0x1.8ffc4bffef02cp-161},
    {0x1.3991d63983532p-2, 0x1.9f49c845f8bbdp-54, 0x1.f250763ff12ffp-107, 0x1.f7816603fbcbcp-160},
    {0x1.835339f49c844p-2, 0x1.f8bbdf9283b1fp-54, 0x1.f12fffbc0b301p-107, 0x1.fbcbc462d6829p-160},
    {0x1.3908bf177bf24p-3, 0x1.0763ff12fffbcp-55, 0x1.6603fbcbc462p-112, 0x1.ad05368fb69b2p-161},
    {0x1.defc941d8ffc4p-1, 0x1.7ffde05980fefp-54, 0x1.788c5ad05368cp-109, 0x1.db4d9fb3c9f2cp-160},
    {0x1.8ffc4bffef02cp-1, 0x1.80fef2f118b5ap-54, 0x1.4da3eda6cfd9p-111, 0x1.c9f2c26dd3d18p-160},
    {0x1.ef02cc07f7978p-1, 0x1.18b5a0a6d1f6dp-54, 0x1.b3f6793e584d8p-109, 0x1.d3d18fd9a797fp-160},
    {0x1.f79788c5ad053p-1, 0x1.a3eda6cfd9e4ep-55, 0x1.96136e9e8c7ecp-107, 0x1.a797fa8b5d49ep-160},
    {0x1.ad05368fb69b3p-1, 0x1.ecf27cb09b74fp-54, 0x1.18fd9a797fa8ap-108, 0x1.5d49eeb1faf97p-160},
    {0x1.b69b3f6793e58p-1, 0x1.36e9e8c7ecd3cp-55, 0x1.7fa8b5d49eebp-108, 0x1.faf97c5ecf41cp-160},
    {0x1.93e584dba7a31p-1, 0x1.f669e5fea2d75p-54, 0x1.3dd63f5f2f8bcp-109, 0x1.9e839cfbc5294p-161},
    {0x1.a7a31fb34f2ffp-1, 0x1.45aea4f758fd6p-55, 0x1.cbe2f67a0e73ep-107, 0x1.e294a4ba9afedp-160},
    {0x1.4f2ff516ba93dp-1, 0x1.ac7ebe5f17b3dp-54, 0x1.ce7de294a4bap-112, 0x1.35fdafd88fc6ap-161},
    {0x1.7527bac7ebe5ep-2, 0x1.17b3d0739f78ap-54, 0x1.4a4ba9afed7ecp-108, 0x1.1f8d5d085603p-162},
};

/* x in quarter turns, x / (pi / 2), less the nearest integer, as an angle r + `*low` in radians. The two lowest bits of
   the integer go to `*quarter`.

   Large x is scaled by 2^(-32 i) to below 2^85, which leaves it an integer. So whole turns can be taken out of
   2^(32 i) / (2 pi) beforehand, and what is left of it fits in four doubles (Payne and Hanek). The four products with x
   are kept with their rounding errors; the first terms, of which only the fraction counts, may be as large as 2^85. */
static inline double adjoint_quarters_f64(double x, double *low, uint64_t *quarter) {
    double a = fabs(x);
    uint64_t exponent = adjoint_bits_of_double(a + 0x1p53) >> 52; /* that of a, but at least 53 */
    uint64_t i = (exponent - (1023 + 53)) >> 5;
    double t = a * adjoint_double_of_bits((1023 - 32 * i) << 52);

    double first_low, first = adjoint_exact_product_f64(t, adjoint_turns_f64[i][0], &first_low);
    double second_low, second = adjoint_exact_product_f64(t, adjoint_turns_f64[i][1], &second_low);
    double third_low, third = adjoint_exact_product_f64(t, adjoint_turns_f64[i][2], &third_low);
    double fourth = t * adjoint_turns_f64[i][3];

    first = first < 0x1p52 ? first - ((first + 0x1p52) - 0x1p52) : 0; /* from 2^52 on it is an integer */
    first_low -= (first_low + ADJOINT_ROUND_F64) - ADJOINT_ROUND_F64;
    second -= (second + ADJOINT_ROUND_F64) - ADJOINT_ROUND_F64;
    double sum_low, sum = adjoint_exact_sum_f64(first, first_low, &sum_low);
    double next_low, next = adjoint_exact_sum_f64(sum, second, &next_low);
    next -= (next + ADJOINT_ROUND_F64) - ADJOINT_ROUND_F64;
    double tail_low, tail = adjoint_exact_sum_f64(second_low, third, &tail_low);
    double turn_low, turn = adjoint_exact_sum_f64(next, tail, &turn_low);
    turn_low += sum_low + next_low + tail_low + (third_low + fourth);

    double rounded = 4 * turn + ADJOINT_ROUND_F64;
    double fraction_low, fraction = 4 * turn - (rounded - ADJOINT_ROUND_F64);
    fraction = adjoint_exact_ordered_sum_f64(fraction, 4 * turn_low, &fraction_low);
    double angle_low, angle = adjoint_exact_product_f64(fraction, 0x1.921fb54442d18p+0, &angle_low);
    angle_low += fraction * 0x1.1a62633145c07p-54 + fraction_low * 0x1.921fb54442d18p+0;

    uint64_t negative = adjoint_bits_of_double(x) >> 63 << 63;
    uint64_t quarters = adjoint_bits_of_double(rounded);
    *quarter = (quarters ^ -(negative >> 63)) + (negative >> 63); /* the sign of x */
    *low = adjoint_double_of_bits(adjoint_bits_of_double(angle_low) ^ negative);
    return adjoint_double_of_bits(adjoint_bits_of_double(angle) ^ negative);
}

/* sin(r + low) and cos(r + low) for |r| <= pi / 4 and a small `low`, to 2^-57 and 2^-64. What the last sum cut off
   goes to `*lost`. */
static inline double adjoint_sin_near_zero_f64(double r, double low, double *lost) {
    double z = r * r;
    double p = 1.5895822003155916e-10;
    p = ADJOINT_FMA_F64(p, z, -2.505074012266279e-08);
    p = ADJOINT_FMA_F64(p, z, 2.7557313567963977e-06);
    p = ADJOINT_FMA_F64(p, z, -0.00019841269829419175);
    p = ADJOINT_FMA_F64(p, z, 0.00833333333332188);
    p = ADJOINT_FMA_F64(p, z, -0.1666666666666663);
    return adjoint_exact_ordered_sum_f64(r, ADJOINT_FMA_F64(r * z, p, low * (1 - 0.5 * z)), lost);
}

static inline double adjoint_cos_near_zero_f64(double r, double low, double *lost) {
    double z = r * r;
    double p = -1.1359934533055106e-11;
    p = ADJOINT_FMA_F64(p, z, 2.0875729285046085e-09);
    p = ADJOINT_FMA_F64(p, z, -2.755731440104858e-07);
    p = ADJOINT_FMA_F64(p, z, 2.4801587289671564e-05);
    p = ADJOINT_FMA_F64(p, z, -0.0013888888888874474);
    p = ADJOINT_FMA_F64(p, z, 0.0416666666666666);
    double half_lost, half = adjoint_exact_ordered_sum_f64(1, -0.5 * z, &half_lost);
    return adjoint_exact_ordered_sum_f64(half, ADJOINT_FMA_F64(z * z, p, -(r * low)) + half_lost, lost);
}

/* sin of a whole number of quarter turns and an angle r + low. */
static inline double adjoint_sin_turn_f64(uint64_t quarter, double r, double low) {
    double lost, even = adjoint_sin_near_zero_f64(r, low, &lost), odd = adjoint_cos_near_zero_f64(r, low, &lost);
    uint64_t bits = adjoint_bits_of_double(adjoint_select_f64(-(quarter & 1), odd, even));
    return adjoint_double_of_bits(bits ^ (quarter & 2) << 62);
}

/* sin x. Error 0.9. */
static inline double adjoint_sin_f64(double x) {
    uint64_t quarter;
    double low, r = adjoint_quarters_f64(x, &low, &quarter);
    double result = adjoint_sin_turn_f64(quarter, r, low);
    return fabs(x) < 0x1p-27 ? x : result;
}

/* cos x. Error 0.9. */
static inline double adjoint_cos_f64(double x) {
    uint64_t quarter;
    double low, r = adjoint_quarters_f64(x, &low, &quarter);
    double result = adjoint_sin_turn_f64(quarter + 1, r, low);
    return fabs(x) < 0x1p-27 ? 1 : result;
}

/* tan x, a quotient of two sums of two doubles. Error 1.5. */
static inline double adjoint_tan_f64(double x) {
    uint64_t quarter;
    double low, r = adjoint_quarters_f64(x, &low, &quarter);
    double sine_low, sine = adjoint_sin_near_zero_f64(r, low, &sine_low);
    double cosine_low, cosine = adjoint_cos_near_zero_f64(r, low, &cosine_low);
    uint64_t odd = -(quarter & 1);
    double above = adjoint_select_f64(odd, -cosine, sine), above_low = adjoint_select_f64(odd, -cosine_low, sine_low);
    double below = adjoint_select_f64(odd, sine, cosine), below_low = adjoint_select_f64(odd, sine_low, cosine_low);
    double quotient = above / below;
    double result = quotient + (above_low - quotient * below_low) / below;
    return fabs(x) < 0x1p-27 ? x : result;
}

/* arcsin a - a for 0 <= a <= 1/2; z is a^2. */
static inline double adjoint_asin_tail_f64(double a, double z) {
    /* to 2^-59 */
    double p = 0.0326249862427437;
    p = ADJOINT_FMA_F64(p, z, -0.020993278845205677);
    p = ADJOINT_FMA_F64(p, z, 0.021703363028043304);
    p = ADJOINT_FMA_F64(p, z, 0.003708097932813099);
    p = ADJOINT_FMA_F64(p, z, 0.010779798422433207);
    p = ADJOINT_FMA_F64(p, z, 0.01139899562080479);
    p = ADJOINT_FMA_F64(p, z, 0.013980809896991754);
    p = ADJOINT_FMA_F64(p, z, 0.017351612959621034);
    p = ADJOINT_FMA_F64(p, z, 0.022372214930338852);
    p = ADJOINT_FMA_F64(p, z, 0.030381942710052682);
    p = ADJOINT_FMA_F64(p, z, 0.04464285717455744);
    p = ADJOINT_FMA_F64(p, z, 0.07499999999970869);
    p = ADJOINT_FMA_F64(p, z, 0.1666666666666676);
    return a * z * p;
}

/* arcsin x; above 1/2 through arcsin x = pi/2 - 2 arcsin sqrt((1 - x) / 2). Error 1.15. */
static inline double adjoint_asin_f64(double x) {
    double a = fabs(x), z = a > 0.5 ? (1 - a) * 0.5 : a * a;
    double b = a > 0.5 ? sqrt(z) : a;
    double tail = adjoint_asin_tail_f64(b, z);
    double sum = 0x1.921fb54442d18p+0 - 2 * b, lost = (0x1.921fb54442d18p+0 - sum) - 2 * b; /* pi/2 in two parts */
    double far = sum - (2 * tail - (lost + 0x1.1a62633145c07p-54));
    return copysign(a > 0.5 ? far : b + tail, x);
}

/* arccos x. Error 1.15. */
static inline double adjoint_acos_f64(double x) {
    double a = fabs(x), z = a > 0.5 ? (1 - a) * 0.5 : a * a;
    double b = a > 0.5 ? sqrt(z) : a;
    double angle = b + adjoint_asin_tail_f64(b, z);
    double middle = 0x1.921fb54442d18p+0 - (copysign(angle, x) - 0x1.1a62633145c07p-54);
    double left = 0x1.921fb54442d18p+1 - (2 * angle - 0x1.1a62633145c07p-53);
    double far = x < 0 ? left : 2 * angle;
    return a > 0.5 ? far : middle;
}

/* arctan a for a >= 0: turned back by pi/4 above tan(pi/8), by pi/2 above tan(3 pi/8). */
static inline double adjoint_atan_positive_f64(double a) {
    int middle = a > 0.41421356237309503, far = a > 2.414213562373095;
    double above = far ? -1 : middle ? a - 1 : a, below = far ? a : middle ? a + 1 : 1;
    double below_low = middle && !far ? a - (below - 1) : 0;
    double turn = far ? 0x1.921fb54442d18p+0 : middle ? 0x1.921fb54442d18p-1 : 0;
    double turn_low = far ? 0x1.1a62633145c07p-54 : middle ? 0x1.1a62633145c07p-55 : 0;
    double t = above / below, z = t * t;
    double product_low, product = adjoint_exact_product_f64(t, below, &product_low);
    double t_low = (((above - product) - product_low) - t * below_low) / below;
    t_low = a < 0x1p500 ? t_low : 0; /* infinity - infinity, or a product too large for its parts */
    /* (arctan t / t - 1) / t^2, to 2^-59 of arctan t / t */
    double p = -0.017908795333434573;
    p = ADJOINT_FMA_F64(p, z, 0.038065834546093774);
    p = ADJOINT_FMA_F64(p, z, -0.05039348108415789);
    p = ADJOINT_FMA_F64(p, z, 0.05847897522514402);
    p = ADJOINT_FMA_F64(p, z, -0.06663105006014945);
    p = ADJOINT_FMA_F64(p, z, 0.0769206028789307);
    p = ADJOINT_FMA_F64(p, z, -0.09090897761678539);
    p = ADJOINT_FMA_F64(p, z, 0.11111110783625923);
    p = ADJOINT_FMA_F64(p, z, -0.14285714280201822);
    p = ADJOINT_FMA_F64(p, z, 0.19999999999953688);
    p = ADJOINT_FMA_F64(p, z, -0.333333333333332);
    double lost, sum = adjoint_exact_ordered_sum_f64(turn, t, &lost);
    return sum + (ADJOINT_FMA_F64(t * z, p, turn_low + t_low) + lost);
}

/* arctan x. Error 1.25. */
static inline double adjoint_atan_f64(double x) {
    return copysign(adjoint_atan_positive_f64(fabs(x)), x);
}

/* The angle of the point (x, y), between -pi and pi. Error 1.6. */
static inline double adjoint_atan2_f64(double y, double x) {
    double above = fabs(y), below = fabs(x);
    double ratio = above / below;
    ratio = above == below ? 1 : ratio; /* also infinity / infinity */
    ratio = above == 0 ? 0 : ratio;     /* also 0 / 0 */
    ratio = x != x ? x : ratio;
    double angle = adjoint_atan_positive_f64(ratio);
    angle = copysign(1, x) < 0 ? 0x1.921fb54442d18p+1 - (angle - 0x1.1a62633145c07p-53) : angle;
    return copysign(angle, y);
}

/* ---- error function ---- */

/* erfc a = e^(-a^2) / (1 + 2 a) * p((a - 4) / (a + 4)) for a >= 0, to 2^-54. What the quotients lose is put back. */
static inline double adjoint_erfc_positive_f64(double a) {
    double b = a > 28 ? 28 : a; /* from 27.3 on the result is 0 */
    double above_low, above = adjoint_exact_sum_f64(-4, b, &above_low);
    double below_low, below = adjoint_exact_sum_f64(4, b, &below_low);
    double t = above / below;
    t += (above_low - t * below_low) / below;
    double p = -1.3525357459165752e-09;
    p = ADJOINT_FMA_F64(p, t, -1.2692157715254113e-08);
    p = ADJOINT_FMA_F64(p, t, -8.912407881974444e-09);
    p = ADJOINT_FMA_F64(p, t, 1.1181309993798985e-07);
    p = ADJOINT_FMA_F64(p, t, 6.356592928096637e-08);
    p = ADJOINT_FMA_F64(p, t, -8.297067970159131e-07);
    p = ADJOINT_FMA_F64(p, t, 3.0171872705675816e-07);
    p = ADJOINT_FMA_F64(p, t, 5.713175831160036e-06);
    p = ADJOINT_FMA_F64(p, t, -1.122576005211181e-05);
    p = ADJOINT_FMA_F64(p, t, -2.4400664341316988e-05);
    p = ADJOINT_FMA_F64(p, t, 0.00015062292311183602);
    p = ADJOINT_FMA_F64(p, t, -0.00019925635466345583);
    p = ADJOINT_FMA_F64(p, t, -0.0007577735908553781);
    p = ADJOINT_FMA_F64(p, t, 0.0050319699372392565);
    p = ADJOINT_FMA_F64(p, t, -0.016197734006641894);
    p = ADJOINT_FMA_F64(p, t, 0.03716751553891162);
    p = ADJOINT_FMA_F64(p, t, -0.06633036581773073);
    p = ADJOINT_FMA_F64(p, t, 0.09373283499848734);
    p = ADJOINT_FMA_F64(p, t, -0.10103906603597802);
    p = ADJOINT_FMA_F64(p, t, 0.06809705425468315);
    p = ADJOINT_FMA_F64(p, t, 0.015379652102611524);
    p = ADJOINT_FMA_F64(p, t, -0.1396211168405625);
    double moved_low, moved = adjoint_exact_product_f64(p, t, &moved_low), p_low;
    p = adjoint_exact_ordered_sum_f64(1.2329951186255526, moved, &p_low);
    p_low += moved_low;
    double square_low, square = adjoint_exact_product_f64(b, b, &square_low), n, high;
    uint64_t biased = adjoint_reduce_exp_f64(-square, 2046, &n, &high);
    double cut, r = adjoint_exact_sum_f64(high, ADJOINT_FMA_F64(-n, ADJOINT_LN2_LOW_F64, -square_low), &cut);
    double twice_low, twice = adjoint_exact_sum_f64(1, 2 * b, &twice_low);
    double ratio = p / twice, product_low, product = adjoint_exact_product_f64(ratio, twice, &product_low);
    double ratio_low = (((p - product) - product_low) + (p_low - ratio * twice_low)) / twice;
    double power_low, power = adjoint_exp_near_zero_f64(r, cut, &power_low);
    double lost, result = adjoint_exact_product_f64(power, ratio, &lost);
    return adjoint_scale_f64(result + (lost + (power * ratio_low + power_low * ratio)), biased);
}

/* erf x / x - 1 for |x| <= 1, to 2^-56. */
static inline double adjoint_erf_excess_f64(double x) {
    double z = x * x;
    double p = -7.723639920453492e-10;
    p = ADJOINT_FMA_F64(p, z, 1.3679260757975428e-08);
    p = ADJOINT_FMA_F64(p, z, -1.6198497707725255e-07);
    p = ADJOINT_FMA_F64(p, z, 1.6446037407224322e-06);
    p = ADJOINT_FMA_F64(p, z, -1.4924616561244495e-05);
    p = ADJOINT_FMA_F64(p, z, 0.00012055288149790713);
    p = ADJOINT_FMA_F64(p, z, -0.000854832572954924);
    p = ADJOINT_FMA_F64(p, z, 0.005223977601464994);
    p = ADJOINT_FMA_F64(p, z, -0.02686617064246542);
    p = ADJOINT_FMA_F64(p, z, 0.11283791670939435);
    p = ADJOINT_FMA_F64(p, z, -0.37612638903183376);
    return ADJOINT_FMA_F64(p, z, 0.12837916709551256);
}

/* erf x: x + x p(x^2) below 1, above 1 - e^(-x^2) w(t), t = (x - 5/2) / (x + 5/2), w to 2^-58 of erf x. Error 1.3. */
static inline double adjoint_erf_f64(double x) {
    double a = fabs(x), near = ADJOINT_FMA_F64(a, adjoint_erf_excess_f64(a), a);
    double b = adjoint_between_f64(a, 0, 6); /* from 5.93 on the result is 1 */
    double t = (b - 2.5) / (b + 2.5), z = t * t;
    double even = 8.0448766302711e-06, odd = 1.79843374879685e-05; /* terms of w */
    even = ADJOINT_FMA_F64(even, z, -3.45390751351035e-05);
    odd = ADJOINT_FMA_F64(odd, z, -0.0001288701576161804);
    even = ADJOINT_FMA_F64(even, z, 0.00022842821183358814);
    odd = ADJOINT_FMA_F64(odd, z, 0.0008759250793038088);
    even = ADJOINT_FMA_F64(even, z, -0.0026423673475885648);
    odd = ADJOINT_FMA_F64(odd, z, -0.0039937018439938745);
    even = ADJOINT_FMA_F64(even, z, 0.03992253901951088);
    odd = ADJOINT_FMA_F64(odd, z, -0.12503305237321757);
    even = ADJOINT_FMA_F64(even, z, 0.2517131932184801);
    odd = ADJOINT_FMA_F64(odd, z, -0.37173673394893664);
    even = ADJOINT_FMA_F64(even, z, 0.21080636406114342);
    double power, tail = adjoint_exp_split_f64(-b * b, 0, &power);
    double far = ADJOINT_FMA_F64(-ADJOINT_FMA_F64(odd, t, even), ADJOINT_FMA_F64(tail, power, power), 1);
    return copysign(a < 1 ? near : far, x);
}

/* erfc x = 1 - erf x. Error 1.1. */
static inline double adjoint_erfc_f64(double x) {
    double lost, rest = adjoint_exact_ordered_sum_f64(1, -x, &lost); /* where |x| <= 1 */
    double near = rest + ADJOINT_FMA_F64(-x, adjoint_erf_excess_f64(x), lost), far = adjoint_erfc_positive_f64(fabs(x));
    far = x < 0 ? 2 - far : far;
    return fabs(x) < 0.5 ? near : far;
}

/* The derivative of x times the probability that a standard normal number is below x: the probability, and x times the
   density. In the tail x / sqrt 2 and x^2 are not exact: the error grows with x^2. */
static inline double adjoint_gelu_slope_f64(double x) {
    double bounded = adjoint_between_f64(x, -40, 40); /* beyond it is 0 or 1 */
    double density = 0.39894228040143268 * adjoint_exp_f64(-0.5 * (bounded * bounded));
    return ADJOINT_FMA_F64(bounded, density, 0.5 * adjoint_erfc_f64(-0.70710678118654752 * bounded));
}

/* ---- roots ---- */

/* 1 / sqrt(x). Error 1.55. */
static inline double adjoint_rsqrt_f64(double x) {
    return 1 / sqrt(x);
}

/* ---- remainder ---- */

/* fmod(x, y), exactly. */
static inline double adjoint_fmod_f64(double x, double y) {
    return fmod(x, y);
}

#endif
