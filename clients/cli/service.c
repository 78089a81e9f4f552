/* service.c -- verbs for the daemon itself: status, session, raw. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>

static char *cell_millis(const cJSON *row, const char *name)
{
    return text_printf("%.1f", number_of(row, name));
}

static char *cell_own_name(const cJSON *row, const char *name)
{
    (void)name;
    return text_printf("%s", row->string);
}

static const column account_columns[] = {
    {"sessions hold", cell_own_name, NULL, false},
    {"count", cell_text, "count", true},
    {"bytes", cell_text, "bytes", true},
};

static const column running_columns[] = {
    {"session", cell_text, "session", true},
    {"operator", cell_text, "op", false},
    {"key", cell_text, "key", false},
    {"plugin", cell_text, "plugin", false},
    {"generation", cell_text, "generation", true},
    {"ms", cell_millis, "ms", true},
};

static const column stuck_columns[] = {
    {"stuck in session", cell_text, "session", true},
    {"request", cell_text, "request", false},
    {"operator", cell_text, "op", false},
    {"plugin", cell_text, "plugin", false},
    {"generation", cell_text, "generation", true},
    {"ms", cell_millis, "ms", true},
};

static const column fallback_columns[] = {
    {"fell back", cell_text, "op", false},
    {"key", cell_text, "key", false},
    {"calls", cell_text, "calls", true},
    {"bytes copied", cell_text, "bytes", true},
};

static char *cell_short(const cJSON *row, const char *name)
{
    return text_printf("%.4g", number_of(row, name));
}

static const column shadow_columns[] = {
    {"shadow calls of", cell_text, "op", false},
    {"on", cell_text, "backend", false},
    {"calls", cell_text, "calls", true},
    {"differ", cell_text, "differs", true},
    {"failed", cell_text, "failed", true},
    {"dropped", cell_text, "dropped", true},
    {"largest difference", cell_short, "largest", true},
};

static const column canary_columns[] = {
    {"canary of", cell_text, "plugin", false}, {"generation", cell_text, "generation", true},
    {"state", cell_text, "state", false},      {"share", cell_short, "share", true},
    {"calls", cell_text, "calls", true},       {"compared", cell_text, "compared", true},
    {"differ", cell_text, "differs", true},    {"failed", cell_text, "failed", true},
    {"why", cell_text, "why", false},
};

static const column kept_columns[] = {
    {"still mapped", cell_text, "plugin", false},
    {"generation", cell_text, "generation", true},
    {"because", cell_text, "kept_because", false},
};

static const column notes_columns[] = {
    {"plugin", cell_text, "plugin", false},
    {"generation", cell_text, "generation", true},
    {"says", cell_text, "name", false},
    {"", cell_text, "text", false},
};

static void show_rows(const cJSON *rows, const column *columns, size_t n)
{
    if (cJSON_GetArraySize(rows) == 0)
        return;
    putchar('\n');
    print_table(rows, columns, n);
}

void print_fallbacks(const cJSON *result)
{
    show_rows(member(result, "fallbacks"), fallback_columns, COUNT(fallback_columns));
}

static void show_status(const cJSON *result)
{
    print_members(result);
    show_rows(member(result, "account"), account_columns, COUNT(account_columns));
    show_rows(member(result, "running"), running_columns, COUNT(running_columns));
    show_rows(member(result, "stuck"), stuck_columns, COUNT(stuck_columns));
    print_fallbacks(result);
    show_rows(member(result, "shadow"), shadow_columns, COUNT(shadow_columns));
    show_rows(member(result, "canaries"), canary_columns, COUNT(canary_columns));
    show_rows(member(result, "notes"), notes_columns, COUNT(notes_columns));
    show_rows(member(result, "kept"), kept_columns, COUNT(kept_columns));
}

static int status(cli *c)
{
    return words_fit(c, 0, 0) ? ask(c, "server.status", NULL, show_status) : CLI_USAGE;
}

static void show_session(const cJSON *result)
{
    puts(text_of(result, "session_key"));
}

static int session(cli *c)
{
    cJSON *params = params_new();
    const char *linger = take_option(c, "--linger-ms");

    if (params_count(c, params, "linger_ms", linger ? linger : "600000") && words_fit(c, 0, 0))
        return ask(c, "server.hello", params, show_session);
    cJSON_Delete(params);
    return CLI_USAGE;
}

static int raw(cli *c)
{
    if (!words_fit(c, 1, 2))
        return CLI_USAGE;
    if (c->n_words == 1)
        return ask(c, c->words[0], NULL, print_json);
    cJSON *params = cJSON_ParseWithOpts(c->words[1], NULL, true);
    if (params == NULL)
        return usage(c, "'%s' is not JSON", c->words[1]);
    cJSON_Delete(params);
    return ask(c, c->words[0], need(cJSON_CreateRaw(c->words[1])), print_json);
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_service[] = {
    {"status", "",
     "what the daemon holds and what it is doing", status},
    {"session", "[--linger-ms N]",
     "start a session that outlives this command (10 minutes) and print its key", session},
    {"raw", "METHOD [PARAMS]",
     "any method of the protocol; PARAMS is a JSON object", raw},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
