/* Elementary functions of float.

   Each is one straight line of arithmetic and selections: no branch, no table, no call into the C library. So a loop
   over it vectorises, and the vector body, the scalar tail and a constant folded by the compiler have the same bits.

   Special values follow the C standard (annex F): NaN in gives NaN out, sin(-0) is -0, exp(-inf) is 0, and so on;
   subnormal arguments and results are right. What the comment over a function calls its error is the largest one found,
   in units in the last place of the result, rounded up to a multiple of 0.05, over 6 * 10^8 floats (2 * 10^8 pairs for
   the functions of two), with and without fused multiply-add.

   Polynomials are minimax fits whose coefficients were rounded to float one after the other, fitting the rest again;
   "to 2^-n" is their largest relative error before rounding in evaluation. Needs round to nearest, and a compiler that
   neither contracts nor reorders (-ffp-contract=off, and none of the unsafe mathematics). */

#ifndef ADJOINT_MATH_F32_H
#define ADJOINT_MATH_F32_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* a * b + c, rounded once where the machine can do so in one instruction. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define ADJOINT_FMA_F32(a, b, c) fmaf(a, b, c)
#else
#define ADJOINT_FMA_F32(a, b, c) ((a) * (b) + (c))
#endif

#ifndef ADJOINT_FMA_F64
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define ADJOINT_FMA_F64(a, b, c) fma(a, b, c)
#else
#define ADJOINT_FMA_F64(a, b, c) ((a) * (b) + (c))
#endif
#endif

/* x * y as the only term of a sum that begins with 0, in the way of a matrix product: -0 only by underflow. */
static inline float adjoint_term_f32(float x, float y) {
    return ADJOINT_FMA_F32(x, y, 0.0f);
}

/* x * y as a further term of such a sum. */
static inline float adjoint_next_term_f32(float x, float y, float sum) {
    return ADJOINT_FMA_F32(x, y, sum);
}

/* Adding this to |x| < 2^22 rounds x to an integer, whose two's complement is then in the low bits of the sum. */
#define ADJOINT_ROUND_F32 0x1.8p23f
#define ADJOINT_ROUND_F64 0x1.8p52

/* ln 2 in two parts. The first has 15 bits, so that its products with exponents are exact. */
#define ADJOINT_LN2_HIGH_F32 0x1.62e4p-1f
#define ADJOINT_LN2_LOW_F32 0x1.7f7d1cp-20f

/* `x`, or the limit that it is beyond: `least` < 0 < `most`. Of NaN comes a limit. Floats of one sign compare as their
   bits do, and compilers make one instruction of the smaller of two integers; of two floats, because of NaN, three. */
static inline float adjoint_between_f32(float x, float least, float most) {
    int32_t bits = (int32_t)adjoint_bits_of_float(x), highest = (int32_t)adjoint_bits_of_float(most);
    uint32_t below = (uint32_t)(bits < highest ? bits : highest), lowest = adjoint_bits_of_float(least);
    return adjoint_float_of_bits(below < lowest ? below : lowest);
}

/* `value`, but NaN where `x` is NaN. */
static inline float adjoint_unless_nan_f32(float x, float value) {
    return x != x ? x : value;
}

/* ---- exponential family ---- */

/* 2^n, where `biased` is n + 127 + a multiple of 2^9. */
static inline float adjoint_power_of_two_f32(uint32_t biased) {
    return adjoint_float_of_bits(biased << 23);
}

/* e^x = 2^n * e^r, n being the integer nearest to x / ln 2. r is `*high` - n * ADJOINT_LN2_LOW_F32, |r| < 0.35, and
   `*high` is exact. Returns the bits of n + `bias` + ADJOINT_ROUND_F32. */
static inline uint32_t adjoint_reduce_exp_f32(float x, float bias, float *n, float *high) {
    float rounding = ADJOINT_ROUND_F32 + bias;
    float rounded = ADJOINT_FMA_F32(x, 0x1.715476p0f, rounding);
    *n = rounded - rounding;
    *high = ADJOINT_FMA_F32(-*n, ADJOINT_LN2_HIGH_F32, x);
    return adjoint_bits_of_float(rounded);
}

/* (e^r - 1 - r) / r^2 for |r| < 0.35, to 2^-28 of e^r. */
static inline float adjoint_exp_tail_f32(float r, float square) {
    float first = ADJOINT_FMA_F32(r, 0.16666521f, 0.49999994f), second = ADJOINT_FMA_F32(r, 0.008368686f, 0.04166827f);
    return ADJOINT_FMA_F32(ADJOINT_FMA_F32(square, 0.0013820557f, second), square, first);
}

