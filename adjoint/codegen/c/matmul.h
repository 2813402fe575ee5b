/* Matrix product: C[m, n] = A[m, k] @ B[k, n], contiguous and row-major; either operand may be stored transposed.

   The numbers. Every element of C is defined by one order of additions, whatever the shape, the tile it falls into
   and the number of threads: k is cut into blocks of ADJOINT_DEPTH; within a block one chain of fused multiply-adds
   runs over k, beginning with 0; the blocks' sums are added in order. A processor without fused multiply-add rounds
   the product first, and so has numbers of its own.

   The work is done in tiles: ADJOINT_ROWS x 2 vectors of C stay in registers while k runs; each step multiplies a row
   of B (2 vectors) by a column of A (one element at a time, repeated over a vector). B is read where it lies, or from
   a *panel*: the columns of one tile, copied so that row after row stands in one piece. A is read where it lies, or
   from *strips*: the rows of one tile, copied so that column after column stands in one piece. Copying costs time,
   pays when the copy is used often, and changes no number. Strips are copied by the thread that reads them, panels
   too, unless B is large and meets many rows: then a stage of its own copies all of it, for all threads.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. */

#ifndef ADJOINT_MATMUL_H
#define ADJOINT_MATMUL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define ADJOINT_VECTOR 64 /* bytes */
#define ADJOINT_ROWS 14   /* 28 of 32 registers hold C */
#elif defined(__AVX__)
#define ADJOINT_VECTOR 32
#define ADJOINT_ROWS 6 /* 12 of 16 registers hold C */
#elif defined(__aarch64__)
#define ADJOINT_VECTOR 16
#define ADJOINT_ROWS 14
#else
#define ADJOINT_VECTOR 16
#define ADJOINT_ROWS 6
#endif

enum {
    ADJOINT_DEPTH = 512,                        /* k in one chain: part of the definition, not to be tuned */
    ADJOINT_AHEAD = 16,                         /* k from a request for memory to its use, with strips */
    ADJOINT_AHEAD_BARE = 8,                     /* and without */
    ADJOINT_STRIP = (ADJOINT_ROWS + 7) / 8 * 8, /* elements from one column of a strip to the next */
    ADJOINT_MEET = 2048,                        /* bytes: lines a multiple of this apart share two sets of a cache */
    ADJOINT_NEAR = 262144,                      /* bytes of B that are not far away */
    ADJOINT_BLOCK = 262144,                     /* bytes of strips that are kept in a level-2 cache of any size */
    ADJOINT_STRIPS = 8,                         /* strips that are copied side by side */
    ADJOINT_SHARE = 32,                         /* columns of B in a unit of copying: whole tiles on every machine */
};

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define ADJOINT_SHUFFLES
#endif
#endif

#define ADJOINT_INLINE static inline __attribute__((always_inline))

typedef float adjoint_vector_f32 __attribute__((vector_size(ADJOINT_VECTOR)));
typedef double adjoint_vector_f64 __attribute__((vector_size(ADJOINT_VECTOR)));
typedef float adjoint_quad_f32 __attribute__((vector_size(16)));
typedef double adjoint_quad_f64 __attribute__((vector_size(32)));
typedef float adjoint_octet_f32 __attribute__((vector_size(32)));
typedef float adjoint_sixteen_f32 __attribute__((vector_size(64)));
typedef double adjoint_octet_f64 __attribute__((vector_size(64)));

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

#define LANES ((int)(ADJOINT_VECTOR / sizeof(ELEMENT)))
#define LINE ((int)(64 / sizeof(ELEMENT))) /* of the cache, in elements */
#define COLUMNS (2 * LANES)                /* of a tile */
#define BLOCK_ROWS (ADJOINT_BLOCK / ((int)sizeof(ELEMENT) * ADJOINT_DEPTH * ADJOINT_STRIP) * ADJOINT_ROWS)

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

/* The first `count` lanes, which may be all or none, written to `target` or added to what is there. */
static __attribute__((noinline)) void TYPED(adjoint_store_part)(
    ELEMENT *target, int64_t count, TYPED(adjoint_vector) vector, bool add) {
    if (count <= 0) return;
    if (count > LANES) count = LANES;
    ELEMENT line[64]; /* of which LANES are used: a compiler that does not look closely sees room for any count */
    if (add) {
        TYPED(adjoint_store)(line, (TYPED(adjoint_vector)){0});
        TYPED(adjoint_copy_few)(line, target, count);
        vector = TYPED(adjoint_load)(line) + vector;
    }
    TYPED(adjoint_store)(line, vector);
    TYPED(adjoint_copy_few)(target, line, count);
}

