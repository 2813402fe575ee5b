/* Matrix product: C[m, n] = A[m, k] @ B[k, n], contiguous and row-major; either operand may be stored transposed.

   The numbers. Every element of C is defined by one order of additions, whatever the shape, the tile it falls into
   and the number of threads: k is cut into blocks of ADJOINT_DEPTH; within a block one chain of fused multiply-adds
   runs over k, beginning with 0; the blocks' sums are added in order. A processor without fused multiply-add rounds
   the product first, and so has numbers of its own.

   The work is done in tiles: ADJOINT_ROWS x 2 vectors of C stay in registers while k runs; each step multiplies a row
   of B (2 vectors) by a column of A (one element at a time, repeated over a vector). B is read where it lies, or from
   a *panel*: the columns of one tile, copied so that row after row stands in one piece. A is read where it lies, or
   from *strips*: the rows of one tile, copied so that column after column stands in one piece. Copying costs time,
   pays when the copy is used often, and changes no number.

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
    ADJOINT_DEPTH = 384,                        /* k in one chain: part of the definition, not to be tuned */
    ADJOINT_AHEAD = 16,                         /* k from a request for memory to its use */
    ADJOINT_STRIP = (ADJOINT_ROWS + 7) / 8 * 8, /* elements from one column of a strip to the next */
    ADJOINT_NEAR = 262144,                      /* bytes of B that are not far away */
    ADJOINT_BLOCK_A = 294912,                   /* bytes of strips that are kept in the level-2 cache */
    ADJOINT_BLOCK_B = 786432,                   /* bytes of panels that are made at once */
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
#define PANEL (COLUMNS < 8 ? 8 : COLUMNS)  /* elements from one row of a panel to the next */
#define BLOCK_ROWS (ADJOINT_BLOCK_A / ((int)sizeof(ELEMENT) * ADJOINT_DEPTH * ADJOINT_STRIP) * ADJOINT_ROWS)
#define BLOCK_COLUMNS (ADJOINT_BLOCK_B / ((int)sizeof(ELEMENT) * ADJOINT_DEPTH * PANEL) * COLUMNS)

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
    ELEMENT line[LANES] = {0};
    if (add) {
        TYPED(adjoint_copy_few)(line, target, count);
        vector = TYPED(adjoint_load)(line) + vector;
    }
    TYPED(adjoint_store)(line, vector);
    TYPED(adjoint_copy_few)(target, line, count);
}

/* Where the elements of A are that tiles read: element (i, p) at `at[i * row + p * step]`, and one of `row` and
   `step` is 1. The ADJOINT_ROWS rows of one tile are followed by those of the next one at `at + next`. */
struct TYPED(adjoint_left) {
    const ELEMENT *at;
    int64_t row, step, next;
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
            if (a.row == 1) __builtin_prefetch(b + ADJOINT_AHEAD * b_row + j * LANES);
        }
        if (a.row == 1) __builtin_prefetch(a.at + ADJOINT_AHEAD * a.step);
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
    const struct TYPED(adjoint_left) by_column = {a.at, 1, a.step, a.next}, by_row = {a.at, a.row, 1, a.next};
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

/* target[p * width + i] = source[i * row + p] for i < rows, p < k: rows become columns. The columns are filled up to
   a multiple of eight with copies of the last one. Eight rows are read from end to end, as a processor fetches ahead by
   itself what lies in so few rows. */
static void TYPED(adjoint_copy_transposed)(
    int64_t rows, int64_t k, const ELEMENT *source, int64_t row, ELEMENT *target, int64_t width) {
    for (int64_t i = 0; i < rows; i += 8) {
        const ELEMENT *from[8];
        for (int j = 0; j < 8; j++) from[j] = source + (i + j < rows ? i + j : rows - 1) * row;
        int64_t p = 0;
        for (; p + 4 <= k; p += 4) TYPED(adjoint_transpose)(from, p, target + p * width + i, width);
        for (; p < k; p++) {
            for (int j = 0; j < 8; j++) target[p * width + i + j] = from[j][p];
        }
    }
}

