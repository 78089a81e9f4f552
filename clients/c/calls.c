/* calls.c -- tensors and programs by one call each. */
#include "client.h"

/* Send `r`, release it, and read int member `name` of the result into `*out`. */
static int call_for_int(dpc_client *c, dpc_request *r, const char *name, int64_t *out,
                        dpc_error *err)
{
    dpc_answer *a;
    int rc = dpc_call(c, r, &a, err);

    dpc_request_free(r);
    if (rc != 0)
        return rc;
    if (dpc_value_int(dpc_value_member(dpc_answer_result(a), name), out) != 0)
        rc = dpci_fail(err, DPC_EPROTOCOL, "the daemon's result has no int '%s'", name);
    dpc_answer_free(a);
    return rc;
}

int dpc_tensor_create(dpc_client *c, dpc_dtype dtype, const int64_t *shape, size_t ndim,
                      const void *data, int64_t *handle, dpc_error *err)
{
    return call_for_int(c, dpc_create_new(dtype, shape, ndim, data), "tensor", handle, err);
}

int dpc_tensor_share(dpc_client *c, dpc_dtype dtype, const int64_t *shape, size_t ndim,
                     dpc_memory *m, size_t offset, int64_t *handle, dpc_error *err)
{
    return call_for_int(c, dpc_share_new(dtype, shape, ndim, m, offset), "tensor", handle, err);
}

int dpc_tensor_read(dpc_client *c, int64_t handle, int how, dpc_tensor *out, dpc_answer **hold,
                    dpc_error *err)
{
    dpc_request *r;
    dpc_answer *a;

    if (how != DPC_COPY && how != DPC_SHARED)
        return dpci_fail(err, DPC_EARGUMENT, "how is %d, want DPC_COPY (%d) or DPC_SHARED (%d)",
                         how, DPC_COPY, DPC_SHARED);
    if (how == DPC_SHARED)
        dpci_disuse_maps(c, dpc_limit(c, "maps"));
    r = dpc_request_new("tensor.read");
    dpc_add_int(r, "tensor", handle);
    dpc_add_str(r, "as", how == DPC_SHARED ? "fd" : "attachment");
    int rc = dpc_call(c, r, &a, err);
    dpc_request_free(r);
    if (rc != 0)
        return rc;
    rc = dpc_value_tensor(a, dpc_answer_result(a), out, err);
    if (rc != 0)
        dpc_answer_free(a);
    else
        *hold = a;
    return rc;
}

int dpc_tensor_unmap(dpc_client *c, dpc_answer *hold, dpc_error *err)
{
    const dpc_memory *m = hold != NULL ? hold->memory : NULL;

    dpc_answer_free(hold);
    if (m != NULL)
        dpci_disuse_map(c, m);
    if (c->n_unused == 0 || c->broken != 0) /* the end of the connection has released the numbers */
        return 0;
    int rc = dpci_check(c, err);
    return rc != 0 ? rc : dpci_release_maps(c, dpci_until(c->timeout_ms), err);
}

int dpc_tensor_release(dpc_client *c, const int64_t *handles, size_t n, dpc_error *err)
{
    dpc_request *r = dpc_request_new("tensor.release");

    dpc_add_ints(r, "tensors", handles, n);
    int rc = dpc_call(c, r, NULL, err);
    dpc_request_free(r);
    return rc;
}

int dpc_program_create(dpc_client *c, const char *json, int64_t *program, dpc_error *err)
{
    return call_for_int(c, dpc_request_json("program.create", json), "program", program, err);
}

int dpc_program_release(dpc_client *c, int64_t program, dpc_error *err)
{
    dpc_request *r = dpc_request_new("program.release");

    dpc_add_int(r, "program", program);
    int rc = dpc_call(c, r, NULL, err);
    dpc_request_free(r);
    return rc;
}
