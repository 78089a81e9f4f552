/* multinomial.c -- multinomial, which draws indices with given weights
 * (aten/src/ATen/native/Distributions.cpp). */
#include "draw.h"
#include "core/pack.h"
#include "core/dense.h"
#include "core/elements.h"
#include <stdlib.h>

typedef struct choice {
    int64_t rows, n, samples;
    dp_dtype dtype;
} choice;

static int check_choice(dp_ctx *ctx, dp_tensor *self, int64_t samples, bool replacement, choice *c)
{
    DP_VIEW(x, self);

    if (x.ndim < 1 || x.ndim > 2)
        return dp_fail(ctx, DP_ERUNTIME, "prob_dist must be 1 or 2 dim");
    if (!dp_dtype_is_floating(x.dtype))
        return dp_fail(ctx, DP_ERUNTIME,
                       "multinomial only supports floating-point dtypes for input, got: %s",
                       dense_type_name(x.dtype));
    if (x.dtype == DP_FLOAT16)
        return dp_fail(ctx, DP_ERUNTIME, "multinomial is not implemented for half on CPU");
    *c = (choice){x.ndim == 2 ? x.sizes[0] : 1, x.sizes[x.ndim - 1], samples, x.dtype};
    if (replacement && x.dtype == DP_BFLOAT16)
        c->dtype = DP_FLOAT32; /* sums are computed in float32 */
    if (samples <= 0)
        return dp_fail(ctx, DP_ERUNTIME, "cannot sample n_sample <= 0 samples");
    if (!replacement && samples > c->n)
        return dp_fail(ctx, DP_ERUNTIME,
                       "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    if (c->n > 1 << 24)
        return dp_fail(ctx, DP_ERUNTIME, "number of categories cannot exceed 2^24");
    return 0;
}

/* Set cumulated [n] to the cumulative sums of p [n], divided by the total, rounded to p's dtype;
 * the last one is set to 1. */
static int cumulate(dp_ctx *ctx, const choice *c, const double *p, double *cumulated)
{
    double sum = 0;

    for (int64_t j = 0; j < c->n; j++) {
        if (p[j] < 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "invalid multinomial distribution (encountering probability entry < 0)");
        if (!isfinite(p[j]))
            return dp_fail(ctx, DP_ERUNTIME,
                           "invalid multinomial distribution (encountering probability entry = "
                           "infinity or NaN)");
        sum = draw_rounded(sum + p[j], c->dtype);
        cumulated[j] = sum;
    }
    if (!(sum > 0))
        return dp_fail(ctx, DP_ERUNTIME,
                       "invalid multinomial distribution (sum of probabilities <= 0)");
    for (int64_t j = 0; j < c->n; j++)
        cumulated[j] = draw_rounded(cumulated[j] / sum, c->dtype);
    if (c->n > 0)
        cumulated[c->n - 1] = 1;
    return 0;
}

/* Draw out [rows, samples] with replacement, by binary search in the cumulative sums. */
static int with_replacement(dp_ctx *ctx, const choice *c, const double *p, int64_t *out)
{
    double *sums = dense_array(ctx, c->n, sizeof(double)), u;
    int rc = sums != NULL ? 0 : DP_ERESOURCE;

    for (int64_t row = 0; rc == 0 && row < c->rows; row++) {
        rc = cumulate(ctx, c, p + row * c->n, sums);
        for (int64_t i = 0; rc == 0 && i < c->samples; i++) {
            int64_t low = 0, high = c->n;
            rc = draw_uniform64(ctx, NULL, &u, 1);
            while (low < high) {
                int64_t mid = low + (high - low) / 2;
                if (sums[mid] < u)
                    low = mid + 1;
                else
                    high = mid;
            }
            out[row * c->samples + i] = low;
        }
    }
    return rc;
}

/* A category in a draw without replacement: its score is p[i] divided by an exponential number, and
 * the categories with the greatest scores are drawn. */
typedef struct racer {
    double score;
    int64_t at;
} racer;

static int compare(const void *x, const void *y)
{
    const racer *a = x, *b = y;

    if (a->score != b->score)
        return a->score > b->score || isnan(a->score) ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

static int check_row(dp_ctx *ctx, const double *p, int64_t n)
{
    double sum = 0;

    for (int64_t j = 0; j < n; j++) {
        if (!(p[j] >= 0 && p[j] < INFINITY))
            return dp_fail(ctx, DP_ERUNTIME,
                           "probability tensor contains either `inf`, `nan` or element < 0");
        sum += p[j];
    }
    if (sum == 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "invalid multinomial distribution (sum of probabilities <= 0)");
    return 0;
}

static int race(dp_ctx *ctx, const choice *c, const double *p, int64_t *out)
{
    draw d = {.make = draw_exponential, .made = DP_FLOAT64, .a = 1};
    racer *racers = dense_array(ctx, c->n, sizeof(*racers));
    int rc = racers != NULL ? 0 : DP_ERESOURCE;
    double q;

    for (int64_t row = 0; rc == 0 && row < c->rows; row++)
        rc = check_row(ctx, p + row * c->n, c->n);
    for (int64_t row = 0; rc == 0 && row < c->rows; row++) {
        for (int64_t j = 0; rc == 0 && j < c->n; j++) {
            rc = draw_exponential(ctx, &d, &q, 1);
            q = draw_rounded(q, c->dtype);
            racers[j] = (racer){draw_rounded(p[row * c->n + j] / q, c->dtype), j};
        }
        qsort(racers, (size_t)c->n, sizeof(*racers), compare);
        for (int64_t i = 0; rc == 0 && i < c->samples; i++)
            out[row * c->samples + i] = racers[i].at;
    }
    return rc;
}

static int choose(dp_ctx *ctx, dp_tensor *self, const choice *c, bool replacement, dp_generator *g,
                  dp_tensor *out)
{
    pack p = {.ctx = ctx};
    dp_tensor *made = NULL;
    const double *wide = pack_get(&p, self, DP_FLOAT64);
    DP_VIEW(o, out);
    int64_t *chosen = pack_new(&p, DP_INT64, o.ndim, o.sizes, &made);

    if (p.rc == 0)
        p.rc = dp_generator_enter(ctx, g, o.device);
    if (p.rc == 0) {
        p.rc = !replacement ? race(ctx, c, wide, chosen) : with_replacement(ctx, c, wide, chosen);
        dp_generator_leave(ctx);
    }
    if (p.rc == 0)
        p.rc = dp_copy(ctx, out, made);
    return pack_end(&p);
}

static int run_multinomial(dp_ctx *ctx, dp_tensor *self, int64_t samples, bool replacement,
                           dp_generator *g, dp_tensor **out)
{
    dp_tensor *given = *out;
    choice c = {0};
    int rc = check_choice(ctx, self, samples, replacement, &c);
    DP_VIEW(x, self);
    int64_t sizes[2] = {x.ndim == 2 ? c.rows : samples, samples};

    if (rc == 0)
        rc = dp_set_output(ctx, out, x.ndim, sizes, NULL, DP_INT64, x.device);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    DP_VIEW(o, *out);
    if (!dp_memoryless(ctx) && o.numel > 0)
        rc = choose(ctx, self, &c, replacement, g, *out);
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator?
 * generator=None) -> Tensor
 */
static int multinomial(dp_ctx *ctx, dp_tensor *self, int64_t samples, bool replacement,
                       dp_generator *g, dp_tensor **out)
{
    *out = NULL;
    return run_multinomial(ctx, self, samples, replacement, g, out);
}

/* aten::multinomial.out(Tensor self, int num_samples, bool replacement=False, *, Generator?
 *     generator=None, Tensor(a!) out) -> Tensor(a!) */
static int multinomial_out(dp_ctx *ctx, dp_tensor *self, int64_t samples, bool replacement,
                           dp_generator *g, dp_tensor *out)
{
    return run_multinomial(ctx, self, samples, replacement, g, &out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("multinomial", multinomial, (T, i, b, og), (T)),
                DP_IMPL_UNBOXED("multinomial.out", multinomial_out, (T, i, b, og, T), ()))
