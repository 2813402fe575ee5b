/* Convolution of images [n, groups * c, h, w] with filters [groups * o, c, kernel_h, kernel_w], and its two gradients.

   The numbers. An element of a convolution, and of its gradient by the images, is one chain of fused multiply-adds that
   begins with 0 and runs over the channels, for each over the tap rows, for each over the tap columns; where a tap meets
   the padding it multiplies 0. In the gradient by the images only taps that fall on a place of the result count. An
   element of the gradient by the filters is a sum over all places of all images, which are cut into *pieces* and these
   into blocks. In a block each lane of a vector holds one chain over every LANES-th place of a piece, piece after piece
   (the last places of a piece, if they do not fill a vector, go to the last lanes); then the upper half of the lanes is
   added to the lower until one is left; then the blocks are added in order. Pieces and blocks depend on shapes alone, so
   no number depends on threads. A processor without fused multiply-add rounds the products first.

   The work. Convolution and gradient by the images are both: for each place of the result, multiply what lies under the
   taps, see `adjoint_axis`. If a convolution moves by more than one element, the places of its gradient fall into
   *phases*, within which the same taps count and a step is one element.

   The source under the taps is copied, for some places and channels at a time, into a *panel*: for each channel and tap
   a line in which one element stands for each place, so that vectors of places can be multiplied by a filter's element.
   Tap rows share memory where one meets what the other meets some rows of places on (*shared*), or have a line each,
   which then may hold the places of several small images. A unit makes its own panels, which stay in its processor's
   cache.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. */

#ifndef ADJOINT_CONVOLUTION_H
#define ADJOINT_CONVOLUTION_H

enum {
    ADJOINT_PANEL_BYTES = 262144,
    ADJOINT_RESULT_BYTES = 131072, /* of results that are not yet where they belong */
    ADJOINT_FRAME_BYTES = 32768,
    ADJOINT_TAPS = 2048,          /* lines of a panel */
    ADJOINT_SUMS = 4096,          /* vectors of sums */
};

typedef int32_t adjoint_bits_f32 __attribute__((vector_size(ADJOINT_VECTOR)));
typedef int64_t adjoint_bits_f64 __attribute__((vector_size(ADJOINT_VECTOR)));

/* One axis: under tap t of place p lies element first + p * step + t * apart of the source, or 0 if there is none. */
struct adjoint_axis {
    int64_t size; /* elements of the source */
    int64_t places, taps;
    int64_t first, step, apart; /* apart may be negative */
    int64_t at, spread;         /* place p is element at + p * spread of the result */
    int64_t tap, tap_step;      /* tap t is element tap + t * tap_step of the filter */
    int64_t kernel;             /* elements of the filter */
};

/* How lines share memory along the rows: taps t and t + period meet the same rows of the source, `shift` places apart. */
struct adjoint_sharing {
    int64_t period;
    int64_t classes; /* of taps that share; t belongs to class t % period */
    int64_t shift;
    int64_t low;  /* the first row of a class stands for place low, at most 0 */
    int64_t rows; /* of a class */
};

struct adjoint_convolution {
    int64_t groups;
    int64_t sources, results; /* channels of a group */
    bool backward;
    /* the convolution whose gradient it may be */
    int64_t size[2], places[2], kernel[2], stride[2], padding[2], dilation[2];
};

static int64_t adjoint_common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Phases of the gradient along an axis; the places of a convolution have one. */
static int64_t adjoint_phases(const struct adjoint_convolution *c, int i) { return c->backward ? c->stride[i] : 1; }

/* Element i of the images is met by tap t from place (i + padding - t * dilation) / stride, if that is whole: for the
   elements i = phase + p * stride this holds for every so manyth tap. */
static struct adjoint_axis adjoint_axis_of(const struct adjoint_convolution *c, int i, int64_t phase) {
    const int64_t stride = c->stride[i], dilation = c->dilation[i], padding = c->padding[i], kernel = c->kernel[i];
    if (!c->backward) {
        return (struct adjoint_axis){
            c->size[i], c->places[i], kernel, -padding, stride, dilation, 0, 1, 0, 1, kernel};
    }
    const int64_t every = stride / adjoint_common_divisor(stride, dilation);
    int64_t tap = 0;
    while (tap < every && (phase + padding - tap * dilation) % stride != 0) tap++;
    const int64_t taps = tap < every && tap < kernel ? (kernel - 1 - tap) / every + 1 : 0;
    const int64_t places = phase < c->size[i] ? (c->size[i] - phase - 1) / stride + 1 : 0;
    return (struct adjoint_axis){
        c->places[i], places, taps, taps ? (phase + padding - tap * dilation) / stride : 0, 1,
        -(every * dilation / stride), phase, stride, tap, every, kernel};
}

