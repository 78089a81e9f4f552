/* gradcheck.c -- compare gradients with finite differences (torch/autograd/gradcheck.py).
 *
 * All numbers are real here: a complex element is two of them.  `analytical` has a row for each
 * number of the outputs and a column for each number of the inputs: backward from 1, or from 1j for
 * an imaginary part, gives a row.  Central differences give a column, and are not stored. */
#include "gradcheck.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double EPS = 1e-6, ATOL = 1e-5, RTOL = 1e-3;

typedef struct check {
    dpi_function *f;
    double eps, atol, rtol;
    dp_grad_check_report *report;
    double *analytical;   /* [rows][columns] */
    double *again;        /* [columns] a row that was computed a second time */
    double *plus, *minus; /* [rows] the outputs, where a number of the inputs is larger, smaller */
    double *column[2];    /* [rows] derivatives by the real and by the imaginary part */
    size_t rows, columns;
} check;

static int no_memory(const check *c)
{
    return dpi_no_memory(&c->f->ctx->error, "a check of gradients");
}

static size_t numbers_of(const dp_tensor *t)
{
    return (size_t)dpi_geometry_of(t)->numel << dp_dtype_is_complex(t->dtype);
}

static size_t output_numbers(const dpi_function *f)
{
    size_t n = 0;

    for (uint32_t i = 0; i < f->n_outputs; i++)
        n += numbers_of(f->outputs[i].t);
    return n;
}

/* -- analytical -- */

/* Write the gradients of one backward to `row`; they are released. */
static int store_row(check *c, dp_tensor **grads, double *row)
{
    dpi_function *f = c->f;
    int rc = 0;

    for (uint32_t i = 0; i < f->n_checked; i++) {
        const size_t n = f->checked[i].n;
        dp_tensor *wide = NULL;
        double *data = NULL;
        if (rc == 0 && grads[i] != NULL)
            rc = dpi_function_read(f, grads[i], &wide, &data);
        if (data != NULL)
            dp_copy_n(row, data, n, sizeof(*row));
        else
            dp_zero_n(row, n, sizeof(*row));
        row += n;
        dp_tensor_unref(wide);
        dp_tensor_unref(grads[i]);
    }
    return rc;
}

/* Compute one row: backward from output `y` with the gradient `one`. */
static int backward_row(check *c, dp_tensor *y, dp_tensor *one, double *row)
{
    dpi_function *f = c->f;
    char *at = f->ctx->arena.at;
    dp_tensor **inputs = dp_arena_alloc_n(&f->ctx->arena, f->n_checked, sizeof(*inputs));
    dp_tensor **grads = dp_arena_alloc_n(&f->ctx->arena, f->n_checked, sizeof(*grads));

    if (inputs == NULL || grads == NULL)
        return no_memory(c);
    for (uint32_t i = 0; i < f->n_checked; i++)
        inputs[i] = f->checked[i].t;
    int rc = dp_gradients(f->ctx, &y, &one, 1, inputs, f->n_checked, DP_BACKWARD_RETAIN, grads);
    c->report->backward |= rc == 0;
    if (rc == 0)
        rc = store_row(c, grads, row);
    dpi_arena_rewind(&f->ctx->arena, at);
    return rc;
}

/* Compute the rows of one output, each of them twice. */
static int output_rows(check *c, const dpi_output *y, double *row)
{
    const dpi_geometry *g = dpi_geometry_of(y->t);
    bool complex = dp_dtype_is_complex(y->t->dtype);
    dp_tensor *one;
    int rc = dpi_zeros(c->f->ctx, g->ndim, g->sizes, complex ? DP_COMPLEX128 : DP_FLOAT64,
                       g->storage->device, &one);

    if (rc < 0)
        return rc;
    DP_VIEW(v, one);
    double *ones = v.data;
    for (size_t i = 0; i < numbers_of(y->t) && rc == 0; i++, row += c->columns) {
        ones[i] = 1;
        rc = dp_checkpoint(c->f->ctx);
        if (rc == 0)
            rc = backward_row(c, y->t, one, row);
        if (rc == 0)
            rc = backward_row(c, y->t, one, c->again);
        if (rc == 0 && memcmp(row, c->again, dp_size_times(c->columns, sizeof(*row))) != 0)
            rc = dp_error_set(&c->f->ctx->error, DP_ERUNTIME,
                              "%s: backward is not deterministic: two of '%s' gave different "
                              "gradients",
                              c->f->name, dpi_function_output_name(c->f, y));
        ones[i] = 0;
    }
    dp_tensor_unref(one);
    return rc;
}

