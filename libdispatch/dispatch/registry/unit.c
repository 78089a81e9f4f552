/* unit.c -- turns a plugin's blocks (dp_block, the records that the macros of plugin.h emit) into
 * checked registrations (dpi_reg).
 *
 * Over 500 lines: one function for each kind of block. */
#include "base/kind.h"
#include "change.h"
#include "tensor/object.h"
#include <stdio.h>
#include <stdlib.h>

dpi_generation *dpi_unit_generation(const dp_unit *unit)
{
    return unit->gen;
}

void dpi_unit_free(dp_unit *u)
{
    if (u == NULL)
        return;
    for (uint32_t i = 0; i < u->n_regs; i++) {
        dpi_reg *r = &u->regs[i];
        if (r->device)
            dpi_device_end(r->device);
        if (r->kind == DPI_REG_KIND && r->bit >= 0)
            dpi_kind_unregister(r->bit);
        dpi_object_kind_free(r->objects);
        dpi_device_unref(r->device);
        dp_schema_free(r->schema);
        dpi_kernel_unref(r->kernel);
        if (r->library != NULL) {
            dp_free(r->library->ns);
            dp_free(r->library->file);
            dp_free(r->library);
        }
        dp_free(r->tags);
        dp_free(r->file);
        dp_free(r->name);
    }
    dp_free(u->regs);
    dpi_generation_unref(u->gen);
    dp_free(u);
}

/* Return the bits of the dtypes that the code of `b` knows; 0: all dtypes of this host. */
static uint64_t dtypes_of(const dp_block *b)
{
    return b->dtypes != 0 && (DP_DTYPES_KNOWN & ~b->dtypes) ? b->dtypes : 0;
}

static int kernel_make(dp_registry *reg, const dp_unit *u, const dpi_reg *r, const dp_block *b,
                       dp_boxed_fn boxed, dp_any_fn unboxed, const char *code, uint16_t flags,
                       dpi_kernel **out, dp_error *err)
{
    dpi_kernel *k = dp_calloc(1, sizeof(*k));

    if (k == NULL || (k->file = dp_strdup(r->file)) == NULL ||
        (k->code = dp_strdup(code ? code : "")) == NULL) {
        if (k != NULL)
            dp_free(k->file);
        dp_free(k);
        return dpi_no_memory(err, "a kernel's record");
    }
    atomic_init(&k->refs, 1);
    k->boxed = boxed;
    k->unboxed = unboxed;
    k->gen = dpi_generation_ref(u->gen);
    k->id = reg->next_kernel++;
    k->line = r->line;
    k->order = r->order;
    k->dtypes = dtypes_of(b);
    /* The dtypes that a kernel knows are checked by boxed calls only.  Typed calls
     * of an operator with such a kernel are boxed, too, unless the kernel has DP_FLAG_VIEWS.
     * Therefore a kernel that does not know all dtypes loses that flag, if it has it. */
    k->flags = k->dtypes != 0 ? flags & (uint16_t)~DP_FLAG_VIEWS : flags;
    k->key = r->key;
    *out = k;
    return 0;
}

static bool valid_ns(const char *s)
{
    size_t n = s ? strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
    return n > 0 && n <= DP_LIMIT_NAME_BYTES && s[n] == '\0';
}

static int fail_at(dp_error *err, int code, const dp_block *b, const char *what, const char *name,
                   const char *why)
{
    return dp_error_set(err, code, "%s '%s' at %s:%u: %s", what, name ? name : "", b->file, b->line,
                        why);
}

static int fail_parse(dp_error *err, int rc, const dp_block *b, const char *what, const char *name,
                      const dp_error *why)
{
    return rc == DP_ERESOURCE ? dp_error_set(err, rc, "%s", why->message)
                              : fail_at(err, DP_EPLUGIN, b, what, name, why->message);
}

