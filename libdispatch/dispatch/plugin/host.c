/* host.c -- the table of functions (api.h) through which plugins call the host.
 *
 * The host is the program that loads the plugins, with this library. */
#include "plugin_i.h"

/* plugin.h declares this struct for plugins.  The host does not include plugin.h, so the struct is
 * declared here again, from the same list of functions. */
struct dp_host {
    uint32_t size;
    uint16_t abi_major, abi_minor;
#define DP_FN(ret, name, params, args) ret(*name) params;
#include <dispatchd/api.h>
#undef DP_FN
};

static dp_host host = {
    sizeof(dp_host),
    DP_ABI_MAJOR,
    DP_ABI_MINOR,
#define DP_FN(ret, name, params, args)       name,
#define DP_FN_ABOVE(ret, name, params, args) NULL,
#include <dispatchd/api.h>
#undef DP_FN
};

/* Define dpi_fill_NAME() for each function of DP_FN_ABOVE.  The folders that implement these
 * functions (autograd, program) call dpi_fill_NAME() from constructors, before any plugin is
 * loaded. */
#define DP_FN(ret, name, params, args)
#define DP_FN_ABOVE(ret, name, params, args)                                                       \
    void dpi_fill_##name(ret(*fn) params)                                                          \
    {                                                                                              \
        host.name = fn;                                                                            \
    }
#include <dispatchd/api.h>
#undef DP_FN

/* Plugins built for a released version rely on the offset of each function of that version. */
_Static_assert(offsetof(dp_host, dp_vfail) == 8, "the table starts after its size and version");
_Static_assert(offsetof(dp_host, dp_checkpoint) == 8 + 60 * sizeof(void *), "last of 1.0");

const dp_host *dpi_host_table(void)
{
    return &host;
}
