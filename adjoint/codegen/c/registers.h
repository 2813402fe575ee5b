/* Vectors as long as the processor's registers, for float and double, and their multiply-add. */

#ifndef ADJOINT_REGISTERS_H
#define ADJOINT_REGISTERS_H

#if defined(__AVX512F__)
#define ADJOINT_VECTOR 64 /* bytes */
#define ADJOINT_ROWS 14   /* of two vectors of sums: 28 of 32 registers */
#elif defined(__AVX__)
#define ADJOINT_VECTOR 32
#define ADJOINT_ROWS 6 /* 12 of 16 registers */
#elif defined(__aarch64__)
#define ADJOINT_VECTOR 16
#define ADJOINT_ROWS 14
#else
#define ADJOINT_VECTOR 16
#define ADJOINT_ROWS 6
#endif

#define ADJOINT_INLINE static inline __attribute__((always_inline))

typedef float adjoint_vector_f32 __attribute__((vector_size(ADJOINT_VECTOR)));
typedef double adjoint_vector_f64 __attribute__((vector_size(ADJOINT_VECTOR)));

/* x * y + z, rounded once where the processor can. The vendors' headers name the instruction, but gcc takes 0.17 s to
   read the one for x86: there we use the names that this header itself is made of. */
#if defined(__FMA__) && defined(__GNUC__) && !defined(__clang__)
#if defined(__AVX512F__)
#define ADJOINT_VECTOR_FMA_F32(x, y, z) __builtin_ia32_vfmaddps512_mask(x, y, z, (unsigned short)-1, 4)
#define ADJOINT_VECTOR_FMA_F64(x, y, z) __builtin_ia32_vfmaddpd512_mask(x, y, z, (unsigned char)-1, 4)
#else
#define ADJOINT_VECTOR_FMA_F32(x, y, z) __builtin_ia32_vfmaddps256(x, y, z)
#define ADJOINT_VECTOR_FMA_F64(x, y, z) __builtin_ia32_vfmaddpd256(x, y, z)
#endif
#elif defined(__FMA__)
#include <immintrin.h>
#if defined(__AVX512F__)
#define ADJOINT_VECTOR_FMA_F32(x, y, z) (adjoint_vector_f32) _mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(z))
#define ADJOINT_VECTOR_FMA_F64(x, y, z) (adjoint_vector_f64) _mm512_fmadd_pd((__m512d)(x), (__m512d)(y), (__m512d)(z))
#else
#define ADJOINT_VECTOR_FMA_F32(x, y, z) (adjoint_vector_f32) _mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(z))
#define ADJOINT_VECTOR_FMA_F64(x, y, z) (adjoint_vector_f64) _mm256_fmadd_pd((__m256d)(x), (__m256d)(y), (__m256d)(z))
#endif
#elif defined(__aarch64__)
#include <arm_neon.h>
#define ADJOINT_VECTOR_FMA_F32(x, y, z) (adjoint_vector_f32) vfmaq_f32((float32x4_t)(z), (float32x4_t)(x), (float32x4_t)(y))
#define ADJOINT_VECTOR_FMA_F64(x, y, z) (adjoint_vector_f64) vfmaq_f64((float64x2_t)(z), (float64x2_t)(x), (float64x2_t)(y))
#else
#define ADJOINT_VECTOR_FMA_F32(x, y, z) ((x) * (y) + (z))
#define ADJOINT_VECTOR_FMA_F64(x, y, z) ((x) * (y) + (z))
#endif

ADJOINT_INLINE adjoint_vector_f32 adjoint_multiply_add_f32(
    adjoint_vector_f32 x, adjoint_vector_f32 y, adjoint_vector_f32 z) {
    return ADJOINT_VECTOR_FMA_F32(x, y, z);
}

ADJOINT_INLINE adjoint_vector_f64 adjoint_multiply_add_f64(
    adjoint_vector_f64 x, adjoint_vector_f64 y, adjoint_vector_f64 z) {
    return ADJOINT_VECTOR_FMA_F64(x, y, z);
}

#endif
