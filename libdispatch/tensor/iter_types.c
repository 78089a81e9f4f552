/* iter_types.c -- finds and checks the device and the dtypes of a loop
 * (aten/src/ATen/TensorIterator.cpp: compute_types). */
#include "nest.h"

/* -- device -- */

/* Find the device of the first operand that is not on the CPU; the CPU if all operands are there.
 * `*one_device`: all operands that exist are on that device. */
static dp_device find_device(const dp_iter *it, bool *one_device)
{
    dp_device found = DP_DEVICE_CPU;
    bool cpu = false;

    *one_device = true;
    for (int k = 0; k < it->n; k++) {
        if (it->tensors[k] == NULL)
            continue;
        dp_device own = dpi_storage_of(it->tensors[k])->device;
        cpu |= own == DP_DEVICE_CPU;
        if (found == DP_DEVICE_CPU)
            found = own;
        *one_device &= own == found;
    }
    *one_device &= !cpu || found == DP_DEVICE_CPU;
    return found;
}

static int check_devices(const dp_iter *it, dp_error *err)
{
    char a[DP_KEY_NAME_MAX], b[DP_KEY_NAME_MAX];
    int scalars = 0;

    for (int k = 0; k < it->n; k++) {
        const dp_tensor *t = it->tensors[k];
        dp_device own = t ? dpi_storage_of(t)->device : it->device;
        if (own == it->device)
            continue;
        bool scalar = k >= it->n_out && dpi_geometry_of(t)->ndim == 0 && own == DP_DEVICE_CPU;
        if (scalar && (it->flags & DP_ITER_CPU_SCALARS)) {
            if (dp_tensor_is_wrapped(t) || ++scalars == 1) /* wrapped numbers do not count */
                continue;
            return dp_error_set(err, DP_ERUNTIME,
                                "Trying to pass too many CPU scalars to non-CPU kernel!");
        }
        return dp_error_set(err, DP_ERUNTIME,
                            "Expected all tensors to be on the same device, but found at least two "
                            "devices, %s and %s!",
                            dp_device_name(it->device, a), dp_device_name(own, b));
    }
    return DP_OK;
}

/* Check that all operands have host memory, which loops need.  If an operand is memoryless, the
 * loop will not run, and all pass except wrappers.  Sets it->memoryless and p->fake. */
static int check_memory(dpi_iter_plan *p, dp_error *err)
{
    dp_iter *it = p->it;
    char name[DP_KEY_NAME_MAX];
    dpi_device *d;

    it->memoryless = p->fake;
    for (int k = 0; k < it->n; k++) {
        const dpi_storage *s = it->tensors[k] ? dpi_storage_of(it->tensors[k]) : NULL;
        if (s == NULL)
            continue;
        it->memoryless |= s->memoryless;
        p->fake |= s->fake;
        if (s->kind != NULL)
            return dpi_no_data(s, err);
    }
    if (it->device == DP_DEVICE_CPU || it->memoryless)
        return DP_OK;
    int rc = dpi_device_enter(dp_device_backend(it->device), &d, err);
    if (rc < 0)
        return rc;
    bool host = d->host;
    dpi_device_leave(d);
    for (int k = 0; k < it->n; k++)
        host &= it->tensors[k] == NULL || dpi_storage_of(it->tensors[k])->host;
    return host ? DP_OK
                : dp_error_set(err, DP_ERUNTIME,
                               "elementwise loops run on the host, which cannot reach the memory "
                               "of %s; for a loop on the device, dp_result_type(), "
                               "dp_broadcast_shapes() and dp_set_output() give dtype, sizes and "
                               "output",
                               dp_device_name(it->device, name));
}

int dpi_iter_devices(dpi_iter_plan *p, dp_error *err)
{
    bool one_device;
    int rc = DP_OK;

    p->it->device = find_device(p->it, &one_device);
    if (!one_device && !(p->c->flags & DP_ITER_ANY_DEVICE))
        rc = check_devices(p->it, err);
    return rc == DP_OK ? check_memory(p, err) : rc;
}

/* -- dtypes -- */

/* Return the first input, or, if there are no inputs, the first output. */
static const dp_tensor *first_of(const dp_iter *it)
{
    return it->tensors[it->n_out < it->n ? it->n_out : 0];
}

static int check_same(const dp_iter *it, dp_error *err)
{
    dp_dtype expected = first_of(it)->dtype;

    for (int k = 0; k < it->n; k++)
        if (it->tensors[k] && it->tensors[k]->dtype != expected)
            return dp_error_set(err, DP_ERUNTIME, "Found dtype %s but expected %s",
                                dp_dtype_name(it->tensors[k]->dtype), dp_dtype_name(expected));
    return DP_OK;
}

