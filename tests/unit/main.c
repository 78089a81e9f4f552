/* main.c -- runs every UNIT_SUITE linked in.  CK_RUN_SUITE=name narrows, CK_FORK=no for debuggers,
 * UNIT_PART=2/4 runs the second of four parts: under a sanitizer each test costs a third of a
 * second, and one part of all of them would take too long. */
#include "base/base.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>

extern const unit_suite *const __start_unit_suites[] __attribute__((visibility("hidden")));
extern const unit_suite *const __stop_unit_suites[] __attribute__((visibility("hidden")));

/* Is suite number `i` in the part that UNIT_PART names? */
static bool is_in_part(size_t i)
{
    const char *text = getenv("UNIT_PART");
    unsigned part, parts;

    return text == NULL || sscanf(text, "%u/%u", &part, &parts) != 2 || parts == 0 ||
           i % parts == (part + parts - 1) % parts;
}

int main(void)
{
    /* Under valgrind, the stack of the main thread grows by mappings that the C library does not
     * count, so it must be asked where the stack ends while there is one mapping. */
    dpi_stack_floor();
    SRunner *runner = srunner_create(NULL);

    for (const unit_suite *const *s = __start_unit_suites; s < __stop_unit_suites; s++) {
        if (!is_in_part((size_t)(s - __start_unit_suites)))
            continue;
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
