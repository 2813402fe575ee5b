/* Numbers and their bits. */

#ifndef ADJOINT_BITS_H
#define ADJOINT_BITS_H

#include <stdint.h>
#include <string.h>

static inline uint32_t adjoint_bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float adjoint_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t adjoint_bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double adjoint_double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* `yes` where the bits of the mask are 1, `no` where they are 0. Repeated selections on one condition, or on a bit of
   an integer, are written so: compilers may make branches of them, or know no comparison of 64-bit lanes. */
static inline double adjoint_select_f64(uint64_t mask, double yes, double no) {
    return adjoint_double_of_bits((adjoint_bits_of_double(yes) & mask) | (adjoint_bits_of_double(no) & ~mask));
}

#endif
