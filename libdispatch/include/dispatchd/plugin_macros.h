/* dispatchd/plugin_macros.h -- the macros with which a plugin registers operators and kernels
 * (DP_LIBRARY and others): they define records and ELF notes.  See plugin.h.
 *
 * Each item macro, such as DP_DEF, is a tuple (kind, ...).  A block such as DP_LIBRARY expands its
 * tuples three times: to boxing functions, to records and to the text of its ELF note. */
#ifndef DISPATCHD_PLUGIN_MACROS_H
#define DISPATCHD_PLUGIN_MACROS_H

/* Keeps compilers in strict mode from warning of __VA_OPT__ (each.h). */
#ifdef __STRICT_ANSI__
#pragma GCC system_header
#endif

/* -- items: tuples (kind, name, tags or flags, fn, args, rets) -- */

#define DP_DEF(schema) (DP_KIND_DEF, schema, "", 0, (), ())
/* `tags`: tags of PyTorch, separated by spaces, and four that change what the host does.
 * "reads_once": kernels bear that the bytes of their tensor arguments change while they run,
 * because no element is used as an address, an index or a count of memory.  Then a client's memory
 * is not copied before the call, even if the client can still write it. "also_written:NAME":
 * kernels write argument NAME, but its version does not increase (running statistics).
 * "keeps_version": no argument's version increases (detach_, resize_).  "detached": returns that
 * are views have no base tensor (Tensor._base). */
#define DP_DEF_TAGS(schema, tags) (DP_KIND_DEF, schema, tags, 0, (), ())
#define DP_IMPL(name, fn)         (DP_KIND_BOXED, name, 0, fn, (), ())
/* Register a boxed kernel that redispatches below its own key. */
#define DP_IMPL_BELOW(name, fn) (DP_KIND_BOXED, name, DP_FLAG_BELOW, fn, (), ())
/* Register an unboxed kernel: DP_IMPL_UNBOXED("add.Tensor", add, (T, T, s), (T)).  `fn` is the
 * plain name of a function, used once in each block; DP_KERNEL accepts other functions. */
#define DP_IMPL_UNBOXED(name, fn, args, ...)                                                       \
    (DP_KIND_UNBOXED, name, 0, fn, DP_LETTERS args __VA_OPT__()##args,                             \
     DP_LETTERS __VA_ARGS__ __VA_OPT__()##__VA_ARGS__)
#define DP_IMPL_FALLTHROUGH(name) (DP_KIND_FALLTHROUGH, name, 0, 0, (), ())
/* Give operator `name` its derivative, within DP_FORMULAS(ns, ...): `text` is a program
 * (dp_builder_text()) that computes the gradients of the arguments from the gradients of the
 * returns; docs/gradients.md says how.  `flags`: "", or flags of docs/gradients.md, separated by
 * spaces. */
#define DP_FORMULA(name, flags, text) (DP_KIND_FORMULA, name, flags, text, (), ())

/* Define the boxing function of an item, if it has one, and check the type of its function.  `n` is
 * the block's number, from __COUNTER__. */
#define DP_THUNK_(n, kind, name, tags, fn, args, rets) DP_CAT(kind, _THUNK)(n, fn, args, rets)
#define DP_KIND_DEF_THUNK(n, fn, args, rets)
#define DP_KIND_BOXED_THUNK(n, fn, args, rets) DP_FN_IS_(dp_boxed_fn, "int (dp_call *)", fn)
#define DP_KIND_FALLTHROUGH_THUNK(n, fn, args, rets)
#define DP_KIND_FORMULA_THUNK(n, fn, args, rets)
/* In C++, dp_fn_ID is `fn` converted to a pointer of its C type, which selects the right function
 * of an overloaded function, a template or a lambda.  C has no such functions; there a static
 * assertion compares the types, because a compiler would only warn of a wrong one. */
#define DP_WRONG_TYPE_(fn, args, rets)                                                             \
    "kernel '" #fn "': its C type is not what its letters " DP_CODE_(args, rets) " stand for"
#ifdef __cplusplus
extern "C++" {
template <class F> constexpr bool dp_is_(F)
{
    return true;
}
template <class F> constexpr bool dp_is_(...)
{
    return false;
}
}
#define DP_TYPE_FN_(id, fn, args, rets)                                                            \
    typedef DP_FN_TYPE_(*DP_CAT(dp_type_, id), args, rets);                                        \
    static_assert(dp_is_<DP_CAT(dp_type_, id)>(fn), DP_WRONG_TYPE_(fn, args, rets));               \
    static constexpr DP_CAT(dp_type_, id) DP_CAT(dp_fn_, id) = fn;
#define DP_IS_(type, value, message) static_assert(dp_is_<type>(value), message);
#define DP_FN_(id, fn)               DP_CAT(dp_fn_, id)
#else
#define DP_TYPE_FN_(id, fn, args, rets)                                                            \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&*(fn)),                                \
                                                __typeof__((DP_FN_TYPE_(*, args, rets))0)),        \
                   DP_WRONG_TYPE_(fn, args, rets));
