/* dispatchd/api.h -- the list of all functions that the host offers to plugins.
 *
 * Each entry is DP_FN(return type, name, parameters, arguments).  The header is included several
 * times with different definitions of DP_FN: for the host's table of functions, for the inline
 * functions by which a plugin calls through the table, and for the prototypes that an embedder
 * links with.  New entries are added at the end only.
 *
 * A function that takes a dp_ctx and returns int returns 0, or a DP_E* code after describing the
 * failure in the dp_error of the context; a kernel may return this code as it is.  "Borrowed":
 * valid for the call.  "Owned": the caller releases it.  "Takes": the callee releases it, also on
 * failure.  Thread: the one that uses the context; a function without a context may be called from
 * any thread. */

/* DP_FN_ABOVE is DP_FN for functions that higher folders define: libdispatch/autograd and
 * libdispatch/program.  The host's table gets these functions at the start of the process, since
 * libdispatch/dispatch, which has the table, must not refer to higher folders. */
#ifndef DP_FN_ABOVE
#define DP_FN_ABOVE DP_FN
#endif

/* -- errors and memory -- */

/* Describe a failure and return `code`, a DP_E* code.  `format` is a printf format. */
DP_FN(int, dp_vfail,
      (dp_ctx * ctx, int code, const char *format, va_list ap), (ctx, code, format, ap))
/* Allocate scratch memory of the running kernel, 64-byte aligned.  The memory is released when the
 * kernel returns, and outside of kernels by dp_ctx_reset().  Before that, the host copies the
 * contents that the kernel's returns point to (lists, strings) to memory that is released with the
 * caller's scratch memory.  If the caller uses C types (typed.h), nothing is copied, and the
 * kernel's memory may stay until the caller's is released.  NULL: no memory, and the error is set.
 * `bytes` may be 0. */
DP_FN(void *, dp_alloc, (dp_ctx * ctx, size_t bytes), (ctx, bytes))
/* Run `fn` over [begin, end) in pieces of at least `grain`, on the calling thread and on threads of
 * the host, as many as the session may use.  Returns 0 when all pieces have run.  DP_ECANCELLED or
 * DP_EDEADLINE, as from dp_checkpoint(): the request must stop, and the memory that `fn` writes is
 * unspecified.  DP_EPLUGIN: `fn` called an operator or ended a thread.  If one step of `fn` takes
 * more than 10 ms, `fn` should check dp_stop_code(). */
DP_FN(int, dp_parallel_for,
      (dp_ctx * ctx, int64_t begin, int64_t end, int64_t grain, dp_range_fn fn, void *user),
      (ctx, begin, end, grain, fn, user))

/* -- tensors -- */

DP_FN(dp_tensor *, dp_tensor_ref, (dp_tensor * t), (t))   /* returns `t`; any thread */
/* takes `t`; NULL is allowed; returns NULL */
DP_FN(dp_tensor *, dp_tensor_unref, (dp_tensor * t), (t))
/* Fill in *view.  Set view->size first (DP_VIEW does). */
DP_FN(void, dp_tensor_view, (const dp_tensor *t, dp_view *view), (t, view))
DP_FN(dp_keyset, dp_tensor_keys, (const dp_tensor *t), (t))
/* Set whether `t` may have a gradient, now or later.  Kernels with DP_FLAG_GRAD run only for calls
 * that have such an argument.  A layer sets this for tensors that require a gradient and for
 * tensors computed from them.  Resetting it only saves time. */
DP_FN(void, dp_tensor_set_may_grad, (dp_ctx * ctx, dp_tensor *t, bool on), (ctx, t, on))
DP_FN(bool, dp_tensor_may_grad, (const dp_tensor *t), (t))
/* Return the storage offset in elements (Tensor.storage_offset). */
DP_FN(int64_t, dp_tensor_offset, (const dp_tensor *t), (t))
DP_FN(uint64_t, dp_tensor_storage_id, (const dp_tensor *t), (t))    /* equal ids: one storage */
DP_FN(size_t, dp_tensor_storage_bytes, (const dp_tensor *t), (t))
DP_FN(bool, dp_tensor_is_wrapped, (const dp_tensor *t), (t))        /* is it a wrapped number? */
/* no effect unless `t` is 0-dim */
DP_FN(void, dp_tensor_set_wrapped, (dp_tensor * t, bool on), (t, on))
/* Return how often the tensor, or a tensor that shares its memory as a view, was written.  The host
 * counts one version for a call of a kernel whose schema marks `t` as written, unless the kernel's
 * own calls counted one for `t` already. */
DP_FN(uint64_t, dp_tensor_version, (const dp_tensor *t), (t))
/* Increase the version of `t`, after an embedder's code or a plugin's thread has written to `t`
 * without calling an operator.  Kernels must not call this function, since the host counts versions
 * for them. */
DP_FN(void, dp_tensor_bump_version, (dp_tensor * t), (t))
/* Is `t` contiguous in memory format `f` (Tensor.is_contiguous)?  False if `f` is a channels-last
 * format and `t` does not have the number of dimensions that `f` needs. */
DP_FN(bool, dp_tensor_is_contiguous, (const dp_tensor *t, dp_memory_format f), (t, f))
DP_FN(bool, dp_tensor_is_dense, (const dp_tensor *t), (t)) /* non_overlapping_and_dense */
/* Tensor.suggest_memory_format */
DP_FN(dp_memory_format, dp_tensor_suggest_format, (const dp_tensor *t), (t))

/* -- new tensors -- */

/* Make a tensor with undefined contents.  sizes [ndim] >= 0.  `format`: DP_CONTIGUOUS;
 * DP_CHANNELS_LAST for 4 dimensions, or 3 without the batch; DP_CHANNELS_LAST_3D for 5, or 4
 * without the batch.  *out owned.  Source: at::empty. */
DP_FN(int, dp_empty,
      (dp_ctx * ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
       dp_memory_format format, dp_tensor **out),
      (ctx, dtype, device, ndim, sizes, format, out))
/* Make a tensor with the given strides [ndim] >= 0 and undefined contents.  *out owned.  Source:
 * at::empty_strided. */
DP_FN(int, dp_empty_strided,
      (dp_ctx * ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
       const int64_t *strides, dp_tensor **out),
      (ctx, dtype, device, ndim, sizes, strides, out))
/* Make a tensor with the sizes and the device of `t`.  `dtype` DP_DTYPE_NONE: the dtype of `t`.
 * `format` DP_PRESERVE: the strides of `t` if it is non-overlapping and dense, else dense strides
 * in the order of its strides.  Source: at::empty_like. */
DP_FN(int, dp_empty_like,
      (dp_ctx * ctx, const dp_tensor *t, dp_dtype dtype, dp_memory_format format, dp_tensor **out),
      (ctx, t, dtype, format, out))

/* -- views by strides -- */

/* Make a tensor on the storage of `t`.  strides [ndim] NULL: contiguous; storage_offset in
 * elements; both are checked against the size of the storage.  If the kernel returns the tensor,
 * and the schema marks that return as a view of `t`, the host then makes it a view, with the
 * version counter and the root of `t`.  *out owned.  Source: at::as_strided. */
DP_FN(int, dp_as_strided,
      (dp_ctx * ctx, const dp_tensor *t, int ndim, const int64_t *sizes, const int64_t *strides,
       int64_t storage_offset, dp_tensor **out),
      (ctx, t, ndim, sizes, strides, storage_offset, out))
/* Compute strides [ndim] with which `t` can be viewed with sizes [ndim] (no -1) without a copy.
 * False: that is not possible.  Source: at::detail::computeStride. */
DP_FN(bool, dp_view_strides,
      (const dp_tensor *t, int ndim, const int64_t *sizes, int64_t *strides),
      (t, ndim, sizes, strides))

