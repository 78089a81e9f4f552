/* grid.h -- the loops of grid.h for elements T; names end in E.
 * (aten/src/ATen/native/GridSampler.h, cpu/GridSamplerKernel.cpp) */
#define GR(name) GR_PASTE(name, E)

/* Taps of up to GRID_BLOCK points. */
typedef struct GR(table) {
    int taps;
    int64_t at[GR_TAPS][GRID_BLOCK]; /* places; 0 outside */
    T inside[GR_TAPS][GRID_BLOCK];   /* 1, or 0 outside */
    T w[GR_TAPS][GRID_BLOCK];
    T slope[3][GR_TAPS][GRID_BLOCK]; /* of the weight by coordinate */
} GR(table);

/* From [-1, 1] to places.  Two dimensions and three are rounded otherwise in PyTorch, too. */
GR_INLINE T GR(place)(const grid_job *j, int d, T v, T *slope)
{
    T size = (T)j->size[d], half = (j->align ? size - 1 : size) / 2;

    *slope = half;
    if (j->dims == 2)
        return j->align ? (v + 1) * half : (v + 1) * half - (T)0.5;
    return j->align ? (v + 1) / 2 * (size - 1) : ((v + 1) * size - 1) / 2;
}

/* Into the plane, for border and reflection.  *slope is that of the result, at and beyond the border 0. */
GR_INLINE T GR(pad)(const grid_job *j, int d, T v, T *slope)
{
    T last = (T)(j->size[d] - 1);

    if (j->padding == GRID_ZEROS)
        return v;
    if (j->padding == GRID_REFLECTION) {
        T low = j->align ? 0 : (T)-0.5, span = j->align ? last : last + 1, from = v - low;
        T far = from < 0 ? -from : from, over, back;
        if (span == 0) {
            *slope = 0;
            return 0;
        }
        over = far - (T)trunc((double)(far / (2 * span))) * 2 * span;
        back = 2 * span - over;
        *slope *= (from < 0) != (back < over) ? -1 : 1;
        v = (back < over ? back : over) + low;
    }
    if (v != v)
        v = j->dims == 2 ? 0 : last;
    *slope *= v > 0 && v < last;
    return v <= 0 ? 0 : v >= last ? last : v;
}

/* Tap k of point i at these coordinates. */
GR_INLINE void GR(tap)(const grid_job *j, GR(table) * t, int k, int i, const T *v)
{
    int64_t at = 0;
    bool inside = true;

    for (int d = j->dims - 1; d >= 0; d--)
        inside = inside && v[d] >= 0 && v[d] < (T)j->size[d];
    for (int d = j->dims - 1; inside && d >= 0; d--)
        at = at * j->size[d] + (int64_t)v[d];
    t->at[k][i] = at;
    t->inside[k][i] = inside;
}

