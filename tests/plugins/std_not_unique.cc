// std_not_unique.cc -- std_symbols.cc as it has to be built.
/* CFLAGS: -fno-gnu-unique */
#include <dispatchd/plugin.h>
#include <string>

DP_PLUGIN(std_not_unique, "1.0")

static int digits(dp_ctx *, int64_t n, int64_t *out) noexcept
{
    *out = (int64_t)std::to_string(n).size();
    return 0;
}

DP_LIBRARY(std_not_unique, DP_DEF("digits(int n) -> int"),
           DP_IMPL_UNBOXED("digits", digits, (i), (i)))
