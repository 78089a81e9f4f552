/* dispatchd/abi.h -- the structs that the host and a plugin exchange.
 *
 * Kernel authors include plugin.h, embedders dispatch.h; both headers include this one.
 *
 * Compatibility: the host and a plugin may be built from different versions of this header.  A
 * struct that starts with its size may grow, but only at its end; the others (dp_root, dp_saved,
 * dp_typed, dp_entered) do not grow.  Within one DP_ABI_MAJOR no field changes its position or
 * type.  Members that the size of a plugin's struct does not cover count as zero, and zero always
 * is the documented default.  If zero is a meaningful number for a member that may be left out, the
 * member has a type of its own (dp_opt_dtype).
 *
 * A layer is a kernel for a key above all backends' keys, such as AutogradCPU.  It gets a call
 * before the backend's kernel does, and usually passes the call on to that kernel. */
#ifndef DISPATCHD_ABI_H
#define DISPATCHD_ABI_H

#include "device.h"
#include "error.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DP_ABI_MAJOR 2
#define DP_ABI_MINOR 0
/* Interface 2 is not frozen yet.  Every change of a struct raises this number, and the host loads
 * only plugins that were built with the same draft.  0 will mean that the interface is frozen. */
#ifndef DP_ABI_DRAFT
#define DP_ABI_DRAFT 2
#endif
/* The oldest minor version of the host's interface on which the plugin runs.  Define it before
 * including the header, and only if that is older than DP_ABI_MINOR. */
#ifndef DP_ABI_TARGET
#define DP_ABI_TARGET DP_ABI_MINOR
#endif
/* Bit `dtype` for each dtype that this header knows.  The host refuses calls of a plugin's kernel
 * with any other dtype.  Define it only to accept fewer dtypes. */
#ifndef DP_DTYPES_KNOWN
#define DP_DTYPES_KNOWN (0ull DP_DTYPE_MAP(DP_DTYPE_KNOWN_))
/* The bit of one row of DP_DTYPE_MAP, with | before it. */
#define DP_DTYPE_KNOWN_(id, number, dtype_name, aten, bytes, category) | 1ull << (number)
#endif
#define DP_ABI_MAGIC 0x31504d44u /* "DMP1", the first member of dp_root */

typedef struct dp_op dp_op; /* an operator; valid as long as the registry */

/* -- programs; program.h has the rest -- */

typedef uint32_t dp_ref; /* number of a value in the program that is being built */
typedef struct dp_program dp_program;
typedef struct dp_builder dp_builder;
typedef struct dp_step dp_step;
typedef struct dp_ref_kwarg dp_ref_kwarg;
typedef struct dp_step_mode dp_step_mode;
typedef struct dp_run dp_run;
typedef struct dp_program_info dp_program_info;
typedef struct dp_step_info dp_step_info;
typedef struct dp_alias dp_alias;
typedef struct dp_input_guard dp_input_guard;
typedef struct dp_input_place dp_input_place;

/* -- elementwise loops; iter.h has the rest -- */

typedef struct dp_iter dp_iter;
typedef struct dp_iter_config dp_iter_config;
typedef struct dp_reduction dp_reduction;
/* Body of a loop over `n1` rows of `n0` elements.  For operand k of the iterator's n operands,
 * data[k] is the address of the first element, strides[k] the distance in bytes to the next
 * element, and strides[n + k] that to the next row.  The body may change the pointers in `data`.
 * It may run on several threads at once, which share `user`.  It must not call operators. */
typedef void (*dp_iter_loop2d)(char **data, const int64_t *strides, int64_t n0, int64_t n1,
                               void *user);
/* Body of a loop over one row of `n` elements; otherwise like dp_iter_loop2d. */
typedef void (*dp_iter_loop)(char *const *data, const int64_t *strides, int64_t n, void *user);

/* One call, as a boxed kernel gets it.  `args` are in the order of the schema, with defaults filled
 * in, and are checked against the schema; everything in them is borrowed.  `rets` are None at
 * first.  The kernel sets each return, for example rets[0] = dp_tensor_value(t), and gives its
 * reference away.  But a return that the schema marks as a written argument, Tensor(a!), stays
 * None: the host returns this argument to the outermost caller.  So a layer can pass its own `rets`
 * to the call below it. */