GR_INLINE void GR(linear)(const grid_job *j, GR(table) * t, int i, const T *v, const T *mult)
{
    T low[3] = {0}, part[3] = {0};

    for (int d = 0; d < j->dims; d++) {
        low[d] = (T)floor((double)v[d]);
        part[d] = v[d] - low[d];
    }
    for (int k = 0; k < 1 << j->dims; k++) {
        T at[3], w[3], all = 1;
        for (int d = 0; d < j->dims; d++) {
            at[d] = low[d] + (T)(k >> d & 1);
            w[d] = k >> d & 1 ? part[d] : 1 - part[d];
            all *= w[d];
        }
        GR(tap)(j, t, k, i, at);
        t->w[k][i] = j->dims == 3 && t->inside[k][i] == 0 ? 0 : all;
        for (int d = 0; d < j->dims; d++) {
            T slope = k >> d & 1 ? mult[d] : -mult[d];
            for (int e = 0; e < j->dims; e++)
                slope *= e == d ? 1 : w[e];
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

GR_INLINE void GR(cubic)(const grid_job *j, GR(table) * t, int i, const T *v, const T *mult)
{
    T w[2][4], slope[2][4], low[2];

    for (int d = 0; d < 2; d++) {
        low[d] = (T)floor((double)v[d]);
        GR(weigh)(v[d] - low[d], w[d], slope[d]);
    }
    for (int k = 0; k < 16; k++) {
        int a = k & 3, b = k >> 2;
        T ignored = 1;
        const T at[2] = {GR(pad)(j, 0, low[0] - 1 + (T)a, &ignored),
                         GR(pad)(j, 1, low[1] - 1 + (T)b, &ignored)};
        GR(tap)(j, t, k, i, at);
        t->w[k][i] = w[0][a] * w[1][b];
        t->slope[0][k][i] = slope[0][a] * w[1][b] * mult[0];
        t->slope[1][k][i] = slope[1][b] * w[0][a] * mult[1];
    }
}

static void GR(fill)(const grid_job *j, GR(table) * t, int64_t image, int64_t from, int n)
{
    const T *grid = (const T *)j->grid + (image * j->points + from) * j->dims;

    t->taps = j->mode == GRID_NEAREST ? 1 : j->mode == GRID_CUBIC ? 16 : 1 << j->dims;
    for (int i = 0; i < n; i++) {
        T v[3], mult[3];
        for (int d = 0; d < j->dims; d++) {
            v[d] = GR(place)(j, d, grid[i * j->dims + d], &mult[d]);
            if (j->mode != GRID_CUBIC)
                v[d] = GR(pad)(j, d, v[d], &mult[d]);
        }
        if (j->mode == GRID_LINEAR)
            GR(linear)(j, t, i, v, mult);
        else if (j->mode == GRID_CUBIC)
            GR(cubic)(j, t, i, v, mult);
        else {
            for (int d = 0; d < j->dims; d++) {
                v[d] = (T)rint((double)v[d]);
                t->slope[d][0][i] = 0;
            }
            GR(tap)(j, t, 0, i, v);
            t->w[0][i] = 1;
        }
    }
}

static int GR(count)(const grid_job *j, int64_t block)
{
    int64_t left = j->points - block * GRID_BLOCK;
    return left < GRID_BLOCK ? (int)left : GRID_BLOCK;
}

GR_INLINE void GR(sum_taps)(const GR(table) * t, const T *x, T *y, int n, int taps)
{
    for (int i = 0; i < n; i++) {
        T s = 0;
        for (int k = 0; k < taps; k++) {
            T v = x[t->at[k][i]];
            s += (t->inside[k][i] != 0 ? v : 0) * t->w[k][i];
        }
        y[i] = s;
    }
}

static void GR(sample)(int64_t begin, int64_t end, void *user)
{
    const grid_job *j = user;
    GR(table) t;

    for (int64_t u = begin; u < end; u++) {
        int64_t image = u / j->blocks, block = u % j->blocks;
        int n = GR(count)(j, block);
        GR(fill)(j, &t, image, block * GRID_BLOCK, n);
        for (int64_t c = 0; c < j->channels; c++) {
            const T *x = (const T *)j->x + (image * j->channels + c) * j->places;
            T *y = (T *)j->out + (image * j->channels + c) * j->points + block * GRID_BLOCK;
            if (t.taps == 4)
                GR(sum_taps)(&t, x, y, n, 4);
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
            GR(fill)(j, &t, image, block * GRID_BLOCK, n);
            for (int64_t c = first; c < last; c++) {
                const T *g =
                    (const T *)j->grad + (image * j->channels + c) * j->points + block * GRID_BLOCK;
                T *y = (T *)j->out + (image * j->channels + c) * j->places;
                for (int i = 0; i < n; i++)
                    for (int k = 0; k < t.taps; k++)
                        if (t.inside[k][i] != 0)
                            y[t.at[k][i]] += t.w[k][i] * g[i];
            }
        }
    }
}

static void GR(grid_back)(int64_t begin, int64_t end, void *user)
{
    const grid_job *j = user;
    GR(table) t;

    for (int64_t u = begin; u < end; u++) {
        int64_t image = u / j->blocks, block = u % j->blocks;
        int n = GR(count)(j, block);
        T *y = (T *)j->out + (image * j->points + block * GRID_BLOCK) * j->dims;
        GR(fill)(j, &t, image, block * GRID_BLOCK, n);
        for (int i = 0; i < n * j->dims; i++)
            y[i] = 0;
        for (int64_t c = 0; c < j->channels; c++) {
            const T *x = (const T *)j->x + (image * j->channels + c) * j->places;
            const T *g =
                (const T *)j->grad + (image * j->channels + c) * j->points + block * GRID_BLOCK;
            for (int i = 0; i < n; i++)
                for (int k = 0; k < t.taps; k++) {
                    T v = t.inside[k][i] != 0 ? x[t.at[k][i]] * g[i] : 0;
                    for (int d = 0; d < j->dims; d++)
                        y[i * j->dims + d] += t.slope[d][k][i] * v;
                }
        }
    }
}
#undef GR
#undef T
#undef E