/* e^x = 2^n * (1 + t). Returns t; 2^(n + shift) goes to `*power`, and must be a normal number. */
static inline float adjoint_exp_split_f32(float x, float shift, float *power) {
    float n, high;
    *power = adjoint_power_of_two_f32(adjoint_reduce_exp_f32(x, 127 + shift, &n, &high));
    float r = ADJOINT_FMA_F32(-n, ADJOINT_LN2_LOW_F32, high), square = r * r;
    return ADJOINT_FMA_F32(square, adjoint_exp_tail_f32(r, square), r);
}

/* e^x. What the sum 1 + r loses is put back. Error 0.8. */
static inline float adjoint_exp_f32(float x) {
    float n, high;
    /* Beyond -104 and 89 the result is 0 or infinite. */
    uint32_t biased = adjoint_reduce_exp_f32(adjoint_between_f32(x, -104, 89), 254, &n, &high);
    float r = ADJOINT_FMA_F32(-n, ADJOINT_LN2_LOW_F32, high), square = r * r;
    float sum = 1 + high, lost = high - (sum - 1), rest = ADJOINT_FMA_F32(-n, ADJOINT_LN2_LOW_F32, lost);
    float power = sum + ADJOINT_FMA_F32(square, adjoint_exp_tail_f32(r, square), rest);
    /* 2^n need not be a float: multiply by two powers. Only the last product rounds. Below -104 the second is 0, since a product that is too
       small for a float takes a processor 100 times as long. */
    uint32_t half = biased >> 1, other = x < -104 ? 0 : biased - half;
    float scaled = power * adjoint_power_of_two_f32(half) * adjoint_power_of_two_f32(other);
    return adjoint_unless_nan_f32(x, scaled);
}

/* 2^x = 2^n * e^(r ln 2), n being the integer nearest to x. What the sum 1 + r ln 2 loses is put back. Error 0.8, or 0.9 without
   multiply-adds. */
static inline float adjoint_exp2_f32(float x) {
    /* Beyond -151 and 129 the result is 0 or infinite. */
    float inside = adjoint_between_f32(x, -151, 129), rounding = ADJOINT_ROUND_F32 + 254, rounded = inside + rounding;
    float r = inside - (rounded - rounding), part = r * 0.6931472f, square = part * part;
    float sum = ADJOINT_FMA_F32(r, ADJOINT_LN2_HIGH_F32, 1), lost = ADJOINT_FMA_F32(r, ADJOINT_LN2_HIGH_F32, 1 - sum);
    float rest = ADJOINT_FMA_F32(r, ADJOINT_LN2_LOW_F32, lost);
    float power = sum + ADJOINT_FMA_F32(square, adjoint_exp_tail_f32(part, square), rest);
    uint32_t biased = adjoint_bits_of_float(rounded), half = biased >> 1, other = x < -151 ? 0 : biased - half;
    float scaled = power * adjoint_power_of_two_f32(half) * adjoint_power_of_two_f32(other);
    return adjoint_unless_nan_f32(x, scaled);
}

/* e^x - 1 = (2^n - 1) + 2^n * r + 2^n * r^2 * q(r); what the first sum loses is put back. Error 1.05. */
static inline float adjoint_expm1_f32(float x) {
    float n, high;
    /* Beyond -20 and 89 the result is -1 or infinite. */
    uint32_t biased = adjoint_reduce_exp_f32(adjoint_between_f32(x, -20, 89), 127, &n, &high);
    float r = ADJOINT_FMA_F32(-n, ADJOINT_LN2_LOW_F32, high);
    float cut = ADJOINT_FMA_F32(-n, ADJOINT_LN2_LOW_F32, high - r);
    float overflow = n > 127 ? 2 : 1; /* 2^128 is not a float: double the half of it */
    float scale = adjoint_power_of_two_f32(n > 127 ? biased - 1 : biased);
    float q = 0.00019957077f; /* (e^r - 1 - r) / r^2, to 2^-31 of e^r - 1 */
    q = ADJOINT_FMA_F32(q, r, 0.0013933056f);
    q = ADJOINT_FMA_F32(q, r, 0.008333195f);
    q = ADJOINT_FMA_F32(q, r, 0.041666485f);
    q = ADJOINT_FMA_F32(q, r, 0.16666667f);
    q = ADJOINT_FMA_F32(q, r, 0.5f);
    float tail = ADJOINT_FMA_F32(r * r, q, cut);
    float one = 1 / overflow, first = scale - one, second = scale * r;
    float sum = first + second, lost = second - (sum - first) + ((scale - first) - one);
    float result = (sum + ADJOINT_FMA_F32(scale, tail, lost)) * overflow;
    return copysignf(adjoint_unless_nan_f32(x, result), x);
}

/* 1 / (1 + e^-x), both terms times 2^-24, which keeps e^-x finite. What their sum loses is put back. Error 1.75. */
static inline float adjoint_sigmoid_f32(float x) {
    float power, t = adjoint_exp_split_f32(-adjoint_between_f32(x, -104, 20), -24, &power); /* beyond it is 0 or 1 */
    float sum = power + 0x1p-24f, lost = 0x1p-24f - (sum - power);
    return adjoint_unless_nan_f32(x, 0x1p-24f / (sum + ADJOINT_FMA_F32(t, power, lost)));
}