static int key_of(const dp_block *b, dp_key *key, dp_error *err)
{
    dp_error why = DP_ERROR_INIT;

    if (dp_key_lookup(b->key, key, &why) < 0)
        return dp_error_set(err, DP_EPLUGIN,
                            "%s:%u: %s (a plugin names a new backend by DP_BACKEND or "
                            "DP_BACKEND_DEVICE, a new kind by DP_WRAPPER_KIND)",
                            b->file, b->line, why.message);
    if (*key == DP_KEY_Undefined)
        return fail_at(err, DP_EPLUGIN, b, "dispatch key", b->key,
                       "no key that an operator falls back from");
    return 0;
}

static dpi_reg *reg_add(dp_unit *u, uint8_t kind, const dp_block *b, dp_error *err)
{
    dpi_reg *r = &u->regs[u->n_regs];

    memset(r, 0, sizeof(*r));
    if ((r->file = dp_strdup(b->file)) == NULL) {
        dpi_no_memory(err, b->file);
        return NULL;
    }
    r->kind = kind;
    r->gen = u->gen;
    r->line = b->line;
    r->order = u->n_regs++;
    r->bit = -1;
    return r;
}

/* Refuse control characters in the tags, and "also_written:NAME" if no argument has this name: a
 * misspelled name would have no effect. */
static int check_tags(const dp_block *b, const dp_item *item, const dp_schema *s, dp_error *err)
{
    static const char tag[] = "also_written:";

    for (const char *at = item->tags; at != NULL && *at != '\0'; at++)
        if ((unsigned char)*at < ' ') /* a dump prints all tags on one line */
            return fail_at(err, DP_EPLUGIN, b, "tags of", s->name,
                           "a control character; spaces stand between them");
    for (const char *at = item->tags; at != NULL && (at = strstr(at, tag)) != NULL;) {
        at += sizeof(tag) - 1;
        size_t n = strcspn(at, " ");
        uint32_t i = 0;
        while (i < s->n_args && (strlen(s->args[i].name) != n || memcmp(s->args[i].name, at, n)))
            i++;
        if (i == s->n_args) {
            char text[200];
            snprintf(text, sizeof(text), "also_written: no argument '%.*s'", (int)(n < 80 ? n : 80),
                     at);
            return fail_at(err, DP_EPLUGIN, b, "tags of", s->name, text);
        }
    }
    return 0;
}

static int reg_def(dpi_change *c, dp_unit *u, const dp_block *b, const dp_item *item, dp_error *err)
{
    dpi_reg *r;
    dp_error why = DP_ERROR_INIT;

    if (b->kind == DP_BLOCK_IMPL)
        return fail_at(
            err, DP_EPLUGIN, b, "definition", item->name,
            "DP_DEF stands in DP_LIBRARY or DP_LIBRARY_FRAGMENT, not in DP_LIBRARY_IMPL");
    if ((r = reg_add(u, DPI_REG_DEF, b, err)) == NULL)
        return DP_ERESOURCE;
    int rc = dpi_schema_parse(item->name, b->ns, &r->schema, &why);
    if (rc < 0)
        return fail_parse(err, rc, b, "schema", item->name, &why);
    if (r->schema->name_only)
        return fail_at(err, DP_EPLUGIN, b, "schema", item->name,
                       "only a name: the arguments are missing");
    if ((rc = check_tags(b, item, r->schema, err)) < 0)
        return rc;
    if (item->tags != NULL && item->tags[0] != '\0' && (r->tags = dp_strdup(item->tags)) == NULL)
        return dpi_no_memory(err, "tags");
    u->defs++;
    return dpi_op_intern(c, r->schema->name, &r->op, err);
}

/* Set *key to the key of the kernels in `b`.  Without a key (DP_LIBRARY) or for Undefined, they are
 * for CompositeImplicitAutograd, like the catch-all kernels of PyTorch. */
static int impl_key(const dp_block *b, dp_key *key, dp_error *err)
{
    *key = DP_KEY(DP_ALIAS_CompositeImplicitAutograd);
    return b->key[0] == '\0' || strcmp(b->key, "Undefined") == 0 ? 0 : key_of(b, key, err);
}

