/* Matrices that are transposed in vectors as long as the processor's registers: see `registers.h`.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. */

#ifndef ADJOINT_VECTORS_H
#define ADJOINT_VECTORS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    ADJOINT_MEET = 2048, /* bytes: lines a multiple of this apart share two sets of a cache */
};

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define ADJOINT_SHUFFLES
#endif
#endif

typedef double adjoint_group __attribute__((vector_size(16)));

/* Columns that are transposed together. Whole vectors are read where there are registers for as many: then a line of the
   cache is read once, however many rows have theirs in the same set. */
#define ADJOINT_SPAN(element) ((int)((ADJOINT_VECTOR == 64 ? 64 : 16) / sizeof(element)))

#if defined(ADJOINT_SHUFFLES)
/* Elements of x and y in each group of 16 bytes, by their numbers in the first one: y's begin after all of x's. */
#if ADJOINT_VECTOR == 64
#define ADJOINT_PICK_F32(x, y, a, b, c, d)                                                                           \
    __builtin_shufflevector(x, y, a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, \
                            c + 12, d + 12)
#define ADJOINT_PICK_F64(x, y, a, b) __builtin_shufflevector(x, y, a, b, a + 2, b + 2, a + 4, b + 4, a + 6, b + 6)
#elif ADJOINT_VECTOR == 32
#define ADJOINT_PICK_F32(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d, a + 4, b + 4, c + 4, d + 4)
#define ADJOINT_PICK_F64(x, y, a, b) __builtin_shufflevector(x, y, a, b, a + 2, b + 2)
#else
#define ADJOINT_PICK_F32(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#define ADJOINT_PICK_F64(x, y, a, b) __builtin_shufflevector(x, y, a, b)
#endif

/* Transposes the 4 x 4 floats, or 2 x 2 doubles, of each group. */
ADJOINT_INLINE void adjoint_transpose_in_groups_f32(adjoint_vector_f32 x[4]) {
    enum { Y = ADJOINT_VECTOR / 4 };
    const adjoint_vector_f32 low = ADJOINT_PICK_F32(x[0], x[1], 0, Y, 1, Y + 1);
    const adjoint_vector_f32 high = ADJOINT_PICK_F32(x[0], x[1], 2, Y + 2, 3, Y + 3);
    const adjoint_vector_f32 next_low = ADJOINT_PICK_F32(x[2], x[3], 0, Y, 1, Y + 1);
    const adjoint_vector_f32 next_high = ADJOINT_PICK_F32(x[2], x[3], 2, Y + 2, 3, Y + 3);
    x[0] = ADJOINT_PICK_F32(low, next_low, 0, 1, Y, Y + 1);
    x[1] = ADJOINT_PICK_F32(low, next_low, 2, 3, Y + 2, Y + 3);
    x[2] = ADJOINT_PICK_F32(high, next_high, 0, 1, Y, Y + 1);
    x[3] = ADJOINT_PICK_F32(high, next_high, 2, 3, Y + 2, Y + 3);
}

ADJOINT_INLINE void adjoint_transpose_in_groups_f64(adjoint_vector_f64 x[2]) {
    enum { Y = ADJOINT_VECTOR / 8 };
    const adjoint_vector_f64 first = x[0];
    x[0] = ADJOINT_PICK_F64(first, x[1], 0, Y);
    x[1] = ADJOINT_PICK_F64(first, x[1], 1, Y + 1);
}

#if ADJOINT_VECTOR == 64
/* Transposes the 4 x 4 groups of four vectors. */
ADJOINT_INLINE void adjoint_transpose_groups(adjoint_vector_f64 x[4]) {
#define EVEN(x, y) __builtin_shufflevector(x, y, 0, 1, 4, 5, 8, 9, 12, 13)
#define ODD(x, y) __builtin_shufflevector(x, y, 2, 3, 6, 7, 10, 11, 14, 15)
    const adjoint_vector_f64 even = EVEN(x[0], x[1]), odd = ODD(x[0], x[1]);
    const adjoint_vector_f64 next_even = EVEN(x[2], x[3]), next_odd = ODD(x[2], x[3]);
    x[0] = EVEN(even, next_even);
    x[1] = EVEN(odd, next_odd);
    x[2] = ODD(even, next_even);
    x[3] = ODD(odd, next_odd);
#undef EVEN
#undef ODD
}
#endif
#endif

#endif

#define LANES ((int)(ADJOINT_VECTOR / sizeof(ELEMENT)))
#define GROUP ((int)(16 / sizeof(ELEMENT))) /* of elements that are shuffled cheaply */
#define SPAN ADJOINT_SPAN(ELEMENT)

ADJOINT_INLINE TYPED(adjoint_vector) TYPED(adjoint_load)(const ELEMENT *source) {
    TYPED(adjoint_vector) vector;
    memcpy(&vector, source, sizeof vector);
    return vector;
}

