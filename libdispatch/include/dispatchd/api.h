/* dispatchd/api.h -- every function the host offers to a plugin, once.
 *
 * Read this as a list of declarations: DP_FN(return type, name, parameters, arguments).  It is
 * included several times with DP_FN defined to make the host's table, the inlines through which a
 * plugin calls it, and the prototypes an embedder links with; so all of them have one name and one
 * text.  The list grows at its end only.
 *
 * Functions that take a dp_ctx and return int describe their failure in that context's dp_error and
 * return its code: a kernel can hand it on as it is.  "borrowed": for the call; "owned": the caller
 * releases; "takes": the callee releases, also on failure.  Thread: that of the context; without a
 * context, any. */

/* -- errors and memory -- */

/* Describe a fault and return its code.  code is DP_E*; printf format. */
DP_FN(int, dp_vfail,
      (dp_ctx * ctx, int code, const char *format, va_list ap), (ctx, code, format, ap))
/* Scratch memory of the running kernel, 64-byte aligned: gone when it returns.  What its returns
 * point to is copied then and lasts as long as the caller's own; a caller with C types takes it as
 * it is, and so it lasts, too.  NULL when there is none (the error is set).  bytes may be 0. */
DP_FN(void *, dp_alloc, (dp_ctx * ctx, size_t bytes), (ctx, bytes))
/* Run fn over [begin, end) in pieces of at least `grain`, on the host's pool within the session's
 * bound, the calling thread included.  Returns when all of it ran, or with dp_checkpoint()'s code,
 * which the kernel hands on, when the request was called off: then what fn was to write is
 * unspecified.  A fn that takes more than 10 ms for one step looks at dp_stop_code() meanwhile. */
DP_FN(int, dp_parallel_for,
      (dp_ctx * ctx, int64_t begin, int64_t end, int64_t grain, dp_range_fn fn, void *user),
      (ctx, begin, end, grain, fn, user))

/* -- tensors -- */

DP_FN(dp_tensor *, dp_tensor_ref, (dp_tensor * t), (t))   /* returns t; any thread */
DP_FN(dp_tensor *, dp_tensor_unref, (dp_tensor * t), (t)) /* takes; NULL is fine; returns NULL */
/* Fill in *view; set view->size first (DP_VIEW does). */
DP_FN(void, dp_tensor_view, (const dp_tensor *t, dp_view *view), (t, view))
DP_FN(dp_keyset, dp_tensor_keys, (const dp_tensor *t), (t))
/* Kernels with DP_FLAG_GRAD see the calls that t is an argument of.  A layer says so of tensors
 * that require a gradient and of what is computed from them; it may take it back, which only saves
 * time. */
DP_FN(void, dp_tensor_set_may_grad, (dp_ctx * ctx, dp_tensor *t, bool on), (ctx, t, on))
DP_FN(bool, dp_tensor_may_grad, (const dp_tensor *t), (t))
DP_FN(int64_t, dp_tensor_offset, (const dp_tensor *t), (t))         /* storage_offset, elements */
DP_FN(uint64_t, dp_tensor_storage_id, (const dp_tensor *t), (t))    /* equal: bytes are shared */
DP_FN(size_t, dp_tensor_storage_bytes, (const dp_tensor *t), (t))
DP_FN(bool, dp_tensor_is_wrapped, (const dp_tensor *t), (t))        /* wrapped number */
DP_FN(void, dp_tensor_set_wrapped, (dp_tensor * t, bool on), (t, on)) /* 0-dim tensors only */
/* How often it, or what shares its memory as a view, was written.  The host counts: once for a call
 * of a kernel whose schema says that it writes t (and whose own calls did not count for it). */
DP_FN(uint64_t, dp_tensor_version, (const dp_tensor *t), (t))
/* For who writes past the operators: an embedder, a plugin's thread.  Kernels leave it to the
 * host. */
DP_FN(void, dp_tensor_bump_version, (dp_tensor * t), (t))
/* is_contiguous(memory_format); any format but CONTIGUOUS is false for other ranks. */
DP_FN(bool, dp_tensor_is_contiguous, (const dp_tensor *t, dp_memory_format f), (t, f))
DP_FN(bool, dp_tensor_is_dense, (const dp_tensor *t), (t)) /* non_overlapping_and_dense */
DP_FN(dp_memory_format, dp_tensor_suggest_format, (const dp_tensor *t), (t))

/* -- new tensors -- */

/* New tensor with undefined contents.  sizes [ndim] >= 0.  CONTIGUOUS, or CHANNELS_LAST for 4 (or
 * 3) dims, CHANNELS_LAST_3D for 5 (or 4).  *out owned.  Source: at::empty. */
DP_FN(int, dp_empty,
      (dp_ctx * ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
       dp_memory_format format, dp_tensor **out),
      (ctx, dtype, device, ndim, sizes, format, out))
/* Same, with strides [ndim] >= 0 of the caller.  Source: at::empty_strided. */
DP_FN(int, dp_empty_strided,
      (dp_ctx * ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
       const int64_t *strides, dp_tensor **out),
      (ctx, dtype, device, ndim, sizes, strides, out))
/* Same sizes and device as t.  dtype DP_DTYPE_NONE: t's.  PRESERVE keeps t's strides when it is
 * non-overlapping and dense, else infers dense ones in its order.  Source: at::empty_like. */