/* Store the id of the item's operator in *op.  The item's name may repeat the block's namespace. */
static int impl_op(dpi_change *c, const dp_block *b, const dp_item *item, uint32_t *op,
                   dp_error *err)
{
    dp_error why = DP_ERROR_INIT;
    dp_schema *name;
    int rc = dpi_name_parse(item->name, b->ns, &name, &why);

    if (rc < 0)
        return fail_parse(err, rc, b, "kernel", item->name, &why);
    rc = dpi_op_intern(c, name->name, op, err);
    dp_schema_free(name);
    return rc;
}

/* Return the name of the macro that set `flag`: `block` if the flag is set for all items of `b`,
 * else `name`. */
static const char *flag_origin(const dp_block *b, uint16_t flag, const char *name,
                               const char *block)
{
    return b->flags & flag ? block : name;
}

/* Refuse DP_FLAG_GRAD unless `key` is a layer's, a key above the backends' keys: if calls passed
 * over a backend's kernel, no kernel would be left to run. */
static int check_grad(const dp_block *b, dp_key key, uint16_t flags, const char *name,
                      dp_error *err)
{
    const char *macro = b->kind == DP_BLOCK_FALLBACK ? "DP_FALLBACK_GRAD" : "DP_LIBRARY_GRAD";
    char why[80];
    bool layer = dp_key_is_alias(key) ? key == DP_KEY(DP_ALIAS_Autograd) : dpi_is_layer(key);

    if (layer || !(flags & DP_FLAG_GRAD))
        return 0;
    snprintf(why, sizeof(why), "%s is for layers, and this key is no layer's",
             flag_origin(b, DP_FLAG_GRAD, "DP_FLAG_GRAD", macro));
    return fail_at(err, DP_EPLUGIN, b, "kernel", name, why);
}

/* Refuse DP_FLAG_META unless `key` is CPU or composite.  For other keys of a DP_LIBRARY_VIEWS
 * block, which sets the flag for all items, clear it in *flags. */
static int check_meta(const dp_block *b, dp_key key, uint16_t *flags, const char *name,
                      dp_error *err)
{
    char why[120];

    if (!(*flags & DP_FLAG_META) || key == DP_KEY_OF(DP_F_Dense, DP_B_CPU) || dpi_is_composite(key))
        return 0;
    if ((b->flags & DP_FLAG_META) && (b->flags & DP_FLAG_VIEWS)) {
        *flags &= (uint16_t)~DP_FLAG_META;
        return 0;
    }
    snprintf(why, sizeof(why),
             "%s is for kernels of CPU, which then serve Meta, too, and for composite ones",
             flag_origin(b, DP_FLAG_META, "DP_FLAG_META", "DP_LIBRARY_META"));
    return fail_at(err, DP_EPLUGIN, b, "kernel", name, why);
}

/* Check that formulas are registered for key AutogradFormula, and that other kernels are not. */
static int check_formula(const dp_block *b, const dp_item *item, dp_key key, dp_error *err)
{
    bool formula = item->kind == DP_ITEM_FORMULA;

    if (formula == (key == DP_KEY(DP_ALIAS_AutogradFormula)))
        return 0;
    return fail_at(err, DP_EPLUGIN, b, formula ? "formula" : "kernel", item->name,
                   formula ? "a formula is for key AutogradFormula"
                           : "key AutogradFormula takes formulas (DP_FORMULA), no kernels");
}

