/* value.c -- the memory that a dp_value points to: size, copy, reference counts, release.
 *
 * Strings, complex numbers and lists lie outside of the value, and lists may hold more of them.
 * Tensors and objects are counted pointers: dpi_values_copy() and dpi_values_move() do not change
 * their counts; dp_value_copy() adds references. */
#include "ctx.h"
#include "values.h"

enum { ALIGN = 16 };

static const uint8_t item_bytes[DP_TAG_END] = {
    [DP_TAG_STR] = 1,
    [DP_TAG_TENSORS] = sizeof(dp_tensor *),
    [DP_TAG_INTS] = sizeof(int64_t),
    [DP_TAG_DOUBLES] = sizeof(double),
    [DP_TAG_BOOLS] = sizeof(bool),
    [DP_TAG_LIST] = sizeof(dp_value),
};

size_t dpi_items_bytes(uint32_t tag, size_t n)
{
    return n * item_bytes[tag];
}

static bool points_to_memory(const dp_value *v) /* a faulty kernel may set an invalid tag */
{
    return v->tag < DP_TAG_END && (DPI_TAGS_MEMORY >> v->tag & 1);
}

/* Return the bytes that `v` points to, without those that items of a list point to. */
static size_t own_bytes(const dp_value *v)
{
    return v->tag == DP_TAG_COMPLEX ? 2 * sizeof(double) : dpi_items_bytes(v->tag, v->len);
}

/* Return the bytes that `v` takes in a copy, with padding.  One byte is added: a string needs it
 * for its NUL, and an empty list so that its pointer is not NULL, which would mean None. */
static size_t padded_bytes(const dp_value *v)
{
    return (own_bytes(v) + 1 + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

bool dpi_value_lacks_memory(const dp_value *v)
{
    bool never_empty = v->tag == DP_TAG_STR || v->tag == DP_TAG_COMPLEX;

    return points_to_memory(v) && v->u.s == NULL && (never_empty || v->len > 0);
}

static bool is_dangling(const dp_value *v, const void *frame)
{
    bool dangling = points_to_memory(v) && dpi_stack_left(v->u.s, frame);

    for (uint32_t i = 0; !dangling && v->tag == DP_TAG_LIST && v->u.values != NULL && i < v->len;
         i++)
        dangling = is_dangling(&v->u.values[i], frame);
    return dangling;
}

bool dpi_values_clear_dangling(dp_value *values, size_t n, const void *frame)
{
    bool any = false;

    for (size_t i = 0; i < n; i++)
        if (is_dangling(&values[i], frame)) {
            values[i] = dp_none();
            any = true;
        }
    return any;
}

size_t dpi_values_bytes(const dp_value *values, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        if (points_to_memory(&values[i]))
            bytes += padded_bytes(&values[i]);
        if (values[i].tag == DP_TAG_LIST)
            bytes += dpi_values_bytes(values[i].u.values, values[i].len);
    }
    return bytes;
}

char *dpi_values_move(dp_value *values, size_t n, char *to)
{
    for (size_t i = 0; i < n; i++) {
        dp_value *v = &values[i];
        char *copy = to;
        if (!points_to_memory(v))
            continue;
        size_t bytes = own_bytes(v);
        to += padded_bytes(v);
        if (bytes > 0)
            memcpy(copy, v->u.s, bytes);
        copy[bytes] = '\0';
        v->u.s = copy;
        if (v->tag == DP_TAG_LIST)
            to = dpi_values_move((dp_value *)(void *)copy, v->len, to);
    }
    return to;
}

int dpi_values_copy(dp_arena *a, dp_value *values, size_t n)
{
    size_t bytes = dpi_values_bytes(values, n);
    char *to = bytes > 0 ? dp_arena_alloc(a, bytes) : NULL;

    if (bytes > 0 && to == NULL)
        return DP_ERESOURCE;
    dpi_values_move(values, n, to);
    return 0;
}

int dpi_values_settle(dp_arena *a, char *arena_mark, dp_value *values, size_t n)
{
    char small[512], *temporary = small;
    size_t bytes = dpi_values_bytes(values, n);
    int rc;

    if (bytes == 0) {
        dpi_arena_rewind(a, arena_mark);
        return 0;
    }
    if (bytes > sizeof(small) && (temporary = dp_malloc(bytes)) == NULL)
        return DP_ERESOURCE;
    dpi_values_move(values, n, temporary);
    dpi_arena_rewind(a, arena_mark);
    if ((rc = dpi_values_copy(a, values, n)) < 0)
        dp_values_release(values, n); /* while the values are readable */
    if (temporary != small)
        dp_free(temporary);
    return rc;
}

void dpi_values_ref(const dp_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const dp_value *v = &values[i];
        if (v->tag == DP_TAG_TENSOR)
            dp_tensor_ref(v->u.t);
        if (v->tag == DP_TAG_OBJECT)
            dp_object_ref(v->u.o);
        for (uint32_t j = 0; v->tag == DP_TAG_TENSORS && j < v->len; j++)
            if (v->u.tensors[j] != NULL)
                dp_tensor_ref(v->u.tensors[j]);
        if (v->tag == DP_TAG_LIST)
            dpi_values_ref(v->u.values, v->len);
    }
}

/* -- values that outlive their call: each has one block for all memory that it points to -- */

/* Add or remove a reference to each generator in `v`.  A value that a kernel returns owns
 * references to its tensors and objects only; a value that outlives its call also owns references
 * to its generators. */
static void count_generators(const dp_value *v, bool add)
{
    if (v->tag == DP_TAG_GENERATOR && add)
        dp_generator_ref(v->u.g);
    else if (v->tag == DP_TAG_GENERATOR)
        dp_generator_unref(v->u.g);
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len; i++)
        count_generators(&v->u.values[i], add);
}

int dp_value_copy(dp_ctx *ctx, const dp_value *v, dp_value *out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, v, out))
        return DP_EPLUGIN;
    size_t bytes = dpi_values_bytes(v, 1);
    char *block = bytes > 0 ? dp_malloc(bytes) : NULL;
    bool ok = bytes == 0 || block != NULL;

    *out = ok ? *v : dp_none();
    if (!ok)
        return dpi_no_memory(&ctx->error, "a value to keep");
    dpi_values_move(out, 1, block);
    dpi_values_ref(out, 1);
    count_generators(out, true);
    return 0;
}

void dp_value_free(dp_value *v)
{
    if (v == NULL)
        return;
    void *block = points_to_memory(v) ? (void *)(uintptr_t)v->u.s : NULL;

    count_generators(v, false);
    dp_values_release(v, 1);
    dp_free(block);
}

DPI_HOT void dp_values_release(dp_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dp_value *v = &values[i];
        uint32_t len = v->u.values != NULL ? v->len : 0; /* NULL: from a faulty kernel */
        if (v->tag == DP_TAG_TENSOR)
            dp_tensor_unref(v->u.t);
        if (v->tag == DP_TAG_OBJECT)
            dp_object_unref(v->u.o);
        for (uint32_t j = 0; v->tag == DP_TAG_TENSORS && j < len; j++)
            dp_tensor_unref(v->u.tensors[j]);
        if (v->tag == DP_TAG_LIST)
            dp_values_release((dp_value *)(uintptr_t)v->u.values, len);
        v->tag = DP_TAG_NONE;
    }
}
