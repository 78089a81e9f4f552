/* undo.c -- write through views: from the new value of a view, make the new value of the tensor
 * that it is a view of, up to the root.
 *
 * aten::select_scatter and its like put the elements of a part into a copy of the whole; a view
 * that only arranges the elements in another way is turned back. */
#include "functional.h"
#include "dispatch/call/ctx.h"

/* -- asking -- */

/* Return constant argument k of `s`; NULL: it is not constant. */
static const dp_value *constant(const dpi_functional *f, const dpi_step *s, uint32_t k)
{
    return k < s->n_args ? dp_program_constant(f->r.from, f->r.from->links[s->args + k]) : NULL;
}

static bool is_int(const dp_value *v, int64_t least)
{
    return v != NULL && v->tag == DP_TAG_INT && v->u.i >= least;
}

static bool is_ints(const dp_value *v)
{
    return v != NULL && v->tag == DP_TAG_INTS && v->len > 0;
}

/* Are the arguments of the view `s` known that its inverse needs? */
static bool is_known(const dpi_functional *f, const dpi_view *w, const dpi_step *s)
{
    const dp_value *second = constant(f, s, 1);

    switch (w->how) {
    case DPI_VIEW_PERMUTED:
        return is_ints(second) && second->len <= DP_DIM_MAX;
    case DPI_VIEW_NARROWED:
        return is_int(constant(f, s, 2), 0) && is_int(constant(f, s, 3), 0);
    case DPI_VIEW_SPLIT:
        return is_int(second, 1);
    case DPI_VIEW_SECTIONS:
        return is_ints(second);
    default:
        return w->how != DPI_VIEW_OTHER;
    }
}

/* Combine `how` with the answer for step `s`, which makes a view; `is_item`: `s` makes a list, and
 * an item of it is written. */
static void ask_view(const dpi_functional *f, const dpi_step *s, bool is_item, dpi_undo *how)
{
    const dpi_view *w = dpi_view_of(f->r.from, s);
    bool lists =
        w->how == DPI_VIEW_SPLIT || w->how == DPI_VIEW_SECTIONS || w->how == DPI_VIEW_UNBOUND;

    if (w->how == DPI_VIEW_PERHAPS)
        *how = DPI_UNDO_PERHAPS;
    else if (w->how == DPI_VIEW_EXPANDED && *how != DPI_UNDO_PERHAPS)
        *how = DPI_UNDO_EXPANDED;
    else if (*how == DPI_UNDO_YES && (!is_known(f, w, s) || lists != is_item))
        *how = DPI_UNDO_COPY;
}

int dpi_undo_ask(dpi_functional *f, uint32_t v, dpi_undo *how, uint32_t *root)
{
    uint32_t direct = v;

    *how = DPI_UNDO_YES;
    while (f->slots[v].kind == DPI_SLOT_DERIVED || f->slots[v].kind == DPI_SLOT_GATED) {
        const dpi_step *s = dpi_derived_by(f, v);
        uint32_t parent = f->slots[v].parent;
        if (parent == DPI_SLOT_NONE)
            return dpi_functional_fail(f, s->kind == DP_STEP_LIST
                                              ? "it writes to a list that is not its argument"
                                              : "it writes to a value that was chosen by select");
        if (s != NULL && s->kind == DP_STEP_ITEM) {
            const dpi_step *list = dpi_derived_by(f, parent);
            dp_ref element = dpi_functional_element(f, parent, s->operand);
            if (element != DPI_REF_NONE)
                parent = dpi_same(f, element);
            else if (list == NULL || list->kind != DP_STEP_CALL)
                return dpi_functional_fail(f, "it writes to an item of a list that is not known");
            else {
                ask_view(f, list, true, how);
                parent = f->slots[parent].parent;
            }
        } else if (s != NULL) {
            ask_view(f, s, false, how);
        }
        direct = v;
        v = parent;
    }
    if (f->slots[v].kind != DPI_SLOT_ROOT)
        return dpi_functional_fail(f, "it writes to a value of which the pass knows no memory");
    *root = v;
    /* as_strided_scatter keeps the strides of its argument; other results may have others */
    bool keeps =
        direct != v && dpi_derived_by(f, direct) != NULL &&
        dpi_derived_by(f, direct)->kind == DP_STEP_CALL &&
        strcmp(dpi_view_of(f->r.from, dpi_derived_by(f, direct))->name, "aten::as_strided") == 0;
    if (f->slots[v].strided && !keeps && *how == DPI_UNDO_YES)
        *how = DPI_UNDO_COPY;
    return 0;
}

