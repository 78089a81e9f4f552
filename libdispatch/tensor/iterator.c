/* iterator.c -- elementwise loops: broadcast, promote, allocate outputs, then run over the pool
 * (aten/src/ATen/TensorIterator.cpp).
 *
 * An iterator is allocated in the call's arena and borrows the tensors it was given.  If the loop
 * computes in another dtype than an operand has, the operand is converted chunk by chunk. */
#include "room.h"

enum { CHUNK = 256 }; /* elements converted at a time: at most 4 KiB of stack for each operand */

struct dp_iter {
    uint32_t flags;
    int n_out, n; /* operands: outputs, then inputs */
    dp_dtype common;
    dp_device device;
    bool memoryless; /* some operand has no memory: the loop does not run */
    bool fake;       /* outputs become fakes */
    bool same;       /* every operand has the same shape */
    bool converts;   /* own and seen differ for some operand */
    dp_dtype own[DP_ITER_OPERANDS_MAX], seen[DP_ITER_OPERANDS_MAX]; /* in memory; by the loop */
    dp_tensor *tensors[DP_ITER_OPERANDS_MAX]; /* NULL: an output to be allocated */
    dp_tensor *fresh[DP_ITER_OPERANDS_MAX];   /* owned until init succeeds */
    bool resize[DP_ITER_OPERANDS_MAX];        /* an output of another shape, which is resized */
    int ndim;
    int64_t *shape; /* [ndim] */
    dpi_nest nest;
};

/* Operand k exists and keeps its shape: not an output still to be allocated or resized. */
static bool defined(const dp_iter *it, int k)
{
    return it->tensors[k] && !it->resize[k];
}

/* -- operands and shape -- */

static int check_config(const dp_iter_config *c, dp_error *err)
{
    if (c->size < sizeof(*c))
        return dp_error_set(err, DP_EPLUGIN, "dp_iter_config of %u bytes, %zu are the least",
                            c->size, sizeof(*c));
    if (c->n_out < 0 || c->n_in < 0 || c->n_out > DP_ITER_OPERANDS_MAX ||
        c->n_in > DP_ITER_OPERANDS_MAX - c->n_out || c->n_out + c->n_in == 0)
        return dp_error_set(err, DP_EPLUGIN,
                            "a loop over %d outputs and %d inputs; 1 to %d operands are possible",
                            c->n_out, c->n_in, DP_ITER_OPERANDS_MAX);
    if ((c->n_out > 0 && c->outs == NULL) || (c->n_in > 0 && c->ins == NULL))
        return dp_error_set(err, DP_EPLUGIN, "the %s of a loop are NULL",
                            c->n_out > 0 && c->outs == NULL ? "outputs" : "inputs");
    for (int i = 0; i < c->n_in; i++)
        if (c->ins[i] == NULL)
            return dp_error_set(err, DP_EPLUGIN, "input %d of a loop is NULL", i);
    if (c->n_in == 0 && c->outs[0] == NULL)
        return dp_error_set(err, DP_EPLUGIN, "a loop without inputs needs its output");
    return DP_OK;
}

static bool is_input(const dp_iter *it, const dp_tensor *t)
{
    for (int k = it->n_out; k < it->n; k++)
        if (it->tensors[k] == t)
            return true;
    return false;
}

static bool has_shape(const dp_iter *it, const dpi_geometry *g)
{
    return g->ndim == it->ndim &&
           memcmp(g->sizes, it->shape, (size_t)it->ndim * sizeof(int64_t)) == 0;
}

static int check_output(dp_iter *it, int k, dp_error *err)
{
    const dp_tensor *t = it->tensors[k];
    const dpi_geometry *g = t ? dpi_geometry_of(t) : NULL;
    char own[DP_SHAPE_TEXT], wanted[DP_SHAPE_TEXT];

    if (t == NULL || has_shape(it, g))
        return DP_OK;
    it->resize[k] = !is_input(it, t); /* one that is an input, too, is written in place */
    return it->resize[k] ? DP_OK
                         : dp_error_set(err, DP_ERUNTIME,
                                        "output with shape %s doesn't match the broadcast shape %s",
                                        dp_shape_text(own, g->sizes, (size_t)g->ndim),
                                        dp_shape_text(wanted, it->shape, (size_t)it->ndim));
}

