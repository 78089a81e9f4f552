/* grid_sampler.h -- template of the loops of grid_sampler for elements of type T; E is the suffix
 * of T (aten/src/ATen/native/GridSampler.h, cpu/GridSamplerKernel.cpp). */
#define GR(name) GR_PASTE(name, E)

/* The taps of GRID_BLOCK points.  The inner index is the point, so that loops over points are
 * vectorized. */
typedef struct GR(table) {
    int taps;                        /* number of taps of a point */
    int32_t at[GR_TAPS][GRID_BLOCK]; /* indices in the plane; valid even if the tap is outside */
    T inside[GR_TAPS][GRID_BLOCK];   /* 1 if the tap is inside the plane, else 0 */
    T w[GR_TAPS][GRID_BLOCK];        /* weights */
    T slope[3][GR_TAPS][GRID_BLOCK]; /* derivatives of the weight by the coordinates */
} GR(table);

/* Convert coordinates `v` of dimension `d` from [-1, 1] to indices, and set `slope` to the
 * derivatives of the indices.  Two and three dimensions are rounded differently, as in PyTorch. */
GR_INLINE void GR(place)(const grid_job *j, int d, T *v, T *slope)
{
    const T size = (T)j->size[d], half = (j->align ? size - 1 : size) / 2;

    for (int i = 0; i < GRID_BLOCK; i++) {
        slope[i] = half;
        if (j->dims == 2)
            v[i] = j->align ? (v[i] + 1) * half : (v[i] + 1) * half - (T)0.5;
        else
            v[i] = j->align ? (v[i] + 1) / 2 * (size - 1) : ((v[i] + 1) * size - 1) / 2;
    }
}

GR_INLINE void GR(reflect)(const grid_job *j, int d, T *v, T *slope)
{
    const T last = (T)(j->size[d] - 1), low = j->align ? 0 : (T)-0.5,
            span = j->align ? last : last + 1;

    for (int i = 0; i < GRID_BLOCK; i++) {
        T from = v[i] - low, far = from < 0 ? -from : from;
        T over = span > 0 ? far - GR_TRUNC(far / (2 * span)) * (2 * span) : 0,
          back = 2 * span - over;
        slope[i] *= span > 0 ? (from < 0) != (back < over) ? -1 : 1 : 0;
        v[i] = span > 0 ? (back < over ? back : over) + low : 0;
    }
}

/* Move coordinates `v` of dimension `d` into the plane, for border and reflection padding.  `slope`
 * is multiplied by the derivative of the result, which is 0 at and beyond the border. */
GR_INLINE void GR(pad)(const grid_job *j, int d, T *v, T *slope)
{
    const T last = (T)(j->size[d] - 1), none = j->dims == 2 ? 0 : last;

    if (j->padding == GRID_ZEROS)
        return;
    if (j->padding == GRID_REFLECTION)
        GR(reflect)(j, d, v, slope);
    for (int i = 0; i < GRID_BLOCK; i++) {
        T x = v[i] != v[i] ? none : v[i];
        slope[i] = (x > 0) & (x < last) ? slope[i] : 0;
        v[i] = x <= 0 ? 0 : x >= last ? last : x;
    }
}

/* Set `at` and `inside` of tap `k` of all points from its integer coordinates `v`. */
GR_INLINE void GR(tap)(const grid_job *j, GR(table) * t, int k, T (*v)[GRID_BLOCK], int dims)
{
    int32_t *at = t->at[k];
    T *inside = t->inside[k];

    for (int i = 0; i < GRID_BLOCK; i++) {
        at[i] = 0;
        inside[i] = 1;
    }
    for (int d = dims - 1; d >= 0; d--) {
        const T size = (T)j->size[d], *place = v[d];
        const int32_t step = (int32_t)j->size[d];
        for (int i = 0; i < GRID_BLOCK; i++) {
            bool within = (place[i] >= 0) & (place[i] < size);
            at[i] = at[i] * step + (int32_t)(within ? place[i] : 0);
            inside[i] = within ? inside[i] : 0;
        }
    }
}

GR_INLINE void GR(linear)(const grid_job *j, GR(table) * t, T (*v)[GRID_BLOCK],
                          T (*mult)[GRID_BLOCK], int dims, bool slopes)
{
    T low[3][GRID_BLOCK], at[3][GRID_BLOCK], part[3][2][GRID_BLOCK];

    for (int d = 0; d < dims; d++)
        for (int i = 0; i < GRID_BLOCK; i++) {
            low[d][i] = GR_FLOOR(v[d][i]);
            part[d][1][i] = v[d][i] - low[d][i];
            part[d][0][i] = 1 - part[d][1][i];
        }
    for (int k = 0; k < 1 << dims; k++) {
        const T *w[3];
        for (int d = 0; d < dims; d++) {
            w[d] = part[d][k >> d & 1];
            for (int i = 0; i < GRID_BLOCK; i++)
                at[d][i] = low[d][i] + (T)(k >> d & 1);
        }
        GR(tap)(j, t, k, at, dims);
        for (int i = 0; i < GRID_BLOCK; i++) {
            T all = dims == 3 ? w[0][i] * w[1][i] * w[2][i] : w[0][i] * w[1][i];
            t->w[k][i] = dims == 3 && t->inside[k][i] == 0 ? 0 : all;
        }
        for (int d = 0; slopes && d < dims; d++)
            for (int i = 0; i < GRID_BLOCK; i++) {
                T slope = k >> d & 1 ? mult[d][i] : -mult[d][i];
                for (int e = 0; e < dims; e++)
                    slope *= e == d ? 1 : w[e][i];
                t->slope[d][k][i] = t->inside[k][i] == 0 ? 0 : slope;
            }
    }
}

