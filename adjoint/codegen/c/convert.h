/* float16 and bfloat16, stored as uint16_t, to and from float: by bit arithmetic, with no branch, so that loops over it
   vectorise and give the same bits on every machine.

       float16     1 sign, 5 exponent (bias 15), 10 mantissa bits; largest 65504, smallest subnormal 2^-24
       bfloat16    the upper half of a float: 1 sign, 8 exponent, 7 mantissa bits

   Narrowing rounds to nearest, ties to even; what is too large becomes infinite; subnormals are exact; a NaN stays a
   NaN, becomes quiet, and keeps its sign and its upper payload bits. Widening is exact, but for signalling NaNs, which
   become quiet. A double is narrowed in two steps of which only the second rounds to nearest, so it is rounded once. */

#ifndef ADJOINT_CONVERT_H
#define ADJOINT_CONVERT_H

#include <stdint.h>
#include <string.h>

/* The exponent and mantissa move up by 13 bits, which leaves the exponent 112 too small (127 - 15). Adding 112 suits
   normal numbers; infinity and NaN need 112 more to have all exponent bits set. For a subnormal the mantissa m means
   m * 2^-24: with the exponent of 2^-14 the bits would mean 2^-14 + m * 2^-24, from which a subtraction takes the
   2^-14. */
static inline float adjoint_f32_of_f16(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    uint32_t exponent = magnitude & 0x0f800000;
    uint32_t normal = magnitude + (112u << 23);
    uint32_t special = (magnitude + (224u << 23)) | (magnitude > 0x0f800000 ? 0x00400000 : 0);
    uint32_t subnormal =
        adjoint_bits_of_float(adjoint_float_of_bits(magnitude + (113u << 23)) - adjoint_float_of_bits(113u << 23));
    uint32_t finite = exponent == 0 ? subnormal : normal;
    return adjoint_float_of_bits(sign | (exponent == 0x0f800000 ? special : finite));
}

/* A normal result: rounding adds just under half of the last place kept, plus one more if that place is odd; the carry
   may run into the exponent and up to infinity, as it should. A subnormal result has its last place at 2^-24: adding
   0.5, whose own last place is there, lets the processor round, and the bits of 0.5 are then subtracted. */
static inline uint16_t adjoint_f16_of_f32(float value) {
    uint32_t bits = adjoint_bits_of_float(value);
    uint32_t sign = bits >> 31 << 15;
    uint32_t magnitude = bits & 0x7fffffff;
    uint32_t odd = magnitude >> 13 & 1;
    uint32_t normal = (magnitude - (112u << 23) + 0xfff + odd) >> 13;
    uint32_t subnormal = adjoint_bits_of_float(adjoint_float_of_bits(magnitude) + 0.5f) - 0x3f000000;
    uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x1ff);
    uint32_t finite = magnitude < (113u << 23) ? subnormal : normal;
    uint32_t number = magnitude >= (143u << 23) ? 0x7c00 : finite; /* from 2^16 on; below, rounding decides */
    return (uint16_t)(sign | (magnitude > 0x7f800000 ? nan : number));
}

static inline float adjoint_f32_of_bf16(uint16_t brain) {
    uint32_t bits = (uint32_t)brain << 16;
    uint32_t quiet = (bits & 0x7fffffff) > 0x7f800000 ? 0x00400000 : 0;
    return adjoint_float_of_bits(bits | quiet);
}

/* Rounds in the same way; a NaN must not be rounded, since the carry could turn it into an infinity. */
static inline uint16_t adjoint_bf16_of_f32(float value) {
    uint32_t bits = adjoint_bits_of_float(value);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t nan = bits >> 16 | 0x0040;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

/* Rounds to odd: of the two floats around an inexact value, the one whose last bit is 1. That bit then stands for all
   that was cut off, and rounding once more, to at least two bits fewer, gives what rounding the double at once would
   give. */
static inline float adjoint_odd_f32_of_f64(double value) {
    float nearest = (float)value;
    uint32_t bits = adjoint_bits_of_float(nearest);
    double found = nearest, magnitude = value < 0 ? -value : value, found_magnitude = found < 0 ? -found : found;
    int32_t above = magnitude > found_magnitude, below = magnitude < found_magnitude;
    int32_t even = !(bits & 1);
    return adjoint_float_of_bits(bits + (uint32_t)((above - below) * even));
}

static inline uint16_t adjoint_f16_of_f64(double value) {
    return adjoint_f16_of_f32(adjoint_odd_f32_of_f64(value));
}

static inline uint16_t adjoint_bf16_of_f64(double value) {
    return adjoint_bf16_of_f32(adjoint_odd_f32_of_f64(value));
}

#endif
