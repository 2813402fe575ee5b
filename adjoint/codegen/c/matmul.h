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
   too, unless B is large and meets many rows: then a stage of its own copies all of it, for all threads. Nothing is
   copied for up to ADJOINT_FEW rows and a B that is stored transposed: it is transposed in registers, where it is used.
   As many rows without that have no tiles: rows of B are added up from end to end.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. */

#ifndef ADJOINT_MATMUL_H
#define ADJOINT_MATMUL_H

#include <stdbool.h>

enum {
    ADJOINT_DEPTH = 512,                        /* k in one chain: part of the definition, not to be tuned */
    ADJOINT_AHEAD = 16,                         /* k from a request for memory to its use, with strips */
    ADJOINT_AHEAD_BARE = 8,                     /* and without */
    ADJOINT_STRIP = (ADJOINT_ROWS + 7) / 8 * 8, /* elements from one column of a strip to the next */
    ADJOINT_NEAR = 262144,                      /* bytes of B that are not far away */
    ADJOINT_BLOCK = 262144,                     /* bytes of strips that are kept in a level-2 cache of any size */
    ADJOINT_STRIPS = 8,                         /* strips that are copied side by side */
    ADJOINT_FEW = 4,                            /* rows of C for which B is transposed in registers, not copied */
    ADJOINT_SUMS = 4096,                        /* bytes of sums of one row, or of each of two, that stay in a near cache */
    ADJOINT_SHARE = 32,                         /* columns of B in a unit of copying: whole tiles on every machine */
};

#endif

#define LANES ((int)(ADJOINT_VECTOR / sizeof(ELEMENT)))
#define LINE ((int)(64 / sizeof(ELEMENT))) /* of the cache, in elements */
#define COLUMNS (2 * LANES)                /* of a tile */
#define SPAN ADJOINT_SPAN(ELEMENT)
#define BLOCK_ROWS (ADJOINT_BLOCK / ((int)sizeof(ELEMENT) * ADJOINT_DEPTH * ADJOINT_STRIP) * ADJOINT_ROWS)

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