/* tanh x: x + x^3 p(x^2) below 0.6, above 1 - 2 / (e^2x + 1). Error 1.25. */
static inline float adjoint_tanh_f32(float x) {
    float a = fabsf(x), z = x * x;
    float p = -0.005900179f; /* (tanh x / x - 1) / x^2, to 2^-28 of tanh x / x */
    p = ADJOINT_FMA_F32(p, z, 0.020800317f);
    p = ADJOINT_FMA_F32(p, z, -0.053785123f);
    p = ADJOINT_FMA_F32(p, z, 0.1333194f);
    p = ADJOINT_FMA_F32(p, z, -0.333333f);
    float near = ADJOINT_FMA_F32(a * z, p, a);
    float power, t = adjoint_exp_split_f32(2 * adjoint_between_f32(a, -1, 10), 0, &power); /* from 9.02 on the result is 1 */
    float far = 1 - 2 / ADJOINT_FMA_F32(t, power, power + 1);
    return copysignf(a > 0.6f ? far : near, x);
}

/* ---- logarithms ---- */

/* ln((1 + f + cut) * 2^exponent) for 1 + f between sqrt(1/2) and sqrt(2), and a `cut` below the last place of f. */
static inline float adjoint_log_near_one_f32(float f, float cut, float exponent) {
    float p = 0.06914707f; /* (ln(1 + f) - f + f^2 / 2) / f^3, to 2^-30 of ln(1 + f) / f */
    p = ADJOINT_FMA_F32(p, f, -0.11789543f);
    p = ADJOINT_FMA_F32(p, f, 0.118729904f);
    p = ADJOINT_FMA_F32(p, f, -0.12384371f);
    p = ADJOINT_FMA_F32(p, f, 0.14218673f);
    p = ADJOINT_FMA_F32(p, f, -0.16669251f);
    p = ADJOINT_FMA_F32(p, f, 0.20002225f);
    p = ADJOINT_FMA_F32(p, f, -0.24999987f);
    p = ADJOINT_FMA_F32(p, f, 0.3333331f);
    float square = f * f;
    float tail = ADJOINT_FMA_F32(exponent, ADJOINT_LN2_LOW_F32, cut);
    tail = ADJOINT_FMA_F32(square * f, p, tail);
    tail = ADJOINT_FMA_F32(square, -0.5f, tail);
    float first = exponent * ADJOINT_LN2_HIGH_F32;
    float sum = first + f, lost = f - (sum - first);
    return sum + (tail + lost);
}

/* x = m * 2^n with m between sqrt(1/2) and sqrt(2), for a positive normal x. Returns m; n goes to `*exponent`. */
static inline float adjoint_split_f32(float x, float *exponent) {
    uint32_t bits = adjoint_bits_of_float(x);
    uint32_t n = (bits - 0x3f3504f3 + (127u << 23)) >> 23; /* bits of sqrt(1/2); n is 127 too large */
    *exponent = (float)((int32_t)n - 127);
    return adjoint_float_of_bits(bits - (n << 23) + (127u << 23));
}

/* ln x. Error 0.85. */
static inline float adjoint_log_f32(float x) {
    float subnormal = x < 0x1p-126f, exponent;
    float m = adjoint_split_f32(x < 0x1p-126f ? x * 0x1p23f : x, &exponent);
    float result = adjoint_log_near_one_f32(m - 1, 0, exponent - 23 * subnormal);
    result = x < INFINITY ? result : x; /* infinity, NaN */
    result = x < 0 ? NAN : result;
    return x == 0 ? -INFINITY : result;
}

/* ln(1 + x) for -1 < x < infinity. What the rounding of 1 + x cut off is put back. */
static inline float adjoint_log1p_inside_f32(float x) {
    float u = 1 + x, exponent;
    float cut = x > 1 ? 1 - (u - x) : x - (u - 1);
    float m = adjoint_split_f32(u, &exponent);
    cut *= exponent < 30 ? adjoint_float_of_bits((uint32_t)(127 - (int32_t)exponent) << 23) : 0;
    float f = (m - 1) + cut; /* is x if the exponent is 0 */
    cut -= f - (m - 1);
    return adjoint_log_near_one_f32(f, cut, exponent);
}

/* ln(1 + x). Error 0.9. */
static inline float adjoint_log1p_f32(float x) {
    float result = adjoint_log1p_inside_f32(x);
    result = x < INFINITY ? result : x;
    result = x < -1 ? NAN : result;
    result = x == -1 ? -INFINITY : result;
    return copysignf(result, x);
}

/* ln(1 + e^x), which never overflows. Error 1.6. */
static inline float adjoint_softplus_f32(float x) {
    return (x > 0 ? x : 0) + adjoint_log1p_inside_f32(adjoint_exp_f32(-fabsf(x)));
}

