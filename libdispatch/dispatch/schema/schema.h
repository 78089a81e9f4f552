/* schema.h -- a function schema as a struct (torch/csrc/jit/frontend/function_schema_parser.cpp).
 */
#ifndef DPI_SCHEMA_H
#define DPI_SCHEMA_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum { /* dpi_type.kind.  Names print as in the text. */
       DPI_TYPE_TENSOR = 1,
       DPI_TYPE_INT,
       DPI_TYPE_FLOAT,
       DPI_TYPE_BOOL,
       DPI_TYPE_STR,
       DPI_TYPE_SCALAR, /* Scalar, number */
       DPI_TYPE_COMPLEX,
       DPI_TYPE_SYMINT,
       DPI_TYPE_SCALAR_TYPE,
       DPI_TYPE_LAYOUT,
       DPI_TYPE_MEMORY_FORMAT,
       DPI_TYPE_DEVICE,
       DPI_TYPE_GENERATOR,
       /* any other one-word type: Storage, Stream, QScheme, Any ...; text in `name` */
       DPI_TYPE_NAMED,
       DPI_TYPE_VARIABLE, /* lowercase identifier */
       DPI_TYPE_CLASS,    /* __torch__.torch.classes.ns.Class */
       DPI_TYPE_LIST,     /* elem; sized: int[n] */
       DPI_TYPE_OPTIONAL, /* elem */
       DPI_TYPE_DICT,     /* elem = key, value */
       DPI_TYPE_TUPLE,    /* elems chained by next */
       DPI_TYPE_FUTURE,   /* Future, RRef, Await: name + elem */
};

typedef struct dpi_alias {
    bool present, write, wildcard_before, wildcard_after, has_after, bare; /* bare: just "!" */
    const char *before, *after; /* canonical set text "a" or "a|b"; NULL when wildcard or absent */
} dpi_alias;

typedef struct dpi_type {
    uint8_t kind;
    bool sized; /* int[n], not int[] */
    uint32_t n;
    const char *name;
    struct dpi_type *elem, *value, *next;
    dpi_alias alias;
} dpi_type;

typedef struct dpi_argument {
    const char *name; /* "" for an unnamed return */
    dpi_type *type;
    bool kwarg_only;
    bool has_default;
    dp_value def; /* in the schema's memory; lists as typed lists (INTS, DOUBLES, ...) */
    const char *default_text; /* canonical */
    uint32_t tags;            /* bit t: a dp_value of tag t fits the type, shallowly */
    bool written;             /* alias info with write, itself or in its list element */
} dpi_argument;

struct dp_schema {
    atomic_uint refs;
    dp_arena *arena;  /* everything below lives here */
    const char *name; /* "aten::add.Tensor" (full; no namespace when the text had none) */
    const char *ns, *base, *overload; /* "aten", "add", "Tensor"; "" when absent */
    const char *text;                 /* canonical print */
    const char *code;                 /* unboxed C type, plugin.h; "" when some type has none */
    uint32_t n_args, n_rets;
    uint32_t n_given; /* returns that a kernel gives: all but those of ret_alias; those of `code` */
    dpi_argument *args, *rets;
    bool name_only; /* no "(": it is only a name */
    bool vararg, varret;
    uint64_t
        tensor_args;  /* bit i: argument i can carry key sets (Tensor, Tensor?, lists, Generator) */
    uint64_t written; /* bit i: argument i is written */
    /* return i is written argument j (one type, one set, both "!"), which the host returns; -1:
     * a kernel's */
    int8_t ret_alias[DP_LIMIT_ARGUMENTS];
    int32_t form;    /* DP_FORM_* */
    uint64_t viewed; /* bit i: some return shares memory with argument i, which is not written */
    int8_t ret_view[DP_LIMIT_ARGUMENTS]; /* return i shares memory with argument j, or is it; -1 */
};

dp_schema *dpi_schema_ref(dp_schema *s);
/* Parse with `ns` filled in when the text has none; a different one in the text is an error. */
int dpi_schema_parse(const char *text, const char *ns, dp_schema **out, dp_error *err);
/* The same for "f.out" or "ns::f.out", a name and nothing more. */
int dpi_name_parse(const char *text, const char *ns, dp_schema **out, dp_error *err);
/* Same types of arguments and returns (names, defaults and alias annotations do not matter)? */
bool dpi_schema_same_types(const dp_schema *a, const dp_schema *b);
/* Type as text, canonical, without alias info when plain. */
void dpi_type_print(dpi_text *out, const dpi_type *t, bool plain);
/* The first argument or return whose type no letters stand for; NULL: they all have some. */
const dpi_argument *dpi_schema_letterless(const dp_schema *s);
bool dpi_type_reserved(const dpi_type *t); /* no letters stand for it yet (plugin.h) */
/* Value fits the type, deep: list elements too. */
bool dpi_type_fits(const dpi_type *type, const dp_value *v);
/* C types ("TTs>T") as numbers, interned for ever.  0: no memory, or empty. */
enum { DPI_CODE_BITS = 20 }; /* of a number; what is above them does not count */
uint32_t dpi_code_intern(const char *code);
const char *dpi_code_text(uint32_t code);
const char *dpi_value_kind(const dp_value *v); /* "Tensor", "int", "list", for messages */
/* Tags of values that point to memory which has to live as long as they do. */
#define DPI_TAGS_MEMORY                                                                            \
    (1u << DP_TAG_COMPLEX | 1u << DP_TAG_STR | 1u << DP_TAG_TENSORS | 1u << DP_TAG_INTS |          \
     1u << DP_TAG_DOUBLES | 1u << DP_TAG_BOOLS | 1u << DP_TAG_LIST)

#pragma GCC visibility pop

#endif
