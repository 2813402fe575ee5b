/* The neighbours of a number: without a branch, so that a loop over them vectorises. */

#ifndef ADJOINT_NEIGHBOURS_H
#define ADJOINT_NEIGHBOURS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The number next to x in the direction of y; y if they are equal, NaN if either is. Numbers of one sign are in the order of their bits. */
#define ADJOINT_NEXT_AFTER(x, y, number, word, smallest)                                \
    do {                                                                                \
        word bits;                                                                      \
        number next;                                                                    \
        memcpy(&bits, &x, sizeof bits);                                                 \
        bits += ((x < y) == (x > 0)) ? (word)1 : (word)-1;                              \
        memcpy(&next, &bits, sizeof next);                                              \
        next = x == 0 ? (number)copysign(smallest, y) : next;                           \
        next = ((x == y) | (y != y)) ? y : next;                                        \
        return x != x ? x : next;                                                       \
    } while (0)

static inline float adjoint_next_after_f32(float x, float y) {
    ADJOINT_NEXT_AFTER(x, y, float, uint32_t, 0x1p-149);
}

static inline double adjoint_next_after_f64(double x, double y) {
    ADJOINT_NEXT_AFTER(x, y, double, uint64_t, 0x1p-1074);
}

#undef ADJOINT_NEXT_AFTER

#endif
