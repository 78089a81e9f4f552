/* program.c -- what a step of a program costs in process: 1,000 multiplications of one element,
 * each on the result of the one before.  argv: plugins to load.  Prints one JSON object: medians in
 * ns a step, of the program and of the same calls made one by one, and of capturing a program of
 * 100 such steps over fakes. */
#include <dispatchd/program.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STEPS = 1000, CAPTURED_STEPS = 100, ROUNDS = 101 };

typedef struct bench {
    dp_ctx *ctx;
    dp_program *program, *captured; /* of STEPS, and of CAPTURED_STEPS steps */
    const dp_op *mul;
    dp_value x, k;
} bench;

static void check(bench *b, int rc)
{
    if (rc < 0) {
        fprintf(stderr, "%s\n", dp_ctx_error(b->ctx)->message);
        exit(1);
    }
}

static dp_program *make(bench *b, uint32_t steps)
{
    dp_program *program;
    dp_builder *builder;
    dp_ref x, k;

    check(b, dp_builder_new(b->ctx, &builder));
    check(b, dp_builder_input(builder, "x", "Tensor", &x));
    check(b, dp_builder_constant(builder, "k", &b->k, &k));
    for (uint32_t i = 0; i < steps; i++) {
        dp_ref args[] = {x, k};
        dp_step s = {.size = sizeof(s),
                     .kind = DP_STEP_CALL,
                     .name = "aten::mul.Tensor",
                     .args = args,
                     .n_args = 2,
                     .n_rets = 1,
                     .origin = i};
        check(b, dp_builder_add(builder, &s, &x, NULL));
    }
    check(b, dp_builder_output(builder, "y", x));
    check(b, dp_builder_finish(builder, &program));
    dp_builder_free(builder);
    return program;
}

static void run_program(bench *b)
{
    dp_value out;
    dp_run r = {.size = sizeof(r), .inputs = &b->x, .outputs = &out};

    check(b, dp_program_run(b->ctx, b->program, &r));
    dp_values_release(&out, 1);
}

static void run_calls(bench *b)
{
    dp_value args[] = {b->x, b->k}, out;

    dp_tensor_ref(args[0].u.t);
    for (int i = 0; i < STEPS; i++) {
        check(b, dp_call_boxed(b->ctx, b->mul, args, 2, &out, 1));
        dp_values_release(args, 1);
        args[0] = out;
    }
    dp_values_release(args, 1);
}

static void run_capture(bench *b)
{
    const dp_capture_options o = {.size = sizeof(o), .fakes = true};
    dp_program *out = NULL;

    check(b, dp_program_capture(b->ctx, b->captured, &b->x, &o, &out));
    dp_program_unref(out);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median_ns(void (*fn)(bench *), bench *b, int steps)
{
    double ns[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        struct timespec t0, t1;
        clock_gettime(CLOCK_MONOTONIC, &t0);
        fn(b);
        clock_gettime(CLOCK_MONOTONIC, &t1);
        dp_ctx_reset(b->ctx);
        ns[r] = ((double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec)) / steps;
    }
    qsort(ns, ROUNDS, sizeof(double), by_value);
    return ns[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    dp_registry *reg = NULL;
    dp_error err = DP_ERROR_INIT;
    dp_tensor *x = NULL, *k = NULL;
    dp_arena *a = dp_arena_new();
    dp_plugin_report report;
    int64_t one = 1;
    bench b = {0};
    int rc = dp_registry_new(&reg, &err);

    for (int i = 1; i < argc && rc == 0; i++)
        rc = dp_plugin_load(reg, argv[i], NULL, a, &report, &err);
    if (rc < 0 || dp_ctx_new(reg, &b.ctx, &err) < 0 ||
        dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &one, NULL, &x, &err) < 0 ||
        dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &one, NULL, &k, &err) < 0 ||
        dp_tensor_write(x, &(float){1}, &err) < 0 || dp_tensor_write(k, &(float){1}, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    b.x = dp_tensor_value(x);
    b.k = dp_tensor_value(k);
    b.mul = dp_op_find(b.ctx, "aten::mul.Tensor");
    check(&b, b.mul != NULL ? 0 : -1);
    b.program = make(&b, STEPS);
    b.captured = make(&b, CAPTURED_STEPS);
    median_ns(run_calls, &b, STEPS);
    double calls = median_ns(run_calls, &b, STEPS), program = median_ns(run_program, &b, STEPS);
    printf("{\"step_ns\": %.1f, \"call_ns\": %.1f, \"capture_ns\": %.1f}\n", program, calls,
           median_ns(run_capture, &b, CAPTURED_STEPS));
    dp_program_unref(b.program);
    dp_program_unref(b.captured);
    dp_tensor_unref(x);
    dp_tensor_unref(k);
    dp_ctx_free(b.ctx);
    dp_arena_free(a);
    dp_registry_free(reg);
    return 0;
}