/* -- tensors of numbers -- */

/* Make a 0-dim tensor on the CPU from a Scalar.  `dtype` DP_DTYPE_NONE: bool, int64, float64 or
 * complex128, by the kind of the Scalar.  Source: at::scalar_tensor. */
DP_FN(int, dp_scalar_tensor, (dp_ctx * ctx, dp_value scalar, dp_dtype dtype, dp_tensor **out),
      (ctx, scalar, dtype, out))

/* -- copies and overlap -- */

/* Copy elements, and convert dtype, layout and device; `src` is broadcast to `dst`.  Outside of a
 * call of an operator, this counts a version.  Source: at::copy_. */
DP_FN(int, dp_copy, (dp_ctx * ctx, dp_tensor *dst, const dp_tensor *src), (ctx, dst, src))
/* Compare the memory of two tensors: 0 no overlap, 1 full overlap, 2 partial overlap, 3 too hard to
 * decide.  Source: at::get_overlap_status. */
DP_FN(int, dp_overlap, (const dp_tensor *a, const dp_tensor *b), (a, b))
/* Compare the memory of the elements of `t`: 0 no two elements share memory, 1 some do, 2 too hard
 * to decide.  Source: at::has_internal_overlap. */
DP_FN(int, dp_internal_overlap, (const dp_tensor *t), (t))

/* -- dtypes -- */

DP_FN(size_t, dp_dtype_size, (dp_dtype d), (d))          /* bytes; 0 for an unknown dtype */
DP_FN(const char *, dp_dtype_name, (dp_dtype d), (d))    /* "float32"; "?" for an unknown dtype */
/* c10::promoteTypes; DP_DTYPE_NONE: a dtype is unknown, or one is quantized and they differ */
DP_FN(dp_dtype, dp_promote_types, (dp_dtype a, dp_dtype b), (a, b))
/* Return the result dtype of tensors [n]; NULL entries are skipped.  DP_DTYPE_NONE: there are no
 * tensors, or one is quantized and another has another dtype.  Source: at::result_type. */
DP_FN(dp_dtype, dp_result_type, (dp_tensor *const *tensors, size_t n), (tensors, n))
DP_FN(bool, dp_can_cast, (dp_dtype from, dp_dtype to), (from, to)) /* c10::canCast */

/* -- shapes -- */

/* Compute the shape to which shapes a [na] and b [nb] broadcast: out [max(na, nb)].  DP_ERUNTIME:
 * they do not broadcast. */
DP_FN(int, dp_broadcast_shapes,
      (dp_ctx * ctx, int na, const int64_t *a, int nb, const int64_t *b, int64_t *out),
      (ctx, na, a, nb, b, out))

/* -- elementwise loops: broadcast, promote, allocate outputs, then run a loop (iter.h) -- */

/* Fill in *it.  Allocates outputs that are NULL, and resizes outputs of another shape, with
 * PyTorch's warning for those that had elements.  If this fails, the allocated outputs are released
 * and set back to NULL; if a loop fails later, the caller still owns them.  DP_ERUNTIME: the
 * operands cannot be combined, because of their shapes, dtypes, devices or overlap.  Source:
 * TensorIteratorConfig::build. */
DP_FN(int, dp_iter_build,
      (dp_ctx * ctx, const dp_iter_config *config, dp_iter *it), (ctx, config, it))
/* Run `loop` over all elements, on several threads, in pieces of at least config.grain elements.
 * Fails like dp_parallel_for().  Source: TensorIteratorBase::for_each. */
DP_FN(int, dp_iter_run,
      (dp_ctx * ctx, const dp_iter *it, dp_iter_loop2d loop, void *user), (ctx, it, loop, user))
/* Run `loop` like dp_iter_run(), but row by row. */
DP_FN(int, dp_iter_run_1d,
      (dp_ctx * ctx, const dp_iter *it, dp_iter_loop loop, void *user), (ctx, it, loop, user))

/* Reduce the elements that belong to each element of the outputs, for an iterator with
 * DP_ITER_REDUCE.  If an element of the outputs has no such elements, it gets the result that
 * r->begin and r->finish give.  Set r->size first.  The result has the same bits with any number of
 * threads.  Fails like dp_iter_run(). */
DP_FN(int, dp_iter_reduce,
      (dp_ctx * ctx, const dp_iter *it, const dp_reduction *r, void *user), (ctx, it, r, user))

/* -- calling operators -- */

/* Find an operator of the request's registry by full name, "aten::add.Tensor".  NULL: there is
 * none; the error gives similar names. */
DP_FN(const dp_op *, dp_op_find, (dp_ctx * ctx, const char *name), (ctx, name))
DP_FN(const char *, dp_op_name, (const dp_op *op), (op)) /* full name */
/* Call an operator.  `op` may be the result of dp_op_find(): NULL fails with the error of that
 * function.  args [n_args]: all arguments in the order of the schema; borrowed.  rets [n_rets] are
 * set: owned, or None on failure.  A return that is a written argument is given only to the
 * outermost caller; inside a kernel it is None.  If a kernel fails without dp_refuse(), it may have
 * written: then the version of each argument that the schema marks as written increases, and
 * `written` of the error names these arguments. */
DP_FN(int, dp_call_boxed,
      (dp_ctx * ctx, const dp_op *op, const dp_value *args, size_t n_args, dp_value *rets,
       size_t n_rets),
      (ctx, op, args, n_args, rets, n_rets))
/* Call an operator with exactly the key set `keys`: neither keys of the thread's state nor keys of
 * the arguments are added.  A kernel passes dp_keyset_below(call->keys, call->key).  Whether an
 * argument may have a gradient is determined again; backend Meta is added if an argument is on
 * device meta, or if an argument is a fake and `keys` does not have the key Fake. */
DP_FN(int, dp_redispatch_boxed,
      (dp_ctx * ctx, const dp_op *op, dp_keyset keys, const dp_value *args, size_t n_args,
       dp_value *rets,
       size_t n_rets),
      (ctx, op, keys, args, n_args, rets, n_rets))
/* Call an operator by name with C arguments.  `code` has the letters of the arguments and of the
 * returns, "Tii>T"; arguments may be left out at the end and then have their defaults.  After the
 * arguments come pointers to slots for the returns, which are owned; returns that are written
 * arguments have no slot. */
DP_FN(int, dp_vinvoke,
      (dp_ctx * ctx, const char *name, const char *code, va_list ap), (ctx, name, code, ap))
/* Release the references in values that an operator returned, and set the values to None. */
DP_FN(void, dp_values_release, (dp_value * values, size_t n), (values, n))

/* -- calls with C types -- */

/* Fill in *t with an operator and the C type of the caller.  A mismatch is an error that gives both
 * types.  *t borrows nothing. */
DP_FN(int, dp_typed_init,
      (dp_ctx * ctx, const char *name, const char *code, dp_typed *t), (ctx, name, code, t))
/* For DP_TYPED: choose and pin the kernel.  Call dp_leave() if, and only if, this returns 0. */
DP_FN(int, dp_enter, (dp_ctx * ctx, const dp_typed *t, dp_keyset argument_keys, dp_entered *e),
      (ctx, t, argument_keys, e))
/* Like dp_enter(), but with exactly the key set `keys`, as dp_redispatch_boxed(). */
DP_FN(int, dp_enter_with,
      (dp_ctx * ctx, const dp_typed *t, dp_keyset keys, dp_keyset argument_keys, dp_entered *e),
      (ctx, t, keys, argument_keys, e))
/* For DP_TYPED, if e->unboxed is NULL: call the kernel with boxed arguments, and set rets [n_rets],
 * which are owned after a success. */
