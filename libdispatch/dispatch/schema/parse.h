/* parse.h -- between the files that parse a schema: types, the cursor, defaults, what is
 * derived. */
#ifndef DPI_PARSE_H
#define DPI_PARSE_H

#include "schema.h"

#pragma GCC visibility push(hidden)

#define TAG(t)      (1u << DP_TAG_##t)
#define TAGS_ALL    ((1u << DP_TAG_END) - 1)
#define TAGS_LISTS  (TAG(TENSORS) | TAG(INTS) | TAG(DOUBLES) | TAG(BOOLS) | TAG(LIST))
#define TAGS_SCALAR (TAG(INT) | TAG(DOUBLE) | TAG(BOOL) | TAG(COMPLEX))

/* -- type.c -- */

/* A one-word type. */
typedef struct dpi_word {
    const char *name;
    uint8_t kind;       /* DPI_TYPE_* */
    uint32_t tags;      /* of values that fit */
    uint32_t list_tag;  /* of a list of them */
    const char *letter; /* of the C type; NULL: none */
} dpi_word;
/* Find the one-word type of this name; replace a synonym in `*name`.  NULL: there is none. */
const dpi_word *dpi_word_named(const char **name);
const dpi_word *dpi_type_word(const dpi_type *t); /* NULL: `t` is no one-word type */
uint32_t dpi_type_tags(const dpi_type *t);        /* tags of values that fit `t`, shallowly */
uint32_t dpi_list_tags(const dpi_type *elem);     /* the same for a list of `elem` */
/* Append the letters of plugin.h to `out`.  False: the type has none. */
bool dpi_type_code(dpi_text *out, const dpi_type *t);
/* Compare types as PyTorch's check of signatures does: a SymInt is an int, sizes do not count. */
bool dpi_type_same(const dpi_type *a, const dpi_type *b);

/* -- cursor.c -- */

typedef struct dpi_parser {
    const char *text, *at;
    dp_arena *arena;
    dp_error *err;
    int rc; /* of the first fault; nothing is consumed after it */
} dpi_parser;

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS  "0123456789"

/* These return false or NULL when the text does not go on as expected, with the error set. */
bool dpi_parser_fail(dpi_parser *p, const char *what); /* `what` was expected */
bool dpi_parser_refuse(dpi_parser *p, int code, const char *what, const char *name);
bool dpi_parser_over(dpi_parser *p, const char *what, int limit);
void *dpi_parser_alloc(dpi_parser *p, size_t bytes); /* zeroed */
const char *dpi_parser_copy(dpi_parser *p, const char *s, size_t n);
/* Copy the text of `t` into the schema and free `t`. */
const char *dpi_parser_keep(dpi_parser *p, dpi_text *t);
void dpi_parser_skip(dpi_parser *p); /* white space */
bool dpi_parser_next_is(dpi_parser *p, const char *token);
bool dpi_parser_take(dpi_parser *p, const char *token); /* false without an error */
bool dpi_parser_expect(dpi_parser *p, const char *token);
size_t dpi_parser_ident_length(dpi_parser *p); /* of the identifier here; 0: none */
const char *dpi_parser_ident(dpi_parser *p, const char *what);

/* -- default.c -- */

bool dpi_parse_default(dpi_parser *p, const dpi_type *t, dp_value *v);
const char *dpi_default_text(dpi_parser *p, const dpi_type *t, const dp_value *v);

/* -- derive.c -- */

bool dpi_type_written(const dpi_type *t); /* itself, or what it contains */
/* Fill in what follows from the arguments and returns of `s`. */
bool dpi_schema_derive(dpi_parser *p, dp_schema *s);

#pragma GCC visibility pop

#endif
