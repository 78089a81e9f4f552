/* unit.h -- registration of suites of unit tests.  A test file that contains
 *
 *     UNIT_SUITE(name) { tcase_add_test(tc, x); }
 *
 * is run by main.c. */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>

typedef struct unit_suite {
    const char *name;
    void (*fill)(TCase *tc);
} unit_suite;

/* ck_assert_msg for loops that run often.  The library check reports every assertion that holds to
 * its parent process; under the address sanitizer, these reports would cost more than the loop. */
#define unit_each(ok, ...)                                                                         \
    do {                                                                                           \
        if (!(ok))                                                                                 \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

/* Define suite `name`; the function body that follows the macro adds tests to `tc`. */
#define UNIT_SUITE(name)                                                                           \
    static void name##_fill(TCase *tc);                                                            \
    static const unit_suite name##_suite = {#name, name##_fill};                                   \
    static const unit_suite *const name##_entry                                                    \
        __attribute__((used, retain, section("unit_suites"))) = &name##_suite;                     \
    static void name##_fill(TCase *tc)

#endif
