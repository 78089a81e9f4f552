/* saved.c -- tensors as graph nodes save them. */
#include "saved.h"
#include "home.h"

DPI_HOT void dpi_saved_set(dpi_saved *s, const dp_tensor *t)
{
    /* only its home's reference count is written */
    dpi_geometry *g = (dpi_geometry *)(uintptr_t)dpi_geometry_of(t);

    dpi_home_ref(DPI_HOME_OF(geometry, g));
    if (DPI_HOME_OF(version, t->version) != DPI_HOME_OF(geometry, g))
        dpi_home_ref(DPI_HOME_OF(version, t->version));
    *s = (dpi_saved){.geometry = g,
                     .version = t->version,
                     .expected = dpi_version_of(t),
                     .keys = dpi_keys_of(t),
                     .dtype = t->dtype,
                     .wrapped = t->wrapped};
}

DPI_HOT void dpi_saved_clear(dpi_saved *s)
{
    if (s->geometry == NULL)
        return;
    if (DPI_HOME_OF(version, s->version) != DPI_HOME_OF(geometry, s->geometry))
        dpi_home_unref(DPI_HOME_OF(version, s->version));
    dpi_home_unref(DPI_HOME_OF(geometry, s->geometry));
    s->geometry = NULL;
}

int dpi_saved_tensor(const dpi_saved *s, dp_tensor **out, dp_error *err)
{
    dpi_home *h = dpi_home_new(0, 0);

    if (h == NULL)
        return dpi_no_memory(err, "a saved tensor");
    dpi_home_ref(DPI_HOME_OF(geometry, s->geometry));
    dpi_home_ref(DPI_HOME_OF(version, s->version));
    *out = dpi_tensor_init(h, s->dtype, s->geometry, s->version);
    (*out)->keys = s->keys;
    (*out)->wrapped = s->wrapped;
    return DP_OK;
}

int dpi_saved_fail_stale(const dpi_saved *s, dp_error *err, const char *saver, const char *what,
                         const char *name)
{
    char sizes[DP_SHAPE_TEXT];

    return dp_error_set(err, DP_ERUNTIME,
                        "one of the variables needed for gradient computation has been modified by "
                        "an inplace operation: [%s %s], which %s saved as %s'%.64s', is at version "
                        "%llu; expected version %llu instead",
                        dp_dtype_name(s->dtype),
                        dp_shape_text(sizes, s->geometry->sizes, (size_t)s->geometry->ndim), saver,
                        what, name, (unsigned long long)atomic_load(&s->version->value),
                        (unsigned long long)s->expected);
}
