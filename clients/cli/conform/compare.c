/* compare.c -- tells how what a device made of a call differs from what the reference made of it */
#include "conform.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const verdict_names[N_VERDICTS] = {"pass",    "fell back", "slower", "missing",
                                               "differs", "hangs",     "crashed"};

/* -- tolerances -- */

enum {
    SUMS = 1,  /* sums in another order: an element's error goes by the largest elements */
    SIGNS = 2, /* vectors that are unique but for a factor of absolute value 1 */
    ANY = 4,   /* random numbers, or whatever lay in memory: only dtype and shape are compared */
};

/* Operators of which something is special, by the beginning of the name behind the namespace. */
static const struct {
    const char *prefix;
    int kind;
} special[] = {
    {"rand", ANY},
    {"bernoulli", ANY},
    {"normal", ANY},
    {"uniform", ANY},
    {"native_dropout", ANY},
    {"dropout", ANY},
    {"alpha_dropout", ANY},
    {"feature_", ANY},
    {"resize", ANY},
    {"multinomial", ANY},
    {"poisson", ANY},
    {"exponential", ANY},
    {"cauchy", ANY},
    {"geometric", ANY},
    {"log_normal", ANY},
    {"random", ANY},
    {"rrelu", ANY},
    {"binomial", ANY},
    {"_standard_gamma", ANY},
    {"_sample_dirichlet", ANY},
    {"empty", ANY},
    {"new_empty", ANY},
    {"_efficientzerotensor", ANY},
    {"_fused_dropout", ANY},
    {"_linalg_svd", SIGNS | SUMS},
    {"_linalg_eigh", SIGNS | SUMS},
    {"linalg_eig", SIGNS | SUMS},
    {"linalg_qr", SIGNS | SUMS},
    {"geqrf", SIGNS | SUMS},
    {"linalg_", SUMS},
    {"_linalg_", SUMS},
    {"_cdist", SUMS},
    {"_euclidean_dist", SUMS},
    {"_fft", SUMS},
    {"_softmax", SUMS},
    {"_log_softmax", SUMS},
    {"_pdist", SUMS},
    {"_embedding_bag", SUMS},
    {"_grid_sampler", SUMS},
    {"_scaled_dot", SUMS},
    {"_native_multi_head", SUMS},
    {"_transform", SUMS},
    {"_trilinear", SUMS},
    {"_ctc_loss", SUMS},
    {"_slow_conv", SUMS},
    {"_thnn", SUMS},
    {"_baddbmm", SUMS},
    {"_addmm", SUMS},
    {"_adaptive_avg", SUMS},
    {"adaptive_avg", SUMS},
    {"addbmm", SUMS},
    {"addmm", SUMS},
    {"addmv", SUMS},
    {"addr", SUMS},
    {"avg_pool", SUMS},
    {"baddbmm", SUMS},
    {"bmm", SUMS},
    {"cholesky", SUMS},
    {"col2im", SUMS},
    {"conv", SUMS},
    {"cum", SUMS},
    {"dot", SUMS},
    {"grid_sampler", SUMS},
    {"group_norm", SUMS},
    {"native_", SUMS},
    {"index_add", SUMS},
    {"index_put", SUMS},
    {"inverse", SUMS},
    {"logcumsumexp", SUMS},
    {"logsumexp", SUMS},
    {"lu_", SUMS},
    {"matmul", SUMS},
    {"matrix_exp", SUMS},
    {"mean", SUMS},
    {"mkldnn", SUMS},
    {"mm", SUMS},
    {"mv", SUMS},
    {"nansum", SUMS},
    {"nll_loss", SUMS},
    {"norm", SUMS},
    {"ormqr", SUMS},
    {"orgqr", SUMS},
    {"prod", SUMS},
    {"renorm", SUMS},
    {"scatter", SUMS},
    {"segment_reduce", SUMS},
    {"slow_conv", SUMS},
    {"std", SUMS},
    {"sum", SUMS},
    {"trace", SUMS},
    {"triangular_solve", SUMS},
    {"upsample", SUMS},
    {"var", SUMS},
    {"vdot", SUMS},
};

static int kind_of(const char *op)
{
    const char *name = strstr(op, "::");

    name = name ? name + 2 : op;
    for (size_t i = 0; i < COUNT(special); i++)
        if (strncmp(name, special[i].prefix, strlen(special[i].prefix)) == 0)
            return special[i].kind;
    return 0;
}