DP_FN(int, dp_empty_like,
      (dp_ctx * ctx, const dp_tensor *t, dp_dtype dtype, dp_memory_format format, dp_tensor **out),
      (ctx, t, dtype, format, out))

/* -- views by strides -- */

/* A tensor on t's storage: sizes, strides [ndim] (NULL: contiguous), storage_offset in elements.  A
 * view of t, with its version and root, it becomes where the schema marks a return as one.
 * Checked against the bounds of the storage.  Source: at::as_strided. */
DP_FN(int, dp_as_strided,
      (dp_ctx * ctx, const dp_tensor *t, int ndim, const int64_t *sizes, const int64_t *strides,
       int64_t storage_offset, dp_tensor **out),
      (ctx, t, ndim, sizes, strides, storage_offset, out))
/* Strides with which t can be viewed as sizes [ndim] (no -1) without a copy; false when it cannot.
 * strides [ndim] out.  Source: at::detail::computeStride. */
DP_FN(bool, dp_view_strides,
      (const dp_tensor *t, int ndim, const int64_t *sizes, int64_t *strides),
      (t, ndim, sizes, strides))

/* -- tensors of numbers -- */

/* 0-dim tensor on the CPU holding a Scalar; dtype DP_DTYPE_NONE: bool, int64, float64 or complex128
 * by its kind.  Source: at::scalar_tensor. */
DP_FN(int, dp_scalar_tensor, (dp_ctx * ctx, dp_value scalar, dp_dtype dtype, dp_tensor **out),
      (ctx, scalar, dtype, out))

/* -- copies and overlap -- */

/* Copy elements, converting dtype, layout and device; src broadcasts to dst.  Outside of a call it
 * counts as a version.  Source: at::copy_. */
DP_FN(int, dp_copy, (dp_ctx * ctx, dp_tensor *dst, const dp_tensor *src), (ctx, dst, src))
/* Overlap of two tensors' memory: 0 none, 1 full, 2 partial, 3 too hard to say.
 * Source: at::get_overlap_status. */
DP_FN(int, dp_overlap, (const dp_tensor *a, const dp_tensor *b), (a, b))
/* 0 no element shares memory with another, 1 some do, 2 too hard.  at::has_internal_overlap. */
DP_FN(int, dp_internal_overlap, (const dp_tensor *t), (t))

/* -- dtypes -- */

DP_FN(size_t, dp_dtype_size, (dp_dtype d), (d))          /* bytes; 0 for no dtype of ours */
DP_FN(const char *, dp_dtype_name, (dp_dtype d), (d))    /* "float32"; "?" for none of ours */
DP_FN(dp_dtype, dp_promote_types, (dp_dtype a, dp_dtype b), (a, b))
/* at::result_type of n tensors (NULL entries are skipped); DP_DTYPE_NONE for none. */
DP_FN(dp_dtype, dp_result_type, (dp_tensor *const *tensors, size_t n), (tensors, n))
DP_FN(bool, dp_can_cast, (dp_dtype from, dp_dtype to), (from, to))

/* -- shapes -- */

/* Shape to which a and b broadcast.  out [max(na, nb)] */
DP_FN(int, dp_broadcast_shapes,
      (dp_ctx * ctx, int na, const int64_t *a, int nb, const int64_t *b, int64_t *out),
      (ctx, na, a, nb, b, out))

/* -- elementwise iteration: broadcast, promote, allocate outputs, then loop (iter.h) -- */

/* Fill in *it.  When this fails, the outputs that it allocated are released and set back to NULL;
 * when a loop fails they stay the caller's.  DP_ERUNTIME: shapes, dtypes, devices or memory do not
 * go together.  Source: TensorIteratorConfig::build. */
DP_FN(int, dp_iter_build,
      (dp_ctx * ctx, const dp_iter_config *config, dp_iter *it), (ctx, config, it))
/* Over every element.  As dp_parallel_for(): in pieces of at least config.grain elements, and with
 * its codes.  Source: TensorIteratorBase::for_each. */
DP_FN(int, dp_iter_run,
      (dp_ctx * ctx, const dp_iter *it, dp_iter_loop2d loop, void *user), (ctx, it, loop, user))
/* The same, row by row. */
DP_FN(int, dp_iter_run_1d,
      (dp_ctx * ctx, const dp_iter *it, dp_iter_loop loop, void *user), (ctx, it, loop, user))

/* Bring together the elements of every output, with DP_ITER_REDUCE; also where there are none of
 * them.  r->size is set.  The same bits whatever the number of threads.  As dp_iter_run()
 * otherwise. */
DP_FN(int, dp_iter_reduce,
      (dp_ctx * ctx, const dp_iter *it, const dp_reduction *r, void *user), (ctx, it, r, user))

/* -- calling operators -- */

/* Operator by full name, "aten::add.Tensor", in the registry of this request; NULL and an error
 * naming the nearest names when there is none. */
