/* alive.h -- a check that a test releases all tensors, storages and bytes that it made; and OK and
 * FAILS, which check calls that describe failures in the including file's `err`. */
#ifndef ALIVE_H
#define ALIVE_H

#include "unit.h"
#include <dispatchd/dispatch.h>
#include <string.h>

#define OK(call) ck_assert_msg((call) == DP_OK, "%s", err.message)
#define FAILS(call, code, text)                                                                    \
    do {                                                                                           \
        ck_assert_int_eq(call, code);                                                              \
        ck_assert_msg(strstr(err.message, text), "'%s' is not in '%s'", text, err.message);        \
    } while (0)
#define SIZES(...) ((int64_t[]){__VA_ARGS__})

static dp_tensor_stats alive_before;

static inline dp_tensor_stats alive(void)
{
    dp_tensor_stats now;

    dp_tensor_stats_get(&now);
    return now;
}

static inline void alive_begin(void)
{
    alive_before = alive();
}

static inline void alive_end(void)
{
    dp_tensor_stats now = alive();

    ck_assert_uint_eq(now.tensors, alive_before.tensors);
    ck_assert_uint_eq(now.storages, alive_before.storages);
    ck_assert_uint_eq(now.bytes, alive_before.bytes);
}

#endif
