/* emit.c -- add steps to the program that is made functional, and describe steps that cannot be
 * replaced. */
#include "functional.h"
#include "dispatch/call/ctx.h"
#include <stdio.h>

int dpi_functional_fail(dpi_functional *f, const char *format, ...)
{
    const dp_program *p = f->r.from;
    const dpi_step *s = &p->steps[f->step];
    const char *name = s->kind == DP_STEP_CALL    ? p->ops[s->operand].schema->name
                       : s->kind == DPI_STEP_BIND ? p->binds[s->operand].name
                                                  : "a step";
    char text[300];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    dpi_builder_fail(f->r.b, DP_ENOTIMPL, "%.100s cannot be made functional: %s", name, text);
    return dpi_rewrite_fail(&f->r, f->step);
}

int dpi_functional_add(dpi_functional *f, dp_step *s, dp_ref *out)
{
    s->when = f->when != DPI_REF_NONE ? &f->when : NULL;
    return dpi_rewrite_add(&f->r, f->step, s, out);
}

int dpi_functional_call(dpi_functional *f, const char *name, const dp_ref *args, size_t n,
                        dp_ref *out)
{
    dp_step s = {.kind = DP_STEP_CALL, .name = name, .args = args, .n_args = n, .n_rets = 1};

    return dpi_functional_add(f, &s, out);
}

int dpi_functional_get(dpi_functional *f, const char *name, dp_ref of, dp_ref *out)
{
    dp_step s = {.kind = DP_STEP_GET, .name = name, .args = &of, .n_args = 1, .n_rets = 1};

    return dpi_functional_add(f, &s, out);
}