/* -- turning a view back -- */

enum { ARGS = 8 };

/* Call `name` with `args` [n] and the further arguments of `s`, from its second one on. */
static int call_with_rest(dpi_functional *f, const char *name, dp_ref *args, size_t n,
                          const dpi_step *s, dp_ref *out)
{
    int rc = 0;

    for (uint32_t k = 1; k < s->n_args && n < ARGS && rc == 0; k++)
        rc = dpi_functional_now(f, f->r.from->links[s->args + k], &args[n++]);
    return rc == 0 ? dpi_functional_call(f, name, args, n, out) : rc;
}

/* aten::slice_scatter(whole, *part, dim, start, end): *part.  `dim`: an old reference. */
static int put_slice(dpi_functional *f, dp_ref whole, dp_ref dim, int64_t start, int64_t end,
                     dp_ref *part)
{
    dp_ref args[5] = {whole, *part};
    int rc = dpi_functional_now(f, dim, &args[2]);

    if (rc == 0)
        rc = dpi_rewrite_int(&f->r, start, &args[3]);
    if (rc == 0)
        rc = dpi_rewrite_int(&f->r, end, &args[4]);
    return rc == 0 ? dpi_functional_call(f, "aten::slice_scatter", args, 5, part) : rc;
}

static int reshape(dpi_functional *f, dp_ref whole, dp_ref *part)
{
    dp_ref args[2] = {*part};
    int rc = dpi_functional_get(f, "sizes", whole, &args[1]);

    return rc == 0 ? dpi_functional_call(f, "aten::reshape", args, 2, part) : rc;
}

/* Undo permute(dims). */
static int permute(dpi_functional *f, const dpi_step *s, dp_ref *part)
{
    const dp_value *dims = constant(f, s, 1);
    int64_t back[DP_DIM_MAX] = {0}, n = dims->len;
    dp_ref args[2] = {*part};

    for (int64_t i = 0; i < n; i++) {
        int64_t d = dims->u.ints[i] < 0 ? dims->u.ints[i] + n : dims->u.ints[i];
        if (d < 0 || d >= n)
            return dpi_functional_fail(f, "it writes to a permutation with dimension %lld of %lld",
                                       (long long)d, (long long)n);
        back[d] = i;
    }
    dp_value v = dp_ints(back, (size_t)n);
    int rc = dp_builder_constant(f->r.b, NULL, &v, &args[1]);
    return rc == 0 ? dpi_functional_call(f, "aten::permute", args, 2, part) : rc;
}

static int swap(dpi_functional *f, const char *name, const dpi_step *s, dp_ref *part)
{
    dp_ref args[3] = {*part};
    const dp_ref *old = &f->r.from->links[s->args];
    int rc = dpi_functional_now(f, old[2], &args[1]);

    if (rc == 0)
        rc = dpi_functional_now(f, old[1], &args[2]);
    return rc == 0 ? dpi_functional_call(f, name, args, 3, part) : rc;
}

