/* iter.c -- builds an iterator in the same steps as PyTorch (aten/src/ATen/TensorIterator.cpp:
 * build).
 *
 * The caller owns the iterator, which borrows the tensors it was given.  State that is needed only
 * while the iterator is built is in a dpi_iter_plan on the stack. */
#include "nest.h"

/* -- operands -- */

static int check_config(const dp_iter_config *c, const dp_iter *it, dp_error *err)
{
    if (c->size < sizeof(*c) || it->size < sizeof(*it))
        return dp_error_set(
            err, DP_EPLUGIN,
            "dp_iter_config of %u bytes and dp_iter of %u, %zu and %zu are the least", c->size,
            it->size, sizeof(*c), sizeof(*it));
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
    if ((c->flags & DP_ITER_REDUCE) &&
        (c->shape != NULL || c->n_in == 0 || c->n_out == 0 || (c->flags & DP_ITER_NO_RESIZE)))
        return dp_error_set(err, DP_EPLUGIN,
                            "a reduction has inputs, outputs that resize, and no shape of its own");
    if (c->shape != NULL && (c->ndim < 0 || c->ndim > DP_DIM_MAX))
        return dp_error_set(err, DP_EPLUGIN, "a loop over %d dimensions; 0 to %d are possible",
                            c->ndim, DP_DIM_MAX);
    return DP_OK;
}

/* Set the four arrays of `it` for the operands: two lie in `pointers`, two in `dtypes`, each with
 * `capacity` elements. */
static inline void set_operand_arrays(dp_iter *it, void **pointers, dp_dtype *dtypes,
                                      size_t capacity)
{
    it->data = (char **)pointers;
    it->tensors = (dp_tensor **)(pointers + capacity);
    it->own = dtypes;
    it->seen = dtypes + capacity;
}

enum { INLINE_OPERANDS = DPI_COUNT(((dp_iter *)0)->operand_reserved) / 2 };

static int allocate_operand_arrays(dp_iter *it, dp_arena *a, dp_error *err)
{
    size_t n = (size_t)it->n;
    void **pointers = it->operand_reserved;

    if (n > INLINE_OPERANDS) {
        pointers = dp_arena_alloc_n(a, n, 2 * (sizeof(*pointers) + sizeof(dp_dtype)));
        if (pointers == NULL)
            return dpi_no_memory(err, "an elementwise loop");
        set_operand_arrays(it, pointers, (dp_dtype *)(pointers + 2 * n), n);
    } else {
        set_operand_arrays(it, pointers, it->dtype_reserved, INLINE_OPERANDS);
    }
    return DP_OK;
}

static inline void copy_config(const dp_iter_config *c, dp_iter *it)
{
    it->flags = c->flags;
    it->grain = c->grain > 0 ? c->grain : DPI_GRAIN;
    it->n_out = c->n_out;
    it->n = c->n_out + c->n_in;
}

static int start_plan(dpi_iter_plan *p, dp_arena *a, dp_error *err)
{
    const dp_iter_config *c = p->c;
    dp_iter *it = p->it;

    copy_config(c, it);
    int rc = allocate_operand_arrays(it, a, err);
    for (int k = 0; rc == DP_OK && k < it->n; k++) {
        dp_tensor *t = k < c->n_out ? c->outs[k] : c->ins[k - c->n_out];
        it->tensors[k] = t;
        p->geometry[k] = t != NULL ? dpi_geometry_of(t) : NULL;
        if (k < c->n_out)
            p->fresh[k] = NULL;
    }
    return rc;
}

