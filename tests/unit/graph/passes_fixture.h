/* passes_fixture.h -- fixture for tests of passes over programs: a registry with the plugins aten,
 * composite and cpu, programs from text, and a comparison of two programs: the same results, the
 * same writes to inputs, and the same memory shared by inputs and outputs. */
#ifndef PASSES_FIXTURE_H
#define PASSES_FIXTURE_H

#include "dispatch/records.h"
#include "graph/functional.h"
#include <limits.h>

enum { INPUTS = 8, OUTPUTS = 40, TENSORS = 200 };

static dp_registry *reg;
static dp_ctx *ctx;
static dp_arena *arena;
static dp_error err;
static dp_generators *generators;
static dp_tensor_stats before;

static inline void load(const char *name)
{
    char relative[300], path[PATH_MAX];
    const char *build = getenv("BUILD");
    dp_load_options options = {0};
    dp_plugin_report report;

    snprintf(relative, sizeof(relative), "%s/plugins/%s.so", build ? build : "build", name);
    ck_assert_msg(realpath(relative, path) != NULL, "%s is not built", relative);
    ck_assert_msg(dp_plugin_load(reg, path, &options, arena, &report, &err) == 0, "%s",
                  err.message);
}

static inline void setup(void)
{
    dp_tensor_stats_get(&before);
    dp_error_clear(&err);
    arena = dp_arena_new();
    reg = rec_registry();
    load("aten");
    load("composite");
    load("cpu");
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_generators_new(&generators, &err), 0);
}

static inline void teardown(void)
{
    static const char *const plugins[] = {"cpu", "composite", "aten"};
    dp_unload_report gone;
    dp_tensor_stats now;

    dp_ctx_free(ctx);
    dp_generators_free(generators);
    for (size_t i = 0; i < DPI_COUNT(plugins); i++)
        ck_assert_int_eq(dp_plugin_unload(reg, plugins[i], -1, false, &gone, &err), 0);
    ck_assert_ptr_null(dp_registry_free(reg));
    dp_arena_free(arena);
    dp_tensor_stats_get(&now);
    ck_assert_uint_eq(now.tensors, before.tensors);
    ck_assert_uint_eq(now.storages, before.storages);
}

static inline dp_program *read_program(const char *text)
{
    dp_builder *b;
    dp_program *p = NULL;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    int rc = dp_builder_text(b, text);
    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    ck_assert_msg(rc == 0, "%s\n%s", dp_ctx_error(ctx)->message, text);
    dp_builder_free(b);
    return p;
}

static inline const char *text_of(const dp_program *p)
{
    return dp_program_text(p, arena);
}

/* Return the number of steps of `p` that call `name` or, for NULL, of all steps. */
static inline uint32_t count(const dp_program *p, const char *name)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        dp_step_info s = {.size = sizeof(s)};
        dp_program_step(p, i, &s);
        n += name == NULL || strcmp(s.name, name) == 0;
    }
    return n;
}

/* Return the result of a pass, which must succeed; `p` is released. */
static inline dp_program *pass(dp_program *p, const char *name)
{
    dp_program *out = NULL;
    int rc = dp_program_pass(ctx, p, name, &out);

    ck_assert_msg(rc == 0, "%s: %s\n%s", name, dp_ctx_error(ctx)->message, text_of(p));
    dp_program_unref(p);
    return out;
}

/* -- running -- */

/* The outcome of one run of a program: the tensors among its inputs and its outputs after the run,
 * those of the inputs first. */
typedef struct outcome {
    int rc;
    char message[300];
    dp_value inputs[INPUTS], outputs[OUTPUTS];
    bool written[OUTPUTS];
    dp_tensor *tensors[TENSORS];
    uint32_t n;
} outcome;

/* Return a float32 tensor [4, 3] whose elements depend on `seed`; an odd one is transposed. */
static inline dp_tensor *tensor_of(uint32_t seed)
{
    int64_t sizes[] = {4, 3}, turned[] = {1, 4};
    dp_tensor *t = NULL;

    ck_assert_int_eq(
        dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 2, sizes, seed % 2 ? turned : NULL, &t, &err), 0);
    dp_view v = {.size = sizeof(v)};
    dp_tensor_view(t, &v);
    for (int i = 0; i < 12; i++)
        ((float *)v.data)[i] = (float)((seed * 7919u + (uint32_t)i * 104729u) % 41u) / 8.0f - 2.5f;
    return t;
}

static inline void add_tensors(outcome *o, const dp_value *v)
{
    if (v->tag == DP_TAG_TENSOR)
        o->tensors[o->n++] = v->u.t;
    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        o->tensors[o->n++] = v->u.tensors[i];
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len; i++)
        add_tensors(o, &v->u.values[i]);
    ck_assert_uint_lt(o->n, TENSORS - 4);
}

/* Run `p` with tensors for its inputs "Tensor", lists of 3 for "Tensor[]" and the bits of `flags`
 * for "bool" and "int". */
