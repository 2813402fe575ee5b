/* mul(x: f16[n], y: f16[n]) -> out: f16[n] */
static int mul_f16_units(
    const uint16_t *restrict x, const uint16_t *restrict y, uint16_t *restrict out, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        const float x_value = adjoint_f32_of_f16(x[i]);
        const float y_value = adjoint_f32_of_f16(y[i]);
        out[i] = adjoint_f16_of_f32(x_value * y_value);
    }
    return 0;
}

int mul_f16(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)size;
    return mul_f16_units(operand[0], operand[1], operand[2], begin, end);
}

/* sqrt(x: bf16[n]) -> out: bf16[n] */
static int sqrt_bf16_units(const uint16_t *restrict x, uint16_t *restrict out, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        out[i] = adjoint_bf16_of_f32(sqrtf(adjoint_f32_of_bf16(x[i])));
    }
    return 0;
}

int sqrt_bf16(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)size;
    return sqrt_bf16_units(operand[0], operand[1], begin, end);
}