bool draws_values(const char *op)
{
    return kind_of(op) & ANY;
}

/* The tolerances of torch.testing.assert_close. */
static void tolerance(dpc_dtype dtype, double *relative, double *absolute)
{
    *relative = dtype == DPC_FLOAT16                             ? 1e-3
                : dtype == DPC_BFLOAT16                          ? 1.6e-2
                : dtype == DPC_FLOAT32 || dtype == DPC_COMPLEX64 ? 1.3e-6
                                                                 : 1e-7;
    *absolute = dtype == DPC_FLOAT64 || dtype == DPC_COMPLEX128 ? 1e-7 : 1e-5;
}

/* -- elements -- */

enum { SUM_FACTOR = 16 }; /* how much further a sum in another order may be */

static double size_of(element e)
{
    return hypot(e.re, e.im);
}

static bool near_part(double want, double got, double most)
{
    return want == got || (isnan(want) && isnan(got)) || fabs(want - got) <= most;
}

/* Return the largest finite absolute value among the elements. */
static double largest(const result_value *v)
{
    size_t size = dpc_dtype_size(v->dtype);
    double most = 0;

    for (size_t at = 0; at + size <= v->nbytes; at += size) {
        double x = size_of(element_read(v->dtype, (char *)v->bytes + at));
        if (isfinite(x) && x > most)
            most = x;
    }
    return most;
}

/* Return text that names element number `i` of a shape: "[1, 2]"; owned. */
static char *position(const geometry *g, size_t i)
{
    char *text = text_printf("]");

    for (int d = g->ndim - 1; d >= 0; d--) {
        char *longer =
            text_printf("%s%zu%s%s", d > 0 ? ", " : "[", i % (size_t)g->shape[d], "", text);
        free(text);
        text = longer;
        i /= (size_t)g->shape[d];
    }
    return g->ndim > 0 ? text : (free(text), text_printf("[]"));
}

/* Return for each element of a storage whether it is one of the tensor's; owned. */
static bool *inside(const input *in)
{
    const geometry *g = &in->geometry;
    bool *of = need(calloc((size_t)g->elements + 1, sizeof(*of)));
    int64_t n = geometry_count(g);

    for (int64_t i = 0; i < n; i++)
        of[geometry_at(g, i)] = true;
    return of;
}

/* Compare elements.  `in`: what was read is the whole storage of this input; NULL: a tensor.
 * Around a tensor, elements may also be as they were: a kernel of the CPU uses the memory behind an
 * output for what it reduces, as PyTorch's does.  Returns owned text about the first element that
 * differs and how many do; NULL: none. */
static char *compare_elements(const result_value *want, const result_value *got, int kind,
                              const input *in)
{
    size_t size = dpc_dtype_size(want->dtype), n = want->nbytes / size, wrong = 0, first = 0;
    double relative, absolute, scale = kind & SUMS ? SUM_FACTOR * largest(want) : 0;
    bool exact = dtype_is_integer(want->dtype), *of = in ? inside(in) : NULL;

    tolerance(want->dtype, &relative, &absolute);
    for (size_t i = 0; i < n; i++) {
        element a = element_read(want->dtype, (char *)want->bytes + i * size);
        element b = element_read(want->dtype, (char *)got->bytes + i * size);
        if (exact ? a.whole == b.whole : a.re == b.re && a.im == b.im)
            continue;
        if (!exact && kind & SIGNS) {
            a = (element){size_of(a), 0, 0};
            b = (element){size_of(b), 0, 0};
        }
        double most = absolute + relative * fmax(scale, size_of(a));
        if (!exact && !isfinite(most))
            most = absolute;
        if (!exact && near_part(a.re, b.re, most) && near_part(a.im, b.im, most))
            continue;
        if (in != NULL && !of[i] &&
            memcmp((char *)got->bytes + i * size, (char *)in->bytes + i * size, size) == 0)
            continue;
        if (wrong++ == 0)
            first = i;
    }
    free(of);
    if (wrong == 0)
        return NULL;
    element a = element_read(want->dtype, (char *)want->bytes + first * size);
    element b = element_read(want->dtype, (char *)got->bytes + first * size);
    char *at = position(&want->geometry, first), *x = element_text(want->dtype, a),
         *y = element_text(want->dtype, b);
    double ulps = element_ulps(want->dtype, a.re, b.re);
    char *far = ulps >= 0 ? text_printf(", %.0f ulp", ulps) : text_printf("%s", "");
    char *text = text_printf("element %s is %s, want %s%s; %zu of %zu elements differ", at, y, x,
                             far, wrong, n);
    free(at);
    free(x);
    free(y);
    free(far);
    return text;
}

