/* What kernels take of <math.h>, under names of our own. */

#define ADJOINT_INFINITY adjoint_float_of_bits(0x7f800000u)
#define ADJOINT_NAN adjoint_float_of_bits(0x7fc00000u)

/* In an expression of one type; the argument has no effects. */
#define adjoint_is_nan(x) ((x) != (x))
#define adjoint_is_finite(x) ((x) - (x) == 0)
#define adjoint_is_infinite(x) (!adjoint_is_nan(x) && !adjoint_is_finite(x))
#define adjoint_is_negative(x) (adjoint_bits_of_double((double)(x)) >> 63 != 0)

static inline float adjoint_abs_f32(float x) { return adjoint_float_of_bits(adjoint_bits_of_float(x) & 0x7fffffffu); }

static inline double adjoint_abs_f64(double x) {
    return adjoint_double_of_bits(adjoint_bits_of_double(x) & 0x7fffffffffffffffu);
}

/* x with the sign of y. */
static inline float adjoint_with_sign_f32(float x, float y) {
    return adjoint_float_of_bits((adjoint_bits_of_float(x) & 0x7fffffffu) | (adjoint_bits_of_float(y) & 0x80000000u));
}

static inline double adjoint_with_sign_f64(double x, double y) {
    return adjoint_double_of_bits(
        (adjoint_bits_of_double(x) & 0x7fffffffffffffffu) | (adjoint_bits_of_double(y) & 0x8000000000000000u));
}

/* The square root, rounded to nearest: one instruction, or digit by digit. */
#if defined(__GNUC__) && defined(__SSE2__)
#define ADJOINT_SQRT_F32(root, x) __asm__("sqrtss %1, %0" : "=x"(root) : "x"(x))
#elif defined(__GNUC__) && defined(__aarch64__)
#define ADJOINT_SQRT_F32(root, x) __asm__("fsqrt %s0, %s1" : "=w"(root) : "w"(x))
#elif defined(__GNUC__) && defined(__ARM_FP) && (__ARM_FP & 4)
#define ADJOINT_SQRT_F32(root, x) __asm__("vsqrt.f32 %0, %1" : "=t"(root) : "t"(x))
#elif defined(__GNUC__) && defined(__riscv_flen)
#define ADJOINT_SQRT_F32(root, x) __asm__("fsqrt.s %0, %1" : "=f"(root) : "f"(x))
#elif defined(__wasm__)
#define ADJOINT_SQRT_F32(root, x) (root) = __builtin_sqrtf(x)
#endif

#if defined(__GNUC__) && defined(__SSE2__)
#define ADJOINT_SQRT_F64(root, x) __asm__("sqrtsd %1, %0" : "=x"(root) : "x"(x))
#elif defined(__GNUC__) && defined(__aarch64__)
#define ADJOINT_SQRT_F64(root, x) __asm__("fsqrt %d0, %d1" : "=w"(root) : "w"(x))
#elif defined(__GNUC__) && defined(__ARM_FP) && (__ARM_FP & 8)
#define ADJOINT_SQRT_F64(root, x) __asm__("vsqrt.f64 %P0, %P1" : "=w"(root) : "w"(x))
#elif defined(__GNUC__) && defined(__riscv_flen) && __riscv_flen >= 64
#define ADJOINT_SQRT_F64(root, x) __asm__("fsqrt.d %0, %1" : "=f"(root) : "f"(x))
#elif defined(__wasm__)
#define ADJOINT_SQRT_F64(root, x) (root) = __builtin_sqrt(x)
#endif

static inline float adjoint_sqrt_f32(float x) {
    if (x < 0) return ADJOINT_NAN;
    if (!(x > 0) || adjoint_bits_of_float(x) == 0x7f800000u) return x;
#ifdef ADJOINT_SQRT_F32
    float result;
    ADJOINT_SQRT_F32(result, x);
    return result;
#else
    const int subnormal = x < 0x1p-126f;
    const uint32_t bits = adjoint_bits_of_float(subnormal ? x * 0x1p24f : x);
    const uint32_t biased = (bits >> 23) + (subnormal ? 127 - 24 : 127); /* the exponent + 254: even where it is */
    uint32_t rest = ((bits & 0x7fffffu) | 0x800000u) << (biased & 1 ? 2 : 1), twice = 0, root = 0;
    for (uint32_t digit = 0x1000000u; digit > 0; digit >>= 1) {
        if (twice + digit <= rest) {
            rest -= twice + digit;
            twice += 2 * digit;
            root += digit;
        }
        rest <<= 1;
    }
    root += root & 1; /* the last digit is for rounding; it is never half way */
    return adjoint_float_of_bits((root >> 1) + ((biased >> 1) << 23) - 0x800000u);
#endif
}