static inline void run_program(const dp_program *p, uint32_t flags, outcome *o)
{
    dp_run run = {
        .size = sizeof(run), .inputs = o->inputs, .outputs = o->outputs, .written = o->written};

    *o = (outcome){0};
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        const char *type = dp_program_input_type(p, i);
        if (strcmp(type, "Tensor") == 0)
            o->inputs[i] = dp_tensor_value(tensor_of(i));
        else if (strncmp(type, "Tensor[", 7) == 0) {
            dp_tensor **list = dp_arena_alloc(arena, 3 * sizeof(*list));
            for (uint32_t k = 0; k < 3; k++)
                list[k] = tensor_of(20 + 2 * k);
            o->inputs[i] = dp_tensors(list, 3);
        } else
            o->inputs[i] =
                strcmp(type, "bool") == 0 ? dp_bool(flags >> i & 1) : dp_int(flags >> i & 1);
        add_tensors(o, &o->inputs[i]);
    }
    dp_generators_seed(generators, 5);
    dp_ctx_set_generators(ctx, generators);
    o->rc = dp_program_run(ctx, p, &run);
    snprintf(o->message, sizeof(o->message), "%.250s", o->rc < 0 ? dp_ctx_error(ctx)->message : "");
    for (uint32_t i = 0; i < p->n_outputs && o->rc == 0; i++)
        add_tensors(o, &o->outputs[i]);
}

static inline void release(const dp_program *p, outcome *o)
{
    dp_values_release(o->inputs, p->n_inputs);
    if (o->rc == 0)
        dp_values_release(o->outputs, p->n_outputs);
}

/* -- comparing -- */

static inline bool same_bits(const dp_tensor *a, const dp_tensor *b)
{
    dp_view va = {.size = sizeof(va)}, vb = {.size = sizeof(vb)};
    int64_t at[DP_DIM_MAX] = {0};

    dp_tensor_view(a, &va);
    dp_tensor_view(b, &vb);
    if (va.ndim != vb.ndim || va.dtype != vb.dtype || va.numel != vb.numel ||
        memcmp(va.sizes, vb.sizes, (size_t)va.ndim * sizeof(int64_t)) != 0)
        return false;
    size_t item = dp_dtype_size(va.dtype);
    for (int64_t n = 0; n < va.numel; n++) {
        int64_t ia = 0, ib = 0;
        for (int d = 0; d < va.ndim; d++) {
            ia += at[d] * va.strides[d];
            ib += at[d] * vb.strides[d];
        }
        if (memcmp((char *)va.data + ia * (int64_t)item, (char *)vb.data + ib * (int64_t)item,
                   item) != 0)
            return false;
        for (int d = va.ndim - 1; d >= 0 && ++at[d] == va.sizes[d]; d--)
            at[d] = 0;
    }
    return true;
}

/* Describe how the second of two runs differs from the first; NULL: they are the same. */
static inline const char *difference(const outcome *a, const outcome *b)
{
    static char what[800];

    if (a->rc != b->rc) {
        snprintf(what, sizeof(what), "it answers %d '%s', not %d '%s'", b->rc, b->message, a->rc,
                 a->message);
        return what;
    }
    if (a->n != b->n) {
        snprintf(what, sizeof(what), "%u tensors, not %u", b->n, a->n);
        return what;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        if ((a->tensors[i] == NULL) != (b->tensors[i] == NULL) ||
            (a->tensors[i] != NULL && !same_bits(a->tensors[i], b->tensors[i]))) {
            snprintf(what, sizeof(what), "tensor %u of inputs and outputs has other elements", i);
            return what;
        }
        for (uint32_t k = 0; k < i && a->tensors[i] != NULL; k++) {
            bool shared = a->tensors[k] != NULL &&
                          dpi_storage_of(a->tensors[i]) == dpi_storage_of(a->tensors[k]);
            bool shares = b->tensors[k] != NULL &&
                          dpi_storage_of(b->tensors[i]) == dpi_storage_of(b->tensors[k]);
            if (shared != shares ||
                (a->tensors[i] == a->tensors[k]) != (b->tensors[i] == b->tensors[k])) {
                snprintf(what, sizeof(what), "tensors %u and %u share memory: %d, not %d; same: %d",
                         k, i, shares, shared, b->tensors[i] == b->tensors[k]);
                return what;
            }
        }
    }
    return NULL;
}

/* Check that the programs do the same, for all values of the first inputs that are flags. */
static inline void check_same(const dp_program *p, const dp_program *q)
{
    for (uint32_t flags = 0; flags < 4; flags++) {
        outcome a, b;
        run_program(p, flags, &a);
        run_program(q, flags, &b);
        const char *how = difference(&a, &b);
        unit_each(how == NULL, "%s\n-- program\n%s-- after the pass\n%s", how, text_of(p),
                  text_of(q));
        release(p, &a);
        release(q, &b);
        dp_ctx_reset(ctx);
    }
}

/* Does a step of `p` write to what another step can see: to an input, or to what is no copy? */
static inline uint32_t count_writes(const dp_program *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_steps; i++)
        n += (p->steps[i].flags & DP_STEP_FLAG_EFFECT) != 0;
    return n;
}

#endif