/* The first `count` lanes read from `source`, which may be all or none; the others are 0. */
static __attribute__((noinline)) TYPED(adjoint_vector) TYPED(adjoint_load_part)(const ELEMENT *source, int64_t count) {
    ELEMENT line[64];
    TYPED(adjoint_store)(line, (TYPED(adjoint_vector)){0});
    if (count > 0) TYPED(adjoint_copy_few)(line, source, count < LANES ? count : LANES);
    return TYPED(adjoint_load)(line);
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

/* The sums of a tile, of which the first `columns` columns are wanted, written to `c` or added to what is there. */
ADJOINT_INLINE void TYPED(adjoint_store_tile)(
    const int rows, const int vectors, int64_t columns, TYPED(adjoint_vector) sum[ADJOINT_ROWS][2], ELEMENT *c,
    int64_t c_row, bool add) {
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

/* One tile of C, `rows` x `vectors` vectors of which the first `columns` columns are wanted: the sums over k, written
   to `c` or added to what is there. With `resume` the chains go on from what is in `c`. Element (p, j) of B is at
   b[p * b_row + j]. `rows`, `vectors` and `resume` are constants wherever this is inlined, and so is a.row or a.step. Strips and panels come from further away than the nearest
   cache, at a rate that only requests ahead of time sustain; so may C. */
ADJOINT_INLINE void TYPED(adjoint_tile)(
    const bool resume, const int rows, const int vectors, int64_t columns, int64_t k, struct TYPED(adjoint_left) a, const ELEMENT *b,
    int64_t b_row, ELEMENT *c, int64_t c_row, bool add) {
    TYPED(adjoint_vector) sum[ADJOINT_ROWS][2];
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < vectors; j++) {
            const ELEMENT *from = c + i * c_row + j * LANES;
            if (!resume) sum[i][j] = (TYPED(adjoint_vector)){0};
            else if (columns < vectors * LANES) sum[i][j] = TYPED(adjoint_load_part)(from, columns - j * LANES);
            else sum[i][j] = TYPED(adjoint_load)(from);
            if (a.row == 1) __builtin_prefetch(from, 1);
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
    TYPED(adjoint_store_tile)(rows, vectors, columns, sum, c, c_row, add);
}

/* `rows` rows of C, by tiles one below the other, each as tall as it can be. */
ADJOINT_INLINE void TYPED(adjoint_tower)(
    const bool resume, const int vectors, int64_t rows, int64_t columns, int64_t k, struct TYPED(adjoint_left) a, const ELEMENT *b,
    int64_t b_row, ELEMENT *c, int64_t c_row, bool add) {
#define TILE(height) TYPED(adjoint_tile)(resume, height, vectors, columns, k, a, b, b_row, c, c_row, add)
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
ADJOINT_INLINE void TYPED(adjoint_any_column)(
    const bool resume, int64_t rows, int64_t columns, int64_t k, struct TYPED(adjoint_left) a, const ELEMENT *b, int64_t b_row,
    ELEMENT *c, int64_t c_row, bool add) {
    struct TYPED(adjoint_left) by_column = a, by_row = a; /* with what is 1 known to be */
    by_column.row = by_row.step = 1;
    if (columns > LANES) {
        if (a.row == 1) TYPED(adjoint_tower)(resume, 2, rows, columns, k, by_column, b, b_row, c, c_row, add);
        else TYPED(adjoint_tower)(resume, 2, rows, columns, k, by_row, b, b_row, c, c_row, add);
    } else {
        if (a.row == 1) TYPED(adjoint_tower)(resume, 1, rows, columns, k, by_column, b, b_row, c, c_row, add);
        else TYPED(adjoint_tower)(resume, 1, rows, columns, k, by_row, b, b_row, c, c_row, add);
    }
}

static __attribute__((noinline)) void TYPED(adjoint_column)(
    int64_t rows, int64_t columns, int64_t k, struct TYPED(adjoint_left) a, const ELEMENT *b, int64_t b_row,
    ELEMENT *c, int64_t c_row, bool add) {
    TYPED(adjoint_any_column)(false, rows, columns, k, a, b, b_row, c, c_row, add);
}

/* The same, where the chains go on from what is in `c`. */
static __attribute__((noinline)) void TYPED(adjoint_resumed_column)(
    int64_t rows, int64_t columns, int64_t k, struct TYPED(adjoint_left) a, const ELEMENT *b, int64_t b_row,
    ELEMENT *c, int64_t c_row) {
    TYPED(adjoint_any_column)(true, rows, columns, k, a, b, b_row, c, c_row, false);
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
   lies. With `resume`, a constant wherever this is inlined, k is at most ADJOINT_DEPTH, and the chains go on from what is in
   C. */
ADJOINT_INLINE void TYPED(adjoint_matmul_any_part)(
    const bool resume, const struct TYPED(adjoint_product) *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
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
                ELEMENT *c = x->c + top * x->n + j;
                if (resume) TYPED(adjoint_resumed_column)(rows, columns, depth, a, b, b_row, c, x->n);
                else TYPED(adjoint_column)(rows, columns, depth, a, b, b_row, c, x->n, start > 0);
            }
            start += depth;
        } while (start < x->k);
    }
}

static __attribute__((noinline)) void TYPED(adjoint_matmul_part)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
    ELEMENT *strips, ELEMENT *panel, bool direct) {
    TYPED(adjoint_matmul_any_part)(false, x, row, row_end, column, column_end, strips, panel, direct);
}

/* The same with room of its own for strips: kept apart, so that small products need no large stack. */
static __attribute__((noinline)) void TYPED(adjoint_matmul_striped)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
    ELEMENT *panel, bool direct) {
    _Alignas(64) ELEMENT strips[BLOCK_ROWS / ADJOINT_ROWS * NEXT_STRIP(ADJOINT_DEPTH)];
    TYPED(adjoint_matmul_part)(x, row, row_end, column, column_end, strips, panel, direct);
}

/* A tile as `adjoint_tile` computes it, where B is stored transposed and few rows of C make a copy of it too dear: element
   (p, j) of B is at b[j * b_row + p], and is transposed in registers. a.step is 1. */