/* ---- trigonometry: computed in double, for arguments of any size ---- */

/* x in quarter turns, x / (pi / 2), less the nearest integer. The two lowest bits of the integer go to `*quarter`.

   The product of x, 24 bits, and of 29 bits of 2/pi is exact in double; then follow 29 more and 53 more. Multiples of
   four quarters do not matter: from 2^47 on x is a multiple of 2^24, and so bits of 2/pi above 4 * 2^-24 are left out,
   and so on for larger x. What is left of 2/pi always fits in three doubles. */
static inline double adjoint_quarters_f32(float x, uint64_t *quarter) {
    double value = x, a = fabs(value);
    double ones = adjoint_double_of_bits(UINT64_MAX);
    double high = 0x1.45f306cp-1, middle = 0x1.c9c882ap-29, low = 0x1.4fe13abe8fa9ap-59;
    uint64_t beyond = adjoint_bits_of_double(a >= 0x1p47 ? ones : 0);
    high = adjoint_select_f64(beyond, 0x1.b72722p-23, high);
    middle = adjoint_select_f64(beyond, 0x1.529fc27p-52, middle);
    low = adjoint_select_f64(beyond, 0x1.5f47d4d377037p-82, low);
    beyond = adjoint_bits_of_double(a >= 0x1p71 ? ones : 0);
    high = adjoint_select_f64(beyond, 0x1.529fc2p-52, high);
    middle = adjoint_select_f64(beyond, 0x1.d5f47d4p-78, middle);
    low = adjoint_select_f64(beyond, 0x1.a6ee06db14acdp-107, low);
    beyond = adjoint_bits_of_double(a >= 0x1p95 ? ones : 0);
    high = adjoint_select_f64(beyond, 0x1.3abe8fp-75, high);
    middle = adjoint_select_f64(beyond, 0x1.534ddcp-100, middle);
    low = adjoint_select_f64(beyond, 0x1.b6c52b3278872p-129, low);
    beyond = adjoint_bits_of_double(a >= 0x1p119 ? ones : 0);
    high = adjoint_select_f64(beyond, 0x1.f534ddcp-96, high);
    middle = adjoint_select_f64(beyond, 0x1.b6c52ap-129, middle);
    low = adjoint_select_f64(beyond, 0x1.3278872083fcap-153, low);
    double product = value * high;
    double first = product + ADJOINT_ROUND_F64;
    double fraction = (product - (first - ADJOINT_ROUND_F64)) + value * middle;
    double second = fraction + ADJOINT_ROUND_F64;
    fraction = (fraction - (second - ADJOINT_ROUND_F64)) + value * low;
    *quarter = adjoint_bits_of_double(first) + adjoint_bits_of_double(second);
    return fraction;
}

/* sin(pi/2 * f) and cos(pi/2 * f) for |f| <= 1/2, to 2^-37 and 2^-34. */
static inline double adjoint_sin_quarters_f32(double f) {
    double z = f * f, p = 0.00015820673701997815;
    p = ADJOINT_FMA_F64(p, z, -0.0046812664739638325);
    p = ADJOINT_FMA_F64(p, z, 0.0796925827596898);
    p = ADJOINT_FMA_F64(p, z, -0.6459640961485054);
    p = ADJOINT_FMA_F64(p, z, 1.5707963267881133);
    return p * f;
}

static inline double adjoint_cos_quarters_f32(double f) {
    double z = f * f, p = 0.0009040211302222738;
    p = ADJOINT_FMA_F64(p, z, -0.020860288257603637);
    p = ADJOINT_FMA_F64(p, z, 0.2536692439983787);
    p = ADJOINT_FMA_F64(p, z, -1.2337005433526218);
    return ADJOINT_FMA_F64(p, z, 1);
}

/* sin of a whole number of quarter turns and a fraction of one. */
static inline float adjoint_sin_turn_f32(uint64_t quarter, double fraction) {
    double even = adjoint_sin_quarters_f32(fraction), odd = adjoint_cos_quarters_f32(fraction);
    uint64_t bits = adjoint_bits_of_double(adjoint_select_f64(-(quarter & 1), odd, even));
    return (float)adjoint_double_of_bits(bits ^ (quarter & 2) << 62);
}

/* sin x. Error 0.55. */
static inline float adjoint_sin_f32(float x) {
    uint64_t quarter;
    double fraction = adjoint_quarters_f32(x, &quarter);
    return adjoint_sin_turn_f32(quarter, fraction);
}

/* cos x. Error 0.55. */
static inline float adjoint_cos_f32(float x) {
    uint64_t quarter;
    double fraction = adjoint_quarters_f32(x, &quarter);
    return adjoint_sin_turn_f32(quarter + 1, fraction);
}