/* Make the new value of `whole` from *part, the new value of its view by step `s`: *part. */
static int undo(dpi_functional *f, const dpi_step *s, dp_ref whole, dp_ref *part)
{
    const dpi_view *w = dpi_view_of(f->r.from, s);
    dp_ref args[ARGS] = {whole, *part};

    switch (w->how) {
    case DPI_VIEW_SCATTER:
        return call_with_rest(f, w->other, args, 2, s, part);
    case DPI_VIEW_AGAIN:
        args[0] = *part;
        return call_with_rest(f, w->name, args, 1, s, part);
    case DPI_VIEW_SWAPPED:
        return swap(f, w->name, s, part);
    case DPI_VIEW_SIZES:
        return reshape(f, whole, part);
    case DPI_VIEW_PERMUTED:
        return permute(f, s, part);
    case DPI_VIEW_NARROWED: {
        int64_t start = constant(f, s, 2)->u.i, length = constant(f, s, 3)->u.i;
        if (length > INT64_MAX - start)
            return dpi_functional_fail(f, "it writes to a narrowed view beyond any tensor");
        return put_slice(f, whole, f->r.from->links[s->args + 1], start, start + length, part);
    }
    default: /* DPI_VIEW_ITSELF */
        return 0;
    }
}

/* Do what undo() does for item `index` of the list of views that step `s` makes. */
static int undo_item(dpi_functional *f, const dpi_step *s, uint32_t index, dp_ref whole,
                     dp_ref *part)
{
    const dpi_view *w = dpi_view_of(f->r.from, s);
    const dp_ref *old = &f->r.from->links[s->args];
    dp_ref args[4] = {whole, *part};
    int64_t start = 0, length = 0;

    if (w->how == DPI_VIEW_UNBOUND) {
        int rc = dpi_functional_now(f, old[1], &args[2]);
        if (rc == 0)
            rc = dpi_rewrite_int(&f->r, index, &args[3]);
        return rc == 0 ? dpi_functional_call(f, "aten::select_scatter", args, 4, part) : rc;
    }
    const dp_value *sizes = constant(f, s, 1);
    bool wraps = false;
    if (w->how == DPI_VIEW_SPLIT) {
        length = sizes->u.i;
        wraps = __builtin_mul_overflow(length, (int64_t)index, &start);
    }
    for (uint32_t k = 0; w->how == DPI_VIEW_SECTIONS && k <= index && k < sizes->len; k++) {
        wraps |= __builtin_add_overflow(start, length, &start);
        length = sizes->u.ints[k];
    }
    int64_t end;
    if (wraps || __builtin_add_overflow(start, length, &end))
        return dpi_functional_fail(f, "it writes to item %u of a split beyond any tensor", index);
    return put_slice(f, whole, old[2], start, end, part);
}

/* Go from value *v, whose new value is *part, to the value that it is a view of. */
static int step_up(dpi_functional *f, uint32_t *v, dp_ref *part)
{
    const dpi_step *s = dpi_derived_by(f, *v);
    uint32_t parent = f->slots[*v].parent;
    dp_ref whole;

    if (s == NULL) { /* GATED */
        *v = parent;
        return 0;
    }
    dp_ref element =
        s->kind == DP_STEP_ITEM ? dpi_functional_element(f, parent, s->operand) : DPI_REF_NONE;
    if (element != DPI_REF_NONE) {
        *v = dpi_same(f, element);
        return 0;
    }
    const dpi_step *list = s->kind == DP_STEP_ITEM ? dpi_derived_by(f, parent) : NULL;
    *v = list != NULL ? f->slots[parent].parent : parent;
    int rc = dpi_functional_now(f, *v, &whole);
    if (rc < 0)
        return rc;
    return list != NULL ? undo_item(f, list, s->operand, whole, part) : undo(f, s, whole, part);
}

int dpi_undo_store(dpi_functional *f, uint32_t v, dp_ref ref)
{
    int rc = 0;

    while (f->slots[v].kind != DPI_SLOT_ROOT && rc == 0)
        rc = step_up(f, &v, &ref);
    if (rc == 0 && f->when != DPI_REF_NONE)
        rc = dpi_rewrite_select(&f->r, f->step, f->when, &ref, &f->r.values[v]);
    return rc == 0 ? dpi_functional_write(f, v, ref) : rc;
}