static int check_overlaps(const dpi_iter_plan *p, dp_error *err)
{
    const dp_iter *it = p->it;

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

/* -- shape -- */

static bool has_shape(const dpi_geometry *g, int ndim, const int64_t *shape)
{
    return g->ndim == ndim && memcmp(g->sizes, shape, (size_t)ndim * sizeof(int64_t)) == 0;
}

static bool is_input(const dp_iter *it, const dp_tensor *t)
{
    for (int k = it->n_out; k < it->n; k++)
        if (it->tensors[k] == t)
            return true;
    return false;
}

/* Check the shape of output `k`, and mark the output for resizing if the shape is wrong.
 * DP_ERUNTIME: it is wrong, but DP_ITER_NO_RESIZE is set, or the output is also an input and so is
 * written in place. */
static int check_output(dpi_iter_plan *p, int k, dp_error *err)
{
    const dpi_geometry *g = p->geometry[k];
    char own_text[DP_SHAPE_TEXT], wanted[DP_SHAPE_TEXT];

    if (g == NULL || has_shape(g, p->out_ndim, p->out_shape))
        return DP_OK;
    if (!(p->c->flags & DP_ITER_NO_RESIZE) && !is_input(p->it, p->it->tensors[k])) {
        p->resize |= 1u << k;
        p->geometry[k] = NULL;
        return DP_OK;
    }
    return dp_error_set(err, DP_ERUNTIME,
                        "output with shape %s doesn't match the broadcast shape %s",
                        dp_shape_text(own_text, g->sizes, (size_t)g->ndim),
                        dp_shape_text(wanted, p->out_shape, (size_t)p->out_ndim));
}

/* Broadcast p's shape with the sizes of `g`, into p->shape_buffer. */
static int broadcast(dpi_iter_plan *p, const dpi_geometry *g, dp_error *err)
{
    int rc = dpi_broadcast_shapes(p->ndim, p->shape, g->ndim, g->sizes, p->shape_buffer, err);

    p->shape = p->shape_buffer;
    p->ndim = p->ndim > g->ndim ? p->ndim : g->ndim;
    return rc;
}

/* Use the shape given in the configuration.  Every operand must have the shape's number of
 * dimensions, and in each dimension at least the shape's size, or size 1. */
static int take_given_shape(dpi_iter_plan *p, dp_error *err)
{
    char own_text[DP_SHAPE_TEXT], wanted[DP_SHAPE_TEXT];

    p->ndim = p->c->ndim;
    p->shape = p->c->shape;
    p->same_shape = false;
    for (int k = 0; k < p->it->n; k++) {
        const dpi_geometry *g = p->geometry[k];
        bool fits = g != NULL && g->ndim == p->ndim;
        for (int d = 0; fits && d < p->ndim; d++)
            fits = g->sizes[d] >= p->shape[d] || g->sizes[d] == 1;
        if (!fits)
            return dp_error_set(err, DP_ERUNTIME, "operand %d of a loop over %s has shape %s", k,
                                dp_shape_text(wanted, p->shape, (size_t)p->ndim),
                                g ? dp_shape_text(own_text, g->sizes, (size_t)g->ndim)
                                  : "none as yet");
    }
    return DP_OK;
}

/* Broadcast the shapes of all operands that will not be resized. */
static int find_common_shape(dpi_iter_plan *p, dp_error *err)
{
    const dp_iter *it = p->it;
    bool with_outputs = it->n_out == it->n || (it->flags & DP_ITER_NO_RESIZE);
    int k = with_outputs ? 0 : it->n_out, rc;

    while (p->geometry[k] == NULL)
        k++; /* check_config() ensures that some operand has a geometry */
    p->ndim = p->geometry[k]->ndim;
    p->same_shape = !(it->flags & DP_ITER_NUMBER) || p->ndim == 0;
    p->shape = p->geometry[k]->sizes;
    for (k++; k < it->n; k++) {
        if (p->geometry[k] == NULL || has_shape(p->geometry[k], p->ndim, p->shape))
            continue;
        p->same_shape = false;
        if ((rc = broadcast(p, p->geometry[k], err)) < 0)
            return rc;
    }
    return DP_OK;
}

/* Set the outputs' shape: the shape without the reduced dimensions, or with size 1 there.  A tensor
 * without dimensions counts as having one. */
static int reduce_shape(dpi_iter_plan *p, dp_error *err)
{
    bool keepdim = (p->it->flags & DP_ITER_KEEPDIM) != 0;
    int n = p->ndim > 0 ? p->ndim : 1;
    uint64_t beyond = n < DP_DIM_MAX ? p->c->reduced >> n : 0;

    if (beyond != 0)
        return dp_error_set(err, DP_EINDEX, "dimension %d is to be reduced, but there are %d",
                            n + __builtin_ctzll(beyond), p->ndim);
    p->same_shape = false;
    p->out_ndim = 0;
    p->out_shape = p->out_shape_buffer;
    for (int d = 0; d < p->ndim; d++) {
        bool reduced = (p->c->reduced >> d & 1) != 0;
        if (!reduced || keepdim)
            p->out_shape_buffer[p->out_ndim++] = reduced ? 1 : p->shape[d];
    }
    return DP_OK;
}

static int find_shape(dpi_iter_plan *p, dp_error *err)
{
    int rc;

    if (p->c->shape != NULL)
        return take_given_shape(p, err);
    if ((rc = find_common_shape(p, err)) < 0)
        return rc;
    p->out_ndim = p->ndim;
    p->out_shape = p->shape;
    if ((p->it->flags & DP_ITER_REDUCE) && (rc = reduce_shape(p, err)) < 0)
        return rc;
    for (int k = 0; k < p->it->n_out; k++)
        if ((rc = check_output(p, k, err)) < 0)
            return rc;
    return DP_OK;
}

/* -- init -- */

static int build(dpi_iter_plan *p, dp_arena *a, dp_error *err)
{
    int rc = check_overlaps(p, err);

    if (rc == DP_OK)
        rc = find_shape(p, err);
    if (rc == DP_OK)
        rc = dpi_iter_devices(p, err);
    if (rc == DP_OK)
        rc = dpi_iter_dtypes(p, err);
    return rc == DP_OK ? dpi_iter_lay_out(p, a, err) : rc;
}

/* Give the outputs to the caller.  Only the first step can fail, so that a failure changes
 * nothing. */
static int deliver_outputs(dpi_iter_plan *p, dp_error *err)
{
    dp_iter *it = p->it;
    int rc = p->resize ? dpi_tensors_become(it->n_out, it->tensors, p->fresh, err) : DP_OK;

    if (rc < 0)
        return rc;
    for (int k = 0; k < it->n_out; k++)
        if (it->tensors[k] == NULL)
            p->c->outs[k] = it->tensors[k] = p->fresh[k];
    for (int k = 0; k < it->n; k++)
        it->data[k] = dpi_tensor_data(it->tensors[k]);
    it->resized = p->resize;
    return DP_OK;
}

/* -- plain loops need no plan: contiguous operands of one shape on the CPU, inputs of one dtype
 * -- */

/* If `t` is contiguous, on the CPU, no wrapper and not memoryless, and has dtype `dtype` and the
 * shape of the first input, `first`, set operand `k` to `t` and return true. */
static inline bool set_plain_operand(dp_iter *it, int k, dp_tensor *t, const dpi_geometry *first,
                                     dp_dtype dtype)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    const dpi_storage *s = g->storage;

    if (!g->contiguous || g->ndim != first->ndim || t->dtype != dtype ||
        s->device != DP_DEVICE_CPU || s->memoryless || s->kind != NULL)
        return false;
    for (int d = 0; d < g->ndim; d++)
        if (g->sizes[d] != first->sizes[d])
            return false;
    it->tensors[k] = t;
    it->data[k] = dpi_geometry_data(g, dtype);
    return true;
}

