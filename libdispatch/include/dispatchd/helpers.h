/* dispatchd/helpers.h -- short hands over api.h, for kernel authors and embedders; plugin.h and
 * dispatch.h include it. */
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

#ifdef DISPATCHD_PLUGIN_H /* embedders link with the library's own */
/* What dp_fail() does, for the functions of a device. */
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

/* dp_invoke(ctx, "aten::transpose.int", "Tii>T", self, (int64_t)0, (int64_t)1, &out) */
__attribute__((unused)) static int dp_invoke(dp_ctx *ctx, const char *name, const char *code, ...)
{
    int rc;
    va_list ap;
    va_start(ap, code);
    rc = dp_vinvoke(ctx, name, code, ap);
    va_end(ap);
    return rc;
}

/* Declare a filled-in view:  DP_VIEW(x, self);  then x.data, x.sizes ... */
#define DP_VIEW(name, tensor)                                                                      \
    dp_view name;                                                                                  \
    name.size = (uint32_t)sizeof(dp_view);                                                         \
    dp_tensor_view(tensor, &name)

/* Declare the configuration of an elementwise loop with the defaults that zero would not give:
 * DP_ITER_CONFIG(config, 1, out, 2, ins);  then config.flags and the dtypes as wanted. */
#define DP_ITER_CONFIG(name, n_outs, out_tensors, n_inputs, in_tensors)                            \
    dp_iter_config name = {(uint32_t)sizeof(dp_iter_config),                                       \
                           0,                                                                      \
                           n_outs,                                                                 \
                           n_inputs,                                                               \
                           out_tensors,                                                            \
                           in_tensors,                                                             \
                           DP_DTYPE_NONE,                                                          \
                           DP_DTYPE_NONE}

#endif
