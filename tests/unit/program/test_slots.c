/* test_slots.c -- the host's table for plugins has a function in every slot. */
#include "dispatch/plugin/plugins.h"
#include "programs.h"

struct dp_host {
    uint32_t size;
    uint16_t abi_major, abi_minor;
#define DP_FN(ret, name, params, args) ret(*name) params;
#include <dispatchd/api.h>
#undef DP_FN
};

START_TEST(every_slot_is_filled)
{
    const dp_host *host = dpi_host_table();

    ck_assert_uint_eq(host->size, sizeof(*host));
#define DP_FN(ret, name, params, args) ck_assert_msg(host->name == name, "%s", #name);
#include <dispatchd/api.h>
#undef DP_FN
}
END_TEST

UNIT_SUITE(slots)
{
    tcase_add_test(tc, every_slot_is_filled);
}
