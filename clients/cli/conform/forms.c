/* forms.c -- makes calls of a sample: as PyTorch calls it, and in the forms that a kernel must
 * support besides */
#include "conform.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 16 }; /* elements of FORM_LARGE, enough for several threads */

const char *const form_names[N_FORMS] = {
    "as given",   "strided", "NaN and infinities", "in place", "out=", "out= of another shape",
    "out= empty", "empty",   "0 dimensions",       "large",
};

/* -- elements -- */

static element drawn(dpc_dtype dtype, const spec *t, uint64_t *state)
{
    double u = (double)(random_next(state) >> 11) * 0x1p-53;
    double low = dtype == DPC_UINT8 && t->low < 0 ? 0 : t->low, high = fmax(low, t->high);
    element e = {low + (high - low) * u, 0, 0};

    if (dtype == DPC_BOOL)
        e.whole = u < 0.5;
    else if (dtype_is_integer(dtype))
        e.whole = (int64_t)(low + floor((high - low + 1) * u));
    if (dtype_is_complex(dtype))
        e.im = low + (high - low) * ((double)(random_next(state) >> 11) * 0x1p-53);
    return e;
}

/* Read an element of "data": a number, or text for what JSON has no number for. */
static double given_number(const cJSON *j, int64_t *whole)
{
    if (cJSON_IsString(j)) {
        *whole = strtoll(j->valuestring, NULL, 10);
        return strtod(j->valuestring, NULL);
    }
    *whole = fabs(j->valuedouble) < 0x1p62 ? (int64_t)j->valuedouble : 0;
    return j->valuedouble;
}

static void input_allocate(input *in)
{
    in->nbytes = (size_t)in->geometry.elements * dpc_dtype_size(in->dtype);
    in->bytes = need(calloc(in->nbytes > 0 ? in->nbytes : 1, 1));
}

static char *element_at(const input *in, int64_t i)
{
    return (char *)in->bytes + (size_t)i * dpc_dtype_size(in->dtype);
}

/* Set every element of the storage to 1, which is none of the usual results. */
static void fill_ones(input *in)
{
    for (int64_t i = 0; i < in->geometry.elements; i++)
        element_write(in->dtype, element_at(in, i), (element){1, 0, 1});
}

/* Draw or copy the elements of a sample's tensor. */
static void fill(input *in, const spec *t, uint64_t state)
{
    const cJSON *j = t->given ? t->given->child : NULL;

    for (int64_t i = 0; i < in->geometry.elements; i++) {
        element e = {0, 0, 0};
        if (t->given == NULL) {
            e = drawn(in->dtype, t, &state);
        } else if (j != NULL) {
            int64_t ignored;
            e.re = given_number(j, &e.whole);
            j = j->next;
            if (dtype_is_complex(in->dtype) && j != NULL) {
                e.im = given_number(j, &ignored);
                j = j->next;
            }
        }
        element_write(in->dtype, element_at(in, i), e);
    }
}

static void make_inputs(trial *t, const op_sample *s, uint64_t seed)
{
    for (size_t i = 0; i < s->n; i++) {
        input *in = &t->inputs[t->n++];
        const spec *from = &s->tensors[i];
        in->geometry = from->geometry;
        in->dtype = from->dtype == DPC_DTYPE_OTHER ? t->dtype : from->dtype;
        in->on_cpu = from->on_cpu;
        input_allocate(in);
        fill(in, from, s->hash + 0x9e3779b97f4a7c15u * (i + 1) + 0xd1342543de82ef95u * seed);
    }
}

/* Put the dtype in the place of "*". */
static void name_dtype(cJSON *value, dpc_dtype dtype)
{
    for (cJSON *j = value->child; j != NULL; j = j->next) {
        if (cJSON_IsString(j) && strcmp(j->valuestring, "*") == 0 &&
            strcmp(j->string ? j->string : "", "device") != 0)
            need(cJSON_SetValuestring(j, dpc_dtype_name(dtype)));
        name_dtype(j, dtype);
    }
}

/* -- geometries -- */

static bool is_packed(const geometry *g)
{
    geometry packed = *g;

    geometry_pack(&packed);
    return memcmp(g->strides, packed.strides, (size_t)g->ndim * sizeof(*g->strides)) == 0 &&
           g->offset == 0;
}

