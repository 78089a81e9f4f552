/* record.c -- record an operator's call as a node of the autograd graph.  dp_record() is the kernel
 * of every Autograd key (torch/csrc/autograd/VariableTypeUtils.h).
 *
 * The operator's formula is a program that computes the gradients of its arguments (formula.h).
 * The arguments that the formula reads are saved, with their version counters, before the operator
 * runs; the returns that the formula reads are saved afterwards.  While the operator runs, the
 * Autograd keys are excluded: if its kernel calls other operators, only the outer call is
 * recorded. */
#include "base/account.h"
#include "checkpoint.h"
#include "dispatch/call/enter.h"
#include "dispatch/plugin/plugins.h"
#include "tensor/room.h"

enum { FEW = 8 };

/* State of one call while it is recorded. */
typedef struct record {
    dp_call *call;
    const dpi_entry *e;   /* the operator's entry in the registry */
    dpi_formula *formula; /* NULL: the operator has no formula */
    uint32_t n_own;       /* arguments of the operator; those of `call` after them are only saved */
    uint32_t n_edges;
    uint32_t n_slots;    /* slots that clear() must release; 0 after the node took them */
    dpi_edge *edges;     /* [n_edges] one for each tensor among the arguments */
    uint32_t *arg_edges; /* [n_args + 1] index in `edges` of each argument's first tensor */
    dpi_slot *slots;     /* [n_slots] saved arguments and returns */
    uint64_t needs;      /* bit i: some tensor in argument i of the operator requires grad */
    uint64_t wanted;     /* bit set that outputs_wanted() returned */
    dp_tensor *clone;    /* clone_argument()'s copy; owned; NULL: none was needed */
    /* Memory of `edges`, `arg_edges` and `slots` if the call has at most FEW of them. */
    dpi_edge few_edges[FEW];
    uint32_t few_args[FEW + 1];
    dpi_slot few_slots[FEW];
} record;

/* -- edges -- */

static inline uint32_t tensors_of(const dp_value *v, dp_tensor *const **list)
{
    *list = v->tag == DP_TAG_TENSOR ? (dp_tensor *const *)&v->u.t : v->u.tensors;
    return v->tag == DP_TAG_TENSOR ? 1 : v->tag == DP_TAG_TENSORS ? v->len : 0;
}

/* Find the edge of t, a tensor of argument `arg` or NULL. */
static inline int find_edge(record *r, uint32_t arg, const dp_tensor *t)
{
    dpi_edge *edge = &r->edges[r->n_edges];

    *edge = (dpi_edge){0};
    if (t != NULL && dpi_may_have_edge(t)) {
        int rc = dpi_edge_of(r->call->ctx, t, edge);
        if (rc < 0)
            return rc;
        r->needs |= (uint64_t)(edge->to != NULL && arg < r->n_own) << arg;
    }
    r->n_edges++;
    return 0;
}

static int find_edges(record *r)
{
    const dp_call *call = r->call;
    dp_arena *a = &call->ctx->arena;
    size_t n = call->n_args;
    int rc = 0;

    for (uint32_t i = 0; i < call->n_args; i++)
        if (DPI_UNLIKELY(call->args[i].tag == DP_TAG_TENSORS))
            n += call->args[i].len;
    r->edges = n <= FEW ? r->few_edges : dp_arena_alloc_n(a, n, sizeof(*r->edges));
    r->arg_edges = n <= FEW ? r->few_args : dp_arena_alloc_n(a, n + 1, sizeof(*r->arg_edges));
    if (r->edges == NULL || r->arg_edges == NULL)
        return dpi_no_memory(&call->ctx->error, "history");
    for (uint32_t i = 0; i < call->n_args && rc == 0; i++) {
        const dp_value *v = &call->args[i];
        r->arg_edges[i] = r->n_edges;
        if (v->tag == DP_TAG_TENSOR)
            rc = find_edge(r, i, v->u.t);
        else if (v->tag == DP_TAG_TENSORS)
            for (uint32_t k = 0; k < v->len && rc == 0; k++)
                rc = find_edge(r, i, v->u.tensors[k]);
    }
    r->arg_edges[call->n_args] = r->n_edges;
    return rc;
}

