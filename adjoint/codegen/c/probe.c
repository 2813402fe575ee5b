/* What a compiler must get right before it is trusted with kernels: arithmetic as IEEE 754 has it, step by step. The same
   expressions are computed in Python, and the results must be equal to the bit. */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <float.h>
#include <fenv.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__) \
    || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "the compiler is told to compute faster than IEEE 754 allows"
#endif
#if FLT_EVAL_METHOD != 0
#error "the compiler computes in another precision than that of the operands"
#endif

void adjoint_probe(const double *x, double *out);
void adjoint_probe_restore(void);

/* x: one, three, a tiny number, 1 + 2**-30, 1 - 2**-30, infinity, the smallest normal number */
void adjoint_probe(const double *x, double *out)
{
    double nan = x[5] - x[5];
    out[0] = nan != nan;
    out[1] = (x[0] + x[2]) - x[0];
    out[2] = x[3] * x[4] - x[0];
    out[3] = x[0] / x[1] + x[3] / x[1] + x[4] / x[1];
    out[4] = -(x[0] - x[0]) + 0.0;
    out[5] = x[1] * 0.1;
    out[6] = x[6] / x[1];
    out[7] = sqrt(x[1]);
    out[8] = (double)((float)x[0] / (float)x[1] * 0.7f);
}

/* A library that was linked for speed switches subnormal numbers off when it is loaded: switches them on again. */
void adjoint_probe_restore(void)
{
    fesetenv(FE_DFL_ENV);
}