/* Source: get_cubic_upsample_coefficients, get_cubic_coefficients_grad */
GR_INLINE void GR(weigh)(T t, T *w, T *slope)
{
    const T A = (T)-0.75;
    T x = t + 1;

    w[0] = ((A * x - 5 * A) * x + 8 * A) * x - 4 * A;
    slope[0] = (3 * A * x - 10 * A) * x + 8 * A;
    w[1] = ((A + 2) * t - (A + 3)) * t * t + 1;
    slope[1] = (3 * (A + 2) * t - 2 * (A + 3)) * t;
    x = 1 - t;
    w[2] = ((A + 2) * x - (A + 3)) * x * x + 1;
    slope[2] = -((3 * (A + 2) * x - 2 * (A + 3)) * x);
    x = 2 - t;
    w[3] = ((A * x - 5 * A) * x + 8 * A) * x - 4 * A;
    slope[3] = -((3 * A * x - 10 * A) * x + 8 * A);
}

GR_INLINE void GR(cubic)(const grid_job *j, GR(table) * t, T (*v)[GRID_BLOCK],
                         T (*mult)[GRID_BLOCK])
{
    T w[2][4][GRID_BLOCK], slope[2][4][GRID_BLOCK], at[2][4][GRID_BLOCK], both[2][GRID_BLOCK];
    T ignored[GRID_BLOCK] = {0};

    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < GRID_BLOCK; i++) {
            T low = GR_FLOOR(v[d][i]), own[4], change[4];
            GR(weigh)(v[d][i] - low, own, change);
            for (int a = 0; a < 4; a++) {
                w[d][a][i] = own[a];
                slope[d][a][i] = change[a] * mult[d][i];
                at[d][a][i] = low + (T)(a - 1);
            }
        }
        for (int a = 0; a < 4; a++)
            GR(pad)(j, d, at[d][a], ignored);
    }
    for (int k = 0; k < 16; k++) {
        int a = k & 3, b = k >> 2;
        memcpy(both[0], at[0][a], sizeof(both[0]));
        memcpy(both[1], at[1][b], sizeof(both[1]));
        GR(tap)(j, t, k, both, 2);
        for (int i = 0; i < GRID_BLOCK; i++) {
            t->w[k][i] = w[0][a][i] * w[1][b][i];
            t->slope[0][k][i] = slope[0][a][i] * w[1][b][i];
            t->slope[1][k][i] = slope[1][b][i] * w[0][a][i];
        }
    }
}

/* Set the taps of `n` <= GRID_BLOCK points, from point `from` on; the remainder of the table gets
 * the taps of points at (0, 0).  `slopes`: set the derivatives, too. */
static void GR(fill)(const grid_job *j, GR(table) * t, int64_t image, int64_t from, int n,
                     bool slopes)
{
    const T *grid = (const T *)j->grid + (image * j->points + from) * j->dims;
    T v[3][GRID_BLOCK] = {{0}}, mult[3][GRID_BLOCK];

    t->taps = j->mode == GRID_NEAREST ? 1 : j->mode == GRID_CUBIC ? 16 : 1 << j->dims;
    for (int d = 0; d < j->dims; d++) {
        for (int i = 0; i < n; i++)
            v[d][i] = grid[i * j->dims + d];
        GR(place)(j, d, v[d], mult[d]);
        if (j->mode != GRID_CUBIC)
            GR(pad)(j, d, v[d], mult[d]);
        for (int i = 0; j->mode == GRID_NEAREST && i < GRID_BLOCK; i++) {
            v[d][i] = GR_RINT(v[d][i]);
            t->slope[d][0][i] = 0;
        }
    }
    if (j->mode == GRID_CUBIC) {
        GR(cubic)(j, t, v, mult);
    } else if (j->mode == GRID_LINEAR && j->dims == 2) {
        slopes ? GR(linear)(j, t, v, mult, 2, true) : GR(linear)(j, t, v, mult, 2, false);
    } else if (j->mode == GRID_LINEAR) {
        slopes ? GR(linear)(j, t, v, mult, 3, true) : GR(linear)(j, t, v, mult, 3, false);
    } else {
        GR(tap)(j, t, 0, v, j->dims);
        for (int i = 0; i < GRID_BLOCK; i++)
            t->w[0][i] = 1;
    }
}

static int GR(count)(const grid_job *j, int64_t block)
{
    int64_t left = j->points - block * GRID_BLOCK;
    return left < GRID_BLOCK ? (int)left : GRID_BLOCK;
}

