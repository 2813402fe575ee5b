/* sum(x: f32[..., n]) -> out: f32[...] */
static int sum_f32_units(
    const float *restrict x, float *restrict out, const int64_t *size, int64_t begin, int64_t end) {
    const int64_t n = size[3];

    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t start = unit * n;
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
        out[unit] = adjoint_sum_of_lanes_f32(lane, 8);
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
    const int64_t blocks = size[6];
    const int64_t elements = size[7];

    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t left = unit % chunks * 2048;
        const int64_t block = unit / chunks;
        const int64_t row = block % blocks * 64;
        const int64_t first = block / blocks * n + row;
        const int64_t last = first + (n - row < 64 ? n - row : 64);
        const int64_t total = block * m + left;
        float lane[8];
        if ((last - 1) * m + 8 <= elements) {
            for (int64_t j = 0; j < 8; j++) {
                lane[j] = x[first * m + j];
            }
            for (int64_t i = first + 1; i < last; i++) {
                for (int64_t j = 0; j < 8; j++) {
                    lane[j] += x[i * m + j];
                }
            }
        } else {
            for (int64_t j = 0; j < m; j++) {
                lane[j] = x[first * m + j];
            }
            for (int64_t i = first + 1; i < last; i++) {
                for (int64_t j = 0; j < m; j++) {
                    lane[j] += x[i * m + j];
                }
            }
        }
        for (int64_t j = 0; j < m; j++) {
            out[total + j] = lane[j];
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
    const int64_t units = size[4];
    const int64_t half = size[5];

    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t other = unit + half;
        const int64_t start = unit * n;
        const int64_t start_1 = other * n;
        const int64_t there = other < units ? n : 0;
        float lane[32];
        float lane_1[32];
        for (int64_t l = 0; l < 32; l++) {
            lane[l] = -0.0f;
            lane_1[l] = -0.0f;
        }
        const int64_t full = n / 32 * 32;
        const int64_t full_1 = there / 32 * 32;
        const int64_t both = full < full_1 ? full : full_1;
        for (int64_t i = 0; i < both; i += 32) {
            for (int64_t l = 0; l < 32; l++) {
                lane[l] += x[start + i + l];
            }
            for (int64_t l = 0; l < 32; l++) {
                lane_1[l] += x[start_1 + i + l];
            }
        }
        for (int64_t i = both; i < full; i += 32) {
            for (int64_t l = 0; l < 32; l++) {
                lane[l] += x[start + i + l];
            }
        }
        for (int64_t i = full; i < n; i++) {
            lane[i - full] += x[start + i];
        }
        for (int64_t i = both; i < full_1; i += 32) {
            for (int64_t l = 0; l < 32; l++) {
                lane_1[l] += x[start_1 + i + l];
            }
        }
        for (int64_t i = full_1; i < there; i++) {
            lane_1[i - full_1] += x[start_1 + i];
        }
        out[unit] = adjoint_sum_of_lanes_f32(lane, 32);
        if (other < units) {
            out[other] = adjoint_sum_of_lanes_f32(lane_1, 32);
        }
    }
    return 0;
}

int sum_f32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    return sum_f32_units(operand[0], operand[1], size, begin, end);
}
