/* Special functions of double: the gamma, beta, zeta, Bessel and inverse error functions. Those of float are these, rounded once.

   Each is a formula with its range reduction: a recurrence, a reflection or a change of variable leads to an interval on which a polynomial of
   special_tables.h or an asymptotic series is exact to rounding; numbers as "DLMF 5.11.1" are of the Digital Library of Mathematical
   Functions. Incomplete integrals are sums over equidistant points after an exponential change of variable, which converge exponentially.
   Every step is arithmetic that IEEE 754 defines, so that all loops over one have the same bits, and no call goes into the C library.

   The errors are stated by the ops, in adjoint/ir/ops/gamma.py and bessel.py, and tested in tests/codegen/test_accuracy.py. */

#ifndef ADJOINT_SPECIAL_H
#define ADJOINT_SPECIAL_H

#define ADJOINT_PI_F64 0x1.921fb54442d18p+1
#define ADJOINT_INFINITE ((double)INFINITY)
#define ADJOINT_UNDEFINED ((double)NAN)

/* c[0] t^(count - 1) + ... + c[count - 1]. */
static inline double adjoint_polynomial_f64(const double *c, int count, double t) {
    double p = c[0];
    for (int i = 1; i < count; i++) {
        p = ADJOINT_FMA_F64(p, t, c[i]);
    }
    return p;
}

#define ADJOINT_ROW(table, row, t) adjoint_polynomial_f64(table[row], (int)(sizeof table[0] / sizeof(double)), t)

/* ln a for 0 < a < infinity as a sum of two doubles, to 2^-64. */
static inline double adjoint_log_parts_f64(double a, double *low) {
    double binary_low, binary = adjoint_log2_parts_f64(a, &binary_low);
    double lost, product = adjoint_exact_product_f64(binary, 0x1.62e42fefa39efp-1, &lost);
    lost += binary * 0x1.abc9e3b39803fp-56 + binary_low * 0x1.62e42fefa39efp-1;
    return adjoint_exact_ordered_sum_f64(product, lost, low);
}

/* sin(pi r) for 0 <= r <= 1/2. */
static inline double adjoint_sin_half_turn_f64(double r) {
    double part = r > 0.25 ? 0.5 - r : r, low, lost;
    double angle = adjoint_exact_product_f64(part, ADJOINT_PI_F64, &low);
    low += part * 0x1.1a62633145c07p-53;
    return r > 0.25 ? adjoint_cos_near_zero_f64(angle, low, &lost) : adjoint_sin_near_zero_f64(angle, low, &lost);
}

/* The distance of x to the nearest integer, from -1/2 to 1/2. */
static inline double adjoint_off_integer_f64(double x) {
    return fabs(x) < 0x1p52 ? x - rint(x) : 0;
}

/* Whether x is an odd integer. */
static inline int adjoint_is_odd_f64(double x) {
    return fabs(x) < 0x1p53 && x == rint(x) && 0.5 * x != rint(0.5 * x);
}

/* sin(pi x) / (pi x), 1 at 0, NaN at infinity. */
static inline double adjoint_sinc_f64(double x) {
    double a = fabs(x), r = adjoint_off_integer_f64(a);
    double sine = adjoint_sin_half_turn_f64(fabs(r)), whole = a < 0x1p52 ? rint(a) : 0;
    sine = (r < 0) != adjoint_is_odd_f64(whole) ? -sine : sine;
    double result = a < 0x1p-27 ? 1 : a == ADJOINT_INFINITE ? ADJOINT_UNDEFINED : sine / (ADJOINT_PI_F64 * a);
    return x != x ? x : result;
}

/* ---- gamma functions ---- */

/* The row of the tables for 1/2 <= x < 9, and x on it as -1 <= t <= 1. */
static inline int adjoint_gamma_row_f64(double x, double *t) {
    int row = x < 1 ? 0 : x < 2 ? 1 : x < 3 ? 2 : x < 5 ? 3 : 4;
    *t = row == 0 ? 4 * x - 3 : row == 1 ? 2 * x - 3 : row == 2 ? 2 * x - 5 : row == 3 ? x - 4 : 0.5 * x - 3.5;
    return row;
}

/* ln gamma(x) - ((x - 1/2) ln x - x + ln(2 pi) / 2) for x >= 9, DLMF 5.11.1. */
static inline double adjoint_stirling_f64(double x) {
    double r = 1 / x;
    return r * ADJOINT_ROW(adjoint_stirling, 0, r * r);
}

/* ln gamma(1 + x) for -1/2 <= x <= 1. */
static inline double adjoint_log_gamma_1p_f64(double x) {
    double factor = x < 0 ? ADJOINT_ROW(adjoint_log_gamma_factor, 0, 4 * x + 1) : ADJOINT_ROW(adjoint_log_gamma_factor, 1, 2 * x - 1);
    return x * (x - 1) * factor;
}

/* ln gamma(x) for x > 0. */
static inline double adjoint_lgamma_positive_f64(double x) {
    if (x < 0.5) {
        return adjoint_log_gamma_1p_f64(x) - adjoint_log_f64(x);
    }
    if (x < 9) {
        double t;
        int row = adjoint_gamma_row_f64(x, &t);
        return (x - 1) * (x - 2) * ADJOINT_ROW(adjoint_log_gamma_factor, row, t) + 0.0; /* 0 at 1, not -0 */
    }
    if (x > 1e300) {
        return x * (adjoint_log_f64(x) - 1);
    }
    double log_low, log = adjoint_log_parts_f64(x, &log_low), less_low, product_low, sum_low;
    double less = adjoint_exact_sum_f64(log, -1, &less_low), factor = x - 0.5;
    double product = adjoint_exact_product_f64(factor, less, &product_low);
    product_low += factor * (less_low + log_low) + ((x - factor) - 0.5) * less;
    double sum = adjoint_exact_sum_f64(product, 0x1.acfe390c97d69p-2, &sum_low); /* (ln(2 pi) - 1) / 2 */
    return sum + (sum_low + product_low + adjoint_stirling_f64(x));
}

