/* observes_masked.c -- an observer of the calls of a kind that another plugin names (masked.c). */
#include <dispatchd/plugin.h>

DP_PLUGIN(observes_masked, "1.0")

static void nothing(dp_observation *o)
{
    (void)o;
}

DP_OBSERVER_KEY(masked, nothing)
