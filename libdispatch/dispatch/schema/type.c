/* type.c -- types in schemas: find the values that fit, find a type's letters (plugin.h), print
 * types and compare them. */
#include "parse.h"
#include <dispatchd/typed.h>

static const dpi_word words[] = {
    {"Tensor", DPI_TYPE_TENSOR, TAG(TENSOR), TAG(TENSORS), "T"},
    {"int", DPI_TYPE_INT, TAG(INT), TAG(INTS), "i"},
    {"float", DPI_TYPE_FLOAT, TAG(DOUBLE), TAG(DOUBLES), "f"},
    {"bool", DPI_TYPE_BOOL, TAG(BOOL), TAG(BOOLS), "b"},
    {"str", DPI_TYPE_STR, TAG(STR), TAG(LIST), "S"},
    {"Scalar", DPI_TYPE_SCALAR, TAGS_SCALAR, TAG(LIST), "s"},
    {"complex", DPI_TYPE_COMPLEX, TAG(COMPLEX), TAG(LIST), "c"},
    {"SymInt", DPI_TYPE_SYMINT, TAG(INT), TAG(INTS), "i"},
    {"ScalarType", DPI_TYPE_SCALAR_TYPE, TAG(INT), TAG(INTS), "i"},
    {"Layout", DPI_TYPE_LAYOUT, TAG(INT), TAG(INTS), "i"},
    {"MemoryFormat", DPI_TYPE_MEMORY_FORMAT, TAG(INT), TAG(INTS), "i"},
    {"Device", DPI_TYPE_DEVICE, TAG(INT), TAG(INTS), "i"},
    {"Generator", DPI_TYPE_GENERATOR, TAG(GENERATOR), TAG(LIST), "g"},
    {"SymFloat", DPI_TYPE_NAMED, TAG(DOUBLE), TAG(DOUBLES), NULL},
    {"SymBool", DPI_TYPE_NAMED, TAG(BOOL), TAG(BOOLS), NULL},
    {"DeviceIndex", DPI_TYPE_NAMED, TAG(INT), TAG(INTS), NULL},
    {"QScheme", DPI_TYPE_NAMED, TAG(INT), TAG(INTS), NULL},
    {"Storage", DPI_TYPE_NAMED, 0, TAG(LIST), "U"},
    {"Stream", DPI_TYPE_NAMED, 0, TAG(LIST), "M"},
    {"Quantizer", DPI_TYPE_NAMED, 0, TAG(LIST), NULL},
    {"ConstQuantizerPtr", DPI_TYPE_NAMED, 0, TAG(LIST), NULL},
    {"Capsule", DPI_TYPE_NAMED, 0, TAG(LIST), NULL},
    {"NoneType", DPI_TYPE_NAMED, TAG(NONE), TAG(LIST), NULL},
    {"Any", DPI_TYPE_NAMED, TAGS_ALL, TAGS_LISTS, NULL},
    {"AnyClassType", DPI_TYPE_NAMED, TAGS_ALL, TAGS_LISTS, NULL},
    {"AnyEnumType", DPI_TYPE_NAMED, TAGS_ALL, TAGS_LISTS, NULL},
};

/* Names that PyTorch replaces by another name when it parses and prints a type. */
static const struct {
    const char *name, *means;
} synonyms[] = {
    {"Dimname", "str"},
    {"number", "Scalar"},
    {"None", "NoneType"},
};

const dpi_word *dpi_word_named(const char **name)
{
    for (size_t i = 0; i < DPI_COUNT(synonyms); i++)
        if (strcmp(synonyms[i].name, *name) == 0)
            *name = synonyms[i].means;
    for (size_t i = 0; i < DPI_COUNT(words); i++)
        if (strcmp(words[i].name, *name) == 0)
            return &words[i];
    return NULL;
}

const dpi_word *dpi_type_word(const dpi_type *t)
{
    for (size_t i = 0; t->name && i < DPI_COUNT(words); i++)
        if (words[i].kind == t->kind && strcmp(words[i].name, t->name) == 0)
            return &words[i];
    return NULL;
}

