/* chain.c -- composite kernels written as a chain of calls of other operators (chain.h). */
#include "chain.h"

static dp_tensor *step(chain *c, const char *name, const dp_value *given, size_t n)
{
    enum { ARGS_MAX = 4 };
    dp_value args[ARGS_MAX], ret = dp_none();
    dp_schema_info info = {.size = sizeof(info)};
    const dp_op *op = dp_op_find(c->ctx, name);

    for (size_t i = 0; i < n; i++)
        args[i] = given[i];
    c->rc = op ? dp_schema_info_get(c->ctx, op, &info) : DP_ENOTFOUND;
    if (c->rc == 0 && info.n_args == n + 1) /* add and sub have one more argument, alpha */
        args[n++] = dp_int(1);
    if (c->rc == 0)
        c->rc = dp_call_boxed(c->ctx, op, args, n, &ret, 1);
    if (c->rc < 0)
        return NULL;
    return ret.tag == DP_TAG_TENSOR ? chain_keep(c, ret.u.t) : args[0].u.t;
}

dp_tensor *chain_keep(chain *c, dp_tensor *t)
{
    if (c->n < CHAIN_MAX)
        return c->made[c->n++] = t;
    dp_tensor_unref(t);
    c->rc = dp_fail(c->ctx, DP_EPLUGIN, "a chain of more than %d calls", CHAIN_MAX);
    return NULL;
}

dp_tensor *chain_call(chain *c, const char *op, const char *code, ...)
{
    va_list ap;

    if (c->rc < 0)
        return NULL;
    va_start(ap, code);
    c->slot = NULL;
    c->rc = dp_vinvoke(c->ctx, op, code, ap);
    va_end(ap);
    return c->rc < 0 ? NULL : chain_keep(c, c->slot);
}

dp_tensor *chain_T(chain *c, const char *op, dp_tensor *a)
{
    const dp_value args[] = {dp_tensor_value(a)};
    return c->rc < 0 ? NULL : step(c, op, args, 1);
}

dp_tensor *chain_TT(chain *c, const char *op, dp_tensor *a, dp_tensor *b)
{
    const dp_value args[] = {dp_tensor_value(a), dp_tensor_value(b)};
    return c->rc < 0 ? NULL : step(c, op, args, 2);
}

dp_tensor *chain_Ts(chain *c, const char *op, dp_tensor *a, dp_value b)
{
    const dp_value args[] = {dp_tensor_value(a), b};
    return c->rc < 0 ? NULL : step(c, op, args, 2);
}

dp_tensor *chain_sT(chain *c, const char *op, dp_value a, dp_tensor *b)
{
    const dp_value args[] = {a, dp_tensor_value(b)};
    return c->rc < 0 ? NULL : step(c, op, args, 2);
}

dp_tensor *chain_move(chain *c, dp_tensor *host, dp_device device)
{
    dp_tensor *moved = NULL;

    if (chain_keep(c, host) == NULL || c->rc < 0)
        return NULL;
    if (device == DP_DEVICE_CPU)
        return host;
    DP_VIEW(x, host);
    c->rc = dp_empty(c->ctx, x.dtype, device, x.ndim, x.sizes, DP_CONTIGUOUS, &moved);
    if (c->rc < 0 || chain_keep(c, moved) == NULL)
        return NULL;
    c->rc = dp_copy(c->ctx, moved, host);
    return c->rc < 0 ? NULL : moved;
}

dp_tensor *chain_reduced(chain *c, dp_tensor *t, int64_t reduction)
{
    dp_tensor *one = NULL;

    if (c->rc < 0 || (reduction != REDUCTION_MEAN && reduction != REDUCTION_SUM))
        return t;
    c->rc =
        dp_invoke(c->ctx, reduction == REDUCTION_MEAN ? "aten::mean" : "aten::sum", "T>T", t, &one);
    return c->rc < 0 ? NULL : chain_keep(c, one);
}

dp_tensor *chain_Ts_(chain *c, const char *op, dp_tensor *t, dp_value v)
{
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, op, "Ts>", t, v);
    return t;
}

bool chain_is_true(chain *c, dp_tensor *t)
{
    dp_value v = dp_none();

    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::item", "T>s", t, &v);
    return c->rc == 0 && v.u.b;
}

int chain_end(chain *c, dp_tensor *result, dp_tensor **out)
{
    if (c->rc == 0 && out != NULL)
        *out = dp_tensor_ref(result);
    for (int i = 0; i < c->n; i++)
        dp_tensor_unref(c->made[i]);
    return c->rc;
}