static struct adjoint_sharing adjoint_sharing_of(const struct adjoint_axis *axis, int64_t places) {
    const int64_t apart = axis->apart < 0 ? -axis->apart : axis->apart;
    const int64_t period = axis->step / adjoint_common_divisor(axis->step, apart);
    const int64_t steps = axis->taps > 0 ? (axis->taps - 1) / period : 0;
    const int64_t shift = period * axis->apart / axis->step;
    return (struct adjoint_sharing){
        period, axis->taps < period ? axis->taps : period, shift, shift < 0 ? steps * shift : 0,
        places + steps * (shift < 0 ? -shift : shift)};
}

/* A block of channels of the result is cut into tiles of rows, at most ADJOINT_ROWS high, of about one height, which is
   even unless the block is a single channel: the first row of tile `tile`, or for the one after the last the number of
   rows, which may be one too many. */
static int64_t adjoint_tiles(int64_t channels) { return (channels + ADJOINT_ROWS - 1) / ADJOINT_ROWS; }

static int64_t adjoint_tile_row(int64_t channels, int64_t tile) {
    if (channels == 1) return tile;
    const int64_t tiles = adjoint_tiles(channels), pairs = (channels + 1) / 2, longer = pairs % tiles;
    return 2 * (tile * (pairs / tiles) + (tile < longer ? tile : longer));
}

/* Rows of the strips of a group whose channels are taken in blocks of an even number, or all at once. */
static int64_t adjoint_strip_rows(int64_t channels) { return channels == 1 ? 1 : (channels + 1) / 2 * 2; }

#endif

#define LANES ((int)(ADJOINT_VECTOR / sizeof(ELEMENT)))
#define VECTOR TYPED(adjoint_vector)
#define PANEL_ELEMENTS (ADJOINT_PANEL_BYTES / (int)sizeof(ELEMENT))
#define RESULT_ELEMENTS (ADJOINT_RESULT_BYTES / (int)sizeof(ELEMENT))
#define FRAME_ELEMENTS (ADJOINT_FRAME_BYTES / (int)sizeof(ELEMENT))

static inline struct adjoint_convolution TYPED(adjoint_convolution_of)(
    int64_t backward, int64_t groups, int64_t channels, int64_t filters, int64_t h, int64_t w, int64_t rows,
    int64_t columns, int64_t kernel_h, int64_t kernel_w, int64_t stride_h, int64_t stride_w, int64_t top, int64_t left,
    int64_t dilation_h, int64_t dilation_w) {
    return (struct adjoint_convolution){
        groups, backward ? filters : channels, backward ? channels : filters, backward != 0, {h, w}, {rows, columns},
        {kernel_h, kernel_w}, {stride_h, stride_w}, {top, left}, {dilation_h, dilation_w}};
}

/* ---- filters ------------------------------------------------------------------------------------------------- */

/* Strips of filters: for each phase, group, block of channels of the result and tile of it the tile's rows, element after
   element: strip[k * height + row]. Units are the channels of the source. */
