/* dispatch_tables.c -- replays registrations and removals, compares the tables with PyTorch's.
 *
 * usage: dispatch_tables FILE.  The first line of FILE lists the keys to compare; each other line
 * is a sequence of steps and the table that PyTorch computed after them.  Every registration is a
 * unit of its own, and its kernel is known by its file name.  Ends in "N passed, M failed". */
#include "failure.h"
#include <cjson/cJSON.h>
#include <dispatchd/dispatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS_MAX = 64, KEYS_MAX = 512 };

/* A registration, and the records it was made from. */
typedef struct unit {
    const char *name;
    dp_item item;
    dp_block block;
    dp_unit *unit; /* NULL: removed */
} unit;

typedef struct replay {
    dp_registry *reg;
    dp_arena *arena;
    unit units[UNITS_MAX];
    int n_units;
    int line;
    const cJSON *sequence;
    bool failed;
} replay;

static dp_key keys[KEYS_MAX];
static const char *key_names[KEYS_MAX];
static int n_keys;

static int no_kernel(dp_call *call)
{
    (void)call;
    return dp_fail(call->ctx, DP_ERUNTIME, "only tables are compared here");
}

static void print_heading(const void *of)
{
    const replay *r = of;
    char *steps = cJSON_PrintUnformatted(cJSON_GetObjectItem(r->sequence, "steps"));

    printf("line %d: %s\n", r->line, steps ? steps : "?");
    cJSON_free(steps);
}