DP_FN(const dp_op *, dp_op_find, (dp_ctx * ctx, const char *name), (ctx, name))
DP_FN(const char *, dp_op_name, (const dp_op *op), (op)) /* full name */
/* Dispatch.  op may be what dp_op_find() gave: NULL fails with its error.  args [n_args] in schema
 * order, all of them; borrowed.  rets [n_rets] out: owned; None on failure.  A return that is a
 * written argument is given to the outermost caller only; inside a kernel it is None.  When a
 * kernel fails that did not dp_refuse() and may have written, the version of every argument that
 * the schema marks as written counts up and the error's `written` names them. */
DP_FN(int, dp_call_boxed,

           (dp_ctx * ctx, const dp_op *op, const dp_value *args, size_t n_args, dp_value *rets,
       size_t n_rets),
      (ctx, op, args, n_args, rets, n_rets))
/* The same with this key set as it is: no thread state, no union.  A kernel passes
 * dp_keyset_below(call->keys, call->key).  Whether some argument may have a gradient is looked up
 * anew.
 */
DP_FN(int, dp_redispatch_boxed,

           (dp_ctx * ctx, const dp_op *op, dp_keyset keys, const dp_value *args, size_t n_args,
       dp_value *rets,
       size_t n_rets),
      (ctx, op, keys, args, n_args, rets, n_rets))
/* Dispatch by name with C arguments: code is a prefix of the operator's code in its arguments
 * ("Tii>T"; the rest take their defaults), then pointers to owned slots for the returns; those that
 * are written arguments have none. */
DP_FN(int, dp_vinvoke,
      (dp_ctx * ctx, const char *name, const char *code, va_list ap), (ctx, name, code, ap))
/* Drop the references in values that were returned; sets them to None. */
DP_FN(void, dp_values_release, (dp_value * values, size_t n), (values, n))

/* -- calls with C types -- */

/* Bind an operator and the C type of the caller; a mismatch names both.  t borrowed by nothing. */
DP_FN(int, dp_typed_init,
      (dp_ctx * ctx, const char *name, const char *code, dp_typed *t), (ctx, name, code, t))
/* For DP_TYPED: resolve and pin the kernel; dp_leave() must follow iff it returns 0. */
DP_FN(int, dp_enter, (dp_ctx * ctx, const dp_typed *t, dp_keyset argument_keys, dp_entered *e),
      (ctx, t, argument_keys, e))
/* The same with the key set `keys`, as dp_redispatch_boxed() does. */
DP_FN(int, dp_enter_with,
      (dp_ctx * ctx, const dp_typed *t, dp_keyset keys, dp_keyset argument_keys, dp_entered *e),
      (ctx, t, keys, argument_keys, e))
DP_FN(int, dp_run_boxed,

           (dp_ctx * ctx, dp_entered *e, const dp_value *args, size_t n_args, dp_value *rets,
       size_t n_rets),
      (ctx, e, args, n_args, rets, n_rets))
DP_FN(int, dp_leave, (dp_ctx * ctx, dp_entered *e, int rc), (ctx, e, rc)) /* returns rc */

/* -- dispatcher state of the request -- */

/* Guards change the state for what a kernel calls.  Entering one returns its depth, which is what
 * leaving takes; it takes every deeper one back, too.  The end of a kernel leaves all that it
 * entered, and none that others did.  DP_ERESOURCE: DP_LIMIT_GUARDS, or no memory; then nothing has
 * changed, and leaving a negative depth does nothing. */
/* Add to the include and exclude sets. */
DP_FN(int, dp_guard_enter,
      (dp_ctx * ctx, dp_keyset include, dp_keyset exclude), (ctx, include, exclude))
DP_FN(void, dp_guard_leave, (dp_ctx * ctx, int depth), (ctx, depth))
DP_FN(dp_keyset, dp_ctx_include, (const dp_ctx *ctx), (ctx))
DP_FN(dp_keyset, dp_ctx_exclude, (const dp_ctx *ctx), (ctx))
/* Set the mode; what mode->size does not cover stays as it is.  DP_EVALUE: a number that is none of
 * its field's.  DP_MODE(m, ctx); m.no_grad = true; depth = dp_guard_mode(ctx, &m); */
DP_FN(int, dp_guard_mode, (dp_ctx * ctx, const dp_mode *mode), (ctx, mode))
/* The mode in force.  Borrowed: until the guard that set it is left. */
DP_FN(const dp_mode *, dp_ctx_mode, (const dp_ctx *ctx), (ctx))
/* Key and key set of the running call: for unboxed kernels. */
DP_FN(dp_key, dp_ctx_key, (const dp_ctx *ctx), (ctx))
DP_FN(dp_keyset, dp_ctx_keys, (const dp_ctx *ctx), (ctx))

/* -- keys and devices by name -- */

/* Runtime or alias key by name, "AutogradCPU", "npu"; Undefined when there is none. */
DP_FN(dp_key, dp_key_find, (dp_ctx * ctx, const char *name), (ctx, name))
/* Device by name, "cpu", "npu:1"; its key set for new tensors. */
DP_FN(int, dp_device_find, (dp_ctx * ctx, const char *name, dp_device *out), (ctx, name, out))
DP_FN(dp_keyset, dp_device_keys, (dp_device d), (d))

/* -- stopping -- */

/* Is the request still wanted?  0; DP_ECANCELLED when its client called it off or left;
 * DP_EDEADLINE.  For kernels that take long and do not use dp_parallel_for(). */
DP_FN(int, dp_checkpoint, (dp_ctx * ctx), (ctx))