/* ln |gamma(x)|; infinite at 0, -1, -2, ...; by reflection below 0, DLMF 5.5.3. */
static inline double adjoint_lgamma_f64(double x) {
    double a = fabs(x);
    if (!(a < ADJOINT_INFINITE)) {
        return x != x ? x : ADJOINT_INFINITE;
    }
    if (x > 0) {
        return adjoint_lgamma_positive_f64(x);
    }
    double off = fabs(adjoint_off_integer_f64(a));
    if (off == 0) {
        return ADJOINT_INFINITE;
    }
    double sine = adjoint_sin_half_turn_f64(off);
    if (a < 0.5) {
        return -adjoint_log_f64(sine / ADJOINT_PI_F64) - adjoint_log_gamma_1p_f64(a);
    }
    return -adjoint_log_f64(a * sine / ADJOINT_PI_F64) - adjoint_lgamma_positive_f64(a);
}

/* The derivative of ln gamma(x), for x >= 1/2; above 9 by DLMF 5.11.2. */
static inline double adjoint_digamma_beyond_f64(double x) {
    if (x < 9) {
        double t;
        int row = adjoint_gamma_row_f64(x, &t);
        return ((x - adjoint_digamma_root[0][0]) - adjoint_digamma_root[0][1]) * ADJOINT_ROW(adjoint_digamma_factor, row, t);
    }
    double r = 1 / x, z = r * r;
    return adjoint_log_f64(x) - (0.5 * r + z * ADJOINT_ROW(adjoint_digamma_tail, 0, z));
}

/* The derivative of ln gamma(x); DLMF 5.5.2, 5.5.4. At 0 infinite, as -1 / x is; NaN at -1, -2, ... */
static inline double adjoint_digamma_f64(double x) {
    if (x == 0) {
        return copysign(ADJOINT_INFINITE, -x);
    }
    if (!(x > -ADJOINT_INFINITE)) {
        return ADJOINT_UNDEFINED;
    }
    if (x >= 0.5) {
        return x == ADJOINT_INFINITE ? x : adjoint_digamma_beyond_f64(x);
    }
    if (x > -0.5) { /* 1 + x without its rounding */
        double above = (x - (adjoint_digamma_root[0][0] - 1)) - adjoint_digamma_root[0][1];
        double factor = x < 0 ? ADJOINT_ROW(adjoint_digamma_factor, 0, 4 * x + 1) : ADJOINT_ROW(adjoint_digamma_factor, 1, 2 * x - 1);
        return above * factor - 1 / x;
    }
    double off = adjoint_off_integer_f64(x);
    if (off == 0) {
        return ADJOINT_UNDEFINED;
    }
    double sine = adjoint_sin_half_turn_f64(fabs(off)), cosine = adjoint_sin_half_turn_f64(0.5 - fabs(off));
    return adjoint_digamma_beyond_f64(1 - x) - copysign(ADJOINT_PI_F64 * cosine / sine, off);
}

/* 1 / gamma(x) for 0 < x < 9: by the recurrence from 1 <= x <= 2. */
static inline double adjoint_reciprocal_gamma_f64(double x) {
    double product = 1, y = x;
    while (y > 2) {
        y -= 1;
        product *= y;
    }
    if (y < 1) {
        return y * ADJOINT_ROW(adjoint_reciprocal_gamma, 0, 2 * y - 1);
    }
    return ADJOINT_ROW(adjoint_reciprocal_gamma, 0, 2 * y - 3) / product;
}

/* The sum of ln gamma(x - j / 2) over j < p, and p (p - 1) / 4 ln pi: DLMF 35.3.4. */
static inline double adjoint_mvlgamma_f64(double x, int64_t p) {
    double count = (double)p, sum = 0.25 * count * (count - 1) * 0x1.250d048e7a1bdp+0, lost = 0;
    for (int64_t j = 0; j < p; j++) {
        double low;
        sum = adjoint_exact_sum_f64(sum, adjoint_lgamma_f64(x - 0.5 * (double)j), &low);
        lost += sum < ADJOINT_INFINITE ? low : 0;
    }
    return sum + lost;
}

/* ln(1 + x) - x for x > -1, by the series of artanh next to 0: with s = x / (2 + x), it is 2 (s^3 / 3 + s^5 / 5 + ...) - s x. */
static inline double adjoint_log1p_less_f64(double x) {
    if (fabs(x) > 0.4) {
        return adjoint_log1p_f64(x) - x;
    }
    double s = x / (2 + x), z = s * s, p = 0;
    for (int k = 25; k >= 3; k -= 2) {
        p = ADJOINT_FMA_F64(p, z, 2.0 / k);
    }
    return s * (z * p - x);
}

/* ln B(a, b) = ln gamma(a) + ln gamma(b) - ln gamma(a + b); where terms are large, Stirling's series of each, less what cancels. */
static inline double adjoint_log_beta_f64(double first, double second) {
    double a = first < second ? first : second, b = first < second ? second : first;
    if (!(a > 0) || !(b >= 9) || b == ADJOINT_INFINITE) {
        if (a > 0 && b == ADJOINT_INFINITE) {
            return -ADJOINT_INFINITE;
        }
        return adjoint_lgamma_f64(first) + adjoint_lgamma_f64(second) - adjoint_lgamma_f64(first + second);
    }
    double sum = a + b, tails = adjoint_stirling_f64(b) - adjoint_stirling_f64(sum);
    double ratio = a / b;
    if (a < 9) {
        return adjoint_lgamma_positive_f64(a) + (tails + (a - a * adjoint_log_f64(sum) - (b - 0.5) * adjoint_log1p_f64(ratio)));
    }
    double constant = 0x1.d67f1c864beb5p-1; /* ln(2 pi) / 2 */
    double logs = (a - 0.5) * adjoint_log_f64(a / sum) - b * adjoint_log1p_f64(ratio) - 0.5 * adjoint_log_f64(b);
    return logs + (constant + (adjoint_stirling_f64(a) + tails));
}

