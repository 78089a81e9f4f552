/* symbols.c -- fit symbols, which stand for values of which only the possible tags are known.
 *
 * A symbol has a set of tags, of which its later value has one.  The symbol fits a type if a value
 * with at least one of these tags fits the type. */
#include "coerce.h"
#include <stdio.h>

/* Does a value of a tag fit a type?  FITTED: yes, after a conversion; MAYBE: that depends on the
 * value. */
enum { NO, YES, FITTED, MAYBE };

uint32_t dpi_list_tag(const dpi_type *elem)
{
    static const uint8_t tags[DPI_TYPE_FUTURE + 1] = {
        [DPI_TYPE_TENSOR] = DP_TAG_TENSORS, [DPI_TYPE_INT] = DP_TAG_INTS,
        [DPI_TYPE_SYMINT] = DP_TAG_INTS,    [DPI_TYPE_SCALAR_TYPE] = DP_TAG_INTS,
        [DPI_TYPE_LAYOUT] = DP_TAG_INTS,    [DPI_TYPE_MEMORY_FORMAT] = DP_TAG_INTS,
        [DPI_TYPE_DEVICE] = DP_TAG_INTS,    [DPI_TYPE_FLOAT] = DP_TAG_DOUBLES,
        [DPI_TYPE_BOOL] = DP_TAG_BOOLS,
    };

    if (elem->kind == DPI_TYPE_OPTIONAL && elem->elem->kind == DPI_TYPE_TENSOR)
        return DP_TAG_TENSORS;
    return tags[elem->kind] ? tags[elem->kind] : DP_TAG_LIST;
}

static int number_fits(const dpi_fit_try *f, uint8_t kind, uint32_t tag)
{
    bool real = tag == DP_TAG_INT || tag == DP_TAG_DOUBLE;

    if (tag == DP_TAG_TENSOR)
        return f->loose ? MAYBE : NO;
    switch (kind) {
    case DPI_TYPE_SCALAR:
        return real || tag == DP_TAG_BOOL || tag == DP_TAG_COMPLEX ? YES : NO;
    case DPI_TYPE_FLOAT:
        return tag == DP_TAG_DOUBLE ? YES : tag == DP_TAG_INT ? FITTED : NO;
    case DPI_TYPE_COMPLEX:
        return tag == DP_TAG_COMPLEX ? YES : real ? FITTED : NO;
    default:
        return tag == DP_TAG_INT ? YES : NO;
    }
}

static int tag_fits(const dpi_fit_try *f, const dpi_type *type, uint32_t tag);

static int list_fits(const dpi_fit_try *f, const dpi_type *type, uint32_t tag)
{
    static const uint8_t elements[DP_TAG_END] = {[DP_TAG_TENSORS] = DP_TAG_TENSOR,
                                                 [DP_TAG_INTS] = DP_TAG_INT,
                                                 [DP_TAG_DOUBLES] = DP_TAG_DOUBLE,
                                                 [DP_TAG_BOOLS] = DP_TAG_BOOL};
    const dpi_type *elem = type->elem;

    if (tag == DP_TAG_LIST)
        return MAYBE;
    if (tag == DP_TAG_INT && type->n > 0)
        return elem->kind == DPI_TYPE_INT || elem->kind == DPI_TYPE_SYMINT ? FITTED : NO;
    if (elements[tag] == 0)
        return NO;
    int fits = tag_fits(f, elem, elements[tag]);
    return fits == YES && dpi_list_tag(elem) != tag ? FITTED : fits;
}

static int tag_fits(const dpi_fit_try *f, const dpi_type *type, uint32_t tag)
{
    dp_value v = {tag, 0, {0}};

    switch (type->kind) {
    case DPI_TYPE_OPTIONAL:
        return tag == DP_TAG_NONE ? YES : tag_fits(f, type->elem, tag);
    case DPI_TYPE_TENSOR:
        return tag == DP_TAG_TENSOR ? YES : is_number(&v) && f->loose && !f->written ? FITTED : NO;
    case DPI_TYPE_INT:
    case DPI_TYPE_SYMINT:
    case DPI_TYPE_FLOAT:
    case DPI_TYPE_SCALAR:
    case DPI_TYPE_COMPLEX:
        return number_fits(f, type->kind, tag);
    case DPI_TYPE_SCALAR_TYPE:
    case DPI_TYPE_LAYOUT:
    case DPI_TYPE_MEMORY_FORMAT:
    case DPI_TYPE_DEVICE:
        return tag == DP_TAG_INT || tag == DP_TAG_STR ? MAYBE : NO;
    case DPI_TYPE_LIST:
        return list_fits(f, type, tag);
    case DPI_TYPE_CLASS: /* the object's class is checked later */
        return tag == DP_TAG_OBJECT ? MAYBE : NO;
    default:
        return dpi_type_fits(type, &v) ? YES : NO;
    }
}

int dpi_coerce_symbol(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    bool some = false, all = true, unchanged = true;

    for (uint32_t tag = 0; tag < DP_TAG_END; tag++) {
        if (!(v->u.i >> tag & 1))
            continue;
        int fits = tag_fits(f, type, tag);
        some |= fits != NO;
        all &= fits == YES || fits == FITTED;
        unchanged &= fits == YES;
    }
    *out = *v;
    f->late |= !unchanged;
    f->maybe |= !all;
    return some ? 0 : DP_ETYPE;
}

void dpi_describe_symbol(const dp_value *v, char *buf, size_t bytes)
{
    size_t n = 0;

    buf[0] = '\0';
    for (uint32_t tag = 0; tag < DP_TAG_END; tag++)
        if ((v->u.i >> tag & 1) && n < bytes)
            n += (size_t)snprintf(buf + n, bytes - n, "%s%s", n ? " or " : "",
                                  dpi_value_kind(&(dp_value){tag, 0, {0}}));
}
