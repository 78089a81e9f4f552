/* dispatchd/plugin.h -- the header that kernel authors include.  A whole plugin:
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
 * Build it with  cc -shared -fPIC -fvisibility=hidden -o myops.so myops.c.  A plugin links with no
 * library of the host: it calls the functions that api.h lists through a table.  Registration runs
 * no code of the plugin: the macros emit const records, which contain the source file and the line
 * of each registration, and an ELF note that lists the same registrations as text; the host reads
 * the note before it loads the file.
 *
 * DP_KERNEL registers one kernel anywhere in the file; in C++ the function may also be a template
 * instance, a lambda or a function of a namespace:
 *
 *     DP_KERNEL(myadd, myops, CPU, "myadd", myadd, (T, T), (T))
 *
 * An unboxed kernel is a function  int fn(dp_ctx *, arguments..., returns...).  One or more letters
 * stand for the C type of each argument:
 *
 *     letter                   C type                       type in the schema
 *     T                        dp_tensor *                  Tensor
 *     i                        int64_t                      int, SymInt, ScalarType, Layout,
 *                                                           MemoryFormat, Device
 *     f                        double                       float
 *     b                        bool                         bool
 *     s                        dp_value                     Scalar
 *     S                        dp_str                       str
 *     g                        dp_generator *               Generator
 *     O                        dp_object *                  a kind of objects (DP_OBJECT_KIND)
 *     oT og oO                 as T, g, O; NULL is None     Tensor?, Generator?, an optional object
 *     oi of ob os              const TYPE *; NULL is None   int?, float?, bool?, Scalar?
 *     oS                       dp_str with s NULL for None  str?
 *     lT loT li lf lb          const TYPE *, size_t         Tensor[], Tensor?[], int[], float[],
 *                                                           bool[]
 *     ls lS lli                const dp_value *, size_t     Scalar[], str[], int[][]
 *     olT oli olf olb ols olS  as lT ... lS; NULL is None   Tensor[]?, int[]? ...
 *     c y U M oloT             reserved                     complex, a SymInt that is not a number,
 *                                                           Storage, Stream, Tensor?[]?
 *
 * TYPE is the C type of the letter after o or l.  A SymInt that is a number, not a symbol, has the
 * letter i.  Kernels of operators with reserved types are boxed.
 *
 * The C types of returns are: dp_tensor ** for T and oT, int64_t * for i, double * for f, bool *
 * for b, and dp_value * for every other letter.  Each points to a slot, whose contents the kernel
 * gives away to the caller.  A return that the schema marks as a written argument has no slot,
 * neither in kernels nor in callers: the host returns the argument.  For example, the letters of
 * "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)" are (T, T, s), ().
 * A kernel returns 0, or a DP_E* code after calling dp_fail(). */
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

/* the host's functions; the loader sets this pointer before any code of the plugin runs */
__attribute__((weak, visibility("hidden"))) const dp_host *dp_plugin_host;

/* The inline functions below have one body for every return type.  -Wpedantic warns of the return
 * statement where that type is void. */
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