#define DP_FN_(id, fn) (fn)
#define DP_IS_(type, value, message)                                                               \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&*(value)), type), message);
#endif
/* Check the type of `fn` here: a block stores it as dp_any_fn, and this cast would hide a wrong
 * type. */
#define DP_FN_IS_(type, text, fn) DP_IS_(type, fn, "'" #fn "' is not of the C type " text)
#define DP_BOXED_FN_(id, fn, takes, gives)                                                         \
    DP_TYPE_FN_(id, fn, takes, gives)                                                              \
    static int DP_CAT(dp_boxed_, id)(dp_call * dp_call_)                                           \
    {                                                                                              \
        const dp_value *dp_args_ = dp_call_->args + DP_COUNT(DP_UNPAREN takes);                    \
        dp_value *dp_rets_ = dp_call_->rets + DP_COUNT(DP_UNPAREN gives);                          \
        (void)dp_args_, (void)dp_rets_;                                                            \
        return DP_FN_(id, fn)(dp_call_->ctx DP_MAP(DP_SIG_UNBOX_, DP_UNPAREN takes)                \
                                  DP_MAP(DP_SIG_SLOT_, DP_UNPAREN gives));                         \
    }
#define DP_KIND_UNBOXED_THUNK(n, fn, args, rets)                                                   \
    DP_BOXED_FN_(DP_CAT(DP_CAT(n, _), fn), fn, args, rets)

/* Make the dp_item of an item's tuple. */
#define DP_RECORD_(n, kind, name, tags, fn, args, rets)                                            \
    DP_CAT(kind, _RECORD)(n, name, tags, fn, args, rets),
#define DP_ITEM_(kind, flags, name, tags, boxed, unboxed, code)                                    \
    {                                                                                              \
        (uint32_t)sizeof(dp_item), kind, flags, name, tags, boxed, (dp_any_fn)(unboxed), code      \
    }
#define DP_KIND_DEF_RECORD(n, name, tags, fn, args, rets)                                          \
    DP_ITEM_(DP_ITEM_DEF, 0, name, tags, 0, 0, "")
#define DP_KIND_BOXED_RECORD(n, name, flags, fn, args, rets)                                       \
    DP_ITEM_(DP_ITEM_IMPL, flags, name, "", fn, 0, "")
#define DP_KIND_FALLTHROUGH_RECORD(n, name, flags, fn, args, rets)                                 \
    DP_ITEM_(DP_ITEM_IMPL, DP_FLAG_FALLTHROUGH, name, "", 0, 0, "")
