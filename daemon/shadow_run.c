/* shadow_run.c -- runs a shadow call on its device. */
#include "shadow.h"
#include <stdio.h>
#include <string.h>

/* Describe the failure that the context has. */
static void fail(shadow_call *c, int code, const char *doing, shadow_outcome *out)
{
    const dp_error *err = dp_ctx_error(c->ctx);

    out->code = code;
    out->cancelled = code == DP_ECANCELLED;
    out->failed = !out->cancelled;
    snprintf(out->what, sizeof(out->what), "%s: %.400s", doing, err->message);
}

/* Make the arguments on device `to`; NULL: each on the device of the client's.  Wrapped numbers
 * stay on the CPU, as in PyTorch. */
static int send(shadow_call *c, const dp_device *to)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < c->n_tensors; i++) {
        shadow_tensor *t = &c->tensors[i];
        dp_device device = to != NULL ? *to : t->home;
        if (device == DP_DEVICE_CPU || dp_tensor_is_wrapped(t->host))
            t->device = dp_tensor_ref(t->host);
        else
            rc = shadow_copy(c->ctx, t->host, device, &t->device);
    }
    return rc;
}

static dp_tensor *sent(const shadow_call *c, const dp_tensor *host)
{
    uint32_t i = 0;

    while (c->tensors[i].host != host)
        i++;
    return c->tensors[i].device;
}

/* Set *out to the arguments, with the tensors on the device. */
static int place(const shadow_call *c, const dp_value *v, dp_value *out)
{
    *out = *v;
    if (v->tag == DP_TAG_TENSOR)
        out->u.t = sent(c, v->u.t);
    if (v->tag != DP_TAG_TENSORS)
        return 0;
    dp_tensor **list = dp_alloc_n(c->ctx, v->len, sizeof(*list));
    if (list == NULL)
        return DP_ERESOURCE;
    for (uint32_t i = 0; i < v->len; i++)
        list[i] = v->u.tensors[i] != NULL ? sent(c, v->u.tensors[i]) : NULL;
    out->u.tensors = list;
    return 0;
}

/* The operator may have another schema, or none, since the client called it. */
static int check_schema(const shadow_call *c)
{
    dp_schema_info info = {.size = sizeof(info)};
    int rc = dp_schema_info_get(c->ctx, c->bound.op, &info);

    if (rc == 0 && strcmp(info.text, c->schema) != 0)
        rc = dp_fail(c->ctx, DP_ENOTFOUND, "the operator's schema has changed to %s", info.text);
    return rc;
}

/* Call the operator, and set got [n_rets + n_args] to what it gave. */
static int call(shadow_call *c, const dp_value *args, dp_value *got)
{
    dp_bound b = c->bound;
    dp_value *rets = dp_alloc_n(c->ctx, b.n_rets, sizeof(*rets));

    if (rets == NULL)
        return DP_ERESOURCE;
    b.args = (dp_value *)(uintptr_t)args;
    int rc = dp_call_boxed(c->ctx, b.op, b.args, b.n_args, rets, b.n_rets);
    dp_ctx_fp_settle(c->ctx, dp_op_name(b.op));
    if (rc < 0)
        return rc;
    rc = dp_name_returns(c->ctx, &b, rets);
    for (uint32_t i = 0; rc == 0 && i < b.n_rets; i++)
        rc = shadow_copy_value(c, &rets[i], &got[i]);
    for (uint32_t i = 0; rc == 0 && i < b.n_args; i++)
        if (c->want[b.n_rets + i].tag != DP_TAG_NONE)
            rc = shadow_copy_value(c, &args[i], &got[b.n_rets + i]);
    dp_values_release(rets, b.n_rets);
    return rc;
}

/* Run the call on `device`, as send() takes it; one snapshot of the registry serves all of it. */
static int run_on(shadow_call *c, const dp_device *device, dp_value *got)
{
    dp_value *args = dp_alloc_n(c->ctx, c->bound.n_args, sizeof(*args));
    int rc = args != NULL ? check_schema(c) : DP_ERESOURCE;

    if (rc == 0)
        rc = send(c, device);
    for (uint32_t i = 0; rc == 0 && i < c->bound.n_args; i++)
        rc = place(c, &c->bound.args[i], &args[i]);
    if (rc == 0)
        rc = call(c, args, got);
    for (uint32_t i = 0; i < c->n_tensors; i++)
        c->tensors[i].device = dp_tensor_unref(c->tensors[i].device);
    return rc;
}

void shadow_run(shadow_call *c, const dp_cancel_flag *cancel, shadow_outcome *out)
{
    uint32_t n = c->bound.n_rets + c->bound.n_args;
    dp_value *got = dp_arena_alloc_n(dp_ctx_arena(c->ctx), n, sizeof(*got));
    dp_device device;
    bool at_home = c->how.device[0] == '\0'; /* the code that a canary may replace */

    *out = (shadow_outcome){0};
    for (uint32_t i = 0; got != NULL && i < n; i++)
        got[i] = dp_none();
    dp_ctx_set_streams(c->ctx, NULL); /* not those of the session, which may have ended */
    dp_ctx_set_threads(c->ctx, 1);    /* leave the cores to the clients' calls */
    dp_ctx_set_cancel(c->ctx, cancel);
    dp_ctx_set_deadline(c->ctx, nanos() + LIMIT_NANOS(SHADOW_MS));
    int rc = got != NULL ? dp_ctx_begin(c->ctx)
                         : dp_fail(c->ctx, DP_ERESOURCE, "out of memory: results of a shadow call");
    if (rc == 0) {
        rc = at_home ? 0 : dp_device_parse(c->how.device, &device, dp_ctx_error(c->ctx));
        if (rc == 0)
            rc = run_on(c, at_home ? NULL : &device, got);
        dp_ctx_end(c->ctx);
    }
    if (rc < 0)
        fail(c, rc, "the call", out);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = at_home ? shadow_compare(c->ctx, &c->how, i, &got[i], &c->want[i], out)
                     : shadow_compare(c->ctx, &c->how, i, &c->want[i], &got[i], out);
    if (rc < 0 && !out->failed && !out->cancelled)
        fail(c, rc, "the comparison", out);
    for (uint32_t i = 0; got != NULL && i < n; i++)
        dp_value_free(&got[i]);
}
