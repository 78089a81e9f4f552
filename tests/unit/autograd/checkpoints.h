/* checkpoints.h -- fixture for tests of programs that backward runs again: programs of the
 * operators of graphs.h, in a step with DP_STEP_FLAG_RECOMPUTE. */
#ifndef CHECKPOINTS_H
#define CHECKPOINTS_H

#include "graphs.h"
#include "autograd/checkpoint.h"

static inline dp_program *program(const char *text)
{
    dp_builder *b;
    dp_program *p = NULL;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    int rc = dp_builder_text(b, text);
    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    dp_builder_free(b);
    ck_assert_msg(rc == 0, "%s", said());
    return p;
}

/* Make a program with the inputs and outputs of `inner`, which is taken, that runs it in `n` steps,
 * each with the outputs of the one before as its first inputs.  `flags`: of the steps. */
static inline dp_program *steps_of(dp_program *inner, int n, uint32_t flags)
{
    dp_builder *b;
    dp_program *p = NULL;
    dp_ref refs[8], first = 0;
    dp_ref_kwarg kwargs[8];
    uint32_t n_inputs = inner->n_inputs, n_outputs = inner->n_outputs;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    for (uint32_t i = 0; i < n_inputs; i++)
        ck_assert_int_eq(dp_builder_input(b, dp_program_input_name(inner, i), NULL, &refs[i]), 0);
    for (int s = 0; s < n; s++) {
        for (uint32_t i = 0; i < n_inputs; i++)
            kwargs[i] = (dp_ref_kwarg){dp_program_input_name(inner, i), refs[i]};
        const dp_step step = {.size = sizeof(step),
                              .kind = DP_STEP_SUB,
                              .program = inner,
                              .kwargs = kwargs,
                              .n_kwargs = n_inputs,
                              .n_rets = n_outputs,
                              .origin = (uint32_t)s,
                              .flags = flags};
        int rc = dp_builder_add(b, &step, &first, NULL);
        ck_assert_msg(rc == 0, "%s", said());
        for (uint32_t i = 0; i < n_outputs; i++)
            refs[i] = first + i;
    }
    for (uint32_t i = 0; i < n_outputs; i++)
        ck_assert_int_eq(dp_builder_output(b, dp_program_output_name(inner, i), first + i), 0);
    ck_assert_int_eq(dp_builder_finish(b, &p), 0);
    dp_builder_free(b);
    dp_program_unref(inner);
    return p;
}

/* Run a program of one output: *out, owned. */
static inline int try_run(const dp_program *p, const dp_value *inputs, dp_tensor **out)
{
    dp_value output = {0};
    dp_run run = {.size = sizeof(run), .inputs = inputs, .outputs = &output};
    int rc = dp_program_run(ctx, p, &run);

    *out = rc == 0 ? output.u.t : NULL;
    return rc;
}

/* Run a program of the tensors `a` and `b`, of which one may be NULL if the program has one. */
static inline dp_tensor *run2(const dp_program *p, dp_tensor *a, dp_tensor *b)
{
    const dp_value inputs[2] = {dp_tensor_value(a), b != NULL ? dp_tensor_value(b) : (dp_value){0}};
    dp_tensor *out;
    int rc = try_run(p, inputs, &out);

    ck_assert_msg(rc == 0, "%s", said());
    return out;
}

/* Return the node that is t's history, borrowed. */
static inline dpi_node *node_of(const dp_tensor *t)
{
    dpi_edge e = dpi_edge_recorded(t);

    ck_assert(e.to != NULL && !e.leaf);
    dpi_edge_unref(e);
    return e.to;
}

#endif
