/* gather(x: f32[...], indices: i32[...]) -> out: f32[...] */
static int gather_f32_i32_units(
    const float *restrict x, const int32_t *restrict indices, float *restrict out, const int64_t *size,
    int64_t begin, int64_t end) {
    const int64_t n = size[2];
    const int64_t m = size[3];

    for (int64_t row = begin; row < end; row++) {
        const int64_t index = (int64_t)indices[row];
        const int64_t place = index < 0 ? index + n : index;
        if (place < 0 || place >= n) {
            return 1;
        }
        for (int64_t j = 0; j < m; j++) {
            out[row * m + j] = x[place * m + j];
        }
    }
    return 0;
}

int gather_f32_i32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    return gather_f32_i32_units(operand[0], operand[1], operand[2], size, begin, end);
}