/* -- random numbers --
 *
 * A kernel holds one generator at a time, from enter to leave, and no other kernel draws from it
 * meanwhile.  What it draws depends on the generator's seed and on the draws before it alone, and
 * is what PyTorch draws.  A failing kernel leaves too. */

/* Hold g, or the session's default generator of `device` when g is NULL.  DP_ERUNTIME: g is of
 * another device, or one is held already. */
DP_FN(int, dp_generator_enter, (dp_ctx * ctx, dp_generator *g, dp_device device), (ctx, g, device))
DP_FN(void, dp_generator_leave, (dp_ctx * ctx), (ctx))
DP_FN(dp_device, dp_generator_device, (const dp_generator *g), (g))
/* The stream of the one held, which must be the CPU's: n draws of 32 or 64 bits. */
DP_FN(int, dp_generator_u32, (dp_ctx * ctx, uint32_t *out, size_t n), (ctx, out, n))
DP_FN(int, dp_generator_u64, (dp_ctx * ctx, uint64_t *out, size_t n), (ctx, out, n))
/* n draws of [0, 1), of 24 bits as DP_FLOAT32 or 53 as DP_FLOAT64.
 * at::uniform_real_distribution */
DP_FN(int, dp_generator_uniform,
      (dp_ctx * ctx, dp_dtype dtype, void *out, size_t n), (ctx, dtype, out, n))
/* n draws of mean 0 and deviation 1, DP_FLOAT32 or DP_FLOAT64.  They come in pairs: an odd one out
 * is kept for the next draw of its dtype, whoever makes it.  at::normal_distribution */
DP_FN(int, dp_generator_normal,
      (dp_ctx * ctx, dp_dtype dtype, void *out, size_t n), (ctx, dtype, out, n))
/* The one held, of any device but the CPU: a range of `increment` draws in each of its Philox
 * streams, that begins at *offset.  at::CUDAGeneratorImpl::philox_engine_inputs */
DP_FN(int, dp_generator_philox,
      (dp_ctx * ctx, uint64_t increment, uint64_t *seed, uint64_t *offset),
      (ctx, increment, seed, offset))

/* -- threads: a plugin has none but these --
 *
 * Code is never unmapped under one: a plugin ends and joins its threads in on_unload, and one that
 * leaves some running stays loaded, by their name.  They block every signal. */

/* Run fn(its own context, arg) on a new thread; *id is what to join.  The plugin that fn lies in
 * owns it.  DP_ERESOURCE: DP_LIMIT_PLUGIN_THREADS, or the system has no more. */
DP_FN(int, dp_thread_start,
      (dp_ctx * ctx, const char *name, dp_thread_fn fn, void *arg, uint64_t *id),
      (ctx, name, fn, arg, id))
/* Wait for its end, once.  DP_EBUSY: it still runs after timeout_ms (-1: for ever) and may be
 * joined again.  DP_ENOTFOUND: it was joined, or somebody is waiting for it. */
DP_FN(int, dp_thread_join, (dp_ctx * ctx, uint64_t id, int timeout_ms), (ctx, id, timeout_ms))
/* A thread's context is one long request: this ends it and begins the next.  The memory of
 * dp_alloc() goes, the error and the dispatcher state.  Of the thread itself, between its calls. */
DP_FN(int, dp_thread_turn, (dp_ctx * ctx), (ctx))

/* -- without memory -- */

/* Have the tensors that the running call makes no memory?  So it is on device meta and in fake
 * mode, which is on while the state includes the key Fake (dp_guard_enter).  A kernel with
 * DP_FLAG_META then leaves its loops out; dp_iter_run() and dp_copy() do that by themselves.
 * dp_parallel_for() and draws are errors. */
DP_FN(bool, dp_memoryless, (const dp_ctx *ctx), (ctx))
/* A fake of t: dtype, device, sizes, strides and offset of t over a storage of its own without
 * memory.  Calls of fakes, and all calls in fake mode, make fakes: they run no loop and read no
 * value.  On device meta it is one more tensor of meta.  *out owned. */
DP_FN(int, dp_fake, (dp_ctx * ctx, const dp_tensor *t, dp_tensor **out), (ctx, t, out))

/* -- facts: what a boxed kernel has to know of the operator that it is called for -- */

/* The schema in numbers.  out->size set.  DP_ENOTFOUND: nobody defines op (any more); DP_ERUNTIME:
 * outside of a call and of dp_ctx_begin(), where nothing keeps what *out would point to. */
DP_FN(int, dp_schema_info_get, (dp_ctx * ctx, const dp_op *op, dp_schema_info *out), (ctx, op, out))
/* Argument or return i; false: there are not so many.  out->size set. */
DP_FN(bool, dp_op_arg, (const dp_schema_info *info, uint32_t i, dp_arg_info *out), (info, i, out))
DP_FN(bool, dp_op_ret, (const dp_schema_info *info, uint32_t i, dp_arg_info *out), (info, i, out))

/* -- devices -- */

/* What dp_vfail() does, for the functions of a device (dp_device_ops): they have an error and no
 * context.  err NULL: nothing is written.  Any thread. */
DP_FN(int, dp_error_vset,
      (dp_error * err, int code, const char *format, va_list ap), (err, code, format, ap))

/* -- more of tensors -- */