GR_INLINE void GR(sum_taps)(const GR(table) *restrict t, const T *restrict x, T *restrict y, int n,
                            int taps)
{
    T sum[GRID_BLOCK];

    for (int i = 0; i < GRID_BLOCK; i++) {
        T s = 0;
        for (int k = 0; k < taps; k++) {
            const T v =
                x[t->at[k][i]]; /* loaded even if it is not used: vector code has no branches */
            s += (t->inside[k][i] != 0 ? v : 0) * t->w[k][i];
        }
        sum[i] = s;
    }
    dp_copy_n(y, sum, (size_t)n, sizeof(T));
}

static void GR(sample)(int64_t begin, int64_t end, void *user)
{
    const grid_job *j = user;
    GR(table) t;

    for (int64_t u = begin; u < end; u++) {
        int64_t image = u / j->blocks, block = u % j->blocks;
        int n = GR(count)(j, block);
        GR(fill)(j, &t, image, block * GRID_BLOCK, n, false);
        for (int64_t c = 0; c < j->channels; c++) {
            const T *x = (const T *)j->x + (image * j->channels + c) * j->places;
            T *y = (T *)j->out + (image * j->channels + c) * j->points + block * GRID_BLOCK;
            if (t.taps == 4)
                GR(sum_taps)(&t, x, y, n, 4);
            else if (t.taps == 8)
                GR(sum_taps)(&t, x, y, n, 8);
            else if (t.taps == 1)
                GR(sum_taps)(&t, x, y, n, 1);
            else
                GR(sum_taps)(&t, x, y, n, t.taps);
        }
    }
}

static void GR(input_back)(int64_t begin, int64_t end, void *user)
{
    const grid_job *j = user;
    GR(table) t;

    for (int64_t u = begin; u < end; u++) {
        int64_t image = u / j->groups, first = u % j->groups * GRID_GROUP;
        int64_t last = first + GRID_GROUP < j->channels ? first + GRID_GROUP : j->channels;
        for (int64_t block = 0; block < j->blocks; block++) {
            int n = GR(count)(j, block);
            GR(fill)(j, &t, image, block * GRID_BLOCK, n, false);
            for (int64_t c = first; c < last; c++) {
                const T *g = (const T *)j->grad + (image * j->channels + c) * j->points;
                T *y = (T *)j->out + (image * j->channels + c) * j->places;
                g += block * GRID_BLOCK;
                /* the inner loop is over taps, because several points may have the same index */
                for (int i = 0; i < n; i++)
                    for (int k = 0; k < t.taps; k++)
                        if (t.inside[k][i] != 0)
                            y[t.at[k][i]] += t.w[k][i] * g[i];
            }
        }
    }
}

/* Add to sums[k][i] the product of g[i] and the input element at tap `k` of point i, even if the
 * tap is outside the plane. */
GR_INLINE void GR(add_dots)(const GR(table) *restrict t, const T *restrict x, const T *restrict g,
                            T (*restrict sums)[GRID_BLOCK], int taps)
{
    for (int k = 0; k < taps; k++)
        for (int i = 0; i < GRID_BLOCK; i++)
            sums[k][i] += x[t->at[k][i]] * g[i];
}

/* Set `y` to the gradient of the coordinates of `n` points.  `sums` are the sums of add_dots() over
 * all channels. */
static void GR(give_slopes)(const grid_job *j, const GR(table) * t, T (*sums)[GRID_BLOCK], T *y,
                            int n)
{
    for (int d = 0; d < j->dims; d++) {
        T all[GRID_BLOCK] = {0};
        for (int k = 0; k < t->taps; k++)
            for (int i = 0; i < GRID_BLOCK; i++)
                all[i] += t->inside[k][i] != 0 ? t->slope[d][k][i] * sums[k][i] : 0;
        for (int i = 0; i < n; i++)
            y[i * j->dims + d] = all[i];
    }
}

static void GR(grid_back)(int64_t begin, int64_t end, void *user)
{
    const grid_job *j = user;
    GR(table) t;

    for (int64_t u = begin; u < end; u++) {
        int64_t image = u / j->blocks, block = u % j->blocks;
        int n = GR(count)(j, block);
        T sums[GR_TAPS][GRID_BLOCK] = {{0}}, g[GRID_BLOCK] = {0};
        GR(fill)(j, &t, image, block * GRID_BLOCK, n, true);
        for (int64_t c = 0; c < j->channels; c++) {
            const T *x = (const T *)j->x + (image * j->channels + c) * j->places;
            const T *from = (const T *)j->grad + (image * j->channels + c) * j->points;
            dp_copy_n(g, from + block * GRID_BLOCK, (size_t)n, sizeof(T));
            if (t.taps == 4)
                GR(add_dots)(&t, x, g, sums, 4);
            else
                GR(add_dots)(&t, x, g, sums, t.taps);
        }
        GR(give_slopes)
        (j, &t, sums, (T *)j->out + (image * j->points + block * GRID_BLOCK) * j->dims, n);
    }
}
#undef GR
#undef GR_FLOOR
#undef GR_TRUNC
#undef GR_RINT
#undef T
#undef E