DP_FN(int, dp_run_boxed,
      (dp_ctx * ctx, dp_entered *e, const dp_value *args, size_t n_args, dp_value *rets,
       size_t n_rets),
      (ctx, e, args, n_args, rets, n_rets))
/* For DP_TYPED: end the call, whose kernel returned `rc`.  Returns `rc`; or DP_EPLUGIN, if `rc` is
 * no error code, or if it needs a description that the kernel did not give. */
DP_FN(int, dp_leave, (dp_ctx * ctx, dp_entered *e, int rc), (ctx, e, rc))

/* -- dispatcher state of the request -- */

/* A guard changes the dispatcher state for the calls of a kernel.  Entering a guard returns its
 * depth, the argument for leaving it.  Leaving a guard also leaves all deeper ones.  When a kernel
 * ends, all guards that it entered are left, and no others.  DP_ERESOURCE: over DP_LIMIT_GUARDS, or
 * no memory; then nothing has changed, and leaving a negative depth does nothing. */
/* Enter a guard that adds keys to the include set and to the exclude set; key Fake cannot be
 * excluded. */
DP_FN(int, dp_guard_enter,
      (dp_ctx * ctx, dp_keyset include, dp_keyset exclude), (ctx, include, exclude))
DP_FN(void, dp_guard_leave, (dp_ctx * ctx, int depth), (ctx, depth))
DP_FN(dp_keyset, dp_ctx_include, (const dp_ctx *ctx), (ctx))
DP_FN(dp_keyset, dp_ctx_exclude, (const dp_ctx *ctx), (ctx))
/* Enter a guard that sets the mode, and return its depth as dp_guard_enter() does.  Members that
 * mode->size does not cover keep their values.  DP_EVALUE: a member has a value that is not
 * allowed.  Use: DP_MODE(m, ctx); m.no_grad = true; depth = dp_guard_mode(ctx, &m); */
DP_FN(int, dp_guard_mode, (dp_ctx * ctx, const dp_mode *mode), (ctx, mode))
/* Return the current mode.  Borrowed: valid until the guard that set it is left. */
DP_FN(const dp_mode *, dp_ctx_mode, (const dp_ctx *ctx), (ctx))
/* Return the key and the key set of the running call, for unboxed kernels, which have no
 * dp_call. */
DP_FN(dp_key, dp_ctx_key, (const dp_ctx *ctx), (ctx))
DP_FN(dp_keyset, dp_ctx_keys, (const dp_ctx *ctx), (ctx))

/* -- keys and devices by name -- */

/* Find a runtime or alias key by name: "AutogradCPU", "npu".  Undefined: there is none. */
DP_FN(dp_key, dp_key_find, (dp_ctx * ctx, const char *name), (ctx, name))
/* Find a device by name, "cpu" or "npu:1".  dp_device_keys() returns the key set of its new
 * tensors. */
DP_FN(int, dp_device_find, (dp_ctx * ctx, const char *name, dp_device *out), (ctx, name, out))
DP_FN(dp_keyset, dp_device_keys, (dp_device d), (d))

/* -- stopping -- */

/* Return 0 if the request should go on; DP_ECANCELLED: its client cancelled it or disconnected;
 * DP_EDEADLINE: its deadline has passed.  For kernels that run long and do not use
 * dp_parallel_for(). */
DP_FN(int, dp_checkpoint, (dp_ctx * ctx), (ctx))

/* -- random numbers --
 *
 * A kernel holds one generator at a time, from dp_generator_enter() to dp_generator_leave(); no
 * other kernel draws from it meanwhile.  The numbers depend only on the generator's seed and the
 * earlier draws, and are those of PyTorch.  A kernel that fails must leave the generator, too. */

/* Hold `g`, or the session's default generator of `device` if `g` is NULL, after waiting while
 * another kernel holds it.  DP_ERUNTIME: `g` is of another device or its backend was unloaded, or
 * the request holds a generator already.  DP_ECANCELLED, DP_EDEADLINE: the request must stop. */
DP_FN(int, dp_generator_enter, (dp_ctx * ctx, dp_generator *g, dp_device device), (ctx, g, device))
DP_FN(void, dp_generator_leave, (dp_ctx * ctx), (ctx))
DP_FN(dp_device, dp_generator_device, (const dp_generator *g), (g))
/* Draw `n` numbers of 32 or 64 bits from the generator that the kernel holds, which must be the
 * CPU's. */
DP_FN(int, dp_generator_u32, (dp_ctx * ctx, uint32_t *out, size_t n), (ctx, out, n))
DP_FN(int, dp_generator_u64, (dp_ctx * ctx, uint64_t *out, size_t n), (ctx, out, n))
/* Draw `n` numbers in [0, 1), with 24 random bits as DP_FLOAT32 or 53 as DP_FLOAT64.  Source:
 * at::uniform_real_distribution. */
DP_FN(int, dp_generator_uniform,
      (dp_ctx * ctx, dp_dtype dtype, void *out, size_t n), (ctx, dtype, out, n))
/* Draw `n` numbers of mean 0 and standard deviation 1, as DP_FLOAT32 or DP_FLOAT64.  The numbers
 * are computed in pairs: if `n` is odd, the second number of the last pair is the first one that
 * the next draw of this dtype gets, by any kernel.  Source: at::normal_distribution. */
DP_FN(int, dp_generator_normal,
      (dp_ctx * ctx, dp_dtype dtype, void *out, size_t n), (ctx, dtype, out, n))
/* Reserve `increment` draws of each thread of a device's kernel: *seed and *offset are where they
 * begin in the Philox streams.  The generator that the kernel holds must be of a device other than
 * the CPU.  Source: at::CUDAGeneratorImpl::philox_engine_inputs. */
DP_FN(int, dp_generator_philox,
      (dp_ctx * ctx, uint64_t increment, uint64_t *seed, uint64_t *offset),
      (ctx, increment, seed, offset))

/* -- threads: a plugin may only use threads that it starts with these functions --
 *
 * The host never unmaps code that a thread runs.  A plugin must stop and join its threads in
 * on_unload; if one still runs, the plugin stays loaded, and the error names the thread.  The
 * threads block all signals. */

/* Run fn(its own context, arg) on a new thread, which belongs to the plugin that contains `fn`.
 * *id is for dp_thread_join().  DP_ERESOURCE: over DP_LIMIT_PLUGIN_THREADS, or the system has no
 * more threads. */
DP_FN(int, dp_thread_start,
      (dp_ctx * ctx, const char *name, dp_thread_fn fn, void *arg, uint64_t *id),
      (ctx, name, fn, arg, id))
/* Wait until a thread ends, and join it.  Each thread can be joined once.  DP_EBUSY: the thread
 * still runs after timeout_ms (-1: no limit); call this again later.  DP_ENOTFOUND: the thread was
 * joined already, or another thread is joining it. */
DP_FN(int, dp_thread_join, (dp_ctx * ctx, uint64_t id, int timeout_ms), (ctx, id, timeout_ms))
/* End the request of the calling thread, which dp_thread_start() started, and begin another one:
 * release the memory of dp_alloc(), and reset the error and the dispatcher state.  Without this,
 * all calls of the thread belong to one long request.  Call it between calls of operators. */
DP_FN(int, dp_thread_turn, (dp_ctx * ctx), (ctx))

/* -- tensors without memory -- */

/* Must the running call make tensors without memory?  True on device meta and in fake mode, which
 * is on while the include set has the key Fake (dp_guard_enter).  A kernel with DP_FLAG_META then
 * skips its loops; dp_iter_run() and dp_copy() do so themselves.  dp_parallel_for() and draws of
 * random numbers fail. */
