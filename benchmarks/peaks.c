/* What a processor can do at most: float32 multiply-adds in registers, and bytes of memory read by a sum.

   peaks THREADS REPETITIONS    one line: GFLOP/s, GB/s of 1 MiB for each thread, GB/s of 256 MiB for each thread

   The multiply-adds are written as instructions on registers: compilers keep some of so many accumulators in memory, which halves the rate. Twelve
   hide the latency of two units that need five cycles, and fit with both factors in the 16 registers of AVX2. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifdef __AVX512F__
#define BYTES 64
#define REGISTER "v"
#else
#define BYTES 32
#define REGISTER "x"
#endif
#define LANES (BYTES / 4)
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define COUNT 12
typedef float vec __attribute__((vector_size(BYTES)));

static double multiply_adds(int threads, int repetitions) {
    const long rounds = 100000;
    double best = 0;
    for (int r = 0; r < repetitions; r++) {
        double begin = 1e300, end = 0;
#pragma omp parallel num_threads(threads) reduction(min : begin) reduction(max : end)
        {
            vec x = (vec){0} + 0.999999f, y = (vec){0} + 1e-6f;
#define DECLARE(k) vec sum##k = y * (k + 1.0f);
            EACH(DECLARE)
#pragma omp barrier
            begin = omp_get_wtime();
#define ADD(k) __asm__ volatile("vfmadd213ps %2, %1, %0" : "+" REGISTER(sum##k) : REGISTER(x), REGISTER(y));
            for (long i = 0; i < rounds; i++) { EACH(ADD) }
            end = omp_get_wtime();
        }
        double rate = (double)rounds * COUNT * LANES * 2 * threads / (end - begin) / 1e9;
        if (rate > best) best = rate;
    }
    return best;
}

static double reads(int threads, long bytes, int repetitions) {
    long count = bytes / 4, passes = 1 + (256L << 20) / bytes;
    float *data = aligned_alloc(2 << 20, (bytes + (2 << 20) - 1) >> 21 << 21);
    if (!data) return 0;
    madvise(data, bytes, MADV_HUGEPAGE);
#pragma omp parallel for num_threads(threads)
    for (long i = 0; i < count; i++) data[i] = 1;
    double best = 0;
    for (int r = 0; r < repetitions; r++) {
        double begin = 1e300, end = 0;
#pragma omp parallel num_threads(threads) reduction(min : begin) reduction(max : end)
        {
            long part = count / threads;
            const float *own = data + part * omp_get_thread_num();
            vec sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0}, sum4 = {0}, sum5 = {0}, sum6 = {0}, sum7 = {0};
#pragma omp barrier
            begin = omp_get_wtime();
            for (long pass = 0; pass < passes; pass++)
                for (long i = 0; i + 8 * LANES <= part; i += 8 * LANES) {
#define READ(k) __asm__ volatile("vaddps %1, %0, %0" : "+" REGISTER(sum##k) : "m"(*(const vec *)(own + i + k * LANES)));
                    READ(0) READ(1) READ(2) READ(3) READ(4) READ(5) READ(6) READ(7)
                }
            end = omp_get_wtime();
        }
        double rate = (double)passes * bytes / (end - begin) / 1e9;
        if (rate > best) best = rate;
    }
    free(data);
    return best;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int threads = atoi(argv[1]), repetitions = atoi(argv[2]);
    printf("%.1f %.1f %.1f\n", multiply_adds(threads, repetitions), reads(threads, (long)threads << 20, repetitions), reads(threads, (long)threads << 28, repetitions / 4 + 1));
    return 0;
}
