/* Blocks of matrices that are transposed in registers.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. Elements are
   only moved, so that any type of the same size will do. */

#define LANES ((int)(ADJOINT_VECTOR / sizeof(ELEMENT)))
#define SPAN ADJOINT_SPAN(ELEMENT)

/* target[i * target_row + j] = source[j * source_row + i] for i < rows, j < columns.

   The last vectors of a row, and the last rows, overlap those before them where the sizes are no multiples. */
static void TYPED(adjoint_transpose_block)(
    const void *source, int64_t source_row, void *target, int64_t target_row, int64_t rows, int64_t columns) {
    const ELEMENT *x = source;
    ELEMENT *out = target;
    if (rows < SPAN || columns < LANES) {
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < columns; j++) {
                memcpy(out + i * target_row + j, x + j * source_row + i, sizeof(ELEMENT));
            }
        }
        return;
    }
    for (int64_t to = 0; to < rows; to += SPAN) {
        const int64_t i = to + SPAN <= rows ? to : rows - SPAN;
        for (int64_t from = 0; from < columns; from += LANES) {
            const int64_t j = from + LANES <= columns ? from : columns - LANES;
            const ELEMENT *row[LANES];
            for (int q = 0; q < LANES; q++) row[q] = x + (j + q) * source_row;
            TYPED(adjoint_vector) column[SPAN];
            TYPED(adjoint_transpose)(row, i, column);
            for (int q = 0; q < SPAN; q++) TYPED(adjoint_store)(out + (i + q) * target_row + j, column[q]);
        }
    }
}

#undef LANES
#undef SPAN