/* ---- zeta and polygamma ---- */

#define ADJOINT_ORDERS 8

/* unit^s times the derivative of zeta(s, q) of order n by s, for s > 1 and q > 0: Euler's and Maclaurin's formula, DLMF 25.11.5. It is computed
   in Taylor series by s: a^(-s - e) = a^-s exp(-e ln a), and so on. A term that changes nothing ends the sum. */
static inline double adjoint_zeta_positive_f64(double s, double q, double unit, int n) {
    double total[ADJOINT_ORDERS + 1] = {0}, rest[ADJOINT_ORDERS + 1] = {0};
    double reach = 10 + s, a = q, cut = 0;
    int small = 0;
    for (int64_t k = 1; a < reach && !small; k++) {
        double term = adjoint_pow_f64(a / unit, -s), log = n > 0 ? adjoint_log_f64(a) : 0;
        term = cut == 0 ? term : term * adjoint_exp_f64(-(s * cut / a)); /* what the rounding of a cut off */
        double scale = term;
        for (int i = 0; i <= n; i++) {
            double lost;
            total[i] = adjoint_exact_sum_f64(total[i], scale, &lost);
            rest[i] += total[i] - total[i] == 0 ? lost : 0;
            small = !(fabs(scale) > 0x1p-66 * fabs(total[i])) && a > 2;
            scale *= -log / (i + 1);
        }
        a = adjoint_exact_sum_f64(q, (double)k, &cut);
    }
    if (!small) {
        double power = adjoint_pow_f64(a / unit, -s), log = adjoint_log_f64(a), scaled[ADJOINT_ORDERS + 1], factor[ADJOINT_ORDERS + 1];
        power = cut == 0 ? power : power * adjoint_exp_f64(-(s * cut / a));
        for (int i = 0; i <= n; i++) {
            scaled[i] = i == 0 ? power : scaled[i - 1] * -log / i; /* a^-s */
        }
        double pole = 0; /* a / (s - 1 + e) + 1/2, less further on the sum of B_2k / (2k)! s (s + 1) ... (s + 2 k - 2) a^(1 - 2 k) */
        for (int i = 0; i <= n; i++) {
            pole = i == 0 ? a / (s - 1) : -pole / (s - 1);
            factor[i] = i == 0 ? pole + 0.5 : pole;
        }
        double rising[ADJOINT_ORDERS + 1] = {0}, divided = 1 / a, series[ADJOINT_ORDERS + 1] = {0};
        rising[0] = 1;
        for (int k = 0; k < 14; k++) {
            for (int j = k == 0 ? 0 : 2 * k - 1; j <= 2 * k; j++) { /* times s + j + e */
                for (int i = n; i >= 0; i--) {
                    rising[i] = rising[i] * (s + j) + (i > 0 ? rising[i - 1] : 0);
                }
            }
            for (int i = 0; i <= n; i++) {
                series[i] += adjoint_zeta_tail[0][k] * rising[i] * divided;
            }
            divided = divided / a / a;
        }
        for (int i = n; i >= 0; i--) {
            double sum = 0;
            for (int j = 0; j <= i; j++) {
                sum += scaled[i - j] * (factor[j] + series[j]);
            }
            double lost;
            total[i] = adjoint_exact_sum_f64(total[i], sum == sum ? sum : 0, &lost);
            rest[i] += total[i] - total[i] == 0 ? lost : 0;
        }
    }
    double result = total[n] + rest[n];
    for (int i = 2; i <= n; i++) {
        result *= i;
    }
    return result;
}

/* zeta(s, q), the sum of (q + k)^-s. Infinite at s = 1 and at q = 0, -1, ...; NaN for s < 1, and for q < 0 unless s is an integer. Then the
   terms before 0 are those of two sums from the distances to the next integers: DLMF 25.11.3. */
static inline double adjoint_zeta_derivative_f64(double s, double q, int64_t order) {
    int n = (int)order;
    if (s != s || q != q || s < 1) {
        return ADJOINT_UNDEFINED;
    }
    if (s == 1) {
        return n % 2 ? -ADJOINT_INFINITE : ADJOINT_INFINITE;
    }
    if (q > 0) {
        if (q == ADJOINT_INFINITE) {
            return 0;
        }
        return adjoint_zeta_positive_f64(s, q, 1, n);
    }
    if (q == floor(q)) {
        return n > 0 ? ADJOINT_UNDEFINED : ADJOINT_INFINITE;
    }
    if (n > 0 || s != floor(s)) {
        return ADJOINT_UNDEFINED;
    }
    double above = ceil(q) - q, below = q - floor(q);
    double left = adjoint_zeta_positive_f64(s, above, 1, 0) - adjoint_zeta_positive_f64(s, 1 - q, 1, 0);
    left = left == left ? left : ADJOINT_INFINITE;
    return adjoint_zeta_positive_f64(s, below, 1, 0) + (adjoint_is_odd_f64(s) ? -left : left);
}

static inline double adjoint_zeta_f64(double s, double q) {
    return adjoint_zeta_derivative_f64(s, q, 0);
}

