/* dispatchd/abi.h -- the structs that cross between the host and a plugin.
 *
 * Kernel authors include plugin.h, embedders dispatch.h; both include this.  What may change:
 * structs grow at their end only, and each starts with its size, so that either side can be the
 * older one; fields are never reordered or retyped within one DP_ABI_MAJOR.  What a plugin's struct
 * does not cover, the host takes as zero, and zero is always the stated default: a member that may
 * be left out and for which zero would say something has a type that says otherwise
 * (dp_opt_dtype). */
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
/* Until interface 2 is frozen, every change of a struct raises this number, and the loader takes
 * plugins of this draft alone.  0 will say that it is frozen. */
#ifndef DP_ABI_DRAFT
#define DP_ABI_DRAFT 2
#endif
/* The oldest minor version this plugin can run on.  Fill in by hand only to promise less. */
#ifndef DP_ABI_TARGET
#define DP_ABI_TARGET DP_ABI_MINOR
#endif
/* Bit `dtype` for each dtype that this header knows.  The host refuses to call a plugin's kernel
 * with another one.  Fill in by hand only to promise less. */
#ifndef DP_DTYPES_KNOWN
#define DP_DTYPES_KNOWN                                (0ull DP_DTYPE_MAP(DP_DTYPE_KNOWN_))
#define DP_DTYPE_KNOWN_(id, number, dtype_name, bytes) | 1ull << (number)
#endif
#define DP_ABI_MAGIC 0x31504d44u /* "DMP1": its upper half is not zero, so garbage is refused */

typedef struct dp_op dp_op; /* an operator by name; stays valid as long as the registry */

/* -- elementwise iteration: who iterates includes iter.h -- */

typedef struct dp_iter dp_iter;
typedef struct dp_iter_config dp_iter_config;
typedef struct dp_reduction dp_reduction;
/* n1 rows of n0 elements.  Operand k's next element lies strides[k] bytes on, its next row
 * strides[n + k] for the iterator's n operands.  `data` is this call's own, to be advanced.  May
 * run on several threads at once, user is shared.  Must not call operators. */
typedef void (*dp_iter_loop2d)(char **data, const int64_t *strides, int64_t n0, int64_t n1,
                               void *user);
/* The same for one row. */
typedef void (*dp_iter_loop)(char *const *data, const int64_t *strides, int64_t n, void *user);

/* One call as a boxed kernel sees it.  args are in schema order, defaults filled in, checked
 * against the schema; everything in them is borrowed.  rets come in as None; the kernel sets each,
 * rets[0] = dp_tensor_value(t), and gives its reference away: all but those that the schema marks
 * as a written argument, Tensor(a!), which stay None.  Those the host gives to the outermost
 * caller, so a layer can hand its own rets on to the call below it. */
typedef struct dp_call {
    uint32_t size;
    uint32_t n_args, n_rets;
    dp_key key; /* the key this kernel was chosen for */
    uint16_t reserved;
    dp_ctx *ctx;
    const dp_op *op;
    dp_keyset keys; /* the whole key set of the call; redispatch with dp_keyset_below(keys, key) */
    const dp_value *args;
    dp_value *rets;
} dp_call;

/* Boxed kernel: works for every schema.  Returns 0, or a DP_E* code after describing the fault in
 * the context (dp_fail does both, and what a failing dp_* function returned is handed on as it is).
 * What it put in rets before failing is released by the host.  Must not throw or longjmp out.  Any
 * thread. */
typedef int (*dp_boxed_fn)(dp_call *call);
typedef void (*dp_any_fn)(void); /* an unboxed kernel, of the C type that its code stands for */

/* -- what a schema says (dp_schema_info_get) -- */

enum {                      /* dp_schema_info.flags */
       DP_OP_COMPOSITE = 1, /* it has a kernel that calls other operators: dp_decompose() runs it */
       DP_OP_IMPLICIT = 2,  /* and that is CompositeImplicitAutograd's: autograd sees the others */
       DP_OP_VARARG = 4,    /* "...": more arguments than the schema names */
       DP_OP_VARRET = 8
};

enum { /* dp_schema_info.form, of PyTorch's SchemaKind */
       DP_VARIANT_FUNCTIONAL = 0,
       DP_VARIANT_IN_PLACE, /* add_: writes its first argument */
       DP_VARIANT_OUT,      /* add.out: writes arguments that are given by name only */
       DP_VARIANT_MUTABLE   /* writes some other argument */
};