static int compute_analytical(check *c)
{
    double *row = c->analytical;
    int rc = 0;

    for (uint32_t i = 0; i < c->f->n_outputs && rc == 0; i++) {
        rc = output_rows(c, &c->f->outputs[i], row);
        row += numbers_of(c->f->outputs[i].t) * c->columns;
    }
    return rc;
}

/* -- numerical -- */

/* Evaluate the function and read its outputs: to [rows]. */
static int evaluate(check *c, double *to)
{
    dpi_function *f = c->f;
    int rc = dpi_function_evaluate(f);

    if (rc == 0 && output_numbers(f) != c->rows)
        rc = dp_error_set(&f->ctx->error, DP_ERUNTIME,
                          "%s: the sizes of the outputs depend on values: %zu numbers, then %zu",
                          f->name, c->rows, output_numbers(f));
    for (uint32_t i = 0; i < f->n_outputs && rc == 0; i++) {
        dp_tensor *wide;
        double *data;
        size_t n = numbers_of(f->outputs[i].t);
        rc = dpi_function_read(f, f->outputs[i].t, &wide, &data);
        if (rc < 0)
            break;
        dp_copy_n(to, data, n, sizeof(*to));
        to += n;
        dp_tensor_unref(wide);
    }
    return rc;
}

/* Compute the derivatives of all outputs by the number *x: to [rows]. */
static int differences(check *c, double *x, double *to)
{
    const double was = *x;

    *x = was + c->eps;
    int rc = evaluate(c, c->plus);
    *x = was - c->eps;
    if (rc == 0)
        rc = evaluate(c, c->minus);
    *x = was;
    for (size_t r = 0; r < c->rows && rc == 0; r++)
        to[r] = (c->plus[r] - c->minus[r]) / (2 * c->eps);
    return rc;
}

/* -- the comparison -- */

/* Return the indices of element `i` of a tensor with the shape `g`; NULL: no memory. */
static const int64_t *indices_of(check *c, const dpi_geometry *g, size_t i)
{
    int64_t *at = dp_arena_alloc_n(&c->f->ctx->arena, (size_t)g->ndim, sizeof(*at));

    for (int d = g->ndim - 1; d >= 0 && at != NULL; d--) {
        at[d] = (int64_t)(i % (size_t)g->sizes[d]);
        i /= (size_t)g->sizes[d];
    }
    return at;
}

/* Report that row `r` differs from the derivatives by element `i` of `x`. */
static int report_difference(check *c, const dpi_checked *x, size_t i, size_t r)
{
    dp_grad_check_report *to = c->report;
    const dpi_output *y = c->f->outputs;

    for (; r >= numbers_of(y->t); y++)
        r -= numbers_of(y->t);
    to->passes = false;
    to->input = dpi_function_input_name(c->f, x);
    to->output = dpi_function_output_name(c->f, y);
    to->input_complex = x->complex;
    to->output_complex = dp_dtype_is_complex(y->t->dtype);
    to->imaginary = to->output_complex && r % 2 == 1;
    to->input_at = indices_of(c, dpi_geometry_of(x->t), i);
    to->input_ndim = dpi_geometry_of(x->t)->ndim;
    to->output_at = indices_of(c, dpi_geometry_of(y->t), r >> to->output_complex);
    to->output_ndim = dpi_geometry_of(y->t)->ndim;
    if (to->input == NULL || to->output == NULL || to->input_at == NULL || to->output_at == NULL)
        return no_memory(c);
    return 0;
}

/* Compare the column or, if `x` is complex, the two columns of its element `i`; `at`: the first. */
static int compare(check *c, const dpi_checked *x, size_t i, size_t at)
{
    for (size_t r = 0; r < c->rows; r++) {
        const double *a = c->analytical + r * c->columns + at;
        double n[2] = {c->column[0][r], x->complex ? c->column[1][r] : 0};
        double b[2] = {a[0], x->complex ? a[1] : 0};
        c->report->compared++;
        if (hypot(b[0] - n[0], b[1] - n[1]) <= c->atol + c->rtol * hypot(n[0], n[1]))
            continue;
        memcpy(c->report->numerical, n, sizeof(n));
        memcpy(c->report->analytical, b, sizeof(b));
        return report_difference(c, x, i, r);
    }
    return 0;
}