/* tan x. Error 0.55. */
static inline float adjoint_tan_f32(float x) {
    uint64_t quarter;
    double fraction = adjoint_quarters_f32(x, &quarter);
    double sine = adjoint_sin_quarters_f32(fraction), cosine = adjoint_cos_quarters_f32(fraction);
    double above = adjoint_select_f64(-(quarter & 1), -cosine, sine);
    double below = adjoint_select_f64(-(quarter & 1), sine, cosine);
    return (float)(above / below);
}

/* arcsin a - a for 0 <= a <= 1/2; z is a^2. */
static inline float adjoint_asin_tail_f32(float a, float z) {
    float p = 0.037608687f; /* to 2^-31 */
    p = ADJOINT_FMA_F32(p, z, 0.014367506f);
    p = ADJOINT_FMA_F32(p, z, 0.031828217f);
    p = ADJOINT_FMA_F32(p, z, 0.04451426f);
    p = ADJOINT_FMA_F32(p, z, 0.075005196f);
    p = ADJOINT_FMA_F32(p, z, 0.1666666f);
    return a * z * p;
}

/* arcsin x; above 1/2 through arcsin x = pi/2 - 2 arcsin sqrt((1 - x) / 2). Error 1.15. */
static inline float adjoint_asin_f32(float x) {
    float a = fabsf(x), z = a > 0.5f ? (1 - a) * 0.5f : a * a;
    float b = a > 0.5f ? sqrtf(z) : a;
    float tail = adjoint_asin_tail_f32(b, z);
    float sum = 0x1.921fb6p0f - 2 * b, lost = (0x1.921fb6p0f - sum) - 2 * b; /* pi/2 in two parts */
    float far = sum - (2 * tail - (lost - 0x1.777a5cp-25f));
    return copysignf(a > 0.5f ? far : b + tail, x);
}

/* arccos x. Error 1.1. */
static inline float adjoint_acos_f32(float x) {
    float a = fabsf(x), z = a > 0.5f ? (1 - a) * 0.5f : a * a;
    float b = a > 0.5f ? sqrtf(z) : a;
    float angle = b + adjoint_asin_tail_f32(b, z);
    float middle = 0x1.921fb6p0f - (copysignf(angle, x) + 0x1.777a5cp-25f);
    float left = 0x1.921fb6p1f - ADJOINT_FMA_F32(2, angle, 0x1.777a5cp-24f);
    float far = x < 0 ? left : 2 * angle;
    return a > 0.5f ? far : middle;
}

/* ---- error function ---- */

/* erf x: x + x p(x^2) below 1, above 1 - e^q(x). Error 1.3. */
static inline float adjoint_erf_f32(float x) {
    float a = fabsf(x), z = x * x;
    float p = 7.9203746e-05f; /* erf x / x - 1, to 2^-29 */
    p = ADJOINT_FMA_F32(p, z, -0.0008030762f);
    p = ADJOINT_FMA_F32(p, z, 0.005190734f);
    p = ADJOINT_FMA_F32(p, z, -0.026855126f);
    p = ADJOINT_FMA_F32(p, z, 0.11283618f);
    p = ADJOINT_FMA_F32(p, z, -0.3761263f);
    p = ADJOINT_FMA_F32(p, z, 0.12837917f);
    float near = ADJOINT_FMA_F32(a, p, a);
    float b = a > 4 ? 4 : a; /* from 3.92 on the result is 1 */
    float q = 0.0001855828f; /* ln(1 - erf a), to 2^-29 of erf a */
    q = ADJOINT_FMA_F32(q, b, -0.0029396848f);
    q = ADJOINT_FMA_F32(q, b, 0.021805592f);
    q = ADJOINT_FMA_F32(q, b, -0.103037864f);
    q = ADJOINT_FMA_F32(q, b, -0.6382252f);
    q = ADJOINT_FMA_F32(q, b, -1.1270403f);
    q = ADJOINT_FMA_F32(q, b, -0.00035367763f);
    float power, t = adjoint_exp_split_f32(q, 0, &power);
    float far = ADJOINT_FMA_F32(-t, power, 1 - power);
    return copysignf(a < 1 ? near : far, x);
}

/* The derivative of x times the probability P(x) that a standard normal number is below x: P(x), and x times the density.
   It is h(-x) below 0, above 1 - h(x), with h(a) = e^(-a^2 / 2) * (1/2 - a p(t)), t = (a - k) / (a + k), k = 3.6875; p to
   2^-26 of the larger one of the two parts of h. h is computed times 2^-40, so that the one power of two that it is then
   multiplied by is a normal number, and only this product rounds to a subnormal one. Error 4.6, without fused multiply-add
   6.25, in units in the last place of the larger part. */
