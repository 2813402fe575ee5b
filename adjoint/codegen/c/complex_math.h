/* Functions of complex numbers, all computed in double. The formulas for the inverse functions are W. Kahan's: Branch cuts
   for complex elementary functions, or, much ado about nothing's sign bit, in The State of the Art in Numerical Analysis,
   1987. Branch cuts, signs of zeros and what is infinite are those of C's annex G.

   This text is pasted once for each type: ELEMENT is float _Complex or double _Complex, TYPED(name) is name_c64 or
   name_c128. */

#ifndef ADJOINT_COMPLEX_MATH_H
#define ADJOINT_COMPLEX_MATH_H

#define ADJOINT_PI 3.141592653589793
#define ADJOINT_LN2 0.6931471805599453
#define ADJOINT_LARGE 1e150 /* its square is finite, and 1 makes no difference to it */

/* i x, and -i x */
static inline double _Complex adjoint_times_i(double _Complex x) {
    return adjoint_of_parts(-__imag__ x, __real__ x);
}

static inline double _Complex adjoint_over_i(double _Complex x) {
    return adjoint_of_parts(__imag__ x, -__real__ x);
}

/* sqrt(x x + y y): neither square overflows or underflows. */
static inline double adjoint_length(double x, double y) {
    double a = fabs(x), b = fabs(y), larger = a > b ? a : b;
    double up = larger < 0x1p-500 ? 0x1p600 : 1, down = larger > 0x1p500 ? 0x1p-600 : up;
    double u = a * down, v = b * down;
    double found = sqrt(u * u + v * v) / down;
    return isinf(x) || isinf(y) ? INFINITY : found;
}

/* The logarithm of the length. Where that is near 1 it is half of log(1 + (x x + y y - 1)), the sum without rounding. */
static inline double adjoint_log_length(double x, double y) {
    double a = fabs(x), b = fabs(y), larger = a > b ? a : b, smaller = a > b ? b : a;
    double of_larger, of_smaller, of_sum, of_difference;
    double large = adjoint_exact_product_f64(larger, larger, &of_larger);
    double small = adjoint_exact_product_f64(smaller, smaller, &of_smaller);
    double beyond = adjoint_exact_sum_f64(large, -1.0, &of_difference);
    double excess = adjoint_exact_sum_f64(beyond, small, &of_sum);
    double near = 0.5 * adjoint_log1p_f64(excess + (of_sum + of_difference + of_larger + of_smaller));
    double ratio = larger == 0 ? 0 : smaller / larger;
    double far = adjoint_log_f64(larger) + 0.5 * adjoint_log1p_f64(ratio * ratio);
    double found = larger > 0.5 && larger < 2 ? near : far;
    return isinf(x) || isinf(y) ? INFINITY : isnan(x) || isnan(y) ? NAN : found;
}

static inline double _Complex adjoint_complex_log(double _Complex z) {
    return adjoint_of_parts(adjoint_log_length(__real__ z, __imag__ z), adjoint_atan2_f64(__imag__ z, __real__ z));
}

/* The parts of a power of z, or where its real part is infinite and its imaginary part is not finite those of annex G. */
static inline double _Complex adjoint_turned_infinitely(double _Complex z, double real, double imag) {
    double x = __real__ z, y = __imag__ z;
    int turns = !isfinite(y);
    real = turns && x == -INFINITY ? 0 : turns && x == INFINITY ? INFINITY : real;
    imag = turns && x == -INFINITY ? (isnan(y) ? 0 : copysign(0.0, y)) : imag;
    return adjoint_of_parts(real, imag);
}

/* e^64 */
#define ADJOINT_E64 6.235149080811617e27

static inline double _Complex adjoint_complex_exp(double _Complex z) {
    double x = __real__ z, y = __imag__ z;
    int large = x > 700;
    double size = adjoint_exp_f64(large ? x - 64 : x), more = large ? ADJOINT_E64 : 1;
    double real = size * adjoint_cos_f64(y) * more, imag = y == 0 ? y : size * adjoint_sin_f64(y) * more;
    return adjoint_turned_infinitely(z, real, imag);
}

static inline double _Complex adjoint_complex_exp2(double _Complex z) {
    double x = __real__ z, y = __imag__ z, size = adjoint_exp2_f64(x), angle = y * ADJOINT_LN2;
    double real = size * adjoint_cos_f64(angle), imag = y == 0 ? y : size * adjoint_sin_f64(angle);
    return adjoint_turned_infinitely(z, real, imag);
}

