/* sum(x: f32[..., n]) -> out: f32[...] */
static int sum_f32_units(
    const float *restrict x, float *restrict out, const int64_t *size, int64_t begin, int64_t end) {
    const int64_t n = size[3];

    for (int64_t row = begin; row < end; row++) {
        const int64_t start = row * n;
        float lane[8];
        for (int64_t l = 0; l < 8; l++) {
            lane[l] = -0.0f;
        }
        const int64_t full = n / 8 * 8;
        for (int64_t i = 0; i < full; i += 8) {
            for (int64_t l = 0; l < 8; l++) {
                lane[l] += x[start + i + l];
            }
        }
        for (int64_t i = full; i < n; i++) {
            lane[i - full] += x[start + i];
        }
        for (int64_t l = 0; l < 4; l++) {
            lane[l] += lane[l + 4];
        }
        for (int64_t l = 0; l < 2; l++) {
            lane[l] += lane[l + 2];
        }
        for (int64_t l = 0; l < 1; l++) {
            lane[l] += lane[l + 1];
        }
        out[row] = lane[0];
    }
    return 0;
}

int sum_f32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    return sum_f32_units(operand[0], operand[1], size, begin, end);
}

/* sum(x: f32[..., n, m]) -> out: f32[..., m] */
static int sum_f32_units(
    const float *restrict x, float *restrict out, const int64_t *size, int64_t begin, int64_t end) {
    const int64_t n = size[3];
    const int64_t m = size[4];
    const int64_t chunks = size[5];

    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t left = unit % chunks * 256;
        const int64_t width = m - left < 256 ? m - left : 256;
        const int64_t block = unit / chunks;
        const int64_t first = block * n;
        float total[256];
        for (int64_t j = 0; j < width; j++) {
            total[j] = x[first * m + left + j];
        }
        for (int64_t i = first + 1; i < first + n; i++) {
            for (int64_t j = 0; j < width; j++) {
                total[j] += x[i * m + left + j];
            }
        }
        for (int64_t j = 0; j < width; j++) {
            out[block * m + left + j] = total[j];
        }
    }
    return 0;
}

int sum_f32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    return sum_f32_units(operand[0], operand[1], size, begin, end);
}

/* sum(x: f32[..., n]) -> out: f32[...] */
static int sum_f32_units(
    const float *restrict x, float *restrict out, const int64_t *size, int64_t begin, int64_t end) {
    const int64_t n = size[3];

    for (int64_t row = begin; row < end; row++) {
        const int64_t start = row * n;
        float lane[32];
        for (int64_t l = 0; l < 32; l++) {
            lane[l] = -0.0f;
        }
        const int64_t full = n / 32 * 32;
        for (int64_t i = 0; i < full; i += 32) {
            for (int64_t l = 0; l < 32; l++) {
                lane[l] += x[start + i + l];
            }
        }
        for (int64_t i = full; i < n; i++) {
            lane[i - full] += x[start + i];
        }
        for (int64_t l = 0; l < 16; l++) {
            lane[l] += lane[l + 16];
        }
        for (int64_t l = 0; l < 8; l++) {
            lane[l] += lane[l + 8];
        }
        for (int64_t l = 0; l < 4; l++) {
            lane[l] += lane[l + 4];
        }
        for (int64_t l = 0; l < 2; l++) {
            lane[l] += lane[l + 2];
        }
        for (int64_t l = 0; l < 1; l++) {
            lane[l] += lane[l + 1];
        }
        out[row] = lane[0];
    }
    return 0;
}

int sum_f32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    return sum_f32_units(operand[0], operand[1], size, begin, end);
}
