/* apply.c -- run one node of the autograd graph: compute the gradients of an operator's arguments
 * from the gradients of its returns. */
#include "checkpoint.h"
#include "dispatch/call/values.h"
#include "program/program_i.h"
#include "tensor/room.h"

/* -- calls -- */

int dpi_call_one(dp_ctx *ctx, const char *name, const dp_value *args, size_t n, dp_tensor **out)
{
    const dp_op *op = dp_op_find(ctx, name);
    dp_value ret = {0};
    int rc = op != NULL ? dp_call_boxed(ctx, op, args, n, &ret, 1) : ctx->error.code;

    *out = rc == 0 ? ret.u.t : NULL;
    return rc;
}

int dpi_zeros(dp_ctx *ctx, int ndim, const int64_t *sizes, dp_dtype dtype, dp_device device,
              dp_tensor **out)
{
    const dp_value args[5] = {
        dp_ints(sizes, (size_t)ndim), dp_int(dtype), {0}, dp_int(device), {0}};

    return dpi_call_one(ctx, "aten::zeros", args, 5, out);
}

int dpi_replace(dp_ctx *ctx, const char *op, dp_value *args, size_t n, dp_tensor **t)
{
    dp_tensor *made;

    args[0] = dp_tensor_value(*t);
    int rc = dpi_call_one(ctx, op, args, n, &made);
    if (rc < 0)
        return rc;
    dp_tensor_unref(*t);
    *t = made;
    return 0;
}

int dpi_copy_into(dp_ctx *ctx, dp_tensor *to, dp_tensor *from)
{
    const dp_value args[3] = {dp_tensor_value(to), dp_tensor_value(from), dp_bool(false)};
    dp_tensor *same;
    int rc = dpi_call_one(ctx, "aten::copy_", args, 3, &same);

    if (rc == 0)
        dp_tensor_unref(same);
    return rc;
}

/* -- views and their bases -- */