static inline double _Complex adjoint_complex_expm1(double _Complex z) {
    double x = __real__ z, y = __imag__ z, half = adjoint_sin_f64(0.5 * y);
    return adjoint_of_parts(adjoint_expm1_f64(x) * adjoint_cos_f64(y) - 2 * half * half, adjoint_exp_f64(x) * adjoint_sin_f64(y));
}

static inline double _Complex adjoint_complex_log1p(double _Complex z) {
    double x = __real__ z, y = __imag__ z;
    double near = 0.5 * adjoint_log1p_f64(x * (2 + x) + y * y), far = adjoint_log_length(1 + x, y);
    return adjoint_of_parts(fabs(x) < 0.5 && fabs(y) < 0.5 ? near : far, adjoint_atan2_f64(y, 1 + x));
}

static inline double _Complex adjoint_complex_sqrt(double _Complex z) {
    double x = __real__ z, y = __imag__ z, a = fabs(x), b = fabs(y), larger = a > b ? a : b;
    double up = larger < 0x1p-900 ? 0x1p200 : 1, down = larger > 0x1p1000 ? 0x1p-200 : up; /* even powers */
    double back = larger < 0x1p-900 ? 0x1p-100 : larger > 0x1p1000 ? 0x1p100 : 1;
    double u = a * down, v = b * down;
    double most = sqrt(0.5 * (u + adjoint_length(u, v))), least = 0.5 * v / most;
    most *= back;
    least = larger == 0 ? 0 : least * back;
    int ahead = !signbit(x);
    double real = ahead ? most : least, imag = copysign(ahead ? least : most, y);
    real = isinf(y) ? INFINITY : isnan(x) ? x : isinf(x) ? (ahead ? INFINITY : isnan(y) ? y : 0) : real;
    imag = isinf(y) ? y : isnan(x) ? x : isinf(x) ? (isnan(y) && ahead ? y : copysign(ahead ? 0 : INFINITY, y)) : imag;
    return adjoint_of_parts(real, imag);
}

/* sinh and cosh of x, divided by `more`, which is 1, or e^64 where they might overflow. */
static inline double adjoint_hyperbolic(double x, double *cosine, double *more) {
    double size = fabs(x), half = 0.5 * adjoint_exp_f64(size - 64);
    int large = size > 700;
    *more = large ? ADJOINT_E64 : 1;
    *cosine = large ? half : adjoint_cosh_f64(x);
    return large ? copysign(half, x) : adjoint_sinh_f64(x);
}

static inline double _Complex adjoint_complex_sinh(double _Complex z) {
    double x = __real__ z, y = __imag__ z, cosine, more, sine = adjoint_hyperbolic(x, &cosine, &more);
    double real = sine * adjoint_cos_f64(y) * more, imag = cosine * adjoint_sin_f64(y) * more;
    real = !isfinite(y) && (x == 0 || isinf(x)) ? (x == 0 ? x : INFINITY) : real;
    return adjoint_of_parts(real, y == 0 ? y : imag);
}

static inline double _Complex adjoint_complex_cosh(double _Complex z) {
    double x = __real__ z, y = __imag__ z, cosine, more, sine = adjoint_hyperbolic(x, &cosine, &more);
    double real = cosine * adjoint_cos_f64(y) * more, imag = sine * adjoint_sin_f64(y) * more;
    real = isinf(x) && !isfinite(y) ? INFINITY : real;
    imag = y == 0 ? (isnan(x) ? y : copysign(0.0, x) * copysign(1.0, y)) : x == 0 && !isfinite(y) ? 0 : imag;
    return adjoint_of_parts(real, imag);
}

static inline double _Complex adjoint_complex_tanh(double _Complex z) {
    double x = __real__ z, y = __imag__ z, tangent = adjoint_tan_f64(y), sine = adjoint_sinh_f64(x);
    double slope = 1 + tangent * tangent, below = 1 + slope * sine * sine;
    double real = slope * sqrt(1 + sine * sine) * sine / below, imag = tangent / below;
    int far = isinf(x) || (fabs(x) > 20 && isfinite(y));
    double rest = 4 * adjoint_sin_f64(y) * adjoint_cos_f64(y) * adjoint_exp_f64(-2 * fabs(x));
    real = far ? copysign(1.0, x) : x == 0 ? x : real;
    imag = far ? (isfinite(y) ? rest : copysign(0.0, y)) : y == 0 ? y : imag;
    return adjoint_of_parts(real, imag);
}

static inline double _Complex adjoint_complex_sin(double _Complex z) {
    return adjoint_over_i(adjoint_complex_sinh(adjoint_times_i(z)));
}