/* The derivative of digamma of order n, (-1)^(n + 1) n! zeta(n + 1, x): DLMF 5.15.1. NaN for n < 0. */
static inline double adjoint_polygamma_f64(int64_t n, double x) {
    if (n <= 0) {
        return n == 0 ? adjoint_digamma_f64(x) : ADJOINT_UNDEFINED;
    }
    if (n == 1 && x > 0x1p60) {
        return 1 / x;
    }
    double s = (double)n + 1, sum = adjoint_zeta_f64(s, x), factorial = 1, lost = 0, size = fabs(sum);
    if (x > 0 && x < ADJOINT_INFINITE && (n > 170 || size < 0x1p-1000)) {
        double power = adjoint_exp_f64(adjoint_lgamma_f64(s) - s * adjoint_log_f64(x));
        size = power > 0 ? power * adjoint_zeta_positive_f64(s, x, x, 0) : 0;
    } else {
        for (int64_t k = 2; k <= n && k < 172; k++) {
            double low;
            factorial = adjoint_exact_product_f64(factorial, (double)k, &low);
            lost = lost * (double)k + low;
        }
        size *= n > 170 ? ADJOINT_INFINITE : factorial + (factorial < 1e290 ? lost : 0);
    }
    return copysign(size, n % 2 ? sum : -sum);
}

/* ---- incomplete gamma and beta functions ---- */

/* Adds factor (term + term_low) to sum + *low. Returns the new sum. */
static inline double adjoint_add_product_f64(double sum, double *low, double factor, double term, double term_low) {
    double product_low, product = adjoint_exact_product_f64(factor, term, &product_low), lost;
    sum = adjoint_exact_sum_f64(sum, product, &lost);
    *low += lost + (product_low + factor * term_low);
    return sum;
}

/* e^(exponent + low). */
static inline double adjoint_exp_of_sum_f64(double exponent, double low) {
    double rest, sum = adjoint_exact_sum_f64(exponent, low, &rest), power = adjoint_exp_f64(sum);
    return power > 0 && power < ADJOINT_INFINITE ? power + power * rest : power;
}

/* x^a e^-x / gamma(a) for a, x > 0: where a is large, sqrt(a / 2 pi) e^(a (ln(1 + d) - d)) with d = x / a - 1, less Stirling's series. */
static inline double adjoint_gamma_density_f64(double a, double x) {
    double d = (x - a) / a, root = sqrt(a) * 0x1.9884533d43651p-2, tail = a < 9 ? 0 : adjoint_stirling_f64(a);
    if (a >= 9 && fabs(d) <= 0.4) {
        return root * adjoint_exp_f64(a * adjoint_log1p_less_f64(d) - tail);
    }
    double log_low, log = adjoint_log_parts_f64(x, &log_low), low = 0;
    double exponent = adjoint_add_product_f64(-x, &low, a, log, log_low);
    if (a < 9) {
        return adjoint_exp_of_sum_f64(exponent, low) * adjoint_reciprocal_gamma_f64(a);
    }
    log = adjoint_log_parts_f64(a, &log_low);
    exponent = adjoint_add_product_f64(exponent, &low, -a, log, log_low);
    exponent = adjoint_add_product_f64(exponent, &low, a, 1, 0);
    return root * adjoint_exp_of_sum_f64(exponent, low - tail);
}

/* The points of the sums below: u = width * e^v, v in steps of 1/8. The integrands decay as e^(-u / width), or as e^(-u^2), above. */
#define ADJOINT_STEP 0.125
#define ADJOINT_MOST 4

/* The first of them, 2^-55 of the width, and of what else the integrand varies on: the smaller one is `width` / `ratio`. */
static inline int adjoint_first_point_f64(double ratio) {
    return -304 - (ratio > 1 ? (int)(adjoint_log_f64(ratio) / ADJOINT_STEP) : 0);
}

/* Bell's polynomial of order n in c[1], ..., c[n]: the factor by which the n-th derivative by a parameter multiplies a density whose logarithm
   has the derivatives c. W_(k + 1) = sum of binomial(k, j) W_(k - j) c[j + 1]. */
static inline double adjoint_bell_f64(const double *c, int n) {
    double w[ADJOINT_ORDERS + 1] = {1};
    for (int k = 0; k < n; k++) {
        double binomial = 1;
        w[k + 1] = 0;
        for (int j = 0; j <= k; j++) {
            w[k + 1] += binomial * w[k - j] * c[j + 1];
            binomial = binomial * (k - j) / (j + 1);
        }
    }
    return w[n];
}

/* The part of the gamma distribution below x (DLMF 8.2.4), or above it, or for n > 0 its derivative by a. With t = x e^-u below x, and
   t = x (1 + u) above. */
static inline double adjoint_gamma_part_f64(double a, double x, int n, int above) {
    double slope = !above ? a - x : a > 1 ? x - a + 1 : x, spread = above ? (a > 1 ? a - 1 : 0) : x;
    double width = !above && a < 1.5 ? 1 / a : 1 / ((slope > 0 ? slope : 0) + sqrt(spread));
    double c[ADJOINT_ORDERS + 1] = {0}, first = 0, log = 0;
    if (n > 0) {
        log = adjoint_log_f64(x);
        first = adjoint_digamma_f64(a);
        for (int k = 2; k <= n; k++) {
            c[k] = -adjoint_polygamma_f64(k - 1, a);
        }
    }
    double sum = 0;
    for (int k = adjoint_first_point_f64(width); k <= (int)(ADJOINT_MOST / ADJOINT_STEP); k++) {
        double u = width * adjoint_exp_f64(ADJOINT_STEP * k), exponent, moved;
        if (above) {
            moved = adjoint_log1p_f64(u);
            exponent = a > 1 ? -slope * u + (a - 1) * adjoint_log1p_less_f64(u) : (a - 1) * moved - x * u;
        } else {
            moved = -u;
            exponent = -a * u - x * adjoint_expm1_f64(-u);
        }
        double term = u * adjoint_exp_f64(exponent);
        if (n > 0) {
            c[1] = log + moved - first;
            term *= adjoint_bell_f64(c, n);
        }
        sum += term;
    }
    return ADJOINT_STEP * sum * adjoint_gamma_density_f64(a, x);
}

