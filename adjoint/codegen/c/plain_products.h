/* Convolutions in plain loops: C99 that is quick to compile, needs little stack, and runs slowly.

   The numbers are those of `convolution.h`, to the bit, where they are defined: which products make an element, in which
   order they are added, and where a sum begins again. What differs is how the work is done, here element by element. Only
   the number of lanes depends on the processor: ADJOINT_LANE_BYTES is the ADJOINT_VECTOR of `registers.h`.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. */

#ifndef ADJOINT_PLAIN_PRODUCTS_H
#define ADJOINT_PLAIN_PRODUCTS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__)
#define ADJOINT_LANE_BYTES 64
#elif defined(__AVX__)
#define ADJOINT_LANE_BYTES 32
#else
#define ADJOINT_LANE_BYTES 16
#endif

/* x * y + z, rounded once where the processor can. */
#if defined(__FMA__) || defined(__aarch64__)
#define ADJOINT_MULTIPLY_ADD_f32(x, y, z) fmaf(x, y, z)
#define ADJOINT_MULTIPLY_ADD_f64(x, y, z) fma(x, y, z)
#else
#define ADJOINT_MULTIPLY_ADD_f32(x, y, z) ((x) * (y) + (z))
#define ADJOINT_MULTIPLY_ADD_f64(x, y, z) ((x) * (y) + (z))
#endif

enum {
    ADJOINT_COLUMNS = 64, /* elements of a row that are summed side by side: changes no number */
    ADJOINT_TOGETHER = 8, /* taps likewise */
};

/* A convolution of images [n, groups * channels, size] with filters [groups * filters, channels, kernel], whose results
   are [n, groups * filters, places]. */
struct adjoint_plain_convolution {
    int64_t groups, channels, filters;
    int64_t size[2], places[2], kernel[2], stride[2], padding[2], dilation[2];
};

static inline struct adjoint_plain_convolution adjoint_plain_convolution_of(
    int64_t groups, int64_t channels, int64_t filters, int64_t h, int64_t w, int64_t rows, int64_t columns,
    int64_t kernel_h, int64_t kernel_w, int64_t stride_h, int64_t stride_w, int64_t top, int64_t left,
    int64_t dilation_h, int64_t dilation_w) {
    return (struct adjoint_plain_convolution){
        groups, channels, filters, {h, w}, {rows, columns}, {kernel_h, kernel_w}, {stride_h, stride_w}, {top, left},
        {dilation_h, dilation_w}};
}

/* How the sum over the places is cut in the gradient by the filters: see `convolution.h`. */
struct adjoint_plain_cuts {
    int64_t images, image_block, row_block, column_block, blocks;
    bool shared;
};

static inline int64_t adjoint_plain_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The images and places of a piece: from..to of each. */
struct adjoint_plain_piece {
    int64_t image, image_end, row, row_end, column, column_end;
};

static inline struct adjoint_plain_piece adjoint_plain_piece_of(
    const struct adjoint_plain_convolution *c, const struct adjoint_plain_cuts *cuts, int64_t number) {
    const int64_t row_blocks = (c->places[0] + cuts->row_block - 1) / cuts->row_block;
    const int64_t column_blocks = (c->places[1] + cuts->column_block - 1) / cuts->column_block;
    const int64_t column = number % column_blocks * cuts->column_block;
    const int64_t row = number / column_blocks % row_blocks * cuts->row_block;
    const int64_t image = number / column_blocks / row_blocks * cuts->image_block;
    return (struct adjoint_plain_piece){
        image, adjoint_plain_least(image + cuts->image_block, cuts->images),
        row, adjoint_plain_least(row + cuts->row_block, c->places[0]),
        column, adjoint_plain_least(column + cuts->column_block, c->places[1])};
}

#endif

#define MULTIPLY_ADD TYPED(ADJOINT_MULTIPLY_ADD)
#define LANES ((int)(ADJOINT_LANE_BYTES / sizeof(ELEMENT)))