static int compare_all(check *c)
{
    size_t at = 0;
    int rc = 0;

    for (uint32_t k = 0; k < c->f->n_checked && rc == 0; k++) {
        const dpi_checked *x = &c->f->checked[k];
        const size_t width = (size_t)1 << x->complex;
        for (size_t i = 0; i < x->n && rc == 0 && c->report->passes; i += width, at += width) {
            for (size_t part = 0; part < width && rc == 0; part++)
                rc = differences(c, x->data + i + part, c->column[part]);
            if (rc == 0)
                rc = compare(c, x, i >> x->complex, at);
        }
    }
    return rc;
}

/* -- the check -- */

static int check_sizes(check *c)
{
    dpi_function *f = c->f;
    uint64_t elements = dpi_function_elements(f);

    for (uint32_t i = 0; i < f->n_outputs; i++)
        elements += (uint64_t)dpi_geometry_of(f->outputs[i].t)->numel;
    return elements <= f->o->max_elements ? 0 : dpi_function_too_large(f, elements);
}

static int allocate(check *c)
{
    dp_arena *a = &c->f->ctx->arena;

    for (uint32_t i = 0; i < c->f->n_checked; i++)
        c->columns += c->f->checked[i].n;
    c->rows = output_numbers(c->f);
    c->analytical = dp_arena_alloc(a, dp_size_times(dp_size_times(c->rows, c->columns), 8));
    c->again = dp_arena_alloc_n(a, c->columns, sizeof(double));
    for (int i = 0; i < 4; i++) {
        double **to[4] = {&c->plus, &c->minus, &c->column[0], &c->column[1]};
        if ((*to[i] = dp_arena_alloc_n(a, c->rows, sizeof(double))) == NULL)
            return no_memory(c);
    }
    return c->analytical == NULL || c->again == NULL ? no_memory(c) : 0;
}

/* See whether the outputs are finite. */
static int check_finite(check *c)
{
    bool finite = true;
    int rc = 0;

    for (uint32_t i = 0; i < c->f->n_outputs && rc == 0; i++) {
        dp_tensor *t = c->f->outputs[i].t, *wide;
        double *data;
        rc = dpi_function_read(c->f, t, &wide, &data);
        for (size_t k = 0; rc == 0 && k < numbers_of(t); k++)
            finite &= isfinite(data[k]) != 0;
        if (rc == 0)
            dp_tensor_unref(wide);
    }
    c->report->finite = rc == 0 && finite;
    return rc;
}

static int run(check *c)
{
    dpi_function *f = c->f;
    int rc = dpi_function_evaluate(f);

    c->report->called = rc == 0;
    if (rc == 0)
        rc = check_finite(c);
    if (rc == 0 && f->o->finite_only && !c->report->finite)
        return 0;
    if (rc == 0 && f->n_outputs == 0)
        rc = dp_error_set(&f->ctx->error, DP_ERUNTIME,
                          "%s: no output requires a gradient, so nothing can be compared", f->name);
    if (rc == 0 && f->o->second && (rc = dpi_function_second(f)) == 0)
        rc = dpi_function_evaluate(f);
    if (rc == 0)
        rc = check_sizes(c);
    if (rc == 0)
        rc = allocate(c);
    if (rc == 0)
        rc = compute_analytical(c);
    return rc == 0 ? compare_all(c) : rc;
}

int dp_grad_check(dp_ctx *ctx, const dp_grad_check_options *o, dp_grad_check_report *out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, o) || !DPI_GIVEN(&ctx->error, DP_EVALUE, out))
        return DP_EVALUE;
    dpi_function f = {.ctx = ctx};
    check c = {.f = &f, .report = out};
    dp_mode mode = *dp_ctx_mode(ctx);
    bool begun;
    int depth, rc;

    c.eps = o->eps != 0 ? o->eps : EPS;
    c.atol = o->atol != 0 ? o->atol : ATOL;
    c.rtol = o->rtol != 0 ? o->rtol : RTOL;
    *out = (dp_grad_check_report){.size = out->size, .passes = true};
    dp_error_clear(&ctx->error);
    mode.no_grad = false;
    mode.inference = false;
    if ((rc = dpi_ctx_pin(ctx, &begun)) < 0)
        return rc;
    if ((depth = rc = dp_guard_mode(ctx, &mode)) >= 0) {
        char *at = ctx->arena.at;
        rc = dpi_function_init(ctx, o, &f);
        if (rc == 0)
            rc = run(&c);
        dpi_function_fini(&f);
        if (out->passes) /* else the report points to the arena */
            dpi_arena_rewind(&ctx->arena, at);
        dp_guard_leave(ctx, depth);
    }
    dpi_ctx_unpin(ctx, begun);
    return rc;
}
