/* grad.c -- methods grad.*: run backward, get and set the gradients of tensors and their hooks, and
 * show the graph that autograd recorded. */
#include "methods.h"
#include <dispatchd/grad.h>

/* Return the handle that `j` of type tensor_handle is: a number, or an object with a number. */
static uint64_t named_handle(const cJSON *j)
{
    return handle_of(json_type(j) == cJSON_Object ? param(j, "tensor") : j);
}

/* Pin the tensors in a JSON array of the type tensor_handle: `out` [n]. */
static int pin_tensors(request *rq, const cJSON *list, dp_tensor **out, dp_error *err)
{
    json_path at = {NULL, "tensors", 0}, inside = {&at, NULL, 0};
    const cJSON *item;

    cJSON_ArrayForEach(item, list)
    {
        int rc = run_pin(rq, named_handle(item), &inside, &out[inside.index], err);
        if (rc < 0)
            return rc;
        inside.index++;
    }
    return 0;
}

/* Read a tensor that is `j`, a value or, if `numbers`, a handle: *out, valid until the method ends,
 * or NULL for null. */
static int read_tensor(request *rq, const cJSON *j, bool numbers, const json_path *at,
                       dp_tensor **out, dp_error *err)
{
    dp_value v = {0};

    *out = NULL;
    if (numbers && json_is_int(j))
        return run_pin(rq, named_handle(j), at, out, err);
    int rc = value_from_json(rq, j, at, &v, err);
    if (rc < 0)
        return rc;
    if (v.tag != DP_TAG_TENSOR && v.tag != DP_TAG_NONE)
        return json_path_fail(err, DP_EPARAMS, at, "expected a tensor%s but got %s",
                              numbers ? "" : ", or null,", json_kind(j));
    *out = v.tag == DP_TAG_TENSOR ? v.u.t : NULL;
    return 0;
}

/* Read a JSON array of tensors: *out [*n], valid until the method ends.  Either its items may be
 * null (`gaps`), or handles as numbers. */
static int read_tensors(request *rq, const cJSON *list, const char *name, bool gaps,
                        dp_tensor ***out, size_t *n, dp_error *err)
{
    json_path at = {NULL, name, 0}, inside = {&at, NULL, 0};
    const cJSON *item;

    *n = (size_t)cJSON_GetArraySize(list);
    *out = run_alloc(rq, dp_size_times(*n + 1, sizeof(**out)), err);
    if (*out == NULL)
        return err->code;
    cJSON_ArrayForEach(item, list)
    {
        int rc = read_tensor(rq, item, !gaps, &inside, &(*out)[inside.index], err);
        if (rc == 0 && (*out)[inside.index] == NULL && !gaps)
            rc = json_path_fail(err, DP_EPARAMS, &inside, "expected a tensor but got null");
        if (rc < 0)
            return rc;
        inside.index++;
    }
    return 0;
}

/* Write the gradients as member "grads" of the answer.  Takes over the references in `grads`, also
 * on failure. */
static int write_grads(request *rq, dp_tensor **grads, size_t n, jw *w, dp_error *err)
{
    int rc = 0;

    jw_key(w, "grads");
    jw_array(w);
    for (size_t i = 0; i < n; i++) {
        uint64_t handle;
        dp_tensor *t = grads[i];
        grads[i] = NULL;
        if (t == NULL) {
            jw_null(w);
            continue;
        }
        rc = rc == 0 ? run_keep(rq, t, err) : (dp_tensor_unref(t), rc);
        if (rc == 0)
            rc = run_put(rq, t, &handle, err);
        if (rc == 0)
            rc = tensor_to_json(rq, w, t, handle, RETURN_HANDLE, err);
    }
    jw_array_end(w);
    return rc;
}

