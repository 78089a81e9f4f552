/* elements.c -- copies of elements of any dtype, given the size of an element in bytes, conversions
 * of Scalars, and checks of masks and of tensors that a kernel will write. */
#include "elements.h"
#include "lib/poll.h"

enum { LINE = 64 }; /* bytes of the pattern that fill() copies at a time */

/* Fill `bytes` bytes at `dst` with copies of the element of `size` bytes at `src`. */
static void fill(char *dst, size_t bytes, const char *src, size_t size)
{
    char line[LINE];

    for (size_t i = 0; i < LINE; i += size)
        memcpy(line + i, src, size);
    for (; bytes >= LINE; bytes -= LINE, dst += LINE)
        memcpy(dst, line, LINE);
    memcpy(dst, line, bytes);
}

void copy_elements(size_t size, int64_t n, char *dst, int64_t to, const char *src, int64_t from)
{
    if (to == (int64_t)size && n > 0 && from == to) {
        dp_move_n(dst, src, (size_t)n, size); /* an out= tensor may overlap the source */
        return;
    }
    if (to == (int64_t)size && n >= LINE && from == 0) {
        fill(dst, (size_t)n * size, src, size);
        return;
    }
    /* With strides that are known at compile time, the compiler vectorizes the loop for reversed
     * copies (aten::flip). */
    bool reversed = to == (int64_t)size && from == -to;
    switch (size) {
#define EACH(bytes, type)                                                                          \
    case bytes:                                                                                    \
        for (int64_t i = 0; i < n && reversed; i++)                                                \
            ((type *)dst)[i] = ((const type *)src)[-i];                                            \
        for (int64_t i = 0; i < n && !reversed; i++)                                               \
            *(type *)(dst + i * to) = *(const type *)(src + i * from);                             \
        break;
        DP_DTYPE_SIZES(EACH)
#undef EACH
    }
}

void copy_line(const dp_ctx *ctx, size_t size, int64_t n, char *dst, int64_t to, const char *src,
               int64_t from)
{
    if (to == (int64_t)size && from == to) {
        copy_elements(size, n, dst, to, src, from); /* memmove(): dst and src may overlap */
        return;
    }
    for (int64_t i = 0, end; i < n && (end = poll_next(ctx, i, n)) > i; i = end)
        copy_elements(size, end - i, dst + i * to, to, src + i * from, from);
}

int check_apart(dp_ctx *ctx, dp_tensor *written, dp_tensor *const *others, int n)
{
    const char *what =
        dp_internal_overlap(written) == 1 ? "more than one element of the written-to tensor" : NULL;

    for (int i = 0; i < n && what == NULL; i++) {
        int overlap = dp_overlap(written, others[i]);
        if (overlap == 1 || overlap == 2)
            what = "some elements of the input tensor and the written-to tensor";
    }
    if (what == NULL)
        return 0;
    return dp_fail(
        ctx, DP_ERUNTIME,
        "unsupported operation: %s refer%s to a single memory location. Please clone() the "
        "tensor before performing the operation.",
        what, what[0] == 'm' ? "s" : "");
}

void write_scalar(dp_value v, dp_dtype dtype, void *out)
{
    static const dp_dtype own[] = {[DP_TAG_BOOL] = DP_BOOL,
                                   [DP_TAG_INT] = DP_INT64,
                                   [DP_TAG_DOUBLE] = DP_FLOAT64,
                                   [DP_TAG_COMPLEX] = DP_COMPLEX128};
    const void *from = v.tag == DP_TAG_COMPLEX ? (const void *)v.u.doubles : (const void *)&v.u;

    dp_converter(dtype, own[v.tag])(out, DP_DTYPE_SIZE_MAX, from, DP_DTYPE_SIZE_MAX, 1);
}

int check_bits(dp_ctx *ctx, dp_tensor *mask)
{
    dp_tensor *more = NULL, *any = NULL;
    dp_value odd = dp_bool(false);
    DP_VIEW(m, mask);

    if (m.dtype == DP_BOOL || dp_memoryless(ctx))
        return 0;
    int rc = dp_invoke(ctx, "aten::gt.Scalar", "Ts>T", mask, dp_int(1), &more);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::any", "T>T", more, &any);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::item", "T>s", any, &odd);
    dp_tensor_unref(more);
    dp_tensor_unref(any);
    return rc == 0 && odd.u.b
               ? dp_fail(ctx, DP_ERUNTIME, "Mask tensor can take 0 and 1 values only")
               : rc;
}
