/* test_blas_core.c -- plugins/cpu/matmul/blas_core.h: which core type of OpenBLAS replaces the one
 * that it chose. */
#include "../../../plugins/cpu/matmul/blas_core.h"
#include "unit.h"
#include <string.h>

START_TEST(better_cores)
{
    static const struct {
        const char *machine;
        blas_cpu cpu;
        const char *own, *better[4]; /* in the order in which they are tried */
    } rows[] = {
        /* Intel family 6 model 207, which OpenBLAS 0.3.21 does not know */
        {"Emerald Rapids",
         {BLAS_BF16, false},
         "Prescott",
         {"Cooperlake", "SkylakeX", "Haswell", "Sandybridge"}},
        {"Emerald Rapids, a library that knows it", {BLAS_BF16, false}, "SapphireRapids", {NULL}},
        {"Emerald Rapids, by its AVX-512 alone", {BLAS_BF16, false}, "SkylakeX", {NULL}},
        {"Emerald Rapids, AVX-512 turned off",
         {BLAS_AVX2, false},
         "Prescott",
         {"Haswell", "Sandybridge"}},
        {"Ice Lake", {BLAS_AVX512, false}, "SkylakeX", {NULL}},
        {"Ice Lake, an older library",
         {BLAS_AVX512, false},
         "Nehalem",
         {"SkylakeX", "Haswell", "Sandybridge"}},
        {"Alder Lake", {BLAS_AVX2, false}, "Haswell", {NULL}},
        {"Zen 4, family 25 model 17", {BLAS_BF16, true}, "Cooperlake", {NULL}},
        {"Zen 4, an older library", {BLAS_BF16, true}, "Zen", {"Cooperlake", "SkylakeX"}},
        {"Zen 3", {BLAS_AVX2, true}, "ZEN", {NULL}},
        {"Zen 3, an older library",
         {BLAS_AVX2, true},
         "Prescott",
         {"Zen", "Haswell", "Sandybridge"}},
        {"Ivy Bridge", {BLAS_AVX, false}, "Sandybridge", {NULL}},
        {"Ivy Bridge, an older library", {BLAS_AVX, false}, "Core2", {"Sandybridge"}},
        {"Nehalem", {BLAS_SSE, false}, "Nehalem", {NULL}},
        {"a core type that is no x86", {BLAS_SSE, false}, "NEOVERSEN1", {NULL}},
    };

    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        for (int i = 0; i < 4; i++) {
            const char *got = blas_better_core(&rows[r].cpu, rows[r].own, i);
            const char *want = rows[r].better[i];
            ck_assert_msg((got == NULL) == (want == NULL) &&
                              (got == NULL || strcmp(got, want) == 0),
                          "%s, choice %d: got %s, want %s", rows[r].machine, i, got ? got : "none",
                          want ? want : "none");
        }
        ck_assert_ptr_null(blas_better_core(&rows[r].cpu, rows[r].own, 4));
    }
}
END_TEST

UNIT_SUITE(blas_core)
{
    tcase_add_test(tc, better_cores);
}