/* Call `visit` for each element's index in `from` and in `to`, which have one shape. */
static void copy_elements(input *to, const input *from)
{
    int64_t at[CONFORM_DIMS] = {0}, n = geometry_count(&to->geometry);
    size_t size = dpc_dtype_size(to->dtype);
    const geometry *a = &from->geometry, *b = &to->geometry;

    for (int64_t i = 0; i < n; i++) {
        int64_t x = a->offset, y = b->offset;
        for (int d = 0; d < a->ndim; d++) {
            x += at[d] * a->strides[d];
            y += at[d] * b->strides[d];
        }
        memcpy(element_at(to, y), element_at(from, x), size);
        for (int d = a->ndim - 1; d >= 0 && ++at[d] == a->shape[d]; d--)
            at[d] = 0;
    }
}

/* Test whether input `i` is an argument by name, as outputs are. */
static bool is_named(const trial *t, size_t i)
{
    const cJSON *j;

    cJSON_ArrayForEach(j, t->kwargs)
    {
        if (number_of(j, "tensor") == -(double)i - 1)
            return true;
    }
    return false;
}

/* Give each packed tensor that is no output gaps: strides that are twice as long in samples with
 * an even hash, else in the other order of dimensions, too. */
static bool make_strided(trial *t, bool turned)
{
    bool any = false;

    for (size_t i = 0; i < t->n; i++) {
        input *in = &t->inputs[i], packed = *in;
        geometry *g = &in->geometry;
        if (!is_packed(g) || geometry_count(g) < 2 || is_named(t, i))
            continue;
        int64_t stride = 2;
        for (int d = 0; d < g->ndim; d++) {
            int at = turned ? d : g->ndim - 1 - d;
            g->strides[at] = stride;
            stride *= g->shape[at];
        }
        g->offset = 1;
        geometry_fit(g);
        g->elements += CONFORM_GUARD;
        input_allocate(in);
        fill_ones(in);
        copy_elements(in, &packed);
        free(packed.bytes);
        in->whole = true;
        any = true;
    }
    return any;
}

static bool is_drawn(const op_sample *s, size_t i)
{
    return s->tensors[i].given == NULL;
}

/* Put NaN and others among the drawn elements of the call's dtype. */
static bool make_special(trial *t, const op_sample *s)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e30, -1e-30};
    size_t next = 0;

    if (dtype_is_integer(t->dtype))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        input *in = &t->inputs[i];
        if (!is_drawn(s, i) || in->dtype != t->dtype)
            continue;
        for (int64_t e = 0; e < in->geometry.elements; e += 3, next++)
            element_write(in->dtype, element_at(in, e),
                          (element){values[next % COUNT(values)], 0, 0});
    }
    return next > 0;
}

/* Test whether all tensors are drawn and those with dimensions have one shape, which is given. */
static const geometry *one_shape(const op_sample *s)
{
    const geometry *shape = NULL;

    for (size_t i = 0; i < s->n; i++) {
        const geometry *g = &s->tensors[i].geometry;
        if (!is_drawn(s, i))
            return NULL;
        if (g->ndim == 0)
            continue;
        if (shape != NULL &&
            (g->ndim != shape->ndim ||
             memcmp(g->shape, shape->shape, (size_t)g->ndim * sizeof(*g->shape)) != 0))
            return NULL;
        shape = g;
    }
    return shape;
}

/* Test whether no output has more elements than the inputs, and no input is a square matrix: then a
 * last dimension that is longer makes no output that is much larger. */
static bool may_grow(const geometry *shape, const outcome *first)
{
    if (first->state != STATE_DONE || geometry_count(shape) == 0 ||
        (shape->ndim > 1 && shape->shape[shape->ndim - 1] == shape->shape[shape->ndim - 2]))
        return false;
    for (size_t i = 0; i < first->n; i++)
        if (geometry_count(&first->values[i].geometry) > geometry_count(shape))
            return false;
    return true;
}

/* Give all tensors that have dimensions another shape, and new elements. */
static bool make_shaped(trial *t, form f, const op_sample *s, uint64_t seed, const outcome *first)
{
    const geometry *shape = one_shape(s);

    if (shape == NULL || (f == FORM_LARGE && !may_grow(shape, first)))
        return false;
    for (size_t i = 0; i < t->n; i++) {
        input *in = &t->inputs[i];
        geometry *g = &in->geometry;
        if (g->ndim == 0)
            continue;
        if (f == FORM_SCALAR)
            g->ndim = 0;
        else if (f == FORM_EMPTY)
            g->shape[g->ndim - 1] = 0;
        else
            g->shape[g->ndim - 1] = LARGE / (geometry_count(g) / g->shape[g->ndim - 1]) + 7;
        geometry_pack(g);
        free(in->bytes);
        input_allocate(in);
        fill(in, &s->tensors[i], s->hash + i + seed);
    }
    return true;
}

/* -- outputs -- */

