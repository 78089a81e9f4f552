/* views.c -- the table of operators that return views, and how a write through each is stored. */
#include "functional.h"

static const dpi_view views[] = {
    {"aten::select.int", DPI_VIEW_SCATTER, "aten::select_scatter"},
    {"aten::slice.Tensor", DPI_VIEW_SCATTER, "aten::slice_scatter"},
    {"aten::diagonal", DPI_VIEW_SCATTER, "aten::diagonal_scatter"},
    {"aten::as_strided", DPI_VIEW_SCATTER, "aten::as_strided_scatter"},
    {"aten::transpose.int", DPI_VIEW_AGAIN, NULL},
    {"aten::swapaxes", DPI_VIEW_AGAIN, NULL},
    {"aten::swapdims", DPI_VIEW_AGAIN, NULL},
    {"aten::t", DPI_VIEW_AGAIN, NULL},
    {"aten::numpy_T", DPI_VIEW_AGAIN, NULL},
    {"aten::mT", DPI_VIEW_AGAIN, NULL},
    {"aten::movedim.int", DPI_VIEW_SWAPPED, NULL},
    {"aten::movedim.intlist", DPI_VIEW_SWAPPED, NULL},
    {"aten::moveaxis.int", DPI_VIEW_SWAPPED, NULL},
    {"aten::moveaxis.intlist", DPI_VIEW_SWAPPED, NULL},
    {"aten::permute", DPI_VIEW_PERMUTED, NULL},
    {"aten::view", DPI_VIEW_SIZES, NULL},
    {"aten::view_as", DPI_VIEW_SIZES, NULL},
    {"aten::unflatten.int", DPI_VIEW_SIZES, NULL},
    {"aten::squeeze", DPI_VIEW_SIZES, NULL},
    {"aten::squeeze.dim", DPI_VIEW_SIZES, NULL},
    {"aten::unsqueeze", DPI_VIEW_SIZES, NULL},
    {"aten::alias", DPI_VIEW_ITSELF, NULL},
    {"aten::detach", DPI_VIEW_ITSELF, NULL},
    {"aten::positive", DPI_VIEW_ITSELF, NULL},
    {"aten::lift_fresh", DPI_VIEW_ITSELF, NULL},
    {"aten::narrow", DPI_VIEW_NARROWED, NULL},
    {"aten::split.Tensor", DPI_VIEW_SPLIT, NULL},
    {"aten::split_with_sizes", DPI_VIEW_SECTIONS, NULL},
    {"aten::split.sizes", DPI_VIEW_SECTIONS, NULL},
    {"aten::unbind.int", DPI_VIEW_UNBOUND, NULL},
    {"aten::expand", DPI_VIEW_EXPANDED, NULL},
    {"aten::expand_as", DPI_VIEW_EXPANDED, NULL},
    {"aten::broadcast_to", DPI_VIEW_EXPANDED, NULL},
    {"aten::reshape", DPI_VIEW_PERHAPS, NULL},
    {"aten::reshape_as", DPI_VIEW_PERHAPS, NULL},
    {"aten::flatten*", DPI_VIEW_PERHAPS, NULL},
    {"aten::ravel", DPI_VIEW_PERHAPS, NULL},
    {"aten::contiguous", DPI_VIEW_PERHAPS, NULL},
    {"aten::to.*", DPI_VIEW_PERHAPS, NULL},
    {"aten::conj", DPI_VIEW_PERHAPS, NULL},
    {"aten::resolve_conj", DPI_VIEW_PERHAPS, NULL},
    {"aten::resolve_neg", DPI_VIEW_PERHAPS, NULL},
    {"aten::mH", DPI_VIEW_PERHAPS, NULL},
    {"aten::adjoint", DPI_VIEW_PERHAPS, NULL},
    {"aten::matrix_H", DPI_VIEW_PERHAPS, NULL},
    {"aten::_autocast_to*", DPI_VIEW_PERHAPS, NULL},
};

const dpi_view *dpi_view_of(const dp_program *p, const dpi_step *s)
{
    static const dpi_view other = {"", DPI_VIEW_OTHER, NULL}, itself = {"", DPI_VIEW_ITSELF, NULL};
    static const dpi_view perhaps = {"", DPI_VIEW_PERHAPS, NULL};
    const dp_schema *schema = p->ops[s->operand].schema;
    const char *name = schema->name;

    if (schema->ret_view[0] < 0 && dpi_viewed_by(p, schema, &p->links[s->args], 0) >= 0)
        return dpi_dropout_of(p, schema, &p->links[s->args]) == DPI_DROPS_NOTHING ? &itself
                                                                                  : &perhaps;

    for (size_t i = 0; i < DPI_COUNT(views); i++) {
        size_t n = strlen(views[i].name);
        if (views[i].name[n - 1] == '*' ? strncmp(views[i].name, name, n - 1) == 0
                                        : strcmp(views[i].name, name) == 0)
            return &views[i];
    }
    return &other;
}