/* Which tensor this is: never 0, never that of another one, even after it is gone.  A view is
 * another tensor, whatever its shape.  Any thread. */
DP_FN(uint64_t, dp_tensor_id, (const dp_tensor *t), (t))

/* -- values that outlive their call -- */

/* *out: v with a copy of all that it points to, lists in lists too, and a reference to every tensor
 * and generator in it.  Owned, by whoever calls dp_value_free(), on any thread; it is no value to
 * return.  DP_ERESOURCE: *out is None. */
DP_FN(int, dp_value_copy, (dp_ctx * ctx, const dp_value *v, dp_value *out), (ctx, v, out))
/* What dp_value_copy() gave, only that, becomes None. */
DP_FN(void, dp_value_free, (dp_value * v), (v))

/* -- warnings -- */

/* Tell the client something that is no failure: the answer's `warnings` (TORCH_WARN).  printf
 * format; each text once per request.  At most DP_LIMIT_WARNINGS; the rest is one line that says
 * so. */
DP_FN(void, dp_vwarn, (dp_ctx * ctx, const char *format, va_list ap), (ctx, format, ap))

/* -- failing before anything was written: dp_refuse() of helpers.h -- */

DP_FN(int, dp_vrefuse,
      (dp_ctx * ctx, int code, const char *format, va_list ap), (ctx, code, format, ap))

/* -- views: what a kernel returns where its schema marks a return as a view, "Tensor(a) self" and
 *    "-> Tensor(a)", the host makes one, unless it shares no memory with the argument -- */

/* What t is a view of; never itself a view.  NULL: t is none (so is what detach returns).  Borrowed
 * from t.  Any thread.  Source: Tensor._base. */
DP_FN(dp_tensor *, dp_tensor_root, (const dp_tensor *t), (t))
DP_FN(int, dp_tensor_creation, (const dp_tensor *t), (t)) /* DP_CREATED_*; of views */
/* For a layer that has just made the view t, before others see it. */
DP_FN(void, dp_tensor_set_creation, (dp_tensor * t, int creation), (t, creation))

/* -- shapes and storage of tensors that exist --
 *
 * Calls of others that run meanwhile keep the geometry and the bytes that they saw.  When a kernel
 * fails, its written arguments get the geometry back that they had before it; a storage that grew
 * stays so.  Views of t take part in a growing storage, as in PyTorch.  Fails with DP_ERUNTIME:
 * memory that is an embedder's is of a fixed size; a tensor changes its shape, and a storage grows,
 * at most DP_LIMIT_RESIZES times while a call runs that began before. */

/* sizes [ndim].  Its elements stay in the storage, in memory order; new ones are undefined.  format
 * PRESERVE: resize_ without memory_format, which leaves a tensor of these sizes as it is.  No new
 * version.  DP_EPLUGIN: an argument that the schema does not mark as written.  Source:
 * at::resize_. */
DP_FN(int, dp_resize,
      (dp_ctx * ctx, dp_tensor *t, int ndim, const int64_t *sizes, dp_memory_format format),
      (ctx, t, ndim, sizes, format))
/* t gets the storage of `source`, of its dtype and device, with this geometry; strides NULL:
 * contiguous.  t keeps its version counter.  Source: at::set_.source_Storage_storage_offset. */
DP_FN(int, dp_set_storage,
      (dp_ctx * ctx, dp_tensor *t, const dp_tensor *source, int64_t storage_offset, int ndim,
       const int64_t *sizes, const int64_t *strides),
      (ctx, t, source, storage_offset, ndim, sizes, strides))
/* One output of the running operator, in whichever form it was called: *out NULL is made (owned by
 * the caller); an out= argument of another shape is resized, with PyTorch's warning if it had
 * elements; a tensor that is written in place, or that the kernel reads as well, must have the
 * shape.  A tensor that is there must be of this dtype (DP_DTYPE_NONE: any) and device; strides
 * (NULL: contiguous) are for new shapes only.
 * DP_EPLUGIN: another shape for an argument that the schema does not mark as written.
 * Take views of *out after this.  Source: resize_out, check_inplace. */
DP_FN(int, dp_set_output,

           (dp_ctx * ctx, dp_tensor **out, int ndim, const int64_t *sizes, const int64_t *strides,
       dp_dtype dtype,
       dp_device device),
      (ctx, out, ndim, sizes, strides, dtype, device))

/* -- decomposing -- */

/* Run the operator's composite kernel on the call's arguments, in place of the boxed kernel that
 * calls this, and hand on what it returns; its rets are the call's, which are still None.  A
 * CompositeImplicitAutograd kernel goes before a CompositeExplicitAutograd one
 * (dp_schema_info.flags).  What it calls is dispatched from the top, under the guards that are on.
 * DP_ENOTIMPL: there is none. */
DP_FN(int, dp_decompose, (dp_call * call), (call))

/* -- tensors made of tensors (dp_wrapper) -- */

/* The host copies all of *w and takes its own references.  *out owned: a tensor with w's sizes,
 * strides, dtype and device, no memory, and w's keys.  Without an autograd key among those it has
 * the version of its first tensor.  DP_EVALUE: w says what cannot be; DP_ERESOURCE:
 * DP_LIMIT_WRAPPER_DEPTH wrappers inside one another, DP_LIMIT_WRAPPER_PARTS. */