/* P(a, x) less 1, and P(a, x), for 0 < x <= 1.5 by the power series DLMF 8.7.3: with p = x^a / gamma(1 + a) - 1, and the sum s over n > 0 of
   (-x)^n / ((a + n) n!), P is (1 + p) (1 + a s). */
static inline double adjoint_gamma_series_f64(double a, double x, int above) {
    double term = 1, sum = 0;
    for (int n = 1; n < 24; n++) {
        term *= -x / n;
        sum += term / (a + n);
    }
    double log = adjoint_log_f64(x), power;
    if (a < 1) {
        double exponent = a * log - adjoint_log_gamma_1p_f64(a);
        if (above) {
            double less = adjoint_expm1_f64(exponent);
            return -(less + (1 + less) * (a * sum));
        }
        power = adjoint_pow_f64(x, a) * ADJOINT_ROW(adjoint_reciprocal_gamma, 0, 2 * a - 1);
    } else if (a < 8) {
        power = adjoint_pow_f64(x, a) * adjoint_reciprocal_gamma_f64(a + 1);
    } else {
        power = adjoint_gamma_density_f64(a, x) / a * adjoint_exp_f64(x);
    }
    double result = power * (1 + a * sum);
    return above ? 1 - result : result;
}

/* P(a, x), or Q(a, x) = 1 - P(a, x), or for n > 0 the derivative of P by a. 0 and 1 at x = 0; NaN for a <= 0, x < 0 and infinity with infinity. */
static inline double adjoint_gamma_distribution_f64(double a, double x, int n, int above) {
    if (!(a >= 0) || !(x >= 0) || (a == 0 && (x == 0 || n > 0)) || (a == ADJOINT_INFINITE && x == ADJOINT_INFINITE)) {
        return ADJOINT_UNDEFINED;
    }
    if (x == 0 || a == ADJOINT_INFINITE || x == ADJOINT_INFINITE || a == 0) {
        int all = x == ADJOINT_INFINITE || a == 0;
        return n > 0 ? 0 : all != above ? 1 : 0;
    }
    if (n > 0) {
        a = a < 0x1p-900 ? 0x1p-900 : a; /* 1 / a is a number */
        int upper = a < 1.5 ? x > 1.5 || adjoint_log_f64(x) > adjoint_digamma_f64(a) : x > a;
        double part = adjoint_gamma_part_f64(a, x, n, upper);
        return upper ? -part : part;
    }
    if (x <= (above && a < x ? 0.7 : 1.5)) {
        return adjoint_gamma_series_f64(a, x, above);
    }
    double part = adjoint_gamma_part_f64(a, x, 0, x > a);
    return (x > a) == above ? part : 1 - part;
}

/* The same to some 2^-33, for results of float: below the mean by the series of positive terms DLMF 8.11.4, above it by the continued fraction DLMF
   8.9.2, whose numerators and denominators follow from the last two.  Both need about 10 sqrt(a) terms next to the mean. */
static inline double adjoint_gamma_distribution_f32(double a, double x, int above) {
    if (!(a > 0 && a < 400 && x > (above && a < x ? 0.7 : 1.5) && x < ADJOINT_INFINITE)) {
        return adjoint_gamma_distribution_f64(a, x, 0, above);
    }
    double density = adjoint_gamma_density_f64(a, x);
    if (x <= a) {
        double term = 1, sum = 1;
        for (double next = a + 1; term > 0x1p-36 * sum; next += 1) {
            term *= x / next;
            sum += term;
        }
        double below = density / a * sum;
        return above ? 1 - below : below;
    }
    double odd = x + 1 - a, numerator = 1, denominator = odd, last_numerator = 0, last_denominator = 1;
    for (double k = 1;; k += 1) {
        odd += 2;
        double factor = k * (a - k), top = odd * numerator + factor * last_numerator, bottom = odd * denominator + factor * last_denominator;
        double shrink = bottom > 0x1p500 ? 0x1p-500 : 1, ahead = top * denominator, behind = numerator * bottom;
        last_numerator = numerator * shrink;
        last_denominator = denominator * shrink;
        numerator = top * shrink;
        denominator = bottom * shrink;
        if (fabs(ahead - behind) <= 0x1p-36 * ahead) {
            break;
        }
    }
    double rest = density * (numerator / denominator);
    return above ? rest : 1 - rest;
}

static inline float adjoint_igamma_f32(float a, float x) {
    return (float)adjoint_gamma_distribution_f32(a, x, 0);
}

static inline float adjoint_igammac_f32(float a, float x) {
    return (float)adjoint_gamma_distribution_f32(a, x, 1);
}

static inline double adjoint_igamma_f64(double a, double x) {
    return adjoint_gamma_distribution_f64(a, x, 0, 0);
}

static inline double adjoint_igammac_f64(double a, double x) {
    return adjoint_gamma_distribution_f64(a, x, 0, 1);
}

static inline double adjoint_igamma_derivative_f64(double a, double x, int64_t order) {
    return adjoint_gamma_distribution_f64(a, x, (int)order, 0);
}

