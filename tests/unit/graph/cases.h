/* cases.h -- tables of programs with the number of steps that a pass leaves. */
#ifndef CASES_H
#define CASES_H

#include "passes_fixture.h"

typedef struct pass_case {
    const char *text;
    uint32_t steps; /* that the pass leaves */
} pass_case;

#define CASES_IN "in c int\nin d int\nin x Tensor\nin y Tensor\n"

static inline void check_cases(const char *name, const pass_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dp_program *p = read_program(cases[i].text), *q = pass(dp_program_ref(p), name);
        ck_assert_msg(count(q, NULL) == cases[i].steps, "%s: %u steps, not %u\n%s-- from\n%s", name,
                      count(q, NULL), cases[i].steps, text_of(q), text_of(p));
        check_same(p, q);
        dp_program_unref(p);
        dp_program_unref(q);
    }
}

#endif