static int find_shape(dp_iter *it, dp_error *err)
{
    int first = it->n > it->n_out ? it->n_out : 0, last = it->n > it->n_out ? it->n : 1, rc;
    const dpi_geometry *g = dpi_geometry_of(it->tensors[first]);

    it->same = true;
    it->ndim = g->ndim;
    memcpy(it->shape, g->sizes, (size_t)g->ndim * sizeof(int64_t));
    for (int k = first + 1; k < last; k++) {
        g = dpi_geometry_of(it->tensors[k]);
        if (has_shape(it, g))
            continue;
        it->same = false;
        rc = dpi_broadcast_shapes(it->ndim, it->shape, g->ndim, g->sizes, it->shape, err);
        if (rc < 0)
            return rc;
        it->ndim = it->ndim > g->ndim ? it->ndim : g->ndim;
    }
    for (int k = 0; k < it->n_out; k++)
        if ((rc = check_output(it, k, err)) < 0)
            return rc;
    return DP_OK;
}

static int check_overlaps(const dp_iter *it, dp_error *err)
{
    if (it->flags & DP_ITER_NO_OVERLAP_CHECK)
        return DP_OK;
    for (int o = 0; o < it->n_out; o++) {
        const dp_tensor *out = it->tensors[o];
        int rc = out ? dpi_overlap_check(out, NULL, err) : DP_OK;
        for (int k = it->n_out; out && rc == DP_OK && k < it->n; k++)
            rc = it->tensors[k] == out ? DP_OK : dpi_overlap_check(out, it->tensors[k], err);
        if (rc < 0)
            return rc;
    }
    return DP_OK;
}

/* -- device -- */

/* The device of the first operand that is not on the CPU; the CPU if all are. */
static void find_device(dp_iter *it)
{
    it->device = DP_DEVICE_CPU;
    for (int k = 0; k < it->n && it->device == DP_DEVICE_CPU; k++)
        if (it->tensors[k])
            it->device = dpi_storage_of(it->tensors[k])->device;
}

static int check_device(dp_iter *it, dp_error *err)
{
    char a[DP_KEY_NAME_MAX], b[DP_KEY_NAME_MAX];

    for (int k = 0; k < it->n; k++) {
        const dp_tensor *t = it->tensors[k];
        dp_device own = t ? dpi_storage_of(t)->device : it->device;
        if (own == it->device)
            continue;
        bool scalar = k >= it->n_out && dpi_geometry_of(t)->ndim == 0;
        if (scalar && own == DP_DEVICE_CPU)
            continue;
        return dp_error_set(err, DP_ERUNTIME,
                            "expected all tensors to be on the same device, but found at least "
                            "two, %s and %s",
                            dp_device_name(it->device, a), dp_device_name(own, b));
    }
    return DP_OK;
}

/* A loop needs host memory.  Without any it does not run, so any operands will do. */
static int check_memory(dp_iter *it, dp_error *err)
{
    char name[DP_KEY_NAME_MAX];
    int bit = dp_device_backend(it->device);
    dpi_device *d;

    it->memoryless = it->fake;
    for (int k = 0; k < it->n; k++) {
        const dpi_storage *s = it->tensors[k] ? dpi_storage_of(it->tensors[k]) : NULL;
        it->memoryless |= s != NULL && s->memoryless;
        it->fake |= s != NULL && s->fake;
        if (s != NULL && s->kind != NULL)
            return dpi_no_data(s, err);
    }
    if (bit == DP_B_CPU || it->memoryless)
        return DP_OK;
    int rc = dpi_device_enter(bit, &d, err);
    if (rc < 0)
        return rc;
    bool host = d->host;
    dpi_device_leave(d);
    for (int k = 0; k < it->n; k++)
        host &= it->tensors[k] == NULL || dpi_storage_of(it->tensors[k])->host;
    return host ? DP_OK
                : dp_error_set(err, DP_ERUNTIME,
                               "elementwise loops run on the host, which cannot reach the memory "
                               "of %s",
                               dp_device_name(it->device, name));
}