/* Adds factor * line[first + j * step] to sum[j * apart] for j < count. What lies beyond the ends of the line is 0, and
   is multiplied too. */
static inline void TYPED(adjoint_plain_add)(
    ELEMENT *sum, int64_t apart, int64_t count, ELEMENT factor, const ELEMENT *line, int64_t size, int64_t first,
    int64_t step) {
    int64_t low = 0, high = count; /* inside of the line */
    if (first < 0 || first + (count - 1) * step >= size) {
        low = first < 0 ? adjoint_plain_least((step - 1 - first) / step, count) : 0;
        high = first < size ? adjoint_plain_least((size - 1 - first) / step + 1, count) : 0;
    }
    int64_t j = 0;
    for (; j < low; j++) sum[j * apart] = MULTIPLY_ADD(factor, 0, sum[j * apart]);
    for (; j < high; j++) sum[j * apart] = MULTIPLY_ADD(factor, line[first + j * step], sum[j * apart]);
    for (; j < count; j++) sum[j * apart] = MULTIPLY_ADD(factor, 0, sum[j * apart]);
}

/* Planes begin..end of the result of a convolution: images times channels. */
static void TYPED(adjoint_plain_convolve)(
    const ELEMENT *source, const ELEMENT *filter, ELEMENT *result, struct adjoint_plain_convolution c, int64_t begin,
    int64_t end) {
    const int64_t height = c.size[0], width = c.size[1], k = c.channels * c.kernel[0] * c.kernel[1];
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t image = plane / (c.groups * c.filters), channel = plane % (c.groups * c.filters);
        const ELEMENT *seen = source + (image * c.groups + channel / c.filters) * c.channels * height * width;
        for (int64_t row = 0; row < c.places[0]; row++) {
            for (int64_t column = 0; column < c.places[1]; column += ADJOINT_COLUMNS) {
                const int64_t count = adjoint_plain_least(c.places[1] - column, ADJOINT_COLUMNS);
                ELEMENT sum[ADJOINT_COLUMNS] = {0};
                const ELEMENT *factor = filter + channel * k;
                for (int64_t s = 0; s < c.channels; s++) {
                    for (int64_t a = 0; a < c.kernel[0]; a++, factor += c.kernel[1]) {
                        const int64_t y = row * c.stride[0] + a * c.dilation[0] - c.padding[0];
                        const bool inside = y >= 0 && y < height;
                        const ELEMENT *line = seen + (inside ? (s * height + y) * width : 0);
                        for (int64_t b = 0; b < c.kernel[1]; b++) {
                            const int64_t x = column * c.stride[1] + b * c.dilation[1] - c.padding[1];
                            TYPED(adjoint_plain_add)(
                                sum, 1, count, factor[b], line, inside ? width : 0, x, c.stride[1]);
                        }
                    }
                }
                ELEMENT *to = result + (plane * c.places[0] + row) * c.places[1] + column;
                for (int64_t j = 0; j < count; j++) to[j] = sum[j];
            }
        }
    }
}

/* Planes begin..end of the gradient of a convolution by its images: images times channels. Only taps that fall on a
   place, or on one beyond the first or the last, count. */
