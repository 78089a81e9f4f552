/* describe.c -- program.describe: the steps of a program as JSON, as text or for Graphviz. */
#include "methods.h"
#include <string.h>

static int args_to_json(request *rq, jw *w, const dp_program *p, uint32_t step,
                        const dp_step_info *s, dp_error *err)
{
    char text[DP_KEY_NAME_MAX];
    int rc = 0;

    jw_key(w, "args");
    jw_array(w);
    for (uint32_t i = 0; i < s->n_args && rc == 0 && !w->failed; i++) {
        const dp_value *v = dp_program_constant(p, s->args[i]);
        const char *name = dp_program_argument_name(p, step, i, text);
        if (name != NULL) {
            jw_str(w, name);
            continue;
        }
        dp_program_value_name(p, s->args[i], text);
        if (v != NULL && text[0] == '\0') {
            rc = value_to_json(rq, w, v, RETURN_DESCRIBED, NULL, err);
            continue;
        }
        jw_object(w);
        member_str(w, "ref", text);
        jw_object_end(w);
    }
    jw_array_end(w);
    return rc;
}

static void flags_to_json(jw *w, uint32_t flags)
{
    if (flags == 0)
        return;
    jw_key(w, "flags");
    jw_array(w);
    if (flags & DP_STEP_FLAG_RANDOM)
        jw_str(w, "random");
    if (flags & DP_STEP_FLAG_EFFECT)
        jw_str(w, "effect");
    if (flags & DP_STEP_FLAG_RECOMPUTE)
        jw_str(w, "recompute");
    if (flags & DP_STEP_FLAG_MUST_SAVE)
        jw_str(w, "must_save");
    if (flags & DP_STEP_FLAG_PREFER_SAVE)
        jw_str(w, "prefer_save");
    jw_array_end(w);
}

static int step_to_json(request *rq, jw *w, const dp_program *p, uint32_t i, dp_error *err)
{
    char text[DP_KEY_NAME_MAX];
    dp_program_info info = {.size = sizeof(info)};
    dp_step_info s = {.size = sizeof(s)};

    dp_program_step(p, i, &s);
    jw_object(w);
    member_int(w, "step", s.origin);
    member_str(w, "kind", s.kind);
    if (s.name[0] != '\0')
        member_str(w, "name", s.name);
    if (!s.decided)
        member_bool(w, "decided", false);
    if (s.index >= 0)
        member_int(w, "index", s.index);
    if (s.program != NULL) {
        dp_program_info_get(s.program, &info);
        member_int(w, "steps", info.n_steps);
    }
    flags_to_json(w, s.flags);
    if (s.mode != NULL && (s.mode->sets & DP_STEP_MODE_GRAD))
        member_bool(w, "grad_enabled", !s.mode->mode.no_grad);
    if (s.mode != NULL && (s.mode->sets & DP_STEP_MODE_CAST))
        autocast_to_json(w, &s.mode->mode);
    int rc = args_to_json(rq, w, p, i, &s, err);
    jw_key(w, "as");
    jw_array(w);
    for (uint32_t k = 0; k < s.n_rets; k++)
        jw_str(w, dp_program_value_name(p, s.first + k, text));
    jw_array_end(w);
    jw_key(w, "ends");
    jw_array(w);
    for (uint32_t k = 0; k < s.n_frees; k++)
        jw_str(w, dp_program_value_name(p, s.frees[k], text));
    jw_array_end(w);
    jw_object_end(w);
    return rc;
}

static void inputs_to_json(jw *w, const dp_program *p, uint32_t n)
{
    jw_key(w, "inputs");
    jw_array(w);
    for (uint32_t i = 0; i < n; i++) {
        jw_object(w);
        member_str(w, "name", dp_program_input_name(p, i));
        member_str(w, "type", dp_program_input_type(p, i));
        member_bool(w, "written", dp_program_input_written(p, i));
        jw_object_end(w);
    }
    jw_array_end(w);
}

/* Write which outputs share memory, and with which input or output. */
static void aliases_to_json(jw *w, const dp_program *p, uint32_t n)
{
    static const char *const kinds[] = {
        [DP_ALIAS_INPUT] = "input", [DP_ALIAS_OUTPUT] = "output", [DP_ALIAS_UNKNOWN] = "unknown"};
    dp_alias a = {.size = sizeof(a)};

    jw_key(w, "aliases");
    jw_array(w);
    for (uint32_t i = 0; i < n; i++) {
        dp_program_output_alias(p, i, &a);
        if (a.kind == DP_ALIAS_NONE)
            continue;
        jw_object(w);
        member_int(w, "output", i);
        member_str(w, "of", kinds[a.kind]);
        if (a.kind != DP_ALIAS_UNKNOWN) {
            member_int(w, "index", a.index);
            member_bool(w, "same", a.same);
        }
        jw_object_end(w);
    }
    jw_array_end(w);
}