DP_FN(int, dp_wrapper_new, (dp_ctx * ctx, const dp_wrapper *w, dp_tensor **out), (ctx, w, out))
/* What t is made of, as this call sees it; out->size set.  Borrowed: for the call.  False: t is no
 * wrapper. */
DP_FN(bool, dp_wrapper_get, (const dp_tensor *t, dp_wrapper *out), (t, out))
/* Make t, a wrapper, of something else from now on: w's sizes, strides, tensors, integers and
 * doubles.  Kind, keys, dtype, device and layout must be t's.  DP_EVALUE: t is no wrapper, or these
 * differ.  A tensor in w that is nested as deep as t was when it was made may hold t, and is
 * refused (DP_EVALUE): so no wrapper ever holds itself.  DP_ERUNTIME as for a change of shape:
 * another call made one, or there were DP_LIMIT_RESIZES while a call runs that began before. */
DP_FN(int, dp_wrapper_become, (dp_ctx * ctx, dp_tensor *t, const dp_wrapper *w), (ctx, t, w))

/* -- devices as a whole -- */

/* DP_ENOTIMPL: the backend does not say. */
DP_FN(int, dp_device_memory,
      (dp_ctx * ctx, dp_device device, size_t *free_bytes, size_t *total_bytes),
      (ctx, device, free_bytes, total_bytes))
/* Wait for everything that the device was given.  at::cuda::device_synchronize */
DP_FN(int, dp_device_synchronize, (dp_ctx * ctx, dp_device device), (ctx, device))

/* -- streams and events of devices (dp_device_ops says what they are) --
 *
 * On a device without streams, the host too, every stream is its default one and nothing is ever to
 * be waited for.  They are counted; when their backend is unloaded they answer so.  Any thread.
 * Stream NULL: the default one of the tensor's or the event's device, else the host's. */

/* options NULL: the defaults.  DP_EVALUE: unknown flags, or a priority that the device does not
 * have.  *out owned.  c10::cuda::getStreamFromPool */
DP_FN(int, dp_stream_new,
      (dp_ctx * ctx, dp_device device, const dp_stream_options *options, dp_stream **out),
      (ctx, device, options, out))
DP_FN(dp_stream *, dp_stream_ref, (dp_stream * s), (s))     /* NULL is fine; returns s */
DP_FN(dp_stream *, dp_stream_unref, (dp_stream * s), (s))   /* takes; NULL is fine; returns NULL */
DP_FN(dp_device, dp_stream_device, (const dp_stream *s), (s)) /* of NULL: the CPU */
/* the backend's own; NULL: the default one */
DP_FN(void *, dp_stream_handle, (const dp_stream *s), (s))
/* *done: everything that it was given has ended. */
DP_FN(int, dp_stream_query, (dp_ctx * ctx, const dp_stream *s, bool *done), (ctx, s, done))
DP_FN(int, dp_stream_synchronize, (dp_ctx * ctx, const dp_stream *s), (ctx, s))
/* The stream that kernels of this session use on the device: the default one until another is set.
 * *out owned.  c10::cuda::getCurrentCUDAStream */
DP_FN(int, dp_stream_current, (dp_ctx * ctx, dp_device device, dp_stream **out), (ctx, device, out))
/* For all later calls of the session, until another is set.  Counts a reference of its own. */
DP_FN(int, dp_stream_set_current, (dp_ctx * ctx, dp_stream *s), (ctx, s))
/* flags: DP_EVENT_*.  *out owned.  at::cuda::CUDAEvent */
DP_FN(int, dp_event_new,
      (dp_ctx * ctx, dp_device device, uint32_t flags, dp_event **out), (ctx, device, flags, out))
DP_FN(dp_event *, dp_event_ref, (dp_event * e), (e))
DP_FN(dp_event *, dp_event_unref, (dp_event * e), (e))
/* It is over when everything that s, of its device, was given so far has ended.  May be
 * repeated. */
DP_FN(int, dp_event_record, (dp_ctx * ctx, dp_event *e, const dp_stream *s), (ctx, e, s))
/* What s is given from now on waits for e; s of another backend: the caller waits. */
DP_FN(int, dp_event_wait, (dp_ctx * ctx, const dp_event *e, const dp_stream *s), (ctx, e, s))
/* One that was never recorded is over. */
DP_FN(int, dp_event_query, (dp_ctx * ctx, const dp_event *e, bool *done), (ctx, e, done))
DP_FN(int, dp_event_synchronize, (dp_ctx * ctx, const dp_event *e), (ctx, e))
DP_FN(int, dp_event_elapsed, (dp_ctx * ctx, const dp_event *begin, const dp_event *end, double *ms),
      (ctx, begin, end, ms))

/* -- tensors on streams -- */

/* dp_copy() by the stream: it returns before the copy is done when sizes and dtypes are the same,
 * both lie as rows at one distance each, and both are on the stream's device or one of them in
 * pinned memory.  Otherwise it waits for the stream and is dp_copy().
 * at::copy_(non_blocking=True) */
DP_FN(int, dp_copy_async,
      (dp_ctx * ctx, dp_tensor *dst, const dp_tensor *src, dp_stream *s), (ctx, dst, src, s))