static inline double _Complex adjoint_complex_cos(double _Complex z) {
    return adjoint_complex_cosh(adjoint_times_i(z));
}

static inline double _Complex adjoint_complex_tan(double _Complex z) {
    return adjoint_over_i(adjoint_complex_tanh(adjoint_times_i(z)));
}

/* Whether a function of z is that of its logarithm: z is large, or infinite. */
static inline int adjoint_is_large(double x, double y) {
    return fabs(x) > ADJOINT_LARGE || fabs(y) > ADJOINT_LARGE;
}

static inline double adjoint_log_of_twice(double x, double y) {
    return adjoint_log_length(0.5 * x, 0.5 * y) + 2 * ADJOINT_LN2;
}

static inline double _Complex adjoint_complex_asinh(double _Complex z) {
    double x = __real__ z, y = __imag__ z;
    double _Complex a = adjoint_complex_sqrt(adjoint_of_parts(1 + y, -x)), b = adjoint_complex_sqrt(adjoint_of_parts(1 - y, x));
    int large = adjoint_is_large(x, y);
    double real = large ? copysign(adjoint_log_of_twice(x, y), x) : adjoint_asinh_f64(__real__ a * __imag__ b - __real__ b * __imag__ a);
    double across = large ? fabs(x) : __real__ a * __real__ b - __imag__ a * __imag__ b;
    return adjoint_of_parts(x == 0 && !large && fabs(y) <= 1 ? x : real, y == 0 ? y : adjoint_atan2_f64(y, across));
}

static inline double _Complex adjoint_complex_acos(double _Complex z) {
    double x = __real__ z, y = __imag__ z;
    double _Complex a = adjoint_complex_sqrt(adjoint_of_parts(1 - x, -y)), b = adjoint_complex_sqrt(adjoint_of_parts(1 + x, y));
    int large = adjoint_is_large(x, y);
    double real = large || (x == 0 && isnan(y)) ? adjoint_atan2_f64(isnan(y) && !large ? 1 : fabs(y), x) : 2 * adjoint_atan2_f64(__real__ a, __real__ b);
    double imag = large ? copysign(adjoint_log_of_twice(x, y), -y) : adjoint_asinh_f64(__real__ b * __imag__ a - __imag__ b * __real__ a);
    return adjoint_of_parts(real, y == 0 && fabs(x) <= 1 ? -y : imag);
}

static inline double _Complex adjoint_complex_acosh(double _Complex z) {
    double x = __real__ z, y = __imag__ z;
    double _Complex a = adjoint_complex_sqrt(adjoint_of_parts(x - 1, y)), b = adjoint_complex_sqrt(adjoint_of_parts(x + 1, y));
    int large = adjoint_is_large(x, y);
    double real = large ? adjoint_log_of_twice(x, y) : adjoint_asinh_f64(__real__ a * __real__ b + __imag__ a * __imag__ b);
    double imag = large ? adjoint_atan2_f64(y, x) : 2 * adjoint_atan2_f64(__imag__ a, __real__ b);
    return adjoint_of_parts(real, x == 0 && isnan(y) ? 0.5 * ADJOINT_PI : imag);
}

static inline double _Complex adjoint_complex_atanh(double _Complex z) {
    double x = fabs(__real__ z), y = __imag__ z, b = fabs(y), toward = signbit(__real__ z) ? -y : y;
    double real = 0.25 * adjoint_log1p_f64(4 * x / ((1 - x) * (1 - x) + b * b));
    double imag = -0.5 * adjoint_atan2_f64(-2 * toward, (1 - x) * (1 + x) - b * b);
    if (adjoint_is_large(x, y)) {
        double half = adjoint_length(0.5 * x, 0.5 * y);
        real = isinf(half) ? 0 : 0.25 * x / half / half;
        imag = !isinf(y) && (isnan(x) || isnan(y)) ? NAN : copysign(0.5 * ADJOINT_PI, toward);
    } else if (x == 1 && b < 1e-150) {
        real = b == 0 ? INFINITY : -adjoint_log_f64(sqrt(b) / sqrt(2.0));
        imag = b == 0 ? toward : 0.25 * copysign(ADJOINT_PI, toward);
    } else if (x == 0 || (y == 0 && x < 1)) {
        real = x == 0 ? 0 : real;
        imag = y == 0 ? toward : imag;
    }
    return signbit(__real__ z) ? adjoint_of_parts(-real, -imag) : adjoint_of_parts(real, imag);
}

static inline double _Complex adjoint_complex_asin(double _Complex z) {
    return adjoint_over_i(adjoint_complex_asinh(adjoint_times_i(z)));
}

