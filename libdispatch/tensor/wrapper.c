/* wrapper.c -- tensors made of tensors: wrapper tensors, which have a kind, parts (tensors,
 * integers, doubles) and a layout, and no memory.
 *
 * A wrapper cannot contain itself.  Its depth (dpi_parts.depth) is computed when it is made, is
 * greater than that of each of its parts, and never changes; dpi_wrapper_become() refuses parts
 * that would need a greater depth.  So every part has a smaller depth than its wrapper. */
#include "base/kind.h"
#include "room.h"
#include <dispatchd/dispatch.h>

static int over_limit(dp_error *err, const char *what, const char *name, uint32_t got,
                      uint32_t limit)
{
    dp_error_set(err, DP_ERESOURCE, "a wrapper tensor has at most %u %s (%s), not %u", limit, what,
                 name, got);
    return dp_error_limit(DP_ERESOURCE, name, limit, got);
}

static int check_number(const char *what, uint32_t n, dp_error *err)
{
    return n <= DP_LIMIT_WRAPPER_PARTS
               ? DP_OK
               : over_limit(err, what, "wrapper_parts", n, DP_LIMIT_WRAPPER_PARTS);
}

static int check_kind(const char *kind, dp_error *err)
{
    size_t n = kind != NULL ? strlen(kind) : 0;
    bool good = n > 0 && n <= DP_LIMIT_NAME_BYTES;

    for (size_t i = 0; good && i < n; i++)
        good = (unsigned)(kind[i] | 32) - 'a' < 26 || (unsigned)kind[i] - '0' < 10 ||
               strchr("_.:-", kind[i]) != NULL;
    return good ? DP_OK
                : dp_error_set(err, DP_EVALUE,
                               "a wrapper tensor's kind is a name of 1 to %d letters, digits and "
                               "_.:-, not '%.*s'",
                               DP_LIMIT_NAME_BYTES, DP_LIMIT_NAME_BYTES, kind ? kind : "");
}

/* Check that `keys` has no kind's key except that of w's own kind.  `kind`: slot of w's kind
 * (kind.h); -1: the kind is not registered, so no kind's key is allowed. */
static int check_foreign_kinds(const dp_wrapper *w, dp_keyset keys, int kind, dp_error *err)
{
    uint64_t own = kind >= 0 ? dpi_key_bit(dpi_kind_key(kind)) : 0;
    uint64_t foreign = keys.functionality & DPI_KIND_BITS & ~own;
    char text[400];

    return foreign == 0
               ? DP_OK
               : dp_error_set(err, DP_EVALUE,
                              "a wrapper tensor of kind '%s' has the key of another kind: %s",
                              w->kind,
                              dp_keyset_print((dp_keyset){foreign, 0}, text, sizeof(text)));
}

/* Return w->keys with the key of w's kind, which has slot `kind`; -1: the kind has no key. */
static dp_keyset with_kind(const dp_wrapper *w, int kind)
{
    dp_keyset keys = w->keys;

    if (kind >= 0)
        keys.functionality |= dpi_key_bit(dpi_kind_key(kind));
    return keys;
}

static int check_keys(const dp_wrapper *w, int kind, dp_error *err)
{
    char text[400];
    dp_keyset keys = with_kind(w, kind);
    int rc = check_foreign_kinds(w, keys, kind, err);

    if (rc < 0)
        return rc;
    if (keys.functionality & DPI_BIT(Dense))
        return dp_error_set(err, DP_EVALUE,
                            "the keys of a wrapper tensor of kind '%s' include Dense, which no "
                            "wrapper tensor may have: Dense kernels read a tensor's memory, and it "
                            "has none; got %s",
                            w->kind, dp_keyset_print(keys, text, sizeof(text)));
    if (keys.functionality == 0)
        return dp_error_set(err, DP_EVALUE,
                            "a wrapper tensor of kind '%s', which no loaded plugin names by "
                            "DP_WRAPPER_KIND, needs keys of its own: set .keys to those whose "
                            "kernels take it apart",
                            w->kind);
    return DP_OK;
}

static uint32_t depth_of(const dp_tensor *t)
{
    const dpi_parts *p = dpi_geometry_of(t)->parts;

    return p != NULL ? p->depth : 0;
}