DP_FN(bool, dp_memoryless, (const dp_ctx *ctx), (ctx))
/* Make a fake of `t`: a tensor with its dtype, device, sizes, strides and offset, on a new storage
 * without memory.  Calls with a fake argument, and all calls in fake mode, make fakes: they run no
 * loop and read no element.  On device meta the result is another meta tensor.  *out owned. */
DP_FN(int, dp_fake, (dp_ctx * ctx, const dp_tensor *t, dp_tensor **out), (ctx, t, out))

/* -- schemas: properties of the operator for which a boxed kernel is called -- */

/* Get properties of an operator's schema.  Set out->size first.  DP_ENOTFOUND: `op` has no
 * definition (any more).  DP_ERUNTIME: called outside of a call of an operator and of
 * dp_ctx_begin(), where nothing would keep the pointers in *out valid. */
DP_FN(int, dp_schema_info_get, (dp_ctx * ctx, const dp_op *op, dp_schema_info *out), (ctx, op, out))
/* Describe argument or return `i`.  Set out->size first.  False: there is no such argument or
 * return. */
DP_FN(bool, dp_op_arg, (const dp_schema_info *info, uint32_t i, dp_arg_info *out), (info, i, out))
DP_FN(bool, dp_op_ret, (const dp_schema_info *info, uint32_t i, dp_arg_info *out), (info, i, out))

/* -- devices -- */

/* Describe a failure as dp_vfail() does, for functions of dp_device_ops, which have no context.
 * `err` NULL: only the code is returned.  Any thread. */
DP_FN(int, dp_error_vset,
      (dp_error * err, int code, const char *format, va_list ap), (err, code, format, ap))

/* -- identity of tensors -- */

/* Return the number of a tensor: never 0, and never that of another tensor, even after it is freed.
 * A view is another tensor, also with equal shape.  Any thread. */
DP_FN(uint64_t, dp_tensor_id, (const dp_tensor *t), (t))

/* -- values that outlive their call -- */

/* Copy `v` with all contents that it points to, lists in lists included, and take references to its
 * tensors, objects and generators.  *out owned: free it with dp_value_free(), on any thread; do not
 * return it from a kernel.  DP_ERESOURCE: no memory; *out is None. */
DP_FN(int, dp_value_copy, (dp_ctx * ctx, const dp_value *v, dp_value *out), (ctx, v, out))
/* Free a value that dp_value_copy() made, and set it to None. */
DP_FN(void, dp_value_free, (dp_value * v), (v))

/* -- warnings -- */

/* Send the client a message that is not an error, in `warnings` of the answer (TORCH_WARN).
 * `format` is a printf format.  Each text is sent once for each request.  At most DP_LIMIT_WARNINGS
 * texts are sent; the last one then says that there were more. */
DP_FN(void, dp_vwarn, (dp_ctx * ctx, const char *format, va_list ap), (ctx, format, ap))

/* -- failing before anything is written: dp_refuse() of helpers.h -- */

DP_FN(int, dp_vrefuse,
      (dp_ctx * ctx, int code, const char *format, va_list ap), (ctx, code, format, ap))

/* -- views --
 *
 * If the schema marks a return as a view of an argument ("Tensor(a) self" and "-> Tensor(a)"), the
 * host makes the returned tensor a view of the argument when the kernel returns, unless they share
 * no memory. */

/* Return the tensor of which `t` is a view, which is never a view itself.  NULL: `t` is not a view,
 * as the result of detach.  Borrowed from `t`.  Any thread.  Source: Tensor._base. */
DP_FN(dp_tensor *, dp_tensor_root, (const dp_tensor *t), (t))
DP_FN(int, dp_tensor_creation, (const dp_tensor *t), (t)) /* DP_CREATED_*; for views */
/* Set how a view was made.  For a layer that has just made view `t`, before other threads see
 * it. */
DP_FN(void, dp_tensor_set_creation, (dp_tensor * t, int creation), (t, creation))

/* -- changing the shape and the storage of existing tensors --
 *
 * Calls that already run on other threads still see the earlier shape and data.  If a kernel fails,
 * its written arguments get their earlier shape back, and a storage that grew gets its earlier
 * memory back, unless another thread has used the new memory.  Views of `t` see the larger storage,
 * as in PyTorch.  DP_ERUNTIME: the memory belongs to an embedder, so its size is fixed; or another
 * call changed the tensor's shape since this call began; or a tensor changed its shape, or a
 * storage grew, more than DP_LIMIT_RESIZES times during a call that still runs. */

/* Change the sizes of `t` to sizes [ndim].  Its elements stay in the storage, in memory order; new
 * elements are undefined.  `format` DP_PRESERVE: resize_ without memory_format, which does not
 * change a tensor that has these sizes already.  No version is counted.  DP_EPLUGIN, in boxed
 * calls: `t` is an argument that the schema does not mark as written.  Source: at::resize_. */
DP_FN(int, dp_resize,
      (dp_ctx * ctx, dp_tensor *t, int ndim, const int64_t *sizes, dp_memory_format format),
      (ctx, t, ndim, sizes, format))
/* Give `t` the storage of `source`, which must have the same dtype and device, with the given
 * geometry; strides NULL: contiguous.  The version counter of `t` stays.  Source:
 * at::set_.source_Storage_storage_offset. */
DP_FN(int, dp_set_storage,
      (dp_ctx * ctx, dp_tensor *t, const dp_tensor *source, int64_t storage_offset, int ndim,
       const int64_t *sizes, const int64_t *strides),
      (ctx, t, source, storage_offset, ndim, sizes, strides))
/* Prepare one output of the running operator, for a functional, in-place or out= call.  *out NULL:
 * a tensor is made, and the caller owns it.  An out= argument of another shape is resized, with
 * PyTorch's warning if it had elements.  A tensor that is written in place, or that the kernel also
 * reads, must have this shape already.  An existing tensor must have this dtype (DP_DTYPE_NONE:
 * any) and device; strides (NULL: contiguous) apply only to a new shape.  Make views of *out only
 * after this call.  DP_EPLUGIN: *out has another shape, and the schema does not mark it as written.
 * Source: resize_out, check_inplace. */
DP_FN(int, dp_set_output,
      (dp_ctx * ctx, dp_tensor **out, int ndim, const int64_t *sizes, const int64_t *strides,
       dp_dtype dtype,
       dp_device device),
      (ctx, out, ndim, sizes, strides, dtype, device))

/* -- decomposing -- */

/* Run the operator's composite kernel with the arguments of `call`, and return its result; for a
 * boxed kernel that decomposes the call.  The returns are set in `call`, where they must still be
 * None.  A CompositeImplicitAutograd kernel is preferred to a CompositeExplicitAutograd one
 * (dp_schema_info.flags).  The calls of the composite kernel are dispatched from the highest key,
 * under the current guards.  DP_ENOTIMPL: the operator has no composite kernel, or that kernel
 * makes this call. */
DP_FN(int, dp_decompose, (dp_call * call), (call))

/* -- wrapper tensors (dp_wrapper) -- */

/* Make a wrapper tensor.  The host copies all of *w and takes its own references.  *out owned: a
 * tensor with the sizes, strides, dtype, device and keys of *w, and without memory.  If the keys
 * have no autograd key, it shares the version counter of w->tensors[0].  DP_EVALUE: *w is not
 * valid.  DP_EPLUGIN: another plugin has registered the kind.  DP_ERESOURCE: over
 * DP_LIMIT_WRAPPER_DEPTH or DP_LIMIT_WRAPPER_PARTS. */