static void TYPED(adjoint_convolution_strips)(
    const ELEMENT *filters, ELEMENT *strips, struct adjoint_convolution c, int64_t block, int64_t begin, int64_t end) {
    const int64_t area = c.kernel[0] * c.kernel[1];
    const int64_t by_result = c.backward ? area : c.sources * area, by_source = c.backward ? c.results * area : area;
    for (int64_t phase = 0; phase < adjoint_phases(&c, 0) * adjoint_phases(&c, 1); phase++) {
        const struct adjoint_axis y = adjoint_axis_of(&c, 0, phase / adjoint_phases(&c, 1));
        const struct adjoint_axis x = adjoint_axis_of(&c, 1, phase % adjoint_phases(&c, 1));
        const int64_t taps = y.taps * x.taps, k = c.sources * taps;
        for (int64_t unit = begin; unit < end; unit++) {
            const int64_t group = unit / c.sources, source = unit % c.sources;
            for (int64_t channel = 0; channel < c.results; channel += block) {
                const int64_t channels = c.results - channel < block ? c.results - channel : block;
                for (int64_t tile = 0; tile < adjoint_tiles(channels); tile++) {
                    const int64_t row = adjoint_tile_row(channels, tile), height = adjoint_tile_row(channels, tile + 1) - row;
                    ELEMENT *strip = strips + (group * adjoint_strip_rows(c.results) + channel + row) * k + source * taps * height;
                    for (int64_t i = 0; i < height; i++) {
                        const ELEMENT *filter = filters + group * c.results * c.sources * area + source * by_source +
                                                (channel + row + i) * by_result + y.tap * x.kernel + x.tap;
                        ELEMENT *to = strip + i;
                        for (int64_t a = 0; a < y.taps; a++, filter += y.tap_step * x.kernel) {
                            for (int64_t b = 0; b < x.taps; b++, to += height) {
                                *to = row + i < channels ? filter[b * x.tap_step] : 0;
                            }
                        }
                    }
                }
            }
        }
        strips += c.groups * adjoint_strip_rows(c.results) * k;
    }
}

/* ---- panels -------------------------------------------------------------------------------------------------- */

/* target[j] = source[first + j * step] for j < count, 0 beyond the source's ends; NULL: zeros. */
static inline void TYPED(adjoint_copy_padded)(
    ELEMENT *target, int64_t count, const ELEMENT *source, int64_t size, int64_t first, int64_t step) {
    int64_t low = first < 0 ? (-first + step - 1) / step : 0;
    int64_t high = source != NULL && first < size ? (size - 1 - first) / step + 1 : 0;
    if (high > count) high = count;
    if (low > high) low = high;
    for (int64_t j = 0; j < low; j++) target[j] = 0;
    if (step == 1) {
        if (high > low) memcpy(target + low, source + first + low, (high - low) * sizeof *target);
    } else {
        for (int64_t j = low; j < high; j++) target[j] = source[first + j * step];
    }
    for (int64_t j = high; j < count; j++) target[j] = 0;
}

/* Row `row` of a plane; NULL outside of it. */
static inline const ELEMENT *TYPED(adjoint_row)(const ELEMENT *plane, const struct adjoint_axis *y, int64_t row, int64_t width) {
    return row >= 0 && row < y->size ? plane + row * width : NULL;
}

/* The lines of one channel, shared, for the places from `row` and `column` on, `width` in a row. Line by line, tap
   columns within classes of tap rows; lines are `line` elements apart. Up to LANES elements beyond a line are written. */
static void TYPED(adjoint_shared_lines)(
    ELEMENT *panel, const ELEMENT *plane, const struct adjoint_axis *y, const struct adjoint_axis *x,
    const struct adjoint_sharing *sharing, int64_t row, int64_t column, int64_t width, int64_t line, ELEMENT *frame) {
    const int64_t left = x->apart < 0 ? (x->taps - 1) * x->apart : 0; /* of tap 0 lies the leftmost */
    const int64_t framed = width + (x->taps - 1) * (x->apart < 0 ? -x->apart : x->apart);
    const int64_t start = x->first + column * x->step;
    for (int64_t class = 0; class < sharing->classes; class++) {
        const int64_t first = (row + sharing->low) * y->step + y->first + class * y->apart;
        if (x->step == 1 && sharing->rows * framed <= FRAME_ELEMENTS - LANES) {
            for (int64_t i = 0; i < sharing->rows; i++) {
                const ELEMENT *source = TYPED(adjoint_row)(plane, y, first + i * y->step, x->size);
                TYPED(adjoint_copy_padded)(frame + i * framed, framed, source, x->size, start + left, 1);
            }
            TYPED(adjoint_store)(frame + sharing->rows * framed, (VECTOR){0});
            for (int64_t b = 0; b < x->taps; b++, panel += line) {
                const ELEMENT *from = frame + b * x->apart - left;
                for (int64_t i = 0; i < sharing->rows; i++, from += framed) {
                    ELEMENT *to = panel + i * width;
                    int64_t j = 0;
                    do TYPED(adjoint_store)(to + j, TYPED(adjoint_load)(from + j)); /* what is too much, the next row covers */
                    while ((j += LANES) < width);
                }
            }
        } else {
            for (int64_t b = 0; b < x->taps; b++, panel += line) {
                for (int64_t i = 0; i < sharing->rows; i++) {
                    const ELEMENT *source = TYPED(adjoint_row)(plane, y, first + i * y->step, x->size);
                    TYPED(adjoint_copy_padded)(panel + i * width, width, source, x->size, start + b * x->apart, x->step);
                }
                TYPED(adjoint_store)(panel + sharing->rows * width, (VECTOR){0});
            }
        }
    }
}

