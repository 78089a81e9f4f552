/* einsum_parse.c -- the parser of einsum's equation, such as "ij,jk->ik"
 * (aten/src/ATen/native/Linear.cpp). */
#include "einsum.h"
#include "core/composite.h"
#include <ctype.h>

static int label_of(char c)
{
    return isupper((unsigned char)c) ? c - 'A' : c - 'a' + 26;
}

/* Test whether "..." is at text[*i]; if so, set *i to the index of its last dot. */
static bool is_ellipsis(dp_str text, size_t *i)
{
    if (*i + 2 >= text.len || text.s[*i + 1] != '.' || text.s[*i + 2] != '.')
        return false;
    *i += 2;
    return true;
}

static int add_label(const einsum_equation *e, size_t at, int label)
{
    einsum_operand *o = &e->operands[at];

    if (o->n == EINSUM_SUBSCRIPTS)
        return dp_fail(e->ctx, DP_ERUNTIME, "einsum(): more than %d subscripts for operand %zu",
                       EINSUM_SUBSCRIPTS, at);
    o->labels[o->n++] = (uint8_t)label;
    return 0;
}

static int parse_dots(const einsum_equation *e, dp_str text, size_t *i, size_t at, bool *found)
{
    if (*found)
        return dp_fail(
            e->ctx, DP_ERUNTIME,
            "einsum(): found '.' for operand %zu for which an ellipsis was already found", at);
    if (!is_ellipsis(text, i))
        return dp_fail(e->ctx, DP_ERUNTIME,
                       "einsum(): found '.' for operand %zu that is not part of any ellipsis", at);
    *found = true;
    return add_label(e, at, EINSUM_ELLIPSIS);
}

static int parse_operands(einsum_equation *e, dp_str text)
{
    size_t at = 0;
    bool dots = false;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < text.len; i++) {
        char c = text.s[i];
        if (c == '.')
            rc = parse_dots(e, text, &i, at, &dots);
        else if (c == ',' && ++at == e->n)
            rc = dp_fail(e->ctx, DP_ERUNTIME,
                         "einsum(): fewer operands were provided than specified in the equation");
        else if (c == ',')
            dots = false;
        else if (isalpha((unsigned char)c))
            rc = add_label(e, at, label_of(c));
        else if (c != ' ')
            rc = dp_fail(e->ctx, DP_ERUNTIME,
                         "einsum(): invalid subscript given at index %zu in the equation string, "
                         "subscripts must be in [a-zA-Z]",
                         i);
    }
    if (rc == 0 && at != e->n - 1)
        rc = dp_fail(e->ctx, DP_ERUNTIME,
                     "einsum(): more operands were provided than specified in the equation");
    return rc;
}

static int count_labels(einsum_equation *e)
{
    for (size_t i = 0; i < e->n; i++) {
        const einsum_operand *o = &e->operands[i];
        DP_VIEW(x, e->tensors[i]);
        int named = 0;
        for (int k = 0; k < o->n; k++)
            if (o->labels[k] != EINSUM_ELLIPSIS) {
                e->count[o->labels[k]]++;
                named++;
            }
        bool dots = named < o->n;
        if (dots && x.ndim - named > e->ellipsis)
            e->ellipsis = x.ndim - named;
        if (dots ? named > x.ndim : named != x.ndim)
            return dp_fail(
                e->ctx, DP_ERUNTIME,
                "einsum(): the number of subscripts in the equation (%d) %s the number of "
                "dimensions (%d) for operand %zu%s",
                named, dots ? "is more than" : "does not match", x.ndim, i,
                dots ? "" : " and no ellipsis was given");
    }
    return 0;
}

static int parse_output(einsum_equation *e, dp_str text, size_t from, bool *dots)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];
        if (c == ' ')
            continue;
        if (c == '.') {
            if (*dots || !is_ellipsis(text, &i))
                return dp_fail(e->ctx, DP_ERUNTIME, "einsum(): found '.' for output %s",
                               *dots ? "but an ellipsis (...) was already found"
                                     : "that is not part of any ellipsis (...)");
            e->ell_at = e->ndim;
            e->ndim += e->ellipsis;
            *dots = true;
            continue;
        }
        if (!isalpha((unsigned char)c))
            return dp_fail(e->ctx, DP_ERUNTIME,
                           "einsum(): invalid subscript given at index %zu in the equation string, "
                           "subscripts must be in [a-zA-Z]",
                           from + i);
        if (e->count[label_of(c)] == 0 || e->place[label_of(c)] >= 0)
            return dp_fail(e->ctx, DP_ERUNTIME, "einsum(): output subscript %c %s", c,
                           e->place[label_of(c)] >= 0
                               ? "appears more than once in the output"
                               : "does not appear in the equation for any input operand");
        e->place[label_of(c)] = e->ndim++;
    }
    return 0;
}

/* Set the output if the equation has no arrow: the dimensions of the ellipsis, and the labels that
 * occur once. */
static void imply_output(einsum_equation *e)
{
    e->ndim = e->ellipsis;
    for (int l = 0; l < EINSUM_LABELS; l++)
        if (e->count[l] == 1)
            e->place[l] = e->ndim++;
}

int einsum_parse(einsum_equation *e)
{
    size_t arrow = 0;
    bool dots = true;

    for (int l = 0; l < EINSUM_LABELS; l++)
        e->place[l] = -1;
    while (arrow < e->text.len &&
           (arrow + 1 >= e->text.len || e->text.s[arrow] != '-' || e->text.s[arrow + 1] != '>'))
        arrow++;
    int rc = parse_operands(e, (dp_str){e->text.s, arrow});
    if (rc == 0)
        rc = count_labels(e);
    if (rc < 0)
        return rc;
    if (arrow == e->text.len)
        imply_output(e);
    else {
        dots = false;
        rc = parse_output(e, (dp_str){e->text.s + arrow + 2, e->text.len - arrow - 2}, arrow + 2,
                          &dots);
    }
    e->n_out = e->ndim;
    if (!dots) {
        e->ell_at = e->ndim;
        e->ndim += e->ellipsis;
    }
    for (int l = 0; l < EINSUM_LABELS; l++)
        if (e->count[l] > 0 && e->place[l] < 0)
            e->place[l] = e->ndim++;
    return rc < 0 ? rc : check_ndim(e->ctx, (size_t)e->ndim);
}