/* Every byte of t, which is dense and on the host or the stream's device.  memset */
DP_FN(int, dp_fill_bytes, (dp_ctx * ctx, dp_tensor *t, int byte, dp_stream *s), (ctx, t, byte, s))
/* Contiguous, on the CPU, in memory that the backend of `device` has pinned, if it can.  *out
 * owned.  at::empty(pin_memory=True) */
DP_FN(int, dp_empty_pinned,

           (dp_ctx * ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
       dp_tensor **out),
      (ctx, dtype, device, ndim, sizes, out))
DP_FN(bool, dp_tensor_is_pinned, (const dp_tensor *t), (t))
/* s uses t's memory: once nobody holds it any more it is put aside until s is done with what it was
 * given by then.  dp_copy_async() and dp_fill_bytes() do this by themselves.  at::record_stream */
DP_FN(int, dp_record_stream, (dp_ctx * ctx, dp_tensor *t, dp_stream *s), (ctx, t, s))

/* -- views of the same bytes in another dtype -- */

/* dp_as_strided() in another dtype, in whose elements strides and storage_offset count; a tensor
 * with the keys Conjugate and Negative that t has, but those in `flip`, a dp_keyset's
 * functionality, the other way round (_conj, _neg_view, view.dtype, view_as_real).  DP_ERUNTIME:
 * memory that begins between two of its elements. */
DP_FN(int, dp_view_as,

           (dp_ctx * ctx, const dp_tensor *t, dp_dtype dtype, uint64_t flip, int ndim,
       const int64_t *sizes,
       const int64_t *strides, int64_t storage_offset, dp_tensor **out),
      (ctx, t, dtype, flip, ndim, sizes, strides, storage_offset, out))

/* -- conversion of elements -- */

/* What makes elements of `to` of elements of `from`, on the calling thread; for one dtype: copies
 * them.  NULL: one is no dtype of ours.  Source: c10::convert, static_cast_with_inter_type. */
DP_FN(dp_convert_fn, dp_converter, (dp_dtype to, dp_dtype from), (to, from))

/* -- the machine -- */

/* The vector level that loops are to run at, DP_ISA_* of isa.h: the highest that this machine has,
 * or DISPATCHD_CPU_CAPABILITY, which is default, avx2 or avx512.  The same for the life of the
 * process.  DP_ERUNTIME: the variable is none of the three, or more than the machine has.  Source:
 * at::native::get_cpu_capability. */
DP_FN(int, dp_cpu_level, (dp_ctx * ctx), (ctx))

/* -- shapes of views -- */

/* t with other sizes [ndim] (no -1) without a copy, as dp_as_strided() with dp_view_strides() would
 * make it.  *out: owned; NULL, and no error, where its strides do not allow it. */
DP_FN(int, dp_view_sizes,
      (dp_ctx * ctx, const dp_tensor *t, int ndim, const int64_t *sizes, dp_tensor **out),
      (ctx, t, ndim, sizes, out))

/* -- notes -- */

/* Say a line about the calling plugin that operators of the host should know, for example which
 * library it found: server.status and the daemon's log show it.  A note of the same name is
 * replaced.  name: a string constant of the plugin, which tells the host whose note it is; printf
 * format.  At most DP_LIMIT_NOTES; a note that finds no memory is lost.  In kernels, hooks and
 * threads. */
DP_FN(void, dp_vnote,
      (dp_ctx * ctx, const char *name, const char *format, va_list ap), (ctx, name, format, ap))

/* -- stopping, asked by any thread -- */

/* The code with which the request is to stop, as dp_checkpoint(), but without describing it: 0,
 * DP_ECANCELLED or DP_EDEADLINE.  For bodies of dp_parallel_for() and loops of iterators whose
 * single step may take more than 10 ms: they return when it is not 0, and dp_parallel_for() then
 * fails with that code.  ctx NULL: the request for which the calling thread runs such a body or
 * loop.  Any thread. */
DP_FN(int, dp_stop_code, (const dp_ctx *ctx), (ctx))

/* -- what a backend has no kernel for -- */

/* Run the call's operator by the CPU's kernel, on copies of the arguments that lie on devices:
 *
 *     DP_FALLBACK(npu, dp_fallback_cpu)
 *
 * Written arguments are copied back, with the geometry that the kernel gave them; results lie on
 * the device of a Device argument, else of the first argument on a device.  A return that is a view
 * of an argument is a view of it.  A generator of a device seeds one of the CPU for the call.  When
 * the kernel fails, no argument on a device was written.  For a boxed kernel of a backend other
 * than CPU and Meta, DP_ENOTIMPL elsewhere.  Source: at::native::cpu_fallback. */
DP_FN(int, dp_fallback_cpu, (dp_call * call), (call))

/* -- devices: memory that is cached, priorities, blocks of other processes -- */

/* Have the device give back memory that it caches, at least `bytes` if there are so many; 0: all.
 * torch.cuda.empty_cache */
DP_FN(int, dp_device_trim, (dp_ctx * ctx, dp_device device, size_t bytes), (ctx, device, bytes))
/* Priorities that streams of the device may have: *greatest <= *least. */
DP_FN(int, dp_stream_priorities, (dp_ctx * ctx, dp_device device, int *least, int *greatest),
      (ctx, device, least, greatest))