/* Where the elements of A are that tiles read: element (i, p) at `at[i * row + p * step]`, and one of `row` and
   `step` is 1. The ADJOINT_ROWS rows of one tile are followed by those of the next one at `at + next`. Tiles that read
   strips also ask for what will be read after them: for every k, `pace` elements further on from `soon`. */
struct TYPED(adjoint_left) {
    const ELEMENT *at;
    int64_t row, step, next;
    const ELEMENT *soon;
    int64_t pace;
};

/* One tile of C, `rows` x `vectors` vectors of which the first `columns` columns are wanted: the sums over k, written
   to `c` or added to what is there. Element (p, j) of B is at b[p * b_row + j]. `rows` and `vectors` are constants
   wherever this is inlined, and so is a.row or a.step. Strips and panels come from further away than the nearest
   cache, at a rate that only requests ahead of time sustain; so may C. */
ADJOINT_INLINE void TYPED(adjoint_tile)(
    const int rows, const int vectors, int64_t columns, int64_t k, struct TYPED(adjoint_left) a, const ELEMENT *b,
    int64_t b_row, ELEMENT *c, int64_t c_row, bool add) {
    TYPED(adjoint_vector) sum[ADJOINT_ROWS][2];
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < vectors; j++) {
            sum[i][j] = (TYPED(adjoint_vector)){0};
            if (a.row == 1) __builtin_prefetch(c + i * c_row + j * LANES, 1);
        }
    }
    for (int64_t p = 0; p < k; p++) {
        TYPED(adjoint_vector) right[2];
        for (int j = 0; j < vectors; j++) {
            right[j] = TYPED(adjoint_load)(b + j * LANES);
            __builtin_prefetch(b + (a.row == 1 ? ADJOINT_AHEAD : ADJOINT_AHEAD_BARE) * b_row + j * LANES);
        }
        if (a.row == 1) {
            __builtin_prefetch(a.at + ADJOINT_AHEAD * a.step);
            __builtin_prefetch(a.soon, 0, 2);
            a.soon += a.pace;
        }
        for (int i = 0; i < rows; i++) {
            TYPED(adjoint_vector) left = a.at[i * a.row] - (TYPED(adjoint_vector)){0}; /* in every lane */
            for (int j = 0; j < vectors; j++) sum[i][j] = TYPED(adjoint_multiply_add)(left, right[j], sum[i][j]);
        }
        a.at += a.step;
        b += b_row;
    }
    if (columns < vectors * LANES) {
        TYPED(adjoint_vector) part[ADJOINT_ROWS][2]; /* in memory for this loop, so that `sum` need not be for any */
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < vectors; j++) part[i][j] = sum[i][j];
        }
        for (int i = 0; i < rows; i++, c += c_row) {
            for (int j = 0; j < vectors; j++) {
                TYPED(adjoint_store_part)(c + j * LANES, columns - j * LANES, part[i][j], add);
            }
        }
    } else if (add) {
        for (int i = 0; i < rows; i++, c += c_row) {
            for (int j = 0; j < vectors; j++) {
                ELEMENT *target = c + j * LANES;
                TYPED(adjoint_store)(target, TYPED(adjoint_load)(target) + sum[i][j]);
            }
        }
    } else {
        for (int i = 0; i < rows; i++, c += c_row) {
            for (int j = 0; j < vectors; j++) TYPED(adjoint_store)(c + j * LANES, sum[i][j]);
        }
    }
}

/* `rows` rows of C, by tiles one below the other, each as tall as it can be. */
ADJOINT_INLINE void TYPED(adjoint_tower)(
    const int vectors, int64_t rows, int64_t columns, int64_t k, struct TYPED(adjoint_left) a, const ELEMENT *b,
    int64_t b_row, ELEMENT *c, int64_t c_row, bool add) {
#define TILE(height) TYPED(adjoint_tile)(height, vectors, columns, k, a, b, b_row, c, c_row, add)
    for (; rows >= ADJOINT_ROWS; rows -= ADJOINT_ROWS) {
        TILE(ADJOINT_ROWS);
        a.soon += k * a.pace;
        a.at += a.next;
        c += ADJOINT_ROWS * c_row;
    }
    while (rows > 0) {
        const int height = rows >= 8 ? 8 : rows >= 6 ? 6 : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
        switch (height) {
#if ADJOINT_ROWS > 8
        case 8: TILE(8); break;
#endif
        case 6: TILE(6); break;
        case 4: TILE(4); break;
        case 2: TILE(2); break;
        default: TILE(1); break;
        }
        rows -= height;
        a.at += height * a.row;
        c += height * c_row;
    }
#undef TILE
}