static void TYPED(adjoint_plain_convolve_back)(
    const ELEMENT *ct, const ELEMENT *filter, ELEMENT *result, struct adjoint_plain_convolution c, int64_t begin,
    int64_t end) {
    const int64_t rows = c.places[0], columns = c.places[1], area = c.kernel[0] * c.kernel[1], step = c.stride[1];
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t image = plane / (c.groups * c.channels), group = plane / c.channels % c.groups;
        for (int64_t row = 0; row < c.size[0]; row++) {
            for (int64_t column = 0; column < c.size[1]; column += ADJOINT_COLUMNS) {
                const int64_t count = adjoint_plain_least(c.size[1] - column, ADJOINT_COLUMNS);
                ELEMENT sum[ADJOINT_COLUMNS] = {0};
                for (int64_t channel = group * c.filters; channel < (group + 1) * c.filters; channel++) {
                    const ELEMENT *factor = filter + (channel * c.channels + plane % c.channels) * area;
                    const ELEMENT *seen = ct + (image * c.groups * c.filters + channel) * rows * columns;
                    for (int64_t a = 0; a < c.kernel[0]; a++, factor += c.kernel[1]) {
                        const int64_t y = row + c.padding[0] - a * c.dilation[0];
                        if (y % c.stride[0] != 0) continue;
                        const bool inside = y >= 0 && y / c.stride[0] < rows;
                        const ELEMENT *line = seen + (inside ? y / c.stride[0] * columns : 0);
                        for (int64_t b = 0; b < c.kernel[1]; b++) {
                            const int64_t x = column + c.padding[1] - b * c.dilation[1];
                            if (step == 1) {
                                TYPED(adjoint_plain_add)(sum, 1, count, factor[b], line, inside ? columns : 0, x, 1);
                                continue;
                            }
                            const int64_t first = (step - x % step) % step; /* that the tap meets */
                            TYPED(adjoint_plain_add)(
                                sum + first, step, (count - first + step - 1) / step, factor[b], line,
                                inside ? columns : 0, (x + first) / step, 1);
                        }
                    }
                }
                ELEMENT *to = result + (plane * c.size[0] + row) * c.size[1] + column;
                for (int64_t j = 0; j < count; j++) to[j] = sum[j];
            }
        }
    }
}

/* Taps next to each other in a row of one filter's channel, whose elements of the gradient are computed together. */
struct TYPED(adjoint_plain_taps) {
    const ELEMENT *source, *ct;   /* the channel in the first image, the filter's channel in the first result */
    int64_t next_source, next_ct; /* elements from one image to the next */
    int64_t y, x, count;          /* the first of them */
};

/* Adds the products at a place of an image: of its cotangent with what lies under the taps. */
static inline void TYPED(adjoint_plain_add_place)(
    ELEMENT *sum, int64_t apart, const struct TYPED(adjoint_plain_taps) *taps,
    const struct adjoint_plain_convolution *c, int64_t image, int64_t row, int64_t column) {
    const int64_t y = row * c->stride[0] + taps->y * c->dilation[0] - c->padding[0];
    const int64_t x = column * c->stride[1] + taps->x * c->dilation[1] - c->padding[1];
    const bool inside = y >= 0 && y < c->size[0];
    TYPED(adjoint_plain_add)(
        sum, apart, taps->count, taps->ct[image * taps->next_ct + row * c->places[1] + column],
        taps->source + image * taps->next_source + (inside ? y * c->size[1] : 0), inside ? c->size[1] : 0, x,
        c->dilation[1]);
}

/* The sums over a block of pieces where there are many channels of results: a chain for each piece. */
static void TYPED(adjoint_plain_chains)(
    ELEMENT *sum, const struct TYPED(adjoint_plain_taps) *taps, const struct adjoint_plain_convolution *c,
    const struct adjoint_plain_cuts *cuts, int64_t begin, int64_t end) {
    for (int64_t j = 0; j < taps->count; j++) sum[j] = 0;
    for (int64_t number = begin; number < end; number++) {
        const struct adjoint_plain_piece piece = adjoint_plain_piece_of(c, cuts, number);
        ELEMENT chain[ADJOINT_TOGETHER] = {0};
        for (int64_t image = piece.image; image < piece.image_end; image++) {
            for (int64_t row = piece.row; row < piece.row_end; row++) {
                for (int64_t column = piece.column; column < piece.column_end; column++) {
                    TYPED(adjoint_plain_add_place)(chain, 1, taps, c, image, row, column);
                }
            }
        }
        for (int64_t j = 0; j < taps->count; j++) sum[j] += chain[j];
    }
}

/* The same where there are few: a chain for each lane, through all pieces. The places of an image, or of all images of
   a piece, follow each other over the lanes; what does not fill all lanes goes to the last ones, or if there are fewer
   places than lanes to the first ones, and 0 is added to the others. */
