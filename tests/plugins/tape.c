/* tape.c -- a layer that notes on each result which operator made it, and of what.  The notes go
 * with the tensors: a table by their ids would keep entries of tensors that are gone. */
#include <dispatchd/plugin.h>
#include <stdio.h>
#include <string.h>

DP_PLUGIN(tape, "1.0")

enum { INPUTS_MAX = 16 };

static size_t inputs_of(const dp_call *call, dp_tensor *inputs[INPUTS_MAX])
{
    size_t n = 0;

    for (uint32_t i = 0; i < call->n_args; i++)
        if (call->args[i].tag == DP_TAG_TENSOR && n < INPUTS_MAX)
            inputs[n++] = call->args[i].u.t;
    return n;
}

static dp_value text(const char *s)
{
    dp_value v = {DP_TAG_STR, (uint32_t)strlen(s), {0}};

    v.u.s = s;
    return v;
}

/* For AutogradCPU: after the call below, the note. */
static int note(dp_call *call)
{
    dp_tensor *inputs[INPUTS_MAX];
    dp_value name = text(dp_op_name(call->op));
    int rc = dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                                 call->args, call->n_args, call->rets, call->n_rets);

    if (rc < 0 || call->n_rets != 1 || call->rets[0].tag != DP_TAG_TENSOR)
        return rc;
    size_t n = inputs_of(call, inputs);
    dp_value list = dp_tensors(inputs, n);
    dp_tensor *out = call->rets[0].u.t;
    for (size_t i = 0; i < n; i++)
        if (inputs[i] == out || dp_tensor_root(out) == inputs[i])
            return 0; /* in place, or a view: it is no new value */
    rc = dp_tensor_attach(call->ctx, out, "tape.op", &name);
    return rc < 0 ? rc : dp_tensor_attach(call->ctx, out, "tape.inputs", &list);
}

/* made_by(Tensor self) -> str: "" if nobody noted it */
static int made_by(dp_ctx *ctx, dp_tensor *self, dp_value *out)
{
    dp_value v;
    int rc = dp_tensor_attached(ctx, self, "tape.op", &v);
    size_t n = rc == 0 && v.tag == DP_TAG_STR ? v.len : 0;
    char *copy = rc == 0 ? (char *)dp_alloc(ctx, n + 1) : NULL;

    if (copy == NULL) {
        dp_value_free(&v);
        return rc < 0 ? rc : DP_ERESOURCE;
    }
    memcpy(copy, n > 0 ? v.u.s : "", n);
    copy[n] = '\0';
    *out = (dp_value){DP_TAG_STR, (uint32_t)n, {0}};
    out->u.s = copy;
    dp_value_free(&v);
    return 0;
}

/* input(Tensor self, int i) -> Tensor */
static int input(dp_ctx *ctx, dp_tensor *self, int64_t i, dp_tensor **out)
{
    dp_value v;
    int rc = dp_tensor_attached(ctx, self, "tape.inputs", &v);

    if (rc == 0 && (v.tag != DP_TAG_TENSORS || i < 0 || i >= v.len))
        rc = dp_fail(ctx, DP_EINDEX, "tape::input: no input %lld", (long long)i);
    if (rc == 0)
        *out = dp_tensor_ref(v.u.tensors[i]);
    dp_value_free(&v);
    return rc;
}

/* attach(Tensor self, str key, Tensor[] values, int bytes=0) -> (): tensors, or so many bytes for
 * none */
static int attach(dp_ctx *ctx, dp_tensor *self, dp_str key, dp_tensor *const *values, size_t n,
                  int64_t bytes)
{
    dp_value v = dp_tensors(values, n);

    if (n > 0)
        return dp_tensor_attach(ctx, self, key.s, &v);
    if (bytes == 0)
        return dp_tensor_attach(ctx, self, key.s, NULL);
    char *s = (char *)dp_alloc(ctx, (size_t)bytes + 1);
    if (s == NULL)
        return DP_ERESOURCE;
    memset(s, 'x', (size_t)bytes);
    s[bytes] = '\0';
    v = text(s);
    return dp_tensor_attach(ctx, self, key.s, &v);
}

DP_LIBRARY(tape, DP_DEF("made_by(Tensor self) -> str"),
           DP_DEF("input(Tensor self, int i) -> Tensor"),
           DP_DEF("attach(Tensor self, str key, Tensor[] values=[], int bytes=0) -> ()"))
DP_LIBRARY_IMPL(tape, CPU, DP_IMPL_UNBOXED("made_by", made_by, (T), (S)),
                DP_IMPL_UNBOXED("input", input, (T, i), (T)),
                DP_IMPL_UNBOXED("attach", attach, (T, S, lT, i), ()))
DP_LIBRARY_IMPL(aten, AutogradCPU, DP_IMPL_BELOW("mul.Tensor", note),
                DP_IMPL_BELOW("add.Tensor", note), DP_IMPL_BELOW("neg", note))