static int reg_impl(dpi_change *c, dp_unit *u, const dp_block *b, const dp_item *item,
                    dp_error *err)
{
    uint16_t flags = item->flags | (b->flags & (DP_FLAG_META | DP_FLAG_GRAD | DP_FLAG_VIEWS));
    bool fallthrough = flags & DP_FLAG_FALLTHROUGH;
    dpi_reg *r;

    if (item->boxed == NULL && !fallthrough && item->kind != DP_ITEM_FORMULA)
        return fail_at(err, DP_EPLUGIN, b, "kernel", item->name, "no function");
    if (item->unboxed != NULL && (item->code == NULL || item->code[0] == '\0'))
        return fail_at(err, DP_EPLUGIN, b, "kernel", item->name,
                       "an unboxed kernel without its C type");
    if ((r = reg_add(u, DPI_REG_IMPL, b, err)) == NULL)
        return DP_ERESOURCE;
    int rc = impl_key(b, &r->key, err);
    if (rc == 0)
        rc = check_formula(b, item, r->key, err);
    if (rc == 0)
        rc = check_meta(b, r->key, &flags, item->name, err);
    if (rc == 0)
        rc = check_grad(b, r->key, flags, item->name, err);
    if (rc == 0)
        rc = impl_op(c, b, item, &r->op, err);
    if (rc < 0)
        return rc;
    u->impls++;
    return kernel_make(c->reg, u, r, b, item->boxed, item->unboxed, item->code, flags, &r->kernel,
                       err);
}

static int reg_library(dp_unit *u, const dp_block *b, dp_error *err)
{
    dpi_reg *r = reg_add(u, DPI_REG_LIBRARY, b, err);

    if (r == NULL)
        return DP_ERESOURCE;
    if ((r->library = dp_calloc(1, sizeof(dpi_library))) == NULL ||
        (r->library->ns = dp_strdup(b->ns)) == NULL ||
        (r->library->file = dp_strdup(b->file)) == NULL)
        return dpi_no_memory(err, "a namespace");
    r->library->line = b->line;
    r->library->gen = u->gen;
    return 0;
}

static int check_flags(const dp_block *b, uint16_t flags, const char *what, const char *name,
                       dp_error *err)
{
    enum {
        KNOWN = DP_FLAG_FALLTHROUGH | DP_FLAG_BELOW | DP_FLAG_META | DP_FLAG_GRAD | DP_FLAG_VIEWS
    };
    char text[80];

    if ((flags & ~KNOWN) == 0)
        return 0;
    snprintf(text, sizeof(text), "flags 0x%x, of which this host does not know 0x%x", flags,
             flags & ~KNOWN);
    return fail_at(err, DP_EPLUGIN, b, what, name, text);
}

static int reg_items(dpi_change *c, dp_unit *u, const dp_block *b, dp_error *err)
{
    int rc = check_flags(b, b->flags, "namespace", b->ns, err);

    if (rc < 0)
        return rc;
    if (!valid_ns(b->ns))
        return fail_at(err, DP_EPLUGIN, b, "namespace", b->ns, "letters, digits and _ only");
    if (b->kind == DP_BLOCK_LIBRARY)
        rc = reg_library(u, b, err);
    for (uint32_t i = 0; i < b->n_items && rc == 0; i++) {
        dp_item item = {0}; /* fields that an older plugin's record lacks stay zero */
        const char *at = (const char *)b->items + (size_t)i * b->item_size;
        memcpy(&item, at, b->item_size < sizeof(item) ? b->item_size : sizeof(item));
        if (item.name == NULL)
            rc = fail_at(err, DP_EPLUGIN, b, "item", "", "no name");
        else if ((rc = check_flags(b, item.flags, "item", item.name, err)) < 0)
            break;
        else if (item.kind == DP_ITEM_DEF)
            rc = reg_def(c, u, b, &item, err);
        else if (item.kind == DP_ITEM_IMPL || item.kind == DP_ITEM_FORMULA)
            rc = reg_impl(c, u, b, &item, err);
        else
            rc = fail_at(err, DP_EPLUGIN, b, "item", item.name, "a kind this host does not know");
    }
    return rc;
}