/* Where the places of a panel lie: `images` images, or `rows` x `columns` places of one. */
struct TYPED(adjoint_part) {
    const ELEMENT *source; /* the group's first channel in the first image */
    int64_t images, next;  /* elements of the source from one image to the next */
    int64_t row, rows, column, columns;
};

/* Fills a panel with the lines `start..stop` (of channels x tap rows x tap columns), of which shared ones begin and end
   with a channel, and notes where each line begins. */
static void TYPED(adjoint_fill_panel)(
    ELEMENT *panel, int64_t *offset, const struct TYPED(adjoint_part) *part, const struct adjoint_axis *y,
    const struct adjoint_axis *x, bool shared, int64_t start, int64_t stop, ELEMENT *frame) {
    const int64_t taps = y->taps * x->taps, area = y->size * x->size;
    int64_t used = 0;
    if (shared && stop > start) {
        const struct adjoint_sharing sharing = adjoint_sharing_of(y, part->rows);
        const int64_t line = sharing.rows * part->columns + LANES;
        for (int64_t channel = start / taps; channel < stop / taps; channel++) {
            TYPED(adjoint_shared_lines)(
                panel + used, part->source + channel * area, y, x, &sharing, part->row, part->column, part->columns, line,
                frame);
            for (int64_t a = 0; a < y->taps; a++) {
                const int64_t place = a / sharing.period * sharing.shift - sharing.low;
                for (int64_t b = 0; b < x->taps; b++) {
                    *offset++ = used + (a % sharing.period * x->taps + b) * line + place * part->columns;
                }
            }
            used += sharing.classes * x->taps * line;
        }
    } else {
        const int64_t places = part->rows * part->columns, line = part->images * places + LANES;
        for (int64_t k = start; k < stop; k++, used += line) {
            const int64_t a = k % taps / x->taps, b = k % x->taps;
            const int64_t first = x->first + part->column * x->step + b * x->apart;
            ELEMENT *to = panel + used;
            for (int64_t image = 0; image < part->images; image++) {
                const ELEMENT *plane = part->source + image * part->next + k / taps * area;
                for (int64_t i = 0; i < part->rows; i++, to += part->columns) {
                    const int64_t row = y->first + (part->row + i) * y->step + a * y->apart;
                    TYPED(adjoint_copy_padded)(to, part->columns, TYPED(adjoint_row)(plane, y, row, x->size), x->size, first, x->step);
                }
            }
            TYPED(adjoint_store)(to, (VECTOR){0});
            *offset++ = used;
        }
    }
    for (int64_t i = 0; i < 8 * LANES; i++) panel[used + i] = 0;
}

/* How many lines a panel may hold. */
static int64_t TYPED(adjoint_panel_lines)(
    const struct TYPED(adjoint_part) *part, const struct adjoint_axis *y, const struct adjoint_axis *x, bool shared) {
    const int64_t room = PANEL_ELEMENTS - 8 * LANES, taps = y->taps * x->taps;
    if (!shared || taps == 0) {
        const int64_t lines = room / (part->images * part->rows * part->columns + LANES);
        return lines < ADJOINT_TAPS ? lines : ADJOINT_TAPS;
    }
    const struct adjoint_sharing sharing = adjoint_sharing_of(y, part->rows);
    const int64_t channel = sharing.classes * x->taps * (sharing.rows * part->columns + LANES);
    return taps * (room / channel < ADJOINT_TAPS / taps ? room / channel : ADJOINT_TAPS / taps);
}

