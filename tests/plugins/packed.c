/* packed.c -- weights that are prepared once and used by many calls: objects with data and tensors.
 *
 * Compiled a second time as packed_next.c, with another version of the data. */
#include <dispatchd/plugin.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifndef PACKED_VERSION
#define PACKED_VERSION 1
#endif

DP_PLUGIN(packed, "1.0")

typedef struct weights {
    double scale;
    int64_t uses;
    char *log;    /* malloc'ed */
    bool refuses; /* its end fails */
    bool stays;   /* a new version may not have it */
} weights;

static atomic_int ends;

static int end(void *data, dp_error *err)
{
    weights *w = data;

    free(w->log);
    atomic_fetch_add(&ends, 1);
    return w->refuses ? dp_error_set(err, DP_ERUNTIME, "the weights stick") : 0;
}

static int adopt(void *data, size_t bytes, uint32_t version, dp_error *err)
{
    const weights *w = data;

    if (version != PACKED_VERSION)
        return dp_error_set(err, DP_EVALUE, "data of version %u", version);
    return bytes != sizeof(weights) || w->stays ? dp_error_set(err, DP_EVALUE, "these weights stay")
                                                : 0;
}

static const dp_object_ops kind = {
    .size = sizeof(kind), .version = PACKED_VERSION, .end = end, .adopt = adopt};
static const dp_object_ops plain = {.size = sizeof(plain)};
static const dp_object_ops nobody = {.size = sizeof(nobody)};
DP_OBJECT_KIND(packed, Weights, kind)
DP_OBJECT_KIND(packed, Plain, plain)

static int get(dp_ctx *ctx, dp_object *o, const dp_object_ops *of, dp_object_view *view)
{
    view->size = sizeof(*view);
    return dp_object_get(ctx, o, of, view);
}

/* prepack(Tensor weight, float scale=1.0, str mode="") -> Weights */
static int prepack(dp_ctx *ctx, dp_tensor *weight, double scale, dp_str mode, dp_value *out)
{
    dp_object_view view;
    dp_object *o;
    int rc = dp_object_new(ctx, &kind, sizeof(weights), &weight, 1, &o);

    if (rc == 0)
        rc = get(ctx, o, &kind, &view);
    if (rc < 0)
        return rc;
    weights *w = view.data;
    w->scale = scale;
    w->log = strdup("prepacked");
    w->refuses = strcmp(mode.s, "refuses") == 0;
    w->stays = strcmp(mode.s, "stays") == 0;
    *out = dp_object_value(o);
    if (strcmp(mode.s, "fails") == 0) { /* the host releases what it was given */
        return dp_fail(ctx, DP_ERUNTIME, "asked to fail");
    }
    return 0;
}

/* linear(Tensor x, Weights w) -> Tensor */
static int linear(dp_ctx *ctx, dp_tensor *x, dp_object *o, dp_tensor **out)
{
    dp_object_view view;
    dp_tensor *y = NULL;
    int rc = get(ctx, o, &kind, &view);

    if (rc < 0)
        return rc;
    weights *w = view.data;
    __atomic_fetch_add(&w->uses, 1, __ATOMIC_RELAXED);
    rc = DP_INVOKE(ctx, "aten::linear", (T, T, oT), (T), x, view.tensors[0], NULL, &y);
    if (rc == 0)
        rc = DP_INVOKE(ctx, "aten::mul.Scalar", (T, s), (T), y, dp_double(w->scale), out);
    dp_tensor_unref(y);
    return rc;
}

/* uses(Weights? w) -> int: -1 for none */
static int uses(dp_ctx *ctx, dp_object *o, int64_t *out)
{
    dp_object_view view;

    *out = -1;
    int rc = o != NULL ? get(ctx, o, &kind, &view) : 0;
    if (rc == 0 && o != NULL)
        *out = __atomic_load_n(&((weights *)view.data)->uses, __ATOMIC_RELAXED);
    return rc;
}

/* same(Weights w) -> Weights, and twice(Weights w) -> (Weights, Weights[]) of it */
static int same(dp_ctx *ctx, dp_object *o, dp_value *out)
{
    (void)ctx;
    *out = dp_object_value(dp_object_ref(o));
    return 0;
}

static int twice(dp_call *call)
{
    dp_value *list = dp_alloc(call->ctx, sizeof(*list));

    if (list == NULL)
        return DP_ERESOURCE;
    *list = call->args[0];
    dp_object_ref(list->u.o);
    call->rets[0] = dp_object_value(dp_object_ref(list->u.o));
    call->rets[1] = (dp_value){DP_TAG_LIST, 1, {.values = list}};
    return 0;
}

