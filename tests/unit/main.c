/* main.c -- runs every UNIT_SUITE linked in.  CK_RUN_SUITE=name narrows, CK_FORK=no for debuggers.
 */
#include "base/base.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>

extern const unit_suite *const __start_unit_suites[] __attribute__((visibility("hidden")));
extern const unit_suite *const __stop_unit_suites[] __attribute__((visibility("hidden")));

int main(void)
{
    /* Under valgrind, the stack of the main thread grows by mappings that the C library does not
     * count, so it must be asked where the stack ends while there is one mapping. */
    dpi_stack_floor();
    SRunner *runner = srunner_create(NULL);

    for (const unit_suite *const *s = __start_unit_suites; s < __stop_unit_suites; s++) {
        Suite *suite = suite_create((*s)->name);
        TCase *tc = tcase_create((*s)->name);
        tcase_set_timeout(tc, 120);
        (*s)->fill(tc);
        suite_add_tcase(suite, tc);
        srunner_add_suite(runner, suite);
    }
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    srunner_free(runner);
    printf("unit: %d passed, %d failed\n", run - failed, failed);
    return failed == 0 && run > 0 ? 0 : 1;
}