/* `rows` rows and up to COLUMNS columns of C. */
static __attribute__((noinline)) void TYPED(adjoint_column)(
    int64_t rows, int64_t columns, int64_t k, struct TYPED(adjoint_left) a, const ELEMENT *b, int64_t b_row,
    ELEMENT *c, int64_t c_row, bool add) {
    struct TYPED(adjoint_left) by_column = a, by_row = a; /* with what is 1 known to be */
    by_column.row = by_row.step = 1;
    if (columns > LANES) {
        if (a.row == 1) TYPED(adjoint_tower)(2, rows, columns, k, by_column, b, b_row, c, c_row, add);
        else TYPED(adjoint_tower)(2, rows, columns, k, by_row, b, b_row, c, c_row, add);
    } else {
        if (a.row == 1) TYPED(adjoint_tower)(1, rows, columns, k, by_column, b, b_row, c, c_row, add);
        else TYPED(adjoint_tower)(1, rows, columns, k, by_row, b, b_row, c, c_row, add);
    }
}

/* Four elements of each of eight rows, transposed: target[j * width + i] = source[i][p + j]. */
ADJOINT_INLINE void TYPED(adjoint_transpose)(
    const ELEMENT *const source[8], int64_t p, ELEMENT *target, int64_t width) {
#if defined(ADJOINT_SHUFFLES)
    TYPED(adjoint_octet) row[4], pair[4]; /* rows 0..3 side by side with rows 4..7 */
    for (int i = 0; i < 4; i++) {
        TYPED(adjoint_quad) first, second;
        memcpy(&first, source[i] + p, sizeof first);
        memcpy(&second, source[i + 4] + p, sizeof second);
        row[i] = __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7);
    }
    for (int i = 0; i < 2; i++) {
        pair[i] = __builtin_shufflevector(row[2 * i], row[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        pair[i + 2] = __builtin_shufflevector(row[2 * i], row[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 2; i++) {
        row[2 * i] = __builtin_shufflevector(pair[2 * i], pair[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13);
        row[2 * i + 1] = __builtin_shufflevector(pair[2 * i], pair[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int j = 0; j < 4; j++) memcpy(target + j * width, &row[j], sizeof row[j]);
#else
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 4; j++) target[j * width + i] = source[i][p + j];
    }
#endif
}

/* Sixteen rows likewise, of four-byte elements: whole lines of the cache are written. */
ADJOINT_INLINE void TYPED(adjoint_transpose_sixteen)(
    const ELEMENT *const source[16], int64_t p, ELEMENT *target, int64_t width) {
#if defined(ADJOINT_SHUFFLES) && ADJOINT_VECTOR == 64
    adjoint_sixteen_f32 row[4], pair[4]; /* rows i, i + 4, i + 8 and i + 12 side by side */
    for (int i = 0; i < 4; i++) {
        adjoint_quad_f32 part[4];
        for (int j = 0; j < 4; j++) memcpy(&part[j], source[i + 4 * j] + p, sizeof part[j]);
        const adjoint_octet_f32 first = __builtin_shufflevector(part[0], part[1], 0, 1, 2, 3, 4, 5, 6, 7);
        const adjoint_octet_f32 second = __builtin_shufflevector(part[2], part[3], 0, 1, 2, 3, 4, 5, 6, 7);
        row[i] = __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }
#define EACH(x, y, a, b, c, d)                                                                                       \
    __builtin_shufflevector(x, y, a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, \
                            c + 12, d + 12)
    for (int i = 0; i < 2; i++) {
        pair[i] = EACH(row[2 * i], row[2 * i + 1], 0, 16, 1, 17);
        pair[i + 2] = EACH(row[2 * i], row[2 * i + 1], 2, 18, 3, 19);
    }
    for (int i = 0; i < 2; i++) {
        row[2 * i] = EACH(pair[2 * i], pair[2 * i + 1], 0, 1, 16, 17);
        row[2 * i + 1] = EACH(pair[2 * i], pair[2 * i + 1], 2, 3, 18, 19);
    }
#undef EACH
    for (int j = 0; j < 4; j++) memcpy(target + j * width, &row[j], sizeof row[j]);
#else
    TYPED(adjoint_transpose)(source, p, target, width);
    TYPED(adjoint_transpose)(source + 8, p, target + 8, width);
#endif
}

/* target[p * width + i] = source[i * row + p] for i < rows, p < k: rows become columns. What is left of `width`, if
   that is a multiple of eight, may be filled with copies of the last one. Many rows are read from end to end, as a
   processor fetches ahead by itself what lies in so few rows; eight at a time where their lines meet in the cache. */
static void TYPED(adjoint_copy_transposed)(
    int64_t rows, int64_t k, const ELEMENT *source, int64_t row, ELEMENT *target, int64_t width) {
    const bool meet = row * (int64_t)sizeof(ELEMENT) % ADJOINT_MEET == 0;
    for (int64_t i = 0; i < rows;) {
        const int many = sizeof(ELEMENT) == 4 && i + 16 <= width && !meet ? 16 : i + 8 <= width ? 8 : 4;
        const ELEMENT *from[16];
        for (int j = 0; j < many; j++) from[j] = source + (i + j < rows ? i + j : rows - 1) * row;
        int64_t p = 0;
        if (many == 16) {
            for (; p + 4 <= k; p += 4) TYPED(adjoint_transpose_sixteen)(from, p, target + p * width + i, width);
        } else if (many == 8) {
            for (; p + 4 <= k; p += 4) TYPED(adjoint_transpose)(from, p, target + p * width + i, width);
        }
        for (; p < k; p++) {
            for (int j = 0; j < many; j++) target[p * width + i + j] = from[j][p];
        }
        i += many;
    }
}

/* Rows of `columns` elements cut into pieces of `length`, of which each goes to a panel or strip of its own, `next`
   elements after the one before: target[q * next + p * width + j] = source[p * row + q * length + j] for p < k. Rows
   are asked for ahead of time. `length` is a constant wherever this is inlined. */
ADJOINT_INLINE void TYPED(adjoint_copy)(
    const int length, int64_t columns, int64_t k, const ELEMENT *source, int64_t row, ELEMENT *target, int64_t width,
    int64_t next) {
    const int64_t whole = columns / length, rest = columns % length;
    for (int64_t p = 0; p < k; p++, source += row, target += width) {
        for (int64_t j = 0; j < columns; j += LINE) __builtin_prefetch(source + ADJOINT_AHEAD * row + j);
        for (int64_t q = 0; q < whole; q++) memcpy(target + q * next, source + q * length, length * sizeof *target);
        if (rest) TYPED(adjoint_copy_few)(target + whole * next, source + whole * length, rest);
    }
}

/* The two factors and how they lie: `a` is m x k, or k x m if it is stored transposed; `b` is k x n, or n x k. If all
   of B stands in panels, these are in `panels`: see adjoint_matmul_panels. */
struct TYPED(adjoint_product) {
    const ELEMENT *a, *b, *panels;
    ELEMENT *c;
    int64_t m, n, k;
    bool transpose_a, transpose_b;
};

/* Panels of B: `columns` columns from `column` on, `depth` rows from `start` on. Lanes that are missing to whole
   vectors are made harmless; what they give is not stored. */
static __attribute__((noinline)) void TYPED(adjoint_pack_panels)(
    const struct TYPED(adjoint_product) *x, int64_t column, int64_t columns, int64_t start, int64_t depth,
    ELEMENT *panel) {
    const int64_t size = COLUMNS * depth;
    if (x->transpose_b) {
        for (int64_t j = 0; j < columns; j += COLUMNS) {
            TYPED(adjoint_copy_transposed)(
                columns - j < COLUMNS ? columns - j : COLUMNS, depth, x->b + (column + j) * x->k + start, x->k,
                panel + j / COLUMNS * size, COLUMNS);
        }
    } else {
        TYPED(adjoint_copy)(COLUMNS, columns, depth, x->b + start * x->n + column, x->n, panel, COLUMNS, size);
    }
    const int64_t rest = columns % COLUMNS, whole = rest > LANES ? COLUMNS : LANES;
    panel += columns / COLUMNS * size;
    for (int64_t p = 0; p < depth && rest > 0 && rest < whole; p++) {
        for (int64_t j = rest; j < whole; j++) panel[p * COLUMNS + j] = 0;
    }
}

/* Elements from one strip of A to the next: a line more than a strip has, as strips that begin in one set of the cache
   would evict one another while they are filled. */
#define NEXT_STRIP(depth) ((depth) * ADJOINT_STRIP + LINE)

/* Strips of A: `rows` rows from `row` on, `depth` columns from `start` on. */
static __attribute__((noinline)) void TYPED(adjoint_pack_strips)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t rows, int64_t start, int64_t depth, ELEMENT *strip) {
    const int64_t most = x->transpose_a ? ADJOINT_STRIPS * ADJOINT_ROWS : ADJOINT_ROWS, next = NEXT_STRIP(depth);
    for (const int64_t end = row + rows; row < end; row += most, strip += most / ADJOINT_ROWS * next) {
        const int64_t height = end - row < most ? end - row : most;
        if (x->transpose_a) {
            TYPED(adjoint_copy)(
                ADJOINT_ROWS, height, depth, x->a + start * x->m + row, x->m, strip, ADJOINT_STRIP, next);
        } else {
            TYPED(adjoint_copy_transposed)(height, depth, x->a + row * x->k + start, x->k, strip, ADJOINT_STRIP);
        }
    }
}

/* Rows row..row_end and columns column..column_end of C. `strips` has room for a block of A, or is NULL: A is read
   where it lies. `panel` has room for one panel of B. With `direct`, full panels are not copied: B is read where it
   lies. */
static __attribute__((noinline)) void TYPED(adjoint_matmul_part)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
    ELEMENT *strips, ELEMENT *panel, bool direct) {
    const int64_t a_row = x->transpose_a ? 1 : x->k, a_step = x->transpose_a ? x->m : 1;
    const int64_t blocks = strips ? (row_end - row + BLOCK_ROWS - 1) / BLOCK_ROWS : 1; /* of one height, about */
    const int64_t block_rows = ((row_end - row) / blocks + ADJOINT_ROWS - 1) / ADJOINT_ROWS * ADJOINT_ROWS;
    const int64_t width = (x->n + ADJOINT_SHARE - 1) / ADJOINT_SHARE * ADJOINT_SHARE;
    for (int64_t top = row; top < row_end; top += block_rows) {
        const int64_t rows = row_end - top < block_rows ? row_end - top : block_rows;
        int64_t start = 0;
        do {
            const int64_t depth = x->k - start < ADJOINT_DEPTH ? x->k - start : ADJOINT_DEPTH;
            const ELEMENT *corner = x->a + top * a_row + start * a_step;
            struct TYPED(adjoint_left) a = {corner, a_row, a_step, ADJOINT_ROWS * a_row, corner, 0};
            if (strips) {
                TYPED(adjoint_pack_strips)(x, top, rows, start, depth, strips);
                a = (struct TYPED(adjoint_left)){
                    strips, 1, ADJOINT_STRIP, NEXT_STRIP(depth), strips, ADJOINT_STRIP};
            }
            for (int64_t j = column; j < column_end; j += COLUMNS) {
                const int64_t columns = column_end - j < COLUMNS ? column_end - j : COLUMNS;
                const ELEMENT *b = panel;
                int64_t b_row = COLUMNS;
                if (x->panels) {
                    b = x->panels + start * width + j * depth;
                    a.soon = b + COLUMNS * depth;
                    a.pace = COLUMNS * ADJOINT_ROWS / rows + 1; /* the next panel, while this one is used */
                } else if (direct && (columns == COLUMNS || columns == LANES)) {
                    b = x->b + start * x->n + j;
                    b_row = x->n;
                } else {
                    TYPED(adjoint_pack_panels)(x, j, columns, start, depth, panel);
                }
                TYPED(adjoint_column)(rows, columns, depth, a, b, b_row, x->c + top * x->n + j, x->n, start > 0);
            }
            start += depth;
        } while (start < x->k);
    }
}

/* The same with room of its own for strips: kept apart, so that small products need no large stack. */
static __attribute__((noinline)) void TYPED(adjoint_matmul_striped)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
    ELEMENT *panel, bool direct) {
    _Alignas(64) ELEMENT strips[BLOCK_ROWS / ADJOINT_ROWS * NEXT_STRIP(ADJOINT_DEPTH)];
    TYPED(adjoint_matmul_part)(x, row, row_end, column, column_end, strips, panel, direct);
}

/* Rows row..row_end and columns column..column_end of C; decides what to copy. Where rows of an operand lie a multiple
   of ADJOINT_MEET apart, lines of one tile meet in the same few sets of the cache; where they do not begin with a line,
   vectors straddle two. Copies pay if enough tiles read them. */
static void TYPED(adjoint_matmul_range)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
    const int64_t rows = row_end - row, columns = column_end - column, element = sizeof(ELEMENT);
    const bool far = columns * x->k * element > ADJOINT_NEAR;
    const bool meet_a = (x->transpose_a ? x->m : x->k) * element % ADJOINT_MEET == 0;
    const bool meet_b = x->n * element % ADJOINT_MEET == 0;
    const bool straddle = x->n % LINE != 0;
    const bool direct = !x->transpose_b && (rows < 4 * ADJOINT_ROWS || !(meet_b || (straddle && far)));
    const int64_t reads = (columns + COLUMNS - 1) / COLUMNS; /* of A */
    _Alignas(64) ELEMENT panel[COLUMNS * ADJOINT_DEPTH];
    if (x->transpose_a ? reads >= (meet_a ? 4 : 8) : meet_a && reads >= 8) {
        TYPED(adjoint_matmul_striped)(x, row, row_end, column, column_end, panel, direct);
    } else {
        TYPED(adjoint_matmul_part)(x, row, row_end, column, column_end, NULL, panel, direct);
    }
}