/* Tell whether 16-bit floats were cut off: then many elements are the next one towards 0, which is
 * within the tolerance, and none is larger.  Returns owned text; NULL: they were rounded. */
static char *compare_rounding(const result_value *want, const result_value *got)
{
    enum { FEWEST = 8 };
    size_t n = want->nbytes / 2, finite = 0, smaller = 0;

    if (want->dtype != DPC_FLOAT16 && want->dtype != DPC_BFLOAT16)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        double a = element_read(want->dtype, (char *)want->bytes + 2 * i).re;
        double b = element_read(want->dtype, (char *)got->bytes + 2 * i).re;
        if (fabs(b) > fabs(a))
            return NULL;
        finite += isfinite(a) && a != 0;
        smaller += fabs(b) < fabs(a) && element_ulps(want->dtype, a, b) == 1;
    }
    if (smaller < FEWEST || smaller < finite / 4)
        return NULL;
    return text_printf("%zu of %zu elements are 1 ulp nearer to 0, and none is larger: results "
                       "are cut off, not rounded",
                       smaller, n);
}

/* -- values -- */

static char *shape_text(const geometry *g)
{
    char *text = text_printf("[");

    for (int d = 0; d < g->ndim; d++) {
        char *longer = text_printf("%s%s%lld", text, d > 0 ? ", " : "", (long long)g->shape[d]);
        free(text);
        text = longer;
    }
    char *closed = text_printf("%s]", text);
    free(text);
    return closed;
}

static bool same_shape(const geometry *a, const geometry *b)
{
    return a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof(*a->shape)) == 0;
}

/* Are two values the same text, or numbers that are close? */
static bool same_text(const char *want, const char *got)
{
    char *end_want, *end_got;
    double a = strtod(want, &end_want), b = strtod(got, &end_got);

    return strcmp(want, got) == 0 || (end_want != want && *end_want == '\0' && end_got != got &&
                                      *end_got == '\0' && fabs(a - b) <= 1e-6 * fabs(a));
}

/* Return owned text that says how two values differ; NULL: they agree. */
static char *compare_values(const result_value *want, const result_value *got, int kind,
                            const input *in)
{
    if (!want->is_tensor || !got->is_tensor) {
        if (want->is_tensor != got->is_tensor)
            return text_printf("a %s, want a %s", got->is_tensor ? "tensor" : "value",
                               want->is_tensor ? "tensor" : "value");
        if (kind & ANY || same_text(want->text, got->text))
            return NULL;
        return text_printf("%s, want %s", got->text, want->text);
    }
    if (want->dtype != got->dtype)
        return text_printf("dtype %s, want %s", dpc_dtype_name(got->dtype),
                           dpc_dtype_name(want->dtype));
    if (!same_shape(&want->geometry, &got->geometry)) {
        char *a = shape_text(&want->geometry), *b = shape_text(&got->geometry);
        char *text = text_printf("shape %s, want %s", b, a);
        free(a);
        free(b);
        return text;
    }
    if (want->nbytes != got->nbytes)
        return text_printf("%zu bytes, want %zu", got->nbytes, want->nbytes);
    if (kind & ANY || want->nbytes == 0)
        return NULL;
    char *text = compare_elements(want, got, kind, in);
    return text != NULL || kind & SIGNS ? text : compare_rounding(want, got);
}

/* Say where a difference is, and free it. */
static char *at_value(const char *what, size_t i, const char *behind, char *difference)
{
    char *text = text_printf("%s %zu%s: %s", what, i, behind, difference);

    free(difference);
    return text;
}

/* Test whether what was read after a call is an input's whole storage. */
static bool is_storage(const input *in, const result_value *after)
{
    return in->whole && after->is_tensor && after->geometry.ndim == 1 &&
           after->geometry.shape[0] == in->geometry.elements;
}

