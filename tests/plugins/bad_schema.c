/* bad_schema.c -- a schema that does not parse, after one that does: neither may stay. */
#include <dispatchd/plugin.h>

DP_PLUGIN(bad_schema, "1.0")
DP_LIBRARY(bad_schema, DP_DEF("good(Tensor self) -> Tensor"),
           DP_DEF("broken(Tensor self -> Tensor"))