/* Tell whether `t` is not an input but shares its storage with one. */
static bool shares_input_storage(const dp_iter_config *c, const dp_tensor *t)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->ins[i] != t && dpi_storage_of(c->ins[i]) == dpi_storage_of(t))
            return true;
    return false;
}

/* Tell whether flags and dtypes allow a plain loop.  A plain loop cannot convert elements, and
 * cannot promote 0-dim inputs, for which type promotion has rules of its own. */
static bool is_plain(const dp_iter_config *c, const dp_tensor *first, dp_dtype written)
{
    dp_dtype wanted = dp_dtype_of(c->common_dtype);

    return c->shape == NULL && (c->flags & (DP_ITER_NUMBER | DP_ITER_REDUCE)) == 0 &&
           (wanted == DP_DTYPE_NONE || wanted == first->dtype) && dp_dtype_size(written) != 0 &&
           !((c->flags & DP_ITER_PROMOTE) && dpi_geometry_of(first)->ndim == 0) &&
           !((c->flags & DP_ITER_INT_TO_FLOAT) && dp_dtype_is_integral(first->dtype, true));
}

/* Set all operands that exist.  Returns false if set_plain_operand() refuses one, or an output
 * shares its storage with another tensor that is an input. */
static bool set_plain_operands(const dp_iter_config *c, dp_iter *it, dp_dtype written)
{
    const dpi_geometry *first = dpi_geometry_of(c->ins[0]);
    dp_dtype dtype = c->ins[0]->dtype;

    for (int i = 0; i < c->n_in; i++)
        if (!set_plain_operand(it, c->n_out + i, c->ins[i], first, dtype))
            return false;
    for (int k = 0; k < c->n_out; k++)
        if (c->outs[k] != NULL && (!set_plain_operand(it, k, c->outs[k], first, written) ||
                                   shares_input_storage(c, c->outs[k])))
            return false;
    return true;
}