/* Write what the program requires of its inputs. */
static int guards_to_json(request *rq, jw *w, const dp_program *p, dp_error *err)
{
    static const char *const kinds[DP_GUARD_END] = {
        [DP_GUARD_TENSOR] = "tensor", [DP_GUARD_VALUE] = "value", [DP_GUARD_LENGTH] = "length",
        [DP_GUARD_SIZE] = "size",     [DP_GUARD_EQUAL] = "equal", [DP_GUARD_SHARE] = "share",
        [DP_GUARD_APART] = "apart"};
    dp_input_guard g = {.size = sizeof(g)};

    jw_key(w, "guards");
    jw_array(w);
    for (uint32_t i = 0; i < dp_program_guards(p) && !w->failed; i++) {
        const char *text = dp_program_guard_text(p, i, dp_ctx_arena(rq->ctx));
        dp_program_guard(p, i, &g);
        if (text == NULL)
            return dp_error_set(err, DP_ERESOURCE, "out of memory: the text of a guard");
        if (g.kind == DP_GUARD_SIZE && g.number <= 0)
            continue; /* only declares a symbol */
        jw_object(w);
        member_str(w, "kind", kinds[g.kind]);
        if (g.kind != DP_GUARD_APART)
            member_str(w, "input", dp_program_input_name(p, g.of.input));
        member_str(w, "text", text);
        jw_object_end(w);
    }
    jw_array_end(w);
    return 0;
}

static void place_to_json(jw *w, const dp_program *p, const dp_input_place *at)
{
    jw_object(w);
    member_str(w, "input", dp_program_input_name(p, at->input));
    if (at->item >= 0)
        member_int(w, "item", at->item);
    member_int(w, "dim", at->dim);
    jw_object_end(w);
}

static bool is_same_size(const dp_input_place *a, const dp_input_place *b)
{
    return a->input == b->input && a->item == b->item && a->dim == b->dim;
}

/* Write the dynamic sizes: each is declared by a SIZE guard, and EQUAL guards tell where else the
 * size must be. */
static void symbols_to_json(jw *w, const dp_program *p)
{
    dp_input_guard size = {.size = sizeof(size)}, other = {.size = sizeof(other)};
    char name[16];
    unsigned number = 0;

    jw_key(w, "symbols");
    jw_array(w);
    for (uint32_t i = 0; i < dp_program_guards(p) && !w->failed; i++) {
        dp_program_guard(p, i, &size);
        if (size.kind != DP_GUARD_SIZE)
            continue;
        snprintf(name, sizeof(name), "s%u", number++);
        jw_object(w);
        member_str(w, "name", name);
        member_int(w, "least", size.number);
        jw_key(w, "sizes");
        jw_array(w);
        place_to_json(w, p, &size.of);
        for (uint32_t k = 0; k < dp_program_guards(p); k++) {
            dp_program_guard(p, k, &other);
            if (other.kind == DP_GUARD_EQUAL && is_same_size(&other.other, &size.of))
                place_to_json(w, p, &other.of);
        }
        jw_array_end(w);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void hash_to_json(jw *w, const dp_program *p)
{
    uint64_t hash[2];
    char text[33];

    dp_program_hash(p, hash);
    snprintf(text, sizeof(text), "%016llx%016llx", (unsigned long long)hash[0],
             (unsigned long long)hash[1]);
    member_str(w, "hash", text);
}

static int describe_json(request *rq, jw *w, const dp_program *p, dp_error *err)
{
    dp_program_info info = {.size = sizeof(info)};
    int rc = 0;

    dp_program_info_get(p, &info);
    inputs_to_json(w, p, info.n_inputs);
    jw_key(w, "steps");
    jw_array(w);
    for (uint32_t i = 0; i < info.n_steps && rc == 0 && !w->failed; i++)
        rc = step_to_json(rq, w, p, i, err);
    jw_array_end(w);
    jw_key(w, "outputs");
    jw_array(w);
    for (uint32_t i = 0; i < info.n_outputs; i++)
        jw_str(w, dp_program_output_name(p, i));
    jw_array_end(w);
    aliases_to_json(w, p, info.n_outputs);
    if (rc == 0)
        rc = guards_to_json(rq, w, p, err);
    symbols_to_json(w, p);
    hash_to_json(w, p);
    member_int(w, "depth", info.depth);
    member_int(w, "expanded", (int64_t)info.expanded);
    member_int(w, "bytes", (int64_t)info.bytes);
    member_int(w, "constant_bytes", (int64_t)info.constant_bytes);
    return rc;
}

static int describe_text(request *rq, jw *w, const dp_program *p, int format, dp_error *err)
{
    dp_arena *a = dp_ctx_arena(rq->ctx);
    const char *text =
        format == PROGRAM_DESCRIBE_FORMAT_DOT ? dp_program_dot(p, a) : dp_program_text(p, a);

    if (text == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: the text of a program");
    member_str(w, "text", text);
    return 0;
}

int program_describe(request *rq, const program_describe_params *p, jw *w, dp_error *err)
{
    dp_program *program = NULL;
    int rc = program_get(rq, p->program, NULL, &program, err);

    if (rc < 0)
        return rc;
    jw_object(w);
    rc = p->format == PROGRAM_DESCRIBE_FORMAT_JSON ? describe_json(rq, w, program, err)
                                                   : describe_text(rq, w, program, p->format, err);
    jw_object_end(w);
    dp_program_unref(program);
    return rc;
}