/* -- dtypes -- */

static int check_same_dtype(const dp_iter *it, dp_error *err)
{
    dp_dtype expected = it->tensors[it->n_out < it->n ? it->n_out : 0]->dtype;

    for (int k = 0; (it->flags & DP_ITER_SAME_DTYPE) && k < it->n; k++)
        if (it->tensors[k] && it->tensors[k]->dtype != expected)
            return dp_error_set(err, DP_ERUNTIME, "found dtype %s but expected %s",
                                dp_dtype_name(it->tensors[k]->dtype), dp_dtype_name(expected));
    return DP_OK;
}

static dp_dtype find_common(const dp_iter *it, dp_dtype wanted)
{
    const dp_tensor *first = it->tensors[it->n_out < it->n ? it->n_out : 0];
    dp_dtype d = wanted;

    if (d == DP_DTYPE_NONE)
        d = it->flags & DP_ITER_PROMOTE && it->n > it->n_out
                ? dp_result_type(&it->tensors[it->n_out], (size_t)(it->n - it->n_out))
                : first->dtype;
    bool to_float = (it->flags & DP_ITER_PROMOTE) && (it->flags & DP_ITER_INT_TO_FLOAT);
    return to_float && dp_dtype_is_integral(d, true) ? DP_FLOAT32 : d;
}

/* For an output given by the caller whose dtype is not the one that the loop writes. */
static int check_cast(const dp_iter *it, dp_dtype written, dp_dtype own, dp_error *err)
{
    if ((it->flags & DP_ITER_CAST_OUTPUTS) && dp_can_cast(written, own))
        return DP_OK;
    return dp_error_set(err, DP_ERUNTIME, "result type %s can't be cast to the %s output type %s",
                        dp_dtype_name(written),
                        it->flags & DP_ITER_CAST_OUTPUTS ? "desired" : "given", dp_dtype_name(own));
}

static int check_dtypes(dp_dtype common, dp_dtype written, dp_error *err)
{
    if (dp_dtype_size(common) == 0)
        return dp_error_set(err, DP_ETYPE,
                            "a loop is to compute in dtype number %d, which no dtype has", common);
    if (dp_dtype_size(written) == 0)
        return dp_error_set(err, DP_ETYPE,
                            "a loop over %s is to write dtype number %d, which no dtype has",
                            dp_dtype_name(common), written);
    return DP_OK;
}

static int find_dtypes(dp_iter *it, const dp_iter_config *c, dp_error *err)
{
    /* one: the loop sees all inputs as one dtype; otherwise each as its own */
    dp_dtype common = dp_dtype_of(c->common_dtype), written = dp_dtype_of(c->out_dtype);
    bool one = common != DP_DTYPE_NONE || (c->flags & DP_ITER_PROMOTE);
    bool checked = one || written != DP_DTYPE_NONE || (c->flags & DP_ITER_CAST_OUTPUTS);
    int rc = check_same_dtype(it, err);

    it->common = find_common(it, common);
    if (written == DP_DTYPE_NONE)
        written = it->common;
    if (rc == DP_OK)
        rc = check_dtypes(it->common, written, err);
    for (int k = 0; rc == DP_OK && k < it->n; k++) {
        bool out = k < it->n_out;
        it->own[k] = it->tensors[k] ? it->tensors[k]->dtype : written;
        it->seen[k] = out ? (checked ? written : it->own[k]) : one ? it->common : it->own[k];
        if (it->own[k] == it->seen[k])
            continue;
        it->converts = true;
        if (out)
            rc = check_cast(it, written, it->own[k], err);
    }
    return rc;
}

/* -- layout -- */