static int reg_fallback(dpi_change *c, dp_unit *u, const dp_block *b, dp_error *err)
{
    bool fallthrough = b->flags & DP_FLAG_FALLTHROUGH;
    dpi_reg *r;

    if (check_flags(b, b->flags, "fallback", b->key, err) < 0)
        return DP_EPLUGIN;
    if (b->fn == NULL && !fallthrough)
        return fail_at(err, DP_EPLUGIN, b, "fallback", b->key, "no function");
    if ((r = reg_add(u, DPI_REG_FALLBACK, b, err)) == NULL)
        return DP_ERESOURCE;
    r->key = dpi_functionality_find(b->key);
    int rc = r->key != DP_KEY_Undefined ? 0 : key_of(b, &r->key, err);
    if (rc == 0)
        rc = check_grad(b, r->key, b->flags, b->key, err);
    u->fallbacks++;
    if (rc == 0)
        rc = kernel_make(c->reg, u, r, b, (dp_boxed_fn)b->fn, NULL, "", b->flags, &r->kernel, err);
    if (rc == 0)
        r->kernel->falls_back = dpi_is_backend_key(r->key);
    return rc;
}

/* Store in `r` what `b` observes: calls of one operator ("aten::mm", in r->op), of one key (in
 * r->key), or all calls (r->key stays Undefined).  *one_op: is it one operator? */
static int observer_of(dpi_change *c, dpi_reg *r, const dp_block *b, bool *one_op, dp_error *err)
{
    dp_error why = DP_ERROR_INIT;
    dp_schema *name;

    *one_op = strstr(b->key, "::") != NULL;
    if (b->key[0] == '\0')
        return 0;
    if (!*one_op)
        return key_of(b, &r->key, err);
    int rc = dpi_name_parse(b->key, NULL, &name, &why);
    if (rc < 0)
        return fail_parse(err, rc, b, "observer of", b->key, &why);
    rc = dpi_op_intern(c, name->name, &r->op, err);
    dp_schema_free(name);
    return rc;
}

static int reg_observer(dpi_change *c, dp_unit *u, const dp_block *b, dp_error *err)
{
    dpi_reg *r;
    bool one_op = false;

    if (b->fn == NULL)
        return fail_at(err, DP_EPLUGIN, b,
                       b->kind == DP_BLOCK_OBSERVER ? "observer" : "session's end", b->ns,
                       "no function");
    if ((r = reg_add(u, DPI_REG_OBSERVER, b, err)) == NULL)
        return DP_ERESOURCE;
    int rc = 0;
    if (b->kind == DP_BLOCK_SESSION_END)
        r->key = DPI_OBSERVES_SESSIONS;
    else
        rc = observer_of(c, r, b, &one_op, err);
    if (rc == 0)
        rc = kernel_make(c->reg, u, r, b, NULL, b->fn, "", 0, &r->kernel, err);
    if (rc == 0 && one_op)
        r->kernel->observes = c->reg->ops[r->op];
    return rc;
}

/* Register the backend's name now, so that the unit's other blocks can use its keys.
 * dpi_unit_free() ends the backend, after the last call of its kernels. */
static int reg_backend(dp_unit *u, const dp_block *b, const dp_unit *replace, dp_error *err)
{
    dpi_reg *r = reg_add(u, DPI_REG_BACKEND, b, err);

    if (r == NULL)
        return DP_ERESOURCE;
    if ((r->name = dp_strdup(b->ns)) == NULL)
        return dpi_no_memory(err, b->ns);
    int rc = dpi_device_new(b->ns, b->data, &r->device, err);
    if (rc < 0)
        return rc;
    u->backends++;
    for (uint32_t i = 0; replace && i < replace->n_regs; i++)
        if (replace->regs[i].kind == DPI_REG_BACKEND && strcmp(replace->regs[i].name, b->ns) == 0) {
            r->bit = replace->regs[i].bit; /* backends_inherit() replaces the device later */
            return 0;
        }
    return dpi_backend_install(b->ns, u->gen->plugin, r->device, &r->bit, err);
}