typedef struct dp_call {
    uint32_t size;
    uint32_t n_args, n_rets;
    dp_key key; /* the key for which this kernel was chosen */
    uint16_t reserved;
    dp_ctx *ctx;
    const dp_op *op;
    /* key set of the call; to redispatch, use dp_keyset_below(keys, key) */
    dp_keyset keys;
    const dp_value *args;
    dp_value *rets;
} dp_call;

/* Boxed kernel: a function that serves any schema.  It returns 0, or a DP_E* code after describing
 * the failure in the context: dp_fail() does both, and the code that a failing dp_* function
 * returned may be returned as it is.  After a failure the host releases the values in `rets`.  The
 * kernel must not throw or call longjmp.  It runs on any thread. */
typedef int (*dp_boxed_fn)(dp_call *call);
typedef void (*dp_any_fn)(void); /* an unboxed kernel, a hook or an observer */

/* -- how a call is recorded for gradients (dp_record_as) -- */

enum {                        /* dp_saved.kind */
       DP_SAVED_ARGUMENT = 1, /* argument `index` of the call, as it was before the operator ran */
       DP_SAVED_RETURN,       /* return `index`, as it was when the operator had run */
       DP_SAVED_NEEDED,       /* a bool: is the gradient of argument `index` wanted? */
       DP_SAVED_VALUE         /* `value`: another tensor, a list of tensors, a number, a string */
};
/* One value that a recorded call passes to its backward operator. */
typedef struct dp_saved {
    uint32_t kind;  /* DP_SAVED_* */
    uint32_t index; /* of an argument or return of the recorded operator */
    dp_value value; /* borrowed for the call of dp_record_as(), which copies what it saves */
} dp_saved;

enum {                     /* dp_recording.flags */
       DP_RECORD_ONCE = 1, /* the gradients cannot be differentiated again */
       /* A gradient that nothing computed is passed to `backward` as None (declare that argument as
        * Tensor?); without the flag it is passed as zeros. */
       DP_RECORD_UNDEFINED = 2
};
/* The arguments of dp_record_as().  Set `size` first. */
typedef struct dp_recording {
    uint32_t size;
    uint32_t flags; /* DP_RECORD_* */
    /* The operator that computes the gradients, "mine::scale_backward".  Its arguments: the
     * gradient of each return that is a tensor or a list of tensors, then the saved values.  Its
     * returns: a gradient for each argument of the recorded operator that `arguments` names, in
     * their order; Tensor, or Tensor? if it may be None; for a list of tensors a list. */
    const char *backward;
    const dp_saved *saved; /* [n_saved] */
    size_t n_saved;
    uint64_t arguments;          /* bit i: argument i; 0: all that are tensors or lists of them */
    uint64_t non_differentiable; /* bit r: return r never requires a gradient */
} dp_recording;

/* -- the schema of an operator (dp_schema_info_get) -- */

enum { /* dp_schema_info.flags */
       /* the operator has a composite kernel, which calls other operators; dp_decompose() runs
        * it */
       DP_OP_COMPOSITE = 1,
       /* the composite kernel is registered for CompositeImplicitAutograd: autograd sees the
        * operators that it calls */
       DP_OP_IMPLICIT = 2,
       DP_OP_VARARG = 4, /* "...": the operator takes more arguments than its schema names */
       DP_OP_VARRET = 8  /* "...": the operator returns more values than its schema names */
};

enum { /* dp_schema_info.variant; named as in PyTorch's SchemaKind (torchgen) */
       DP_VARIANT_FUNCTIONAL = 0,
       DP_VARIANT_IN_PLACE, /* add_: writes its first argument */
       DP_VARIANT_OUT,      /* add.out: writes keyword-only arguments */
       DP_VARIANT_MUTABLE   /* writes other arguments */
};

/* Properties of an operator's schema.  Set `size` first.  The pointers in it, and in the results of
 * dp_op_arg(), are valid until the call that queried them ends, or, if they were queried between
 * dp_ctx_begin() and dp_ctx_end(), until dp_ctx_end(): they point into the snapshot of the registry
 * that is pinned until then.  Bit i of a mask is argument i; arguments after the 64th are in no
 * mask, but dp_op_arg() describes them, too. */
