/* forms.c -- makes calls of a sample: as PyTorch calls it, and in the forms that a kernel must
 * support besides */
#include "conform.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 16 }; /* elements of FORM_LARGE, enough for several threads */

const char *const form_names[N_FORMS] = {
    [FORM_GIVEN] = "as given",
    [FORM_STRIDED] = "strided",
    [FORM_SPECIAL] = "extreme values",
    [FORM_IN_PLACE] = "in place",
    [FORM_IN_PLACE_STRIDED] = "in place, strided",
    [FORM_OUT] = "out=",
    [FORM_OUT_STRIDED] = "out= strided",
    [FORM_OUT_SHAPE] = "out= of another shape",
    [FORM_OUT_EMPTY] = "out= empty",
    [FORM_EMPTY] = "empty",
    [FORM_SCALAR] = "0 dimensions",
    [FORM_LONGER] = "one longer",
    [FORM_LARGE] = "large",
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

/* Draw or copy elements for a geometry that has changed. */
static void fill_again(input *in, const spec *t, uint64_t state)
{
    geometry_pack(&in->geometry);
    free(in->bytes);
    input_allocate(in);
    fill(in, t, state);
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

/* Copy the elements of a tensor to one of the same shape. */
static void copy_elements(input *to, const input *from)
{
    int64_t n = geometry_count(&to->geometry);
    size_t size = dpc_dtype_size(to->dtype);

    for (int64_t i = 0; i < n; i++)
        memcpy(element_at(to, geometry_at(&to->geometry, i)),
               element_at(from, geometry_at(&from->geometry, i)), size);
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

/* Give each packed tensor that is no output gaps between its elements; `turned`: and the other
 * order of dimensions. */
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

/* Test whether large integers make no large result, and the operator defines one for them. */
static bool takes_large(const op_sample *s)
{
    static const char *const not_these[] = {"shift", "bincount", "histc", "one_hot", "repeat"};

    for (size_t i = 0; i < COUNT(not_these); i++)
        if (strstr(s->op, not_these[i]) != NULL)
            return false;
    return true;
}

/* Return a number for which products overflow or a float has too few bits. */
static element special_of(dpc_dtype dtype, size_t i)
{
    static const double floats[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e30, -1e-30};
    static const int64_t small[] = {100, 3, 120}, large[] = {(1 << 24) + 1, -70001, 1 << 30};

    if (!dtype_is_integer(dtype))
        return (element){floats[i % COUNT(floats)], 0, 0};
    return (element){0, 0,
                     dpc_dtype_size(dtype) == 1   ? small[i % COUNT(small)]
                     : dpc_dtype_size(dtype) == 2 ? 256 * small[i % COUNT(small)] + 1
                                                  : large[i % COUNT(large)]};
}

/* Put NaN and others among the drawn elements of the call's dtype. */
static bool make_special(trial *t, const op_sample *s)
{
    size_t next = 0;

    if (t->dtype == DPC_BOOL || (dtype_is_integer(t->dtype) && !takes_large(s)))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        input *in = &t->inputs[i];
        if (!is_drawn(s, i) || in->dtype != t->dtype)
            continue;
        /* The first element stays: a maximum of which is NaN, say, would hide the others. */
        for (int64_t e = in->geometry.elements > 1; e < in->geometry.elements; e += 3, next++)
            element_write(in->dtype, element_at(in, e), special_of(in->dtype, next));
    }
    return next > 0;
}

/* Test whether all tensors have the call's dtype, or are masks: kernels often leave mixed dtypes to
 * others, and a form that is called once is not for those. */
static bool has_one_dtype(const trial *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->inputs[i].dtype != t->dtype && t->inputs[i].dtype != DPC_BOOL)
            return false;
    return true;
}

/* Return the shape of all tensors that have dimensions; NULL: there are several, or a tensor is not
 * drawn. */
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

/* Test whether the outputs of FORM_LONGER are no larger than its inputs: then a last dimension that
 * is much longer makes no output that is larger still, as that of a product with the transpose. */
static bool may_grow(const geometry *shape, const outcome *longer)
{
    int64_t last = shape->shape[shape->ndim - 1];

    if (longer->state != STATE_DONE || longer->n == 0)
        return false;
    for (size_t i = 0; i < longer->n; i++)
        if (geometry_count(&longer->values[i].geometry) > geometry_count(shape) / last * (last + 1))
            return false;
    return true;
}

/* Give all tensors that have dimensions another shape, and new elements. */
static bool make_shaped(trial *t, form f, const op_sample *s, uint64_t seed, const outcome *longer)
{
    const geometry *shape = has_one_dtype(t) ? one_shape(s) : NULL;
    bool grows = f == FORM_LONGER || f == FORM_LARGE;

    if (shape == NULL || (grows && geometry_count(shape) == 0) ||
        (f == FORM_LARGE && !may_grow(shape, longer)))
        return false;
    for (size_t i = 0; i < t->n; i++) {
        input *in = &t->inputs[i];
        geometry *g = &in->geometry;
        if (g->ndim == 0)
            continue;
        int64_t *last = &g->shape[g->ndim - 1];
        if (f == FORM_SCALAR)
            g->ndim = 0;
        else
            *last = f == FORM_EMPTY    ? 0
                    : f == FORM_LONGER ? *last + 1
                                       : LARGE / (geometry_count(g) / *last) + 7;
        fill_again(in, &s->tensors[i], s->hash + i + seed);
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
        if (f == FORM_OUT_SHAPE || f == FORM_OUT_EMPTY) {
            bool is_3 = g->ndim == 1 && g->shape[0] == 3;
            g->ndim = 1;
            g->shape[0] = f == FORM_OUT_EMPTY ? 0 : is_3 ? 4 : 3;
        }
        geometry_pack(g);
        in->whole = f == FORM_OUT || f == FORM_OUT_STRIDED;
        if (in->whole) {
            for (int d = 0; f == FORM_OUT_STRIDED && d < g->ndim; d++)
                g->strides[d] *= 2;
            g->offset = CONFORM_GUARD;
            geometry_fit(g);
            g->elements = CONFORM_GUARD + (g->elements > 0 ? g->elements : CONFORM_GUARD);
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
    if (((f == FORM_IN_PLACE || f == FORM_IN_PLACE_STRIDED) && op->in_place == NULL) ||
        (f >= FORM_OUT && f <= FORM_OUT_EMPTY && op->out == NULL))
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
    case FORM_IN_PLACE_STRIDED:
        t->op = op->in_place->name;
        ok = f == FORM_IN_PLACE || make_strided(t, s->hash & 1);
        break;
    case FORM_OUT:
    case FORM_OUT_STRIDED:
    case FORM_OUT_SHAPE:
    case FORM_OUT_EMPTY:
        t->op = op->out->name;
        ok = make_outputs(t, f, op, first);
        break;
    case FORM_EMPTY:
    case FORM_SCALAR:
    case FORM_LONGER:
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
        fill_again(in, &s->tensors[i], s->hash + i);
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