uint32_t dpi_list_tags(const dpi_type *elem)
{
    const dpi_word *w = dpi_type_word(elem);

    if (w)
        return w->list_tag;
    if (elem->kind == DPI_TYPE_VARIABLE)
        return TAGS_LISTS;
    if (elem->kind == DPI_TYPE_OPTIONAL && elem->elem->kind == DPI_TYPE_TENSOR)
        return TAG(TENSORS);
    return TAG(LIST);
}

uint32_t dpi_type_tags(const dpi_type *t)
{
    const dpi_word *w = dpi_type_word(t);

    switch (t->kind) {
    case DPI_TYPE_OPTIONAL:
        return TAG(NONE) | dpi_type_tags(t->elem);
    case DPI_TYPE_LIST:
        return dpi_list_tags(t->elem);
    case DPI_TYPE_TUPLE:
        return TAG(LIST);
    case DPI_TYPE_VARIABLE:
        return TAGS_ALL;
    case DPI_TYPE_CLASS:
        return TAG(OBJECT);
    default:
        return w ? w->tags : 0;
    }
}

static bool tuple_fits(const dpi_type *elem, const dp_value *v)
{
    for (uint32_t i = 0; i < v->len; i++, elem = elem->next)
        if (elem == NULL || !dpi_type_fits(elem, &v->u.values[i]))
            return false;
    return elem == NULL;
}

/* Is `o` an object of class `name`, "__torch__.torch.classes.ns.Class"? */
static bool class_fits(const char *name, const dp_object *o)
{
    static const char prefix[] = "__torch__.torch.classes.";

    return o != NULL && strcmp(name + sizeof(prefix) - 1, dp_object_kind(o)) == 0;
}

bool dpi_type_fits(const dpi_type *t, const dp_value *v)
{
    if (v->tag >= DP_TAG_END || !(dpi_type_tags(t) & 1u << v->tag))
        return false;
    if (t->kind == DPI_TYPE_OPTIONAL)
        return v->tag == DP_TAG_NONE || dpi_type_fits(t->elem, v);
    if (t->kind == DPI_TYPE_TUPLE)
        return tuple_fits(t->elem, v);
    if (t->kind == DPI_TYPE_CLASS)
        return class_fits(t->name, v->u.o);
    if (t->kind != DPI_TYPE_LIST)
        return true;
    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        if (v->u.tensors[i] == NULL && t->elem->kind == DPI_TYPE_TENSOR)
            return false;
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len; i++)
        if (!dpi_type_fits(t->elem, &v->u.values[i]))
            return false;
    return true;
}

const char *dpi_value_kind(const dp_value *v)
{
    static const char *const kinds[DP_TAG_END] = {
        "None",     "Tensor", "int",     "float",  "bool", "complex",   "str",
        "Tensor[]", "int[]",  "float[]", "bool[]", "list", "Generator", "object"};
    return v->tag < DP_TAG_END ? kinds[v->tag] : "?";
}

bool dpi_type_code(dpi_text *out, const dpi_type *t)
{
#define TEXT(letters) #letters,
    static const char *const codes[] = {DP_LETTER_MAP(TEXT)};
#undef TEXT
    char code[8] = "";
    size_t n = 0;

    for (; t->kind == DPI_TYPE_OPTIONAL || t->kind == DPI_TYPE_LIST; t = t->elem)
        if (n < 3)
            code[n++] = t->kind == DPI_TYPE_OPTIONAL ? 'o' : 'l';
    const dpi_word *w = dpi_type_word(t);
    const char *letter = t->kind == DPI_TYPE_CLASS ? "O" : w != NULL ? w->letter : NULL;
    if (letter == NULL)
        return false;
    code[n] = letter[0];
    for (size_t i = 0; i < DPI_COUNT(codes); i++)
        if (strcmp(codes[i], code) == 0) {
            dpi_text_add(out, code);
            return true;
        }
    return false;
}

static bool lacks_letters(const dpi_type *t)
{
    dpi_text code = {0};
    bool has = dpi_type_code(&code, t);

    dpi_text_fini(&code);
    return !has;
}

