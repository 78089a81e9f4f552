/* nearest_pad_copy.c -- operators whose results are copies of elements of the input: nearest
 * neighbours and padding. */
#include "core/elements.h"
#include "window.h"

enum { WORTHWHILE = 1 << 16 }; /* number of bytes that take longer to copy than waking a thread */

typedef struct copying {
    const wn_axis *axes;
    const char *x;
    char *y;
    int64_t bytes; /* bytes of the elements at one position */
    int64_t from, to,
        /* along the width, positions [from, to) of the result are copies of the input's positions
         * from `rest` on */
        rest;
} copying;

/* Find the longest run of neighbouring positions. */
static void find_run(const wn_axis *a, copying *c)
{
    for (int64_t o = 0, end; o < a->out; o = end) {
        for (end = o + 1; end < a->out && a->taps.list[end] == a->taps.list[end - 1] + 1;)
            end++;
        if (end - o > c->to - c->from) {
            c->from = o;
            c->to = end;
            c->rest = a->taps.list[o];
        }
    }
}

static void copy_places(const copying *c, const int32_t *list, const char *x, char *y, int64_t from,
                        int64_t to)
{
#define CASE(size, type)                                                                           \
    case size:                                                                                     \
        for (int64_t o = from; o < to; o++)                                                        \
            ((type *)y)[o] = ((const type *)x)[list[o]];                                           \
        break;
    switch (c->bytes) {
        DP_DTYPE_SIZES(CASE)
    default:
        for (int64_t o = from; o < to; o++)
            memcpy(y + o * c->bytes, x + list[o] * c->bytes, (size_t)c->bytes);
    }
#undef CASE
}

static void copy_rows(int64_t begin, int64_t end, void *user)
{
    const copying *c = user;
    const wn_axis *depth = &c->axes[WN_DEPTH], *height = &c->axes[WN_HEIGHT],
                  *width = &c->axes[WN_WIDTH];
    int64_t in = width->in * c->bytes, out = width->out * c->bytes, last = -1;

    for (int64_t row = begin; row < end; row++) {
        int64_t y = row % height->out, z = row / height->out % depth->out,
                plane = row / height->out / depth->out;
        int64_t source =
            (plane * depth->in + depth->taps.list[z]) * height->in + height->taps.list[y];
        const char *from = c->x + source * in;
        char *to = c->y + row * out;
        if (source == last) {
            dp_copy_n(to, to - out, (size_t)width->out, (size_t)c->bytes);
            continue;
        }
        last = source;
        copy_places(c, width->taps.list, from, to, 0, c->from);
        dp_copy_n(to + c->from * c->bytes, from + c->rest * c->bytes, (size_t)(c->to - c->from),
                  (size_t)c->bytes);
        copy_places(c, width->taps.list, from, to, c->to, width->out);
    }
}

int wn_copy(dp_ctx *ctx, const wn_axis *axes, int64_t planes, int64_t bytes, const char *x, char *y)
{
    copying c = {.axes = axes, .x = x, .y = y, .bytes = bytes};
    int64_t rows = planes * axes[WN_DEPTH].out * axes[WN_HEIGHT].out,
            row = axes[WN_WIDTH].out * bytes;

    if (rows == 0 || row == 0)
        return 0;
    find_run(&axes[WN_WIDTH], &c);
    return dp_parallel_for(ctx, 0, rows, row < WORTHWHILE ? WORTHWHILE / row : 1, copy_rows, &c);
}