/* If all operands have the same dense layout, the loop is one run over the elements in memory
 * order. *strides: those for outputs to be allocated; NULL: contiguous. */
static bool lies_alike(const dp_iter *it, int64_t *buffer, const int64_t **strides)
{
    const dpi_geometry *last = NULL;
    bool contiguous = true, channels_last = true, alike = true;

    for (int k = 0; it->same && k < it->n; k++) {
        if (!defined(it, k))
            continue;
        const dpi_geometry *g = dpi_geometry_of(it->tensors[k]);
        contiguous &= g->contiguous;
        channels_last &= g->channels_last;
        alike &= g->dense && (last == NULL || dpi_same_strides(last, g));
        last = g;
    }
    *strides = NULL;
    if (!it->same || !(contiguous || channels_last || alike))
        return false;
    if (contiguous)
        return true;
    *strides = channels_last ? buffer : last->strides;
    if (channels_last)
        dpi_strides_format(it->ndim, it->shape, DP_CHANNELS_LAST, buffer, NULL);
    return true;
}

static void one_run(dp_iter *it)
{
    it->nest.ndim = 1;
    it->nest.sizes[0] = it->nest.numel;
    for (int k = 0; k < it->n; k++)
        it->nest.strides[k] = (int64_t)dpi_itemsize(it->own[k]);
}

/* Set the nest's strides of operand k, in elements; 0 where it is broadcast. */
static void fill_strides(dp_iter *it, int k, const dpi_geometry *g)
{
    for (int i = 0; i < it->nest.ndim; i++) { /* i counts from the last dimension */
        int d = g->ndim - 1 - i;
        bool steps = d >= 0 && (g->sizes[d] != 1 || it->shape[it->ndim - 1 - i] == 1);
        it->nest.strides[i * it->n + k] = steps ? g->strides[d] : 0;
    }
}

/* Dense strides in the inputs' order of dimensions.  perm: from dpi_nest_order(). */
static void output_strides(const dp_iter *it, const int *perm, int64_t *strides)
{
    int64_t next = 1;

    for (int i = 0; i < it->ndim; i++) {
        int d = it->ndim - 1 - perm[i];
        strides[d] = next;
        next *= it->shape[d];
    }
}

static int allocate(dp_iter *it, const int64_t *strides, dp_error *err)
{
    for (int k = 0; k < it->n_out; k++) {
        if (defined(it, k))
            continue;
        bool packed = strides == NULL && !it->resize[k]; /* then it is checked when it is made */
        int rc = packed ? DP_OK : dpi_packed_check(it->own[k], it->ndim, it->shape, err);
        if (rc == DP_OK)
            rc = it->resize[k] ? dpi_reshaped(it->tensors[k], it->ndim, it->shape, strides,
                                              &it->fresh[k], err)
                               : dp_tensor_new(it->own[k], it->device | (it->fake ? DPI_FAKE : 0),
                                               it->ndim, it->shape, strides, &it->fresh[k], err);
        if (rc < 0)
            return rc;
    }
    return DP_OK;
}

/* From elements to bytes; the stride of a size of 1 is never used and becomes 0. */
static void scale_strides(dp_iter *it)
{
    for (int i = 0; i < it->nest.ndim; i++)
        for (int k = 0; k < it->n; k++) {
            int64_t *s = &it->nest.strides[i * it->n + k];
            *s = it->nest.sizes[i] > 1 ? *s * (int64_t)dp_dtype_size(it->own[k]) : 0;
        }
}

