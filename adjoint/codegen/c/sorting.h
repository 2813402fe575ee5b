/* Sorting rows. Each element of a row gets a key, an unsigned number: keys are in the order of the elements, and equal
   where these are equal. 0.0 and -0.0 are equal; NaN is the largest, and any two NaN are equal. */

#ifndef ADJOINT_SORTING_H
#define ADJOINT_SORTING_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The bits of positive numbers are in their order, those of negative ones in the reverse. Adding 0 makes 0.0 of -0.0. */
static inline uint32_t adjoint_key_f32(float value) {
    if (isnan(value)) return UINT32_MAX;
    uint32_t bits = adjoint_bits_of_float(value + 0.0f);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static inline uint64_t adjoint_key_f64(double value) {
    if (isnan(value)) return UINT64_MAX;
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

enum { ADJOINT_FEW = 48 };

/* Sorts n pairs by their upper halves, the keys, and moves the lower ones, the places of the elements, along. Of equal
   keys the pairs keep their order.

   A few are sorted by insertion, which takes less time up to about so many. More are sorted by radix: by the lowest 8
   bits first, then the next, each time into the other buffer, in the order of how many keys have smaller digits; digits
   that are the same in all keys take no pass. */
static inline void adjoint_sort_pairs(uint64_t *pairs, uint64_t *spare, int64_t n) {
    if (n <= ADJOINT_FEW) {
        for (int64_t i = 1; i < n; ++i) {
            uint64_t pair = pairs[i];
            int64_t hole = i;
            for (; hole > 0 && pairs[hole - 1] >> 32 > pair >> 32; --hole) pairs[hole] = pairs[hole - 1];
            pairs[hole] = pair;
        }
        return;
    }
    uint64_t *from = pairs, *to = spare;
    uint32_t counts[4][256];
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < n; ++i) {
        uint64_t key = pairs[i] >> 32;
        for (int digit = 0; digit < 4; ++digit) ++counts[digit][key >> 8 * digit & 255];
    }
    for (int digit = 0; digit < 4; ++digit) {
        uint32_t *count = counts[digit], before = 0;
        int shift = 32 + 8 * digit;
        if (count[from[0] >> shift & 255] == n) continue;
        for (int value = 0; value < 256; ++value) {
            uint32_t here = count[value];
            count[value] = before;
            before += here;
        }
        for (int64_t i = 0; i < n; ++i) to[count[from[i] >> shift & 255]++] = from[i];
        uint64_t *moved = from;
        from = to;
        to = moved;
    }
    if (from != pairs) memcpy(pairs, from, (size_t)n * sizeof *pairs);
}

#endif
