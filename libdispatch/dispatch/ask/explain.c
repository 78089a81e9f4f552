/* explain.c -- say which kernels a call would run and why, without making the call.
 *
 * The first step is certain: it is the kernel that dp_call_boxed() would run.  A later step runs if
 * the kernel before it redispatches below its own key (dp_keyset_below).  A kernel declares with
 * DP_FLAG_BELOW that it redispatches.  Without the flag, a kernel for one of the functionalities in
 * redispatching_layers is assumed to do so. */
#include "ask.h"
#include "dispatch/call/bind.h"
#include "dispatch/call/ctx.h"
#include "dispatch/call/enums.h"
#include "dispatch/call/keys.h"

enum { STEPS_MAX = DPI_RANKS }; /* each step's key has a lower priority than the step before */

/* Functionalities whose kernels usually do some work and then redispatch. */
static const uint64_t redispatching_layers =
    DPI_AUTOGRAD_BITS | DPI_AUTOCAST_BITS | DPI_BIT(ADInplaceOrView) | DPI_BIT(BackendSelect) |
    DPI_BIT(Functionalize) | DPI_BIT(Named) | DPI_BIT(Conjugate) | DPI_BIT(Negative) |
    DPI_BIT(ZeroTensor) | DPI_BIT(Tracer) | DPI_BIT(PythonTLSSnapshot) | DPI_BIT(PreDispatch) |
    DPI_BIT(Fake);

static bool is_redispatching_layer(dp_key k)
{
    return (redispatching_layers & dpi_key_bit(k)) != 0;
}

/* Does the kernel of cell `c` redispatch below key `k`?  `*declared` becomes true if the kernel has
 * DP_FLAG_BELOW.  A composite kernel is not assumed to redispatch: it calls other operators. */
static bool redispatches(dp_key k, dpi_cell c, bool *declared)
{
    *declared = c.kernel != NULL && (c.kernel->flags & DP_FLAG_BELOW) != 0;
    if (*declared)
        return k != DP_KEY_Undefined;
    return c.kernel != NULL && is_redispatching_layer(k) &&
           (c.provenance == DPI_P_KERNEL || c.provenance == DPI_P_AUTOGRAD ||
            c.provenance == DPI_P_FALLBACK);
}

/* -- why -- */

/* Append to `t` the reason why the table has cell `c` for key `k`. */
static void why_cell(const dpi_entry *e, dp_key k, dpi_cell c, dpi_text *t)
{
    char key[DP_KEY_NAME_MAX], alias[DP_KEY_NAME_MAX];

    dp_key_name(k, key);
    dp_key_name(c.kernel ? c.kernel->key : k, alias);
    switch (c.provenance) {
    case DPI_P_KERNEL:
        dpi_text_printf(t, "a kernel is registered directly for %s", key);
        break;
    case DPI_P_MATH:
        dpi_text_printf(t, "%s serves it: it has no kernel of its own, nor has the backend below",
                        alias);
        break;
    case DPI_P_DEFAULT_BACKEND:
    case DPI_P_NESTED:
    case DPI_P_AUTOGRAD:
    case DPI_P_BATCHED:
    case DPI_P_AUTOCAST:
        dpi_text_printf(t, "%s serves it: it has no kernel of its own", alias);
        break;
    case DPI_P_META:
        dpi_text_printf(t, "%s has no kernel of its own; the one for %s needs no memory", key,
                        alias);
        break;
    case DPI_P_FALLBACK:
        dpi_text_printf(t, "no kernel of the operator serves it; backend fallback of plugin %s",
                        c.kernel ? c.kernel->gen->plugin : "?");
        if (c.kernel && dpi_is_functionality(c.kernel->key))
            dpi_text_printf(t, " for %s of every backend", alias);
        break;
    case DPI_P_AMBIGUOUS:
        dpi_text_add(t,
                     "ambiguous: the operator has a CompositeImplicitAutograd kernel and kernels "
                     "for backends that share AutogradOther; register one for AutogradOther");
        break;
    case DPI_P_FALLTHROUGH:
        dpi_text_add(t, "the host's own fallthrough, reached by redispatch");
        break;
    default:
        dpi_text_add(t, "nothing is registered that serves it; keys with a kernel: ");
        dpi_entry_list(e, t);
    }
}