/* A name by which another process opens the block of t's storage, and where t lies in it.  Valid
 * while the storage lives.  DP_ENOTIMPL: the backend exports nothing; t has no block of a device.
 * torch.multiprocessing.reductions.reduce_tensor */
DP_FN(int, dp_tensor_export, (dp_ctx * ctx, const dp_tensor *t, dp_exported *out), (ctx, t, out))
/* A tensor over a block that another process exported.  Its bytes are charged to the context's
 * account, and what others write shows.  sizes, strides [ndim]; strides NULL: contiguous;
 * storage_offset in elements of dtype.  Checked against the block's size as exported.  *out
 * owned. */
DP_FN(int, dp_tensor_import,

           (dp_ctx * ctx, const dp_exported *from, dp_dtype dtype, dp_device device, int ndim,
       const int64_t *sizes,
       const int64_t *strides, int64_t storage_offset, dp_tensor **out),
      (ctx, from, dtype, device, ndim, sizes, strides, storage_offset, out))

/* -- keys: which bit of a key set is which functionality's, the host knows -- */

/* k alone; {} for Undefined and for aliases.  A key without a backend gives no backend bit:
 * DP_KEY(DP_F_Dense). */
DP_FN(dp_keyset, dp_keyset_of, (dp_key k), (k))
/* Every functionality strictly below k's, with every backend: what a kernel at k may redispatch to.
 * PythonDispatcher stays in (DispatchKeySet FULL_AFTER). */
DP_FN(dp_keyset, dp_keyset_below, (dp_keyset s, dp_key k), (s, k))
DP_FN(bool, dp_keyset_has, (dp_keyset s, dp_key k), (s, k))
/* Highest-priority runtime key; Undefined when there is no functionality.  A per-backend
 * functionality without a backend bit counts as CPU's, as in PyTorch. */
DP_FN(dp_key, dp_keyset_highest, (dp_keyset s), (s))
/* names: DP_KEYSET_*, or-ed; without backend bits. */
DP_FN(dp_keyset, dp_keyset_named, (unsigned names), (names))
/* Canonical name into buf, "AutogradCPU"; returns buf.  Named backends alive in the process are
 * known by name.  dp_key_find() is the inverse. */
DP_FN(const char *, dp_key_name, (dp_key k, char buf[DP_KEY_NAME_MAX]), (k, buf))

/* -- data of plugins that a tensor carries -- */

/* Attach a value to t under a key, "plugin.name", in place of what was there; NULL or None takes it
 * away.  The host copies the value and all that it points to and takes references to the tensors in
 * it; it is charged to the context's account, outlives the plugin, and goes with t.  It is t's
 * alone: views and results have none.  DP_EVALUE: the value has t in it, or might lead to it, so
 * that t would hold itself; a tensor that another one's attachment holds takes only values that
 * were there before.  DP_ERESOURCE: DP_LIMIT_ATTACHED of one tensor, DP_LIMIT_ATTACHED_BYTES.  Any
 * thread may call for one tensor at once. */
DP_FN(int, dp_tensor_attach,
      (dp_ctx * ctx, dp_tensor *t, const char *key, const dp_value *value), (ctx, t, key, value))
/* *out: a copy of what is attached to t under the key, owned: dp_value_free() ends it.  None:
 * nothing is. */
DP_FN(int, dp_tensor_attached,
      (dp_ctx * ctx, const dp_tensor *t, const char *key, dp_value *out), (ctx, t, key, out))

/* -- sessions -- */

/* The session for which the context works: a number that no other session of the daemon ever has.
 * 0: none, as in hooks that load a plugin, its threads, or an embedder that has no sessions. */
DP_FN(uint64_t, dp_session_id, (const dp_ctx *ctx), (ctx))

/* -- objects of plugins (dp_object_ops) --
 *
 * An object is made by kernels of the plugin that names its kind.  It is data of the plugin and
 * tensors, counted and charged to the context's account.  Values and attachments hold objects as
 * they hold tensors, and clients hold them by handle.  When the plugin is unloaded its objects end,
 * and from then on no code gets their data. */

/* tensors [n]: the object takes its own references, for as long as it lives.  DP_EPLUGIN: no
 * DP_OBJECT_KIND that is loaded names `kind`.  *out owned. */
DP_FN(int, dp_object_new,

           (dp_ctx * ctx, const dp_object_ops *kind, size_t bytes, dp_tensor *const *tensors,
       size_t n, dp_object **out),
      (ctx, kind, bytes, tensors, n, out))
/* Fill in *out; out->size set.  The data is the kernel's to change; kernels that may run at once
 * agree among themselves.  DP_ETYPE: o is of another kind.  DP_ERUNTIME: it has ended, or is
 * another version's that this one did not adopt. */
DP_FN(int, dp_object_get,
      (dp_ctx * ctx, dp_object *o, const dp_object_ops *kind, dp_object_view *out),
      (ctx, o, kind, out))
/* NULL is fine; returns o; any thread */
DP_FN(dp_object *, dp_object_ref, (dp_object * o), (o))
DP_FN(dp_object *, dp_object_unref, (dp_object * o), (o))   /* takes; NULL is fine; returns NULL */
DP_FN(const char *, dp_object_kind, (const dp_object *o), (o)) /* "ns.Name"; borrowed from o */
