/* Convolution of images [n, groups * c, h, w] with filters [groups * o, c, kernel_h, kernel_w], and its two gradients.

   The numbers. An element of a convolution, and of its gradient by the images, is one chain of fused multiply-adds that
   begins with 0 and runs over the channels, for each over the tap rows, for each over the tap columns; where a tap
   meets the padding it multiplies 0. In the gradient by the images only taps that fall on a place of the result count.

   An element of the gradient by the filters is a sum over all places of all images, which are cut into *pieces*, and
   these into blocks; both depend on shapes alone. Where there are several channels of results (*wide*), a chain runs
   over the places of a piece, and chains are added piece by piece, then block by block. Where there are few, each lane
   of a vector holds one chain over every LANES-th place, image by image through all the pieces of a block (the last
   places of an image, if they do not fill a vector, go to the last lanes); then the upper half of the lanes is added to
   the lower until one is left; then the blocks are added in order. So no number depends on threads. A processor without
   fused multiply-add rounds products first.

   The work. Convolution and gradient by the images are both: for each place of the result, multiply what lies under the
   taps, see `adjoint_axis`. If a convolution moves by more than one element, the places of its gradient fall into
   *phases*, within which the same taps count and a step is one element.

   The source under the taps is copied, for some places and channels at a time, into a *panel*: for each channel and tap
   a line in which one element stands for each place, so that vectors of places can be multiplied by a filter's element.
   Tap rows share memory where one meets what the other meets some rows of places on (*shared*), or have a line each,
   which then may hold the places of several small images. A unit makes its own panels, which stay in its processor's
   cache. Where loads limit the speed (ADJOINT_GATHER), what a tile reads of each line is copied once more, side by side,
   for all the tiles that read it.

   This text is pasted once for each element type: ELEMENT is float or double, TYPED(name) is name_f32 or name_f64. */

#ifndef ADJOINT_CONVOLUTION_H
#define ADJOINT_CONVOLUTION_H

