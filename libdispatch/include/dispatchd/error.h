/* dispatchd/error.h -- error codes, and dp_error, which describes one failure.
 *
 * A function that can fail returns int; the few that return a pointer return NULL instead.  The
 * int is 0, or a negative DP_E* code after describing the failure in a dp_error that the caller
 * owns.  The message names the thing that was wrong, the value found and the value wanted.  A
 * dp_error contains no pointers, so it may be copied, discarded and reused. */
#ifndef DISPATCHD_ERROR_H
#define DISPATCHD_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(code, number, wire name, when it is used).  Numbers and wire names never change, and new codes
 * are added at the end.  Number -11, PluginCrashed, is reserved for plugins that run in their own
 * processes.  The wire names of the first five are those of the exceptions that PyTorch raises for
 * such failures. */
#define DP_ERROR_MAP(X)                                                                            \
    X(DP_ERUNTIME, -1, "RuntimeError", "the operation cannot be carried out")                      \
    X(DP_ETYPE, -2, "TypeError", "an argument has the wrong type")                                 \
    X(DP_EVALUE, -3, "ValueError", "an argument has a value out of its domain")                    \
    X(DP_EINDEX, -4, "IndexError", "an index or dimension is out of range")                        \
    X(DP_ENOTIMPL, -5, "NotImplementedError", "no kernel for this operator and dispatch key")      \
    X(DP_ENOTFOUND, -6, "NotFound", "no operator, handle, name or plugin of that name")            \
    X(DP_EEXISTS, -7, "AlreadyExists", "the name is taken")                                        \
    X(DP_EBUSY, -8, "Busy", "still in use")                                                        \
    X(DP_EABI, -9, "AbiMismatch", "built for another version of the plugin interface")             \
    X(DP_EPLUGIN, -10, "PluginError", "a plugin broke its contract")                               \
    X(DP_EPERM, -12, "PermissionError", "not allowed")                                             \
    X(DP_ERESOURCE, -13, "ResourceExhausted", "out of memory or over a named limit")               \
    X(DP_EDEADLINE, -14, "DeadlineExceeded", "not done in time")                                   \
    X(DP_ECANCELLED, -15, "Cancelled", "called off before it ran")

enum {
    DP_OK = 0,
#define DP_ERROR_ENUM_(code, number, wire, text) code = number,
    DP_ERROR_MAP(DP_ERROR_ENUM_)
#undef DP_ERROR_ENUM_
};

#define DP_ERROR_MESSAGE_MAX 2048 /* bytes with the final NUL; longer messages are cut */
#define DP_ERROR_NAME_MAX    160  /* bytes of an operator's name with the final NUL */

/* One failure.  `op` and `key` are empty unless the failure belongs to an operator or a key. */
typedef struct dp_error {
    uint32_t size;    /* sizeof(dp_error) of the code that made it */
    int32_t code;     /* DP_OK or DP_E* */
    uint64_t written; /* bit i: a failed kernel may have written part of argument i */
    char op[DP_ERROR_NAME_MAX];
    char key[64];
    char message[DP_ERROR_MESSAGE_MAX];
} dp_error;

#define DP_ERROR_INIT                                                                              \
    {                                                                                              \
        (uint32_t)sizeof(dp_error), 0, 0, {0}, {0},                                                \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

#ifdef __cplusplus
}
#endif
#endif