typedef struct dp_schema_info {
    uint32_t size;
    uint32_t flags; /* DP_OP_* */
    uint32_t n_args, n_rets;
    int32_t variant; /* DP_VARIANT_* */
    uint32_t reserved;
    uint64_t tensors; /* bit i: argument i may hold tensors: Tensor, Tensor?, lists of these */
    /* bit i: kernels write argument i, by the schema or by the tag also_written */
    uint64_t written;
    uint64_t viewed;    /* bit i: argument i is not written, and some return may share its memory */
    const char *text;   /* canonical schema: "aten::add.Tensor(Tensor self, ..." */
    const void *schema; /* for the host only */
} dp_schema_info;

enum {                    /* dp_arg_info.type */
       DP_TYPE_OTHER = 0, /* type_name has its name */
       DP_TYPE_TENSOR,
       DP_TYPE_INT,
       DP_TYPE_SYMINT,
       DP_TYPE_FLOAT,
       DP_TYPE_BOOL,
       DP_TYPE_COMPLEX,
       DP_TYPE_SCALAR,
       DP_TYPE_STR,
       DP_TYPE_DTYPE, /* ScalarType */
       DP_TYPE_LAYOUT,
       DP_TYPE_MEMORY_FORMAT,
       DP_TYPE_DEVICE,
       DP_TYPE_GENERATOR,
       DP_TYPE_OBJECT /* type_name has its class: "__torch__.torch.classes.ns.Name" */
};

/* One argument or return of a schema.  Set `size` first.  For Tensor?[], `type` is DP_TYPE_TENSOR,
 * `depth` is 1 and `optional_item` is true. */
typedef struct dp_arg_info {
    uint32_t size;
    int32_t type;       /* DP_TYPE_* of the innermost items */
    uint32_t depth;     /* nesting of lists: 0 for int, 2 for int[][] */
    uint32_t length;    /* length of the outermost list: 2 for int[2]; 0: any */
    bool optional;      /* the argument itself may be None */
    bool optional_item; /* the innermost items may be None */
    bool kwarg_only, written, has_default;
    /* of a return: the host returns argument alias_of, and kernels leave the return None */
    bool is_argument;
    /* of a return: number of the argument that is returned, or whose memory the return shares; -1:
     * none */
    int32_t alias_of;
    const char *name;       /* "" for an unnamed return */
    const char *type_name;  /* "Tensor", "int", "QScheme" */
    dp_value default_value; /* None if it has none; borrowed */
} dp_arg_info;

/* -- registration records -- */

enum {                      /* dp_block.kind */
       DP_BLOCK_PLUGIN = 1, /* ns = name of the plugin, key = its version */
       DP_BLOCK_LIBRARY,    /* TORCH_LIBRARY: owns namespace `ns`; DEF and IMPL items */
       DP_BLOCK_FRAGMENT,   /* TORCH_LIBRARY_FRAGMENT: does not own `ns`; DEF and IMPL items */
       DP_BLOCK_IMPL,       /* TORCH_LIBRARY_IMPL: IMPL items for `key` */
       DP_BLOCK_FALLBACK,   /* one boxed kernel for `key`, for all operators */
       DP_BLOCK_BACKEND,    /* names backend `ns`; data = dp_device_ops or NULL */
       /* fn = dp_observer_fn; key = key or operator to observe, "" = all calls */
       DP_BLOCK_OBSERVER,
       /* fn = dp_hook_fn: runs after the records were checked and before they are published.  If it
        * fails, the load is refused.  Default: no hook. */
       DP_BLOCK_ON_LOAD,
       /* fn = dp_hook_fn: runs after the last call has left the plugin.  If it fails, the plugin
        * stays loaded; at a reload or an unload by force only its code stays mapped.  Default: no
        * hook. */
       DP_BLOCK_ON_UNLOAD,
       DP_BLOCK_SESSION_END, /* fn = dp_hook_fn: runs when a session has ended */
       DP_BLOCK_KIND,        /* names `ns`, a kind of wrapper tensors */
       /* names `key`, a kind of objects of namespace `ns`; data = dp_object_ops */
       DP_BLOCK_OBJECT,
       /* the plugin is never unmapped; an unload detaches it and reports that */
       DP_BLOCK_RESIDENT,
       DP_BLOCK_END
};