/* Return a text that says why a call with key set `keys` runs the kernel of cell `c`.  `above`: key
 * of the step before; Undefined: this is the first step.  `policy`: dp_mode.fallback. */
static const char *why_step(dpi_answer *a, const dpi_entry *e, dp_keyset keys, dpi_cell c,
                            dp_key above, uint8_t policy)
{
    char key[DP_KEY_NAME_MAX];
    dp_key k = dpi_keyset_highest(keys);
    dpi_text t = {0};

    if (k == DP_KEY_Undefined)
        dpi_text_add(&t, "no key is left that a tensor or the thread state gives; ");
    else if (above != DP_KEY_Undefined)
        dpi_text_printf(&t, "highest key below %s that is not fallthrough; ",
                        dp_key_name(above, key));
    else
        dpi_text_add(&t, "highest key that is not fallthrough; ");
    why_cell(e, k, c, &t);
    if (policy != DP_FALLBACK_ALLOW && c.provenance == DPI_P_FALLBACK && dpi_falls_back(e, k))
        dpi_text_add(&t, policy == DP_FALLBACK_FORBID ? "; the mode forbids it: the call fails"
                                                      : "; the mode reports it by a warning");
    if (c.kernel != NULL && dpi_keys_memoryless(keys) && dpi_may_want_bytes(e, c.kernel))
        dpi_text_add(&t, "; without DP_FLAG_META it may read bytes, so the call is refused");
    a->failed |= t.failed;
    const char *why = t.failed ? NULL : dpi_answer_str(a, t.s);
    dpi_text_fini(&t);
    return why;
}

/* Return a text that says why the call passes over key `k`. */
static const char *why_skipped(dpi_answer *a, dp_keyset exclude, dp_key k, dpi_cell c)
{
    if (exclude.functionality & dpi_keyset_of(k).functionality)
        return "excluded by thread state";
    if (dpi_cell_needs_grad(c) && !dpi_cell_falls_through(c))
        return dpi_answer_printf(
            a, "kernel of plugin %s at %s:%u is for gradients, and no argument may have one",
            c.kernel->gen->plugin, c.kernel->file, c.kernel->line);
    if (c.kernel != NULL)
        return dpi_answer_printf(a, "fallthrough %s registered by plugin %s at %s:%u",
                                 c.provenance == DPI_P_FALLBACK ? "fallback" : "kernel",
                                 c.kernel->gen->plugin, c.kernel->file, c.kernel->line);
    return "fallthrough: the host's own, since no plugin has a kernel or a fallback for it";
}

/* -- the kernels that would run, and the keys that are passed over -- */

static dp_explain_step make_step(dpi_answer *a, dp_key k, dpi_cell c)
{
    dp_explain_step step = {.key = k, .provenance = dpi_provenance_names[c.provenance]};

    step.from = dpi_answer_cell(a, c);
    return step;
}

/* Return the key set with which BackendSelect redispatches.  The backend of the set is the Device
 * argument's, or CPU if that argument is None.  Source: RegisterBackendSelect.cpp.  Without such an
 * argument, it is that of the tensors, or CPU if there are none. */
static dp_keyset keys_below_select(const dpi_entry *e, const dp_value *args, dp_keyset keys)
{
    dp_device d = DP_DEVICE_CPU;
    uint32_t i = 0;

    while (i < e->n_args && dpi_enum_kind(e->schema->args[i].type) != DPI_TYPE_DEVICE)
        i++;
    if (i == e->n_args && keys.backend != 0)
        return keys;
    if (i < e->n_args && args[i].tag == DP_TAG_INT)
        d = (dp_device)args[i].u.i;
    keys.functionality = (keys.functionality & DPI_BIT(Fake)) | DPI_BIT(Dense);
    keys.backend = DP_BBIT(dp_device_backend(d));
    return keys;
}

/* Fill out->path.  `grad`: DPI_GRAD_BIT if an argument may need a gradient, else 0.  A redispatch
 * computes this bit from the arguments again, so `grad` is added to the key set of every step. */