static int make_plain(const dp_iter_config *c, dp_iter *it, dp_account *account, dp_dtype written,
                      dp_error *err)
{
    const dpi_geometry *first = dpi_geometry_of(c->ins[0]);
    dpi_target at = {DP_DEVICE_CPU, 0, account};
    uint32_t made = 0;
    int rc = DP_OK;

    for (int k = 0; rc == DP_OK && k < c->n_out; k++) {
        if (c->outs[k] != NULL)
            continue;
        rc = dpi_empty_strided(written, at, first->ndim, first->sizes, NULL, &c->outs[k], err);
        if (rc < 0)
            break;
        made |= 1u << k;
        it->tensors[k] = c->outs[k];
        it->data[k] = dpi_tensor_data(c->outs[k]);
    }
    for (int k = 0; rc < 0 && k < c->n_out; k++)
        if (made >> k & 1)
            c->outs[k] = dp_tensor_unref(c->outs[k]);
    return rc;
}

static int finish_plain(const dp_iter_config *c, dp_iter *it, dp_account *account, dp_dtype written,
                        dp_error *err)
{
    dp_dtype dtype = c->ins[0]->dtype;

    it->dtype = dtype;
    it->device = DP_DEVICE_CPU;
    it->memoryless = it->converts = false;
    it->resized = 0;
    dpi_iter_set_1d(it, dpi_geometry_of(c->ins[0])->numel);
    for (int k = 0; k < it->n; k++) {
        it->own[k] = it->seen[k] = k < it->n_out ? written : dtype;
        it->room[1 + k] = (int64_t)dpi_itemsize(it->own[k]);
        it->room[1 + it->n + k] = 0;
    }
    return make_plain(c, it, account, written, err);
}

/* Initialise a plain loop.  Returns false, and changes nothing outside of `it`, if the loop is not
 * plain; else `*rc` is the result. */
static bool init_plain(const dp_iter_config *c, dp_account *account, dp_iter *it, int *rc,
                       dp_error *err)
{
    dp_dtype written = dp_dtype_of(c->out_dtype);

    if (c->n_in == 0 || c->n_in + c->n_out > INLINE_OPERANDS)
        return false;
    if (written == DP_DTYPE_NONE)
        written = c->flags & DP_ITER_BOOL_OUTPUT ? DP_BOOL : c->ins[0]->dtype;
    if (!is_plain(c, c->ins[0], written))
        return false;
    copy_config(c, it);
    set_operand_arrays(it, it->operand_reserved, it->dtype_reserved, INLINE_OPERANDS);
    if (!set_plain_operands(c, it, written))
        return false;
    *rc = finish_plain(c, it, account, written, err);
    return true;
}

static int init_planned(const dp_iter_config *c, bool fake, dp_account *account, dp_arena *a,
                        dp_iter *it, dp_error *err)
{
    const dpi_geometry *geometry[DP_ITER_OPERANDS_MAX];
    dp_tensor *fresh[DP_ITER_OPERANDS_MAX];
    int64_t shape_buffer[DP_DIM_MAX], out_shape_buffer[DP_DIM_MAX];
    dpi_iter_plan p = {.c = c,
                       .it = it,
                       .fake = fake,
                       .account = account,
                       .geometry = geometry,
                       .fresh = fresh,
                       .shape_buffer = shape_buffer,
                       .out_shape_buffer = out_shape_buffer};
    int rc = start_plan(&p, a, err);

    if (rc < 0)
        return rc;
    rc = build(&p, a, err);
    if (rc == DP_OK)
        rc = deliver_outputs(&p, err);
    for (int k = 0; rc < 0 && k < it->n_out; k++)
        dp_tensor_unref(fresh[k]);
    return rc;
}

DPI_HOT int dpi_iter_init(const dp_iter_config *c, bool fake, dp_account *account, dp_arena *a,
                          dp_iter *it, dp_error *err)
{
    int rc = check_config(c, it, err);

    if (rc < 0 || (!fake && init_plain(c, account, it, &rc, err)))
        return rc;
    return init_planned(c, fake, account, a, it, err);
}