static void fail(replay *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(replay *r, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    failure_print(&r->failed, print_heading, r, format, ap);
    va_end(ap);
}

static void attach(replay *r, const char *name, dp_block block, dp_item item)
{
    dp_error err = DP_ERROR_INIT;
    unit *u = &r->units[r->n_units];

    if (r->n_units == UNITS_MAX) {
        fail(r, "more than %d registrations", UNITS_MAX);
        return;
    }
    *u = (unit){.name = name, .item = item, .block = block};
    u->item.size = u->block.item_size = (uint32_t)sizeof(dp_item);
    u->block.size = (uint32_t)sizeof(dp_block);
    u->block.line = 1;
    u->block.n_items = 1;
    u->block.file = name;
    u->block.items = &u->item;
    if (dp_registry_attach(r->reg, name, "1", &u->block, 1, &u->unit, &err) < 0)
        fail(r, "registering %s: %s", name, err.message);
    else
        r->n_units++;
}

static void detach(replay *r, const char *name)
{
    dp_error err = DP_ERROR_INIT;

    for (int i = 0; i < r->n_units; i++) {
        unit *u = &r->units[i];
        if (u->unit == NULL || strcmp(u->name, name) != 0)
            continue;
        if (dp_registry_detach(r->reg, u->unit, -1, &err) < 0)
            fail(r, "removing %s: %s", name, err.message);
        u->unit = NULL;
        return;
    }
    fail(r, "removing %s: never registered", name);
}

static void step(replay *r, const cJSON *s)
{
    const char *added = cJSON_GetStringValue(cJSON_GetObjectItem(s, "register"));
    const char *removed = cJSON_GetStringValue(cJSON_GetObjectItem(s, "remove"));
    const char *key = cJSON_GetStringValue(cJSON_GetObjectItem(s, "key"));
    dp_item item = {.kind = DP_ITEM_IMPL, .name = "foo", .boxed = no_kernel, .code = ""};

    if (added != NULL && key != NULL)
        attach(r, added, (dp_block){.kind = DP_BLOCK_IMPL, .ns = "test", .key = key}, item);
    else if (removed != NULL)
        detach(r, removed);
    else
        fail(r, "a step that neither registers nor removes");
}

static void check(replay *r)
{
    const char *const *violations;
    dp_error err = DP_ERROR_INIT;
    size_t n;

    if (dp_registry_check(r->reg, r->arena, &violations, &n, &err) < 0)
        fail(r, "check: %s", err.message);
    else
        for (size_t i = 0; i < n; i++)
            fail(r, "invariant: %s", violations[i]);
}

static const dp_cell_info *cell_of(const dp_op_info *op, dp_key key)
{
    for (uint32_t i = 0; i < op->n_cells; i++)
        if (op->cells[i].key == key)
            return &op->cells[i];
    return NULL;
}

/* The host's own fallthroughs count as served by no registered kernel. */
static bool serves(const dp_cell_info *c)
{
    return (c->kernel != NULL && strcmp(c->kernel->from.plugin, "(built in)") != 0) ||
           strcmp(c->provenance, "ambiguous autogradother") == 0;
}

static void compare(replay *r, const char *name, const dp_cell_info *have, const cJSON *want)
{
    const char *kernel = "", *provenance = "none", *have_kernel = "", *have_provenance = "none";

    if (want != NULL) {
        const char *k = cJSON_GetStringValue(cJSON_GetArrayItem(want, 0));
        const char *p = cJSON_GetStringValue(cJSON_GetArrayItem(want, 1));
        kernel = k ? k : "";
        provenance = p ? p : "?";
    }
    if (have != NULL && serves(have)) {
        have_kernel = have->kernel ? have->kernel->from.file : "";
        have_provenance = have->provenance;
    }
    if (strcmp(kernel, have_kernel) != 0 || strcmp(provenance, have_provenance) != 0)
        fail(r, "%s: PyTorch says '%s' (%s), we say '%s' (%s)", name, kernel, provenance,
             have_kernel, have_provenance);
}

static void compare_table(replay *r)
{
    const cJSON *table = cJSON_GetObjectItem(r->sequence, "table");
    dp_error err = DP_ERROR_INIT;
    dp_op_info op;

    if (dp_registry_describe(r->reg, "test::foo", r->arena, &op, &err) < 0) {
        fail(r, "describe: %s", err.message);
        return;
    }
    for (int i = 0; i < n_keys; i++)
        compare(r, key_names[i], cell_of(&op, keys[i]),
                cJSON_GetObjectItemCaseSensitive(table, key_names[i]));
}

static bool run(const cJSON *sequence, int line, dp_arena *arena)
{
    replay *r = calloc(1, sizeof(*r));
    dp_error err = DP_ERROR_INIT;
    const cJSON *s;

    if (r == NULL || dp_registry_new(&r->reg, &err) < 0) {
        fprintf(stderr, "dispatch_tables: no registry: %s\n", err.message);
        exit(2);
    }
    r->arena = arena;
    r->line = line;
    r->sequence = sequence;
    attach(r, "definition", (dp_block){.kind = DP_BLOCK_LIBRARY, .ns = "test", .key = ""},
           (dp_item){.kind = DP_ITEM_DEF, .name = "foo(Tensor x) -> Tensor"});
    cJSON_ArrayForEach(s, cJSON_GetObjectItem(sequence, "steps"))
    {
        step(r, s);
        check(r);
    }
    compare_table(r);
    bool failed = r->failed;
    dp_registry_free(r->reg);
    free(r);
    dp_arena_reset(arena);
    return !failed;
}

static void read_keys(const cJSON *first)
{
    const cJSON *k;

    cJSON_ArrayForEach(k, cJSON_GetObjectItem(first, "keys"))
    {
        const char *name = cJSON_GetStringValue(k);
        if (name == NULL || n_keys == KEYS_MAX || dp_key_lookup(name, &keys[n_keys], NULL) < 0) {
            fprintf(stderr, "dispatch_tables: key %s is not known here\n", name ? name : "?");
            exit(2);
        }
        key_names[n_keys++] = name;
    }
}

int main(int argc, char **argv)
{
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    dp_arena *arena = dp_arena_new();
    int passed = 0, failed = 0, line = 0;
    cJSON *first = NULL;
    char *text = NULL;
    size_t cap = 0;

    if (f == NULL || arena == NULL) {
        fprintf(stderr, "usage: dispatch_tables FILE\n");
        return 2;
    }
    while (getline(&text, &cap, f) > 0) {
        cJSON *json = cJSON_Parse(text);
        if (++line == 1) {
            first = json;
            read_keys(first);
            continue;
        }
        bool ok = run(json, line, arena);
        passed += ok;
        failed += !ok;
        cJSON_Delete(json);
    }
    printf("%d passed, %d failed\n", passed, failed);
    cJSON_Delete(first);
    dp_arena_free(arena);
    free(text);
    fclose(f);
    return failed == 0 && passed > 0 ? 0 : 1;
}
