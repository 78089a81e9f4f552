/* warns.c -- an operator that warns, and one that makes notes (dp_note). */
#include <dispatchd/plugin.h>

DP_PLUGIN(warns, "1.0")

/* `times` warnings, each of which begins with `text`; their number unless they are to be the
 * same. */
static int warn(dp_ctx *ctx, dp_str text, int64_t times, bool same, int64_t *out)
{
    for (int64_t i = 0; i < times; i++)
        dp_warn(ctx, "%s %lld", text.s, same ? 0LL : (long long)i);
    *out = times;
    return 0;
}

/* Two of one value. */
static int pair(dp_call *call)
{
    dp_tensor *both[2] = {dp_tensor_ref(call->args[0].u.t), dp_tensor_ref(call->args[0].u.t)};
    return dp_return_tensors(call, 2, both);
}

/* Replace note i of this plugin. */
static int note(dp_ctx *ctx, int64_t i, dp_str text)
{
    static const char names[][4] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                    "j", "k", "l", "m", "n", "o", "p", "q", "r"};

    dp_note(ctx, names[i], "it says %s", text.s);
    return 0;
}

static int on_load(dp_ctx *ctx)
{
    dp_note(ctx, "load", "loaded");
    return 0;
}

DP_ON_LOAD(on_load)
DP_LIBRARY(warns, DP_DEF("note(int i, str text) -> ()"), DP_IMPL_UNBOXED("note", note, (i, S), ()),
           DP_DEF("warn(str text, int times=1, bool same=False) -> int"),
           DP_DEF("pair(Tensor x) -> (Tensor, Tensor)"), DP_DEF("single(Tensor x) -> Tensor"),
           DP_IMPL_UNBOXED("warn", warn, (S, i, b), (i)), DP_IMPL("pair", pair),
           DP_IMPL("single", pair))