/* x^a y^b / B(a, b) with y = 1 - x: as the gamma distribution's, where a and b are large. Where one is small, B is by its gamma function. */
static inline double adjoint_beta_density_f64(double a, double b, double x, double y) {
    double off = x * b - y * a, sum = a + b; /* (x - a / sum) sum */
    if (a >= 9 && b >= 9 && fabs(off) <= 0.4 * a && fabs(off) <= 0.4 * b) {
        double exponent = a * adjoint_log1p_less_f64(off / a) + b * adjoint_log1p_less_f64(-off / b);
        double tails = adjoint_stirling_f64(a) + adjoint_stirling_f64(b) - adjoint_stirling_f64(sum);
        return sqrt(a / sum * b) * 0x1.9884533d43651p-2 * adjoint_exp_f64(exponent - tails);
    }
    double x_low = x < y ? 0 : (1 - y) - x, y_low = x < y ? (1 - y) - x : 0, low = 0, log_low, log; /* 1 - x and 1 - y less their rounding */
    log = adjoint_log_parts_f64(x, &log_low);
    double exponent = adjoint_add_product_f64(0, &low, a, log, log_low + x_low / x);
    log = adjoint_log_parts_f64(y, &log_low);
    exponent = adjoint_add_product_f64(exponent, &low, b, log, log_low + y_low / y);
    if (a < 9 && b < 9) {
        double gammas = adjoint_reciprocal_gamma_f64(a) * adjoint_reciprocal_gamma_f64(b) / adjoint_reciprocal_gamma_f64(sum);
        return adjoint_exp_of_sum_f64(exponent, low) * gammas;
    }
    double small = a < b ? a : b, large = a < b ? b : a, sum_low;
    sum = adjoint_exact_ordered_sum_f64(large, small, &sum_low);
    log = adjoint_log_parts_f64(sum, &log_low);
    exponent = adjoint_add_product_f64(exponent, &low, small, log, log_low + sum_low / sum);
    double growth = adjoint_log1p_f64(small / large), tails = adjoint_stirling_f64(large) - adjoint_stirling_f64(sum);
    exponent = adjoint_add_product_f64(exponent, &low, large, growth, 0);
    if (small < 9) {
        exponent = adjoint_add_product_f64(exponent, &low, -1, small, 0);
        return adjoint_exp_of_sum_f64(exponent, low - 0.5 * growth - tails) * adjoint_reciprocal_gamma_f64(small);
    }
    log = adjoint_log_parts_f64(small, &log_low);
    exponent = adjoint_add_product_f64(exponent, &low, -small, log, log_low);
    return sqrt(a / sum * b) * 0x1.9884533d43651p-2 * adjoint_exp_of_sum_f64(exponent, low - (tails + adjoint_stirling_f64(small)));
}

/* The part of the beta distribution below x, DLMF 8.17.2, or for i + j > 0 its derivative, i times by a and j times by b. With t = x e^-u. */
static inline double adjoint_beta_part_f64(double a, double b, double x, double y, int i, int j) {
    double ratio = x / y, slope = a - (b - 1) * ratio, spread = b > 1 ? (b - 1) * ratio * (1 + ratio) : 0;
    double width = 1 / (a < 1 || b < 1 ? a : (slope > 0 ? slope : 0) + sqrt(spread)), sum = 0;
    int n = i + j, start = adjoint_first_point_f64(width * (1 + ratio));
    double c[ADJOINT_ORDERS + 1][ADJOINT_ORDERS + 1] = {{0}}, w[ADJOINT_ORDERS + 1][ADJOINT_ORDERS + 1], log = 0, other = 0;
    if (n > 0) {
        log = adjoint_log_f64(x);
        other = adjoint_log_f64(y);
        for (int p = 0; p <= i; p++) {
            for (int q = 0; q <= j; q++) {
                if (p + q > 0) {
                    c[p][q] = adjoint_polygamma_f64(p + q - 1, a + b) - (q == 0 ? adjoint_polygamma_f64(p - 1, a) : 0)
                        - (p == 0 ? adjoint_polygamma_f64(q - 1, b) : 0);
                }
            }
        }
    }
    double by_a = c[1][0], by_b = c[0][1];
    for (int k = start; k <= (int)(ADJOINT_MOST / ADJOINT_STEP); k++) {
        double u = width * adjoint_exp_f64(ADJOINT_STEP * k), moved = adjoint_log1p_f64(-ratio * adjoint_expm1_f64(-u));
        double term = u * adjoint_exp_f64((b - 1) * moved - a * u);
        if (n > 0) { /* Bell's polynomial in two parameters */
            c[1][0] = by_a + (log - u);
            c[0][1] = by_b + (other + moved);
            for (int p = 0; p <= i; p++) {
                for (int q = 0; q <= j; q++) {
                    w[p][q] = p + q == 0 ? 1 : 0;
                    /* One derivative is by a, or if p is 0 by b; the others go to the density or to its logarithm's derivative. */
                    double of_p = 1;
                    for (int r = 0; r <= (p > 0 ? p - 1 : 0) && p + q > 0; r++) {
                        double of_q = of_p;
                        for (int s = 0; s <= (p > 0 ? q : q - 1); s++) {
                            w[p][q] += of_q * w[(p > 0 ? p - 1 : 0) - r][(p > 0 ? q : q - 1) - s] * c[p > 0 ? r + 1 : 0][p > 0 ? s : s + 1];
                            of_q = of_q * ((p > 0 ? q : q - 1) - s) / (s + 1);
                        }
                        of_p = of_p * ((p > 0 ? p - 1 : 0) - r) / (r + 1);
                    }
                }
            }
            term *= w[i][j];
        }
        sum += term;
    }
    return ADJOINT_STEP * sum * (adjoint_beta_density_f64(a, b, x, y) / y);
}

