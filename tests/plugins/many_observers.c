/* many_observers.c -- fifteen observers, each with a state of its own: with two others they are
 * more than there may be. */
#include <dispatchd/plugin.h>
#include <stdatomic.h>

DP_PLUGIN(many_observers, "1.0")

static atomic_llong wrong; /* states that were another observer's, or another call's */

static void observe(dp_observation *o, uintptr_t number)
{
    void *mine = (void *)(o->id * 16 + number); /* of no use but to be compared */

    if (o->state != (o->phase ? mine : NULL))
        atomic_fetch_add(&wrong, 1);
    o->state = o->phase ? NULL : mine;
    o->id = 0; /* what it breaks is its own copy */
}

#define OBSERVER(n)                                                                                \
    static void observe_##n(dp_observation *o)                                                     \
    {                                                                                              \
        observe(o, n);                                                                             \
    }                                                                                              \
    DP_OBSERVER(observe_##n)
OBSERVER(1)
OBSERVER(2)
OBSERVER(3)
OBSERVER(4)
OBSERVER(5)
OBSERVER(6)
OBSERVER(7)
OBSERVER(8)
OBSERVER(9)
OBSERVER(10)
OBSERVER(11)
OBSERVER(12)
OBSERVER(13)
OBSERVER(14)
OBSERVER(15)

/* How many were wrong, in calls inside this one too. */
static int states(dp_ctx *ctx, dp_tensor *x, int64_t *out)
{
    dp_tensor *y = NULL;
    int rc = DP_INVOKE(ctx, "aten::linear", (T, T), (T), x, x, &y);

    dp_tensor_unref(y);
    *out = atomic_load(&wrong);
    return rc;
}

DP_LIBRARY(many_observers, DP_DEF("states(Tensor x) -> int"))
DP_LIBRARY_IMPL(many_observers, CPU, DP_IMPL_UNBOXED("states", states, (T), (i)))