static inline float adjoint_gelu_slope_f32(float x) {
#define SCALED(number) ((number) * 0x1p-40f)
    float a = adjoint_between_f32(fabsf(x), -1, 15); /* beyond 14.6 it is 0 or 1 */
    float t = ADJOINT_FMA_F32(-2 * 3.6875f, 1 / (a + 3.6875f), 1), z = t * t;
    float odd = SCALED(0.00010102956f), even = SCALED(4.742812e-05f); /* terms of p */
    odd = ADJOINT_FMA_F32(odd, z, SCALED(-0.00029802494f));
    even = ADJOINT_FMA_F32(even, z, SCALED(-0.0005299345f));
    odd = ADJOINT_FMA_F32(odd, z, SCALED(-0.03212847f));
    even = ADJOINT_FMA_F32(even, z, SCALED(0.0078092683f));
    odd = ADJOINT_FMA_F32(odd, z, SCALED(-0.1671402f));
    even = ADJOINT_FMA_F32(even, z, SCALED(0.084094904f));
    even = ADJOINT_FMA_F32(even, z, SCALED(0.5069971f));
    float factor = ADJOINT_FMA_F32(-a, ADJOINT_FMA_F32(odd, t, even), SCALED(0.5f));
    float square = a * a;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    float lost = fmaf(a, a, -square);
#else
    float lost = (float)((double)a * a - square);
#endif
    float n, high;
    float power = adjoint_power_of_two_f32(adjoint_reduce_exp_f32(-0.5f * square, 127 + 40, &n, &high));
    float r = ADJOINT_FMA_F32(-n, ADJOINT_LN2_LOW_F32, ADJOINT_FMA_F32(-0.5f, lost, high)), r2 = r * r;
    float h = ADJOINT_FMA_F32(factor, ADJOINT_FMA_F32(r2, adjoint_exp_tail_f32(r, r2), r), factor) * power;
    return adjoint_unless_nan_f32(x, x < 0 ? h : 1 - h);
#undef SCALED
}

/* ---- functions computed in double ----

   Where many steps follow one another, or cancel, double is both the simplest and, at half the lanes, a cheap way to an
   error near 1/2. Double has the exponents to spare, so nothing overflows on the way and there are no subnormals. */

/* 2^t for |t| <= 1000, to 2^-34. */
static inline double adjoint_exp2_double_f32(double t) {
    double rounded = t + ADJOINT_ROUND_F64;
    double r = t - (rounded - ADJOINT_ROUND_F64);
    double p = 1.531506317032531e-05;
    p = ADJOINT_FMA_F64(p, r, 0.00015467140350992772);
    p = ADJOINT_FMA_F64(p, r, 0.001333343038889689);
    p = ADJOINT_FMA_F64(p, r, 0.00961803682310666);
    p = ADJOINT_FMA_F64(p, r, 0.05550410962997145);
    p = ADJOINT_FMA_F64(p, r, 0.24022651076390006);
    p = ADJOINT_FMA_F64(p, r, 0.6931471805415547);
    p = ADJOINT_FMA_F64(p, r, 1);
    return p * adjoint_double_of_bits((adjoint_bits_of_double(rounded) + 1023) << 52);
}

/* log2 a for a >= 0, to 2^-43: a = m * 2^n with m between sqrt(1/2) and sqrt(2), log2 m from s = (m - 1) / (m + 1). */
static inline double adjoint_log2_double_f32(double a) {
    uint64_t bits = adjoint_bits_of_double(a);
    uint64_t biased = (bits - 0x3fe6a09e667f3bcd + (1023ull << 52)) >> 52; /* n + 1023 */
    double n = adjoint_double_of_bits(biased | 0x4330000000000000) - (0x1p52 + 1023);
    double m = adjoint_double_of_bits(bits - (biased << 52) + (1023ull << 52));
    double s = (m - 1) / (m + 1), z = s * s;
    double p = 0.2829119738186852;
    p = ADJOINT_FMA_F64(p, z, 0.3199048466934008);
    p = ADJOINT_FMA_F64(p, z, 0.41220927382104733);
    p = ADJOINT_FMA_F64(p, z, 0.5770779421436085);
    p = ADJOINT_FMA_F64(p, z, 0.9617966941141463);
    p = ADJOINT_FMA_F64(p, z, 2.8853900817778495);
    double result = ADJOINT_FMA_F64(s, p, n);
    result = a == 0 ? -(double)INFINITY : result;
    return a < (double)INFINITY ? result : a; /* infinity, NaN */
}

/* log2 x, log10 x. Errors 0.55 and 0.55. */
static inline float adjoint_log2_f32(float x) {
    float result = (float)adjoint_log2_double_f32(x);
    return x < 0 ? NAN : result;
}

static inline float adjoint_log10_f32(float x) {
    float result = (float)(adjoint_log2_double_f32(x) * 0.30102999566398120);
    return x < 0 ? NAN : result;
}

