/* schema.c -- fuzzes the schemas of operators: an input is the text of one.
 *
 * What can be parsed is printed; the print is parsed to the same again, and an operator can be
 * defined by it. */
#include "dispatch/schema/schema.h"
#include "fuzz.h"

/* Check that the print of `s` parses to the same schema. */
static void check_again(const dp_schema *s, const char *print)
{
    dp_error err = DP_ERROR_INIT;
    dp_schema *again = NULL;

    FUZZ_CHECK(dp_schema_parse(print, &again, &err) == 0, "'%s': %s", print, err.message);
    char *print_again = dp_schema_print(again);
    FUZZ_CHECK(strcmp(print, print_again) == 0, "'%s' became '%s'", print, print_again);
    FUZZ_CHECK(strcmp(s->code, again->code) == 0 && s->n_args == again->n_args &&
                   s->n_rets == again->n_rets,
               "'%s' has letters %s and then %s", print, s->code, again->code);
    for (uint32_t i = 0; i < s->n_args; i++) {
        const dp_value *a = &s->args[i].def, *b = &again->args[i].def;
        FUZZ_CHECK(a->tag == b->tag && a->len == b->len && s->args[i].tags == again->args[i].tags,
                   "'%s': the default of '%s' is %s, then %s", print, s->args[i].name,
                   dpi_value_kind(a), dpi_value_kind(b));
    }
    dp_free(print_again);
    dp_schema_free(again);
}

/* Attach a plugin that defines an operator by `text` in namespace `ns`. */
static void define(const char *text, const char *ns)
{
    dp_item item = {.size = sizeof(item), .kind = DP_ITEM_DEF, .name = text, .tags = ""};
    dp_block block = {.size = sizeof(block),
                      .kind = DP_BLOCK_LIBRARY,
                      .line = 1,
                      .n_items = 1,
                      .item_size = sizeof(item),
                      .file = "fuzz.c",
                      .ns = ns,
                      .key = "",
                      .items = &item};
    dp_error err = DP_ERROR_INIT;
    dp_registry *reg = NULL;
    dp_unit *unit = NULL;

    FUZZ_CHECK(dp_registry_new(&reg, &err) == 0, "%s", err.message);
    int rc = dp_registry_attach(reg, "fuzz", "1", &block, 1, &unit, &err);
    FUZZ_CHECK(rc == 0 || err.message[0] != '\0', "%d without a message", rc);
    dp_registry_free(reg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = dp_malloc(size + 1), *print;
    dp_error err = DP_ERROR_INIT;
    dp_schema *s = NULL;

    memcpy(text, data, size);
    text[size] = '\0';
    int rc = dp_schema_parse(text, &s, &err);
    if (rc == 0) {
        print = dp_schema_print(s);
        check_again(s, print);
        define(print, s->ns[0] != '\0' ? s->ns : "aten");
        dp_free(print);
        dp_schema_free(s);
    } else {
        FUZZ_CHECK((rc == DP_EVALUE || rc == DP_ERESOURCE) && err.message[0] != '\0', "%d: %s", rc,
                   err.message);
    }
    dp_error_clear(&err);
    s = NULL;
    if (dpi_name_parse(text, "t", &s, &err) == 0)
        FUZZ_CHECK(s->name_only, "'%s'", s->text);
    dp_schema_free(s);
    dp_free(text);
    return 0;
}
