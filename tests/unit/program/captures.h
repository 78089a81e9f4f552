/* captures.h -- fixture for tests of captures: the operators of programs.h, and the kernel that
 * records their calls. */
#ifndef CAPTURES_H
#define CAPTURES_H

#include "program/capture.h"
#include "programs.h"

static const dp_block capture_blocks[] = {
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 8, "_", "Functionalize", dp_capture_call),
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 9, "_", "Tracer", dp_capture_call),
};
static dp_capture *cap; /* of the test */

static inline void capture_setup(void)
{
    setup();
    rec_attach(reg, "capture", capture_blocks, 2);
    ck_assert_int_eq(dp_capture_new(ctx, NULL, &cap), 0);
}

static inline void capture_teardown(void)
{
    cap = dp_capture_free(cap);
    teardown();
}

/* Make `t` input "x" of the capture, and record what is called from now on. */
static inline int start(dp_tensor *t)
{
    const dp_value v = dp_tensor_value(t);
    int rc = dp_capture_input(ctx, cap, "x", &v);

    if (rc == 0)
        dp_ctx_set_capture(ctx, cap);
    return rc;
}

/* Call operator `op` of one tensor: *out, owned. */
static inline int call_of(const char *op, dp_tensor *t, dp_value *out)
{
    dp_value arg = dp_tensor_value(t);

    return dp_call_boxed(ctx, dp_op_find(ctx, op), &arg, 1, out, 1);
}

/* Return the text of `p` without its guards. */
static inline const char *steps_of(const dp_program *p)
{
    static char text[4000];
    const char *line = dp_program_text(p, dp_ctx_arena(ctx));
    size_t n = 0;

    for (const char *end; *line != '\0'; line = end) {
        end = strchr(line, '\n') + 1;
        size_t bytes = (size_t)(end - line);
        if (strncmp(line, "  guard ", 8) == 0)
            continue;
        ck_assert_uint_lt(n + bytes, sizeof(text));
        memcpy(text + n, line, bytes);
        n += bytes;
    }
    text[n] = '\0';
    return text;
}

/* Make the program whose output "y" is *v, and check that its text, without guards, is `want`. */
static inline void gives(const dp_value *v, const char *want)
{
    dp_program *p = NULL;
    int rc = dp_capture_output(ctx, cap, "y", v);

    dp_ctx_set_capture(ctx, NULL);
    if (rc == 0)
        rc = dp_capture_finish(ctx, cap, &p);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_str_eq(steps_of(p), want);
    dp_program_unref(p);
}

#endif
