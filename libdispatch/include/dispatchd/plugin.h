/* dispatchd/plugin.h -- everything a kernel author needs.  A whole plugin:
 *
 *     #include <dispatchd/plugin.h>
 *     DP_PLUGIN(myops, "1.0")
 *
 *     static int myadd(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
 *     {
 *         ...
 *     }
 *     DP_LIBRARY(myops, DP_DEF("myadd(Tensor self, Tensor other) -> Tensor"))
 *     DP_LIBRARY_IMPL(myops, CPU, DP_IMPL_UNBOXED("myadd", myadd, (T, T), (T)))
 *
 * built with  cc -shared -fPIC -fvisibility=hidden -o myops.so myops.c.  It links nothing of the
 * host: api.h lists what it can call.  A plugin is data: the macros emit const records with file
 * and line, and the same as an ELF note that is read before the file is loaded; nothing of the
 * plugin runs to register it.
 *
 * A kernel by itself, anywhere in the file, of a template, a lambda, a function of a namespace too:
 *
 *     DP_KERNEL(myadd, myops, CPU, "myadd", myadd, (T, T), (T))
 *
 * Letters for C types of unboxed kernels, `int fn(dp_ctx *, arguments..., returns...)`:
 *
 *     T   dp_tensor *          Tensor            oT  the same, NULL is None
 *     i   int64_t              int, SymInt, ScalarType, Layout, MemoryFormat, Device
 *     f   double  float        b  bool
 *     s   dp_value  Scalar     S  dp_str  str    g, og  dp_generator *
 *     oi of ob os              const T *, NULL is None;   oS  dp_str with s NULL
 *     lT loT li lf lb          const T *, size_t          ls lS lli  const dp_value *, size_t
 *     olT oli olf olb ols olS  the same, NULL pointer is None
 *     O   dp_object *  a kind of objects (DP_OBJECT_KIND)    oO  the same, NULL is None
 *     c y U M oloT             reserved: complex, a SymInt that is no number (one that is, is i),
 *                              Storage, Stream, Tensor?[]?; kernels with such types are boxed today
 *
 * As returns: T dp_tensor **, i int64_t *, f double *, b bool *, every other dp_value *; each
 * points to a slot whose contents are given away.  A return that the schema marks as a written
 * argument has no slot, neither in kernels nor in callers: the host returns the argument.
 * "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)" is (T, T, s), ().
 * A kernel returns 0, or a code after dp_fail().
 */
#ifndef DISPATCHD_PLUGIN_H
#define DISPATCHD_PLUGIN_H

#include "abi.h"
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dp_host {
    uint32_t size;
    uint16_t abi_major, abi_minor;
#define DP_FN(ret, name, params, args) ret(*name) params;
#include "api.h"
#undef DP_FN
};

/* Set by the loader before anything in the plugin runs. */
__attribute__((weak, visibility("hidden"))) const dp_host *dp_plugin_host;

/* One form for all, `return` of a void call too. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#define DP_FN(ret, name, params, args)                                                             \
    __attribute__((unused)) static inline ret name params                                          \
    {                                                                                              \
        return dp_plugin_host->name args;                                                          \
    }
#include "api.h"
#undef DP_FN
#pragma GCC diagnostic pop

#include "helpers.h"
#include "typed.h"
#include "plugin_macros.h"

#ifdef __cplusplus
}
#endif
#endif