const dpi_argument *dpi_schema_letterless(const dp_schema *s)
{
    for (uint32_t i = 0; i < s->n_args; i++)
        if (lacks_letters(s->args[i].type))
            return &s->args[i];
    for (uint32_t i = 0; i < s->n_rets; i++)
        if (s->ret_alias[i] < 0 && lacks_letters(s->rets[i].type))
            return &s->rets[i];
    return NULL;
}

bool dpi_type_reserved(const dpi_type *t)
{
    bool list_of_tensors = t->kind == DPI_TYPE_OPTIONAL && t->elem->kind == DPI_TYPE_LIST;

    while (t->kind == DPI_TYPE_OPTIONAL || t->kind == DPI_TYPE_LIST)
        t = t->elem;
    const dpi_word *w = dpi_type_word(t);
    return w != NULL && w->letter != NULL &&
           (strchr("cUM", w->letter[0]) != NULL || (list_of_tensors && w->letter[0] == 'T'));
}

static void print_alias(dpi_text *out, const dpi_alias *a, bool plain)
{
    if (plain || !a->present)
        return;
    if (a->bare) {
        dpi_text_add(out, "!");
        return;
    }
    dpi_text_printf(out, "(%s%s", a->wildcard_before ? "*" : a->before, a->write ? "!" : "");
    if (a->has_after)
        dpi_text_printf(out, " -> %s", a->wildcard_after ? "*" : a->after);
    dpi_text_add(out, ")");
}

void dpi_type_print(dpi_text *out, const dpi_type *t, bool plain)
{
    switch (t->kind) {
    case DPI_TYPE_LIST:
        dpi_type_print(out, t->elem, plain);
        if (t->sized)
            dpi_text_printf(out, "[%u]", t->n);
        else
            dpi_text_add(out, "[]");
        break;
    case DPI_TYPE_OPTIONAL:
        dpi_type_print(out, t->elem, plain);
        dpi_text_add(out, "?");
        break;
    case DPI_TYPE_DICT:
        dpi_text_add(out, "Dict(");
        dpi_type_print(out, t->elem, plain);
        dpi_text_add(out, ", ");
        dpi_type_print(out, t->value, plain);
        dpi_text_add(out, ")");
        break;
    case DPI_TYPE_TUPLE:
        for (const dpi_type *e = t->elem; e; e = e->next) {
            dpi_text_add(out, e == t->elem ? "(" : ", ");
            dpi_type_print(out, e, plain);
        }
        dpi_text_add(out, ")");
        break;
    case DPI_TYPE_FUTURE:
        dpi_text_printf(out, "%s(", t->name);
        dpi_type_print(out, t->elem, plain);
        dpi_text_add(out, ")");
        break;
    default:
        dpi_text_add(out, t->name);
    }
    print_alias(out, &t->alias, plain);
}

bool dpi_type_same(const dpi_type *a, const dpi_type *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    int ka = a->kind == DPI_TYPE_SYMINT ? DPI_TYPE_INT : a->kind;
    int kb = b->kind == DPI_TYPE_SYMINT ? DPI_TYPE_INT : b->kind;
    bool by_name = ka >= DPI_TYPE_NAMED && ka <= DPI_TYPE_CLASS;
    if (ka != kb || (by_name && strcmp(a->name, b->name) != 0))
        return false;
    return dpi_type_same(a->elem, b->elem) && dpi_type_same(a->value, b->value) &&
           dpi_type_same(a->next, b->next);
}

static bool same_list(const dpi_argument *a, uint32_t na, const dpi_argument *b, uint32_t nb)
{
    for (uint32_t i = 0; na == nb && i < na; i++)
        if (!dpi_type_same(a[i].type, b[i].type))
            return false;
    return na == nb;
}

bool dpi_schema_same_types(const dp_schema *a, const dp_schema *b)
{
    return a->vararg == b->vararg && a->varret == b->varret &&
           same_list(a->args, a->n_args, b->args, b->n_args) &&
           same_list(a->rets, a->n_rets, b->rets, b->n_rets);
}