ADJOINT_INLINE void TYPED(adjoint_store)(ELEMENT *target, TYPED(adjoint_vector) vector) {
    memcpy(target, &vector, sizeof vector);
}

/* target[j] = source[j] for j < count, count < 64: by pieces whose size the compiler knows, with no call. */
ADJOINT_INLINE void TYPED(adjoint_copy_few)(ELEMENT *target, const ELEMENT *source, int64_t count) {
#define PIECE(size)                                                                                                  \
    if (count & size) {                                                                                              \
        memcpy(target, source, size * sizeof *target);                                                               \
        target += size;                                                                                              \
        source += size;                                                                                              \
    }
    PIECE(32)
    PIECE(16)
    PIECE(8)
    PIECE(4)
    PIECE(2)
    PIECE(1)
#undef PIECE
}

/* Columns p .. p + SPAN - 1 of LANES rows, as one vector each. */
ADJOINT_INLINE void TYPED(adjoint_transpose)(
    const ELEMENT *const row[LANES], int64_t p, TYPED(adjoint_vector) column[SPAN]) {
#if !defined(ADJOINT_SHUFFLES)
    for (int q = 0; q < SPAN; q++) {
        ELEMENT line[LANES];
        for (int i = 0; i < LANES; i++) line[i] = row[i][p + q];
        column[q] = TYPED(adjoint_load)(line);
    }
#elif ADJOINT_VECTOR == 64
    for (int i = 0; i < LANES; i++) column[i] = TYPED(adjoint_load)(row[i] + p);
    for (int i = 0; i < LANES; i += GROUP) TYPED(adjoint_transpose_in_groups)(column + i);
    for (int q = 0; q < GROUP; q++) {
        adjoint_vector_f64 part[4];
        for (int i = 0; i < 4; i++) part[i] = (adjoint_vector_f64)column[i * GROUP + q];
        adjoint_transpose_groups(part);
        for (int i = 0; i < 4; i++) column[i * GROUP + q] = (TYPED(adjoint_vector))part[i];
    }
#else
    for (int i = 0; i < GROUP; i++) {
#if ADJOINT_VECTOR == 32
        adjoint_group first, second;
        memcpy(&first, row[i] + p, sizeof first);
        memcpy(&second, row[i + GROUP] + p, sizeof second);
        column[i] = (TYPED(adjoint_vector))__builtin_shufflevector(first, second, 0, 1, 2, 3);
#else
        column[i] = TYPED(adjoint_load)(row[i] + p);
#endif
    }
    TYPED(adjoint_transpose_in_groups)(column);
#endif
}

/* target[p * width + i] = source[i * row + p] for i < rows, p < k, with copies of the last row up to `vectors` vectors of
   them. `vectors` is a constant wherever this is inlined. */
ADJOINT_INLINE void TYPED(adjoint_copy_columns)(
    const int vectors, int64_t rows, int64_t k, const ELEMENT *source, int64_t row, ELEMENT *target, int64_t width) {
    const ELEMENT *from[2 * LANES];
    for (int i = 0; i < vectors * LANES; i++) from[i] = source + (i < rows ? i : rows - 1) * row;
    int64_t p = 0;
    for (; p + SPAN <= k; p += SPAN) {
        for (int i = 0; i < vectors * LANES; i += LANES) {
            TYPED(adjoint_vector) column[SPAN];
            TYPED(adjoint_transpose)(from + i, p, column);
            for (int q = 0; q < SPAN; q++) TYPED(adjoint_store)(target + (p + q) * width + i, column[q]);
        }
    }
    for (; p < k; p++) {
        for (int i = 0; i < vectors * LANES; i++) target[p * width + i] = from[i][p];
    }
}

/* The same for any number of rows: they become columns, with copies of the last one up to a multiple of LANES; `width`
   is one too. Where whole lines are not read, two vectors side by side are: a processor fetches ahead by itself what lies
   in so few rows, and lines are written whole; but not where lines of the rows meet in the cache. */
static void TYPED(adjoint_copy_transposed)(
    int64_t rows, int64_t k, const ELEMENT *source, int64_t row, ELEMENT *target, int64_t width) {
    const bool meet = row * (int64_t)sizeof(ELEMENT) % ADJOINT_MEET == 0;
    int64_t i = 0;
    for (; ADJOINT_VECTOR < 64 && !meet && i < rows && i + 2 * LANES <= width; i += 2 * LANES) {
        TYPED(adjoint_copy_columns)(2, rows - i, k, source + i * row, row, target + i, width);
    }
    for (; i < rows; i += LANES) {
        TYPED(adjoint_copy_columns)(1, rows - i, k, source + i * row, row, target + i, width);
    }
}

#undef LANES
#undef GROUP
#undef SPAN