/* ---- convolution and its gradient by the images ---------------------------------------------------------------- */

/* One tile of `rows` channels x `vectors` vectors of places: chains over k lines, begun with 0 or, to `resume`, with what
   is in the target; written to target[i * pitch + j] for i < present, j < columns. `rows` and `vectors` are constants
   wherever this is inlined. */
ADJOINT_INLINE void TYPED(adjoint_convolution_tile)(
    const int rows, const int vectors, int64_t k, const ELEMENT *strip, const int64_t *offset, const ELEMENT *panel,
    ELEMENT *target, int64_t pitch, int64_t present, int64_t columns, bool resume) {
    VECTOR sum[2 * ADJOINT_ROWS];
    for (int i = 0; i < rows * vectors; i++) sum[i] = (VECTOR){0};
    if (resume) {
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < vectors; j++) {
                const int64_t rest = i < present ? columns - j * LANES : 0;
                const ELEMENT *from = target + i * pitch + j * LANES;
                if (rest >= LANES) sum[i * vectors + j] = TYPED(adjoint_load)(from);
                else if (rest > 0) memcpy(&sum[i * vectors + j], from, rest * sizeof *from);
            }
        }
    }
    for (int64_t p = 0; p < k; p++, strip += rows) {
        const ELEMENT *line = panel + offset[p];
        VECTOR place[8];
        for (int j = 0; j < vectors; j++) place[j] = TYPED(adjoint_load)(line + j * LANES);
        for (int i = 0; i < rows; i++) {
            VECTOR element = strip[i] - (VECTOR){0}; /* repeated over the lanes */
            for (int j = 0; j < vectors; j++) {
                sum[i * vectors + j] = TYPED(adjoint_multiply_add)(element, place[j], sum[i * vectors + j]);
            }
        }
    }
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < vectors; j++) {
            const int64_t rest = i < present ? columns - j * LANES : 0;
            ELEMENT *to = target + i * pitch + j * LANES;
            if (rest >= LANES) TYPED(adjoint_store)(to, sum[i * vectors + j]);
            else if (rest > 0) memcpy(to, &sum[i * vectors + j], rest * sizeof *to);
        }
    }
}

/* Vectors of a tile: as many as keep multiply-adds under way. */
static int TYPED(adjoint_tile_vectors)(int64_t channels) { return channels == 1 ? 8 : channels == 2 ? 4 : 2; }

static __attribute__((noinline)) void TYPED(adjoint_convolution_tiles)(
    int64_t height, int64_t k, const ELEMENT *strip, const int64_t *offset, const ELEMENT *panel, ELEMENT *target,
    int64_t pitch, int64_t present, int64_t columns, bool resume) {
#define TILE(height, vectors)                                                                                         \
    case height:                                                                                                      \
        TYPED(adjoint_convolution_tile)(height, vectors, k, strip, offset, panel, target, pitch, present, columns, resume); \
        break
    switch (height) {
#if ADJOINT_ROWS == 14
        TILE(14, 2);
        TILE(12, 2);
        TILE(10, 2);
        TILE(8, 2);
#endif
        TILE(6, 2);
        TILE(4, 2);
        TILE(2, 4);
        TILE(1, 8);
    }
#undef TILE
}

/* A block of channels for the places of a part, from strips of k elements, to target[channel * pitch + place]. */
static void TYPED(adjoint_convolution_part)(
    const ELEMENT *strips, ELEMENT *target, int64_t pitch, int64_t channels, const struct TYPED(adjoint_part) *part,
    const struct adjoint_axis *y, const struct adjoint_axis *x, bool shared, int64_t k) {
    _Alignas(64) ELEMENT panel[PANEL_ELEMENTS];
    _Alignas(64) ELEMENT frame[FRAME_ELEMENTS];
    int64_t offset[ADJOINT_TAPS];
    const int64_t places = part->images * part->rows * part->columns;
    const int64_t lines = TYPED(adjoint_panel_lines)(part, y, x, shared);
    const int64_t width = TYPED(adjoint_tile_vectors)(channels) * LANES;
    int64_t start = 0;
    do {
        const int64_t stop = k - start < lines ? k : start + lines;
        TYPED(adjoint_fill_panel)(panel, offset, part, y, x, shared, start, stop, frame);
        for (int64_t p = 0; p < places; p += width) {
            for (int64_t tile = 0; tile < adjoint_tiles(channels); tile++) {
                const int64_t row = adjoint_tile_row(channels, tile), height = adjoint_tile_row(channels, tile + 1) - row;
                TYPED(adjoint_convolution_tiles)(
                    height, stop - start, strips + row * k + start * height, offset, panel + p, target + row * pitch + p, pitch,
                    channels - row, places - p, start > 0);
            }
        }
        start = stop;
    } while (start < k);
}

