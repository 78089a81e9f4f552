// std_symbols.cc -- std::to_string brings a unique symbol of namespace std, which
// -fvisibility=hidden does not hide: never unmapped.
#include <dispatchd/plugin.h>
#include <string>

DP_PLUGIN(std_symbols, "1.0")

static int digits(dp_ctx *, int64_t n, int64_t *out) noexcept
{
    *out = (int64_t)std::to_string(n).size();
    return 0;
}

DP_LIBRARY(std_symbols, DP_DEF("digits(int n) -> int"), DP_IMPL_UNBOXED("digits", digits, (i), (i)))