static void TYPED(adjoint_plain_lanes)(
    ELEMENT *sum, const struct TYPED(adjoint_plain_taps) *taps, const struct adjoint_plain_convolution *c,
    const struct adjoint_plain_cuts *cuts, int64_t begin, int64_t end) {
    ELEMENT lane[ADJOINT_TOGETHER * ADJOINT_LANE_BYTES / sizeof(ELEMENT)] = {0};
    for (int64_t number = begin; number < end; number++) {
        const struct adjoint_plain_piece piece = adjoint_plain_piece_of(c, cuts, number);
        const int64_t rows = piece.row_end - piece.row, columns = piece.column_end - piece.column;
        const bool together = !cuts->shared || (rows > 1 && columns < c->places[1]);
        const int64_t places = rows * columns * (together ? piece.image_end - piece.image : 1);
        const int64_t rest = places % LANES, first = places < LANES ? 0 : LANES - rest; /* of the last ones */
        int64_t place = 0;
        for (int64_t image = piece.image; image < piece.image_end; image++) {
            for (int64_t row = piece.row; row < piece.row_end; row++) {
                for (int64_t column = piece.column; column < piece.column_end; column++, place++) {
                    const int64_t i = place < places - rest ? place % LANES : first + place - (places - rest);
                    TYPED(adjoint_plain_add_place)(lane + i, LANES, taps, c, image, row, column);
                }
            }
            if (place < places) continue;
            for (int64_t i = 0; i < taps->count * LANES && rest > 0; i++) {
                if (i % LANES < first || i % LANES >= first + rest) lane[i] += 0;
            }
            place = 0;
        }
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int64_t j = 0; j < taps->count; j++) {
            for (int i = 0; i < half; i++) lane[j * LANES + i] += lane[j * LANES + half + i];
        }
    }
    for (int64_t j = 0; j < taps->count; j++) sum[j] = lane[j * LANES];
}

/* Rows begin..end of the gradient of a convolution by its filters: a row is the taps of one row of one channel of one
   filter. */
static void TYPED(adjoint_plain_correlate)(
    const ELEMENT *source, const ELEMENT *ct, ELEMENT *result, struct adjoint_plain_convolution c, int64_t images,
    int64_t image_block, int64_t row_block, int64_t column_block, int64_t blocks, int64_t shared, int64_t wide,
    int64_t begin, int64_t end) {
    const struct adjoint_plain_cuts cuts = {images, image_block, row_block, column_block, blocks, shared != 0};
    const int64_t area = c.size[0] * c.size[1], places = c.places[0] * c.places[1];
    const int64_t pieces = (images + image_block - 1) / image_block * ((c.places[0] + row_block - 1) / row_block) *
                           ((c.places[1] + column_block - 1) / column_block);
    for (int64_t row = begin; row < end; row++) {
        const int64_t filter = row / c.kernel[0] / c.channels;
        const int64_t channel = filter / c.filters * c.channels + row / c.kernel[0] % c.channels;
        for (int64_t tap = 0; tap < c.kernel[1]; tap += ADJOINT_TOGETHER) {
            const struct TYPED(adjoint_plain_taps) taps = {
                source + channel * area, ct + filter * places, c.groups * c.channels * area,
                c.groups * c.filters * places, row % c.kernel[0], tap,
                adjoint_plain_least(c.kernel[1] - tap, ADJOINT_TOGETHER)};
            ELEMENT *total = result + row * c.kernel[1] + tap;
            for (int64_t block = 0; block < blocks; block++) {
                const int64_t first = block * pieces / blocks, last = (block + 1) * pieces / blocks;
                ELEMENT sum[ADJOINT_TOGETHER];
                if (wide) TYPED(adjoint_plain_chains)(sum, &taps, &c, &cuts, first, last);
                else TYPED(adjoint_plain_lanes)(sum, &taps, &c, &cuts, first, last);
                for (int64_t j = 0; j < taps.count; j++) total[j] = block > 0 ? total[j] + sum[j] : sum[j];
            }
        }
    }
}

#undef MULTIPLY_ADD
#undef LANES