/* Units begin..end of C = A @ B. A unit is `unit` rows of C, or, with by_columns, `unit` columns. */
static void TYPED(adjoint_matmul)(
    const ELEMENT *a, const ELEMENT *b, ELEMENT *c, int64_t m, int64_t n, int64_t k, int64_t transpose_a,
    int64_t transpose_b, int64_t by_columns, int64_t unit, int64_t begin, int64_t end) {
    struct TYPED(adjoint_product) x = {a, b, NULL, c, m, n, k, transpose_a != 0, transpose_b != 0};
    if (n == 1) { /* tiles are wide, so a column is computed as a row: the same products, added in the same order */
        x = (struct TYPED(adjoint_product)){b, a, NULL, c, 1, m, k, false, transpose_a == 0};
        by_columns = !by_columns;
    }
    const int64_t length = by_columns ? x.n : x.m;
    const int64_t first = begin * unit, last = end * unit < length ? end * unit : length;
    if (first >= last) return;
    if (by_columns) TYPED(adjoint_matmul_range)(&x, 0, x.m, first, last);
    else TYPED(adjoint_matmul_range)(&x, first, last, 0, x.n);
}

/* Units begin..end of the copy in panels of one B after the other. A unit is ADJOINT_SHARE columns of a block of k. The
   panel of column j in the block that begins with row `start` and is `depth` high stands at start * width + j * depth,
   where `width` is n made a multiple of ADJOINT_SHARE. */