ADJOINT_INLINE void TYPED(adjoint_tile_transposed)(
    const int rows, const int vectors, int64_t columns, int64_t k, struct TYPED(adjoint_left) a, const ELEMENT *b,
    int64_t b_row, ELEMENT *c, int64_t c_row, bool add) {
    TYPED(adjoint_vector) sum[ADJOINT_ROWS][2];
    const ELEMENT *from[2][LANES];
    for (int j = 0; j < vectors; j++) {
        for (int i = 0; i < rows; i++) sum[i][j] = (TYPED(adjoint_vector)){0};
        for (int i = 0; i < LANES; i++) from[j][i] = b + (j * LANES + i < columns ? j * LANES + i : columns - 1) * b_row;
    }
    int64_t p = 0;
    for (; p + SPAN <= k; p += SPAN) {
        for (int j = 0; j < vectors; j++) {
            TYPED(adjoint_vector) right[SPAN];
            TYPED(adjoint_transpose)(from[j], p, right);
            for (int q = 0; q < SPAN; q++) {
                for (int i = 0; i < rows; i++) {
                    TYPED(adjoint_vector) left = a.at[i * a.row + p + q] - (TYPED(adjoint_vector)){0};
                    sum[i][j] = TYPED(adjoint_multiply_add)(left, right[q], sum[i][j]);
                }
            }
        }
    }
    for (; p < k; p++) {
        for (int j = 0; j < vectors; j++) {
            ELEMENT right[LANES];
            for (int i = 0; i < LANES; i++) right[i] = from[j][i][p];
            for (int i = 0; i < rows; i++) {
                TYPED(adjoint_vector) left = a.at[i * a.row + p] - (TYPED(adjoint_vector)){0};
                sum[i][j] = TYPED(adjoint_multiply_add)(left, TYPED(adjoint_load)(right), sum[i][j]);
            }
        }
    }
    TYPED(adjoint_store_tile)(rows, vectors, columns, sum, c, c_row, add);
}

/* Few rows of C and columns column..column_end, where B is stored transposed and A is not. A single row needs two
   vectors of sums, which are added to by turns; but not where the lines of so many rows of B meet in the cache. */
static __attribute__((noinline)) void TYPED(adjoint_matmul_few)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
    const int64_t rows = row_end - row;
    const bool meet = x->k * (int64_t)sizeof(ELEMENT) % (2 * ADJOINT_MEET) == 0;
    const int64_t width = ADJOINT_VECTOR == 64 || rows > 1 || meet ? LANES : COLUMNS;
    for (int64_t j = column; j < column_end; j += width) {
        const int64_t columns = column_end - j < width ? column_end - j : width;
        int64_t start = 0;
        do {
            const int64_t depth = x->k - start < ADJOINT_DEPTH ? x->k - start : ADJOINT_DEPTH;
            const struct TYPED(adjoint_left) a = {.at = x->a + row * x->k + start, .row = x->k, .step = 1};
            const ELEMENT *b = x->b + j * x->k + start;
            ELEMENT *c = x->c + row * x->n + j;
#define TILE(height, vectors)                                                                                        \
    TYPED(adjoint_tile_transposed)(height, vectors, columns, depth, a, b, x->k, c, x->n, start > 0)
            switch (rows) {
            case 1:
                if (width == LANES) TILE(1, 1);
                else TILE(1, 2);
                break;
            case 2: TILE(2, 1); break;
            case 3: TILE(3, 1); break;
            case ADJOINT_FEW: TILE(ADJOINT_FEW, 1); break;
            }
#undef TILE
            start += depth;
        } while (start < x->k);
    }
}

/* For each of `height` rows i: sum[i * sum_row + j] = the chain over p < `depth` that continues from it with the products of
   a[i * a_row + p * step] and b[p * b_row + j], for j < columns, which are whole vectors. `height` and `depth` are constants
   wherever this is inlined. */
ADJOINT_INLINE void TYPED(adjoint_add_rows)(
    const int height, const int depth, int64_t columns, const ELEMENT *a, int64_t a_row, int64_t step, const ELEMENT *b,
    int64_t b_row, ELEMENT *sum, int64_t sum_row) {
    for (int64_t j = 0; j < columns; j += LANES) {
        TYPED(adjoint_vector) right[4];
        for (int p = 0; p < depth; p++) right[p] = TYPED(adjoint_load)(b + p * b_row + j);
        for (int i = 0; i < height; i++) {
            TYPED(adjoint_vector) total = TYPED(adjoint_load)(sum + i * sum_row + j);
            for (int p = 0; p < depth; p++) {
                TYPED(adjoint_vector) left = a[i * a_row + p * step] - (TYPED(adjoint_vector)){0};
                total = TYPED(adjoint_multiply_add)(left, right[p], total);
            }
            TYPED(adjoint_store)(sum + i * sum_row + j, total);
        }
    }
}

/* `height` rows of C from `row` on, and columns column..column_end, which are whole vectors, where B is not stored
   transposed. A tile is so narrow that B would be read in small pieces far from each other, for few rows. Here the sums of
   many columns stand in memory, and rows of B are read side by side, from end to end. */