/* of(str what) -> Any: objects that are none, or of the other kind */
static int of(dp_call *call)
{
    const char *what = call->args[0].u.s;
    bool stranger = strcmp(what, "nobody") == 0;
    dp_object *o;
    int rc = dp_object_new(call->ctx, stranger ? &nobody : &plain,
                           strcmp(what, "huge") == 0 ? (size_t)1 << 40 : 8, NULL, 0, &o);

    if (rc == 0)
        call->rets[0] = dp_object_value(o);
    return rc;
}

/* into(Any o) -> (): take it for Weights */
static int into(dp_call *call)
{
    dp_object_view view;

    if (call->args[0].tag != DP_TAG_OBJECT)
        return dp_fail(call->ctx, DP_ETYPE, "no object");
    return get(call->ctx, call->args[0].u.o, &kind, &view);
}

/* null() -> Weights: a kernel that is wrong */
static int null(dp_call *call)
{
    call->rets[0] = (dp_value){DP_TAG_OBJECT, 0, {0}};
    return 0;
}

/* wrong() -> Weights, wrongs() -> Weights[]: kernels that give another kind */
static int wrong(dp_call *call)
{
    dp_object *o;
    int rc = dp_object_new(call->ctx, &plain, 8, NULL, 0, &o);

    if (rc == 0)
        call->rets[0] = dp_object_value(o);
    return rc;
}

static int wrongs(dp_call *call)
{
    dp_value *list = dp_alloc(call->ctx, sizeof(*list));
    dp_object *o;
    int rc = list == NULL ? DP_ERESOURCE : dp_object_new(call->ctx, &plain, 8, NULL, 0, &o);

    if (rc < 0)
        return rc;
    *list = dp_object_value(o);
    call->rets[0] = (dp_value){DP_TAG_LIST, 1, {.values = list}};
    return 0;
}

/* sizeless(Weights w) -> (): a kernel that forgets the size of its view */
static int sizeless(dp_ctx *ctx, dp_object *o)
{
    dp_object_view view = {0};

    return dp_object_get(ctx, o, &kind, &view);
}

/* attach(Tensor t, Any v) -> (), and attached(Tensor t) -> Any */
static int attach(dp_call *call)
{
    return dp_tensor_attach(call->ctx, call->args[0].u.t, "packed.note", &call->args[1]);
}

static int attached(dp_call *call)
{
    dp_value v;
    int rc = dp_tensor_attached(call->ctx, call->args[0].u.t, "packed.note", &v);

    if (rc == 0 && v.tag == DP_TAG_OBJECT)
        call->rets[0] = dp_object_value(dp_object_ref(v.u.o));
    dp_value_free(&v);
    return rc;
}

/* ended() -> int: how many objects this code has ended */
static int ended(dp_ctx *ctx, int64_t *out)
{
    (void)ctx;
    *out = atomic_load(&ends);
    return 0;
}

#define WEIGHTS "__torch__.torch.classes.packed.Weights"
DP_LIBRARY(packed, DP_DEF("prepack(Tensor weight, float scale=1.0, str mode='') -> " WEIGHTS),
           DP_DEF("linear(Tensor x, " WEIGHTS " w) -> Tensor"),
           DP_DEF("uses(" WEIGHTS "? w) -> int"), DP_DEF("same(" WEIGHTS " w) -> " WEIGHTS),
           DP_DEF("twice(" WEIGHTS " w) -> (" WEIGHTS ", " WEIGHTS "[])"),
           DP_DEF("wrong() -> " WEIGHTS), DP_DEF("wrongs() -> " WEIGHTS "[]"),
           DP_DEF("sizeless(" WEIGHTS " w) -> ()"), DP_DEF("of(str what) -> Any"),
           DP_DEF("into(Any o) -> ()"), DP_DEF("null() -> " WEIGHTS),
           DP_DEF("attach(Tensor t, Any v) -> ()"), DP_DEF("attached(Tensor t) -> Any"),
           DP_DEF("ended() -> int"))
DP_LIBRARY_IMPL(packed, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("prepack", prepack, (T, f, S), (O)),
                DP_IMPL_UNBOXED("linear", linear, (T, O), (T)),
                DP_IMPL_UNBOXED("uses", uses, (oO), (i)), DP_IMPL_UNBOXED("same", same, (O), (O)),
                DP_IMPL("twice", twice), DP_IMPL("of", of), DP_IMPL("into", into),
                DP_IMPL("wrong", wrong), DP_IMPL("wrongs", wrongs),
                DP_IMPL_UNBOXED("sizeless", sizeless, (O), ()), DP_IMPL("null", null),
                DP_IMPL("attach", attach), DP_IMPL("attached", attached),
                DP_IMPL_UNBOXED("ended", ended, (), (i)))