static inline double adjoint_sqrt_f64(double x) {
    if (x < 0) return (double)ADJOINT_NAN;
    if (!(x > 0) || adjoint_bits_of_double(x) == 0x7ff0000000000000u) return x;
    double result;
#ifdef ADJOINT_SQRT_F64
    ADJOINT_SQRT_F64(result, x);
#else
    const int subnormal = x < 0x1p-1022;
    const uint64_t bits = adjoint_bits_of_double(subnormal ? x * 0x1p54 : x);
    const uint64_t biased = (bits >> 52) + (subnormal ? 1023 - 54 : 1023); /* the exponent + 2046 */
    uint64_t rest = ((bits & 0xfffffffffffffu) | 0x10000000000000u) << (biased & 1 ? 2 : 1), twice = 0, root = 0;
    for (uint64_t digit = 0x20000000000000u; digit > 0; digit >>= 1) {
        if (twice + digit <= rest) {
            rest -= twice + digit;
            twice += 2 * digit;
            root += digit;
        }
        rest <<= 1;
    }
    root += root & 1;
    root = (root >> 1) + ((biased >> 1) << 52) - 0x10000000000000u;
    memcpy(&result, &root, sizeof result);
#endif
    return result;
}

/* The nearest integer, the even one of two. */
static inline float adjoint_nearest_f32(float x) {
    const float size = adjoint_abs_f32(x);
    return size < 0x1p23f ? adjoint_with_sign_f32((size + 0x1p23f) - 0x1p23f, x) : x;
}

static inline double adjoint_nearest_f64(double x) {
    const double size = adjoint_abs_f64(x);
    return size < 0x1p52 ? adjoint_with_sign_f64((size + 0x1p52) - 0x1p52, x) : x;
}

/* The integer next to x, towards 0. */
static inline float adjoint_truncated_f32(float x) {
    const float size = adjoint_abs_f32(x), near = adjoint_nearest_f32(size);
    return size < 0x1p23f ? adjoint_with_sign_f32(near > size ? near - 1 : near, x) : x;
}

static inline double adjoint_truncated_f64(double x) {
    const double size = adjoint_abs_f64(x), near = adjoint_nearest_f64(size);
    return size < 0x1p52 ? adjoint_with_sign_f64(near > size ? near - 1 : near, x) : x;
}

/* The largest integer that is not above x, the smallest that is not below it. */
static inline float adjoint_floor_f32(float x) {
    const float near = adjoint_nearest_f32(x);
    return near > x ? near - 1 : near;
}

static inline double adjoint_floor_f64(double x) {
    const double near = adjoint_nearest_f64(x);
    return near > x ? near - 1 : near;
}

static inline float adjoint_ceiling_f32(float x) {
    const float near = adjoint_nearest_f32(x);
    return near < x ? adjoint_with_sign_f32(near + 1, x) : near;
}

static inline double adjoint_ceiling_f64(double x) {
    const double near = adjoint_nearest_f64(x);
    return near < x ? adjoint_with_sign_f64(near + 1, x) : near;
}

/* The nearest integer, of two the one that is further from 0. */
static inline float adjoint_rounded_f32(float x) {
    const float size = adjoint_abs_f32(x), whole = adjoint_truncated_f32(size);
    return adjoint_with_sign_f32(size - whole >= 0.5f ? whole + 1 : whole, x);
}

static inline double adjoint_rounded_f64(double x) {
    const double size = adjoint_abs_f64(x), whole = adjoint_truncated_f64(size);
    return adjoint_with_sign_f64(size - whole >= 0.5 ? whole + 1 : whole, x);
}

/* The smaller and the larger of two numbers; the other one where one is NaN. */
static inline float adjoint_lesser_f32(float x, float y) { return x <= y || y != y ? x : y; }

static inline double adjoint_lesser_f64(double x, double y) { return x <= y || y != y ? x : y; }

static inline float adjoint_larger_f32(float x, float y) { return x >= y || y != y ? x : y; }

static inline double adjoint_larger_f64(double x, double y) { return x >= y || y != y ? x : y; }

/* What is left of |x| after whole numbers of |y| are taken from it, digit by digit, with the sign of x. */
static inline double adjoint_fmod_f64(double x, double y) {
    const double a = adjoint_abs_f64(x), b = adjoint_abs_f64(y);
    if (!adjoint_is_finite(x) || y != y || b == 0) return (double)ADJOINT_NAN;
    if (a < b) return x;
    uint64_t left = adjoint_bits_of_double(a), right = adjoint_bits_of_double(b);
    int exponent = (int)(left >> 52), last = (int)(right >> 52);
    left = exponent > 0 ? (left & 0xfffffffffffffu) | 0x10000000000000u : left << 1;
    right = last > 0 ? (right & 0xfffffffffffffu) | 0x10000000000000u : right << 1;
    for (; right < 0x10000000000000u; right <<= 1) last--;
    for (; left < 0x10000000000000u; left <<= 1) exponent--;
    for (; exponent > last; exponent--) left = (left >= right ? left - right : left) << 1;
    left = left >= right ? left - right : left;
    if (left == 0) return adjoint_with_sign_f64(0, x);
    for (; left < 0x10000000000000u; left <<= 1) last--;
    left = last > 0 ? (left & 0xfffffffffffffu) | (uint64_t)last << 52 : left >> (1 - last);
    return adjoint_with_sign_f64(adjoint_double_of_bits(left), x);
}