/* Facts of an operator.  Set `size` first.  Valid while the call, or the dp_ctx_begin(), that they
 * were got in lasts: `schema` and what dp_op_arg() gives lie in its snapshot.  Bit i of a mask is
 * argument i; arguments past the 64th are in none, dp_op_arg() tells of them, too. */
typedef struct dp_schema_info {
    uint32_t size;
    uint32_t flags; /* DP_OP_* */
    uint32_t n_args, n_rets;
    int32_t form; /* DP_FORM_* */
    uint32_t reserved;
    uint64_t tensors;   /* is, or may hold, tensors: Tensor, Tensor?, lists of them */
    uint64_t written;   /* by the schema, or tagged also_written */
    uint64_t viewed;    /* not written; some return may share its memory */
    const char *text;   /* canonical schema: "aten::add.Tensor(Tensor self, ..." */
    const void *schema; /* the host's */
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

/* One argument or return.  Set `size` first.  For Tensor?[] type is TENSOR, depth 1,
 * optional_item. */
typedef struct dp_arg_info {
    uint32_t size;
    int32_t type;       /* DP_TYPE_* of what it holds in the end */
    uint32_t depth;     /* of lists around that: 2 for int[][] */
    uint32_t length;    /* of the outermost: 2 for int[2]; 0: any */
    bool optional;      /* itself may be None */
    bool optional_item; /* what it holds in the end may be None */
    bool kwarg_only, written, has_default;
    bool is_argument;      /* of a return: the host returns argument alias_of, no kernel gives it */
    int32_t alias_of;      /* of a return: the argument that it is, or shares memory with; -1 */
    const char *name;      /* "" for an unnamed return */
    const char *type_name; /* "Tensor", "int", "QScheme" */
    dp_value default_value; /* None without one; borrowed */
} dp_arg_info;

/* -- registration records -- */

enum {                      /* dp_block.kind */
       DP_BLOCK_PLUGIN = 1, /* ns = plugin name, key = version */
       DP_BLOCK_LIBRARY,    /* TORCH_LIBRARY: owns the namespace; DEF and IMPL items */
       DP_BLOCK_FRAGMENT,   /* TORCH_LIBRARY_FRAGMENT: DEF and IMPL items, does not own */
       DP_BLOCK_IMPL,       /* TORCH_LIBRARY_IMPL: IMPL items for `key` */
       DP_BLOCK_FALLBACK,   /* one kernel (boxed) for `key`, all operators */
       DP_BLOCK_BACKEND,    /* names a backend, ns = its name; data = dp_device_ops or NULL */
       DP_BLOCK_OBSERVER,   /* fn is a dp_observer_fn */
       /* fn is a dp_hook_fn: run after the records are checked, before they are published;
        * default: nothing.  A failure refuses the load. */
       DP_BLOCK_ON_LOAD,
       /* fn is a dp_hook_fn: run after the last call left; default: nothing.  A failure keeps
        * the plugin loaded. */
       DP_BLOCK_ON_UNLOAD,
       DP_BLOCK_SESSION_END, /* fn is a dp_hook_fn: run when a session has ended */
       DP_BLOCK_KIND,        /* names a kind of wrapper tensors, ns = its name */
       DP_BLOCK_OBJECT,      /* a kind of objects: ns, key = its name, data = dp_object_ops */
       DP_BLOCK_RESIDENT,    /* never dlclosed; unloading detaches it and says so */
       DP_BLOCK_END
};

enum {                  /* dp_item.kind */
       DP_ITEM_DEF = 1, /* name = schema, tags = space-separated */
       DP_ITEM_IMPL     /* name = operator name without namespace, with .overload */
};

enum {                          /* dp_item.flags */
       DP_FLAG_FALLTHROUGH = 1, /* no kernel: the key is skipped */
       DP_FLAG_BELOW = 2,       /* the kernel redispatches below its own key */
       /* without memory (dp_memoryless) the kernel makes and checks the same tensors and touches
        * no bytes.  For CPU: so it serves Meta and Fake, too.  For a composite key: so it may
        * run there, and for wrappers.  Of an IMPL block: for all its items */
       DP_FLAG_META = 4,
       /* for a layer: it has nothing to do, and is passed over, where no tensor among the
        * arguments may have a gradient, or gradients are off.  Of an IMPL block: for all its
        * items */
       DP_FLAG_GRAD = 8,
       /* what it returns where its schema marks a view it made with dp_as_strided(),
        * dp_view_sizes() or dp_view_as() of that argument, which make it a view there and then.
        * With DP_FLAG_META, for CPU: it touches no bytes at all, and dp_fallback_cpu() runs it on
        * tensors of devices.  Of an IMPL block: for all its items */
       DP_FLAG_VIEWS = 16
};

typedef struct dp_item {
    uint32_t size;
    uint16_t kind, flags;
    const char *name;
    const char *tags; /* DEF: may be NULL */
    dp_boxed_fn boxed;
    /* NULL: boxed only.  Else `boxed` unboxes for it: the returns of `code` come first in rets,
     * without gaps for written arguments */
    dp_any_fn unboxed;
    const char *code; /* C type of `unboxed`, "TTs>T"; "" when unboxed is NULL */
} dp_item;

typedef struct dp_block {
    uint32_t size;
    uint16_t kind, flags;
    uint32_t line, n_items, item_size;
    uint32_t reserved;
    const char *file;
    const char *ns;
    const char *key; /* "" where a block has none */
    const dp_item *items;
    dp_any_fn fn;
    const void *data;
    uint64_t dtypes; /* DP_DTYPES_KNOWN where the block was compiled; 0: all of the host's */
} dp_block;

/* Hook of a plugin; fails as a kernel does.  Runs on the loading thread with nothing of the plugin
 * in flight. */
typedef int (*dp_hook_fn)(dp_ctx *ctx);

/* What an observer is told of one call.  Everything is borrowed for the duration of the observer;
 * args and rets are as in dp_call. */
typedef struct dp_observation {
    uint32_t size;
    int32_t phase;   /* 0 before, 1 after */
    uint64_t id;     /* of the call: the same before and after, and never another call's */
    uint64_t nanos;  /* CLOCK_MONOTONIC */
    const char *op;  /* full name */
    dp_key key;      /* that the kernel was chosen for */
    uint16_t depth;  /* calls around this one, redispatches included */
    int32_t rc;      /* after: what the kernel returned */
    uint32_t thread; /* small numbers from 1; of threads that run at once no two have the same */
    uint32_t n_args, n_rets; /* n_rets is 0 before, and after a failure */
    const dp_value *args;
    const dp_value *rets;
    const char *label; /* of the request's context, "session 3"; "" when it has none */
    void *state; /* the observer's own, one a call: NULL before, and what it left there after */
    const dp_op *handle; /* `op` as dp_op_find() gives it; stays valid as long as the registry */
    dp_keyset keys;      /* key set of the call, as dp_call.keys */
    const char *plugin;  /* whose kernel runs */
    uint64_t generation; /* of that plugin; a reload makes a new one */
} dp_observation;

/* An observer (DP_OBSERVER) sees every call (not redispatch) of every operator that reaches a
 * kernel, on the calling thread, before the kernel and after it; RecordFunction's job.
 * DP_OBSERVER_OF sees the calls of one operator.  DP_OBSERVER_KEY sees the calls and redispatches
 * whose kernel was chosen for one key.  There may be DP_LIMIT_OBSERVERS, which are told in load
 * order.  It must be short and must not call operators; it may write nothing of *o but `state`.
 * One that is loaded or unloaded meanwhile does not see the rest of the call, so `state` should not
 * be the only pointer to something.  Typed calls that an observer sees are boxed, so that it sees
 * their arguments; calls that nobody observes stay as they are. */
typedef void (*dp_observer_fn)(dp_observation *o);

typedef struct dp_host dp_host;

/* The one symbol a plugin exports, dp_plugin_root.  Frozen: size and order never change. */
typedef struct dp_root {
    uint32_t magic;
    uint16_t abi_major, abi_minor, abi_target, abi_draft;
    uint32_t block_size;
    const dp_block *begin, *end;
    const dp_host **host; /* the loader writes the host's table here before anything runs */
} dp_root;

/* -- calling with C types -- */

/* An operator together with the C type the caller will use; made by dp_typed_init(). */
typedef struct dp_typed {
    const dp_op *op;
    uint32_t code; /* number of the interned code string */
    uint32_t id;   /* the operator's */
} dp_typed;

/* Between dp_enter() and dp_leave() the chosen kernel cannot be unloaded. */
typedef struct dp_entered {
    dp_any_fn unboxed; /* NULL: box the arguments and use dp_run_boxed() */
    uint64_t reserved[7];
} dp_entered;

/* -- dispatcher state -- */

enum { /* dp_mode.fallback: of calls that only a backend's fallback serves, or dp_fallback_cpu()
          from a kernel; what makes a view copies nothing and is always allowed */
       DP_FALLBACK_ALLOW,
       DP_FALLBACK_REPORT, /* a warning that names the operator */
       DP_FALLBACK_FORBID  /* DP_ENOTIMPL that names it */
};

/* Dispatcher state of a request beyond the keys that it includes and excludes.  Zero is every
 * default.  Kernels read it with dp_ctx_mode() and change it with dp_guard_mode(). */
typedef struct dp_mode {
    uint32_t size;
    bool no_grad;           /* nothing is recorded for gradients; at::GradMode is off */
    bool inference;         /* c10::InferenceMode: no_grad, and no autograd key is called */
    bool no_cast_cache;     /* autocast casts a weight each time it is used */
    uint8_t fallback;       /* DP_FALLBACK_* */
    uint64_t cast_backends; /* DP_BBIT of those that autocast is on for */
    uint8_t cast_dtype[64]; /* by backend: the dtype's number + 1; 0: autocast's own choice */
} dp_mode;

/* -- tensors made of tensors -- */

/* A wrapper tensor: of a kind, with tensors, integers and doubles that only its kind's kernels
 * understand (values and a mask; values and indices; values, a scale and a zero point).  It is
 * data: it has no function of a plugin, and outlives the one that made it.  Kernels of its keys
 * take it apart; no other kernel gets one. */
typedef struct dp_wrapper {
    uint32_t size;
    uint32_t version; /* of the kind's own arrangement; what it means is the kind's */
    const char *kind; /* letters, digits and "_.:-"; one that DP_WRAPPER_KIND names has its key */
    /* never Dense, nor another kind's; without a backend: the device's.  May be empty for a kind
     * that DP_WRAPPER_KIND names */
    dp_keyset keys;
    dp_dtype dtype;
    dp_device device;
    int32_t ndim;
    uint32_t n_tensors, n_ints; /* DP_LIMIT_WRAPPER_PARTS at most, of each */
    const int64_t *sizes;       /* [ndim] */
    const int64_t *strides;     /* [ndim]; NULL: contiguous */
    dp_tensor *const *tensors;  /* [n_tensors], at least one; never NULL */
    const int64_t *ints;        /* [n_ints] */
    uint32_t n_doubles;         /* DP_LIMIT_WRAPPER_PARTS at most */
    int32_t layout;             /* DP_LAYOUT_*; 0 is strided */
    const double *doubles;      /* [n_doubles] */
} dp_wrapper;

/* -- objects: state of a plugin that calls pass on and clients hold by handle -- */

/* The functions by which a plugin ends and adopts its objects of one kind, given to
 * DP_OBJECT_KIND().  Set `size` first; a function that is NULL is not called.  One that fails
 * describes the fault in *err, with dp_error_set(), and returns the code of that. */
typedef struct dp_object_ops {
    uint32_t size;
    uint32_t version; /* raised by the plugin when it arranges its data in another way */
    /* Release what the object's data refers to, not the data itself: the last reference is gone, or
     * the plugin goes.  Called once for each object, on any thread, when no other call of the
     * plugin can use the object.  Must not block.  A failure is logged; the object has ended all
     * the same.  NULL: the data refers to nothing. */
    int (*end)(void *data, dp_error *err);
    /* Called at a reload, in the new code: take over an object whose data the code of `version`
     * made.  It may change the data, but calls of the old code may still use it if the version is
     * the same.  0: the object belongs to the new code from now on.  A failure, or NULL: it stays
     * with the old code and ends with it. */
    int (*adopt)(void *data, size_t bytes, uint32_t version, dp_error *err);
} dp_object_ops;

/* The data and the tensors of an object, which dp_object_get() fills in for kernels of the plugin
 * that named its kind.  Set `size` first.  The pointers are borrowed: they are good while the
 * caller holds the object. */
typedef struct dp_object_view {
    uint32_t size;
    uint32_t n_tensors;
    dp_tensor *const *tensors; /* [n_tensors], never NULL */
    void *data;                /* 16-byte aligned; zero when the object was made */
    size_t bytes;
} dp_object_view;

/* Converts n elements, src_stride bytes apart, to others that lie dst_stride bytes apart; they
 * share no memory and need not be aligned. */
typedef void (*dp_convert_fn)(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                              int64_t n);

/* Body of dp_parallel_for: [begin, end).  Any thread; must not call operators. */
typedef void (*dp_range_fn)(int64_t begin, int64_t end, void *user);

/* Body of a thread (dp_thread_start).  ctx is the thread's own: with it it calls operators. */
typedef void (*dp_thread_fn)(dp_ctx *ctx, void *arg);
#define DP_THREAD_NAME_MAX 32 /* bytes with the final NUL; longer names are cut */

#ifdef __cplusplus
}
#endif
#endif