/* target[p * width + j] = source[p * row + j] for j < columns, p < k. */
static void TYPED(adjoint_copy)(
    int64_t columns, int64_t k, const ELEMENT *source, int64_t row, ELEMENT *target, int64_t width) {
    for (int64_t p = 0; p < k; p++, source += row, target += width) {
        for (int j = 0; j < COLUMNS; j += LINE) __builtin_prefetch(source + columns + j); /* for the next call */
        if (columns == COLUMNS) memcpy(target, source, COLUMNS * sizeof *target);
        else if (columns == ADJOINT_ROWS) memcpy(target, source, ADJOINT_ROWS * sizeof *target);
        else TYPED(adjoint_copy_few)(target, source, columns);
    }
}

/* The two factors and how they lie: `a` is m x k, or k x m if it is stored transposed; `b` is k x n, or n x k. */
struct TYPED(adjoint_product) {
    const ELEMENT *a, *b;
    ELEMENT *c;
    int64_t m, n, k;
    bool transpose_a, transpose_b;
};

/* A panel of B: `columns` columns from `column` on, `depth` rows from `start` on. Lanes that are missing to whole
   vectors are made harmless; what they give is not stored. */
static void TYPED(adjoint_pack_panel)(
    const struct TYPED(adjoint_product) *x, int64_t column, int64_t columns, int64_t start, int64_t depth,
    ELEMENT *panel) {
    const int64_t whole = columns > LANES ? COLUMNS : LANES;
    int64_t filled = columns;
    if (x->transpose_b) {
        TYPED(adjoint_copy_transposed)(columns, depth, x->b + column * x->k + start, x->k, panel, PANEL);
        filled = (columns + 7) / 8 * 8;
    } else {
        TYPED(adjoint_copy)(columns, depth, x->b + start * x->n + column, x->n, panel, PANEL);
    }
    for (int64_t p = 0; p < depth && filled < whole; p++) {
        for (int64_t j = filled; j < whole; j++) panel[p * PANEL + j] = 0;
    }
}

/* Strips of A: `rows` rows from `row` on, `depth` columns from `start` on. */
static void TYPED(adjoint_pack_strips)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t rows, int64_t start, int64_t depth, ELEMENT *strip) {
    for (const int64_t end = row + rows; row < end; row += ADJOINT_ROWS, strip += depth * ADJOINT_STRIP) {
        const int64_t height = end - row < ADJOINT_ROWS ? end - row : ADJOINT_ROWS;
        if (x->transpose_a) {
            TYPED(adjoint_copy)(height, depth, x->a + start * x->m + row, x->m, strip, ADJOINT_STRIP);
        } else {
            TYPED(adjoint_copy_transposed)(height, depth, x->a + row * x->k + start, x->k, strip, ADJOINT_STRIP);
        }
    }
}

/* Rows row..row_end and columns column..column_end of C. `strips` has room for a block of A, or is NULL: A is read
   where it lies. `panels` has room for one panel of B, or with `many` for a block of panels, which then serves
   several blocks of A. With `direct`, full panels are not copied: B is read where it lies. */
static __attribute__((noinline)) void TYPED(adjoint_matmul_part)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
    ELEMENT *strips, ELEMENT *panels, bool many, bool direct) {
    const int64_t a_row = x->transpose_a ? 1 : x->k, a_step = x->transpose_a ? x->m : 1;
    const int64_t block_rows = strips || many ? BLOCK_ROWS : row_end - row;
    const int64_t block_columns = many ? BLOCK_COLUMNS : column_end - column;
    for (int64_t left = column; left < column_end; left += block_columns) {
        const int64_t right = column_end - left < block_columns ? column_end : left + block_columns;
        int64_t start = 0;
        do {
            const int64_t depth = x->k - start < ADJOINT_DEPTH ? x->k - start : ADJOINT_DEPTH;
            for (int64_t j = left; many && j < right; j += COLUMNS) {
                const int64_t columns = right - j < COLUMNS ? right - j : COLUMNS;
                TYPED(adjoint_pack_panel)(x, j, columns, start, depth, panels + (j - left) / COLUMNS * PANEL * depth);
            }
            for (int64_t top = row; top < row_end; top += block_rows) {
                const int64_t rows = row_end - top < block_rows ? row_end - top : block_rows;
                const ELEMENT *corner = x->a + top * a_row + start * a_step;
                struct TYPED(adjoint_left) a = {corner, a_row, a_step, ADJOINT_ROWS * a_row};
                if (strips) {
                    TYPED(adjoint_pack_strips)(x, top, rows, start, depth, strips);
                    a = (struct TYPED(adjoint_left)){strips, 1, ADJOINT_STRIP, depth * ADJOINT_STRIP};
                }
                for (int64_t j = left; j < right; j += COLUMNS) {
                    const int64_t columns = right - j < COLUMNS ? right - j : COLUMNS;
                    const ELEMENT *b = panels;
                    int64_t b_row = PANEL;
                    if (many) {
                        b += (j - left) / COLUMNS * PANEL * depth;
                    } else if (direct && (columns == COLUMNS || columns == LANES)) {
                        b = x->b + start * x->n + j;
                        b_row = x->n;
                    } else {
                        TYPED(adjoint_pack_panel)(x, j, columns, start, depth, panels);
                    }
                    TYPED(adjoint_column)(rows, columns, depth, a, b, b_row, x->c + top * x->n + j, x->n, start > 0);
                }
            }
            start += depth;
        } while (start < x->k);
    }
}

