/* Statistics of many numbers, of those that are finite: in blocks, of which each has partial results, so that neither the number of
   threads nor where the work was cut changes a bit.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. */

#ifndef ADJOINT_STATISTICS_H
#define ADJOINT_STATISTICS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t adjoint_word_f32;
typedef uint64_t adjoint_word_f64;
typedef double adjoint_eight __attribute__((vector_size(64)));

enum {
    ADJOINT_BLOCK_OF_STATISTICS = 4096, /* numbers; as in the op */
};

/* The partial results of a block: of the finite numbers their count, their mean, the sum of the squares of the distances from it and the
   largest magnitude; and how many numbers are 0. */
enum { ADJOINT_COUNT, ADJOINT_MEAN, ADJOINT_SQUARES, ADJOINT_LARGEST, ADJOINT_ZEROS, ADJOINT_PARTS };

#endif

typedef ELEMENT TYPED(adjoint_line) __attribute__((vector_size(8 * sizeof(ELEMENT))));

/* Distances are summed from the first finite number of the block: one pass is enough, since the squares of the distances from the mean are
   at least the square of that number's. Magnitudes are compared by their bits. */
static void TYPED(adjoint_statistics)(const ELEMENT *x, double *parts, int64_t n, int64_t begin, int64_t end) {
    const TYPED(adjoint_word) sign = (TYPED(adjoint_word))1 << (8 * sizeof(TYPED(adjoint_word)) - 1);
    const ELEMENT infinity = INFINITY;
    TYPED(adjoint_word) infinite;
    memcpy(&infinite, &infinity, sizeof infinite);
    for (int64_t block = begin; block < end; block++) {
        const ELEMENT *own = x + block * ADJOINT_BLOCK_OF_STATISTICS;
        const int64_t left = n - block * ADJOINT_BLOCK_OF_STATISTICS;
        int64_t count = left < ADJOINT_BLOCK_OF_STATISTICS ? left : ADJOINT_BLOCK_OF_STATISTICS;
        TYPED(adjoint_word) largest = 0, zeros = 0;
        for (int64_t i = 0; i < count; i++) {
            TYPED(adjoint_word) magnitude;
            memcpy(&magnitude, &own[i], sizeof magnitude);
            magnitude &= (TYPED(adjoint_word))~sign;
            largest = magnitude > largest ? magnitude : largest;
            zeros += magnitude == 0;
        }
        ELEMENT finite[ADJOINT_BLOCK_OF_STATISTICS]; /* if not all are */
        if (largest >= infinite) {
            int64_t kept = 0;
            largest = 0;
            for (int64_t i = 0; i < count; i++) {
                TYPED(adjoint_word) magnitude;
                memcpy(&magnitude, &own[i], sizeof magnitude);
                magnitude &= (TYPED(adjoint_word))~sign;
                if (magnitude >= infinite) continue;
                finite[kept++] = own[i];
                largest = magnitude > largest ? magnitude : largest;
            }
            own = finite;
            count = kept;
        }
        const double origin = count > 0 ? own[0] : 0;
        adjoint_eight sum = {0}, squares = {0}, more_sum = {0}, more_squares = {0};
        int64_t i = 0;
        for (; i + 16 <= count; i += 16) {
            TYPED(adjoint_line) line, next;
            memcpy(&line, own + i, sizeof line);
            memcpy(&next, own + i + 8, sizeof next);
            const adjoint_eight distance = __builtin_convertvector(line, adjoint_eight) - origin;
            const adjoint_eight further = __builtin_convertvector(next, adjoint_eight) - origin;
            sum += distance;
            more_sum += further;
            squares += distance * distance;
            more_squares += further * further;
        }
        sum += more_sum;
        squares += more_squares;
        double all = 0, all_squares = 0;
        for (int c = 0; c < 8; c++) all += sum[c], all_squares += squares[c];
        for (; i < count; i++) all += own[i] - origin, all_squares += (own[i] - origin) * (own[i] - origin);
        const double mean = count > 0 ? all / (double)count : 0;
        ELEMENT magnitude;
        memcpy(&magnitude, &largest, sizeof magnitude);
        double *part = parts + block * ADJOINT_PARTS;
        part[ADJOINT_COUNT] = (double)count;
        part[ADJOINT_MEAN] = origin + mean;
        part[ADJOINT_SQUARES] = fmax(all_squares - all * mean, 0);
        part[ADJOINT_LARGEST] = magnitude;
        part[ADJOINT_ZEROS] = (double)zeros;
    }
}

/* Combines the blocks as Chan, Golub and LeVeque do. out: norm, mean, standard deviation and largest magnitude of the finite numbers, NaN
   if there are none; the shares of zeros and of numbers that are not finite, NaN of nothing. */
static void TYPED(adjoint_statistics_combined)(const double *parts, double *out, int64_t n) {
    double count = 0, mean = 0, squares = 0, largest = 0, zeros = 0;
    for (int64_t i = 0; i < n; i += ADJOINT_BLOCK_OF_STATISTICS, parts += ADJOINT_PARTS) {
        double own = parts[ADJOINT_COUNT], together = count + own;
        zeros += parts[ADJOINT_ZEROS];
        if (own == 0) continue;
        double distance = parts[ADJOINT_MEAN] - mean;
        mean += distance * (own / together);
        squares += parts[ADJOINT_SQUARES] + distance * distance * (count * (own / together));
        largest = fmax(largest, parts[ADJOINT_LARGEST]);
        count = together;
    }
    out[0] = count > 0 ? sqrt(squares + count * (mean * mean)) : NAN;
    out[1] = count > 0 ? mean : NAN;
    out[2] = count > 0 ? sqrt(squares / count) : NAN;
    out[3] = count > 0 ? largest : NAN;
    out[4] = n > 0 ? zeros / (double)n : NAN;
    out[5] = n > 0 ? ((double)n - count) / (double)n : NAN;
}