enum {                  /* dp_item.kind */
       DP_ITEM_DEF = 1, /* name = schema; tags are separated by spaces */
       DP_ITEM_IMPL,    /* name = operator without namespace, with .overload */
       /* name = as IMPL, code = text of the operator's derivative (DP_FORMULA), no function; for
        * key AutogradFormula only */
       DP_ITEM_FORMULA
};

enum {                          /* dp_item.flags */
       DP_FLAG_FALLTHROUGH = 1, /* the key has no kernel: the dispatcher skips it */
       DP_FLAG_BELOW = 2,       /* the kernel redispatches below its own key */
       /* On tensors without memory (dp_memoryless) the kernel makes the same checks as on other
        * tensors, and results of the same shapes and dtypes, but accesses no bytes.  A kernel for
        * CPU with this flag also serves Meta and Fake.  A kernel for a composite key with this flag
        * may also run for Meta, Fake and wrapper tensors.  On an IMPL block, the flag applies to
        * all items. */
       DP_FLAG_META = 4,
       /* For a layer that has nothing to do if no tensor among the arguments may have a gradient,
        * or if gradients are off: the dispatcher then skips the layer.  On an IMPL block, the flag
        * applies to all items. */
       DP_FLAG_GRAD = 8,
       /* Each return that the schema marks as a view of an argument was made from that argument by
        * dp_as_strided(), dp_view_sizes() or dp_view_as(), which register the view at once.  With
        * DP_FLAG_META, for CPU: the kernel touches no bytes at all, so dp_fallback_cpu() runs it
        * directly on tensors of devices.  On an IMPL block, the flag applies to all items. */
       DP_FLAG_VIEWS = 16
};

typedef struct dp_item {
    uint32_t size;
    uint16_t kind, flags;
    const char *name;
    const char *tags; /* of a DEF item; may be NULL */
    dp_boxed_fn boxed;
    /* NULL: there is only `boxed`.  Otherwise `boxed` unboxes the arguments and calls this kernel;
     * it then puts the returns that `code` lists into the first elements of rets, without gaps for
     * returns that are written arguments. */
    dp_any_fn unboxed;
    const char *code; /* letters of the C type of `unboxed`, "TTs>T"; "" if unboxed is NULL */
} dp_item;

typedef struct dp_block {
    uint32_t size;
    uint16_t kind, flags;
    uint32_t line, n_items, item_size;
    uint32_t reserved;
    const char *file;
    const char *ns;
    const char *key; /* "" for a block without a key */
    const dp_item *items;
    dp_any_fn fn;
    const void *data;
    uint64_t dtypes; /* DP_DTYPES_KNOWN of the compiled file; 0: all dtypes of the host */
} dp_block;

/* A hook of a plugin.  It fails as a kernel does, by returning the code of dp_fail().  Hooks of
 * DP_ON_LOAD and DP_ON_UNLOAD run on the thread that loads or unloads the plugin, while no call of
 * this load of the plugin runs.  Hooks of DP_ON_SESSION_END run on the thread that ends the
 * session, while calls of other sessions may run. */
typedef int (*dp_hook_fn)(dp_ctx *ctx);

/* One call, as an observer gets it.  Everything is borrowed until the observer returns; `args` and
 * `rets` are those of dp_call. */
typedef struct dp_observation {
    uint32_t size;
    int32_t phase;  /* 0 before the kernel, 1 after it */
    uint64_t id;    /* number of the call, before and after; no other call has it */
    uint64_t nanos; /* CLOCK_MONOTONIC */
    const char *op; /* full name of the operator */
    dp_key key;     /* key for which the kernel was chosen */
    uint16_t depth; /* number of calls around this one, redispatches included */
    int32_t rc;     /* after: the code that the kernel returned */
    /* number of the thread, from 1; threads that run at once have different numbers */
    uint32_t thread;
    uint32_t n_args, n_rets; /* n_rets is 0 before the kernel, and after a failure */
    const dp_value *args;
    const dp_value *rets;
    const char *label; /* label of the request's context, "session 3"; "" if it has none */
    /* for the observer's own use, one for each call: NULL before the kernel; after it, the pointer
     * that the observer set before */
    void *state;
    /* the operator, as dp_op_find() returns it; valid as long as the registry */
    const dp_op *handle;
    dp_keyset keys;      /* key set of the call, as dp_call.keys */
    const char *plugin;  /* name of the plugin whose kernel runs */
    uint64_t generation; /* generation of that plugin; each reload makes a new one */
} dp_observation;

