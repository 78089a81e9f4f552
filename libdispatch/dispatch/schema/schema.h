/* schema.h -- a parsed function schema: its types, arguments, returns and fields derived from them.
 *
 * Source: torch/csrc/jit/frontend/function_schema_parser.cpp. */
#ifndef DPI_SCHEMA_H
#define DPI_SCHEMA_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum { /* dpi_type.kind */
       DPI_TYPE_TENSOR = 1,
       DPI_TYPE_INT,
       DPI_TYPE_FLOAT,
       DPI_TYPE_BOOL,
       DPI_TYPE_STR,
       DPI_TYPE_SCALAR, /* Scalar, or its synonym number */
       DPI_TYPE_COMPLEX,
       DPI_TYPE_SYMINT,
       DPI_TYPE_SCALAR_TYPE,
       DPI_TYPE_LAYOUT,
       DPI_TYPE_MEMORY_FORMAT,
       DPI_TYPE_DEVICE,
       DPI_TYPE_GENERATOR,
       DPI_TYPE_NAMED,    /* another one-word type, by `name`: Storage, Stream, QScheme, Any ... */
       DPI_TYPE_VARIABLE, /* type variable: `name` is none of the above and begins in lower case */
       DPI_TYPE_CLASS,    /* `name`: __torch__.torch.classes.ns.Class */
       DPI_TYPE_LIST,     /* list of `elem`; int[n] has `sized` and `n` */
       DPI_TYPE_OPTIONAL, /* `elem` or None */
       DPI_TYPE_DICT,     /* `elem`: type of the keys; `value`: type of the values */
       DPI_TYPE_TUPLE,    /* `elem`: the first element; `next` links the others */
       DPI_TYPE_FUTURE,   /* `name`: Future, RRef or Await; `elem`: its result */
};

/* The alias annotation of a type: "(a!)", "(a -> *)", "(a|b)", "!". */
typedef struct dpi_alias {
    bool present;
    bool write;           /* the annotation has "!" */
    bool wildcard_before; /* the set before "->", or the only set, is "*" */
    bool wildcard_after;  /* the set after "->" is "*" */
    bool has_after;       /* the set after "->" differs from the one before it */
    bool bare;            /* the annotation is only "!", without parentheses */
    /* the sets before and after "->" as text, "a" or "a|b"; NULL: the set is "*" or absent */
    const char *before, *after;
} dpi_alias;

typedef struct dpi_type {
    uint8_t kind;
    bool sized; /* true: the type is a list with a size, such as int[2] */
    uint32_t n; /* number of elements of a list with a size */
    const char *name;
    struct dpi_type *elem, *value, *next;
    dpi_alias alias;
} dpi_type;

typedef struct dpi_argument {
    const char *name; /* "" for an unnamed return */
    dpi_type *type;
    bool kwarg_only;
    bool has_default;
    dp_value def; /* the default, in the schema's arena; lists as DP_TAG_INTS, _DOUBLES, ... */
    const char *default_text; /* the default in canonical form */
    /* bit t: a value whose dp_value.tag is t may fit the type; elements are not considered */
    uint32_t tags;
    bool written; /* the type, or the element of its list or optional, has "!" */
} dpi_argument;

struct dp_schema {
    atomic_uint refs;
    dp_arena *arena;  /* owned; holds this struct and all that it points to */
    const char *name; /* full name "aten::add.Tensor"; without "aten::" if the text had none */
    const char *ns, *base, *overload; /* "aten", "add", "Tensor"; "": absent */
    const char *text;                 /* the schema in canonical form */
    /* letters of the C types in plugin.h: "TTs>T" means two tensors and a Scalar in, a tensor out.
     * "": a type has no letters, or the schema has "...", so kernels of this operator must be
     * boxed */
    const char *code;
    uint32_t n_args, n_rets;
    uint32_t n_given; /* number of returns that the kernel makes: ret_alias[i] < 0 */
    dpi_argument *args, *rets;
    bool name_only;      /* the text is an operator's name, without arguments */
    bool vararg, varret; /* arguments end with "..."; returns are "..." */
    /* bit i: argument i may have dispatch keys: it is a Tensor, a Generator, or an optional or list
     * of these */
    uint64_t tensor_args;
    uint64_t written; /* bit i: args[i].written */
    /* [i]: index of the argument that is return i, as in "(Tensor(a!) self) -> Tensor(a!)": both
     * have the same type and the same alias set with "!".  The dispatcher returns this argument,
     * and `code` has no letters for return i.  -1: the kernel makes return i. */
    int8_t ret_alias[DP_LIMIT_ARGUMENTS];
    int32_t variant; /* DP_VARIANT_* */
    uint64_t viewed; /* bit i: some return is a view of argument i, which is not written */
    /* [i]: index of the argument of which return i is a view, or which return i is; -1: none */
    int8_t ret_view[DP_LIMIT_ARGUMENTS];
};

dp_schema *dpi_schema_ref(dp_schema *s);
/* Parse `text` into a new schema `*out`, to which the caller gets a reference.  `ns`, which may be
 * NULL, is the namespace if the text has none.  DP_EVALUE: the text is no schema, or has another
 * namespace.  DP_ERESOURCE: the text is over a limit, or no memory. */
int dpi_schema_parse(const char *text, const char *ns, dp_schema **out, dp_error *err);
/* Parse only an operator's name, "f.out" or "ns::f.out", as dpi_schema_parse() does. */
int dpi_name_parse(const char *text, const char *ns, dp_schema **out, dp_error *err);
/* Do both schemas have the same types of arguments and returns?  Names, defaults and alias
 * annotations are not compared. */
bool dpi_schema_same_types(const dp_schema *a, const dp_schema *b);
/* Append the canonical text of `t` to `out`; if `plain`, without alias annotations. */
void dpi_type_print(dpi_text *out, const dpi_type *t, bool plain);
/* Return the first argument or return whose type has no letters (plugin.h).  Returns that are
 * written arguments are skipped, because they need no letters.  NULL: there is none. */
const dpi_argument *dpi_schema_letterless(const dp_schema *s);
/* Does plugin.h reserve letters for this type, although no kernel can use them yet? */
bool dpi_type_reserved(const dpi_type *t);
/* Does `v` fit `type`?  All elements of lists are checked, too. */
bool dpi_type_fits(const dpi_type *type, const dp_value *v);
enum { DPI_CODE_BITS = 20 }; /* size in bits of the numbers that dpi_code_intern() returns */
/* Return the number of the letters `code` ("TTs>T").  Equal letters have the same number for the
 * rest of the process.  0: `code` is empty, all numbers are used, or no memory. */
uint32_t dpi_code_intern(const char *code);
/* Return the letters whose number is in the low DPI_CODE_BITS bits of `code`; other bits are
 * ignored.  "?": no letters have this number. */
const char *dpi_code_text(uint32_t code);
const char *dpi_value_kind(const dp_value *v); /* for messages: "Tensor", "int", "list", ... */
/* Set of the tags (dp_value.tag) of values that point to memory.  This memory must stay valid as
 * long as the value is used. */
#define DPI_TAGS_MEMORY                                                                            \
    (1u << DP_TAG_COMPLEX | 1u << DP_TAG_STR | 1u << DP_TAG_TENSORS | 1u << DP_TAG_INTS |          \
     1u << DP_TAG_DOUBLES | 1u << DP_TAG_BOOLS | 1u << DP_TAG_LIST)

#pragma GCC visibility pop

#endif