/* Do results of the call belong on the device of its arguments?  Without one they are on the CPU
 * where no device is named, and those of some operators are always: lengths and shapes. */
static bool follows_device(const trial *t)
{
    static const char *const to_cpu[] = {"aten::_to_cpu", "aten::_pack_padded_sequence",
                                         "aten::_pad_packed_sequence", "aten::_shape_as_tensor"};
    bool any = false;

    for (size_t i = 0; i < COUNT(to_cpu); i++)
        if (strcmp(t->op, to_cpu[i]) == 0)
            return false;
    for (size_t i = 0; i < t->n; i++)
        any = any || !t->inputs[i].on_cpu;
    return any;
}

/* Return owned text that says where an output lies, if it lies elsewhere than on the device and the
 * reference's does not; NULL: both lie where they should, or verb replay, which moves tensors from
 * device to device, does not say where that is. */
static char *compare_places(const trial *t, const outcome *want, const outcome *got, size_t i)
{
    const result_value *w = &want->values[i], *g = &got->values[i];

    if (!w->is_tensor || !g->is_tensor || want->place == NULL || got->place == NULL ||
        strcmp(w->device, want->place) != 0 || strcmp(g->device, got->place) == 0 ||
        !follows_device(t))
        return NULL;
    return text_printf("on device %s, want %s", g->device, got->place);
}

static char *compare_outcomes(const trial *t, const outcome *want, const outcome *got)
{
    int kind = kind_of(t->op);
    char *text;

    if (want->n != got->n)
        return text_printf("%zu outputs, want %zu", got->n, want->n);
    for (size_t i = 0; i < want->n; i++)
        if ((text = compare_values(&want->values[i], &got->values[i], kind, NULL)) != NULL ||
            (text = compare_places(t, want, got, i)) != NULL)
            return at_value("output", i, "", text);
    for (size_t i = 0; i < want->n_after; i++)
        if ((text = compare_values(&want->after[i], &got->after[i], kind,
                                   is_storage(&t->inputs[i], &want->after[i]) ? &t->inputs[i]
                                                                              : NULL)) != NULL)
            return at_value("argument", i,
                            t->inputs[i].whole ? " or its surroundings, after the call"
                                               : " after the call",
                            text);
    return NULL;
}

/* Test whether the reference has no kernel for the dtype: then it says nothing about the device. */
static bool no_reference(const outcome *want)
{
    return strstr(want->message, "not implemented for") != NULL;
}

static bool is_strided(form f)
{
    return f == FORM_STRIDED || f == FORM_IN_PLACE_STRIDED || f == FORM_OUT_STRIDED;
}

verdict compare(const trial *t, const outcome *want, const outcome *got, char **why)
{
    *why = NULL;
    if (got->state == STATE_LOST) {
        *why = text_printf("the daemon ended during the call");
        return VERDICT_CRASHED;
    }
    if (got->state == STATE_HUNG || got->state == STATE_STUCK) {
        *why = text_printf("%s", got->message);
        return VERDICT_HANGS;
    }
    if (want->state == STATE_DONE && got->state == STATE_REFUSED) {
        *why = text_printf("%s: %s", got->type, got->message);
        return strcmp(got->type, "NotImplementedError") == 0 ? VERDICT_MISSING : VERDICT_DIFFERS;
    }
    if (want->state != STATE_DONE) {
        /* Nor need a device refuse strides that the CPU's kernel cannot read. */
        if (no_reference(want) || want->state != STATE_REFUSED ||
            (is_strided(t->form) && got->state == STATE_DONE) ||
            (got->state == STATE_REFUSED && strcmp(want->type, got->type) == 0))
            return VERDICT_PASS;
        bool missing = strcmp(got->type, "NotImplementedError") == 0;
        *why = got->state == STATE_DONE
                   ? text_printf("no error, want %s: %s", want->type, want->message)
                   : text_printf("%s: %s, want %s: %s", got->type, got->message, want->type,
                                 want->message);
        return missing ? VERDICT_MISSING : VERDICT_DIFFERS;
    }
    *why = compare_outcomes(t, want, got);
    if (*why != NULL)
        return VERDICT_DIFFERS;
    if (got->fell_back != NULL) {
        *why = text_printf("%s fell back", got->fell_back);
        return VERDICT_FELL_BACK;
    }
    return VERDICT_PASS;
}
