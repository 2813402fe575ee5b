/* softmax(x: f32[rows, n]) -> out: f32[...] */
static int softmax_f32_units(
    const float *restrict x, float *restrict out, const int64_t *size, int64_t begin, int64_t end) {
    const int64_t n = size[2];
    const int64_t ahead = size[3];

    for (int64_t row = begin; row < end; row++) {
        const int64_t first = row * n;
        adjoint_fetch(&x[first + n], ahead);
        float largest = -INFINITY;
        if (n >= 16) {
            float largest_lane[64];
            for (int64_t l = 0; l < 64; l++) {
                largest_lane[l] = -INFINITY;
            }
            const int64_t whole = n / 64 * 64;
            if (whole > 0) {
                for (int64_t j = 0; j < whole; j += 64) {
                    for (int64_t l = 0; l < 64; l++) {
                        largest_lane[l] = x[first + j + l] > largest_lane[l] ? x[first + j + l] : largest_lane[l];
                    }
                }
                for (int64_t l = 0; l < 32; l++) {
                    largest_lane[l] = largest_lane[l + 32] > largest_lane[l] ? largest_lane[l + 32] : largest_lane[l];
                }
                for (int64_t l = 0; l < 16; l++) {
                    largest_lane[l] = largest_lane[l + 16] > largest_lane[l] ? largest_lane[l + 16] : largest_lane[l];
                }
            }
            for (int64_t j = whole; j < n / 16 * 16; j += 16) {
                for (int64_t l = 0; l < 16; l++) {
                    largest_lane[l] = x[first + j + l] > largest_lane[l] ? x[first + j + l] : largest_lane[l];
                }
            }
            for (int64_t l = 0; l < 8; l++) {
                largest_lane[l] = largest_lane[l + 8] > largest_lane[l] ? largest_lane[l + 8] : largest_lane[l];
            }
            for (int64_t l = 0; l < 4; l++) {
                largest_lane[l] = largest_lane[l + 4] > largest_lane[l] ? largest_lane[l + 4] : largest_lane[l];
            }
            for (int64_t l = 0; l < 2; l++) {
                largest_lane[l] = largest_lane[l + 2] > largest_lane[l] ? largest_lane[l + 2] : largest_lane[l];
            }
            largest = largest_lane[1] > largest_lane[0] ? largest_lane[1] : largest_lane[0];
        }
        for (int64_t j = n / 16 * 16; j < n; j++) {
            largest = x[first + j] > largest ? x[first + j] : largest;
        }
        for (int64_t j = 0; j < n; j++) {
            out[first + j] = adjoint_exp_f32(x[first + j] - largest);
        }
        float sum = 0.0f;
        if (n >= 16) {
            float sum_lane[64];
            for (int64_t l = 0; l < 64; l++) {
                sum_lane[l] = 0.0f;
            }
            const int64_t whole = n / 64 * 64;
            if (whole > 0) {
                for (int64_t j = 0; j < whole; j += 64) {
                    for (int64_t l = 0; l < 64; l++) {
                        sum_lane[l] += out[first + j + l];
                    }
                }
                for (int64_t l = 0; l < 32; l++) {
                    sum_lane[l] += sum_lane[l + 32];
                }
                for (int64_t l = 0; l < 16; l++) {
                    sum_lane[l] += sum_lane[l + 16];
                }
            }
            for (int64_t j = whole; j < n / 16 * 16; j += 16) {
                for (int64_t l = 0; l < 16; l++) {
                    sum_lane[l] += out[first + j + l];
                }
            }
            for (int64_t l = 0; l < 8; l++) {
                sum_lane[l] += sum_lane[l + 8];
            }
            for (int64_t l = 0; l < 4; l++) {
                sum_lane[l] += sum_lane[l + 4];
            }
            for (int64_t l = 0; l < 2; l++) {
                sum_lane[l] += sum_lane[l + 2];
            }
            sum = sum_lane[0] + sum_lane[1];
        }
        for (int64_t j = n / 16 * 16; j < n; j++) {
            sum += out[first + j];
        }
        const float scale = 1.0f / sum;
        for (int64_t j = 0; j < n; j++) {
            out[first + j] *= scale;
        }
    }
    return 0;
}

int softmax_f32(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    return softmax_f32_units(operand[0], operand[1], size, begin, end);
}