/* Units begin..end of a convolution or its gradient by the images, of source [images, groups * sources, ...]; a unit is
   a block of at most `block` of a group's channels for a part of at most image_block images, row_block rows and
   column_block columns of places. */
static void TYPED(adjoint_convolve)(
    const ELEMENT *source, const ELEMENT *strips, ELEMENT *result, struct adjoint_convolution c, int64_t block,
    int64_t images, int64_t image_block, int64_t row_block, int64_t column_block, int64_t shared, int64_t begin,
    int64_t end) {
    _Alignas(64) ELEMENT local[RESULT_ELEMENTS];
    const int64_t source_area = c.backward ? c.places[0] * c.places[1] : c.size[0] * c.size[1];
    const int64_t width = c.backward ? c.size[1] : c.places[1], area = (c.backward ? c.size[0] : c.places[0]) * width;
    const struct adjoint_axis first_y = adjoint_axis_of(&c, 0, 0), first_x = adjoint_axis_of(&c, 1, 0);
    const int64_t blocks = (c.results + block - 1) / block;
    const int64_t row_blocks = (first_y.places + row_block - 1) / row_block;
    const int64_t column_blocks = (first_x.places + column_block - 1) / column_block;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t rest = unit;
        const int64_t channel = rest % blocks * block;
        rest /= blocks;
        const int64_t column = rest % column_blocks * column_block;
        rest /= column_blocks;
        const int64_t row = rest % row_blocks * row_block;
        rest /= row_blocks;
        const int64_t group = rest % c.groups, image = rest / c.groups * image_block;
        const int64_t channels = c.results - channel < block ? c.results - channel : block;
        struct TYPED(adjoint_part) part = {
            source + (image * c.groups + group) * c.sources * source_area, images - image < image_block ? images - image : image_block,
            c.groups * c.sources * source_area, row, 0, column, 0};
        ELEMENT *target = result + ((image * c.groups + group) * c.results + channel) * area;
        const ELEMENT *strip = strips;
        for (int64_t phase = 0; phase < adjoint_phases(&c, 0) * adjoint_phases(&c, 1); phase++) {
            const struct adjoint_axis y = adjoint_axis_of(&c, 0, phase / adjoint_phases(&c, 1));
            const struct adjoint_axis x = adjoint_axis_of(&c, 1, phase % adjoint_phases(&c, 1));
            const int64_t k = c.sources * y.taps * x.taps;
            const ELEMENT *here = strip + (group * adjoint_strip_rows(c.results) + channel) * k;
            strip += c.groups * adjoint_strip_rows(c.results) * k;
            part.rows = y.places - row < row_block ? y.places - row : row_block;
            part.columns = x.places - column < column_block ? x.places - column : column_block;
            if (part.rows <= 0 || part.columns <= 0) continue;
            if (part.images == 1 && y.spread == 1 && x.spread == 1 && (part.rows == 1 || part.columns == width)) {
                TYPED(adjoint_convolution_part)(
                    here, target + row * width + column, area, channels, &part, &y, &x, shared, k);
                continue;
            }
            TYPED(adjoint_convolution_part)(
                here, local, part.images * part.rows * part.columns, channels, &part, &y, &x, shared, k);
            const ELEMENT *from = local;
            for (int64_t o = 0; o < channels; o++) {
                for (int64_t i = 0; i < part.images; i++) {
                    ELEMENT *plane = target + (i * c.groups * c.results + o) * area;
                    for (int64_t r = row; r < row + part.rows; r++, from += part.columns) {
                        ELEMENT *to = plane + (y.at + r * y.spread) * width + x.at + column * x.spread;
                        for (int64_t j = 0; j < part.columns; j++) to[j * x.spread] = from[j];
                    }
                }
            }
        }
    }
}