DP_FN(int, dp_wrapper_new, (dp_ctx * ctx, const dp_wrapper *w, dp_tensor **out), (ctx, w, out))
/* Get the parts of wrapper tensor `t`, as this call sees them.  Set out->size first.  Borrowed for
 * the call.  False: `t` is not a wrapper tensor. */
DP_FN(bool, dp_wrapper_get, (const dp_tensor *t, dp_wrapper *out), (t, out))
/* Replace the sizes, strides, tensors, integers and doubles of wrapper tensor `t` by those of *w.
 * Kind, keys, dtype, device and layout must be those of `t`.  DP_EVALUE: `t` is not a wrapper
 * tensor, or these differ, or a tensor of *w is nested as deep as `t` was when it was made: such a
 * tensor may contain `t`, and no wrapper tensor may contain itself.  DP_ERUNTIME: another call has
 * replaced the parts since this call began, or they were replaced more than DP_LIMIT_RESIZES times
 * during a call that still runs. */
DP_FN(int, dp_wrapper_become, (dp_ctx * ctx, dp_tensor *t, const dp_wrapper *w), (ctx, t, w))

/* -- devices as a whole -- */

/* Get the free and the total bytes of a device.  DP_ENOTIMPL: the backend does not report them. */
DP_FN(int, dp_device_memory,
      (dp_ctx * ctx, dp_device device, size_t *free_bytes, size_t *total_bytes),
      (ctx, device, free_bytes, total_bytes))
/* Wait for all work that the device was given.  Source: at::cuda::device_synchronize. */
DP_FN(int, dp_device_synchronize, (dp_ctx * ctx, dp_device device), (ctx, device))

/* -- streams and events of devices (see dp_device_ops) --
 *
 * A device without streams, such as the host, has only its default stream, and a wait returns at
 * once.  Streams and events are reference-counted.  After their backend was unloaded, their
 * functions fail with an error that says so.  Any thread.  Stream NULL is the default stream of the
 * tensor's or the event's device, or of the host if there is neither. */

/* Make a stream; *out owned.  `options` NULL: the defaults.  DP_EVALUE: unknown flags, or a
 * priority that the device does not have.  Source: c10::cuda::getStreamFromPool. */
DP_FN(int, dp_stream_new,
      (dp_ctx * ctx, dp_device device, const dp_stream_options *options, dp_stream **out),
      (ctx, device, options, out))
DP_FN(dp_stream *, dp_stream_ref, (dp_stream * s), (s))     /* NULL is allowed; returns `s` */
/* takes `s`; NULL is allowed; returns NULL */
DP_FN(dp_stream *, dp_stream_unref, (dp_stream * s), (s))
DP_FN(dp_device, dp_stream_device, (const dp_stream *s), (s)) /* of NULL: the CPU */
/* Return the backend's own handle; NULL: the default stream, or the backend was unloaded.  The
 * handle is valid as long as the backend cannot be unloaded, as in its kernels and operations. */
DP_FN(void *, dp_stream_handle, (const dp_stream *s), (s))
/* Set *done to whether all work that the stream was given has ended, without waiting. */
DP_FN(int, dp_stream_query, (dp_ctx * ctx, const dp_stream *s, bool *done), (ctx, s, done))
/* Wait until all work that the stream was given has ended. */
DP_FN(int, dp_stream_synchronize, (dp_ctx * ctx, const dp_stream *s), (ctx, s))
/* Get the stream that kernels of this session use on the device: the default stream until
 * dp_stream_set_current().  *out owned.  Source: c10::cuda::getCurrentCUDAStream. */
DP_FN(int, dp_stream_current, (dp_ctx * ctx, dp_device device, dp_stream **out), (ctx, device, out))
/* Set the stream for all later calls of the session, until this function is called again.  The
 * session takes its own reference to `s`. */
DP_FN(int, dp_stream_set_current, (dp_ctx * ctx, dp_stream *s), (ctx, s))
/* Make an event; *out owned.  `flags`: DP_EVENT_*.  Source: at::cuda::CUDAEvent. */
DP_FN(int, dp_event_new,
      (dp_ctx * ctx, dp_device device, uint32_t flags, dp_event **out), (ctx, device, flags, out))
DP_FN(dp_event *, dp_event_ref, (dp_event * e), (e))
DP_FN(dp_event *, dp_event_unref, (dp_event * e), (e))
/* Record an event in stream `s` of its device: the event is complete when all work that `s` was
 * given so far has ended.  May be repeated. */
DP_FN(int, dp_event_record, (dp_ctx * ctx, dp_event *e, const dp_stream *s), (ctx, e, s))
/* Make later work of stream `s` wait for the event.  If `s` is of another backend, the calling
 * thread waits. */
DP_FN(int, dp_event_wait, (dp_ctx * ctx, const dp_event *e, const dp_stream *s), (ctx, e, s))
/* Set *done to whether the event is complete, without waiting.  An event that was never recorded is
 * complete. */
DP_FN(int, dp_event_query, (dp_ctx * ctx, const dp_event *e, bool *done), (ctx, e, done))
/* Wait until the event is complete. */
DP_FN(int, dp_event_synchronize, (dp_ctx * ctx, const dp_event *e), (ctx, e))
/* Set *ms to the milliseconds between two events.  DP_ERUNTIME: one was never recorded, or was made
 * with DP_EVENT_NO_TIMING.  DP_ENOTIMPL: the backend has no such function. */
DP_FN(int, dp_event_elapsed, (dp_ctx * ctx, const dp_event *begin, const dp_event *end, double *ms),
      (ctx, begin, end, ms))

/* -- tensors on streams -- */

/* Copy like dp_copy(), but in the order of stream `s`.  The function returns before the copy is
 * done if the backend can copy asynchronously, sizes and dtypes are equal, both tensors consist of
 * rows at one constant distance, and one is on the stream's device and the other is there, too, or
 * in memory that the backend pinned, or `dst` is on another device to which the backend can copy.
 * Otherwise it waits for the stream and calls dp_copy().  Source: at::copy_(non_blocking=True). */
DP_FN(int, dp_copy_async,
      (dp_ctx * ctx, dp_tensor *dst, const dp_tensor *src, dp_stream *s), (ctx, dst, src, s))
/* Set every byte of `t` to `byte`, like memset, in the order of stream `s`.  `t` must be dense, and
 * be on the host or on the stream's device. */
DP_FN(int, dp_fill_bytes, (dp_ctx * ctx, dp_tensor *t, int byte, dp_stream *s), (ctx, t, byte, s))
/* Make a contiguous tensor on the CPU, in memory that the backend of `device` has pinned if it can
 * pin memory.  *out owned.  Source: at::empty(pin_memory=True). */
DP_FN(int, dp_empty_pinned,
      (dp_ctx * ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
       dp_tensor **out),
      (ctx, dtype, device, ndim, sizes, out))
DP_FN(bool, dp_tensor_is_pinned, (const dp_tensor *t), (t))
/* Record that stream `s` uses the memory of `t`.  When the storage is freed, the memory is not
 * reused before `s` has done all work that it was given by then.  dp_copy_async() and
 * dp_fill_bytes() call this themselves.  Source: at::record_stream. */
DP_FN(int, dp_record_stream, (dp_ctx * ctx, dp_tensor *t, dp_stream *s), (ctx, t, s))

/* -- views with another dtype -- */

/* Make a tensor on the storage of `t`, like dp_as_strided(), but with another dtype; strides and
 * storage_offset count elements of this dtype.  The tensor has the keys Conjugate and Negative if
 * `t` has them, but inverted for the keys in `flip`, functionality bits of a dp_keyset (_conj,
 * _neg_view, view.dtype, view_as_real).  DP_ERUNTIME: the geometry does not fit the storage.
 * DP_EVALUE: `flip` has other keys. */
