/* add(x: f32[n], y: f32[n]) -> out: f32[n] */
static int add_f32_units(
    const float *restrict x, const float *restrict y, float *restrict out, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        out[i] = x[i] + y[i];
    }
    return 0;
}

int add_f32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)size;
    return add_f32_units(operand[0], operand[1], operand[2], begin, end);
}

/* add(x: f32[n], y: f32[1]) -> out: f32[n] */
static int add_f32_units(
    const float *restrict x, const float *restrict y, float *restrict out, int64_t begin, int64_t end) {
    const float y_value = y[0];
    for (int64_t i = begin; i < end; i++) {
        out[i] = x[i] + y_value;
    }
    return 0;
}

int add_f32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)size;
    return add_f32_units(operand[0], operand[1], operand[2], begin, end);
}

/* add(x: f32[..., m], y: f32[..., m]) -> out: f32[..., m] */
static int add_f32_units(
    const float *restrict x, const float *restrict y, float *restrict out, const int64_t *size, int64_t begin,
    int64_t end) {
    const int64_t m = size[2];
    const int64_t x_row = size[3];
    const int64_t y_row = size[4];

    for (int64_t row = begin; row < end; row++) {
        const int64_t x_at = row * x_row;
        const int64_t y_at = row * y_row;
        for (int64_t j = 0; j < m; j++) {
            out[row * m + j] = x[x_at + j] + y[y_at + j];
        }
    }
    return 0;
}

int add_f32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    return add_f32_units(operand[0], operand[1], operand[2], size, begin, end);
}