static int lay_out_in_general(dp_iter *it, dp_error *err)
{
    int64_t strides[DP_DIM_MAX];
    int perm[DP_DIM_MAX];
    dpi_nest *nest = &it->nest;

    nest->ndim = it->ndim ? it->ndim : 1;
    nest->sizes[0] = 1;
    for (int i = 0; i < it->ndim; i++)
        nest->sizes[i] = it->shape[it->ndim - 1 - i];
    memset(nest->strides, 0, (size_t)(nest->ndim * it->n) * sizeof(int64_t));
    for (int k = 0; k < it->n; k++)
        if (defined(it, k))
            fill_strides(it, k, dpi_geometry_of(it->tensors[k]));
    bool row_major = dpi_nest_order(nest, perm);
    output_strides(it, perm, strides);
    int rc = allocate(it, row_major ? NULL : strides, err);
    if (rc < 0 || nest->numel == 0)
        return rc;
    for (int k = 0; k < it->n_out; k++)
        for (int i = 0; it->fresh[k] && i < it->ndim; i++)
            nest->strides[i * it->n + k] =
                dpi_geometry_of(it->fresh[k])->strides[it->ndim - 1 - perm[i]];
    scale_strides(it);
    dpi_nest_coalesce(nest);
    return DP_OK;
}

static int lay_out(dp_iter *it, dp_error *err)
{
    int64_t buffer[DP_DIM_MAX];
    const int64_t *strides;
    int rc = dpi_sizes_check(it->ndim, it->shape, &it->nest.numel, err);

    if (rc < 0)
        return rc;
    if (!lies_alike(it, buffer, &strides))
        return lay_out_in_general(it, err);
    one_run(it);
    return allocate(it, strides, err);
}

/* -- init -- */

static int max_ndim(const dp_iter_config *c)
{
    int n = 1;

    for (int i = 0; i < (c->n_in ? c->n_in : 1); i++) {
        int ndim = dpi_geometry_of(c->n_in ? c->ins[i] : c->outs[0])->ndim;
        n = ndim > n ? ndim : n;
    }
    return n;
}

static dp_iter *iter_new(const dp_iter_config *c, dp_arena *a)
{
    int n = c->n_out + c->n_in;
    size_t ndim = (size_t)max_ndim(c);
    dp_iter *it = dp_arena_alloc(a, sizeof(*it) + ndim * (size_t)(n + 2) * sizeof(int64_t));

    if (it == NULL)
        return NULL;
    it->flags = c->flags; /* the struct is not cleared: most of it is for operands not in use */
    it->n_out = c->n_out;
    it->n = n;
    it->converts = false;
    for (int k = 0; k < n; k++) {
        it->tensors[k] = k < c->n_out ? c->outs[k] : c->ins[k - c->n_out];
        it->fresh[k] = NULL;
        it->resize[k] = false;
    }
    it->shape = (int64_t *)(it + 1);
    it->nest.n_ops = n;
    it->nest.sizes = it->shape + ndim;
    it->nest.strides = it->nest.sizes + ndim;
    return it;
}

static int build(dp_iter *it, const dp_iter_config *c, dp_error *err)
{
    int rc = check_overlaps(it, err);

    find_device(it);
    if (rc == DP_OK)
        rc = check_device(it, err);
    if (rc == DP_OK)
        rc = check_memory(it, err);
    if (rc == DP_OK)
        rc = find_shape(it, err);
    if (rc == DP_OK)
        rc = find_dtypes(it, c, err);
    return rc == DP_OK ? lay_out(it, err) : rc;
}

/* Give the outputs to the caller.  First comes the last step that can fail. */
static int hand_out(dp_iter *it, const dp_iter_config *c, dp_error *err)
{
    int rc = dpi_tensors_become(it->n_out, it->tensors, it->fresh, err);

    if (rc < 0)
        return rc;
    for (int k = 0; k < it->n_out; k++)
        if (it->tensors[k] == NULL)
            c->outs[k] = it->tensors[k] = it->fresh[k];
    for (int k = 0; k < it->n; k++)
        it->nest.data[k] = dpi_tensor_data(it->tensors[k]);
    return DP_OK;
}

int dpi_iter_init(const dp_iter_config *c, bool fake, dp_arena *a, dp_iter **out, dp_error *err)
{
    int rc = check_config(c, err);

    if (rc < 0)
        return rc;
    dp_iter *it = iter_new(c, a);
    if (it == NULL)
        return dpi_no_memory(err, "an elementwise loop");
    it->fake = fake;
    rc = build(it, c, err);
    if (rc == DP_OK)
        rc = hand_out(it, c, err);
    for (int k = 0; rc < 0 && k < it->n_out; k++)
        dp_tensor_unref(it->fresh[k]);
    if (rc == DP_OK)
        *out = it;
    return rc;
}

