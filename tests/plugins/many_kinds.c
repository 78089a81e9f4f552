/* many_kinds.c -- one kind more than there are keys for. */
#include <dispatchd/plugin.h>

DP_PLUGIN(many_kinds, "1.0")
DP_WRAPPER_KIND(kind_a)
DP_WRAPPER_KIND(kind_b)
DP_WRAPPER_KIND(kind_c)
DP_WRAPPER_KIND(kind_d)
DP_WRAPPER_KIND(kind_e)
DP_WRAPPER_KIND(kind_f)
DP_WRAPPER_KIND(kind_g)
DP_WRAPPER_KIND(kind_h)
DP_WRAPPER_KIND(kind_i)