ADJOINT_INLINE void TYPED(adjoint_stream)(
    const int height, const struct TYPED(adjoint_product) *x, int64_t row, int64_t column, int64_t column_end) {
    const int64_t a_row = x->transpose_a ? 1 : x->k, step = x->transpose_a ? x->m : 1;
    const int64_t most = ADJOINT_SUMS / (height > 2 ? 2 : 1) / sizeof(ELEMENT);
    _Alignas(64) ELEMENT sum[2 * ADJOINT_SUMS / sizeof(ELEMENT)];
    for (int64_t j = column; j < column_end; j += most) {
        const int64_t columns = column_end - j < most ? column_end - j : most;
        const ELEMENT *a = x->a + row * a_row, *b = x->b + j;
        int64_t start = 0;
        do {
            int64_t depth = x->k - start < ADJOINT_DEPTH ? x->k - start : ADJOINT_DEPTH;
            for (int i = 0; i < height; i++) memset(sum + i * most, 0, columns * sizeof *sum);
            start += depth;
            for (; depth >= 4; depth -= 4, a += 4 * step, b += 4 * x->n) {
                TYPED(adjoint_add_rows)(height, 4, columns, a, a_row, step, b, x->n, sum, most);
            }
            for (; depth > 0; depth--, a += step, b += x->n) {
                TYPED(adjoint_add_rows)(height, 1, columns, a, a_row, step, b, x->n, sum, most);
            }
            for (int i = 0; i < height; i++) {
                ELEMENT *c = x->c + (row + i) * x->n + j;
                if (start > ADJOINT_DEPTH) {
                    for (int64_t q = 0; q < columns; q++) c[q] += sum[i * most + q];
                } else {
                    memcpy(c, sum + i * most, columns * sizeof *sum);
                }
            }
        } while (start < x->k);
    }
}

static __attribute__((noinline)) void TYPED(adjoint_matmul_streamed)(
    const struct TYPED(adjoint_product) *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
    switch (row_end - row) {
    case 1: TYPED(adjoint_stream)(1, x, row, column, column_end); break;
    case 2: TYPED(adjoint_stream)(2, x, row, column, column_end); break;
    case 3: TYPED(adjoint_stream)(3, x, row, column, column_end); break;
    case ADJOINT_FEW: TYPED(adjoint_stream)(ADJOINT_FEW, x, row, column, column_end); break;
    }
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
    if (rows <= ADJOINT_FEW && !x->transpose_b && columns > COLUMNS) {
        const int64_t whole = column + columns / LANES * LANES;
        TYPED(adjoint_matmul_streamed)(x, row, row_end, column, whole);
        TYPED(adjoint_matmul_part)(x, row, row_end, whole, column_end, NULL, panel, direct);
    } else if (x->transpose_b && rows <= ADJOINT_FEW && (!x->transpose_a || x->m == 1)) {
        TYPED(adjoint_matmul_few)(x, row, row_end, column, column_end);
    } else if (x->transpose_a ? reads >= (meet_a ? 4 : 8) : meet_a && reads >= 8) {
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

/* A part of C = A^T @ B, of A and B that have so many rows that they are computed some at a time: the products of `k` rows,
   which with `resume` are added in the chains that are in C. A chain ends after ADJOINT_DEPTH rows: the caller begins
   another one, in other memory, and adds it to C. */
static void TYPED(adjoint_matmul_rows)(
    const ELEMENT *a, const ELEMENT *b, ELEMENT *c, int64_t m, int64_t n, int64_t k, int64_t resume) {
    const struct TYPED(adjoint_product) x = {a, b, NULL, c, m, n, k, true, false};
    if (!resume) {
        TYPED(adjoint_matmul_range)(&x, 0, m, 0, n);
        return;
    }
    const bool meet = n * (int64_t)sizeof(ELEMENT) % ADJOINT_MEET == 0;
    _Alignas(64) ELEMENT strips[BLOCK_ROWS / ADJOINT_ROWS * NEXT_STRIP(ADJOINT_DEPTH)], panel[COLUMNS * ADJOINT_DEPTH];
    TYPED(adjoint_matmul_any_part)(true, &x, 0, m, 0, n, strips, panel, !meet);
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
#undef SPAN
#undef BLOCK_ROWS
#undef NEXT_STRIP