DP_FN(int, dp_view_as,
      (dp_ctx * ctx, const dp_tensor *t, dp_dtype dtype, uint64_t flip, int ndim,
       const int64_t *sizes,
       const int64_t *strides, int64_t storage_offset, dp_tensor **out),
      (ctx, t, dtype, flip, ndim, sizes, strides, storage_offset, out))

/* -- conversion of elements -- */

/* Return a function that converts elements of `from` to elements of `to` on the calling thread; for
 * equal dtypes it copies.  NULL: a dtype is unknown.  Source: c10::convert,
 * static_cast_with_inter_type. */
DP_FN(dp_convert_fn, dp_converter, (dp_dtype to, dp_dtype from), (to, from))

/* -- the machine -- */

/* Return the vector level for loops, DP_ISA_* of isa.h: the highest level of this machine, or the
 * value of DISPATCHD_CPU_CAPABILITY (default, avx2 or avx512).  The level is the same for the life
 * of the process.  DP_ERUNTIME: the variable has another value, or the machine does not have the
 * level.  Source: at::native::get_cpu_capability. */
DP_FN(int, dp_cpu_level, (dp_ctx * ctx), (ctx))

/* -- views with other sizes -- */

/* Make a tensor that views `t` with other sizes [ndim] (no -1), like dp_as_strided() with the
 * strides of dp_view_strides().  *out owned; NULL without an error: the strides of `t` do not allow
 * it. */
DP_FN(int, dp_view_sizes,
      (dp_ctx * ctx, const dp_tensor *t, int ndim, const int64_t *sizes, dp_tensor **out),
      (ctx, t, ndim, sizes, out))

/* -- notes -- */

/* Publish a line about the calling plugin for people who run the host, such as the name of a
 * library that it uses.  server.status and the daemon's log show it.  A note replaces an earlier
 * one with the same name.  `name` must be a string constant of the plugin: its address identifies
 * the plugin.  printf format.  A note is lost if the plugin has DP_LIMIT_NOTES notes already, or if
 * there is no memory.  For kernels, hooks and threads of the plugin. */
DP_FN(void, dp_vnote,
      (dp_ctx * ctx, const char *name, const char *format, va_list ap), (ctx, name, format, ap))

/* -- cancellation, checked on any thread -- */

/* Return the code with which the request must stop, as dp_checkpoint() does, but without describing
 * it: 0, DP_ECANCELLED or DP_EDEADLINE.  A body of dp_parallel_for() or a loop of an iterator
 * should check it if one step takes more than 10 ms, and return if the code is not 0;
 * dp_parallel_for() then fails with this code.  `ctx` NULL: the request for which the calling
 * thread runs such a body or loop.  Any thread. */
DP_FN(int, dp_stop_code, (const dp_ctx *ctx), (ctx))

/* -- operators for which a backend has no kernel -- */

/* Run the operator of `call` with the CPU's kernel, on copies of the arguments that are on
 * devices:
 *
 *     DP_FALLBACK(npu, dp_fallback_cpu)
 *
 * Written arguments are copied back, with the shape that the kernel gave them.  Results are on the
 * device of a Device argument, else of the first argument on a device.  A return that is a view of
 * an argument is a view of the original argument.  A generator of a device seeds a CPU generator
 * for the call.  If the kernel fails, no argument on a device was written.  For boxed kernels of a
 * backend other than CPU and Meta.  DP_ENOTIMPL: another kernel called it, or the mode forbids it
 * (DP_FALLBACK_FORBID).  Source: at::native::cpu_fallback. */
DP_FN(int, dp_fallback_cpu, (dp_call * call), (call))

/* -- devices: cached memory, priorities, blocks of other processes -- */

/* Make the device release cached memory, at least `bytes` if there is that much; 0: all.  Source:
 * torch.cuda.empty_cache. */
DP_FN(int, dp_device_trim, (dp_ctx * ctx, dp_device device, size_t bytes), (ctx, device, bytes))
/* Get the range of stream priorities of a device: *greatest <= *least. */
DP_FN(int, dp_stream_priorities, (dp_ctx * ctx, dp_device device, int *least, int *greatest),
      (ctx, device, least, greatest))
/* Fill in *out: a name by which another process can open the block that contains the storage of
 * `t`, and the offset of `t` in it.  Valid while the storage lives.  DP_ENOTIMPL: the backend does
 * not export blocks, or `t` is not in device memory.  Source:
 * torch.multiprocessing.reductions.reduce_tensor. */
DP_FN(int, dp_tensor_export, (dp_ctx * ctx, const dp_tensor *t, dp_exported *out), (ctx, t, out))
/* Make a tensor on a block that another process exported.  The bytes of the block are charged to
 * the context's account.  Writes of other processes are visible.  sizes, strides [ndim]; strides
 * NULL: contiguous; storage_offset in elements of `dtype`.  The geometry is checked against the
 * exported size of the block.  *out owned. */
DP_FN(int, dp_tensor_import,
      (dp_ctx * ctx, const dp_exported *from, dp_dtype dtype, dp_device device, int ndim,
       const int64_t *sizes,
       const int64_t *strides, int64_t storage_offset, dp_tensor **out),
      (ctx, from, dtype, device, ndim, sizes, strides, storage_offset, out))

/* -- key sets: operations that depend on the bits, which only the host knows -- */

/* Return the set with key `k` only; {} for Undefined and for alias keys.  A key without a backend,
 * such as DP_KEY(DP_F_Dense), gives a set without a backend. */
DP_FN(dp_keyset, dp_keyset_of, (dp_key k), (k))
/* Remove from `s` the functionality of `k` and all functionalities above it; backends stay.  This
 * is the key set with which a kernel for `k` redispatches.  PythonDispatcher stays in the set
 * (FULL_AFTER of DispatchKeySet). */
DP_FN(dp_keyset, dp_keyset_below, (dp_keyset s, dp_key k), (s, k))
DP_FN(bool, dp_keyset_has, (dp_keyset s, dp_key k), (s, k))
/* Return the runtime key with the highest priority; Undefined if the set has no functionality.  A
 * per-backend functionality without a backend counts as the CPU's, as in PyTorch. */
DP_FN(dp_key, dp_keyset_highest, (dp_keyset s), (s))
/* Return the union of named sets.  `names`: DP_KEYSET_*, combined with |.  The set has no
 * backends. */
DP_FN(dp_keyset, dp_keyset_named, (unsigned names), (names))
/* Write the canonical name of a key, "AutogradCPU", into `buf` and return `buf`.  Keys of an
 * existing named backend contain its name: "Autogradnpu".  dp_key_find() is the inverse
 * function. */
DP_FN(const char *, dp_key_name, (dp_key k, char buf[DP_KEY_NAME_MAX]), (k, buf))

/* -- data of plugins that is attached to a tensor -- */

/* Attach a copy of a value to `t` under a key, "plugin.name", and replace the earlier one; NULL or
 * None removes it.  The host copies all contents of the value and takes references to its tensors.
 * The value is charged to the context's account, outlives the plugin, and is freed with `t`.  Views
 * of `t` and results of operators do not have it.  No tensor may contain itself, not even through
 * values that are attached to other tensors.  DP_EVALUE: the value contains `t`; or an attached
 * value of another tensor contains `t`, and with this value `t` would contain tensors at a greater
 * depth than when that value was attached.  DP_ERESOURCE: over DP_LIMIT_ATTACHED or
 * DP_LIMIT_ATTACHED_BYTES.  Several threads may call this for one tensor at once. */
DP_FN(int, dp_tensor_attach,
      (dp_ctx * ctx, dp_tensor *t, const char *key, const dp_value *value), (ctx, t, key, value))
