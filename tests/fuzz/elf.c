/* elf.c -- fuzzes plugins' files: an input is a file, whose manifest is read.  None is loaded. */
#include "dispatch/plugin/plugin_i.h"
#include "fuzz.h"

/* Check that the texts of a manifest end and are in memory: the address sanitizer watches. */
static void check_texts(const dp_manifest *m, const dpi_hazards *h)
{
    size_t bytes = strlen(m->text) + strlen(m->version);

    for (uint32_t i = 0; i < m->n_backends; i++)
        bytes += strlen(m->backends[i]);
    for (uint32_t i = 0; i < m->n_warnings; i++)
        bytes += strlen(m->warnings[i]);
    for (uint32_t i = 0; i < h->n_pins; i++)
        bytes += strlen(h->pin[i]);
    bytes += h->resident != NULL ? strlen(h->resident) : 0;
    bytes += h->may_stay != NULL ? strlen(h->may_stay) : 0;
    FUZZ_CHECK(bytes > 0 && m->plugin[0] != '\0', "a manifest without texts");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dp_arena *a = dp_arena_new();
    dp_error err = DP_ERROR_INIT;
    dp_manifest m;
    dpi_hazards h;
    int rc = dpi_manifest_parse(data, size, "fuzz.so", a, &m, &h, &err);

    if (rc == 0) {
        check_texts(&m, &h);
        rc = dpi_manifest_check_abi(&m, "fuzz.so", &err);
    }
    FUZZ_CHECK(rc == 0 || rc == DP_EABI || rc == DP_EPLUGIN, "%d: %s", rc, err.message);
    FUZZ_CHECK(rc == 0 || strstr(err.message, "fuzz.so") != NULL || strstr(err.message, "plugin '"),
               "%d: %s", rc, err.message);
    dp_arena_free(a);
    return 0;
}
