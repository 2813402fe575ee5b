/* Settings of the compiler that would change bits: products and sums that it fuses, a wider format, floats taken for real numbers. */
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(_M_FP_FAST)
#error "unsafe mathematics (-ffast-math) would change results"
#endif
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "floats are computed in a wider format: on x86 use -msse2 -mfpmath=sse"
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#if defined(__FMA__) && __GNUC__ >= 12
/* gcc makes one instruction of a sum beside a difference, and fuses products into it, whatever the line above says. */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif

/* a * b + c */
#if !ADJOINT_FMA
#define ADJOINT_FMA_F32(a, b, c) ((a) * (b) + (c))
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA) || (defined(__riscv_flen) && __riscv_flen >= 32)
#define ADJOINT_FMA_F32(a, b, c) __builtin_fmaf(a, b, c)
#else
#error "ADJOINT_FMA is 1, but the processor has no fused multiply-add of float: set it to 0, or name the processor (-mfma)"
#endif

#if !ADJOINT_FMA
#define ADJOINT_FMA_F64(a, b, c) ((a) * (b) + (c))
#elif defined(__FMA__) || (defined(__ARM_FEATURE_FMA) && (__ARM_FP & 8)) || (defined(__riscv_flen) && __riscv_flen >= 64)
#define ADJOINT_FMA_F64(a, b, c) __builtin_fma(a, b, c)
#else
#error "ADJOINT_FMA is 1, but the processor has no fused multiply-add of double: set it to 0, or name the processor (-mfma)"
#endif

#define ADJOINT_MULTIPLY_ADD_f32(a, b, c) ADJOINT_FMA_F32(a, b, c)
#define ADJOINT_MULTIPLY_ADD_f64(a, b, c) ADJOINT_FMA_F64(a, b, c)

/* Bytes of the lanes in which the gradient of a convolution is summed: 64 gives the bits of a processor with AVX-512. */
#ifndef ADJOINT_LANE_BYTES
#define ADJOINT_LANE_BYTES (ADJOINT_FMA ? 32 : 16)
#endif