/* ---- gradient by the filters ----------------------------------------------------------------------------------- */

/* Adds to rows x taps vectors of sums, `pitch` apart from row to row, the products of rows of cotangents with lines of a
   panel over `places` places. `rows` and `taps` are constants wherever this is inlined. */
ADJOINT_INLINE void TYPED(adjoint_correlation_tile)(
    const int rows, const int taps, int64_t places, const ELEMENT *ct, int64_t area, const ELEMENT *panel,
    const int64_t *offset, VECTOR *sums, int64_t pitch) {
    VECTOR sum[24], given[4];
    const ELEMENT *line[6];
    for (int j = 0; j < taps; j++) line[j] = panel + offset[j];
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < taps; j++) sum[i * taps + j] = sums[i * pitch + j];
    }
    int64_t p = 0;
    for (; p + LANES <= places; p += LANES) {
        for (int i = 0; i < rows; i++) given[i] = TYPED(adjoint_load)(ct + i * area + p);
        for (int j = 0; j < taps; j++) {
            VECTOR place = TYPED(adjoint_load)(line[j] + p);
            for (int i = 0; i < rows; i++) {
                sum[i * taps + j] = TYPED(adjoint_multiply_add)(given[i], place, sum[i * taps + j]);
            }
        }
    }
    if (p < places) {
        /* The rest: in the last lanes of the vector that ends with it, or, if there is no such vector, in the first. */
        TYPED(adjoint_bits) mask;
        for (int i = 0; i < LANES; i++) mask[i] = i < LANES - (places - p) ? 0 : -1;
        for (int i = 0; i < rows; i++) {
            if (p > 0) {
                given[i] = (VECTOR)((TYPED(adjoint_bits))TYPED(adjoint_load)(ct + i * area + places - LANES) & mask);
            } else {
                given[i] = (VECTOR){0};
                memcpy(&given[i], ct + i * area, places * sizeof *ct);
            }
        }
        for (int j = 0; j < taps; j++) {
            VECTOR place = {0};
            if (p > 0) {
                place = (VECTOR)((TYPED(adjoint_bits))TYPED(adjoint_load)(line[j] + places - LANES) & mask);
            } else {
                memcpy(&place, line[j], places * sizeof *ct);
            }
            for (int i = 0; i < rows; i++) {
                sum[i * taps + j] = TYPED(adjoint_multiply_add)(given[i], place, sum[i * taps + j]);
            }
        }
    }
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < taps; j++) sums[i * pitch + j] = sum[i * taps + j];
    }
}

/* The same for any number of rows and taps. */
static __attribute__((noinline)) void TYPED(adjoint_correlation_tiles)(
    int64_t rows, int64_t taps, int64_t places, const ELEMENT *ct, int64_t area, const ELEMENT *panel,
    const int64_t *offset, VECTOR *sums, int64_t pitch) {
#define TILE(rows, taps) TYPED(adjoint_correlation_tile)(rows, taps, places, ct, area, panel, offset + j, sums + j, pitch)
#define TILES(rows)                                                                                                   \
    for (int64_t j = 0; j < taps;) {                                                                                  \
        if (taps - j >= 6) {                                                                                          \
            TILE(rows, 6);                                                                                            \
            j += 6;                                                                                                   \
        } else if (taps - j >= 3) {                                                                                   \
            TILE(rows, 3);                                                                                            \
            j += 3;                                                                                                   \
        } else {                                                                                                      \
            TILE(rows, 1);                                                                                            \
            j += 1;                                                                                                   \
        }                                                                                                             \
    }
    while (rows > 0) {
        const int64_t height = rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
        if (height == 4) {
            TILES(4)
        } else if (height == 2) {
            TILES(2)
        } else {
            TILES(1)
        }
        rows -= height;
        ct += height * area;
        sums += height * pitch;
    }
#undef TILES
#undef TILE
}

static inline ELEMENT TYPED(adjoint_sum_of_lanes)(VECTOR vector) {
    ELEMENT lane[LANES];
    memcpy(lane, &vector, sizeof lane);
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    }
    return lane[0];
}