/* Return the common dtype of the inputs.  If all dtypes are equal, it is that dtype, except for
 * 0-dim inputs: wrapped numbers among them are promoted as numbers. */
static dp_dtype promoted(const dpi_iter_plan *p)
{
    const dp_iter *it = p->it;
    dp_dtype first = first_of(it)->dtype;
    bool differ = p->ndim == 0;

    for (int k = it->n_out; !differ && k < it->n; k++)
        differ = it->tensors[k]->dtype != first;
    return differ && it->n_out < it->n
               ? dp_result_type(it->tensors + it->n_out, (size_t)(it->n - it->n_out))
               : first;
}

static dp_dtype find_common(const dpi_iter_plan *p)
{
    dp_dtype d = dp_dtype_of(p->c->common_dtype);
    uint32_t flags = p->c->flags;

    if (d == DP_DTYPE_NONE)
        d = flags & DP_ITER_PROMOTE ? promoted(p) : first_of(p->it)->dtype;
    bool to_float = (flags & DP_ITER_PROMOTE) && (flags & DP_ITER_INT_TO_FLOAT);
    return to_float && dp_dtype_is_integral(d, true) ? DP_FLOAT32 : d;
}

/* Check output dtype `own`, given by the caller, which differs from `written`, the loop's dtype. */
static int check_cast(const dp_iter *it, dp_dtype written, dp_dtype own, dp_error *err)
{
    bool casts = (it->flags & DP_ITER_CAST_OUTPUTS) != 0;

    bool quantized = dp_dtype_is_quantized(written) || dp_dtype_is_quantized(own);

    if (casts && !quantized && dp_can_cast(written, own))
        return DP_OK;
    return dp_error_set(err, DP_ERUNTIME, "result type %s can't be cast to the %s output type %s",
                        dp_dtype_name(written), casts ? "desired" : "given", dp_dtype_name(own));
}

static int check_numbers(const dpi_iter_plan *p, dp_dtype common, dp_dtype written, dp_error *err)
{
    if (common == DP_DTYPE_NONE && first_of(p->it) != NULL)
        return dp_error_set(
            err, DP_ERUNTIME,
            "the inputs have no common dtype, and one is quantized: the first is %s",
            dp_dtype_name(first_of(p->it)->dtype));
    if (dp_dtype_size(common) == 0)
        return dp_error_set(err, DP_ETYPE,
                            "a loop is to compute in dtype number %d, which no dtype has", common);
    if (dp_dtype_size(written) == 0)
        return dp_error_set(err, DP_ETYPE,
                            "a loop over %s is to write dtype number %d, which no dtype has",
                            dp_dtype_name(common), written);
    return DP_OK;
}

int dpi_iter_dtypes(dpi_iter_plan *p, dp_error *err)
{
    dp_iter *it = p->it;
    uint32_t flags = it->flags;
    dp_dtype wanted = dp_dtype_of(p->c->common_dtype), written = dp_dtype_of(p->c->out_dtype);

    if (written == DP_DTYPE_NONE && (flags & DP_ITER_BOOL_OUTPUT))
        written = DP_BOOL;
    /* inputs_common: the loop sees all inputs in one dtype.  outputs_common: it writes all outputs
     * in one dtype. */
    bool inputs_common = wanted != DP_DTYPE_NONE || (flags & DP_ITER_PROMOTE);
    bool outputs_common =
        inputs_common || written != DP_DTYPE_NONE || (flags & DP_ITER_CAST_OUTPUTS);
    int rc = outputs_common || (flags & DP_ITER_ANY_DTYPE) ? DP_OK : check_same(it, err);
    it->dtype = find_common(p);
    if (written == DP_DTYPE_NONE)
        written = it->dtype;
    if (rc == DP_OK)
        rc = check_numbers(p, it->dtype, written, err);
    for (int k = 0; rc == DP_OK && k < it->n; k++) {
        bool out = k < it->n_out;
        it->own[k] = it->tensors[k] ? it->tensors[k]->dtype : written;
        it->seen[k] = out             ? (outputs_common ? written : it->own[k])
                      : inputs_common ? it->dtype
                                      : it->own[k];
        if (it->own[k] == it->seen[k])
            continue;
        p->dtypes_differ = true;
        if (out)
            rc = check_cast(it, written, it->own[k], err);
    }
    it->converts = p->dtypes_differ && !(flags & DP_ITER_LOOP_CASTS);
    return rc;
}
