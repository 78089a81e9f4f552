/* dispatchd/helpers.h -- short functions and macros that call the functions of api.h, for kernel
 * authors and embedders; plugin.h and dispatch.h include this header. */
#ifndef DISPATCHD_HELPERS_H
#define DISPATCHD_HELPERS_H

__attribute__((format(printf, 3, 4), unused)) static int dp_fail(dp_ctx *ctx, int code,
                                                                 const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    code = dp_vfail(ctx, code, format, ap);
    va_end(ap);
    return code;
}

/* Allocate `n` items of `each` bytes with dp_alloc(); an overflow of the product counts as lack of
 * memory. */
__attribute__((unused)) static inline void *dp_alloc_n(dp_ctx *ctx, size_t n, size_t each)
{
    return dp_alloc(ctx, dp_size_times(n, each));
}

#ifdef DISPATCHD_PLUGIN_H /* embedders use the library's dp_error_set() */
/* Describe a failure in *err and return `code`, as dp_fail() does; for the functions of
 * dp_device_ops, which have no context. */
__attribute__((format(printf, 3, 4), unused)) static int dp_error_set(dp_error *err, int code,
                                                                      const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    code = dp_error_vset(err, code, format, ap);
    va_end(ap);
    return code;
}
#endif

/* Warn the client: dp_warn(ctx, "an output was resized from %s", text).  See dp_vwarn(). */
__attribute__((format(printf, 2, 3), unused)) static void dp_warn(dp_ctx *ctx, const char *format,
                                                                  ...)
{
    va_list ap;
    va_start(ap, format);
    dp_vwarn(ctx, format, ap);
    va_end(ap);
}

/* Publish a line about the plugin: dp_note(ctx, "blas", "OpenBLAS, %s kernels", core).  See
 * dp_vnote(). */
__attribute__((format(printf, 3, 4), unused)) static void dp_note(dp_ctx *ctx, const char *name,
                                                                  const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    dp_vnote(ctx, name, format, ap);
    va_end(ap);
}

/* The values that dp_record_as() saves: dp_saved list[] = {dp_save_argument(0), dp_save_return(0),
 * dp_save_value(dp_int(dim))}. */
__attribute__((unused)) static inline dp_saved dp_save_argument(uint32_t index)
{
    dp_saved s = {DP_SAVED_ARGUMENT, index, {0, 0, {0}}};
    return s;
}
__attribute__((unused)) static inline dp_saved dp_save_return(uint32_t index)
{
    dp_saved s = {DP_SAVED_RETURN, index, {0, 0, {0}}};
    return s;
}
__attribute__((unused)) static inline dp_saved dp_save_needed(uint32_t index)
{
    dp_saved s = {DP_SAVED_NEEDED, index, {0, 0, {0}}};
    return s;
}
__attribute__((unused)) static inline dp_saved dp_save_value(dp_value value)
{
    dp_saved s = {DP_SAVED_VALUE, 0, value};
    return s;
}

/* Set the returns of a boxed kernel that returns tensors only.  Takes tensors [n], also on failure;
 * a NULL becomes None.  The entry of a return that is a written argument may be NULL.  DP_EPLUGIN:
 * the schema has another number of returns. */
__attribute__((unused)) static int dp_return_tensors(dp_call *call, uint32_t n,
                                                     dp_tensor *const *tensors)
{
    for (uint32_t i = 0; n == call->n_rets && i < n; i++)
        call->rets[i] = dp_tensor_value(tensors[i]);
    if (n == call->n_rets)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        dp_tensor_unref(tensors[i]);
    return dp_fail(call->ctx, DP_EPLUGIN, "%s returns %u values, its kernel gave %u tensors",
                   dp_op_name(call->op), call->n_rets, n);
}

/* Fail like dp_fail(), in a kernel that has not written anything yet: the versions of written
 * arguments stay the same, and the client is not told that an argument may be damaged.  `format`
 * NULL: the function that failed has already described the failure, and `code` is the code that it
 * returned. */
__attribute__((format(printf, 3, 4), unused)) static int dp_refuse(dp_ctx *ctx, int code,
                                                                   const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    code = dp_vrefuse(ctx, code, format, ap);
    va_end(ap);
    return code;
}

/* Call an operator by name with C arguments:
 *     dp_invoke(ctx, "aten::transpose.int", "Tii>T", self, (int64_t)0, (int64_t)1, &out)
 * See dp_vinvoke(). */
__attribute__((unused)) static int dp_invoke(dp_ctx *ctx, const char *name, const char *code, ...)
{
    int rc;
    va_list ap;
    va_start(ap, code);
    rc = dp_vinvoke(ctx, name, code, ap);
    va_end(ap);
    return rc;
}

/* Declare a dp_view `name` and fill it in:  DP_VIEW(x, self);  then use x.data, x.sizes ... */
#define DP_VIEW(name, tensor)                                                                      \
    dp_view name;                                                                                  \
    name.size = (uint32_t)sizeof(dp_view);                                                         \
    dp_tensor_view(tensor, &name)

/* Declare a copy `name` of the context's current mode; change it and pass it to dp_guard_mode(). */
#define DP_MODE(name, ctx)                                                                         \
    dp_mode name = *dp_ctx_mode(ctx);                                                              \
    name.size = (uint32_t)sizeof(dp_mode)

#endif
