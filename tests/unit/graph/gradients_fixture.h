/* gradients_fixture.h -- fixture for tests of programs of gradients: passes_fixture.h with the
 * plugins autograd and capture, and a program of two inputs. */
#ifndef GRADIENTS_FIXTURE_H
#define GRADIENTS_FIXTURE_H

#include "graph/joint.h"
#include "passes_fixture.h"

static inline void setup_gradients(void)
{
    setup();
    load("autograd");
    load("capture");
}

static inline void teardown_gradients(void)
{
    dp_unload_report gone;

    dp_ctx_reset(ctx);
    ck_assert_int_eq(dp_plugin_unload(reg, "capture", -1, false, &gone, &err), 0);
    ck_assert_int_eq(dp_plugin_unload(reg, "autograd", -1, false, &gone, &err), 0);
    teardown();
}

/* exp and sin are saved by the default partition; mm cannot be computed again cheaply. */
static const char *const two_inputs = "in x Tensor\nin w Tensor\nh = aten::mm(x, w)\n"
                                      "e = aten::exp(h)\ns = aten::sin(e)\nl = aten::sum(s)\n"
                                      "out l l\nout e e";

static inline dp_tensor *square(double first)
{
    const int64_t sizes[2] = {3, 3};
    double data[9];
    dp_tensor *t;

    for (int i = 0; i < 9; i++)
        data[i] = first + 0.125 * i;
    ck_assert_int_eq(
        dp_tensor_from(NULL, DP_FLOAT64, DP_DEVICE_CPU, 2, sizes, DP_FLOAT64, data, &t, &err), 0);
    return t;
}

static inline bool same_elements(const dp_tensor *a, const dp_tensor *b)
{
    double x[9], y[9];
    DPI_VIEW(v, a);

    ck_assert_int_le(v.numel, 9);
    ck_assert_int_eq(dp_tensor_read(a, x, &err), 0);
    ck_assert_int_eq(dp_tensor_read(b, y, &err), 0);
    return memcmp(x, y, dp_size_times((uint64_t)v.numel, sizeof(double))) == 0;
}

/* Run `p` without gradients; outputs [OUTPUTS] are owned. */
static inline void run_plain(const dp_program *p, const dp_value *inputs, dp_value *outputs)
{
    dp_run run = {.size = sizeof(run), .inputs = inputs, .outputs = outputs, .step = -1};
    DP_MODE(mode, ctx);

    mode.no_grad = true;
    int depth = dp_guard_mode(ctx, &mode);
    ck_assert_msg(dp_program_run(ctx, p, &run) == 0, "%s\n%s", dp_ctx_error(ctx)->message,
                  text_of(p));
    dp_guard_leave(ctx, depth);
}

#endif
