/* parse.h -- internal declarations of the files that parse a function schema. */
#ifndef DPI_PARSE_H
#define DPI_PARSE_H

#include "schema.h"

#pragma GCC visibility push(hidden)

#define TAG(t)      (1u << DP_TAG_##t)
#define TAGS_ALL    ((1u << DP_TAG_END) - 1)
#define TAGS_LISTS  (TAG(TENSORS) | TAG(INTS) | TAG(DOUBLES) | TAG(BOOLS) | TAG(LIST))
#define TAGS_SCALAR (TAG(INT) | TAG(DOUBLE) | TAG(BOOL) | TAG(COMPLEX))

/* -- type.c -- */

/* A one-word type: Tensor, int, ... */
typedef struct dpi_word {
    const char *name;
    uint8_t kind;       /* DPI_TYPE_* */
    uint32_t tags;      /* set of the tags of values that fit */
    uint32_t list_tag;  /* set of the tags of lists of this type */
    const char *letter; /* letter of the C type (plugin.h); NULL: no letter */
} dpi_word;
/* Find the one-word type called `*name`; a synonym in `*name` is replaced.  NULL: no such type. */
const dpi_word *dpi_word_named(const char **name);
const dpi_word *dpi_type_word(const dpi_type *t); /* NULL: `t` has more than one word */
/* The set of tags of values that may fit `t`; elements of lists are not considered. */
uint32_t dpi_type_tags(const dpi_type *t);
uint32_t dpi_list_tags(const dpi_type *elem); /* dpi_type_tags() of a list of `elem` */
/* Append the letters of `t` (plugin.h) to `out`.  False: the type has no letters. */
bool dpi_type_code(dpi_text *out, const dpi_type *t);
/* Compare types as PyTorch compares signatures: SymInt equals int, and list sizes are ignored. */
bool dpi_type_same(const dpi_type *a, const dpi_type *b);

/* -- cursor.c -- */

typedef struct dpi_parser {
    const char *text, *at; /* the whole text; the position in it */
    dp_arena *arena;
    dp_error *err;
    int rc; /* code of the first error; later errors do not replace it */
} dpi_parser;

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS  "0123456789"

/* Unless their comment says otherwise, these functions set the error and return false or NULL on
 * failure.  The first three only set the error, which names the column; they return false. */
bool dpi_parser_fail(dpi_parser *p, const char *what); /* "expected `what`, found ..." */
bool dpi_parser_refuse(dpi_parser *p, int code, const char *what, const char *name);
/* "more than `limit` `what`" */
bool dpi_parser_over_limit(dpi_parser *p, const char *what, int limit);
void *dpi_parser_alloc(dpi_parser *p, size_t bytes); /* zeroed memory in the schema's arena */
/* Copy `n` bytes of `s` into the arena, and end them with '\0'. */
const char *dpi_parser_copy(dpi_parser *p, const char *s, size_t n);
/* Copy the text of `t` into the arena and free `t`, also on failure. */
const char *dpi_parser_store(dpi_parser *p, dpi_text *t);
void dpi_parser_skip(dpi_parser *p);                       /* skip white space */
bool dpi_parser_next_is(dpi_parser *p, const char *token); /* does `token` follow? */
/* Consume `token` if it follows.  False, without an error: it does not. */
bool dpi_parser_accept(dpi_parser *p, const char *token);
bool dpi_parser_expect(dpi_parser *p, const char *token); /* consume `token`, which must follow */
size_t dpi_parser_ident_length(dpi_parser *p); /* bytes of the next identifier; 0: none follows */
/* Consume and copy an identifier; `what` names it in the error. */
const char *dpi_parser_ident(dpi_parser *p, const char *what);

/* -- default.c -- */

/* Parse the default value of an argument of type `t`. */
bool dpi_parse_default(dpi_parser *p, const dpi_type *t, dp_value *v);
/* The canonical text of default `v`, in the arena. */
const char *dpi_default_text(dpi_parser *p, const dpi_type *t, const dp_value *v);

/* -- derive.c -- */

/* Does the alias annotation of `t`, or of the element of a list or optional, have "!"? */
bool dpi_type_written(const dpi_type *t);
/* Fill in the fields of `s` that follow from its arguments and returns. */
bool dpi_schema_derive(dpi_parser *p, dp_schema *s);

#pragma GCC visibility pop

#endif