/* The same with room of its own for panels and strips: kept apart, so that small products need no large stack. */
static __attribute__((noinline)) void TYPED(adjoint_matmul_packed)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
    bool pack_strips, bool many, bool direct) {
    _Alignas(64) ELEMENT strips[BLOCK_ROWS / ADJOINT_ROWS * ADJOINT_STRIP * ADJOINT_DEPTH];
    _Alignas(64) ELEMENT panels[BLOCK_COLUMNS / COLUMNS * PANEL * ADJOINT_DEPTH];
    TYPED(adjoint_matmul_part)(
        x, row, row_end, column, column_end, pack_strips ? strips : NULL, panels, many, direct);
}

/* Rows row..row_end and columns column..column_end of C; decides what to copy. Copied strips pay where B is far away,
   as tiles then ask for it ahead of time, and where the rows of A lie a multiple of a page apart, as they then would meet
   in the same few sets of the cache. */
static void TYPED(adjoint_matmul_range)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
    const int64_t rows = row_end - row, columns = column_end - column, element = sizeof(ELEMENT);
    const bool far = columns * x->k * element > ADJOINT_NEAR;
    const bool apart = (x->transpose_a ? x->m : x->k) * element % 4096 == 0;
    const bool many = rows > BLOCK_ROWS && (x->transpose_b || far);
    const bool direct = !many && !x->transpose_b;
    const bool pack_strips = columns >= 8 * COLUMNS && (many || x->transpose_a || apart || (direct && far));
    if (many || pack_strips) {
        TYPED(adjoint_matmul_packed)(x, row, row_end, column, column_end, pack_strips, many, direct);
    } else {
        _Alignas(64) ELEMENT panel[PANEL * ADJOINT_DEPTH];
        TYPED(adjoint_matmul_part)(x, row, row_end, column, column_end, NULL, panel, false, direct);
    }
}

/* Units begin..end of C = A @ B. A unit is `unit` rows of C, or, with by_columns, `unit` columns. */
static void TYPED(adjoint_matmul)(
    const ELEMENT *a, const ELEMENT *b, ELEMENT *c, int64_t m, int64_t n, int64_t k, int64_t transpose_a,
    int64_t transpose_b, int64_t by_columns, int64_t unit, int64_t begin, int64_t end) {
    struct TYPED(adjoint_product) x = {a, b, c, m, n, k, transpose_a != 0, transpose_b != 0};
    if (n == 1) { /* tiles are wide, so a column is computed as a row: the same products, added in the same order */
        x = (struct TYPED(adjoint_product)){b, a, c, 1, m, k, false, transpose_a == 0};
        by_columns = !by_columns;
    }
    const int64_t length = by_columns ? x.n : x.m;
    const int64_t first = begin * unit, last = end * unit < length ? end * unit : length;
    if (first >= last) return;
    if (by_columns) TYPED(adjoint_matmul_range)(&x, 0, x.m, first, last);
    else TYPED(adjoint_matmul_range)(&x, first, last, 0, x.n);
}

#undef LANES
#undef LINE
#undef COLUMNS
#undef PANEL
#undef BLOCK_ROWS
#undef BLOCK_COLUMNS