#define DP_KIND_UNBOXED_RECORD(n, name, flags, fn, args, rets)                                     \
    DP_ITEM_(DP_ITEM_IMPL, flags, name, "", DP_CAT(DP_CAT(dp_boxed_, n), _##fn), fn,               \
             DP_CODE_(args, rets))

#define DP_KIND_FORMULA_RECORD(n, name, flags, text, args, rets)                                   \
    DP_ITEM_(DP_ITEM_FORMULA, 0, name, "", 0, 0, "flags " flags "\n" text)

/* Text of a note: one line for the block, then one line for each item, with tabs between fields. */
#define DP_TEXT_(n, kind, name, tags, fn, args, rets)    DP_CAT(kind, _TEXT)(name, tags, args, rets)
#define DP_KIND_DEF_TEXT(name, tags, args, rets)         "def\t" name "\t" tags "\n"
#define DP_KIND_BOXED_TEXT(name, tags, args, rets)       "impl\t" name "\t\n"
#define DP_KIND_FALLTHROUGH_TEXT(name, tags, args, rets) "fallthrough\t" name "\t\n"
#define DP_KIND_FORMULA_TEXT(name, flags, args, rets)    "formula\t" name "\t\n"
/* The line of an unboxed kernel ends with the letters of its C type. */
#define DP_KIND_UNBOXED_TEXT(name, tags, args, rets) "impl\t" name "\t" DP_CODE_(args, rets) "\n"

/* -- records and notes -- */

#ifdef __cplusplus
/* In C++ the records are not const: clang++ rejects const records with function pointers in a named
 * section. */
#define DP_CONST
#else
#define DP_CONST const
#endif

/* `retain` makes lld's --gc-sections keep the records.  The explicit alignment makes gcc place them
 * without gaps. */
#define DP_BLOCK_RECORD_(n, kind, flags, ns, key, items, n_items, fn, data)                        \
    static DP_CONST dp_block DP_CAT(dp_block_, n) __attribute__((                                  \
        used, retain, aligned(8), section("dp_blocks"))) = {(uint32_t)sizeof(dp_block),            \
                                                            kind,                                  \
                                                            flags,                                 \
                                                            __LINE__,                              \
                                                            n_items,                               \
                                                            (uint32_t)sizeof(dp_item),             \
                                                            0,                                     \
                                                            __FILE__,                              \
                                                            ns,                                    \
                                                            key,                                   \
                                                            items,                                 \
                                                            (dp_any_fn)(fn),                       \
                                                            data,                                  \
                                                            DP_DTYPES_KNOWN};

/* An ELF note: the members of Elf64_Nhdr, the name "DISP", and the text. */
#define DP_NOTE_(n, text)                                                                          \
    static const struct {                                                                          \
        uint32_t name_bytes, desc_bytes, type;                                                     \
        char name[8];                                                                              \
        char desc[sizeof(text) + (4 - sizeof(text) % 4) % 4];                                      \
    } DP_CAT(dp_note_, n)                                                                          \
        __attribute__((used, retain, aligned(4), section(".note.dispatchd"))) = {                  \
            5, (uint32_t)(sizeof(text) + (4 - sizeof(text) % 4) % 4), 1, "DISP", text};

#define DP_BLOCK_TEXT_(kind, ns, key) kind "\t" ns "\t" key "\t" __FILE__ "\t" DP_STR(__LINE__) "\n"
#define DP_BLOCK_ITEMS_(n, kind, flags, text, ns, key, ...)                                        \
    DP_EACH(DP_THUNK_, n, __VA_ARGS__)                                                             \
    static const dp_item DP_CAT(dp_items_, n)[] = {DP_EACH(DP_RECORD_, n, __VA_ARGS__)};           \
    DP_BLOCK_RECORD_(n, kind, flags, ns, key, DP_CAT(dp_items_, n),                                \
                     (uint32_t)(sizeof(DP_CAT(dp_items_, n)) / sizeof(dp_item)), 0, 0)             \
    DP_NOTE_(n, DP_BLOCK_TEXT_(text, ns, key) DP_EACH(DP_TEXT_, n, __VA_ARGS__))
#define DP_BLOCK_ITEMS(n, ...) DP_BLOCK_ITEMS_(n, __VA_ARGS__)
#define DP_BLOCK_PLAIN_(n, kind, flags, text, ns, key, fn, data)                                   \
    DP_BLOCK_RECORD_(n, kind, flags, ns, key, 0, 0, fn, data)                                      \
    DP_NOTE_(n, DP_BLOCK_TEXT_(text, ns, key))
#define DP_BLOCK_PLAIN(n, ...) DP_BLOCK_PLAIN_(n, __VA_ARGS__)

/* -- the macros for a plugin's source -- */

#define DP_PLUGIN(name, version)                                                                   \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_PLUGIN, 0,                                                \
                   "plugin\t" DP_STR(DP_ABI_MAJOR) "." DP_STR(DP_ABI_MINOR) "-draft" DP_STR(       \
                       DP_ABI_DRAFT) "\t" DP_STR(DP_ABI_TARGET),                                   \
                   #name, version, 0, 0)
#define DP_LIBRARY(ns, ...)                                                                        \
    DP_BLOCK_ITEMS(__COUNTER__, DP_BLOCK_LIBRARY, 0, "library", #ns, "", __VA_ARGS__)
#define DP_LIBRARY_FRAGMENT(ns, ...)                                                               \
    DP_BLOCK_ITEMS(__COUNTER__, DP_BLOCK_FRAGMENT, 0, "fragment", #ns, "", __VA_ARGS__)
#define DP_LIBRARY_IMPL(ns, key, ...)                                                              \
    DP_BLOCK_ITEMS(__COUNTER__, DP_BLOCK_IMPL, 0, "impl", #ns, #key, __VA_ARGS__)
/* DP_LIBRARY_IMPL for kernels of CPU, or of composite keys, that serve tensors without memory, too
 * (dp_memoryless()): each item gets DP_FLAG_META, which abi.h explains. */
#define DP_LIBRARY_META(ns, key, ...)                                                              \
    DP_BLOCK_ITEMS(__COUNTER__, DP_BLOCK_IMPL, DP_FLAG_META, "impl", #ns, #key, __VA_ARGS__)
/* DP_LIBRARY_META for kernels that return views, which they make with dp_as_strided(),
 * dp_view_sizes() or dp_view_as(): each item gets DP_FLAG_VIEWS, too, which makes calls faster.
 * Any key is allowed; the kernels serve tensors without memory only for CPU and for composite
 * keys. */
#define DP_LIBRARY_VIEWS(ns, key, ...)                                                             \
    DP_BLOCK_ITEMS(__COUNTER__, DP_BLOCK_IMPL, DP_FLAG_META | DP_FLAG_VIEWS, "impl", #ns, #key,    \
                   __VA_ARGS__)
/* DP_LIBRARY_IMPL for layers (abi.h) that have nothing to do if no argument may have a gradient:
 * each item gets DP_FLAG_GRAD. */
#define DP_LIBRARY_GRAD(ns, key, ...)                                                              \
    DP_BLOCK_ITEMS(__COUNTER__, DP_BLOCK_IMPL, DP_FLAG_GRAD, "impl", #ns, #key, __VA_ARGS__)
/* Register one kernel, at file scope.  The function need not have a plain name:
 *
 *     DP_KERNEL(scale, tutorial, CPU, "scale", scale_of<float>, (T, f), (T))
 *
 * `id` is any name that no other DP_KERNEL of the file uses.  Put a function that contains commas
 * in parentheses.  The time to compile grows in proportion to the number of kernels. */
#define DP_KERNEL(id, ns, key, name, fn, args, ...)                                                \
    DP_KERNEL_(id, 0, #ns, #key, name, fn, DP_LETTERS args __VA_OPT__()##args,                     \
               DP_LETTERS __VA_ARGS__ __VA_OPT__()##__VA_ARGS__)
/* DP_KERNEL with flags: DP_FLAG_META, DP_FLAG_GRAD, DP_FLAG_BELOW, DP_FLAG_VIEWS, combined with
 * |. */
#define DP_KERNEL_FLAGS(id, flags, ns, key, name, fn, args, ...)                                   \
    DP_KERNEL_(id, flags, #ns, #key, name, fn, DP_LETTERS args __VA_OPT__()##args,                 \
               DP_LETTERS __VA_ARGS__ __VA_OPT__()##__VA_ARGS__)
#define DP_KERNEL_(id, flags, ns, key, name, fn, args, rets)                                       \
    DP_BOXED_FN_(id, fn, args, rets)                                                               \
    static const dp_item dp_items_##id[] = {DP_ITEM_(DP_ITEM_IMPL, flags, name, "", dp_boxed_##id, \
                                                     DP_FN_(id, fn), DP_CODE_(args, rets))};       \
    DP_BLOCK_RECORD_(id, DP_BLOCK_IMPL, 0, ns, key, dp_items_##id, 1, 0, 0)                        \
    DP_NOTE_(id, DP_BLOCK_TEXT_("impl", ns, key) DP_KIND_UNBOXED_TEXT(name, , args, rets))

/* Register one block of `n` items whose boxing functions and dp_items a generator wrote.
 *
 *     static int boxed_add(dp_call *c) { return add(c->ctx, c->args[0].u.t, c->args[1].u.t); }
 *     static const dp_item items[] = {
 *         {sizeof(dp_item), DP_ITEM_IMPL, 0, "add_", "", boxed_add, (dp_any_fn)add, "TT>"}};
 *     DP_RECORDS(id, IMPL, mine, CPU, items, 1, "impl\tadd_\tTT>\n")
 *
 * `kind` is LIBRARY or FRAGMENT, whose key is empty, or IMPL.  `text` has one line for each item:
 * "def\tSCHEMA\tTAGS\n", "impl\tNAME\tCODE\n" or "fallthrough\tNAME\t\n".  A load fails if the text
 * and the records differ. */
#define DP_RECORDS(id, kind, ns, key, items, n, text)                                              \
    DP_BLOCK_RECORD_(id, DP_BLOCK_##kind, 0, #ns, #key, items, n, 0, 0)                            \
    DP_NOTE_(id, DP_BLOCK_TEXT_(DP_RECORDS_##kind, #ns, #key) text)
#define DP_RECORDS_LIBRARY  "library"
#define DP_RECORDS_FRAGMENT "fragment"
#define DP_RECORDS_IMPL     "impl"

#define DP_FORMULAS(ns, ...) DP_LIBRARY_IMPL(ns, AutogradFormula, __VA_ARGS__)
#define DP_FALLBACK(key, fn)                                                                       \
    DP_FN_IS_(dp_boxed_fn, "int (dp_call *)", fn)                                                  \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_FALLBACK, 0, "fallback", "_", #key, fn, 0)
#define DP_FALLBACK_FALLTHROUGH(key)                                                               \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_FALLBACK, DP_FLAG_FALLTHROUGH, "fallback", "_", #key, 0, 0)
/* Register a fallback with DP_FLAG_GRAD, for every operator that has no kernel for the key.  `fn`
 * redispatches below the key. */
#define DP_FALLBACK_GRAD(key, fn)                                                                  \
    DP_FN_IS_(dp_boxed_fn, "int (dp_call *)", fn)                                                  \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_FALLBACK, DP_FLAG_GRAD | DP_FLAG_BELOW, "fallback", "_",  \
                   #key, fn, 0)
/* Name a backend whose tensors are in the host's memory. */
#define DP_BACKEND(name)                                                                           \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_BACKEND, 0, "backend", #name, "", 0, 0)
/* Name a backend with its own memory; `ops` is a const dp_device_ops.  `name` may be a built-in
 * device that no other plugin provides: cuda, mps, xpu ...; kernels are then registered for CUDA,
 * MPS, XPU ... */
#define DP_BACKEND_DEVICE(name, ops)                                                               \
    DP_IS_(const dp_device_ops *, &(ops), "'" #ops "' is not a const dp_device_ops")               \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_BACKEND, 0, "backend", #name, "", 0, &(ops))
/* Name a kind of wrapper tensors, the dp_wrapper.kind of its tensors.  The kind gets a key of its
 * own with this name:
 *
 *     DP_WRAPPER_KIND(masked)
 *     DP_LIBRARY_IMPL(aten, masked, DP_IMPL("add.Tensor", add))
 *     DP_FALLBACK(masked, fallback)
 *
 * Kernels of the key have a higher priority than those of backends, and a lower one than layers
 * (abi.h).  While a tensor of the kind lives, also after the plugin is unloaded, no other kind
 * gets the key. */
#define DP_WRAPPER_KIND(name) DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_KIND, 0, "kind", #name, "", 0, 0)
/* Name a kind of objects, whose type in schemas is __torch__.torch.classes.ns.name.  `ops` is a
 * const dp_object_ops, whose address identifies the kind in dp_object_new() and dp_object_get():
 *
 *     static const dp_object_ops weights = {.size = sizeof(weights), .end = weights_end};
 *     DP_OBJECT_KIND(mine, Weights, weights) */
#define DP_OBJECT_KIND(ns, name, ops)                                                              \
    DP_IS_(const dp_object_ops *, &(ops), "'" #ops "' is not a const dp_object_ops")               \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_OBJECT, 0, "object", #ns, #name, 0, &(ops))
#define DP_OBSERVER(fn)                                                                            \
    DP_FN_IS_(dp_observer_fn, "void (dp_observation *)", fn)                                       \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_OBSERVER, 0, "observer", #fn, "", fn, 0)
/* Register an observer for the calls of one operator, by its full name:
 * DP_OBSERVER_OF("aten::add.Tensor", fn).  The operator need not be defined yet. */
#define DP_OBSERVER_OF(op, fn)                                                                     \
    DP_FN_IS_(dp_observer_fn, "void (dp_observation *)", fn)                                       \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_OBSERVER, 0, "observer", #fn, op, fn, 0)
/* Register an observer for calls and redispatches whose kernel was chosen for a key:
 * DP_OBSERVER_KEY(CPU, fn), DP_OBSERVER_KEY(Autograd, fn). */
#define DP_OBSERVER_KEY(key, fn)                                                                   \
    DP_FN_IS_(dp_observer_fn, "void (dp_observation *)", fn)                                       \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_OBSERVER, 0, "observer", #fn, #key, fn, 0)
#define DP_ON_LOAD(fn)                                                                             \
    DP_FN_IS_(dp_hook_fn, "int (dp_ctx *)", fn)                                                    \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_ON_LOAD, 0, "on_load", #fn, "", fn, 0)
#define DP_ON_UNLOAD(fn)                                                                           \
    DP_FN_IS_(dp_hook_fn, "int (dp_ctx *)", fn)                                                    \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_ON_UNLOAD, 0, "on_unload", #fn, "", fn, 0)
/* Register a hook that runs for each session that ends while the plugin is loaded, after the
 * session's tensors were released: for data that the plugin keeps for each session.
 * dp_session_id(ctx) is the session.  A failure is logged and changes nothing.  The hook counts as
 * one observer (DP_LIMIT_OBSERVERS). */
#define DP_ON_SESSION_END(fn)                                                                      \
    DP_FN_IS_(dp_hook_fn, "int (dp_ctx *)", fn)                                                    \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_SESSION_END, 0, "session_end", #fn, "", fn, 0)
#define DP_RESIDENT() DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_RESIDENT, 0, "resident", "", "", 0, 0)

/* dp_plugin_root, by which the host finds the records.  Every source file of a plugin defines it,
 * and the linker keeps one definition, since the symbol is weak. */
extern const dp_block __start_dp_blocks[] __attribute__((visibility("hidden")));
extern const dp_block __stop_dp_blocks[] __attribute__((visibility("hidden")));
extern const dp_root dp_plugin_root __attribute__((weak, visibility("default")));
__attribute__((used, retain))
const dp_root dp_plugin_root = {DP_ABI_MAGIC,      DP_ABI_MAJOR,     DP_ABI_MINOR,
                                DP_ABI_TARGET,     DP_ABI_DRAFT,     (uint32_t)sizeof(dp_block),
                                __start_dp_blocks, __stop_dp_blocks, &dp_plugin_host};

#endif