/* An observer runs on the calling thread, before and after a kernel, like RecordFunction.
 * DP_OBSERVER registers one for every call of every operator that reaches a kernel, but not for
 * redispatches; DP_OBSERVER_OF one for the calls of one operator; DP_OBSERVER_KEY one for the calls
 * and redispatches whose kernel was chosen for one key.  At most DP_LIMIT_OBSERVERS observers may
 * be registered; they run in load order.
 *
 * An observer must be short, must not call operators, and may only write o->state.  An observer
 * that is loaded or unloaded during a call is not called after that call's kernel, so `state`
 * should not be the only pointer to anything.  A typed call that is observed is boxed, so that the
 * observer gets its arguments; other typed calls stay unboxed. */
typedef void (*dp_observer_fn)(dp_observation *o);

typedef struct dp_host dp_host;

/* The only symbol that a plugin exports, dp_plugin_root.  Its size and its members never change. */
typedef struct dp_root {
    uint32_t magic;
    uint16_t abi_major, abi_minor, abi_target, abi_draft;
    uint32_t block_size;
    const dp_block *begin, *end;
    /* the loader writes the host's table here before any code of the plugin runs */
    const dp_host **host;
} dp_root;

/* -- calls with C types -- */

/* An operator and the C type with which the caller calls it; dp_typed_init() fills it in. */
typedef struct dp_typed {
    const dp_op *op;
    uint32_t code; /* number by which the host knows the letters of the C type */
    uint32_t id;   /* number of the operator */
} dp_typed;

/* A call between dp_enter() and dp_leave(), during which the chosen kernel cannot be unloaded. */
typedef struct dp_entered {
    dp_any_fn unboxed; /* NULL: box the arguments and call dp_run_boxed() */
    uint64_t reserved[7];
} dp_entered;

/* -- dispatcher state -- */

/* dp_mode.fallback: what to do if an operator has only the fallback of a backend, or if a kernel
 * calls dp_fallback_cpu().  An operator that makes a view copies nothing and is always allowed. */
enum {
    DP_FALLBACK_ALLOW,
    DP_FALLBACK_REPORT, /* give a warning that names the operator */
    DP_FALLBACK_FORBID  /* fail with DP_ENOTIMPL, which names the operator */
};

/* The dispatcher state of a request, apart from its included and excluded keys.  A struct of zeros,
 * except for `size`, has all defaults.  Kernels read it with dp_ctx_mode() and change it with
 * dp_guard_mode(). */
typedef struct dp_mode {
    uint32_t size;
    bool no_grad; /* gradients are not recorded (at::GradMode is off) */
    /* c10::InferenceMode: no_grad, and kernels for autograd keys are not called */
    bool inference;
    bool no_cast_cache;     /* autocast casts a weight each time it is used */
    uint8_t fallback;       /* DP_FALLBACK_* */
    uint64_t cast_backends; /* DP_BBIT() of each backend for which autocast is on */
    /* by backend: number of the dtype for autocast + 1; 0: autocast's default dtype */
    uint8_t cast_dtype[64];
} dp_mode;

/* Policies of autocast: what dp_autocast() does with floating-point arguments on the device of its
 * key; it leaves those of float64 alone. */
enum {
    DP_CAST_LOWER_PRECISION_FP = 1, /* cast all to the dtype of autocast */
    DP_CAST_FP32,                   /* cast all to float32 */
    /* cast none; if the first argument is one, an argument `dtype` that is None is float32 */
    DP_CAST_FP32_SET_OPT_DTYPE,
    DP_CAST_PROMOTE /* cast all to float32 if one of them is, else to the dtype of autocast */
};