/* Units begin..end of the gradient by the filters, summed in `blocks` blocks of pieces to sums[block][filters]. A piece is
   at most image_block images, row_block rows, column_block columns of places; a unit is a block of pieces for one of
   `parts` parts of a group's channels x taps and result_block of its results' channels. */
static void TYPED(adjoint_correlate)(
    const ELEMENT *source, const ELEMENT *ct, ELEMENT *result, struct adjoint_convolution c, int64_t images,
    int64_t image_block, int64_t row_block, int64_t column_block, int64_t result_block, int64_t parts, int64_t blocks,
    int64_t shared, int64_t begin, int64_t end) {
    _Alignas(64) ELEMENT panel[PANEL_ELEMENTS];
    _Alignas(64) ELEMENT frame[FRAME_ELEMENTS];
    _Alignas(64) ELEMENT local[RESULT_ELEMENTS];
    _Alignas(64) VECTOR sums[ADJOINT_SUMS];
    int64_t offset[ADJOINT_TAPS];
    const struct adjoint_axis y = adjoint_axis_of(&c, 0, 0), x = adjoint_axis_of(&c, 1, 0);
    const int64_t source_area = y.size * x.size, area = y.places * x.places, taps = y.taps * x.taps;
    const int64_t result_blocks = (c.results + result_block - 1) / result_block;
    const int64_t row_blocks = (y.places + row_block - 1) / row_block;
    const int64_t column_blocks = (x.places + column_block - 1) / column_block;
    const int64_t pieces = (images + image_block - 1) / image_block * row_blocks * column_blocks;
    const int64_t step = shared ? taps : 1, count = c.sources * taps / (step > 0 ? step : 1);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t rest = unit;
        const int64_t first = rest % result_blocks * result_block;
        const int64_t results = c.results - first < result_block ? c.results - first : result_block;
        rest /= result_blocks;
        const int64_t start = rest % parts * count / parts * step, stop = (rest % parts + 1) * count / parts * step;
        rest /= parts;
        const int64_t group = rest % c.groups, block = rest / c.groups;
        for (int64_t i = 0; i < results * (stop - start); i++) sums[i] = (VECTOR){0};
        for (int64_t piece = block * pieces / blocks; piece < (block + 1) * pieces / blocks; piece++) {
            const int64_t column = piece % column_blocks * column_block;
            const int64_t row = piece / column_blocks % row_blocks * row_block;
            const int64_t image = piece / column_blocks / row_blocks * image_block;
            const struct TYPED(adjoint_part) part = {
                source + (image * c.groups + group) * c.sources * source_area,
                images - image < image_block ? images - image : image_block,
                c.groups * c.sources * source_area,
                row, y.places - row < row_block ? y.places - row : row_block,
                column, x.places - column < column_block ? x.places - column : column_block};
            const int64_t places = part.images * part.rows * part.columns;
            const ELEMENT *given = ct + ((image * c.groups + group) * c.results + first) * area + row * x.places + column;
            int64_t pitch = area;
            if (part.images > 1 || (part.rows > 1 && part.columns < x.places)) {
                ELEMENT *to = local;
                for (int64_t o = 0; o < results; o++) {
                    for (int64_t i = 0; i < part.images; i++) {
                        const ELEMENT *from = given + (i * c.groups * c.results + o) * area;
                        for (int64_t r = 0; r < part.rows; r++, from += x.places, to += part.columns) {
                            memcpy(to, from, part.columns * sizeof *to);
                        }
                    }
                }
                given = local;
                pitch = places;
            }
            TYPED(adjoint_fill_panel)(panel, offset, &part, &y, &x, shared, start, stop, frame);
            TYPED(adjoint_correlation_tiles)(results, stop - start, places, given, pitch, panel, offset, sums, stop - start);
        }
        const int64_t filters = c.groups * c.results, k = c.sources * taps;
        ELEMENT *to = result + (block * filters + group * c.results + first) * k;
        for (int64_t o = 0; o < results; o++) {
            for (int64_t i = start; i < stop; i++) to[o * k + i] = TYPED(adjoint_sum_of_lanes)(sums[o * (stop - start) + i - start]);
        }
    }
}

#undef LANES
#undef VECTOR
#undef PANEL_ELEMENTS
#undef RESULT_ELEMENTS
#undef FRAME_ELEMENTS