static void explain_path(dpi_answer *a, const dpi_entry *e, const dp_value *args, dp_keyset keys,
                         uint64_t grad, uint8_t policy, dp_explanation *out)
{
    const dp_keyset none = {0, 0};
    dp_explain_step *path = dpi_answer_alloc(a, STEPS_MAX, sizeof(*path));
    dp_key above = DP_KEY_Undefined;
    bool assumed = false, declared = true, more = path != NULL;

    while (more && out->n_path < STEPS_MAX) {
        dp_key k = dpi_keyset_highest(keys);
        dpi_cell c = dpi_entry_cell(e, k);
        dp_explain_step *step = &path[out->n_path++];
        assumed |= !declared;
        *step = make_step(a, k, c);
        step->why = why_step(a, e, keys, c, above, policy);
        step->assumed = assumed;
        more = redispatches(k, c, &declared);
        keys = k ? dpi_keyset_below(keys, k) : keys;
        if (dp_key_functionality(k) == DP_F_BackendSelect)
            keys = keys_below_select(e, args, keys);
        if (dp_key_functionality(k) == DP_F_Fake) /* below Fake, tensors are on device meta */
            keys.backend |= DP_BBIT(DP_B_Meta);
        keys.functionality |= grad;
        keys = dpi_call_keys(e, keys, none, none);
        above = k;
    }
    out->path = path;
}

static bool on_path(const dp_explanation *x, int functionality)
{
    for (uint32_t i = 0; i < x->n_path; i++)
        if (dp_key_functionality(x->path[i].key) == functionality)
            return true;
    return false;
}

/* Fill out->skipped: the keys of the arguments and the thread state that the call passes over
 * before its last step. */
static void explain_skipped(dpi_answer *a, const dpi_entry *e, dp_keyset exclude,
                            dp_explanation *out)
{
    dp_explain_step *skipped = dpi_answer_alloc(a, DPI_RANKS, sizeof(*skipped));
    dp_keyset remaining = out->merged;

    if (skipped == NULL || out->n_path == 0)
        return;
    int last = dpi_rank(out->path[out->n_path - 1].key);
    while (remaining.functionality != 0) {
        dp_key k = dpi_keyset_highest(remaining);
        if (dpi_rank(k) < last)
            break;
        remaining.functionality &= ~dpi_key_bit(k);
        if (on_path(out, dp_key_functionality(k)))
            continue;
        dpi_cell c = dpi_entry_cell(e, k);
        dp_explain_step *step = &skipped[out->n_skipped++];
        *step = make_step(a, k, c);
        step->why = why_skipped(a, exclude, k, c);
    }
    out->skipped = skipped;
}

static int explain(dp_ctx *ctx, const dpi_entry *e, const dp_bound *b, dp_arena *arena,
                   dp_explanation *out)
{
    dpi_answer a = {arena, false};

    memset(out, 0, sizeof(*out));
    out->op = b->op;
    dp_keyset keys = dpi_argument_keys(e, b->args);
    uint64_t grad = keys.functionality & ~ctx->state->exclude.functionality & DPI_GRAD_BIT;
    out->argument_keys = (dp_keyset){keys.functionality & ~DPI_GRAD_BIT, keys.backend};
    out->merged = dp_keyset_or(out->argument_keys, ctx->state->include);
    out->after_state = dpi_call_keys(e, keys, ctx->state->include, ctx->state->exclude);
    explain_path(&a, e, b->args, out->after_state, grad, ctx->state->mode->fallback, out);
    explain_skipped(&a, e, ctx->state->exclude, out);
    return a.failed ? dpi_no_memory(&ctx->error, "explanation of a call") : 0;
}

int dp_explain(dp_ctx *ctx, const dp_bound *b, dp_arena *arena, dp_explanation *out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, b, arena, out))
        return DP_EVALUE;
    const dpi_snapshot *s;
    const dpi_entry *e;
    bool begun;
    int rc = b->op != NULL ? dpi_ctx_pin(ctx, &begun) : dpi_fail_no_op(ctx);

    if (rc < 0)
        return rc;
    s = dpi_ctx_snapshot(ctx);
    e = dpi_snapshot_entry(s, b->op);
    if (e == NULL || e->schema == NULL || e->n_args != b->n_args)
        rc = dp_error_set(&ctx->error, DP_ENOTFOUND,
                          "operator '%s' was unloaded or redefined since its arguments were bound",
                          b->op->name);
    else
        rc = explain(ctx, e, b, arena, out);
    dpi_ctx_unpin(ctx, begun);
    return rc;
}