/* Register the name of the kind of wrapper tensors now, as reg_backend() does for a backend.
 * dpi_unit_free() ends the kind. */
static int reg_kind(dp_unit *u, const dp_block *b, const dp_unit *replace, dp_error *err)
{
    dpi_reg *r = reg_add(u, DPI_REG_KIND, b, err);

    if (r == NULL)
        return DP_ERESOURCE;
    r->bit = -1;
    if ((r->name = dp_strdup(b->ns)) == NULL)
        return dpi_no_memory(err, b->ns);
    int rc = dpi_kind_check_name(b->ns, err);
    return rc < 0 ? rc : dpi_kind_register(b->ns, u->gen->plugin, replace != NULL, &r->bit, err);
}

static int reg_object(dp_unit *u, const dp_block *b, const dp_unit *replace, dp_error *err)
{
    char full[2 * DP_LIMIT_NAME_BYTES + 2];

    if (!valid_ns(b->ns) || !valid_ns(b->key))
        return fail_at(err, DP_EPLUGIN, b, "kind of objects", b->key,
                       "its namespace and name have letters, digits and _ only");
    dpi_reg *r = reg_add(u, DPI_REG_OBJECT, b, err);
    if (r == NULL)
        return DP_ERESOURCE;
    snprintf(full, sizeof(full), "%s.%s", b->ns, b->key);
    if ((r->name = dp_strdup(full)) == NULL)
        return dpi_no_memory(err, full);
    return dpi_object_kind_new(b->ns, b->key, u->gen->plugin, u->gen->number, replace != NULL,
                               b->data, &r->objects, err);
}

int dpi_unit_fill(dpi_change *c, dp_unit *u, const dp_block *const *blocks, size_t n,
                  const dp_unit *replace, dp_error *err)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        if (blocks[i]->kind == DP_BLOCK_BACKEND)
            rc = reg_backend(u, blocks[i], replace, err);
        else if (blocks[i]->kind == DP_BLOCK_KIND)
            rc = reg_kind(u, blocks[i], replace, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        switch (blocks[i]->kind) {
        case DP_BLOCK_LIBRARY:
        case DP_BLOCK_FRAGMENT:
        case DP_BLOCK_IMPL:
            rc = reg_items(c, u, blocks[i], err);
            break;
        case DP_BLOCK_FALLBACK:
            rc = reg_fallback(c, u, blocks[i], err);
            break;
        case DP_BLOCK_OBSERVER:
        case DP_BLOCK_SESSION_END:
            rc = reg_observer(c, u, blocks[i], err);
            break;
        case DP_BLOCK_OBJECT:
            rc = reg_object(u, blocks[i], replace, err);
            break;
        default:
            break; /* the plugin's name and hooks are not registrations */
        }
    return rc;
}

dp_unit *dpi_unit_new(dp_registry *reg, const char *name, const char *version,
                      const dp_block *const *blocks, size_t n, const dp_unit *replace,
                      dp_error *err)
{
    size_t max_regs = n;
    dp_unit *u = dp_calloc(1, sizeof(*u));

    for (size_t i = 0; i < n; i++)
        max_regs += blocks[i]->n_items;
    if (u == NULL || (u->gen = dp_calloc(1, sizeof(*u->gen))) == NULL ||
        (u->regs = dp_calloc(max_regs + 1, sizeof(dpi_reg))) == NULL) {
        if (u != NULL)
            dp_free(u->gen);
        dp_free(u);
        dpi_no_memory(err, name);
        return NULL;
    }
    u->reg = reg;
    atomic_init(&u->gen->refs, 1);
    atomic_init(&u->gen->gone_at, UINT64_MAX);
    u->gen->number = reg->next_generation++;
    u->gen->load_number = replace ? replace->gen->load_number : reg->next_load++;
    strncpy(u->gen->plugin, name, sizeof(u->gen->plugin) - 1);
    strncpy(u->gen->version, version, sizeof(u->gen->version) - 1);
    return u;
}
