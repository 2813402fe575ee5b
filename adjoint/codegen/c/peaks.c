/* What a processor can do at most, as kernels: multiply-adds of float32 in registers, and reading memory.

   Both are written as instructions on registers: compilers keep some of so many accumulators in memory, which halves the
   rate. Twelve hide the latency of two units that need five cycles, and fit with both factors in the 16 registers
   of AVX2. */
#if defined(__AVX512F__)
#define BYTES 64
#define REGISTER "v"
#define ADD(sum, x) __asm__ volatile("vaddps %1, %0, %0" : "+" REGISTER(sum) : "m"(x))
#define MULTIPLY_ADD(sum, x, y) __asm__ volatile("vfmadd213ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y))
#elif defined(__AVX2__) && defined(__FMA__)
#define BYTES 32
#define REGISTER "x"
#define ADD(sum, x) __asm__ volatile("vaddps %1, %0, %0" : "+" REGISTER(sum) : "m"(x))
#define MULTIPLY_ADD(sum, x, y) __asm__ volatile("vfmadd213ps %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y))
#elif defined(__aarch64__)
#define BYTES 16
#define REGISTER "w"
#define MULTIPLY_ADD(sum, x, y) __asm__ volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(sum) : "w"(x), "w"(y))
#else
#define BYTES 16
#define REGISTER "m"
#define MULTIPLY_ADD(sum, x, y) sum = sum * x + y
#endif
#ifndef ADD
#define ADD(sum, x) sum += x
#endif
#define LANES (BYTES / 4)
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
typedef float vec __attribute__((vector_size(BYTES)));

/* A unit does size[2] rounds of 12 multiply-adds of vectors. */
int adjoint_peak_multiply_adds(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)operand;
    vec x = (vec){0} + 0.999999f, y = (vec){0} + 1e-6f;
#define DECLARE(k) vec sum##k = y * (k + 1.0f);
    EACH(DECLARE)
    for (int64_t round = 0; round < size[2] * (end - begin); round++) {
#define ROUND(k) MULTIPLY_ADD(sum##k, x, y);
        EACH(ROUND)
    }
#define KEEP(k) __asm__ volatile("" : : REGISTER(sum##k)); /* in memory, it would be there during the rounds as well */
    EACH(KEEP)
    return 0;
}

/* The number of floating-point operations of a round. */
int adjoint_peak_operations(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)size, (void)begin, (void)end;
    *(int64_t *)operand[0] = 12 * LANES * 2;
    return 0;
}

/* A unit is size[2] float32, a multiple of 8 * LANES. A thread reads all of its units, size[3] times. */
int adjoint_peak_reads(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    const vec *data = (const vec *)((const float *)operand[0] + begin * size[2]);
    const int64_t count = (end - begin) * size[2] / LANES;
    vec sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0}, sum4 = {0}, sum5 = {0}, sum6 = {0}, sum7 = {0};
    for (int64_t pass = 0; pass < size[3]; pass++) {
        for (int64_t i = 0; i < count; i += 8) {
            ADD(sum0, data[i]); ADD(sum1, data[i + 1]); ADD(sum2, data[i + 2]); ADD(sum3, data[i + 3]);
            ADD(sum4, data[i + 4]); ADD(sum5, data[i + 5]); ADD(sum6, data[i + 6]); ADD(sum7, data[i + 7]);
        }
        __asm__ volatile("" : : : "memory"); /* the next pass reads again */
    }
    vec sum = ((sum0 + sum1) + (sum2 + sum3)) + ((sum4 + sum5) + (sum6 + sum7));
    __asm__ volatile("" : : "m"(sum));
    return 0;
}
