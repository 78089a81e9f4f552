/* window_axis.c -- axes of windows and of taps: how they are made, completed, and transposed for
 * gradients (window.h). */
#include "window.h"
#include <string.h>

int wn_windows(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n)
{
    *a = (wn_axis){.in = in, .out = n, .windows = {.step = 1}};
    a->begin = dense_array(ctx, n, 2 * sizeof(int64_t));
    a->count = a->begin + n;
    return a->begin ? 0 : DP_ERESOURCE;
}

int wn_taps(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n, int64_t taps, size_t bytes)
{
    int rc = wn_windows(ctx, a, in, n);

    if (rc < 0)
        return rc;
    a->is_list = true;
    a->taps = (wn_list){.hop = 1, .list = dense_array(ctx, taps, sizeof(int32_t))};
    if (bytes > 0)
        a->taps.weights = dense_array(ctx, taps, bytes);
    return a->taps.list && (bytes == 0 || a->taps.weights) ? 0 : DP_ERESOURCE;
}

int wn_places(dp_ctx *ctx, wn_axis *a, int64_t in, int64_t n)
{
    int rc = wn_taps(ctx, a, in, n, n, 0);

    for (int64_t o = 0; rc == 0 && o < n; o++) {
        a->begin[o] = o;
        a->count[o] = 1;
    }
    return rc;
}

/* Test whether the windows at index `o` and at o + period are equal except for their position. */
static bool repeats(const wn_axis *a, int64_t o, int64_t period)
{
    return a->count[o] == a->count[o + period] &&
           a->begin[o + period] - a->begin[o] == a->windows.by;
}

/* Find the shortest period that holds for more than half of the elements, and set the range [from,
 * to) for which it holds, beginning in the middle, where windows are not cut off by the border. */
void wn_seal(wn_axis *a)
{
    wn_strides *w = &a->windows;

    w->from = w->to = 0;
    for (w->period = 1; w->period <= WN_PERIOD && 2 * w->period <= a->out; w->period++) {
        int64_t p = w->period, middle = (a->out - p) / 2;
        w->by = a->begin[middle + p] - a->begin[middle];
        w->from = middle + 1;
        w->to = middle;
        while (w->to + p < a->out && repeats(a, w->to, p))
            w->to++;
        while (w->from > 0 && repeats(a, w->from - 1, p))
            w->from--;
        w->to += p;
        if (2 * (w->to - w->from) > a->out)
            return;
    }
    w->from = w->to = 0;
}

int wn_same(dp_ctx *ctx, wn_axis *a, int64_t n)
{
    int rc = wn_windows(ctx, a, n, n);

    for (int64_t o = 0; rc == 0 && o < n; o++) {
        a->begin[o] = o;
        a->count[o] = 1;
    }
    if (rc == 0)
        wn_seal(a);
    return rc;
}

static void turn_windows(const wn_axis *a, wn_axis *t)
{
    int64_t begin = 0, end = 0;

    for (int64_t i = 0; i < a->in; i++) {
        while (begin < a->out && a->begin[begin] + a->count[begin] <= i)
            begin++;
        while (end < a->out && a->begin[end] <= i)
            end++;
        t->begin[i] = begin;
        t->count[i] = end > begin ? end - begin : 0;
    }
    wn_seal(t);
}

static void turn_list(const wn_axis *a, size_t bytes, wn_axis *t)
{
    int64_t at = 0;

    dp_zero_n(t->count, (size_t)a->in, sizeof(int64_t));
    for (int64_t o = 0; o < a->out; o++)
        for (int64_t k = 0; k < a->count[o]; k++)
            t->count[a->taps.list[a->begin[o] + k * a->taps.hop]]++;
    for (int64_t i = 0; i < a->in; at += t->count[i], i++)
        t->begin[i] = at;
    dp_zero_n(t->count, (size_t)a->in, sizeof(int64_t));
    for (int64_t o = 0; o < a->out; o++)
        for (int64_t k = 0; k < a->count[o]; k++) {
            int64_t tap = a->begin[o] + k * a->taps.hop, i = a->taps.list[tap];
            int64_t to = t->begin[i] + t->count[i]++;
            t->taps.list[to] = (int32_t)o;
            if (bytes > 0)
                memcpy((char *)t->taps.weights + (size_t)to * bytes,
                       (const char *)a->taps.weights + (size_t)tap * bytes, bytes);
        }
}

/* Find the range of elements in the middle that have one tap each, with ascending neighbouring
 * indices. */
static void seal_list(wn_axis *t)
{
    int64_t middle = t->out / 2;
#define ALONE(o)                                                                                   \
    (t->count[o] == 1 && t->taps.list[t->begin[o]] - t->taps.list[t->begin[middle]] == (o)-middle)

    t->taps.from = t->taps.to = 0;
    if (t->taps.weights != NULL || t->out == 0 || t->count[middle] != 1)
        return;
    for (t->taps.from = middle; t->taps.from > 0 && ALONE(t->taps.from - 1);)
        t->taps.from--;
    for (t->taps.to = middle + 1; t->taps.to < t->out && ALONE(t->taps.to);)
        t->taps.to++;
#undef ALONE
}

int wn_transposed(dp_ctx *ctx, const wn_axis *a, size_t bytes, wn_axis *transposed)
{
    int64_t taps = 0;

    bytes = wn_weights(a) ? bytes : 0;
    for (int64_t o = 0; a->is_list && o < a->out; o++)
        taps += a->count[o];
    int rc = a->is_list ? wn_taps(ctx, transposed, a->out, a->in, taps, bytes)
                        : wn_windows(ctx, transposed, a->out, a->in);
    if (rc < 0)
        return rc;
    if (a->is_list) {
        turn_list(a, bytes, transposed);
        seal_list(transposed);
    } else {
        turn_windows(a, transposed);
    }
    return 0;
}
