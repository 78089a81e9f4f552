/* heavy.c -- steps that take so long that a backward computes them again only to save memory. */
#include "dispatch/call/ctx.h"
#include "joint.h"

static const char *const heavy[] = {"aten::mm",
                                    "aten::bmm",
                                    "aten::addmm",
                                    "aten::baddbmm",
                                    "aten::addbmm",
                                    "aten::mv",
                                    "aten::addmv",
                                    "aten::dot",
                                    "aten::vdot",
                                    "aten::ger",
                                    "aten::addr",
                                    "aten::convolution",
                                    "aten::sort",
                                    "aten::topk",
                                    "aten::median",
                                    "aten::mode",
                                    "aten::unique",
                                    "aten::cholesky",
                                    "aten::svd",
                                    "aten::qr",
                                    "aten::lu",
                                    "aten::inverse",
                                    "aten::triangular_solve",
                                    "aten::_ctc_loss",
                                    "aten::kthvalue",
                                    "aten::lstsq",
                                    "aten::_cdist_forward",
                                    "aten::grid_sampler_2d"};
static const char *const heavy_prefixes[] = {"aten::linalg_", "aten::_linalg_", "aten::_fft",
                                             "aten::convolution", "aten::_convolution"};

bool dpi_is_heavy(const dp_program *p, const dpi_step *s)
{
    if (s->kind != DP_STEP_CALL)
        return s->kind == DP_STEP_SUB;
    const char *name = p->ops[s->operand].op->name;
    size_t base = dpi_base_bytes(name);
    for (size_t i = 0; i < DPI_COUNT(heavy); i++)
        if (strlen(heavy[i]) == base && memcmp(heavy[i], name, base) == 0)
            return true;
    for (size_t i = 0; i < DPI_COUNT(heavy_prefixes); i++)
        if (strncmp(name, heavy_prefixes[i], strlen(heavy_prefixes[i])) == 0)
            return true;
    return false;
}
