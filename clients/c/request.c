/* request.c -- requests: begins them, sets their options, and writes what ends their message. */
#include "client.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- life -- */

static dpc_request *begin(enum dpci_form form, const char *method)
{
    dpc_request *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->form = form;
    r->empty = true;
    dpci_put(r, &r->text, ",\"method\":");
    dpci_put_string(r, &r->text, method);
    return r;
}

/* End the part of a request that dpc_request_reset() leaves.  NULL: memory ran out. */
static dpc_request *begun(dpc_request *r)
{
    if (r == NULL || r->fault != 0)
        return dpc_request_free(r);
    r->begin = r->text.len;
    return r;
}

dpc_request *dpc_request_new(const char *method)
{
    dpc_request *r = begin(DPCI_METHOD, method);

    if (r != NULL)
        dpci_put(r, &r->text, ",\"params\":{");
    return begun(r);
}

dpc_request *dpc_request_json(const char *method, const char *params)
{
    dpc_request *r = begin(DPCI_JSON, method);

    if (r != NULL && params != NULL) {
        dpci_put(r, &r->text, ",\"params\":");
        dpci_put_json(r, &r->text, params);
    }
    return begun(r);
}

dpc_request *dpc_op_new(const char *op)
{
    dpc_request *r = begin(DPCI_OP, "op.call");

    if (r == NULL)
        return NULL;
    dpci_put(r, &r->text, ",\"params\":{\"op\":");
    dpci_put_string(r, &r->text, op);
    dpci_put(r, &r->text, ",\"args\":[");
    return begun(r);
}

dpc_request *dpc_run_new(int64_t program)
{
    dpc_request *r = begin(DPCI_RUN, "program.run");

    if (r == NULL)
        return NULL;
    dpci_put(r, &r->text, ",\"params\":{\"program\":");
    dpci_put_int(r, &r->text, program);
    dpci_put(r, &r->text, ",\"inputs\":{");
    return begun(r);
}

static void detach_memories(dpc_request *r)
{
    while (r->n_memories > 0)
        dpc_memory_free(r->memories[--r->n_memories]);
}

void dpc_request_reset(dpc_request *r)
{
    if (r == NULL)
        return;
    r->text.len = r->begin;
    r->options.len = 0;
    r->n_attachments = 0;
    detach_memories(r);
    r->depth = 0;
    r->empty = true;
    r->by_name = false;
    r->fault = 0;
}

dpc_request *dpc_request_free(dpc_request *r)
{
    if (r == NULL)
        return NULL;
    detach_memories(r);
    free(r->text.at);
    free(r->options.at);
    free(r->attachments);
    free(r);
    return NULL;
}

dpc_request *dpc_create_new(dpc_dtype dtype, const int64_t *shape, size_t ndim, const void *data)
{
    dpc_request *r = dpc_request_new("tensor.create");

    if (r != NULL)
        dpci_put_data(r, dtype, shape, ndim, data);
    return r;
}

dpc_request *dpc_share_new(dpc_dtype dtype, const int64_t *shape, size_t ndim, dpc_memory *m,
                           size_t offset)
{
    dpc_request *r = dpc_request_new("tensor.create");

    dpci_put_memory(r, dtype, shape, ndim, m, offset);
    return r;
}

/* -- options -- */

void dpc_set_json(dpc_request *r, const char *name, const char *json)
{
    if (r == NULL || r->fault != 0)
        return;
    if (r->form == DPCI_METHOD && r->depth == 0) {
        dpc_add_json(r, name, json);
        return;
    }
    if (r->form == DPCI_JSON || r->form == DPCI_METHOD) {
        dpci_fault(r, DPC_EARGUMENT, "param '%.60s' cannot be set here", name);
        return;
    }
    dpci_put(r, &r->options, ",");
    dpci_put_string(r, &r->options, name);
    dpci_put(r, &r->options, ":");
    dpci_put_json(r, &r->options, json);
}

void dpc_set_return(dpc_request *r, int how)
{
    static const char *const names[] = {"\"handle\"", "\"data\"", "\"attachment\""};

    if (r != NULL && (how < 0 || how > DPC_RETURN_BYTES))
        dpci_fault(r, DPC_EARGUMENT, "return is %d, want one of DPC_RETURN_", how);
    else
        dpc_set_json(r, "return", names[how]);
}

void dpc_set_deadline(dpc_request *r, int64_t ms)
{
    char s[24];
    snprintf(s, sizeof(s), "%" PRId64, ms);
    dpc_set_json(r, "deadline_ms", s);
}

void dpc_set_into(dpc_request *r, const int64_t *handles, size_t n)
{
    dpci_text t = {0};

    if (r == NULL || r->fault != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        dpci_put(r, &t, i == 0 ? "[" : ",");
        if (handles[i] == 0)
            dpci_put(r, &t, "null");
        else
            dpci_put_int(r, &t, handles[i]);
        if (handles[i] > 0)
            dpci_fault(r, DPC_EARGUMENT, "into[%zu] is %" PRId64 ", want a number below 0, or 0", i,
                       handles[i]);
    }
    dpci_put_bytes(r, &t, n == 0 ? "[]" : "]", n == 0 ? sizeof("[]") : sizeof("]"));
    if (r->fault == 0)
        dpc_set_json(r, "into", t.at);
    free(t.at);
}

/* -- the end -- */

/* Append `s` to `tail`, unless memory ran out before. */
static bool append(dpci_text *tail, const char *s, size_t n)
{
    if (!dpci_reserve(tail, n))
        return false;
    if (n > 0)
        memcpy(tail->at + tail->len, s, n);
    tail->len += n;
    return true;
}

static bool append_attachments(const dpc_request *r, dpci_text *tail)
{
    char s[32];
    bool done = true;

    for (size_t i = 0; i < r->n_attachments && done; i++) {
        snprintf(s, sizeof(s), "%s%zu", i == 0 ? ",\"attachments\":[" : ",",
                 r->attachments[i].nbytes);
        done = append(tail, s, strlen(s));
    }
    return done && (r->n_attachments == 0 || append(tail, "]", 1));
}

static bool append_descriptors(const dpc_request *r, dpci_text *tail)
{
    char s[32];

    snprintf(s, sizeof(s), ",\"fds\":%zu", r->n_memories);
    return r->n_memories == 0 || append(tail, s, strlen(s));
}

int dpci_request_finish(const dpc_request *r, dpci_text *tail, dpc_error *err)
{
    if (r == NULL)
        return dpci_fail(err, DPC_EMEMORY, "out of memory for a request");
    if (r->fault != 0)
        return dpci_fail(err, r->fault, "%s", r->message);
    if (r->depth > 0)
        return dpci_fail(err, DPC_EARGUMENT, "%d lists or objects of the request are still open",
                         r->depth);
    const char *closes = r->form == DPCI_JSON  ? ""
                         : r->form == DPCI_OP  ? r->by_name ? "}" : "]"
                         : r->form == DPCI_RUN ? "}"
                                               : "";
    if (append(tail, closes, strlen(closes)) && append(tail, r->options.at, r->options.len) &&
        append(tail, "}", r->form == DPCI_JSON ? 0 : 1) && append_attachments(r, tail) &&
        append_descriptors(r, tail) && append(tail, "}\n", 2))
        return 0;
    return dpci_fail(err, DPC_EMEMORY, "out of memory for a request");
}
