/* Special functions of float: straight lines of arithmetic in double, without a branch or a table, so that loops over them vectorise.

   Those of double are in special.h. Polynomials interpolate at Chebyshev's points; "to 2^-n" is the largest error, relative to the
   function, before rounding in evaluation. Errors are those of a result in units in the last place of a float, rounded up to a multiple of
   0.05, over samples of all floats. Numbers as "DLMF 5.11.1" are of the Digital Library of Mathematical Functions. */

#ifndef ADJOINT_SPECIAL_F32_H
#define ADJOINT_SPECIAL_F32_H

/* y with erf y = x: x times a function of v = -log2(1 - x^2), or, from 7 on, of sqrt(v). Infinite at -1 and 1, NaN beyond. Error 0.55. */
static inline float adjoint_erfinv_f32(float x) {
    double value = x, v = -adjoint_log2_double_f32(1 - value * value), t = v - 3.5;
    double p = -6.015538873804963e-15; /* to 2^-35 */
    p = ADJOINT_FMA_F64(p, t, -2.5226479877128517e-13);
    p = ADJOINT_FMA_F64(p, t, 2.745017357719688e-12);
    p = ADJOINT_FMA_F64(p, t, 1.8234726669635815e-11);
    p = ADJOINT_FMA_F64(p, t, -4.2549728965750106e-10);
    p = ADJOINT_FMA_F64(p, t, 1.1297628256157761e-09);
    p = ADJOINT_FMA_F64(p, t, 3.602719851484737e-08);
    p = ADJOINT_FMA_F64(p, t, -4.062249218590684e-07);
    p = ADJOINT_FMA_F64(p, t, -5.479737576505416e-07);
    p = ADJOINT_FMA_F64(p, t, 5.0740284200864806e-05);
    p = ADJOINT_FMA_F64(p, t, -0.00043877398524123);
    p = ADJOINT_FMA_F64(p, t, -0.0018699649816974512);
    p = ADJOINT_FMA_F64(p, t, 0.17137195389227897);
    p = ADJOINT_FMA_F64(p, t, 1.4831393510253132);
    double s = sqrt(v > 7 ? v : 7) - 3.75, q = 1.4054923308556465e-06; /* to 2^-33 */
    q = ADJOINT_FMA_F64(q, s, -1.4539242860366333e-06);
    q = ADJOINT_FMA_F64(q, s, -9.655016435122774e-06);
    q = ADJOINT_FMA_F64(q, s, 2.868498033102635e-05);
    q = ADJOINT_FMA_F64(q, s, -2.1226127581445628e-05);
    q = ADJOINT_FMA_F64(q, s, -9.197525288143008e-05);
    q = ADJOINT_FMA_F64(q, s, 0.0004219006175544802);
    q = ADJOINT_FMA_F64(q, s, -0.0010163491808003594);
    q = ADJOINT_FMA_F64(q, s, 0.0018408387770327064);
    q = ADJOINT_FMA_F64(q, s, -0.0030848914033004696);
    q = ADJOINT_FMA_F64(q, s, 0.004917541960063332);
    q = ADJOINT_FMA_F64(q, s, 0.8356162446073349);
    q = ADJOINT_FMA_F64(q, s, 2.955389143024054);
    float result = (float)(value * (v > 7 ? q : p));
    result = fabsf(x) == 1 ? copysignf(INFINITY, x) : result;
    result = fabsf(x) > 1 ? NAN : result;
    return adjoint_unless_nan_f32(x, result);
}

/* sin(pi r) for |r| <= 1/2, to 2^-33. */
static inline double adjoint_sin_half_turns_f32(double r) {
    return 2 * (adjoint_sin_quarters_f32(r) * adjoint_cos_quarters_f32(r));
}

/* ln gamma(x) for 0 <= x < infinity. Below 3: (w - 1)(w - 2) times a polynomial, for w from 1 to 3; from 0 to 1 of w = x + 1, less ln x.
   Beyond: Stirling's formula, DLMF 5.11.1, whose series is a polynomial in 1 / x^2. */