const dpi_geometry *dpi_iter_resized(const dp_iter *it, int k)
{
    const dpi_geometry *former =
        it->resize[k] ? dpi_former_of(dpi_geometry_of(it->tensors[k])) : NULL;

    return former != NULL && former->numel > 0 ? former : NULL;
}

dp_dtype dp_iter_dtype(const dp_iter *it)
{
    return it->common;
}

int64_t dp_iter_numel(const dp_iter *it)
{
    return it->nest.numel;
}

/* Nothing to free: the memory is the arena's, the tensors are the caller's. */
void dp_iter_fini(dp_iter *it)
{
    (void)it;
}

/* -- running -- */

typedef struct job {
    const dp_iter *it;
    dp_iter_loop loop;
    void *user;
} job;

/* Convert n elements of input k into buf.  If its stride is 0, its one element. */
static void load(const dp_iter *it, int k, char *const *data, int64_t *stride, int64_t n, char *buf)
{
    int64_t bytes = (int64_t)dp_dtype_size(it->seen[k]);

    dpi_run_copy(it->seen[k], buf, bytes, it->own[k], data[k], *stride, *stride ? n : 1);
    *stride = *stride ? bytes : 0;
}

/* One run: for each chunk, convert the inputs, run the loop, convert the outputs back. */
static void run_converted(char *const *data, const int64_t *strides, int64_t n, void *arg)
{
    _Alignas(64) char buf[DP_ITER_OPERANDS_MAX][CHUNK * DPI_ITEM_MAX];
    const job *j = arg;
    const dp_iter *it = j->it;
    char *at[DP_ITER_OPERANDS_MAX], *seen[DP_ITER_OPERANDS_MAX];
    int64_t steps[DP_ITER_OPERANDS_MAX];

    memcpy(at, data, (size_t)it->n * sizeof(char *));
    for (int64_t m; n > 0; n -= m) {
        m = n < CHUNK ? n : CHUNK;
        for (int k = 0; k < it->n; k++) {
            bool converted = it->own[k] != it->seen[k];
            seen[k] = converted ? buf[k] : at[k];
            steps[k] = strides[k];
            if (converted && k >= it->n_out)
                load(it, k, at, &steps[k], m, buf[k]);
            else if (converted)
                steps[k] = (int64_t)dp_dtype_size(it->seen[k]);
        }
        j->loop(seen, steps, m, j->user);
        for (int k = 0; k < it->n; k++) {
            if (k < it->n_out && it->own[k] != it->seen[k])
                dpi_run_copy(it->own[k], at[k], strides[k], it->seen[k], buf[k], steps[k], m);
            at[k] += m * strides[k];
        }
    }
}

static void run_range(int64_t begin, int64_t end, void *arg)
{
    job *j = arg;

    if (j->it->converts)
        dpi_nest_run(&j->it->nest, begin, end, run_converted, j);
    else
        dpi_nest_run(&j->it->nest, begin, end, j->loop, j->user);
}

int dpi_iter_run(dp_iter *it, int max_threads, dp_iter_loop loop, void *user, const dpi_stop *stop,
                 dp_error *err)
{
    job j = {it, loop, user};
    int bit = dp_device_backend(it->device), rc;
    dpi_device *d;

    if (it->memoryless || it->nest.numel == 0)
        return DP_OK;
    if ((rc = dpi_device_enter(bit, &d, err)) < 0)
        return rc;
    if (it->nest.numel < 2 * DPI_GRAIN)
        run_range(0, it->nest.numel, &j);
    else
        rc = dpi_pool_run(max_threads, 0, it->nest.numel, DPI_GRAIN, run_range, &j, stop);
    dpi_device_leave(d);
    return rc;
}
