/* other_sizes.c -- records of an older and of a newer interface in one file, made by hand: what the
 * old ones lack counts as zero, what the new ones have more is not looked at. */
#include <dispatchd/plugin.h>

DP_PLUGIN(other_sizes, "1.0")

typedef struct old_item { /* ends after `boxed` */
    uint32_t size;
    uint16_t kind, flags;
    const char *name, *tags;
    dp_boxed_fn boxed;
} old_item;

typedef struct old_block { /* ends before `fn` */
    uint32_t size;
    uint16_t kind, flags;
    uint32_t line, n_items, item_size, reserved;
    const char *file, *ns, *key;
    const void *items;
} old_block;

typedef struct new_item {
    dp_item item;
    uint64_t later;
} new_item;

typedef struct new_block {
    dp_block block;
    uint64_t later[3];
} new_block;

static int identity(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

#define RECORD __attribute__((used, retain, aligned(8), section("dp_blocks")))

static const old_item old_items[] = {
    {sizeof(old_item), DP_ITEM_IMPL, 0, "f", "", identity},
    {sizeof(old_item), DP_ITEM_IMPL, 0, "g", "", identity},
};
static const old_block old_record RECORD = {
    sizeof(old_block), DP_BLOCK_IMPL, 0,     101,      2, sizeof(old_item), 0,
    __FILE__,          "other_sizes", "CPU", old_items};
DP_NOTE_(old, "impl\tother_sizes\tCPU\t" __FILE__ "\t101\nimpl\tf\t\nimpl\tg\t\n")

static const new_item new_items[] = {
    {{sizeof(new_item), DP_ITEM_DEF, 0, "f(Tensor self) -> Tensor", "", 0, 0, ""}, ~(uint64_t)0},
    {{sizeof(new_item), DP_ITEM_DEF, 0, "g(Tensor self) -> Tensor", "", 0, 0, ""}, ~(uint64_t)0},
};
static const new_block new_record RECORD = {{sizeof(new_block), DP_BLOCK_LIBRARY, 0, 102, 2,
                                             sizeof(new_item), 0, __FILE__, "other_sizes", "",
                                             &new_items[0].item, 0, 0, 0},
                                            {~(uint64_t)0, ~(uint64_t)0, ~(uint64_t)0}};
DP_NOTE_(new, "library\tother_sizes\t\t" __FILE__ "\t102\n"
              "def\tf(Tensor self) -> Tensor\t\ndef\tg(Tensor self) -> Tensor\t\n")