/* Get a copy of the value that is attached to `t` under a key; None: there is none.  *out owned:
 * free it with dp_value_free(). */
DP_FN(int, dp_tensor_attached,
      (dp_ctx * ctx, const dp_tensor *t, const char *key, dp_value *out), (ctx, t, key, out))

/* -- sessions -- */

/* Return the number of the session for which the context works; no other session of the daemon ever
 * has it.  0: no session, as in hooks that run at a load, in threads of plugins, and in embedders
 * without sessions. */
DP_FN(uint64_t, dp_session_id, (const dp_ctx *ctx), (ctx))

/* -- objects of plugins (dp_object_ops) --
 *
 * An object contains data of a plugin and tensors.  Objects of a kind are made by the plugin that
 * names the kind.  An object is reference-counted, and charged to the context's account.  Values
 * and attached values may contain objects, as they contain tensors, and clients have handles to
 * them.  When the plugin is unloaded, its objects end: from then on no code gets their data. */

/* Make an object with `bytes` of zeroed data.  tensors [n]: the object takes its own references,
 * for as long as it lives.  *out owned.  DP_EPLUGIN: `kind` is not of a DP_OBJECT_KIND of a loaded
 * plugin. */
DP_FN(int, dp_object_new,
      (dp_ctx * ctx, const dp_object_ops *kind, size_t bytes, dp_tensor *const *tensors,
       size_t n, dp_object **out),
      (ctx, kind, bytes, tensors, n, out))
/* Fill in *out; set out->size first.  The kernel may change the data; kernels that run at once must
 * synchronize with each other.  DP_ETYPE: `o` is of another kind.  DP_ERUNTIME: the object has
 * ended, or belongs to another version of the plugin, and this version did not adopt it. */
DP_FN(int, dp_object_get,
      (dp_ctx * ctx, dp_object *o, const dp_object_ops *kind, dp_object_view *out),
      (ctx, o, kind, out))
/* NULL is allowed; returns `o`; any thread */
DP_FN(dp_object *, dp_object_ref, (dp_object * o), (o))
/* takes `o`; NULL is allowed; returns NULL */
DP_FN(dp_object *, dp_object_unref, (dp_object * o), (o))
DP_FN(const char *, dp_object_kind, (const dp_object *o), (o)) /* "ns.Name"; borrowed from `o` */

/* -- gradients (libdispatch/autograd) -- */

/* The kernel of the Autograd keys: run the call with the next lower key and, if an argument
 * requires a gradient, record the call as a node of the autograd graph.  Backward computes the
 * gradients of the arguments with the operator's formula (DP_FORMULA); if there is none, backward
 * fails with an error that names the operator.  DP_ERUNTIME: the operator writes in place to a leaf
 * that requires a gradient, or it is an out= overload without a formula. */
DP_FN_ABOVE(int, dp_record, (dp_call * call), (call))
/* Set whether `t` requires a gradient (Tensor.requires_grad_).  DP_ERUNTIME: `on` is false and `t`
 * is not a leaf, or `on` is true and the dtype of `t` is neither floating-point nor complex. */
DP_FN_ABOVE(int, dp_tensor_set_requires_grad, (dp_ctx * ctx, dp_tensor *t, bool on), (ctx, t, on))
/* Is `t` a leaf that requires a gradient, or computed from such a leaf (Tensor.requires_grad)? */
DP_FN_ABOVE(bool, dp_tensor_requires_grad, (const dp_tensor *t), (t))
DP_FN_ABOVE(bool, dp_tensor_is_leaf, (const dp_tensor *t), (t)) /* Tensor.is_leaf */
/* From now on, let backward add t's gradient to dp_tensor_grad(t), even if t is no leaf
 * (Tensor.retain_grad).  DP_ERUNTIME: t requires no gradient. */
DP_FN_ABOVE(int, dp_tensor_retain_grad, (dp_ctx * ctx, dp_tensor *t), (ctx, t))
DP_FN_ABOVE(bool, dp_tensor_retains_grad, (const dp_tensor *t), (t)) /* Tensor.retains_grad */
/* Return the index of t among the tensors that its call returned, where each item of a returned
 * list counts (Tensor.output_nr); 0 for a leaf. */
DP_FN_ABOVE(int64_t, dp_tensor_output_nr, (const dp_tensor *t), (t))
/* Differentiate `t`, and add the results to the gradients of `inputs` [n], or of all leaves if n is
 * 0 (Tensor.backward).  `grad`: the gradient of `t`; NULL: 1, for a tensor of one real element.
 * `flags`: DP_BACKWARD_RETAIN (1) keeps the graph for another backward, DP_BACKWARD_CREATE (2)
 * records the calls of backward.  Errors: those of dp_backward() (dispatchd/grad.h). */
DP_FN_ABOVE(int, dp_tensor_backward,
            (dp_ctx * ctx, dp_tensor *t, dp_tensor *grad, dp_tensor *const *inputs, size_t n,
             uint32_t flags),
            (ctx, t, grad, inputs, n, flags))
/* Make t, which must not be a view, a leaf that requires no gradient (Tensor.detach_).  Its own
 * gradient stays. */
DP_FN_ABOVE(void, dp_tensor_detach, (dp_tensor * t), (t))

/* -- programs (program.h) --
 *
 * A builder collects the steps of a program.  A builder and a run use the context of the request.
 * A kernel must free its builders before it returns.  A plugin may keep a program for later calls;
 * its unload hook must release the program. */

/* Make a builder without steps: *out, owned.  Free the builder before `ctx`. */
DP_FN_ABOVE(int, dp_builder_new, (dp_ctx * ctx, dp_builder **out), (ctx, out))
/* Free `b`, which may be NULL.  Returns NULL. */
DP_FN_ABOVE(dp_builder *, dp_builder_free, (dp_builder * b), (b))
/* Add an input, before the first step; *out is its value.  `name` NULL: the input has no name.
 * `type` is written as in a schema, "Tensor", "int[]" or "Scalar?"; NULL: any type.  DP_EEXISTS:
 * the name is taken.  DP_EVALUE: the type is not valid, or the program already has a step. */
DP_FN_ABOVE(int, dp_builder_input,
            (dp_builder * b, const char *name, const char *type, dp_ref *out), (b, name, type, out))
/* Add a constant: a copy of *v, which shares the tensors in it.  `name` NULL: the constant has no
 * name.  No step may write to a constant. */
DP_FN_ABOVE(int, dp_builder_constant,
            (dp_builder * b, const char *name, const dp_value *v, dp_ref *out), (b, name, v, out))
/* Check a step completely and add it.  *first: the first value that the step returns; the others
 * have the numbers after it.  *n_rets: how many values it returns.  Both pointers may be NULL.
 * DP_ENOTFOUND: no such operator or field.  DP_ETYPE: the arguments do not fit.  DP_EVALUE: the
 * number of returns is not `s->n_rets`.  DP_ENOTIMPL: a reserved kind of step.  DP_ERESOURCE: over
 * a limit. */
DP_FN_ABOVE(int, dp_builder_add,
            (dp_builder * b, const dp_step *s, dp_ref *first, uint32_t *n_rets),
            (b, s, first, n_rets))
/* Give a value a name.  `origin`: number of the step that returns the value, for error messages.
 * DP_EEXISTS: another value has the name. */
DP_FN_ABOVE(int, dp_builder_name,
            (dp_builder * b, const char *name, dp_ref value, uint32_t origin),
            (b, name, value, origin))
/* Find a value by its name.  DP_ENOTFOUND: there is none. */
DP_FN_ABOVE(int, dp_builder_find, (dp_builder * b, const char *name, dp_ref *out), (b, name, out))
/* Make `value` the next output of the program.  `name` NULL: the output has no name. */
DP_FN_ABOVE(int, dp_builder_output, (dp_builder * b, const char *name, dp_ref value),
            (b, name, value))