static void TYPED(adjoint_matmul_panels)(
    const ELEMENT *b, ELEMENT *panels, int64_t n, int64_t k, int64_t transpose_b, int64_t begin, int64_t end) {
    const int64_t shares = (n + ADJOINT_SHARE - 1) / ADJOINT_SHARE, width = shares * ADJOINT_SHARE;
    const int64_t blocks = (k + ADJOINT_DEPTH - 1) / ADJOINT_DEPTH;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t matrix = unit / (blocks * shares), start = unit / shares % blocks * ADJOINT_DEPTH;
        const int64_t depth = k - start < ADJOINT_DEPTH ? k - start : ADJOINT_DEPTH;
        const struct TYPED(adjoint_product) x = {
            .b = b + matrix * k * n, .n = n, .k = k, .transpose_b = transpose_b != 0};
        const int64_t left = unit % shares * ADJOINT_SHARE, right = left + ADJOINT_SHARE < n ? left + ADJOINT_SHARE : n;
        TYPED(adjoint_pack_panels)(
            &x, left, right - left, start, depth, panels + matrix * k * width + start * width + left * depth);
    }
}

/* Units begin..end of C = A @ B, of `unit` rows each, where B stands in panels. */
static void TYPED(adjoint_matmul_shared)(
    const ELEMENT *a, const ELEMENT *panels, ELEMENT *c, int64_t m, int64_t n, int64_t k, int64_t transpose_a,
    int64_t unit, int64_t begin, int64_t end) {
    const struct TYPED(adjoint_product) x = {a, NULL, panels, c, m, n, k, transpose_a != 0, false};
    const int64_t last = end * unit < m ? end * unit : m;
    if (begin * unit < last) TYPED(adjoint_matmul_striped)(&x, begin * unit, last, 0, n, NULL, false);
}

#undef LANES
#undef LINE
#undef COLUMNS
#undef BLOCK_ROWS
#undef NEXT_STRIP
