/* observes_some.c -- observers of one operator and of one key, and what the last call of that
 * operator was told them. */
#include <dispatchd/plugin.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

DP_PLUGIN(observes_some, "1.0")

enum { NAME = 128 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t mm_calls, meta_calls, unpaired;
static char op[NAME], plugin[NAME];
static int64_t generation;
static bool on_cpu;

static void observe_mm(dp_observation *o)
{
    pthread_mutex_lock(&lock);
    if (o->phase == 0) {
        o->state = &mm_calls;
    } else {
        mm_calls++;
        unpaired += o->state != &mm_calls || strcmp(o->op, dp_op_name(o->handle)) != 0;
        snprintf(op, NAME, "%s", dp_op_name(o->handle));
        snprintf(plugin, NAME, "%s", o->plugin);
        generation = (int64_t)o->generation;
        on_cpu = (o->keys.backend & DP_BBIT(DP_B_CPU)) != 0;
    }
    pthread_mutex_unlock(&lock);
}

static void observe_meta(dp_observation *o)
{
    pthread_mutex_lock(&lock);
    meta_calls += o->phase;
    unpaired += o->key != DP_KEY_OF(DP_F_Dense, DP_B_Meta);
    pthread_mutex_unlock(&lock);
}

/* counts() -> (int mm, int meta, int unpaired): calls that ended, and observations that were
 * wrong. */
static int counts(dp_ctx *ctx, int64_t *mm, int64_t *meta, int64_t *wrong)
{
    (void)ctx;
    pthread_mutex_lock(&lock);
    *mm = mm_calls;
    *meta = meta_calls;
    *wrong = unpaired;
    pthread_mutex_unlock(&lock);
    return 0;
}

/* last() -> (str op, str plugin, int generation, bool cpu) */
static int last(dp_ctx *ctx, dp_value *name, dp_value *from, int64_t *number, bool *cpu)
{
    char *copy = dp_alloc(ctx, (size_t)NAME * 2);

    if (copy == NULL)
        return DP_ERESOURCE;
    pthread_mutex_lock(&lock);
    memcpy(copy, op, NAME);
    memcpy(copy + NAME, plugin, NAME);
    *number = generation;
    *cpu = on_cpu;
    pthread_mutex_unlock(&lock);
    *name = dp_box_str((dp_str){copy, strlen(copy)});
    *from = dp_box_str((dp_str){copy + NAME, strlen(copy + NAME)});
    return 0;
}

DP_OBSERVER_OF("aten::mm", observe_mm)
DP_OBSERVER_KEY(Meta, observe_meta)
DP_LIBRARY(observes_some, DP_DEF("counts() -> (int, int, int)"),
           DP_DEF("last() -> (str, str, int, bool)"),
           DP_IMPL_UNBOXED("counts", counts, (), (i, i, i)),
           DP_IMPL_UNBOXED("last", last, (), (S, S, i, b)))