/* I_x(a, b), or its derivative i times by a and j times by b. Above the mean it is 1 - I_(1 - x)(b, a). */
static inline double adjoint_betainc_derivative_f64(double a, double b, double x, int64_t by_a, int64_t by_b) {
    int i = (int)by_a, j = (int)by_b, n = i + j;
    if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1) || a == ADJOINT_INFINITE || b == ADJOINT_INFINITE) {
        return ADJOINT_UNDEFINED;
    }
    if (x == 0 || x == 1) {
        return n > 0 ? 0 : x;
    }
    /* Of parameters that are nearly 0 only the ratio counts; 1 / a need not be a number. */
    double scale = a < 0x1p-900 && b < 0x1p-900 ? 0x1p170 : 1, y = 1 - x;
    a = a * scale < 0x1p-904 ? 0x1p-904 : a * scale;
    b = b * scale < 0x1p-904 ? 0x1p-904 : b * scale;
    if (x * b <= y * a || (b < 1 && y > 0)) {
        double part = adjoint_beta_part_f64(a, b, x, y, i, j);
        return part > 1 && n == 0 ? 1 : part;
    }
    double part = adjoint_beta_part_f64(b, a, y, x, j, i);
    return n > 0 ? -part : 1 - (part > 1 ? 1 : part);
}

static inline double adjoint_betainc_f64(double a, double b, double x) {
    return adjoint_betainc_derivative_f64(a, b, x, 0, 0);
}

/* ---- Bessel functions ---- */

/* I0(x) and I1(x) for 0 <= x <= 8, by their power series, DLMF 10.25.2. */
static inline double adjoint_bessel_i_near_f64(int order, double x) {
    double z = 0.25 * x * x;
    return order == 0 ? ADJOINT_ROW(adjoint_bessel_i0_series, 0, z) : 0.5 * x * ADJOINT_ROW(adjoint_bessel_i1_series, 0, z);
}

/* sqrt(x) e^-x I(x) for x >= 8. */
static inline double adjoint_bessel_i_far_f64(int order, double x) {
    int row = x < 16 ? 0 : x < 32 ? 1 : 2;
    double r = 1 / x, t = row == 0 ? 32 * r - 3 : row == 1 ? 64 * r - 3 : 64 * r - 1;
    return order == 0 ? ADJOINT_ROW(adjoint_bessel_i0_far, row, t) : ADJOINT_ROW(adjoint_bessel_i1_far, row, t);
}

/* I0(x) and I1(x), times e^-|x| if `scaled`. */
static inline double adjoint_bessel_i_f64(int order, double x, int scaled) {
    double a = fabs(x), result;
    if (a <= 8) {
        result = adjoint_bessel_i_near_f64(order, a);
        result = scaled ? result * adjoint_exp_f64(-a) : result;
    } else if (a < ADJOINT_INFINITE) {
        result = adjoint_bessel_i_far_f64(order, a) / sqrt(a);
        if (!scaled) {
            double power = adjoint_exp_f64(a > 700 ? 0.5 * a : a);
            result = a > 700 ? result * power * power : result * power;
        }
    } else {
        result = a != a ? a : scaled ? 0 : a;
    }
    return order == 0 ? result : copysign(result, x);
}

static inline double adjoint_bessel_i0_f64(double x) {
    return adjoint_bessel_i_f64(0, x, 0);
}

static inline double adjoint_bessel_i0e_f64(double x) {
    return adjoint_bessel_i_f64(0, x, 1);
}

static inline double adjoint_bessel_i1_f64(double x) {
    return adjoint_bessel_i_f64(1, x, 0);
}

static inline double adjoint_bessel_i1e_f64(double x) {
    return adjoint_bessel_i_f64(1, x, 1);
}

/* K0(x) and K1(x), times e^x if `scaled`; infinite at 0 and below. Up to 1 by DLMF 10.31.1 and 10.31.2. */
static inline double adjoint_bessel_k_f64(int order, double x, int scaled) {
    if (!(x > 0)) {
        return x != x ? x : ADJOINT_INFINITE;
    }
    if (x <= 1) {
        double z = 0.25 * x * x, log = adjoint_log_f64(x), other = adjoint_bessel_i_near_f64(order, x);
        double result = order == 0 ? ADJOINT_ROW(adjoint_bessel_k0_series, 0, z) - log * other
                                   : 1 / x + (log * other - x * ADJOINT_ROW(adjoint_bessel_k1_series, 0, z));
        return scaled ? result * adjoint_exp_f64(x) : result;
    }
    int row = x < 2 ? 0 : x < 4 ? 1 : x < 8 ? 2 : x < 16 ? 3 : 4;
    double r = 1 / x, t = row == 0 ? 4 * r - 3 : row == 1 ? 8 * r - 3 : row == 2 ? 16 * r - 3 : row == 3 ? 32 * r - 3 : 32 * r - 1;
    double far = order == 0 ? ADJOINT_ROW(adjoint_bessel_k0_far, row, t) : ADJOINT_ROW(adjoint_bessel_k1_far, row, t);
    if (scaled) {
        return far / sqrt(x);
    }
    double power = adjoint_exp_f64(x > 700 ? -0.5 * x : -x);
    return x > 700 ? far / sqrt(x) * power * power : far / sqrt(x) * power;
}

static inline double adjoint_bessel_k0_f64(double x) {
    return adjoint_bessel_k_f64(0, x, 0);
}

static inline double adjoint_bessel_k0e_f64(double x) {
    return adjoint_bessel_k_f64(0, x, 1);
}

static inline double adjoint_bessel_k1_f64(double x) {
    return adjoint_bessel_k_f64(1, x, 0);
}

static inline double adjoint_bessel_k1e_f64(double x) {
    return adjoint_bessel_k_f64(1, x, 1);
}

/* A function on [1, 8) from its rows on [1, 2], [2, 4], [4, 6] and [6, 8], and the zeros that are divided out of them. */
#define ADJOINT_BESSEL_NEAR(near, root, x) adjoint_bessel_near_f64(near[0], root, (int)(sizeof near[0] / sizeof(double)), x)

