/* The lanes of a sum, or of the search for an extreme, combined into one number, in halves: lane l and lane l + width / 2,
   then l and l + width / 4, and so on down to one. `width` is a power of two, at least 8, and a constant wherever these
   functions are inlined.

   Written with vectors where the compiler has them: of loops as short as these it makes a chain of single numbers.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. */

#ifndef ADJOINT_LANES_H
#define ADJOINT_LANES_H

#include <string.h>

enum { ADJOINT_ADD, ADJOINT_MAXIMUM, ADJOINT_MINIMUM };

#endif

#if defined(__GNUC__)

typedef ELEMENT TYPED(adjoint_eight_lanes) __attribute__((vector_size(8 * sizeof(ELEMENT))));
typedef ELEMENT TYPED(adjoint_four_lanes) __attribute__((vector_size(4 * sizeof(ELEMENT))));

/* a = b where the bits of the mask are 1 */
#define REPLACE(a, b, mask) \
    a = (__typeof__(a))(((__typeof__(mask))(b) & (mask)) | ((__typeof__(mask))(a) & ~(mask)))

/* a = a + b; or the larger or the smaller of both, `a` of equal ones, and NaN where one is NaN */
#define MEET(how, a, b)                                                     \
    do {                                                                    \
        if (how == ADJOINT_ADD) a += b;                                     \
        else if (how == ADJOINT_MAXIMUM) REPLACE(a, b, (b > a) | (b != b)); \
        else REPLACE(a, b, (b < a) | (b != b));                             \
    } while (0)

static inline __attribute__((always_inline)) ELEMENT TYPED(adjoint_join_lanes)(
    const int how, ELEMENT *lane, int width) {
    TYPED(adjoint_eight_lanes) eight, other;
    while (width > 8) {
        width /= 2;
        for (int l = 0; l < width; l += 8) {
            memcpy(&eight, lane + l, sizeof eight);
            memcpy(&other, lane + l + width, sizeof other);
            MEET(how, eight, other);
            memcpy(lane + l, &eight, sizeof eight);
        }
    }
    TYPED(adjoint_four_lanes) a, b;
    memcpy(&a, lane, sizeof a);
    memcpy(&b, lane + 4, sizeof b);
    MEET(how, a, b);
    b = (TYPED(adjoint_four_lanes)){a[2], a[3], a[2], a[3]};
    MEET(how, a, b);
    b = (TYPED(adjoint_four_lanes)){a[1], a[1], a[1], a[1]};
    MEET(how, a, b);
    return a[0];
}

#undef MEET
#undef REPLACE

#else

static inline ELEMENT TYPED(adjoint_join_lanes)(const int how, ELEMENT *lane, int width) {
    while (width > 1) {
        width /= 2;
        for (int l = 0; l < width; l++) {
            const ELEMENT a = lane[l], b = lane[l + width];
            lane[l] = how == ADJOINT_ADD ? a + b : (how == ADJOINT_MAXIMUM ? b > a : b < a) || b != b ? b : a;
        }
    }
    return lane[0];
}

#endif

static inline ELEMENT TYPED(adjoint_sum_of_lanes)(ELEMENT *lane, int width) {
    return TYPED(adjoint_join_lanes)(ADJOINT_ADD, lane, width);
}

static inline ELEMENT TYPED(adjoint_maximum_of_lanes)(ELEMENT *lane, int width) {
    return TYPED(adjoint_join_lanes)(ADJOINT_MAXIMUM, lane, width);
}

static inline ELEMENT TYPED(adjoint_minimum_of_lanes)(ELEMENT *lane, int width) {
    return TYPED(adjoint_join_lanes)(ADJOINT_MINIMUM, lane, width);
}