static inline double _Complex adjoint_complex_atan(double _Complex z) {
    return adjoint_over_i(adjoint_complex_atanh(adjoint_times_i(z)));
}

static inline double _Complex adjoint_wide_product(double _Complex x, double _Complex y) {
    double a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    return adjoint_of_parts(a * c - b * d, a * d + b * c);
}

/* x to the power y: a product, or 1 divided by it, for a whole number of at most 64, as in NumPy, otherwise e^(y log x). 0 is
   0 to a power whose real part is above 0, 1 to the power 0, otherwise NaN. */
static inline double _Complex adjoint_complex_pow(double _Complex x, double _Complex y) {
    double exponent = __real__ y, size = fabs(exponent);
    if (__real__ x == 0 && __imag__ x == 0 && !(exponent == 0 && __imag__ y == 0))
        return exponent > 0 ? adjoint_of_parts(0, 0) : adjoint_of_parts(NAN, NAN);
    if (__imag__ y == 0 && size <= 64 && size == floor(size)) {
        double _Complex power = adjoint_of_parts(1, 0);
        for (int64_t rest = (int64_t)size, begun = 0; rest; rest >>= 1) {
            if (rest & 1) {
                power = begun ? adjoint_wide_product(power, x) : x;
                begun = 1;
            }
            x = rest > 1 ? adjoint_wide_product(x, x) : x;
        }
        return exponent < 0 ? adjoint_quotient(adjoint_of_parts(1, 0), power) : power;
    }
    return adjoint_complex_exp(adjoint_wide_product(y, adjoint_complex_log(x)));
}

/* x / |x|, 0 for 0 */
static inline double _Complex adjoint_direction(double _Complex x) {
    double larger = fmax(fabs(__real__ x), fabs(__imag__ x)), by = larger < 1 ? 0x1p60 : 0x1p-60;
    double a = __real__ x * by, b = __imag__ x * by, size = adjoint_length(a, b);
    size = size == 0 ? 1 : size;
    return adjoint_of_parts(a / size, b / size);
}

static inline double _Complex adjoint_scaled(double _Complex x, double by) {
    return adjoint_of_parts(__real__ x * by, __imag__ x * by);
}

#endif

static inline PART TYPED(adjoint_abs)(ELEMENT x) {
    return (PART)adjoint_length(__real__ x, __imag__ x);
}

static inline ELEMENT TYPED(adjoint_sign)(ELEMENT x) {
    return (ELEMENT)adjoint_direction(x);
}

static inline ELEMENT TYPED(adjoint_exp)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_exp(x);
}

static inline ELEMENT TYPED(adjoint_exp2)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_exp2(x);
}

static inline ELEMENT TYPED(adjoint_expm1)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_expm1(x);
}

static inline ELEMENT TYPED(adjoint_log1p)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_log1p(x);
}

static inline ELEMENT TYPED(adjoint_log)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_log(x);
}

static inline ELEMENT TYPED(adjoint_log2)(ELEMENT x) {
    return (ELEMENT)adjoint_scaled(adjoint_complex_log(x), 1.4426950408889634);
}

static inline ELEMENT TYPED(adjoint_log10)(ELEMENT x) {
    return (ELEMENT)adjoint_scaled(adjoint_complex_log(x), 0.4342944819032518);
}

static inline ELEMENT TYPED(adjoint_sqrt)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_sqrt(x);
}

static inline ELEMENT TYPED(adjoint_sin)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_sin(x);
}

static inline ELEMENT TYPED(adjoint_cos)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_cos(x);
}

static inline ELEMENT TYPED(adjoint_tan)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_tan(x);
}

static inline ELEMENT TYPED(adjoint_sinh)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_sinh(x);
}

static inline ELEMENT TYPED(adjoint_cosh)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_cosh(x);
}

static inline ELEMENT TYPED(adjoint_tanh)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_tanh(x);
}

static inline ELEMENT TYPED(adjoint_asin)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_asin(x);
}

static inline ELEMENT TYPED(adjoint_acos)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_acos(x);
}

static inline ELEMENT TYPED(adjoint_atan)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_atan(x);
}

static inline ELEMENT TYPED(adjoint_asinh)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_asinh(x);
}

static inline ELEMENT TYPED(adjoint_acosh)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_acosh(x);
}

static inline ELEMENT TYPED(adjoint_atanh)(ELEMENT x) {
    return (ELEMENT)adjoint_complex_atanh(x);
}

static inline ELEMENT TYPED(adjoint_pow)(ELEMENT x, ELEMENT y) {
    return (ELEMENT)adjoint_complex_pow(x, y);
}