/* Check the parts, and set `*depth` to the depth of the wrapper. */
static int check_parts(const dp_wrapper *w, uint32_t *depth, dp_error *err)
{
    if (check_number("tensors", w->n_tensors, err) < 0 ||
        check_number("integers", w->n_ints, err) < 0 ||
        check_number("doubles", w->n_doubles, err) < 0)
        return DP_ERESOURCE;
    if (w->n_tensors == 0 || w->tensors == NULL)
        return dp_error_set(err, DP_EVALUE, "a wrapper tensor of kind '%s' is made of no tensor",
                            w->kind);
    const char *missing = w->n_ints > 0 && w->ints == NULL         ? "integers"
                          : w->n_doubles > 0 && w->doubles == NULL ? "doubles"
                          : w->ndim > 0 && w->sizes == NULL        ? "sizes"
                                                                   : NULL;
    if (missing != NULL)
        return dp_error_set(err, DP_EVALUE,
                            "a wrapper tensor of kind '%s' says that it has %s: they are NULL",
                            w->kind, missing);
    *depth = 1;
    for (uint32_t i = 0; i < w->n_tensors; i++) {
        if (w->tensors[i] == NULL)
            return dp_error_set(err, DP_EVALUE, "tensor %u of a wrapper of kind '%s' is NULL", i,
                                w->kind);
        uint32_t inner = depth_of(w->tensors[i]);
        *depth = inner >= *depth ? inner + 1 : *depth;
    }
    return *depth <= DP_LIMIT_WRAPPER_DEPTH
               ? DP_OK
               : over_limit(err, "levels", "wrapper_depth", *depth, DP_LIMIT_WRAPPER_DEPTH);
}

/* Make the parts of a wrapper.  NULL: out of memory. */
static dpi_parts *parts_new(const dp_wrapper *w, uint32_t depth)
{
    dpi_parts p = {.version = w->version,
                   .n_tensors = w->n_tensors,
                   .n_ints = w->n_ints,
                   .n_doubles = w->n_doubles,
                   .layout = w->layout,
                   .depth = depth,
                   .tensors = w->tensors,
                   .ints = w->ints,
                   .doubles = w->doubles};

    return dpi_parts_copy(&p);
}

static int check(const dp_wrapper *w, int kind, dpi_layout *l, uint32_t *depth, dp_error *err)
{
    int rc = w->size > 0 ? check_kind(w->kind, err)
                         : dp_error_set(err, DP_EVALUE,
                                        "dp_wrapper.size is 0; set .size = sizeof(dp_wrapper)");

    if (rc == DP_OK)
        rc = check_keys(w, kind, err);
    if (rc == DP_OK && dp_dtype_size(w->dtype) == 0)
        rc = dp_error_set(err, DP_ETYPE, "no dtype has number %d", w->dtype);
    if (rc == DP_OK && (w->layout < 0 || w->layout >= DP_LAYOUT_END))
        rc = dp_error_set(err, DP_EVALUE, "no layout has number %d", w->layout);
    if (rc == DP_OK)
        rc = check_parts(w, depth, err);
    if (rc == DP_OK)
        rc = w->strides ? dpi_layout_check(w->ndim, w->sizes, w->strides, 0, l, err)
                        : dpi_layout_packed(w->dtype, w->ndim, w->sizes, l, err);
    return rc;
}

/* Tell whether some part has a gradient or may come to have one. */
static bool holds_grad(const dp_wrapper *w)
{
    for (uint32_t i = 0; i < w->n_tensors; i++)
        if (dp_tensor_may_grad(w->tensors[i]) || dpi_differentiable(w->tensors[i]->dtype))
            return true;
    return false;
}

/* Return the keys of the new wrapper: the requested keys, the kind's key, the device's backend if
 * these keys have no backend, the bit that marks wrappers (DPI_WRAPPER_BIT), and, if a part may
 * need a gradient, DPI_GRAD_BIT, so that kernels of autograd are not skipped. */
static dp_keyset keys_of(const dp_wrapper *w, int kind)
{
    dp_keyset keys = with_kind(w, kind);

    if (keys.backend == 0)
        keys.backend = DP_BBIT(dp_device_backend(w->device));
    keys.backend |= DPI_WRAPPER_BIT;
    if (holds_grad(w))
        keys.functionality |= DPI_GRAD_BIT;
    return keys;
}

/* Copy the members that the caller's struct has, and set all other members to 0. */
static dp_wrapper full_config(const dp_wrapper *w)
{
    dp_wrapper full = {0};

    memcpy(&full, w, w->size < sizeof(full) ? w->size : sizeof(full));
    return full;
}