/* -- wrapper tensors -- */

/* A wrapper tensor: a tensor made of other tensors, integers and doubles, whose meaning only the
 * kernels of its kind know (for example values and a mask; values and indices; values, a scale and
 * a zero point).  A wrapper tensor is data: it has no functions of a plugin, and may outlive the
 * plugin that made it.  Kernels for its keys read the parts (dp_wrapper_get); other kernels never
 * get a wrapper tensor. */
typedef struct dp_wrapper {
    uint32_t size;
    uint32_t version; /* of the layout of the parts; its meaning is up to the kind */
    /* letters, digits and "_.:-"; a kind that DP_WRAPPER_KIND names has its own key */
    const char *kind;
    /* Keys of the tensor: not Dense, and not the key of another kind.  A key set without a backend
     * gets the device's.  May be empty for a kind that DP_WRAPPER_KIND names. */
    dp_keyset keys;
    dp_dtype dtype;
    dp_device device;
    int32_t ndim;
    uint32_t n_tensors, n_ints; /* at most DP_LIMIT_WRAPPER_PARTS of each */
    const int64_t *sizes;       /* [ndim] */
    const int64_t *strides;     /* [ndim]; NULL: contiguous */
    dp_tensor *const *tensors;  /* [n_tensors] at least one; none is NULL */
    const int64_t *ints;        /* [n_ints] */
    uint32_t n_doubles;         /* at most DP_LIMIT_WRAPPER_PARTS */
    int32_t layout;             /* DP_LAYOUT_*; 0 is strided */
    const double *doubles;      /* [n_doubles] */
} dp_wrapper;

/* -- objects: state of a plugin that calls pass on and clients hold by handle -- */

/* Functions of a plugin for one kind of objects, passed to DP_OBJECT_KIND().  Set `size` first.  A
 * function that is NULL is not called.  A function that fails describes the failure in *err with
 * dp_error_set(), and returns the code that dp_error_set() returned. */
typedef struct dp_object_ops {
    uint32_t size;
    uint32_t version; /* version of the data's layout; raise it when the layout changes */
    /* Release everything that the data refers to, but not the data itself.  The host calls this
     * once for each object, on any thread, after the last reference was released or before the
     * plugin is unloaded, when no other call of the plugin can use the object.  Must not block.
     * A failure is logged, and the object has ended nevertheless.  NULL: the data refers to
     * nothing. */
    int (*end)(void *data, dp_error *err);
    /* Take over an object at a reload: the host calls this function of the new code for an object
     * whose data the code of `version` made.  The function may change the data; but if the versions
     * are equal, calls of the old code may still use the object.  0: the object belongs to the new
     * code now.  A failure, or NULL: the object stays with the old code and ends with it. */
    int (*adopt)(void *data, size_t bytes, uint32_t version, dp_error *err);
} dp_object_ops;

/* Data and tensors of an object; dp_object_get() fills it in for kernels of the plugin that named
 * the kind.  Set `size` first.  The pointers are borrowed, and are valid while the caller has a
 * reference to the object. */
typedef struct dp_object_view {
    uint32_t size;
    uint32_t n_tensors;
    dp_tensor *const *tensors; /* [n_tensors] none is NULL */
    void *data;                /* 16-byte aligned; all bytes are zero when the object was made */
    size_t bytes;
} dp_object_view;

/* Convert `n` elements that are src_stride bytes apart to elements that are dst_stride bytes apart.
 * `src` and `dst` share no memory and need not be aligned. */
typedef void (*dp_convert_fn)(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                              int64_t n);

/* Body of dp_parallel_for(), for the range [begin, end).  Runs on any thread; must not call
 * operators. */
typedef void (*dp_range_fn)(int64_t begin, int64_t end, void *user);

/* Body of a thread (dp_thread_start).  `ctx` belongs to the thread, which may call operators with
 * it. */
typedef void (*dp_thread_fn)(dp_ctx *ctx, void *arg);
#define DP_THREAD_NAME_MAX 32 /* bytes with the final NUL; longer names are cut */

#ifdef __cplusplus
}
#endif
#endif