/* erfc x = 1 - erf x = e^(-x^2) * p((x - 4) / (x + 4)) for x >= 0, 2 - erfc(-x) below. Error 0.55. */
static inline float adjoint_erfc_f32(float x) {
    double a = fabs((double)x);
    a = a > 12 ? 12 : a; /* from 10.06 on the result is 0 */
    double t = (a - 4) / (a + 4);
    double p = 0.00010152013051155912; /* to 2^-32 */
    p = ADJOINT_FMA_F64(p, t, -2.8226551361264642e-05);
    p = ADJOINT_FMA_F64(p, t, -0.0008150802900546984);
    p = ADJOINT_FMA_F64(p, t, 0.004058706600235533);
    p = ADJOINT_FMA_F64(p, t, -0.012839757868035543);
    p = ADJOINT_FMA_F64(p, t, 0.0312997971862434);
    p = ADJOINT_FMA_F64(p, t, -0.06310833197622474);
    p = ADJOINT_FMA_F64(p, t, 0.10896309613617818);
    p = ADJOINT_FMA_F64(p, t, -0.16425778810504815);
    p = ADJOINT_FMA_F64(p, t, 0.21871968145401727);
    p = ADJOINT_FMA_F64(p, t, -0.25906804923985904);
    p = ADJOINT_FMA_F64(p, t, 0.1369994576157004);
    double result = p * adjoint_exp2_double_f32(-1.4426950408889634 * (a * a));
    return (float)(x < 0 ? 2 - result : result);
}

/* x^y, as 2^(y log2 |x|), with the sign that belongs to it. Error 0.55.
   x * x for y = 2, x for y = 1; 1 for y = 0 and for x = 1, whatever the other is; NaN for a negative x and a y that is not an integer. */
static inline float adjoint_pow_f32(float x, float y) {
    double a = fabs((double)x), exponent = y;
    double log2 = adjoint_log2_double_f32(a);
    double t = ((a == 1) & (y == y)) ? 0 : exponent * log2; /* 1 to the power of infinity is 1 */
    t = t > 200 ? 200 : t < -200 ? -200 : t;
    float result = (float)adjoint_exp2_double_f32(t);

    /* y is an integer if rounding changes nothing, and even if rounding y / 2 changes nothing */
    double half = 0.5 * exponent, size = fabs(exponent);
    int integer = (size >= 0x1p24) | ((exponent + ADJOINT_ROUND_F64) - ADJOINT_ROUND_F64 == exponent);
    int even = (size >= 0x1p25) | ((half + ADJOINT_ROUND_F64) - ADJOINT_ROUND_F64 == half);
    int odd = integer & !even;
    result = odd ? copysignf(result, x) : result;
    result = ((x < 0) & (x > -INFINITY) & !integer) ? NAN : result;
    result = y == 2 ? x * x : y == 1 ? x : result;
    return ((y == 0) | (x == 1)) ? 1 : result;
}

/* x^y for the y that programs write most often, computed in double and rounded once. Error 0.55. */
static inline float adjoint_cube_f32(float x) {
    double value = x;
    return (float)(value * value * value);
}

static inline float adjoint_fourth_power_f32(float x) {
    double square = (double)x * x;
    return (float)(square * square);
}

static inline float adjoint_inverse_f32(float x) { return 1 / x; }

static inline float adjoint_inverse_square_f32(float x) { return (float)(1 / ((double)x * x)); }

/* Unlike sqrt, 0 for -0 and infinity for -infinity. */
static inline float adjoint_square_root_f32(float x) {
    float root = sqrtf(fabsf(x));
    return ((x < 0) & (x > -INFINITY)) ? NAN : root;
}

static inline float adjoint_inverse_root_f32(float x) {
    float result = (float)(1 / sqrt(fabs((double)x)));
    return ((x < 0) & (x > -INFINITY)) ? NAN : result;
}

/* sinh x, from a polynomial below 1. Error 0.55. */
static inline float adjoint_sinh_f32(float x) {
    double value = x, a = fabs(value), z = value * value;
    double p = 2.819036934519672e-06; /* sinh x / x, to 2^-34 */
    p = ADJOINT_FMA_F64(p, z, 0.00019835710144527026);
    p = ADJOINT_FMA_F64(p, z, 0.008333353229713498);
    p = ADJOINT_FMA_F64(p, z, 0.16666666417588474);
    p = ADJOINT_FMA_F64(p, z, 1.0000000000498792);
    double e = adjoint_exp2_double_f32((a > 100 ? 100 : a) * 1.4426950408889634);
    double far = 0.5 * e - 0.5 / e;
    return (float)(a < 1 ? p * value : copysign(far, value));
}

/* cosh x. Error 0.55. */
static inline float adjoint_cosh_f32(float x) {
    double a = fabs((double)x);
    double e = adjoint_exp2_double_f32((a > 100 ? 100 : a) * 1.4426950408889634);
    return (float)(0.5 * e + 0.5 / e);
}

