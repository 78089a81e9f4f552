/* members.c -- names of members: finds two that are equal in an object, and the id of a request. */
#include "json/text.h"
#include <stdlib.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int json_name_repeated(const cJSON *object, size_t n, dp_error *err)
{
    const char **names = dp_malloc_n(n, sizeof(*names));
    const cJSON *m;
    size_t i = 0;
    int rc = 0;

    if (names == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: an object with %zu members", n);
    cJSON_ArrayForEach(m, object) names[i++] = m->string;
    qsort(names, n, sizeof(*names), by_name);
    for (i = 1; i < n && rc == 0; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            rc = dp_error_set(err, DP_EVALUE, "duplicate member '%.100s'", names[i]);
    dp_free(names);
    return rc;
}

bool json_is_request_id(cJSON *const *open, unsigned depth, const char *name)
{
    return depth > 0 && depth == 1u + (open[0]->type == cJSON_Array) && name != NULL &&
           same_name(name, "id");
}