/* Does the call write a view that has no history, because of how or when it was made, although its
 * base requires grad? */
static bool writes_untracked(const record *r)
{
    dp_tensor *const *list;

    for (uint32_t i = 0; i < r->n_own && r->e->schema->written != 0; i++) {
        uint32_t n = r->e->schema->written >> i & 1 ? tensors_of(&r->call->args[i], &list) : 0;
        for (uint32_t k = 0; k < n; k++)
            if (list[k] != NULL && list[k]->root != NULL && dpi_needs_grad(list[k]->root))
                return true;
    }
    return false;
}

/* Check that autograd allows the call to write in place to the arguments that its schema marks as
 * written.  DP_ERUNTIME: autograd forbids it. */
static int check_written(const record *r)
{
    dp_tensor *const *list;

    if (r->e->schema->variant == DP_VARIANT_OUT && r->formula == NULL)
        return dp_error_set(&r->call->ctx->error, DP_ERUNTIME,
                            "%s: functions with out=... arguments don't support automatic "
                            "differentiation, but one of the arguments requires grad.",
                            r->e->op->name);
    for (uint64_t left = r->e->schema->written; left != 0; left &= left - 1) {
        uint32_t n = tensors_of(&r->call->args[__builtin_ctzll(left)], &list);
        for (uint32_t k = 0; k < n; k++) {
            int rc = dpi_check_inplace(r->call->ctx, r->e->op, list[k]);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

/* -- saving -- */

DPI_HOT static int save(dp_ctx *ctx, const dp_value *v, dpi_slot *s)
{
    if (DPI_LIKELY(v->tag == DP_TAG_TENSOR)) {
        s->kind = DPI_SLOT_TENSOR;
        dpi_saved_set(&s->tensor, v->u.t);
        return 0;
    }
    if (v->tag == DP_TAG_TENSORS) {
        dpi_saved *list = dp_calloc(v->len + 1, sizeof(*list));
        if (list == NULL)
            return dpi_no_memory(&ctx->error, "history");
        for (uint32_t i = 0; i < v->len; i++)
            if (v->u.tensors[i] != NULL)
                dpi_saved_set(&list[i], v->u.tensors[i]);
        *s = (dpi_slot){.kind = DPI_SLOT_TENSORS, .n = v->len, .list = list};
        return 0;
    }
    s->kind = DPI_SLOT_VALUE;
    int rc = dp_value_copy(ctx, v, &s->value);
    if (rc < 0)
        s->kind = DPI_SLOT_NONE;
    return rc;
}

static int save_field(dp_ctx *ctx, uint16_t field, const dp_value *v, dpi_slot *s)
{
    int rc = dpi_field_read(ctx, field, v, &s->value);

    s->kind = rc == 0 ? DPI_SLOT_VALUE : DPI_SLOT_NONE;
    return rc;
}

/* Clone argument `i`, which the operator overwrites although the formula reads its old elements. */
static int clone_argument(record *r, uint32_t i)
{
    const dp_value args[2] = {r->call->args[i], {0}};

    return r->clone != NULL ? 0 : dpi_call_one(r->call->ctx, "aten::clone", args, 2, &r->clone);
}

/* Return the bit set of the formula's outputs that backward may ask for: bit i is set if a tensor
 * in the argument of output i requires grad.  Bit 63 is always set; it stands for the outputs from
 * number 63 on, and for steps with DP_STEP_FLAG_EFFECT (dpi_step.need). */
static uint64_t outputs_wanted(const record *r)
{
    const dpi_formula *f = r->formula;
    uint64_t wanted = (uint64_t)1 << 63;

    for (uint32_t i = 0; i < f->n_outputs && i < 63; i++)
        wanted |= (r->needs >> f->output_args[i] & 1) << i;
    return wanted;
}

/* Return the source of the value that slot `i` saves.  NULL: no wanted output depends on that
 * value. */
static inline const dpi_source *saved_source(const record *r, uint32_t i)
{
    const dpi_source *from = &r->formula->inputs[r->formula->saves[i]];

    return from->need & r->wanted ? from : NULL;
}

static int save_arguments(record *r)
{
    dp_ctx *ctx = r->call->ctx;
    const dpi_formula *f = r->formula;
    int rc = 0;

    if (f == NULL || f->n_slots == 0)
        return 0;
    r->slots = f->n_slots <= FEW ? r->few_slots
                                 : dp_arena_alloc_n(&ctx->arena, f->n_slots, sizeof(*r->slots));
    if (r->slots == NULL)
        return dpi_no_memory(&ctx->error, "history");
    for (uint32_t i = 0; i < f->n_slots; i++)
        r->slots[i].kind = DPI_SLOT_NONE;
    r->n_slots = f->n_slots;
    r->wanted = outputs_wanted(r);
    for (uint32_t i = 0; i < f->n_arg_saves && rc == 0; i++) {
        const dpi_source *from = saved_source(r, i);
        if (from == NULL)
            continue;
        const dp_value *arg = &r->call->args[from->index];
        if (DPI_UNLIKELY(from->kind == DPI_FROM_ARG_FIELD)) {
            rc = save_field(ctx, from->field, arg, &r->slots[i]);
        } else if (DPI_UNLIKELY(f->clone >> from->index & 1)) {
            rc = clone_argument(r, from->index);
            if (rc == 0)
                rc = save(ctx, &(dp_value){DP_TAG_TENSOR, 0, {.t = r->clone}}, &r->slots[i]);
        } else {
            rc = save(ctx, arg, &r->slots[i]);
        }
    }
    return rc;
}

/* Get return `i` of the call: for an in-place or out= operator, the argument that the schema says
 * it returns; else the value that the kernel returned. */
static const dp_value *return_of(const record *r, uint32_t i)
{
    int alias = r->e->schema->ret_alias[i];

    return DPI_UNLIKELY(alias >= 0) ? &r->call->args[alias] : &r->call->rets[i];
}

static int save_returns(record *r)
{
    int rc = 0;

    for (uint32_t i = r->formula != NULL ? r->formula->n_arg_saves : 0; i < r->n_slots && rc == 0;
         i++) {
        const dpi_source *from = saved_source(r, i);
        if (from == NULL)
            continue;
        const dp_value *ret = return_of(r, from->index);
        rc = from->kind == DPI_FROM_RET ? save(r->call->ctx, ret, &r->slots[i])
                                        : save_field(r->call->ctx, from->field, ret, &r->slots[i]);
    }
    return rc;
}

/* -- the node -- */

/* Return the bit set of the returns that the formula says can require a gradient. */
static uint64_t differentiable(const record *r)
{
    return r->formula != NULL ? r->formula->differentiable : UINT64_MAX;
}

/* Count the tensors that the call returned, items of lists included, and their dimensions.
 * Returns true if some tensor among them can get history. */
static bool count_returns(const record *r, uint32_t *n_rets, uint32_t *n_dims)
{
    dp_tensor *const *list;
    uint64_t can = differentiable(r);
    uint32_t count = 0, dims = 0;
    bool attach = false;

    for (uint32_t i = 0; i < r->call->n_rets; i++, can >>= 1) {
        uint32_t n = tensors_of(return_of(r, i), &list);
        count += n > 0 ? n : 1;
        for (uint32_t k = 0; k < n; k++)
            if (list[k] != NULL) {
                dims += (uint32_t)dpi_geometry_of(list[k])->ndim;
                attach |= (can & 1) && dpi_differentiable(list[k]->dtype);
            }
    }
    *n_rets = count;
    *n_dims = dims;
    return attach;
}

/* Move the edges and the saved values to `node`. */
static void fill_node(record *r, dpi_node *node)
{
    node->formula = r->formula != NULL ? dpi_formula_ref(r->formula) : NULL;
    for (uint32_t i = 0; i <= node->n_args; i++)
        node->arg_edges[i] = r->arg_edges[i];
    for (uint32_t i = 0; i < node->n_edges; i++)
        dpi_node_set_edge(node, i, r->edges[i]);
    for (uint32_t i = 0; i < node->n_slots; i++)
        node->slots[i] = r->slots[i];
    r->n_edges = r->n_slots = 0;
}

/* If the kernel returned one of the arguments itself where the schema promises a new tensor,
 * replace *t by an alias of that argument.  Else the argument would get the return's history. */
static int own_return(dp_ctx *ctx, const dp_call *call, dp_tensor **t)
{
    dp_tensor *alias;

    for (uint32_t i = 0; i < call->n_args; i++)
        if (DPI_UNLIKELY(call->args[i].tag == DP_TAG_TENSOR && call->args[i].u.t == *t)) {
            int rc = dp_tensor_alias(*t, &alias, &ctx->error);
            if (rc < 0)
                return rc;
            dp_tensor_unref(*t);
            *t = alias;
            return 0;
        }
    return 0;
}

/* Is `root` an argument of the call, or what an argument is a view of? */
static bool is_root_of_argument(const dp_call *call, const dp_tensor *root)
{
    dp_tensor *const *list;

    for (uint32_t i = 0; i < call->n_args; i++)
        for (uint32_t n = tensors_of(&call->args[i], &list), k = 0; k < n; k++)
            if (list[k] != NULL && (list[k] == root || list[k]->root == root))
                return true;
    return false;
}

/* If the kernel returned a view of a tensor that it made itself (embedding does), make *t a tensor
 * without root.  The node is the history of *t alone: a write to *t would be recorded in the root,
 * which has none, and the history would be lost. */
static inline void leave_inner_root(const record *r, uint32_t i, dp_tensor *t)
{
    if (DPI_UNLIKELY(t->root != NULL) && r->e->schema->ret_view[i] < 0 &&
        !is_root_of_argument(r->call, t->root))
        dpi_tensor_leave_root(t);
}

/* Make `node` the history of *t, return `nr` of the call.  A new tensor takes the caller's
 * reference to `node` if *given is false, and sets *given; else it takes a reference of its own. */
static inline int attach_one(const record *r, dpi_node *node, int alias, uint32_t nr, dp_tensor **t,
                             bool *given)
{
    dp_ctx *ctx = r->call->ctx;

    if (!dpi_differentiable((*t)->dtype))
        return 0;
    if (DPI_UNLIKELY(alias >= 0) && r->formula != NULL && r->formula->reshapes)
        return dpi_history_set(ctx, *t, dpi_node_ref(node), nr); /* the base's elements stay */
    if (DPI_UNLIKELY(alias >= 0))
        return dpi_history_rebase(ctx, *t, node, nr, r->arg_edges[alias]);
    int rc = own_return(ctx, r->call, t);
    if (rc < 0)
        return rc;
    if (*given)
        dpi_node_ref(node);
    *given = true;
    return dpi_history_set(ctx, *t, node, nr);
}

/* Store what `node` keeps of the returns, and make it the history of those that can have some. */
static int attach_returns(const record *r, dpi_node *node, bool *given)
{
    uint64_t can = differentiable(r);
    uint32_t nr = 0, dims = 0;
    int rc = 0;

    for (uint32_t i = 0; i < r->call->n_rets; i++, can >>= 1) {
        dp_tensor *const *list;
        uint32_t n = tensors_of(return_of(r, i), &list);
        int alias = r->e->schema->ret_alias[i];
        for (uint32_t k = 0; k < n; k++, nr++) {
            if (DPI_UNLIKELY(list[k] == NULL))
                continue;
            dpi_node_set_return(node, nr, list[k], &dims);
            if (alias < 0)
                leave_inner_root(r, i, list[k]);
            if (rc == 0 && (alias >= 0 || (can & 1)))
                rc = attach_one(r, node, alias, nr, (dp_tensor **)(uintptr_t)&list[k], given);
        }
        nr += n == 0;
    }
    return rc;
}

static int make_node(record *r)
{
    uint32_t n_rets, n_dims;
    dpi_node *node;
    bool given = false;

    if (!count_returns(r, &n_rets, &n_dims))
        return 0;
    int rc = save_returns(r);
    if (rc == 0)
        rc = dpi_node_new(r->call->ctx, r->formula != NULL ? DPI_NODE_FORMULA : DPI_NODE_MISSING,
                          r->e->op, r->n_edges, n_rets, r->n_slots, r->call->n_args, n_dims, &node);
    if (rc < 0)
        return rc;
    fill_node(r, node);
    rc = attach_returns(r, node, &given);
    if (DPI_UNLIKELY(r->call->ctx->recording != NULL) && rc == 0)
        rc = dpi_recording_add(r->call->ctx, node);
    if (!given)
        dpi_node_unref(node);
    return rc;
}

/* -- the kernel -- */

/* Run the call below its key.  If it is recorded, Autograd keys are excluded meanwhile. */
DPI_HOT static int run_below(const record *r, bool recorded)
{
    dp_call *call = r->call;

    if (recorded)
        return dpi_call_below(call, r->n_own, DPI_AUTOGRAD_BITS);
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, r->n_own, call->rets, call->n_rets);
}

/* Run an operator that removes the history of the tensors that it writes (detach_). */
static int run_detaching(const record *r)
{
    dp_tensor *const *list;
    int rc = run_below(r, true);

    for (uint64_t left = r->e->schema->written; left != 0 && rc == 0; left &= left - 1) {
        uint32_t n = tensors_of(&r->call->args[__builtin_ctzll(left)], &list);
        for (uint32_t k = 0; k < n; k++)
            if (list[k] != NULL)
                dpi_history_clear(list[k]);
    }
    return rc;
}

static int run_recorded(record *r)
{
    int rc = r->formula == NULL ? dpi_formula_of(r->call->ctx, r->e, &r->formula) : 0;

    if (DPI_LIKELY(rc == 0 && r->formula != NULL)) {
        if (DPI_UNLIKELY(r->formula->through))
            return run_below(r, false);
        if (DPI_UNLIKELY(r->formula->unrecorded))
            return run_below(r, true);
        if (DPI_UNLIKELY(r->formula->detaches))
            return run_detaching(r);
    }
    if (rc == 0)
        rc = check_written(r);
    if (rc == 0)
        rc = save_arguments(r);
    if (rc == 0)
        rc = run_below(r, true);
    return rc == 0 ? make_node(r) : rc;
}

/* Release the edges, slots and the clone that were not moved to a node. */
static void clear(record *r)
{
    for (uint32_t i = 0; i < r->n_edges; i++)
        if (r->edges[i].to != NULL)
            dpi_edge_unref(r->edges[i]);
    for (uint32_t i = 0; i < r->n_slots; i++)
        dpi_slot_clear(&r->slots[i]);
    dp_tensor_unref(r->clone);
}

DPI_HOT int dpi_record_with(dp_call *call, uint32_t n_own, dpi_formula *formula)
{
    record r;

    memset(&r, 0, offsetof(record, few_edges));
    r.call = call;
    r.n_own = n_own;
    r.formula = formula;
    r.e = dpi_snapshot_entry(dpi_ctx_snapshot(call->ctx), call->op);
    /* If dp_record() is registered without DP_FLAG_GRAD, it runs also in no_grad mode, in which
     * nothing is recorded. */
    int rc = dp_ctx_mode(call->ctx)->no_grad ? 0 : find_edges(&r);
    if (rc == 0)
        rc = r.needs != 0 || writes_untracked(&r) ? run_recorded(&r) : run_below(&r, false);
    clear(&r);
    return rc;
}

DPI_HOT int dp_record(dp_call *call)
{
    return dpi_record_with(call, call->n_args, NULL);
}

__attribute__((constructor)) static void fill(void)
{
    dpi_fill_dp_record(dp_record);
    dpi_fill_dp_tensor_set_requires_grad(dp_tensor_set_requires_grad);
    dpi_fill_dp_tensor_requires_grad(dp_tensor_requires_grad);
    dpi_fill_dp_tensor_is_leaf(dp_tensor_is_leaf);
    dpi_fill_dp_tensor_retain_grad(dp_tensor_retain_grad);
    dpi_fill_dp_tensor_retains_grad(dp_tensor_retains_grad);
    dpi_fill_dp_tensor_output_nr(dp_tensor_output_nr);
    dpi_fill_dp_tensor_backward(dp_tensor_backward);
    dpi_fill_dp_gradients(dp_gradients);
    dpi_fill_dp_tensor_detach(dp_tensor_detach);
}