static inline double adjoint_bessel_near_f64(const double *rows, const double root[][2], int count, double x) {
    int row = x < 2 ? 0 : x < 4 ? 1 : x < 6 ? 2 : 3;
    double p = adjoint_polynomial_f64(rows + row * count, count, row == 0 ? 2 * x - 3 : x - (2 * row + 1));
    return root[row][0] == 0 ? p : ((x - root[row][0]) - root[row][1]) * p;
}

/* J(x), or Y(x) if `second`, for 8 <= x < infinity: sqrt(2 / (pi x)) (P cos chi - Q sin chi), or P sin chi + Q cos chi, with
   chi = x - pi / 4 for order 0, x - 3 pi / 4 for order 1; DLMF 10.17.3, 10.17.4. */
static inline double adjoint_bessel_far_f64(int order, double x, int second) {
    double r = 8 / x, w = r * r;
    int row = x < 16 ? 0 : x < 32 ? 1 : 2;
    double t = row == 0 ? (8 * w - 5) / 3 : row == 1 ? (32 * w - 5) / 3 : 32 * w - 1;
    double p = order == 0 ? ADJOINT_ROW(adjoint_bessel_p0, row, t) : ADJOINT_ROW(adjoint_bessel_p1, row, t);
    double q = (order == 0 ? ADJOINT_ROW(adjoint_bessel_q0, row, t) : ADJOINT_ROW(adjoint_bessel_q1, row, t)) / x;
    double sine = adjoint_sin_f64(x), cosine = adjoint_cos_f64(x);
    double sum = sine + cosine, difference = sine - cosine; /* over sqrt 2: cos and sin of x - pi / 4, or -sin and cos of x - 3 pi / 4 */
    double along = order == 0 ? sum : difference, across = order == 0 ? difference : -sum;
    double value = second ? p * across + q * along : p * along - q * across;
    return value * 0x1.20dd750429b6dp-1 / sqrt(x); /* 1 / sqrt(pi) */
}

/* J0(x) and J1(x). */
static inline double adjoint_bessel_j_f64(int order, double x) {
    double a = fabs(x), result;
    if (a < 1) {
        double z = 0.25 * a * a;
        result = order == 0 ? ADJOINT_ROW(adjoint_bessel_j0_series, 0, z) : 0.5 * a * ADJOINT_ROW(adjoint_bessel_j1_series, 0, z);
    } else if (a < 8) {
        result = order == 0 ? ADJOINT_BESSEL_NEAR(adjoint_bessel_j0_near, adjoint_bessel_j0_root, a)
                            : ADJOINT_BESSEL_NEAR(adjoint_bessel_j1_near, adjoint_bessel_j1_root, a);
    } else {
        result = a < ADJOINT_INFINITE ? adjoint_bessel_far_f64(order, a, 0) : a != a ? a : 0;
    }
    return order == 1 && x < 0 ? -result : order == 1 && x == 0 ? x : result;
}

static inline double adjoint_bessel_j0_f64(double x) {
    return adjoint_bessel_j_f64(0, x);
}

static inline double adjoint_bessel_j1_f64(double x) {
    return adjoint_bessel_j_f64(1, x);
}

/* Y0(x) and Y1(x); -infinity at 0 and below. */
static inline double adjoint_bessel_y_f64(int order, double x) {
    if (!(x > 0)) {
        return x != x ? x : -ADJOINT_INFINITE;
    }
    if (x < 1) {
        double t = 2 * (x * x) - 1, other = adjoint_bessel_j_f64(order, x), over = 0x1.45f306dc9c883p-1; /* 2 / pi */
        if (order == 1) {
            return over * (adjoint_log_f64(x) * other - 1 / x) + x * ADJOINT_ROW(adjoint_bessel_y1_odd, 0, t);
        }
        double root = adjoint_bessel_y0_root[0][0], off = (x - root) - adjoint_bessel_y0_root[0][1];
        double log = x < 0.5 ? adjoint_log_f64(x) - adjoint_log_f64(root) : adjoint_log1p_f64(off / root);
        return over * log * other + off * (x + root) * ADJOINT_ROW(adjoint_bessel_y0_even, 0, t);
    }
    if (x < 8) {
        return order == 0 ? ADJOINT_BESSEL_NEAR(adjoint_bessel_y0_near, adjoint_bessel_y0_root, x)
                          : ADJOINT_BESSEL_NEAR(adjoint_bessel_y1_near, adjoint_bessel_y1_root, x);
    }
    return x < ADJOINT_INFINITE ? adjoint_bessel_far_f64(order, x, 1) : 0;
}

static inline double adjoint_bessel_y0_f64(double x) {
    return adjoint_bessel_y_f64(0, x);
}

static inline double adjoint_bessel_y1_f64(double x) {
    return adjoint_bessel_y_f64(1, x);
}

/* ---- the inverse of erf ---- */

/* y with erf y = x: x p(x^2) up to 1/2, above in s = sqrt(-ln(1 - |x|)). Infinite at -1 and 1, NaN beyond. */
static inline double adjoint_erfinv_f64(double x) {
    double a = fabs(x);
    if (a <= 0.5) {
        return x * ADJOINT_ROW(adjoint_erfinv_near, 0, 8 * (x * x) - 1);
    }
    if (!(a < 1)) {
        return a == 1 ? copysign(ADJOINT_INFINITE, x) : ADJOINT_UNDEFINED;
    }
    double s = sqrt(-adjoint_log_f64(1 - a));
    int row = s < 1.3125 ? 0 : s < 2.3125 ? 1 : s < 4.3125 ? 2 : 3;
    double t = row == 0 ? 4 * s - 4.25 : row == 1 ? 2 * s - 3.625 : s - (row == 2 ? 3.3125 : 5.3125);
    return copysign(s * ADJOINT_ROW(adjoint_erfinv_far, row, t), x);
}

#endif