/* arsinh x = ln(x + sqrt(x^2 + 1)), of which nothing would be left near 0. Error 0.55. */
static inline float adjoint_asinh_f32(float x) {
    double value = x, a = fabs(value);
    double far = 0.6931471805599453 * adjoint_log2_double_f32(a + sqrt(a * a + 1));
    double near = value * (1 - value * value * (1.0 / 6));
    return (float)(a < 0x1p-9 ? near : copysign(far, value));
}

/* arcosh x = ln(x + sqrt(x^2 - 1)). Error 0.55. */
static inline float adjoint_acosh_f32(float x) {
    double a = x;
    float result = (float)(0.6931471805599453 * adjoint_log2_double_f32(a + sqrt(a * a - 1)));
    return x < 1 ? NAN : result;
}

/* artanh x = ln((1 + x) / (1 - x)) / 2. Error 0.55. */
static inline float adjoint_atanh_f32(float x) {
    double value = x, a = fabs(value);
    double far = 0.34657359027997264 * adjoint_log2_double_f32((1 + a) / (1 - a));
    double near = value + value * value * value * (1.0 / 3);
    double result = a < 0x1p-9 ? near : copysign(far, value);
    return a > 1 ? NAN : (float)result;
}

/* arctan of a >= 0, to 2^-30: turned back by pi/4 above tan(pi/8), by pi/2 above tan(3 pi/8). */
static inline double adjoint_atan_double_f32(double a) {
    double above = a > 0.41421356237309503 ? a - 1 : a, below = a > 0.41421356237309503 ? a + 1 : 1;
    double turn = a > 0.41421356237309503 ? 0.7853981633974483 : 0;
    above = a > 2.414213562373095 ? -1 : above;
    below = a > 2.414213562373095 ? a : below;
    turn = a > 2.414213562373095 ? 1.5707963267948966 : turn;
    double t = above / below, z = t * t;
    double p = -0.060401018264700075;
    p = ADJOINT_FMA_F64(p, z, 0.10575759699826963);
    p = ADJOINT_FMA_F64(p, z, -0.14240425392690007);
    p = ADJOINT_FMA_F64(p, z, 0.1999823792003805);
    p = ADJOINT_FMA_F64(p, z, -0.33333308074972895);
    p = ADJOINT_FMA_F64(p, z, 0.9999999994119639);
    return ADJOINT_FMA_F64(p, t, turn);
}

/* arctan x. Error 0.55. */
static inline float adjoint_atan_f32(float x) {
    return copysignf((float)adjoint_atan_double_f32(fabs((double)x)), x);
}

/* The angle of the point (x, y), between -pi and pi. Error 0.55. */
static inline float adjoint_atan2_f32(float y, float x) {
    double above = fabs((double)y), below = fabs((double)x);
    double ratio = above / below;
    ratio = above == below ? 1 : ratio; /* also infinity / infinity */
    ratio = above == 0 ? 0 : ratio;     /* also 0 / 0 */
    ratio = x != x ? x : ratio;
    double angle = adjoint_atan_double_f32(ratio);
    angle = copysignf(1, x) < 0 ? 3.141592653589793 - angle : angle;
    return copysignf((float)angle, y);
}

/* ---- roots ---- */

/* 1 / sqrt(x). Error 1.5. */
static inline float adjoint_rsqrt_f32(float x) {
    return 1 / sqrtf(x);
}

/* ---- remainder ---- */

/* fmod(x, y): what is left of |x| after whole numbers of |y| 2^252, |y| 2^224, ... |y| are taken from it, with the sign of x.
   It is exact: each step leaves less than what it divides by, a multiple of the last bit of x or of what it divides by, and so no more
   than 25 bits. Products that are not rounded allow whole numbers of up to 2^50; rounded ones must have no more than 52 bits, 24 of
   which are those of y. */
static inline float adjoint_fmod_f32(float x, float y) {
    const double whole = fabs((double)x), size = fabs((double)y), inverse = 1 / size, infinite = (double)INFINITY;
    double r = whole;
#define TIMES(power) ((r * (inverse / (power)) + ADJOINT_ROUND_F64) - ADJOINT_ROUND_F64)
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define TAKE(power) r = ADJOINT_FMA_F64(-TIMES(power), size * (power), r)
    TAKE(0x1p250);
    TAKE(0x1p200);
    TAKE(0x1p150);
    TAKE(0x1p100);
    TAKE(0x1p50);
#else
#define TAKE(power) r -= TIMES(power) * (size * (power))
    TAKE(0x1p252);
    TAKE(0x1p224);
    TAKE(0x1p196);
    TAKE(0x1p168);
    TAKE(0x1p140);
    TAKE(0x1p112);
    TAKE(0x1p84);
    TAKE(0x1p56);
    TAKE(0x1p28);
#endif
    TAKE(0x1p0);
#undef TAKE
#undef TIMES
    r = r < 0 ? r + size : r;
    r = ((size == infinite) & (whole < infinite)) ? whole : r;
    return copysignf((float)r, x);
}

#endif