enum {
    ADJOINT_PANEL_BYTES = 262144,
    ADJOINT_RESULT_BYTES = 131072, /* of results that are not yet where they belong */
    ADJOINT_SUM_BYTES = 262144,    /* of sums of a gradient by the filters */
    ADJOINT_FRAME_BYTES = 32768,   /* of one channel's source, with the padding around it */
    ADJOINT_TAPS = 2048,           /* lines of a panel, at most */
    ADJOINT_LINES = 256,           /* of one for tiles, or one channel's: a tile's piece of each fits a level-1 cache */
    ADJOINT_GATHER = ADJOINT_VECTOR == 32 ? 8 : 0, /* tiles that are worth a copy of these pieces; 0: none are */
    ADJOINT_LONG = 64,             /* products of a chain that hide the time to fetch where its sum goes */
    ADJOINT_SOURCES = 32,          /* channels of the source whose strips are a unit of work */
    ADJOINT_SQUARE = 16,           /* rows that are transposed at a time */
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

/* How lines share memory along the rows: taps t and t + period meet the same rows of the source, `shift` places
   apart. */
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
#define SUM_ELEMENTS (ADJOINT_SUM_BYTES / (int)sizeof(ELEMENT))
#define OUTER_LINES (ADJOINT_ROWS == 14 ? 8 : 6) /* of a tile: as many as there are registers for their addresses */

static inline struct adjoint_convolution TYPED(adjoint_convolution_of)(
    int64_t backward, int64_t groups, int64_t channels, int64_t filters, int64_t h, int64_t w, int64_t rows,
    int64_t columns, int64_t kernel_h, int64_t kernel_w, int64_t stride_h, int64_t stride_w, int64_t top, int64_t left,
    int64_t dilation_h, int64_t dilation_w) {
    return (struct adjoint_convolution){
        groups, backward ? filters : channels, backward ? channels : filters, backward != 0, {h, w}, {rows, columns},
        {kernel_h, kernel_w}, {stride_h, stride_w}, {top, left}, {dilation_h, dilation_w}};
}

/* ---- filters ------------------------------------------------------------------------------------------------- */

/* Strips of filters: for each phase, group, block of channels of the result and tile of it the tile's rows, element
   after element: strip[k * height + row]. A unit is ADJOINT_SOURCES channels of the source. */
static void TYPED(adjoint_convolution_strips)(
    const ELEMENT *filters, ELEMENT *strips, struct adjoint_convolution c, int64_t block, int64_t begin, int64_t end) {
    const int64_t area = c.kernel[0] * c.kernel[1], units = (c.sources + ADJOINT_SOURCES - 1) / ADJOINT_SOURCES;
    const int64_t by_group = c.results * c.sources * area, by_result = c.backward ? area : c.sources * area;
    const int64_t by_source = c.backward ? c.results * area : area;
    for (int64_t phase = 0; phase < adjoint_phases(&c, 0) * adjoint_phases(&c, 1); phase++) {
        const struct adjoint_axis y = adjoint_axis_of(&c, 0, phase / adjoint_phases(&c, 1));
        const struct adjoint_axis x = adjoint_axis_of(&c, 1, phase % adjoint_phases(&c, 1));
        const int64_t taps = y.taps * x.taps, k = c.sources * taps;
        for (int64_t unit = begin; unit < end; unit++) {
            const int64_t group = unit / units, source = unit % units * ADJOINT_SOURCES;
            const int64_t source_end = c.sources - source < ADJOINT_SOURCES ? c.sources : source + ADJOINT_SOURCES;
            for (int64_t channel = 0; channel < c.results; channel += block) {
                const int64_t channels = c.results - channel < block ? c.results - channel : block;
                for (int64_t tile = 0; tile < adjoint_tiles(channels); tile++) {
                    const int64_t row = adjoint_tile_row(channels, tile);
                    const int64_t height = adjoint_tile_row(channels, tile + 1) - row;
                    ELEMENT *strip = strips + (group * adjoint_strip_rows(c.results) + channel + row) * k;
                    for (int64_t i = 0; i < height; i++) {
                        ELEMENT *to = strip + source * taps * height + i;
                        if (row + i >= channels) {
                            for (int64_t p = 0; p < (source_end - source) * taps; p++) to[p * height] = 0;
                            continue;
                        }
                        const ELEMENT *filter = filters + group * by_group + (channel + row + i) * by_result;
                        for (int64_t s = source; s < source_end; s++) {
                            const ELEMENT *from = filter + s * by_source + y.tap * x.kernel + x.tap;
                            if (taps == area) {
                                for (int64_t p = 0; p < area; p++, to += height) *to = from[p];
                                continue;
                            }
                            for (int64_t a = 0; a < y.taps; a++, from += y.tap_step * x.kernel) {
                                for (int64_t b = 0; b < x.taps; b++, to += height) *to = from[b * x.tap_step];
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
static void TYPED(adjoint_copy_padded)(
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

/* target[j] = source[j * step] for j < count; up to LANES elements more are read, if step is 1, and written. */
ADJOINT_INLINE void TYPED(adjoint_copy_along)(ELEMENT *target, int64_t count, const ELEMENT *source, int64_t step) {
    int64_t j = 0;
    if (step == 1) {
        do TYPED(adjoint_store)(target + j, TYPED(adjoint_load)(source + j));
        while ((j += LANES) < count);
    } else if (step == 2) {
        for (; j < count; j++) target[j] = source[2 * j];
    } else {
        for (; j < count; j++) target[j] = source[j * step];
    }
}

ADJOINT_INLINE void TYPED(adjoint_clear_along)(ELEMENT *target, int64_t count) {
    for (int64_t j = 0; j < count; j += LANES) TYPED(adjoint_store)(target + j, (VECTOR){0});
}

/* Where the places of a panel lie: in `images` images, `rows` x `columns` places of each. */
struct TYPED(adjoint_part) {
    const ELEMENT *source; /* the group's first channel in the first image */
    const ELEMENT *end;    /* of all of the source */
    int64_t images, next;  /* elements of the source from one image to the next */
    int64_t row, rows, column, columns;
};

/* What lies under the taps of a part's places, in one channel of one image: element (i, j) is at[i * pitch + j]. */
struct TYPED(adjoint_frame) {
    const ELEMENT *at;
    int64_t pitch;
    int64_t top, left;     /* in the plane */
    int64_t rows, columns;
};

static struct TYPED(adjoint_frame) TYPED(adjoint_frame_of)(
    const struct TYPED(adjoint_part) *part, const struct adjoint_axis *y, const struct adjoint_axis *x) {
    const int64_t y_reach = (y->taps - 1) * y->apart, x_reach = (x->taps - 1) * x->apart;
    return (struct TYPED(adjoint_frame)){
        NULL, 0, y->first + part->row * y->step + (y_reach < 0 ? y_reach : 0),
        x->first + part->column * x->step + (x_reach < 0 ? x_reach : 0),
        (part->rows - 1) * y->step + (y_reach < 0 ? -y_reach : y_reach) + 1,
        (part->columns - 1) * x->step + (x_reach < 0 ? -x_reach : x_reach) + 1};
}

/* Points `frame` to a plane, or if it reaches beyond the plane's ends to a copy with zeros around. */
static void TYPED(adjoint_fill_frame)(
    struct TYPED(adjoint_frame) *frame, const ELEMENT *plane, const ELEMENT *end, int64_t height, int64_t width,
    ELEMENT *room) {
    const int64_t top = frame->top, left = frame->left, bottom = top + frame->rows, right = left + frame->columns;
    const bool inside = top >= 0 && left >= 0 && bottom <= height && right <= width;
    if (inside && end - (plane + bottom * width) >= LANES) {
        frame->at = plane + top * width + left;
        frame->pitch = width;
        return;
    }
    int64_t low = left < 0 ? -left : 0, high = right > width ? width - left : frame->columns;
    if (low > frame->columns) low = frame->columns;
    if (high < low) high = low;
    frame->at = room;
    frame->pitch = frame->columns;
    for (int64_t i = top; i < bottom; i++, room += frame->columns) {
        if (i < 0 || i >= height || low == high) {
            TYPED(adjoint_clear_along)(room, frame->columns);
            continue;
        }
        const ELEMENT *from = plane + i * width + left + low;
        TYPED(adjoint_clear_along)(room, low);
        if (end - from >= high - low + LANES) TYPED(adjoint_copy_along)(room + low, high - low, from, 1);
        else memcpy(room + low, from, (high - low) * sizeof *room);
        TYPED(adjoint_clear_along)(room + high, frame->columns - high);
    }
    TYPED(adjoint_clear_along)(room, LANES);
}

/* One line, or some rows of it: `rows` rows of places, of which the first has its source in row `top` of the plane
   and the next ones `step` rows further on each. A vector beyond the line is written. */
static void TYPED(adjoint_line)(
    ELEMENT *line, const struct TYPED(adjoint_frame) *frame, const ELEMENT *plane, const struct adjoint_axis *y,
    const struct adjoint_axis *x, int64_t top, int64_t rows, int64_t left, int64_t columns) {
    if (frame->at != NULL) {
        const ELEMENT *from = frame->at + (top - frame->top) * frame->pitch + left - frame->left;
        for (int64_t i = 0; i < rows; i++, from += y->step * frame->pitch, line += columns) {
            TYPED(adjoint_copy_along)(line, columns, from, x->step);
        }
    } else {
        for (int64_t i = 0; i < rows; i++, top += y->step, line += columns) {
            const ELEMENT *source = top >= 0 && top < y->size ? plane + top * x->size : NULL;
            TYPED(adjoint_copy_padded)(line, columns, source, x->size, left, x->step);
        }
    }
}

/* Elements of a panel from one line to the next. */
static int64_t TYPED(adjoint_line_length)(
    const struct TYPED(adjoint_part) *part, const struct adjoint_axis *y, bool shared) {
    const int64_t rows = shared ? adjoint_sharing_of(y, part->rows).rows : part->images * part->rows;
    return (rows * part->columns + 2 * LANES - 1) / LANES * LANES; /* whole vectors, with room for one */
}

/* Elements of a panel that the lines of one channel take, or if they are not shared those of one tap. */
static int64_t TYPED(adjoint_panel_step)(
    const struct TYPED(adjoint_part) *part, const struct adjoint_axis *y, const struct adjoint_axis *x, bool shared) {
    const int64_t lines = shared ? adjoint_sharing_of(y, part->rows).classes * x->taps : 1;
    return lines * TYPED(adjoint_line_length)(part, y, shared);
}

/* Where the lines `start..stop` (of channels x tap rows x tap columns) begin in a panel; shared ones begin and end
   with a channel. */
static void TYPED(adjoint_offsets)(
    int64_t *offset, const struct TYPED(adjoint_part) *part, const struct adjoint_axis *y, const struct adjoint_axis *x,
    bool shared, int64_t start, int64_t stop) {
    const int64_t line = TYPED(adjoint_line_length)(part, y, shared);
    const int64_t step = TYPED(adjoint_panel_step)(part, y, x, shared);
    if (!shared) {
        for (int64_t k = 0; k < stop - start; k++) offset[k] = k * line;
        return;
    }
    const struct adjoint_sharing sharing = adjoint_sharing_of(y, part->rows);
    const int64_t taps = y->taps * x->taps;
    for (int64_t a = 0; a < y->taps && stop > start; a++) {
        const int64_t place = a / sharing.period * sharing.shift - sharing.low;
        for (int64_t b = 0; b < x->taps; b++) {
            offset[a * x->taps + b] = (a % sharing.period * x->taps + b) * line + place * part->columns;
        }
    }
    for (int64_t k = taps; k < stop - start; k++) offset[k] = offset[k - taps] + step;
}

/* Fills a panel with the lines start..stop of the part; shared ones of its images one after the other. */
static void TYPED(adjoint_fill_panel)(
    ELEMENT *panel, const struct TYPED(adjoint_part) *part, const struct adjoint_axis *y, const struct adjoint_axis *x,
    bool shared, int64_t start, int64_t stop) {
    _Alignas(64) ELEMENT room[FRAME_ELEMENTS];
    const int64_t taps = y->taps * x->taps, area = y->size * x->size, left = x->first + part->column * x->step;
    const int64_t line = TYPED(adjoint_line_length)(part, y, shared);
    struct TYPED(adjoint_frame) frame = TYPED(adjoint_frame_of)(part, y, x);
    const bool framed = frame.rows * frame.columns <= FRAME_ELEMENTS - 2 * LANES;
    if (shared && stop > start) {
        const struct adjoint_sharing sharing = adjoint_sharing_of(y, part->rows);
        for (int64_t image = 0; image < part->images; image++) {
            for (int64_t channel = start / taps; channel < stop / taps; channel++) {
                const ELEMENT *plane = part->source + image * part->next + channel * area;
                if (framed) TYPED(adjoint_fill_frame)(&frame, plane, part->end, y->size, x->size, room);
                for (int64_t class = 0; class < sharing.classes; class++) {
                    const int64_t top = y->first + (part->row + sharing.low) * y->step + class * y->apart;
                    for (int64_t b = 0; b < x->taps; b++, panel += line) {
                        TYPED(adjoint_line)(
                            panel, &frame, plane, y, x, top, sharing.rows, left + b * x->apart, part->columns);
                        TYPED(adjoint_clear_along)(panel + sharing.rows * part->columns, LANES);
                    }
                }
            }
        }
    } else {
        for (int64_t k = start; k < stop;) {
            const int64_t channel = k / taps, last = (channel + 1) * taps < stop ? (channel + 1) * taps : stop;
            for (int64_t image = 0; image < part->images; image++) {
                const ELEMENT *plane = part->source + image * part->next + channel * area;
                ELEMENT *to = panel + (k - start) * line + image * part->rows * part->columns;
                if (framed) TYPED(adjoint_fill_frame)(&frame, plane, part->end, y->size, x->size, room);
                for (int64_t tap = k % taps; tap < last - channel * taps; tap++, to += line) {
                    const int64_t top = y->first + part->row * y->step + tap / x->taps * y->apart;
                    TYPED(adjoint_line)(
                        to, &frame, plane, y, x, top, part->rows, left + tap % x->taps * x->apart, part->columns);
                }
            }
            k = last;
        }
        for (int64_t k = start; k < stop; k++, panel += line) {
            TYPED(adjoint_clear_along)(panel + part->images * part->rows * part->columns, LANES);
        }
    }
    TYPED(adjoint_clear_along)(panel, 8 * LANES);
}

/* How many lines a panel may hold. */
static int64_t TYPED(adjoint_panel_lines)(
    const struct TYPED(adjoint_part) *part, const struct adjoint_axis *y, const struct adjoint_axis *x, bool shared) {
    const int64_t fit = (PANEL_ELEMENTS - 8 * LANES) / TYPED(adjoint_panel_step)(part, y, x, shared);
    const int64_t taps = shared ? y->taps * x->taps : 1, most = taps < ADJOINT_LINES ? ADJOINT_LINES / taps : 1;
    return taps * (fit < most ? fit : most);
}

/* ---- convolution and its gradient by the images ---------------------------------------------------------------- */

/* One tile of `rows` channels x `vectors` vectors of places: chains over k lines, begun with 0 or, to `resume`, with
   what is in the target; written to target[i * pitch + j]. `rows` and `vectors` are constants wherever this is
   inlined. */
ADJOINT_INLINE void TYPED(adjoint_convolution_tile)(
    const int rows, const int vectors, int64_t k, const ELEMENT *strip, const int64_t *offset, const ELEMENT *panel,
    ELEMENT *target, int64_t pitch, bool resume) {
    VECTOR sum[2 * ADJOINT_ROWS];
    if (resume) {
        for (int i = 0; i < rows; i++) {
            const ELEMENT *from = target + i * pitch;
            for (int j = 0; j < vectors; j++) sum[i * vectors + j] = TYPED(adjoint_load)(from + j * LANES);
        }
    } else {
        for (int i = 0; i < rows * vectors; i++) sum[i] = (VECTOR){0};
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
        for (int j = 0; j < vectors; j++) TYPED(adjoint_store)(target + i * pitch + j * LANES, sum[i * vectors + j]);
    }
}

/* Vectors of a tile: as many as keep multiply-adds under way. */
static int TYPED(adjoint_tile_vectors)(int64_t channels) {
    return channels == 1 ? 8 : channels == 2 || (channels <= 6 && ADJOINT_ROWS == 14) ? 4 : 2;
}

static __attribute__((noinline)) void TYPED(adjoint_convolution_whole)(
    int64_t height, int vectors, int64_t k, const ELEMENT *strip, const int64_t *offset, const ELEMENT *panel,
    ELEMENT *target, int64_t pitch, bool resume) {
#define TILE(height, vectors)                                                                                         \
    case 8 * height + vectors:                                                                                        \
        TYPED(adjoint_convolution_tile)(height, vectors, k, strip, offset, panel, target, pitch, resume);             \
        break
    switch (8 * height + vectors) {
#if ADJOINT_ROWS == 14
        TILE(14, 2);
        TILE(14, 1);
        TILE(12, 2);
        TILE(12, 1);
        TILE(10, 2);
        TILE(10, 1);
        TILE(8, 2);
        TILE(8, 1);
        TILE(6, 4);
        TILE(4, 4);
#endif
        TILE(6, 2);
        TILE(6, 1);
        TILE(4, 2);
        TILE(4, 1);
        TILE(2, 4);
        TILE(1, 8);
    }
#undef TILE
}

/* The same, for a target of `present` rows and `columns` places, which may be fewer than the tile's. */
static void TYPED(adjoint_convolution_tiles)(
    int64_t height, int vectors, int64_t k, const ELEMENT *strip, const int64_t *offset, const ELEMENT *panel,
    ELEMENT *target, int64_t pitch, int64_t present, int64_t columns, bool resume) {
    while (height > 2 && columns <= vectors / 2 * LANES) vectors /= 2;
    if (present >= height && columns >= vectors * LANES) {
        for (int64_t i = 0; i < height && k >= ADJOINT_LONG && !resume; i++) { /* rows that lie far apart */
            __builtin_prefetch(target + i * pitch, 1);
            __builtin_prefetch(target + i * pitch + vectors * LANES - 1, 1);
        }
        TYPED(adjoint_convolution_whole)(height, vectors, k, strip, offset, panel, target, pitch, resume);
        return;
    }
    _Alignas(64) ELEMENT whole[2 * ADJOINT_ROWS * LANES]; /* a tile is no larger */
    const int64_t width = vectors * LANES;
    if (present > height) present = height;
    if (columns > width) columns = width;
    if (resume) {
        for (int64_t i = 0; i < height * width; i++) whole[i] = 0;
        for (int64_t i = 0; i < present; i++) memcpy(whole + i * width, target + i * pitch, columns * sizeof *whole);
    }
    TYPED(adjoint_convolution_whole)(height, vectors, k, strip, offset, panel, whole, width, resume);
    for (int64_t i = 0; i < present; i++) memcpy(target + i * pitch, whole + i * width, columns * sizeof *whole);
}

/* What a tile of two vectors reads of the lines of a panel, one after the other. */
static void TYPED(adjoint_gather)(ELEMENT *piece, int64_t lines, const int64_t *offset, const ELEMENT *panel) {
    for (int64_t i = 0; i < lines; i++, piece += 2 * LANES) {
        TYPED(adjoint_store)(piece, TYPED(adjoint_load)(panel + offset[i]));
        TYPED(adjoint_store)(piece + LANES, TYPED(adjoint_load)(panel + offset[i] + LANES));
    }
}

/* A block of channels for the places of a part, from strips of k elements, to target[channel * pitch + place]. */
static void TYPED(adjoint_convolution_part)(
    const ELEMENT *strips, ELEMENT *target, int64_t pitch, int64_t channels, const struct TYPED(adjoint_part) *part,
    const struct adjoint_axis *y, const struct adjoint_axis *x, bool shared, int64_t k) {
    _Alignas(64) ELEMENT panel[PANEL_ELEMENTS], piece[2 * LANES * ADJOINT_LINES];
    int64_t offset[ADJOINT_TAPS], beside[ADJOINT_LINES];
    const bool gathers = ADJOINT_GATHER > 0 && adjoint_tiles(channels) >= ADJOINT_GATHER;
    for (int64_t i = 0; gathers && i < ADJOINT_LINES; i++) beside[i] = 2 * LANES * i;
    const int64_t places = part->images * part->rows * part->columns;
    const int64_t lines = k > 0 ? TYPED(adjoint_panel_lines)(part, y, x, shared) : 0;
    const int vectors = TYPED(adjoint_tile_vectors)(channels);
    int64_t start = 0;
    do {
        const int64_t stop = k - start < lines ? k : start + lines;
        const bool gather = gathers && stop - start <= ADJOINT_LINES;
        TYPED(adjoint_offsets)(offset, part, y, x, shared, start, stop);
        TYPED(adjoint_fill_panel)(panel, part, y, x, shared, start, stop);
        for (int64_t p = 0; p < places; p += vectors * LANES) {
            if (gather) TYPED(adjoint_gather)(piece, stop - start, offset, panel + p);
            for (int64_t tile = 0; tile < adjoint_tiles(channels); tile++) {
                const int64_t row = adjoint_tile_row(channels, tile);
                const int64_t height = adjoint_tile_row(channels, tile + 1) - row;
                TYPED(adjoint_convolution_tiles)(
                    height, vectors, stop - start, strips + row * k + start * height, gather ? beside : offset,
                    gather ? piece : panel + p, target + row * pitch + p, pitch, channels - row, places - p,
                    start > 0);
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
    const int64_t next = c.groups * c.sources * source_area;
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
            source + image * next + group * c.sources * source_area, source + images * next,
            images - image < image_block ? images - image : image_block, next, row, 0, column, 0};
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

/* What is left of `places` elements behind whole vectors, among zeros: in the last lanes, which `mask` keeps, of the
   vector that ends with it, or if there is no such vector in the first lanes. */
static inline VECTOR TYPED(adjoint_load_rest)(const ELEMENT *source, int64_t places, TYPED(adjoint_bits) mask) {
    if (places >= LANES) return (VECTOR)((TYPED(adjoint_bits))TYPED(adjoint_load)(source + places - LANES) & mask);
    ELEMENT lane[LANES] = {0};
    for (int64_t i = 0; i < places; i++) lane[i] = source[i];
    return TYPED(adjoint_load)(lane);
}

/* How the lines of a panel and the cotangents lie that belong together: images times places. */
struct TYPED(adjoint_places) {
    int64_t images, places;
    int64_t panel, ct; /* elements from one image to the next */
    int64_t row;       /* elements from one row of cotangents, that is from one channel, to the next */
};

/* Adds to rows x taps vectors of sums, `pitch` elements apart from row to row, the products of rows of cotangents with
   lines of a panel. `rows` and `taps` are constants wherever this is inlined. */
ADJOINT_INLINE void TYPED(adjoint_correlation_tile)(
    const int rows, const int taps, const struct TYPED(adjoint_places) *at, const ELEMENT *ct, const ELEMENT *panel,
    const int64_t *offset, ELEMENT *sums, int64_t pitch) {
    VECTOR sum[24], given[4];
    const int64_t places = at->places, full = places - places % LANES, row = at->row;
    TYPED(adjoint_bits) mask = {0};
    for (int i = 0; i < LANES; i++) mask[i] = i < LANES - (places - full) ? 0 : -1;
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < taps; j++) sum[i * taps + j] = TYPED(adjoint_load)(sums + i * pitch + j * LANES);
    }
    for (int64_t image = 0; image < at->images; image++, ct += at->ct, panel += at->panel) {
        const ELEMENT *line[6];
        for (int j = 0; j < taps; j++) line[j] = panel + offset[j];
        for (int64_t p = 0; p < full; p += LANES) {
            for (int i = 0; i < rows; i++) given[i] = TYPED(adjoint_load)(ct + i * row + p);
            for (int j = 0; j < taps; j++) {
                VECTOR place = TYPED(adjoint_load)(line[j] + p);
                for (int i = 0; i < rows; i++) {
                    sum[i * taps + j] = TYPED(adjoint_multiply_add)(given[i], place, sum[i * taps + j]);
                }
            }
        }
        if (full == places) continue;
        for (int i = 0; i < rows; i++) given[i] = TYPED(adjoint_load_rest)(ct + i * row, places, mask);
        for (int j = 0; j < taps; j++) {
            VECTOR place = TYPED(adjoint_load_rest)(line[j], places, mask);
            for (int i = 0; i < rows; i++) {
                sum[i * taps + j] = TYPED(adjoint_multiply_add)(given[i], place, sum[i * taps + j]);
            }
        }
    }
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < taps; j++) TYPED(adjoint_store)(sums + i * pitch + j * LANES, sum[i * taps + j]);
    }
}

/* The same for any number of rows and taps. */
static __attribute__((noinline)) void TYPED(adjoint_correlation_tiles)(
    int64_t rows, int64_t taps, const struct TYPED(adjoint_places) *at, const ELEMENT *ct, const ELEMENT *panel,
    const int64_t *offset, ELEMENT *sums) {
    const int64_t pitch = taps * LANES;
#define TILE(rows, taps) TYPED(adjoint_correlation_tile)(rows, taps, at, ct, panel, offset + j, sums + j * LANES, pitch)
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
        ct += height * at->row;
        sums += height * pitch;
    }
#undef TILES
#undef TILE
}

/* The sums of `count` vectors' lanes to target; the upper half of the lanes is added to the lower, until one is
   left. */
static void TYPED(adjoint_sum_lanes)(int64_t count, ELEMENT *sums, ELEMENT *target) {
    for (int half = LANES / 2; half > 1; half /= 2) {
        for (int64_t k = 0; k < count; k++) {
            for (int i = 0; i < half; i++) sums[k * LANES + i] += sums[k * LANES + half + i];
        }
    }
    for (int64_t k = 0; k < count; k++) target[k] = sums[k * LANES] + sums[k * LANES + 1];
}

/* Adds to sums[i * pitch + j] the products of line i of a panel with column j of the cotangents, which are
   transposed: a row of `vectors` vectors for each place. `lines` and `vectors` are constants wherever this is
   inlined. */
ADJOINT_INLINE void TYPED(adjoint_outer_tile)(
    const int lines, const int vectors, const struct TYPED(adjoint_places) *at, const ELEMENT *ct, int64_t width,
    const ELEMENT *panel, const int64_t *offset, ELEMENT *sums, int64_t pitch) {
    VECTOR sum[2 * OUTER_LINES];
    const int64_t places = at->places;
    for (int i = 0; i < lines * vectors; i++) sum[i] = (VECTOR){0};
    for (int64_t image = 0; image < at->images; image++, panel += at->panel) {
        const ELEMENT *line[OUTER_LINES];
        for (int i = 0; i < lines; i++) line[i] = panel + offset[i];
        for (int64_t p = 0; p < places; p++, ct += width) {
            VECTOR given[2];
            for (int j = 0; j < vectors; j++) given[j] = TYPED(adjoint_load)(ct + j * LANES);
            for (int i = 0; i < lines; i++) {
                VECTOR element = line[i][p] - (VECTOR){0}; /* repeated over the lanes */
                for (int j = 0; j < vectors; j++) {
                    sum[i * vectors + j] = TYPED(adjoint_multiply_add)(element, given[j], sum[i * vectors + j]);
                }
            }
        }
    }
    for (int i = 0; i < lines; i++) {
        for (int j = 0; j < vectors; j++) {
            ELEMENT *to = sums + i * pitch + j * LANES;
            TYPED(adjoint_store)(to, TYPED(adjoint_load)(to) + sum[i * vectors + j]);
        }
    }
}

/* The same for any number of lines. */
static __attribute__((noinline)) void TYPED(adjoint_outer_tiles)(
    int64_t lines, int vectors, const struct TYPED(adjoint_places) *at, const ELEMENT *ct, int64_t width,
    const ELEMENT *panel, const int64_t *offset, ELEMENT *sums, int64_t pitch) {
#define TILE(height, vectors)                                                                                         \
    case 8 * height + vectors:                                                                                        \
        TYPED(adjoint_outer_tile)(height, vectors, at, ct, width, panel, offset, sums, pitch);                        \
        break
    while (lines > 0) {
        const int height = lines >= OUTER_LINES ? OUTER_LINES : lines >= 6 ? 6 : lines >= 3 ? 3 : 1;
        switch (8 * height + vectors) {
#if ADJOINT_ROWS == 14
            TILE(8, 2);
            TILE(8, 1);
#endif
            TILE(6, 2);
            TILE(6, 1);
            TILE(3, 2);
            TILE(3, 1);
            TILE(1, 2);
            TILE(1, 1);
        }
        lines -= height;
        offset += height;
        sums += height * pitch;
    }
#undef TILE
}

/* The cotangents of a part, transposed: for each `width` of `channels` channels, for each place a row of `width`. */
static void TYPED(adjoint_transpose_cotangents)(
    ELEMENT *target, const ELEMENT *ct, const struct TYPED(adjoint_part) *part, int64_t channels, int64_t width,
    int64_t area, int64_t next, int64_t columns) {
    const bool whole = part->columns == columns; /* rows: then they are one piece of memory */
    const int64_t rows = whole ? 1 : part->rows, length = whole ? part->rows * columns : part->columns;
    for (int64_t channel = 0; channel < channels; channel += width) {
        const int64_t height = channels - channel < width ? channels - channel : width;
        for (int64_t image = 0; image < part->images; image++) {
            for (int64_t row = 0; row < rows; row++, target += length * width) {
                TYPED(adjoint_copy_transposed)(
                    height, length, ct + image * next + channel * area + row * columns, area, target, width);
                for (int64_t p = 0; p < length && height + LANES <= width; p++) {
                    for (int64_t i = (height + LANES - 1) / LANES * LANES; i < width; i++) target[p * width + i] = 0;
                }
            }
        }
    }
}

/* Units begin..end of the gradient by the filters, summed in `blocks` blocks of pieces. A piece is at most
   image_block images, row_block rows, column_block columns of places; a unit is a block of pieces for one of `parts`
   parts of a group's channels x taps and result_block of its results' channels. `wide`: to
   sums[block][group][channel x tap][result's channel]; else to sums[block][filters]. */
static void TYPED(adjoint_correlate)(
    const ELEMENT *source, const ELEMENT *ct, ELEMENT *result, struct adjoint_convolution c, int64_t images,
    int64_t image_block, int64_t row_block, int64_t column_block, int64_t result_block, int64_t parts, int64_t blocks,
    int64_t shared, int64_t wide, int64_t begin, int64_t end) {
    _Alignas(64) ELEMENT panel[PANEL_ELEMENTS];
    _Alignas(64) ELEMENT local[RESULT_ELEMENTS];
    _Alignas(64) ELEMENT sums[SUM_ELEMENTS];
    int64_t offset[ADJOINT_TAPS];
    const struct adjoint_axis y = adjoint_axis_of(&c, 0, 0), x = adjoint_axis_of(&c, 1, 0);
    const int64_t source_area = y.size * x.size, area = y.places * x.places;
    const int64_t taps = y.taps * x.taps, k = c.sources * taps;
    const int64_t result_blocks = (c.results + result_block - 1) / result_block;
    const int64_t row_blocks = (y.places + row_block - 1) / row_block;
    const int64_t column_blocks = (x.places + column_block - 1) / column_block;
    const int64_t pieces = (images + image_block - 1) / image_block * row_blocks * column_blocks;
    const int64_t step = shared ? taps : 1, next = c.groups * c.results * area;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t rest = unit;
        const int64_t first = rest % result_blocks * result_block;
        const int64_t results = c.results - first < result_block ? c.results - first : result_block;
        rest /= result_blocks;
        const int64_t start = rest % parts * (k / step) / parts * step;
        const int64_t stop = (rest % parts + 1) * (k / step) / parts * step;
        rest /= parts;
        const int64_t group = rest % c.groups, block = rest / c.groups, lines = stop - start;
        const int64_t width = results > LANES ? 2 * LANES : LANES, pitch = (results + width - 1) / width * width;
        TYPED(adjoint_clear_along)(sums, lines * (wide ? pitch : results * LANES));
        for (int64_t piece = block * pieces / blocks; piece < (block + 1) * pieces / blocks; piece++) {
            const int64_t column = piece % column_blocks * column_block;
            const int64_t row = piece / column_blocks % row_blocks * row_block;
            const int64_t image = piece / column_blocks / row_blocks * image_block;
            const struct TYPED(adjoint_part) part = {
                source + (image * c.groups + group) * c.sources * source_area,
                source + images * c.groups * c.sources * source_area,
                images - image < image_block ? images - image : image_block,
                c.groups * c.sources * source_area,
                row, y.places - row < row_block ? y.places - row : row_block,
                column, x.places - column < column_block ? x.places - column : column_block};
            const ELEMENT *given = ct + image * next + (group * c.results + first) * area + row * x.places + column;
            struct TYPED(adjoint_places) at = {
                part.images, part.rows * part.columns,
                lines / step * TYPED(adjoint_panel_step)(&part, &y, &x, shared), next, area};
            TYPED(adjoint_offsets)(offset, &part, &y, &x, shared, start, stop);
            TYPED(adjoint_fill_panel)(panel, &part, &y, &x, shared, start, stop);
            if (wide) {
                TYPED(adjoint_transpose_cotangents)(local, given, &part, results, width, area, next, x.places);
                const ELEMENT *from = local;
                if (!shared) {
                    at.places *= part.images;
                    at.images = 1;
                }
                for (int64_t o = 0; o < results; o += width, from += at.images * at.places * width) {
                    TYPED(adjoint_outer_tiles)(
                        lines, results - o > LANES ? 2 : 1, &at, from, width, panel, offset, sums + o, pitch);
                }
                continue;
            }
            if (!shared || (part.rows > 1 && part.columns < x.places)) {
                ELEMENT *to = local;
                for (int64_t o = 0; o < results; o++) {
                    for (int64_t i = 0; i < part.images; i++) {
                        const ELEMENT *from = given + i * next + o * area;
                        for (int64_t r = 0; r < part.rows; r++, from += x.places, to += part.columns) {
                            memcpy(to, from, part.columns * sizeof *to);
                        }
                    }
                }
                given = local;
                at.places *= part.images;
                at.images = 1;
                at.row = at.places;
            }
            TYPED(adjoint_correlation_tiles)(results, lines, &at, given, panel, offset, sums);
        }
        ELEMENT *to = result + (block * c.groups + group) * c.results * k;
        if (wide) {
            to += start * c.results + first;
            for (int64_t i = 0; i < lines; i++) memcpy(to + i * c.results, sums + i * pitch, results * sizeof *to);
        } else {
            for (int64_t o = 0; o < results; o++) {
                TYPED(adjoint_sum_lanes)(lines, sums + o * lines * LANES, to + (first + o) * k + start);
            }
        }
    }
}

/* Units begin..end of what the blocks sum up to: result[group][i][row] is the sum over the blocks of
   sums[block][group][row][i], for `rows` rows and i < n. A unit is ADJOINT_SQUARE rows of a group. */
static void TYPED(adjoint_add_blocks)(
    const ELEMENT *sums, ELEMENT *result, int64_t groups, int64_t rows, int64_t n, int64_t blocks, int64_t begin,
    int64_t end) {
    const int64_t units = (rows + ADJOINT_SQUARE - 1) / ADJOINT_SQUARE, next = groups * rows * n;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t group = unit / units, row = unit % units * ADJOINT_SQUARE;
        const int64_t height = rows - row < ADJOINT_SQUARE ? rows - row : ADJOINT_SQUARE;
        for (int64_t i = 0; i < n; i += ADJOINT_SQUARE) {
            const int64_t width = n - i < ADJOINT_SQUARE ? n - i : ADJOINT_SQUARE;
            ELEMENT total[ADJOINT_SQUARE][ADJOINT_SQUARE];
            for (int64_t r = 0; r < height; r++) {
                const ELEMENT *from = sums + (group * rows + row + r) * n + i;
                for (int64_t j = 0; j < width; j++) total[r][j] = from[j];
                for (int64_t block = 1; block < blocks; block++) {
                    from += next;
                    for (int64_t j = 0; j < width; j++) total[r][j] += from[j];
                }
            }
            for (int64_t j = 0; j < width; j++) {
                ELEMENT *to = result + (group * n + i + j) * rows + row;
                for (int64_t r = 0; r < height; r++) to[r] = total[r][j];
            }
        }
    }
}

#undef LANES
#undef VECTOR
#undef PANEL_ELEMENTS
#undef RESULT_ELEMENTS
#undef FRAME_ELEMENTS
#undef SUM_ELEMENTS
#undef OUTER_LINES
