/* watch.c -- verb watch: prints the changes of the registry as they happen. */
#include "cli.h"
#include <stdio.h>
#include <string.h>

static void show_change(const cJSON *params)
{
    double added = number_of(params, "added"), removed = number_of(params, "removed");

    printf("%s  generation %.0f  +%.0f -%.0f", text_of(params, "plugin"),
           number_of(params, "generation"), added, removed);
    if (member(params, "dropped"))
        printf("  after %.0f changes that are not listed", number_of(params, "dropped"));
    putchar('\n');
}

static double printed, wanted; /* changes; `wanted` 0: without end */

static bool has_enough(void)
{
    return wanted > 0 && printed >= wanted;
}

static void on_change(cli *c, const char *method, const cJSON *params)
{
    if (strcmp(method, "registry.changed") != 0 || has_enough())
        return;
    (c->json ? print_json : show_change)(params);
    fflush(stdout);
    printed++;
}

static int watch(cli *c)
{
    cJSON *params = params_new(), *count = params_new(), *result = NULL;
    bool ok = params_count(c, count, "count", take_option(c, "--count")) && words_fit(c, 0, 0);

    wanted = member(count, "count") ? number_of(count, "count") : 0;
    c->on_notification = on_change;
    cJSON_Delete(count);
    params_bool(params, "enabled", true);
    if (!ok) {
        cJSON_Delete(params);
        return CLI_USAGE;
    }
    int rc = fetch(c, "registry.watch", params, &result);
    cJSON_Delete(result);
    while (rc == CLI_OK && !has_enough())
        rc = wait_notification(c);
    return rc;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_watch[] = {
    {"watch", "[--count N]",
     "print changes of the registry as they happen; --count: end after N of them", watch},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
