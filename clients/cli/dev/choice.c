/* choice.c -- the samples that concern a plugin: calls of the operators that it has kernels for */
#include "dev.h"
#include <stdlib.h>
#include <string.h>

/* Return the length of an operator's name without overload and without the "_" of its in-place
 * form: that of "aten::add" for "aten::add_.Tensor". */
static size_t base_bytes(const char *op)
{
    size_t n = strcspn(op, ".");

    return n > 1 && op[n - 1] == '_' && op[n - 2] != '_' ? n - 1 : n;
}

static bool same_base(const char *a, const char *b)
{
    size_t n = base_bytes(a);

    return n == base_bytes(b) && strncmp(a, b, n) == 0;
}

static bool is_wanted(const char *op, const cJSON *ops)
{
    const cJSON *j;

    cJSON_ArrayForEach(j, ops)
    {
        if (same_base(op, j->valuestring))
            return true;
    }
    return false;
}

/* Add the samples of operators of `ops`.  Samples are in order of operators, so one look serves all
 * samples of an operator. */
static void pick(samples *to, const samples *from, const cJSON *ops)
{
    bool wanted = false;

    for (size_t i = 0; i < from->n; i++) {
        if (i == 0 || strcmp(from->at[i].op, from->at[i - 1].op) != 0)
            wanted = is_wanted(from->at[i].op, ops);
        if (!wanted)
            continue;
        to->at = grown(to->at, to->n, sizeof(*to->at));
        to->at[to->n++] = from->at[i];
    }
}

static char *without_sample(const samples *picked, const cJSON *ops)
{
    char *names = text_printf("%s", "");
    const cJSON *j;

    cJSON_ArrayForEach(j, ops)
    {
        bool has = false;
        for (size_t i = 0; i < picked->n && !has; i++)
            has = same_base(picked->at[i].op, j->valuestring);
        if (has)
            continue;
        char *longer = text_printf("%s%s%s", names, *names ? ", " : "", j->valuestring);
        free(names);
        names = longer;
    }
    return names;
}

bool choice_make(choice *out, const samples *all, const char *own_path, const cJSON *ops)
{
    memset(out, 0, sizeof(*out));
    if (own_path != NULL && !samples_read(&out->own, own_path, NULL))
        return false;
    pick(&out->picked, all, ops);
    pick(&out->picked, &out->own, ops);
    /* the folder and the project may have samples of one operator */
    samples_sort(&out->picked);
    out->unsampled = without_sample(&out->picked, ops);
    return true;
}

void choice_free(choice *ch)
{
    free(ch->picked.at);
    free(ch->unsampled);
    samples_free(&ch->own);
    memset(ch, 0, sizeof(*ch));
}
