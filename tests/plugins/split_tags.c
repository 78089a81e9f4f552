/* split_tags.c -- refused: tags with a line break, which would end the operator's line in a
 * dump. */
#include <dispatchd/plugin.h>

DP_PLUGIN(split_tags, "1.0")
DP_LIBRARY(split_tags, DP_DEF_TAGS("f(Tensor self) -> int", "core\npointwise"))