static int wrapper_make(const dp_wrapper *w, int kind, dp_tensor **out, dp_error *err)
{
    dpi_layout l;
    uint32_t depth;
    int rc = check(w, kind, &l, &depth, err);

    if (rc < 0)
        return rc;
    dpi_parts *p = parts_new(w, depth);
    rc = p ? dpi_tensor_of_parts(w->dtype, w->device, w->kind, &l, p, out, err)
           : dpi_no_memory(err, "a wrapper tensor");
    if (rc < 0) {
        dpi_parts_free(p);
        return rc;
    }
    (*out)->keys = keys_of(w, kind);
    if (!(w->keys.functionality & DPI_AUTOGRAD_BITS))
        dpi_tensor_share_version(*out, w->tensors[0]);
    return DP_OK;
}

int dpi_wrapper_new(const dp_wrapper *given, dp_tensor **out, dp_error *err)
{
    dp_wrapper w = full_config(given);
    int kind = w.kind != NULL ? dpi_kind_ref(w.kind) : -1;
    int rc = wrapper_make(&w, kind, out, err);

    if (rc == DP_OK)
        dpi_geometry_of(*out)->storage->kind_ref = (uint8_t)(kind + 1);
    else if (kind >= 0)
        dpi_kind_unref(kind);
    return rc;
}

bool dp_wrapper_get(const dp_tensor *t, dp_wrapper *out)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    const dpi_parts *p = g->parts;

    if (p == NULL)
        return false;
    dp_wrapper full = {.size = out->size,
                       .version = p->version,
                       .kind = g->storage->kind,
                       .keys = dp_tensor_keys(t),
                       .dtype = t->dtype,
                       .device = g->storage->device,
                       .ndim = g->ndim,
                       .n_tensors = p->n_tensors,
                       .n_ints = p->n_ints,
                       .sizes = g->sizes,
                       .strides = g->strides,
                       .tensors = p->tensors,
                       .ints = p->ints,
                       .n_doubles = p->n_doubles,
                       .layout = p->layout,
                       .doubles = p->doubles};
    memcpy(out, &full, out->size < sizeof(full) ? out->size : sizeof(full));
    return true;
}

/* Return the slot that the kind of `t` had when `t` was made; -1: no plugin had registered the
 * kind then. */
static int kind_of(const dp_tensor *t)
{
    return dpi_geometry_of(t)->storage->kind_ref - 1;
}

/* Check that only the parts and the shape of `t` will change. */
static int check_same(const dp_tensor *t, const dp_wrapper *w, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    dp_keyset is = dp_tensor_keys(t), want = with_kind(w, kind_of(t));

    if (want.backend == 0)
        want.backend = DP_BBIT(dp_device_backend(w->device));
    if (strcmp(w->kind, g->storage->kind) == 0 && w->dtype == t->dtype &&
        w->device == g->storage->device && w->layout == g->parts->layout &&
        is.functionality == want.functionality && is.backend == want.backend)
        return DP_OK;
    return dp_error_set(
        err, DP_EVALUE,
        "a wrapper tensor of kind '%s', %s and layout %s stays that, with its keys and device; "
        "asked to become kind '%s', %s and layout %s",
        g->storage->kind, dp_dtype_name(t->dtype), dp_layout_name(g->parts->layout), w->kind,
        dp_dtype_name(w->dtype), dp_layout_name(w->layout));
}

int dpi_wrapper_become(dp_tensor *t, const dp_wrapper *given, dp_error *err)
{
    dp_wrapper w = full_config(given);
    dpi_layout l;
    uint32_t depth;
    dp_tensor *from;

    if (dpi_geometry_of(t)->parts == NULL)
        return dp_error_set(err, DP_EVALUE,
                            "dp_wrapper_become: the tensor is no wrapper tensor and cannot become "
                            "one; dp_wrapper_new() makes one");
    int rc = check(&w, kind_of(t), &l, &depth, err);

    if (rc == DP_OK)
        rc = check_same(t, &w, err);
    if (rc < 0)
        return rc;
    uint32_t old_depth = depth_of(t);
    if (depth > old_depth)
        return dp_error_set(err, DP_EVALUE,
                            "a wrapper tensor that was made of %u levels cannot become one of %u: "
                            "it might hold itself",
                            old_depth, depth);
    dpi_parts *p = parts_new(&w, old_depth);
    rc = p ? dpi_tensor_with_parts(t, &l, p, &from, err) : dpi_no_memory(err, "its parts");
    if (rc < 0) {
        dpi_parts_free(p);
        return rc;
    }
    rc = dpi_tensors_become(1, &t, &from, err);
    if (rc < 0)
        dp_tensor_unref(from);
    else if (holds_grad(&w))
        dpi_tensor_may_grad(t, true);
    return rc;
}