static inline double adjoint_lgamma_positive_f32(double x) {
    double log = adjoint_log2_double_f32(x) * 0.6931471805599453;
    double w = x < 1 ? x + 1 : x, t = (w < 3 ? w : 3) - 2;
    double p = 1.1660439210465488e-06; /* to 2^-35 */
    p = ADJOINT_FMA_F64(p, t, -2.449431116074312e-06);
    p = ADJOINT_FMA_F64(p, t, 2.034526982961324e-07);
    p = ADJOINT_FMA_F64(p, t, -4.892146044701243e-07);
    p = ADJOINT_FMA_F64(p, t, 9.851314828810272e-06);
    p = ADJOINT_FMA_F64(p, t, -2.1069867673657713e-05);
    p = ADJOINT_FMA_F64(p, t, 3.726166191063526e-05);
    p = ADJOINT_FMA_F64(p, t, -8.119753686100794e-05);
    p = ADJOINT_FMA_F64(p, t, 0.00018283370280390283);
    p = ADJOINT_FMA_F64(p, t, -0.0004062952108244314);
    p = ADJOINT_FMA_F64(p, t, 0.0009153312967964316);
    p = ADJOINT_FMA_F64(p, t, -0.0021080354202493846);
    p = ADJOINT_FMA_F64(p, t, 0.004998644461914063);
    p = ADJOINT_FMA_F64(p, t, -0.012384199088411981);
    p = ADJOINT_FMA_F64(p, t, 0.03296500055213648);
    p = ADJOINT_FMA_F64(p, t, -0.10031730153001821);
    p = ADJOINT_FMA_F64(p, t, 0.422784335098467);
    double near = (t + 1) * t * p - (x < 1 ? log : 0);
    double r = 1 / (x > 3 ? x : 3), z = r * r, tail = -0.0008228200612568517; /* to 2^-40 of ln gamma */
    tail = ADJOINT_FMA_F64(tail, z, 0.0007344743117052241);
    tail = ADJOINT_FMA_F64(tail, z, -0.0005897124887243115);
    tail = ADJOINT_FMA_F64(tail, z, 0.0007935148822728759);
    tail = ADJOINT_FMA_F64(tail, z, -0.0027777765182039507);
    tail = ADJOINT_FMA_F64(tail, z, 0.08333333333139985);
    double far = ADJOINT_FMA_F64(x - 0.5, log, 0.9189385332046728 - x) + tail * r; /* ln(2 pi) / 2 */
    return x < 3 ? near : far;
}

/* ln |gamma(x)|; infinite at 0, -1, -2, ...; by reflection below 0, DLMF 5.5.3. Error 0.55 for x > 0. */
static inline float adjoint_lgamma_f32(float x) {
    double a = fabs((double)x), positive = adjoint_lgamma_positive_f32(a);
    double size = a * fabs(adjoint_sin_half_turns_f32(a - rint(a))) * 0.3183098861837907; /* 1 / pi */
    double reflected = -0.6931471805599453 * adjoint_log2_double_f32(size) - positive;
    float result = (float)((x < 0 ? reflected : positive) + 0.0); /* 0 at 1, not -0 */
    result = a < (double)INFINITY ? result : INFINITY;
    return adjoint_unless_nan_f32(x, result);
}

/* The derivative of digamma, for x >= 0. Below 8 the terms 1 / (x + k)^2 for k < 4 are added with one division, DLMF 5.15.5; beyond it is
   1 / y + 1 / (2 y^2) + a polynomial in 1 / y^2 over y^3, DLMF 5.15.8. */
static inline double adjoint_trigamma_positive_f32(double x) {
    double least = x < 8 ? x : 8, second = least + 1, third = least + 2, fourth = least + 3;
    double one = least * second, two = third * fourth;
    double above = ADJOINT_FMA_F64(least, least, second * second) * (two * two);
    above = ADJOINT_FMA_F64(ADJOINT_FMA_F64(third, third, fourth * fourth), one * one, above);
    double below = one * two, terms = x < 8 ? above / (below * below) : 0;
    double r = 1 / (x < 8 ? x + 4 : x), z = r * r, p = 0.048639780480087685; /* to 2^-36 */
    p = ADJOINT_FMA_F64(p, z, -0.032028262789485645);
    p = ADJOINT_FMA_F64(p, z, 0.023781997386298);
    p = ADJOINT_FMA_F64(p, z, -0.03333312368150917);
    p = ADJOINT_FMA_F64(p, z, 0.16666666640587754);
    return terms + (r + z * ADJOINT_FMA_F64(p, r, 0.5));
}

/* The derivative of digamma; infinite at 0, -1, -2, ...; by reflection below 0, DLMF 5.15.6. Error 0.55. */
static inline float adjoint_trigamma_f32(float x) {
    double value = x, positive = adjoint_trigamma_positive_f32(x < 0 ? 1 - value : value);
    double sine = adjoint_sin_half_turns_f32(value - rint(value));
    float result = (float)(x < 0 ? 9.869604401089358 / (sine * sine) - positive : positive); /* pi^2 */
    result = x == -INFINITY ? INFINITY : result;
    return adjoint_unless_nan_f32(x, result);
}

#endif
