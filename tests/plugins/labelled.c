/* labelled.c -- a second kind of tensors made of tensors: one tensor with a number for a label.
 * Its key is its own, so it meets neither masked.c's kernels nor anybody else's. */
#include <dispatchd/plugin.h>
#include <string.h>

DP_PLUGIN(labelled, "1.0")
DP_WRAPPER_KIND(labelled)

/* make(Tensor self, int label, str? of=None) -> Tensor; of: the name of a key that it is to have,
 * too */
static int make(dp_ctx *ctx, dp_tensor *self, int64_t label, dp_str of, dp_tensor **out)
{
    DP_VIEW(x, self);
    dp_keyset keys = {0, 0};

    if (of.s != NULL)
        keys = dp_keyset_of(dp_key_find(ctx, of.s));
    dp_wrapper w = {.size = sizeof(w),
                    .kind = "labelled",
                    .keys = keys,
                    .dtype = x.dtype,
                    .device = x.device,
                    .ndim = x.ndim,
                    .n_tensors = 1,
                    .n_ints = 1,
                    .sizes = x.sizes,
                    .tensors = &self,
                    .ints = &label};
    return dp_wrapper_new(ctx, &w, out);
}

static int label(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    dp_wrapper w = {.size = sizeof(w)};

    if (!dp_wrapper_get(self, &w) || strcmp(w.kind, "labelled") != 0)
        return dp_fail(ctx, DP_ETYPE, "labelled::label: it has none");
    *out = w.ints[0];
    return 0;
}

/* Every other operator: on what the labelled tensors hold, without labels. */
static int without(dp_call *call)
{
    dp_value args[16];
    dp_wrapper w = {.size = sizeof(w)};

    if (call->n_args > 16)
        return dp_refuse(call->ctx, DP_EVALUE, "labelled: %u arguments", call->n_args);
    for (uint32_t i = 0; i < call->n_args; i++) {
        args[i] = call->args[i];
        if (args[i].tag == DP_TAG_TENSOR && dp_wrapper_get(args[i].u.t, &w))
            args[i] = dp_tensor_value(w.tensors[0]);
    }
    return dp_call_boxed(call->ctx, call->op, args, call->n_args, call->rets, call->n_rets);
}

/* key(str name) -> str: what its key is called */
static int key(dp_ctx *ctx, dp_str name, dp_value *out)
{
    char buf[DP_KEY_NAME_MAX];
    const char *text = dp_key_name(dp_key_find(ctx, name.s), buf);
    char *copy = (char *)dp_alloc(ctx, strlen(text) + 1);

    if (copy == NULL)
        return DP_ERESOURCE;
    memcpy(copy, text, strlen(text) + 1);
    *out = (dp_value){DP_TAG_STR, (uint32_t)strlen(text), {0}};
    out->u.s = copy;
    return 0;
}

DP_LIBRARY(labelled, DP_DEF("make(Tensor self, int label, str? of=None) -> Tensor"),
           DP_DEF("label(Tensor self) -> int"), DP_DEF("key(str name) -> str"))
DP_LIBRARY_IMPL(labelled, CPU, DP_IMPL_UNBOXED("make", make, (T, i, oS), (T)))
DP_LIBRARY_IMPL(labelled, CompositeExplicitAutograd, DP_IMPL_UNBOXED("key", key, (S), (S)))
DP_LIBRARY_IMPL(labelled, labelled, DP_IMPL_UNBOXED("label", label, (T), (i)))
DP_FALLBACK(labelled, without)
