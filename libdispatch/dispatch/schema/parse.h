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
    uint32_t tags;      /* bit t: a value whose dp_value.tag is t fits the type */
    uint32_t list_tag;  /* bit t: a value whose dp_value.tag is t may be a list of this type */
    const char *letter; /* letter of the C type (plugin.h); NULL: no letter */
} dpi_word;
/* Find the one-word type called `*name`.  If `*name` is a synonym ("number"), first replace it by
 * the type's name ("Scalar").  NULL: no such type. */
const dpi_word *dpi_word_named(const char **name);
/* Return the one-word type that `t` is; NULL: `t` is another type. */
const dpi_word *dpi_type_word(const dpi_type *t);
/* Return the set of the tags (bit t for tag t) of values that may fit `t`.  The elements of a list
 * are not considered. */
uint32_t dpi_type_tags(const dpi_type *t);
uint32_t dpi_list_tags(const dpi_type *elem); /* dpi_type_tags() for a list of `elem` */
/* Append the letters of `t` (plugin.h) to `out`.  False: the type has no letters. */
bool dpi_type_code(dpi_text *out, const dpi_type *t);
/* Are `a` and `b` the same type?  When PyTorch compares signatures, SymInt is equal to int and list
 * sizes are ignored; this function does that, too. */
bool dpi_type_same(const dpi_type *a, const dpi_type *b);

/* -- cursor.c -- */

typedef struct dpi_parser {
    const char *text, *at; /* the whole text, and the parser's position in it */
    dp_arena *arena;
    dp_error *err;
    int rc; /* code of the first error; later errors do not replace it */
} dpi_parser;

#define DIGITS "0123456789"

/* Unless its comment says otherwise, a function of cursor.c that fails sets `p->rc` and the error
 * and returns false or NULL.  Functions that look at the next text skip white space first. */
/* Set an error that names the column and says "expected `what`, found ...".  Returns false. */
bool dpi_parser_fail(dpi_parser *p, const char *what);
/* Set error `code` that names the column and says "`what` '`name`'".  Returns false. */
bool dpi_parser_refuse(dpi_parser *p, int code, const char *what, const char *name);
/* Set an error that names the column and says "more than `limit` `what`".  Returns false. */
bool dpi_parser_over_limit(dpi_parser *p, const char *what, int limit);
void *dpi_parser_alloc(dpi_parser *p, size_t bytes); /* allocate zeroed memory in the arena */
/* Copy `n` bytes of `s` into the arena, and end them with '\0'. */
const char *dpi_parser_copy(dpi_parser *p, const char *s, size_t n);
/* Copy the text of `t` into the arena and free `t`, also on failure. */
const char *dpi_parser_store(dpi_parser *p, dpi_text *t);
void dpi_parser_skip(dpi_parser *p);                       /* skip white space */
bool dpi_parser_next_is(dpi_parser *p, const char *token); /* is `token` the next text? */
/* Consume `token` if it is next in the text.  False: it is not; this is no error. */
bool dpi_parser_accept(dpi_parser *p, const char *token);
/* Consume `token`, which must be next in the text. */
bool dpi_parser_expect(dpi_parser *p, const char *token);
/* Return the length of the identifier that is next in the text; 0: there is none. */
size_t dpi_parser_ident_length(dpi_parser *p);
/* Consume and copy an identifier; `what` names it in the error. */
const char *dpi_parser_ident(dpi_parser *p, const char *what);

/* -- default.c -- */

/* Parse the default value of an argument of type `t`. */
bool dpi_parse_default(dpi_parser *p, const dpi_type *t, dp_value *v);
/* Print `v`, a default of type `t`, in canonical form into the arena. */
const char *dpi_default_text(dpi_parser *p, const dpi_type *t, const dp_value *v);

/* -- derive.c -- */

/* Does the alias annotation of `t`, or of the element of a list or optional, have "!"? */
bool dpi_type_written(const dpi_type *t);
/* Fill in the fields of `s` that are derived from its arguments and returns. */
bool dpi_schema_derive(dpi_parser *p, dp_schema *s);

#pragma GCC visibility pop

#endif