/* Add the arguments that the overload writes, each a tensor like what the first form returned. */
static bool make_outputs(trial *t, form f, const schema *op, const outcome *first)
{
    const cJSON *j;
    size_t i = 0;

    if (first->state != STATE_DONE)
        return false;
    if (t->kwargs == NULL)
        t->kwargs = params_new();
    cJSON_ArrayForEach(j, op->out->arguments)
    {
        if (!cJSON_IsTrue(member(j, "written")))
            continue;
        if (i == first->n || !first->values[i].is_tensor || t->n == CONFORM_TENSORS)
            return false;
        input *in = &t->inputs[t->n++];
        in->geometry = first->values[i].geometry;
        in->dtype = first->values[i].dtype;
        geometry *g = &in->geometry;
        if (f != FORM_OUT) {
            bool is_3 = g->ndim == 1 && g->shape[0] == 3;
            g->ndim = 1;
            g->shape[0] = f == FORM_OUT_EMPTY ? 0 : is_3 ? 4 : 3;
        }
        geometry_pack(g);
        if (f == FORM_OUT) {
            g->offset = CONFORM_GUARD;
            g->elements += 2 * CONFORM_GUARD;
            in->whole = true;
        }
        input_allocate(in);
        fill_ones(in);
        cJSON *handle = params_new();
        cJSON_AddNumberToObject(handle, "tensor", -(double)t->n);
        cJSON_AddItemToObject(t->kwargs, text_of(j, "name"), handle);
        i++;
    }
    return i == first->n && i > 0;
}

/* -- forms -- */

bool form_make(trial *t, form f, const op_sample *s, const schema *op, dpc_dtype dtype,
               uint64_t seed, const outcome *first)
{
    bool ok = true;

    memset(t, 0, sizeof(*t));
    if (s->refused && f != FORM_GIVEN)
        return false;
    if ((f == FORM_IN_PLACE && op->in_place == NULL) || /* `op` is not used for FORM_GIVEN */
        ((f == FORM_OUT || f == FORM_OUT_SHAPE || f == FORM_OUT_EMPTY) && op->out == NULL))
        return false;
    t->op = s->op;
    t->form = f;
    t->dtype = dtype;
    t->args = need(cJSON_Duplicate(s->args, true));
    t->kwargs = s->kwargs ? need(cJSON_Duplicate(s->kwargs, true)) : NULL;
    name_dtype(t->args, dtype);
    if (t->kwargs != NULL)
        name_dtype(t->kwargs, dtype);
    make_inputs(t, s, seed);
    switch (f) {
    case FORM_GIVEN:
    case N_FORMS:
        break;
    case FORM_STRIDED:
        ok = make_strided(t, s->hash & 1);
        break;
    case FORM_SPECIAL:
        ok = make_special(t, s);
        break;
    case FORM_IN_PLACE:
        t->op = op->in_place->name;
        break;
    case FORM_OUT:
    case FORM_OUT_SHAPE:
    case FORM_OUT_EMPTY:
        t->op = op->out->name;
        ok = make_outputs(t, f, op, first);
        break;
    case FORM_EMPTY:
    case FORM_SCALAR:
    case FORM_LARGE:
        ok = make_shaped(t, f, s, seed, first);
        break;
    }
    if (!ok)
        trial_free(t);
    return ok;
}

/* Make dimensions longer than 1 longer by a factor. */
static void scale(geometry *g, double factor)
{
    for (int d = 0; d < g->ndim; d++)
        if (g->shape[d] > 1)
            g->shape[d] = (int64_t)fmax(1, round((double)g->shape[d] * factor));
    geometry_pack(g);
}

bool form_scaled(trial *t, const op_sample *s, dpc_dtype dtype, int64_t elements)
{
    int64_t most = 1;
    int ndim = 1;

    for (size_t i = 0; i < s->n; i++) {
        const geometry *g = &s->tensors[i].geometry;
        if (!is_drawn(s, i) || geometry_count(g) == 0)
            return false;
        if (geometry_count(g) <= most)
            continue;
        most = geometry_count(g);
        ndim = 0;
        for (int d = 0; d < g->ndim; d++)
            ndim += g->shape[d] > 1;
    }
    if (most < 2 || !form_make(t, FORM_GIVEN, s, NULL, dtype, 0, NULL))
        return false;
    for (size_t i = 0; i < t->n; i++) {
        input *in = &t->inputs[i];
        scale(&in->geometry, pow((double)elements / (double)most, 1.0 / ndim));
        free(in->bytes);
        input_allocate(in);
        fill(in, &s->tensors[i], s->hash + i);
    }
    return true;
}

void trial_free(trial *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->inputs[i].bytes);
    cJSON_Delete(t->args);
    cJSON_Delete(t->kwargs);
    memset(t, 0, sizeof(*t));
}