/* Add inputs, steps and outputs that are written as text: "in x Tensor; y = aten::relu(x); out y
 * y".  libdispatch/program/read.c describes all statements.  Fails as the functions above do, and
 * with DP_EVALUE for text that is no statement; the message gives the number of its line.  After a
 * failure, the statements before the wrong one have been added.  The errors of steps that come from
 * text name lines instead of steps, also when the program runs. */
DP_FN_ABOVE(int, dp_builder_text, (dp_builder * b, const char *text), (b, text))
/* Make the program from everything that was added: *out, owned.  After a success, no function but
 * dp_builder_free() may be called for `b`. */
DP_FN_ABOVE(int, dp_builder_finish, (dp_builder * b, dp_program **out), (b, out))
/* Take a reference to `p`.  Any thread.  Release every program before its registry is freed. */
DP_FN_ABOVE(dp_program *, dp_program_ref, (dp_program * p), (p))
/* Release a reference to `p`, which may be NULL.  Returns NULL.  Any thread. */
DP_FN_ABOVE(dp_program *, dp_program_unref, (dp_program * p), (p))
/* Run `p` on one snapshot of the registry, and call dp_checkpoint() between steps.  A value is
 * released after the last step that reads it.  If another thread resizes a tensor meanwhile, each
 * step sees the shape that the tensor has when the step begins.  But if a kernel runs the program,
 * all steps see the shapes from the begin of the kernel's call; and if the program runs between
 * dp_ctx_begin() and dp_ctx_end(), the shapes from dp_ctx_begin().  Lists and strings among the
 * outputs are valid until dp_ctx_reset() or, in a kernel, until the kernel returns. */
DP_FN_ABOVE(int, dp_program_run, (dp_ctx * ctx, const dp_program *p, dp_run *run), (ctx, p, run))
/* Fill in *out; set out->size first. */
DP_FN_ABOVE(void, dp_program_info_get, (const dp_program *p, dp_program_info *out), (p, out))
/* Write a hash of 128 bits to `out`, for use as a cache key.  Programs with the same steps have the
 * same hash, even if values and outputs have other names, if keyword arguments are in another
 * order, or if an argument is given that has its default value.  Of a tensor among the constants
 * only the dtype, device, sizes and strides count, because its elements may change.  The hash is
 * not secure: an attacker may find two programs with the same hash. */
DP_FN_ABOVE(void, dp_program_hash, (const dp_program *p, uint64_t out[2]), (p, out))
/* Return the name of input i; "": it has none. */
DP_FN_ABOVE(const char *, dp_program_input_name, (const dp_program *p, uint32_t i), (p, i))
/* Return the type of input i, as it was given to the builder; "any": no type was given. */
DP_FN_ABOVE(const char *, dp_program_input_type, (const dp_program *p, uint32_t i), (p, i))
/* Return the index of the input called `name`; -1: there is none. */
DP_FN_ABOVE(int64_t, dp_program_input_find, (const dp_program *p, const char *name), (p, name))
/* May a step write to input i or to a view of it?  Then the tensor that the caller gives may have
 * other elements after a run. */
DP_FN_ABOVE(bool, dp_program_input_written, (const dp_program *p, uint32_t i), (p, i))
/* Return the name of output i; "": it has none. */
DP_FN_ABOVE(const char *, dp_program_output_name, (const dp_program *p, uint32_t i), (p, i))
/* Describe in *out which memory output i shares; set out->size first.  An output that would share
 * memory with a constant is a copy, and has DP_ALIAS_NONE. */
DP_FN_ABOVE(void, dp_program_output_alias, (const dp_program *p, uint32_t i, dp_alias *out),
            (p, i, out))
/* Return the value or constant that output i is. */
DP_FN_ABOVE(dp_ref, dp_program_output, (const dp_program *p, uint32_t i), (p, i))
/* Describe step i in *out; set out->size first. */
DP_FN_ABOVE(void, dp_program_step, (const dp_program *p, uint32_t i, dp_step_info *out),
            (p, i, out))
/* Return constant `r`; NULL: `r` is not a constant. */
DP_FN_ABOVE(const dp_value *, dp_program_constant, (const dp_program *p, dp_ref r), (p, r))
/* If argument `arg` of step `step` is a constant dtype, device, layout or memory format, return its
 * name, which is a static string or lies in `buf`; else NULL. */
DP_FN_ABOVE(const char *, dp_program_argument_name,
            (const dp_program *p, uint32_t step, uint32_t arg, char buf[DP_KEY_NAME_MAX]),
            (p, step, arg, buf))
/* Write the name of value `r` into `buf` and return `buf`: "x", or "%3" for a value without a name;
 * for a constant its name, or "" if it has none. */
DP_FN_ABOVE(const char *, dp_program_value_name,
            (const dp_program *p, dp_ref r, char buf[DP_KEY_NAME_MAX]), (p, r, buf))
/* torch.autograd.grad: compute the gradients of `inputs` [n_inputs] as grads[i], owned by the
 * caller; NULL: no tensor was computed from input i.  `gradients` are the gradients of `tensors`
 * [n]; if `gradients` or an item is NULL, the gradient is 1, for a tensor of one real element.
 * flags and errors as of dp_tensor_backward(); on failure all grads[i] are NULL. */
DP_FN_ABOVE(int, dp_gradients,
            (dp_ctx * ctx, dp_tensor *const *tensors, dp_tensor *const *gradients, size_t n,
             dp_tensor *const *inputs, size_t n_inputs, uint32_t flags, dp_tensor **grads),
            (ctx, tensors, gradients, n, inputs, n_inputs, flags, grads))

/* -- gradients of a plugin's own operators -- */

/* Like dp_record(), but another operator computes the gradients (torch.autograd.Function): run the
 * call below its key and, if an argument requires a gradient, record it so that backward calls
 * `how->backward`.  For a kernel at a key of autograd, which is registered with DP_LIBRARY_GRAD.
 * DP_EPLUGIN: `how` does not fit the operator, or the backward operator is not defined or has other
 * arguments and returns.  DP_ENOTIMPL: the operator returns a list beside other returns. */
DP_FN_ABOVE(int, dp_record_as, (dp_call * call, const dp_recording *how), (call, how))

/* -- autocast: mixed precision (at::autocast) -- */

/* The kernel of the Autocast keys: cast the arguments as `policy` (DP_CAST_*) says and run the call
 * below with autocast excluded.  autocast.h has it as kernels.  DP_ERUNTIME: with DP_CAST_PROMOTE,
 * arguments of lower dtypes that are not the dtype of autocast.  DP_EPLUGIN: the call's key is not
 * of autocast, or there is no such policy. */
DP_FN_ABOVE(int, dp_autocast, (dp_call * call, uint32_t policy), (call, policy))
/* Cast `t` to `to` if it is floating-point, not float64, and on `backend` (at::autocast's
 * cached_cast): *out, owned, is `t` itself if it is not cast.  A cast of a leaf that requires
 * gradients is kept for the next one, until the outermost region of autocast ends.  Call it with
 * the keys of autocast excluded.  `t` may be NULL. */
DP_FN_ABOVE(int, dp_cached_cast,
            (dp_ctx * ctx, dp_tensor *t, dp_dtype to, int backend, dp_tensor **out),
            (ctx, t, to, backend, out))

/* The kernel of keys Functionalize and Tracer: record the call in the context's capture, if one
 * records at the call's key (program.h), and run the call below, with both keys excluded. */
DP_FN_ABOVE(int, dp_capture_call, (dp_call * call), (call))

#undef DP_FN_ABOVE