/* Make a tensor of zeros with the sizes and strides of `g`: *out, which the caller owns. */
static int zeros_like_geometry(dp_ctx *ctx, const dpi_geometry_copy *g, dp_tensor **out)
{
    int64_t elements = 1;
    dp_tensor *flat;

    for (int d = 0; d < g->ndim; d++)
        elements += (g->dims[d] - 1) * g->dims[g->ndim + d];
    for (int d = 0; d < g->ndim; d++)
        if (g->dims[d] == 0)
            elements = 0;
    int rc = dpi_zeros(ctx, 1, &elements, g->dtype, g->device, &flat);
    if (rc < 0)
        return rc;
    dp_value args[4] = {{0},
                        dp_ints(g->dims, (size_t)g->ndim),
                        dp_ints(g->dims + g->ndim, (size_t)g->ndim),
                        dp_int(0)};
    *out = flat;
    rc = dpi_replace(ctx, "aten::as_strided", args, 4, out);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* Make a view of tensor `of`: *out, which the caller owns.  `of` has the geometry `base`, the view
 * gets the geometry `view`. */
static int view_of(dp_ctx *ctx, const dpi_geometry_copy *base, const dpi_geometry_copy *view,
                   dp_tensor *of, dp_tensor **out)
{
    int64_t offset = view->offset - base->offset;
    dp_value one[1];
    int rc = 0;

    *out = dp_tensor_ref(of);
    if (view->dtype != base->dtype) { /* `view` views complex numbers as pairs of reals */
        offset = view->offset - 2 * base->offset;
        rc = dpi_replace(ctx, "aten::view_as_real", one, 1, out);
    }
    if (rc == 0) {
        dp_value args[4] = {{0},
                            dp_ints(view->dims, (size_t)view->ndim),
                            dp_ints(view->dims + view->ndim, (size_t)view->ndim),
                            dp_int(offset)};
        rc = dpi_replace(ctx, "aten::as_strided", args, 4, out);
    }
    uint64_t flipped = view->math_bits ^ base->math_bits;
    if (rc == 0 && (flipped & DPI_BIT(Conjugate)))
        rc = dpi_replace(ctx, "aten::_conj", one, 1, out);
    if (rc == 0 && (flipped & DPI_BIT(Negative)))
        rc = dpi_replace(ctx, "aten::_neg_view", one, 1, out);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* In a dimension with stride 0 (expand), all elements of a view are the same element of its base,
 * whose gradient is the sum of theirs.  Sum *grad over each such dimension, and set the dimension's
 * size in *view to 1. */
static int sum_repeated(dp_ctx *ctx, dpi_geometry_copy *view, dp_tensor **grad)
{
    int64_t dims[DP_DIM_MAX];
    size_t n = 0;

    for (int d = 0; d < view->ndim; d++)
        if (view->dims[d] > 1 && view->dims[view->ndim + d] == 0) {
            dims[n++] = d;
            view->dims[d] = 1;
        }
    dp_value args[4] = {{0}, dp_ints(dims, n), dp_bool(true), {0}};
    return n > 0 ? dpi_replace(ctx, "aten::sum.dim_IntList", args, 4, grad) : 0;
}

/* Compute the gradient of a base from `grad`, the gradient of its view: `grad` at the elements of
 * the view, zeros elsewhere (AsStridedBackward). */
static int apply_strided(dp_ctx *ctx, dpi_node *n, dp_tensor *grad, dp_tensor **out)
{
    dpi_geometry_copy *view =
        dp_arena_dup(&ctx->arena, n->view, dpi_geometry_copy_bytes(n->view->ndim));
    dp_tensor *window = NULL;
    int rc = view != NULL ? zeros_like_geometry(ctx, n->base, out)
                          : dpi_no_memory(&ctx->error, "a gradient");

    if (rc < 0)
        return rc;
    dp_tensor_ref(grad);
    rc = sum_repeated(ctx, view, &grad);
    if (rc == 0)
        rc = view_of(ctx, n->base, view, *out, &window);
    if (rc == 0)
        rc = dpi_copy_into(ctx, window, grad);
    dp_tensor_unref(grad);
    dp_tensor_unref(window);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* Run the node of a base that was written through a view (CopySlices).  `grad` is the gradient of
 * the base after the write.  The gradient before the write differs only at the elements of the
 * view: `inner`, the node of the writing operator, computes their gradients. */
static int apply_slices(dp_ctx *ctx, dpi_node *n, dp_tensor *grad, dpi_applied *out)
{
    dpi_node *inner = n->inner;
    dp_tensor *result = NULL, *window = NULL;
    dp_tensor **grads = dp_arena_alloc_n(&ctx->arena, inner->n_rets, sizeof(*grads));
    bool *wanted = dp_arena_alloc_n(&ctx->arena, inner->n_edges, sizeof(bool));

    if (grads == NULL || wanted == NULL)
        return dpi_no_memory(&ctx->error, "gradients");
    dp_zero_n(grads, inner->n_rets, sizeof(*grads));
    for (uint32_t i = 0; i < inner->n_edges; i++)
        wanted[i] = i == n->inner_edge ? out->wanted[0] : out->wanted[i + 1];
    int rc = zeros_like_geometry(ctx, n->base, &result);
    if (rc == 0)
        rc = dpi_copy_into(ctx, result, grad);
    if (rc == 0)
        rc = view_of(ctx, n->base, n->view, result, &window);
    if (rc == 0)
        rc = dpi_call_one(ctx, "aten::clone", (dp_value[]){dp_tensor_value(window), {0}}, 2,
                          &grads[n->inner_ret]);
    dpi_applied sub = {out->grads + 1, wanted, out->create_graph, out->recomputes, n};
    if (rc == 0)
        rc = dpi_node_apply(ctx, inner, grads, &sub);
    dp_tensor_unref(grads[n->inner_ret]);
    dp_tensor **self = &out->grads[1 + n->inner_edge];
    if (rc == 0 && out->wanted[0] && *self != NULL) {
        rc = dpi_copy_into(ctx, window, *self);
    } else if (rc == 0 && out->wanted[0]) {
        dp_tensor *same;
        rc = dpi_call_one(ctx, "aten::zero_", (dp_value[]){dp_tensor_value(window)}, 1, &same);
        if (rc == 0)
            dp_tensor_unref(same);
    }
    *self = dp_tensor_unref(*self);
    dp_tensor_unref(window);
    if (rc == 0 && out->wanted[0])
        out->grads[0] = result;
    else
        dp_tensor_unref(result);
    return rc;
}

/* -- formulas -- */

static int fail_released(dp_ctx *ctx, const dpi_node *n)
{
    return dp_error_set(&ctx->error, DP_ERUNTIME,
                        "Trying to backward through the graph a second time (or directly access "
                        "saved tensors after they have already been freed), at %s. Saved "
                        "intermediate values of the graph are freed when you call backward. "
                        "Specify retain_graph=True if you need to backward through the graph a "
                        "second time.",
                        n->op != NULL ? n->op->name : "a view");
}

/* Make the tensor that was saved as `s`: *out, which the caller owns; NULL: no tensor was saved.
 * A leaf that was given other elements (set_data) is read as it is now.  If `create`, the tensor
 * also gets the history that it had when it was saved, to which `edge` leads; NULL: it had
 * none. */
static int unpack(dp_ctx *ctx, dpi_node *n, uint32_t input, const dpi_saved *s,
                  const dpi_edge *edge, bool create, dp_tensor **out)
{
    const dpi_source *from = &n->formula->inputs[input];
    bool cloned = from->kind == DPI_FROM_ARG && (n->formula->clone >> from->index & 1);

    if (s->geometry == NULL)
        return 0;
    if (!cloned && dpi_saved_is_stale(s))
        return dpi_saved_fail_stale(s, &ctx->error, n->op->name, "",
                                    dp_program_input_name(n->formula->program, input));
    if (create && edge != NULL && edge->leaf && !cloned) {
        *out = dp_tensor_ref(edge->to);
        return 0;
    }
    dpi_saved now = *s;
    if (edge != NULL && edge->leaf && !cloned)
        now.geometry = (dpi_geometry *)(uintptr_t)dpi_geometry_of(edge->to);
    int rc = dpi_saved_tensor(&now, out, &ctx->error);
    if (rc < 0 || !create || !dpi_differentiable(s->dtype))
        return rc;
    if (edge != NULL && edge->to != NULL && !edge->leaf)
        rc = dpi_history_set(ctx, *out, dpi_node_ref(edge->to), edge->nr);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* Make the tensor that was saved from return `ret` for input `input` of the formula: *t, which the
 * caller owns.  `s`: the saved tensor.  If the operator wrote a view, the tensor gets the history
 * of a view of the base. */
static int unpack_return(dp_ctx *ctx, dpi_node *n, uint32_t input, uint32_t ret, const dpi_saved *s,
                         const dpi_applied *out, dp_tensor **t)
{
    bool create = out->create_graph && (n->formula->differentiable >> ret & 1);
    dpi_edge edge = {n, ret, false};
    dpi_node *view = NULL;
    int rc = 0;

    if (create && out->slices != NULL && out->slices->inner_ret == ret) {
        rc = dpi_view_of_slices(ctx, out->slices, &view);
        edge = (dpi_edge){view, 0, false};
    }
    if (rc == 0)
        rc = unpack(ctx, n, input, s, create ? &edge : NULL, create, t);
    dpi_node_unref(view);
    return rc;
}

/* Get the value that was saved for input `input` of the formula: *value.  The caller owns the
 * tensors in *value.  `saver`: n, or the node that saved its values again. */
static int read_slot(dp_ctx *ctx, dpi_node *n, const dpi_node *saver, uint32_t input,
                     const dpi_applied *out, dp_value *value)
{
    const dpi_source *from = &n->formula->inputs[input];
    const dpi_slot *s = &saver->slots[from->slot];
    bool arg = from->kind == DPI_FROM_ARG;
    const dpi_edge *edges = arg ? &n->edges[n->arg_edges[from->index]] : NULL;
    bool create = out->create_graph;
    int rc = 0;

    if (s->kind == DPI_SLOT_VALUE) {
        *value = s->value;
        return 0;
    }
    if (s->kind == DPI_SLOT_TENSOR) {
        dp_tensor *t = NULL;
        rc = arg ? unpack(ctx, n, input, &s->tensor, edges, create, &t)
                 : unpack_return(ctx, n, input, from->index, &s->tensor, out, &t);
        *value = t != NULL ? dp_tensor_value(t) : (dp_value){0};
        return rc;
    }
    if (s->kind != DPI_SLOT_TENSORS)
        return 0;
    dp_tensor **list = dp_arena_alloc_n(&ctx->arena, s->n, sizeof(*list));
    if (list == NULL)
        return dpi_no_memory(&ctx->error, "saved tensors");
    dp_zero_n(list, s->n, sizeof(*list));
    *value = dp_tensors(list, s->n);
    for (uint32_t i = 0; i < s->n && rc == 0; i++)
        rc = unpack(ctx, n, input, &s->list[i], arg ? &edges[i] : NULL, create, &list[i]);
    return rc;
}

/* Get the gradient of return `nr`: *out, which the caller owns.  An undefined gradient becomes NULL
 * if the formula's input is `optional` or the return was no tensor, else zeros. */
static int read_grad(dp_ctx *ctx, const dpi_node *n, uint32_t nr, bool optional,
                     dp_tensor *const *grads, dp_tensor **out)
{
    const dpi_node_ret *ret = &n->rets[nr];

    if (grads[nr] != NULL) {
        *out = dp_tensor_ref(grads[nr]);
        return 0;
    }
    *out = NULL;
    return optional || !ret->defined
               ? 0
               : dpi_zeros(ctx, ret->ndim, n->dims + ret->sizes, ret->dtype, ret->device, out);
}

static int read_grads(dp_ctx *ctx, const dpi_node *n, const dpi_source *from,
                      dp_tensor *const *grads, dp_value *out)
{
    dp_tensor *one = NULL;
    int rc;

    if (!from->list) {
        rc = read_grad(ctx, n, from->index, from->optional, grads, &one);
        *out = one != NULL ? dp_tensor_value(one) : (dp_value){0};
        return rc;
    }
    dp_tensor **list = dp_arena_alloc_n(&ctx->arena, n->n_rets, sizeof(*list));
    if (list == NULL)
        return dpi_no_memory(&ctx->error, "gradients");
    dp_zero_n(list, n->n_rets, sizeof(*list));
    *out = dp_tensors(list, n->n_rets);
    rc = 0;
    for (uint32_t i = 0; i < n->n_rets && rc == 0; i++)
        rc = read_grad(ctx, n, i, from->optional, grads, &list[i]);
    return rc;
}

/* Does backward want the gradient of any tensor in argument `arg`? */
static bool is_wanted(const dpi_node *n, const dpi_applied *out, uint32_t arg)
{
    for (uint32_t i = n->arg_edges[arg]; i < n->arg_edges[arg + 1]; i++)
        if (out->wanted[i])
            return true;
    return false;
}

/* Read the saved values under the node's lock, because a backward of another connection may be
 * releasing them. */
static int read_slots(dp_ctx *ctx, dpi_node *n, const dpi_applied *out, dp_value *inputs)
{
    const dpi_node *saver = n;
    int rc = DPI_UNLIKELY(n->checkpoint_nr != 0)
                 ? dpi_recomputes_node(ctx, out->recomputes, n, &saver)
                 : 0;

    if (rc < 0)
        return rc;
    dpi_node_lock(n);
    rc = n->released ? fail_released(ctx, n) : 0;
    for (uint32_t i = 0; i < n->n_slots && rc == 0; i++)
        rc = read_slot(ctx, n, saver, n->formula->saves[i], out, &inputs[n->formula->saves[i]]);
    dpi_node_unlock(n);
    return rc;
}

static int read_inputs(dp_ctx *ctx, dpi_node *n, dp_tensor *const *grads, const dpi_applied *out,
                       dp_value *inputs)
{
    int rc = n->n_slots > 0 ? read_slots(ctx, n, out, inputs) : 0;

    for (uint32_t i = 0; i < n->formula->n_inputs && rc == 0; i++) {
        const dpi_source *from = &n->formula->inputs[i];
        if (from->kind == DPI_FROM_GRAD)
            rc = read_grads(ctx, n, from, grads, &inputs[i]);
        else if (from->kind == DPI_FROM_NEED)
            inputs[i] = dp_bool(is_wanted(n, out, from->index));
        else if (from->kind == DPI_FROM_CREATE)
            inputs[i] = dp_bool(out->create_graph);
    }
    return rc;
}

static void release_inputs(const dpi_formula *f, dp_value *inputs)
{
    for (uint32_t i = 0; i < f->n_inputs; i++)
        if (inputs[i].tag == DP_TAG_TENSOR || inputs[i].tag == DP_TAG_TENSORS)
            dp_values_release(&inputs[i], 1);
}

/* Store the outputs of the formula as the gradients of the wanted edges; release the others. */
static void give_outputs(const dpi_node *n, dp_value *outputs, dpi_applied *out)
{
    for (uint32_t i = 0; i < n->formula->n_outputs; i++) {
        uint32_t at = n->arg_edges[n->formula->output_args[i]];
        uint32_t end = n->arg_edges[n->formula->output_args[i] + 1];
        dp_value *v = &outputs[i];
        if (v->tag == DP_TAG_TENSOR && at < end && out->wanted[at] && out->grads[at] == NULL)
            out->grads[at] = dp_tensor_ref(v->u.t);
        for (uint32_t k = 0; v->tag == DP_TAG_TENSORS && k < v->len && at + k < end; k++)
            if (v->u.tensors[k] != NULL && out->wanted[at + k] && out->grads[at + k] == NULL)
                out->grads[at + k] = dp_tensor_ref(v->u.tensors[k]);
        for (uint32_t k = 0; v->tag == DP_TAG_LIST && k < v->len && at + k < end; k++)
            if (v->u.values[k].tag == DP_TAG_TENSOR && out->wanted[at + k])
                out->grads[at + k] = dp_tensor_ref(v->u.values[k].u.t);
        dp_values_release(v, 1);
    }
}

static int fail_missing(dp_ctx *ctx, const dpi_node *n)
{
    return dp_error_set(&ctx->error, DP_ENOTIMPL, "the derivative for '%s' is not implemented.",
                        n->op->name);
}

/* Put the name of the operator whose formula failed before the error's message. */
static int fail_inside(dp_ctx *ctx, const dpi_node *n)
{
    dp_error inner = ctx->error;

    dp_error_set(&ctx->error, inner.code, "the derivative of %s: %s", n->op->name, inner.message);
    memcpy(ctx->error.op, inner.op, sizeof(inner.op));
    memcpy(ctx->error.key, inner.key, sizeof(inner.key));
    return inner.code;
}

enum { FEW = 8 }; /* inputs or outputs of a formula for which apply_formula() needs no memory */

DPI_HOT static int apply_formula(dp_ctx *ctx, dpi_node *n, dp_tensor *const *grads,
                                 dpi_applied *out)
{
    const dpi_formula *f = n->formula;
    dp_value few_inputs[FEW], few_outputs[FEW], *inputs = few_inputs, *outputs = few_outputs;
    uint64_t unwanted = 0;

    if (f->n_inputs > FEW)
        inputs = dp_arena_alloc_n(&ctx->arena, f->n_inputs, sizeof(*inputs));
    if (f->n_outputs > FEW)
        outputs = dp_arena_alloc_n(&ctx->arena, f->n_outputs, sizeof(*outputs));
    if (inputs == NULL || outputs == NULL)
        return dpi_no_memory(&ctx->error, "gradients");
    dp_zero_n(inputs, f->n_inputs, sizeof(*inputs));
    for (uint32_t i = 0; i < f->n_outputs; i++) {
        bool wanted = is_wanted(n, out, f->output_args[i]);
        if (wanted && (f->missing >> f->output_args[i] & 1))
            return fail_missing(ctx, n);
        unwanted |= (uint64_t)(!wanted && i < 63) << i;
    }
    int rc = read_inputs(ctx, n, grads, out, inputs);
    dp_run run = {.size = sizeof(run), .inputs = inputs, .outputs = outputs, .unwanted = unwanted};
    if (rc == 0)
        rc = dpi_program_run_formula(ctx, f->program, &run) < 0 ? fail_inside(ctx, n) : 0;
    if (rc == 0)
        give_outputs(n, outputs, out);
    release_inputs(f, inputs);
    return rc;
}

DPI_HOT int dpi_node_apply(dp_ctx *ctx, dpi_node *n, dp_tensor *const *grads, dpi_applied *out)
{
    if (__atomic_load_n(&n->released, __ATOMIC_RELAXED))
        return fail_released(ctx, n);
    switch (n->kind) {
    case DPI_NODE_FORMULA:
        return n->formula->once && out->create_graph
                   ? dpi_apply_once(ctx, n, grads, out, apply_formula)
                   : apply_formula(ctx, n, grads, out);
    case DPI_NODE_STRIDED:
        return apply_strided(ctx, n, grads[0], &out->grads[0]);
    case DPI_NODE_SLICES:
        return apply_slices(ctx, n, grads[0], out);
    default:
        return n->formula != NULL ? dpi_fail_once(ctx, n) : fail_missing(ctx, n);
    }
}