/* Write the result of a dry backward. */
static void dry_to_json(jw *w, const dp_backward_dry *d)
{
    jw_object(w);
    member_int(w, "peak_bytes", (int64_t)d->peak_bytes);
    member_int(w, "saved_bytes", (int64_t)d->saved_bytes);
    jw_key(w, "ops");
    jw_array(w);
    for (size_t i = 0; i < d->n_ops; i++) {
        jw_object(w);
        member_str(w, "op", d->ops[i].op);
        member_int(w, "calls", (int64_t)d->ops[i].calls);
        member_int(w, "saved_bytes", (int64_t)d->ops[i].saved_bytes);
        member_bool(w, "has_formula", !d->ops[i].missing);
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_object_end(w);
}

int grad_backward(request *rq, const grad_backward_params *p, jw *w, dp_error *err)
{
    dp_backward_dry dry = {.size = sizeof(dry)};
    dp_backward_options o = {.size = sizeof(o), .dry = p->dry ? &dry : NULL};
    dp_tensor **tensors, **gradients = NULL, **inputs = NULL;
    size_t n = 0;

    if (p->inputs != NULL && cJSON_GetArraySize(p->inputs) == 0)
        return dp_error_set(err, DP_ERUNTIME, "'inputs' argument to backward() cannot be empty.");
    int rc = read_tensors(rq, p->tensors, "tensors", false, &tensors, &o.n, err);

    if (rc == 0 && p->gradients != NULL)
        rc = read_tensors(rq, p->gradients, "gradients", true, &gradients, &n, err);
    if (rc == 0 && p->gradients != NULL && n != o.n)
        rc = json_path_fail(err, DP_EPARAMS, NULL, "got %zu tensors and %zu gradients", o.n, n);
    if (rc == 0 && p->inputs != NULL)
        rc = read_tensors(rq, p->inputs, "inputs", false, &inputs, &o.n_inputs, err);
    if (rc == 0 &&
        (o.grads = run_alloc(rq, dp_size_times(o.n_inputs + 1, sizeof(*o.grads)), err)) == NULL)
        rc = err->code;
    if (rc < 0)
        return rc;
    o.tensors = tensors;
    o.gradients = gradients;
    o.inputs = inputs;
    if (p->create_graph)
        o.flags |= DP_BACKWARD_CREATE;
    if (p->check_nan)
        o.flags |= DP_BACKWARD_CHECK_NAN;
    if (p->has_retain_graph ? p->retain_graph : p->create_graph)
        o.flags |= DP_BACKWARD_RETAIN;
    run_name(rq);
    if (dp_backward(rq->ctx, &o) < 0)
        return run_ctx_error(rq, err);
    if (p->dry) {
        dry_to_json(w, &dry);
        return 0;
    }
    jw_object(w);
    if (p->inputs != NULL)
        rc = write_grads(rq, o.grads, o.n_inputs, w, err);
    jw_object_end(w);
    return rc;
}

int grad_get(request *rq, const grad_get_params *p, jw *w, dp_error *err)
{
    dp_tensor *t, *grad;
    uint64_t handle;
    int rc = run_pin(rq, named_handle(p->tensor), &(json_path){NULL, "tensor", 0}, &t, err);

    if (rc < 0)
        return rc;
    grad = dp_tensor_grad(t);
    if (grad != NULL)
        rc = run_keep(rq, grad, err);
    if (rc == 0 && grad != NULL)
        rc = run_put(rq, grad, &handle, err);
    if (rc < 0)
        return rc;
    jw_object(w);
    jw_key(w, "grad");
    if (grad == NULL)
        jw_null(w);
    else
        rc = tensor_to_json(rq, w, grad, handle, RETURN_HANDLE, err);
    jw_object_end(w);
    return rc;
}

int grad_set(request *rq, const grad_set_params *p, jw *w, dp_error *err)
{
    json_path at = {NULL, "grad", 0};
    dp_tensor *t, *grad = NULL;
    int rc = run_pin(rq, named_handle(p->tensor), &(json_path){NULL, "tensor", 0}, &t, err);

    if (rc == 0 && p->grad != NULL)
        rc = read_tensor(rq, p->grad, false, &at, &grad, err);
    if (rc == 0 && dp_tensor_set_grad(rq->ctx, t, grad) < 0)
        rc = run_ctx_error(rq, err);
    if (rc < 0)
        return rc;
    jw_object(w);
    jw_object_end(w);
    return 0;
}

int grad_hook(request *rq, const grad_hook_params *p, jw *w, dp_error *err)
{
    const dp_op *op = NULL;
    dp_tensor *t;
    int rc = run_pin(rq, named_handle(p->tensor), &(json_path){NULL, "tensor", 0}, &t, err);

    if (rc < 0)
        return rc;
    if (cJSON_IsString(p->op) && (op = dp_op_find(rq->ctx, p->op->valuestring)) == NULL)
        return run_ctx_error(rq, err);
    if (dp_tensor_hook(rq->ctx, t, op) < 0)
        return run_ctx_error(rq, err);
    jw_object(w);
    member_int(w, "hooks", dp_tensor_hooks(t));
    jw_object_end(w);
    return 0;
}

int grad_watch(request *rq, const grad_watch_params *p, jw *w, dp_error *err)
{
    size_t n = (size_t)cJSON_GetArraySize(p->tensors), i = 0;
    dp_tensor **tensors = run_alloc(rq, dp_size_times(n + 1, sizeof(dp_tensor *)), err);
    bool *added = run_alloc(rq, n + 1, err);
    const cJSON *item;

    if (tensors == NULL || added == NULL || pin_tensors(rq, p->tensors, tensors, err) < 0)
        return err->code;
    dp_grad_watcher *watcher = rq->daemon->watch_gradients(rq->conn);
    if (watcher == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a watcher of gradients");
    cJSON_ArrayForEach(item, p->tensors)
    {
        int rc = p->enabled ? dp_tensor_watch_grad(rq->ctx, tensors[i], watcher, named_handle(item))
                            : dp_tensor_unwatch_grad(rq->ctx, tensors[i], watcher);
        if (rc < 0) {
            rc = run_ctx_error(rq, err);
            while (i-- > 0)
                if (added[i])
                    dp_tensor_unwatch_grad(rq->ctx, tensors[i], watcher);
            return rc;
        }
        added[i++] = rc > 0;
    }
    jw_object(w);
    member_bool(w, "enabled", p->enabled);
    jw_object_end(w);
    return 0;
}

int grad_zero(request *rq, const grad_zero_params *p, jw *w, dp_error *err)
{
    size_t n = (size_t)cJSON_GetArraySize(p->tensors);
    dp_tensor **tensors = run_alloc(rq, dp_size_times(n + 1, sizeof(dp_tensor *)), err);
    int64_t zeroed = 0;

    if (tensors == NULL || pin_tensors(rq, p->tensors, tensors, err) < 0)
        return err->code;
    for (size_t i = 0; i < n; i++) {
        dp_tensor *grad = dp_tensor_grad(tensors[i]);
        zeroed += grad != NULL;
        dp_tensor_unref(grad);
        if (grad != NULL && dp_tensor_set_grad(rq->ctx, tensors[i], NULL) < 0)
            return run_ctx_error(rq, err);
    }
    jw_object(w);
    member_int(w, "zeroed", zeroed);
    jw_object_end(w);
    return 0;
}

/* -- grad.graph -- */

enum { RETURNS_SHOWN = 16 }; /* most returns of one call in the answer of grad.graph */

/* Write member "returns": what call `i` returned. */
static void returns_to_json(jw *w, const dp_grad_graph *g, uint32_t i)
{
    dp_grad_return r;

    jw_key(w, "returns");
    jw_array(w);
    for (uint32_t nr = 0; nr < g->nodes[i].n_returns && nr < RETURNS_SHOWN; nr++) {
        if (!dp_grad_graph_return(g, i, nr, &r)) {
            jw_null(w);
            continue;
        }
        jw_object(w);
        member_str(w, "dtype", dp_dtype_name(r.dtype));
        ints_to_json(w, "shape", r.sizes, r.ndim);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void node_to_json(jw *w, const dp_grad_graph *g, uint32_t i, uint64_t handle)
{
    const dp_grad_node *n = &g->nodes[i];

    jw_object(w);
    if (n->leaf != NULL) {
        DP_VIEW(v, n->leaf);
        member_bool(w, "leaf", true);
        if (handle != 0)
            member_int(w, "tensor", handle);
        member_str(w, "dtype", dp_dtype_name(v.dtype));
        ints_to_json(w, "shape", v.sizes, v.ndim);
    } else {
        member_str(w, "op", n->op);
        if (n->request != NULL)
            member_str(w, "request", n->request);
        if (n->step >= 0)
            member_int(w, "step", n->step);
        member_int(w, "saved_bytes", n->saved_bytes);
        member_bool(w, "released", n->released);
        returns_to_json(w, g, i);
    }
    jw_object_end(w);
}

static void graph_to_json(jw *w, const cJSON *tensors, const dp_grad_graph *g,
                          const uint64_t *handles)
{
    const cJSON *item;
    size_t root = 0;

    jw_key(w, "roots");
    jw_array(w);
    cJSON_ArrayForEach(item, tensors)
    {
        jw_object(w);
        member_int(w, "tensor", named_handle(item));
        member_int(w, "node", g->roots[root].to);
        member_int(w, "nr", g->roots[root++].nr);
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_key(w, "nodes");
    jw_array(w);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        node_to_json(w, g, i, handles[i]);
    jw_array_end(w);
    jw_key(w, "edges");
    jw_array(w);
    for (uint32_t i = 0; i < g->n_edges; i++) {
        jw_object(w);
        member_int(w, "from", g->edges[i].from);
        member_int(w, "input", g->edges[i].input);
        member_int(w, "to", g->edges[i].to);
        member_int(w, "nr", g->edges[i].nr);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static int write_graph(request *rq, const grad_graph_params *p, const dp_grad_graph *g, jw *w,
                       dp_error *err)
{
    uint64_t *handles = run_alloc(rq, dp_size_times(g->n_nodes + 1, sizeof(*handles)), err);
    const char *text = NULL;

    if (handles == NULL)
        return err->code;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        handles[i] =
            g->nodes[i].leaf != NULL ? session_handle_of(rq->session, g->nodes[i].leaf) : 0;
    if (p->format == GRAD_GRAPH_FORMAT_DOT &&
        (text = dp_grad_graph_dot(g, handles, dp_ctx_arena(rq->ctx))) == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: the text of a graph");
    jw_object(w);
    if (text != NULL)
        member_str(w, "text", text);
    else
        graph_to_json(w, p->tensors, g, handles);
    jw_object_end(w);
    return 0;
}

int grad_graph(request *rq, const grad_graph_params *p, jw *w, dp_error *err)
{
    size_t n = (size_t)cJSON_GetArraySize(p->tensors);
    dp_tensor **tensors = run_alloc(rq, dp_size_times(n + 1, sizeof(dp_tensor *)), err);
    dp_grad_graph *g;

    if (tensors == NULL || pin_tensors(rq, p->tensors, tensors, err) < 0)
        return err->code;
    if (dp_grad_graph_new(rq->ctx, tensors, n, LIMIT_SIZE(GRAPH_NODES), &g) < 0)
        return run_ctx_error(rq, err);
    int rc = write_graph(rq, p, g, w, err);
    dp_grad_graph_free(g);
    return rc;
}
