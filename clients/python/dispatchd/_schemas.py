"""_schemas.py -- the operators of aten and their public names; written by proto/gen/emit_python.py."""

# name of an operator -> the schemas of its overloads, a line each
SCHEMAS: dict[str, str] = {
    'empty':
        'empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor\n'
        'empty.out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'empty_strided':
        'empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'empty_strided.out(SymInt[] size, SymInt[] stride, *, Tensor(a!) out) -> Tensor(a!)',
    'empty_like':
        'empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor\n'
        'empty_like.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'new_empty':
        'new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'new_empty.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)',
    'new_empty_strided':
        'new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'new_empty_strided.out(Tensor self, SymInt[] size, SymInt[] stride, *, Tensor(a!) out) -> Tensor(a!)',
    'zeros':
        'zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)',
    'zeros_like':
        'zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor\n'
        'zeros_like.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'new_zeros':
        'new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'new_zeros.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)',
    'ones':
        'ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)',
    'ones_like':
        'ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor\n'
        'ones_like.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'new_ones':
        'new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'new_ones.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)',
    'full':
        'full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)',
    'full_like':
        'full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor\n'
        'full_like.out(Tensor self, Scalar fill_value, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'new_full':
        'new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'new_full.out(Tensor self, SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)',
    'scalar_tensor':
        'scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'scalar_tensor.out(Scalar s, *, Tensor(a!) out) -> Tensor(a!)',
    'arange':
        'arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)\n'
        'arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)',
    'range':
        'range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'range.out_(Scalar start, Scalar end, *, Tensor(a!) out) -> Tensor(a!)\n'
        'range.out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)',
    'fill':
        'fill.Scalar(Tensor self, Scalar value) -> Tensor\n'
        'fill.Tensor(Tensor self, Tensor value) -> Tensor\n'
        'fill.Scalar_out(Tensor self, Scalar value, *, Tensor(a!) out) -> Tensor(a!)\n'
        'fill.Tensor_out(Tensor self, Tensor value, *, Tensor(a!) out) -> Tensor(a!)',
    'fill_':
        'fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)\n'
        'fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)',
    'zero_':
        'zero_(Tensor(a!) self) -> Tensor(a!)',
    'linspace':
        'linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'linspace.out(Scalar start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)',
    'logspace':
        'logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'logspace.out(Scalar start, Scalar end, int steps, float base=10., *, Tensor(a!) out) -> Tensor(a!)',
    'eye':
        'eye(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'eye.m(int n, int m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'eye.out(int n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'eye.m_out(int n, int m, *, Tensor(a!) out) -> Tensor(a!)',
    'tril_indices':
        'tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'tril_indices.out(int row, int col, int offset=0, *, Tensor(a!) out) -> Tensor(a!)',
    'triu_indices':
        'triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'triu_indices.out(int row, int col, int offset=0, *, Tensor(a!) out) -> Tensor(a!)',
    'copy':
        'copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor\n'
        'copy.out(Tensor self, Tensor src, bool non_blocking=False, *, Tensor(a!) out) -> Tensor(a!)',
    'copy_':
        'copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)',
    'clone':
        'clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor\n'
        'clone.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'contiguous':
        'contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)',
    '_to_copy':
        '_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor\n'
        '_to_copy.out(Tensor self, *, bool non_blocking=False, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'to':
        'to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)\n'
        'to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)\n'
        'to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)\n'
        'to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)',
    'type_as':
        'type_as(Tensor self, Tensor other) -> Tensor',
    'detach':
        'detach(Tensor(a) self) -> Tensor(a)',
    'detach_':
        'detach_(Tensor(a!) self) -> Tensor(a!)',
    'alias':
        'alias(Tensor(a) self) -> Tensor(a)',
    '_local_scalar_dense':
        '_local_scalar_dense(Tensor self) -> Scalar',
    'item':
        'item(Tensor self) -> Scalar',
    'as_strided':
        'as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)',
    'view':
        'view(Tensor(a) self, SymInt[] size) -> Tensor(a)\n'
        'view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)',
    '_unsafe_view':
        '_unsafe_view(Tensor self, SymInt[] size) -> Tensor\n'
        '_unsafe_view.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)',
    '_reshape_alias':
        '_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)',
    'reshape':
        'reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)',
    'reshape_as':
        'reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)',
    'view_as':
        'view_as(Tensor(a) self, Tensor other) -> Tensor(a)',
    'permute':
        'permute(Tensor(a) self, int[] dims) -> Tensor(a)',
    'transpose':
        'transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)',
    't':
        't(Tensor(a) self) -> Tensor(a)',
    'expand':
        'expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)',
    'expand_as':
        'expand_as(Tensor(a) self, Tensor other) -> Tensor(a)',
    'broadcast_to':
        'broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)',
    'flatten':
        'flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)',
    'unflatten':
        'unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)',
    'slice':
        'slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)',
    'select':
        'select.int(Tensor(a) self, int dim, int index) -> Tensor(a)',
    'narrow':
        'narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)\n'
        'narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)',
    'squeeze':
        'squeeze(Tensor(a) self) -> Tensor(a)\n'
        'squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)',
    'unsqueeze':
        'unsqueeze(Tensor(a) self, int dim) -> Tensor(a)',
    'movedim':
        'movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)\n'
        'movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)',
    'split':
        'split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]\n'
        'split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]',
    'split_with_sizes':
        'split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]',
    'chunk':
        'chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]',
    'unbind':
        'unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]',
    'diagonal':
        'diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)',
    'unfold':
        'unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)',
    'add':
        'add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n'
        'add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)\n'
        'add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor\n'
        'add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)',
    'add_':
        'add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)\n'
        'add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)',
    '_add_relu':
        '_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n'
        '_add_relu.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)\n'
        '_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor\n'
        '_add_relu.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)',
    '_add_relu_':
        '_add_relu_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)\n'
        '_add_relu_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)',
    'sub':
        'sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n'
        'sub.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)\n'
        'sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor\n'
        'sub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)',
    'sub_':
        'sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)\n'
        'sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)',
    'rsub':
        'rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n'
        'rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor\n'
        'rsub.Tensor_out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)\n'
        'rsub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)',
    'mul':
        'mul.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'mul.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'mul.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)',
    'mul_':
        'mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'div':
        'div.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'div.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor\n'
        'div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor\n'
        'div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)\n'
        'div.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'div.Scalar_mode_out(Tensor self, Scalar other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)',
    'div_':
        'div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)\n'
        'div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)',
    'floor_divide':
        'floor_divide(Tensor self, Tensor other) -> Tensor\n'
        'floor_divide.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'floor_divide.Scalar(Tensor self, Scalar other) -> Tensor',
    'fmod':
        'fmod.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'fmod.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'fmod.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'fmod.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)',
    'fmod_':
        'fmod_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'fmod_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'remainder':
        'remainder.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'remainder.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'remainder.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'remainder.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor\n'
        'remainder.Scalar_Tensor_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'remainder_':
        'remainder_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'remainder_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'pow':
        'pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor\n'
        'pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)\n'
        'pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor\n'
        'pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> Tensor(a!)\n'
        'pow.Scalar(Scalar self, Tensor exponent) -> Tensor\n'
        'pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)',
    'pow_':
        'pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)\n'
        'pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)',
    'square':
        'square(Tensor self) -> Tensor\n'
        'square.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'maximum':
        'maximum(Tensor self, Tensor other) -> Tensor\n'
        'maximum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'minimum':
        'minimum(Tensor self, Tensor other) -> Tensor\n'
        'minimum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'atan2':
        'atan2(Tensor self, Tensor other) -> Tensor\n'
        'atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'atan2_':
        'atan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'lerp':
        'lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor\n'
        'lerp.Scalar_out(Tensor self, Tensor end, Scalar weight, *, Tensor(a!) out) -> Tensor(a!)\n'
        'lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor\n'
        'lerp.Tensor_out(Tensor self, Tensor end, Tensor weight, *, Tensor(a!) out) -> Tensor(a!)',
    'addcmul':
        'addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor\n'
        'addcmul.out(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)',
    'addcdiv':
        'addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor\n'
        'addcdiv.out(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)',
    'floor_divide_':
        'floor_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'lerp_':
        'lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)\n'
        'lerp_.Tensor(Tensor(a!) self, Tensor end, Tensor weight) -> Tensor(a!)',
    'addcmul_':
        'addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)',
    'addcdiv_':
        'addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)',
    'hypot':
        'hypot(Tensor self, Tensor other) -> Tensor\n'
        'hypot.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'hypot_':
        'hypot_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'copysign':
        'copysign.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'copysign.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'copysign.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'copysign.Tensor(Tensor self, Tensor other) -> Tensor',
    'copysign_':
        'copysign_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'copysign_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'fmax':
        'fmax(Tensor self, Tensor other) -> Tensor\n'
        'fmax.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'fmin':
        'fmin(Tensor self, Tensor other) -> Tensor\n'
        'fmin.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'heaviside':
        'heaviside(Tensor self, Tensor values) -> Tensor\n'
        'heaviside.out(Tensor self, Tensor values, *, Tensor(a!) out) -> Tensor(a!)',
    'heaviside_':
        'heaviside_(Tensor(a!) self, Tensor values) -> Tensor(a!)',
    'gcd':
        'gcd(Tensor self, Tensor other) -> Tensor\n'
        'gcd.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'gcd_':
        'gcd_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'lcm':
        'lcm(Tensor self, Tensor other) -> Tensor\n'
        'lcm.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'lcm_':
        'lcm_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'logaddexp':
        'logaddexp(Tensor self, Tensor other) -> Tensor\n'
        'logaddexp.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'logaddexp2':
        'logaddexp2(Tensor self, Tensor other) -> Tensor\n'
        'logaddexp2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'xlogy':
        'xlogy.OutScalar_Other(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'xlogy.OutScalar_Self(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'xlogy.OutTensor(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor\n'
        'xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor\n'
        'xlogy.Tensor(Tensor self, Tensor other) -> Tensor',
    'xlogy_':
        'xlogy_.Scalar_Other(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'xlogy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'special_xlog1py':
        'special_xlog1py(Tensor self, Tensor other) -> Tensor\n'
        'special_xlog1py.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor\n'
        'special_xlog1py.other_scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor\n'
        'special_xlog1py.self_scalar_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'special_zeta':
        'special_zeta(Tensor self, Tensor other) -> Tensor\n'
        'special_zeta.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor\n'
        'special_zeta.other_scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor\n'
        'special_zeta.self_scalar_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'nextafter':
        'nextafter(Tensor self, Tensor other) -> Tensor\n'
        'nextafter.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'nextafter_':
        'nextafter_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'igamma':
        'igamma(Tensor self, Tensor other) -> Tensor\n'
        'igamma.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'igamma_':
        'igamma_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'igammac':
        'igammac(Tensor self, Tensor other) -> Tensor\n'
        'igammac.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'igammac_':
        'igammac_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'ldexp_':
        'ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'ldexp':
        'ldexp.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'ldexp.Tensor(Tensor self, Tensor other) -> Tensor',
    'float_power':
        'float_power.Scalar(Scalar self, Tensor exponent) -> Tensor\n'
        'float_power.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)\n'
        'float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor\n'
        'float_power.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> Tensor(a!)\n'
        'float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor\n'
        'float_power.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)',
    'float_power_':
        'float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)\n'
        'float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)',
    'true_divide':
        'true_divide.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'true_divide.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'true_divide.Tensor(Tensor self, Tensor other) -> Tensor',
    'true_divide_':
        'true_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'true_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'subtract':
        'subtract.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)\n'
        'subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor\n'
        'subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor',
    'subtract_':
        'subtract_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)\n'
        'subtract_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)',
    'multiply':
        'multiply.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'multiply.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'multiply.Tensor(Tensor self, Tensor other) -> Tensor',
    'multiply_':
        'multiply_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'multiply_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'divide':
        'divide.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'divide.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor\n'
        'divide.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor\n'
        'divide.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)',
    'divide_':
        'divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'divide_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)\n'
        'divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'divide_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)',
    'complex':
        'complex(Tensor real, Tensor imag) -> Tensor\n'
        'complex.out(Tensor real, Tensor imag, *, Tensor(a!) out) -> Tensor(a!)',
    'polar':
        'polar(Tensor abs, Tensor angle) -> Tensor\n'
        'polar.out(Tensor abs, Tensor angle, *, Tensor(a!) out) -> Tensor(a!)',
    'arctan2':
        'arctan2(Tensor self, Tensor other) -> Tensor\n'
        'arctan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'arctan2_':
        'arctan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'neg':
        'neg(Tensor self) -> Tensor\n'
        'neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'neg_':
        'neg_(Tensor(a!) self) -> Tensor(a!)',
    'abs':
        'abs(Tensor self) -> Tensor\n'
        'abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'abs_':
        'abs_(Tensor(a!) self) -> Tensor(a!)',
    'sign':
        'sign(Tensor self) -> Tensor\n'
        'sign.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'sign_':
        'sign_(Tensor(a!) self) -> Tensor(a!)',
    'exp':
        'exp(Tensor self) -> Tensor\n'
        'exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'exp_':
        'exp_(Tensor(a!) self) -> Tensor(a!)',
    'expm1':
        'expm1(Tensor self) -> Tensor\n'
        'expm1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'expm1_':
        'expm1_(Tensor(a!) self) -> Tensor(a!)',
    'log':
        'log(Tensor self) -> Tensor\n'
        'log.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'log_':
        'log_(Tensor(a!) self) -> Tensor(a!)',
    'log1p':
        'log1p(Tensor self) -> Tensor\n'
        'log1p.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'log1p_':
        'log1p_(Tensor(a!) self) -> Tensor(a!)',
    'log2':
        'log2(Tensor self) -> Tensor\n'
        'log2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'log2_':
        'log2_(Tensor(a!) self) -> Tensor(a!)',
    'sqrt':
        'sqrt(Tensor self) -> Tensor\n'
        'sqrt.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'sqrt_':
        'sqrt_(Tensor(a!) self) -> Tensor(a!)',
    'rsqrt':
        'rsqrt(Tensor self) -> Tensor\n'
        'rsqrt.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'rsqrt_':
        'rsqrt_(Tensor(a!) self) -> Tensor(a!)',
    'reciprocal':
        'reciprocal(Tensor self) -> Tensor\n'
        'reciprocal.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'reciprocal_':
        'reciprocal_(Tensor(a!) self) -> Tensor(a!)',
    'sin':
        'sin(Tensor self) -> Tensor\n'
        'sin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'sin_':
        'sin_(Tensor(a!) self) -> Tensor(a!)',
    'cos':
        'cos(Tensor self) -> Tensor\n'
        'cos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'cos_':
        'cos_(Tensor(a!) self) -> Tensor(a!)',
    'tan':
        'tan(Tensor self) -> Tensor\n'
        'tan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'tan_':
        'tan_(Tensor(a!) self) -> Tensor(a!)',
    'tanh':
        'tanh(Tensor self) -> Tensor\n'
        'tanh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'tanh_':
        'tanh_(Tensor(a!) self) -> Tensor(a!)',
    'sigmoid':
        'sigmoid(Tensor self) -> Tensor\n'
        'sigmoid.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'sigmoid_':
        'sigmoid_(Tensor(a!) self) -> Tensor(a!)',
    'erf':
        'erf(Tensor self) -> Tensor\n'
        'erf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'erf_':
        'erf_(Tensor(a!) self) -> Tensor(a!)',
    'floor':
        'floor(Tensor self) -> Tensor\n'
        'floor.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'floor_':
        'floor_(Tensor(a!) self) -> Tensor(a!)',
    'ceil':
        'ceil(Tensor self) -> Tensor\n'
        'ceil.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'ceil_':
        'ceil_(Tensor(a!) self) -> Tensor(a!)',
    'round':
        'round(Tensor self) -> Tensor\n'
        'round.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n'
        'round.decimals(Tensor self, *, int decimals) -> Tensor\n'
        'round.decimals_out(Tensor self, *, int decimals, Tensor(a!) out) -> Tensor(a!)',
    'round_':
        'round_(Tensor(a!) self) -> Tensor(a!)\n'
        'round_.decimals(Tensor(a!) self, *, int decimals) -> Tensor(a!)',
    'trunc':
        'trunc(Tensor self) -> Tensor\n'
        'trunc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'trunc_':
        'trunc_(Tensor(a!) self) -> Tensor(a!)',
    'positive':
        'positive(Tensor(a) self) -> Tensor(a)',
    'negative':
        'negative(Tensor self) -> Tensor\n'
        'negative.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'negative_':
        'negative_(Tensor(a!) self) -> Tensor(a!)',
    'absolute':
        'absolute(Tensor self) -> Tensor\n'
        'absolute.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'absolute_':
        'absolute_(Tensor(a!) self) -> Tensor(a!)',
    'sgn':
        'sgn(Tensor self) -> Tensor\n'
        'sgn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'sgn_':
        'sgn_(Tensor(a!) self) -> Tensor(a!)',
    'signbit':
        'signbit(Tensor self) -> Tensor\n'
        'signbit.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'square_':
        'square_(Tensor(a!) self) -> Tensor(a!)',
    'frac':
        'frac(Tensor self) -> Tensor\n'
        'frac.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'frac_':
        'frac_(Tensor(a!) self) -> Tensor(a!)',
    'fix':
        'fix(Tensor self) -> Tensor\n'
        'fix.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'fix_':
        'fix_(Tensor(a!) self) -> Tensor(a!)',
    'exp2':
        'exp2(Tensor self) -> Tensor\n'
        'exp2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'exp2_':
        'exp2_(Tensor(a!) self) -> Tensor(a!)',
    'log10':
        'log10(Tensor self) -> Tensor\n'
        'log10.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'log10_':
        'log10_(Tensor(a!) self) -> Tensor(a!)',
    'asin':
        'asin(Tensor self) -> Tensor\n'
        'asin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'asin_':
        'asin_(Tensor(a!) self) -> Tensor(a!)',
    'acos':
        'acos(Tensor self) -> Tensor\n'
        'acos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'acos_':
        'acos_(Tensor(a!) self) -> Tensor(a!)',
    'atan':
        'atan(Tensor self) -> Tensor\n'
        'atan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'atan_':
        'atan_(Tensor(a!) self) -> Tensor(a!)',
    'sinh':
        'sinh(Tensor self) -> Tensor\n'
        'sinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'sinh_':
        'sinh_(Tensor(a!) self) -> Tensor(a!)',
    'cosh':
        'cosh(Tensor self) -> Tensor\n'
        'cosh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'cosh_':
        'cosh_(Tensor(a!) self) -> Tensor(a!)',
    'asinh':
        'asinh(Tensor self) -> Tensor\n'
        'asinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'asinh_':
        'asinh_(Tensor(a!) self) -> Tensor(a!)',
    'acosh':
        'acosh(Tensor self) -> Tensor\n'
        'acosh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'acosh_':
        'acosh_(Tensor(a!) self) -> Tensor(a!)',
    'atanh':
        'atanh(Tensor self) -> Tensor\n'
        'atanh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'atanh_':
        'atanh_(Tensor(a!) self) -> Tensor(a!)',
    'arcsin':
        'arcsin(Tensor self) -> Tensor\n'
        'arcsin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'arcsin_':
        'arcsin_(Tensor(a!) self) -> Tensor(a!)',
    'arccos':
        'arccos(Tensor self) -> Tensor\n'
        'arccos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'arccos_':
        'arccos_(Tensor(a!) self) -> Tensor(a!)',
    'arctan':
        'arctan(Tensor self) -> Tensor\n'
        'arctan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'arctan_':
        'arctan_(Tensor(a!) self) -> Tensor(a!)',
    'arcsinh':
        'arcsinh(Tensor self) -> Tensor\n'
        'arcsinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'arcsinh_':
        'arcsinh_(Tensor(a!) self) -> Tensor(a!)',
    'arccosh':
        'arccosh(Tensor self) -> Tensor\n'
        'arccosh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'arccosh_':
        'arccosh_(Tensor(a!) self) -> Tensor(a!)',
    'arctanh':
        'arctanh(Tensor self) -> Tensor\n'
        'arctanh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'arctanh_':
        'arctanh_(Tensor(a!) self) -> Tensor(a!)',
    'sinc':
        'sinc(Tensor self) -> Tensor\n'
        'sinc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'sinc_':
        'sinc_(Tensor(a!) self) -> Tensor(a!)',
    'deg2rad':
        'deg2rad(Tensor self) -> Tensor\n'
        'deg2rad.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'deg2rad_':
        'deg2rad_(Tensor(a!) self) -> Tensor(a!)',
    'rad2deg':
        'rad2deg(Tensor self) -> Tensor\n'
        'rad2deg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'rad2deg_':
        'rad2deg_(Tensor(a!) self) -> Tensor(a!)',
    'erfc':
        'erfc(Tensor self) -> Tensor\n'
        'erfc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'erfc_':
        'erfc_(Tensor(a!) self) -> Tensor(a!)',
    'erfinv':
        'erfinv(Tensor self) -> Tensor\n'
        'erfinv.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'erfinv_':
        'erfinv_(Tensor(a!) self) -> Tensor(a!)',
    'lgamma':
        'lgamma(Tensor self) -> Tensor\n'
        'lgamma.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'lgamma_':
        'lgamma_(Tensor(a!) self) -> Tensor(a!)',
    'digamma':
        'digamma(Tensor self) -> Tensor\n'
        'digamma.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'digamma_':
        'digamma_(Tensor(a!) self) -> Tensor(a!)',
    'polygamma':
        'polygamma(int n, Tensor self) -> Tensor\n'
        'polygamma.out(int n, Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'polygamma_':
        'polygamma_(Tensor(a!) self, int n) -> Tensor(a!)',
    'mvlgamma':
        'mvlgamma(Tensor self, int p) -> Tensor\n'
        'mvlgamma.out(Tensor self, int p, *, Tensor(a!) out) -> Tensor(a!)',
    'mvlgamma_':
        'mvlgamma_(Tensor(a!) self, int p) -> Tensor(a!)',
    'i0':
        'i0(Tensor self) -> Tensor\n'
        'i0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'i0_':
        'i0_(Tensor(a!) self) -> Tensor(a!)',
    'logit':
        'logit(Tensor self, float? eps=None) -> Tensor\n'
        'logit.out(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)',
    'logit_':
        'logit_(Tensor(a!) self, float? eps=None) -> Tensor(a!)',
    'angle':
        'angle(Tensor self) -> Tensor\n'
        'angle.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'nan_to_num':
        'nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor\n'
        'nan_to_num.out(Tensor self, float? nan=None, float? posinf=None, float? neginf=None, *, Tensor(a!) out) -> Tensor(a!)',
    'nan_to_num_':
        'nan_to_num_(Tensor(a!) self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor(a!)',
    'special_entr':
        'special_entr(Tensor self) -> Tensor\n'
        'special_entr.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_erfcx':
        'special_erfcx(Tensor self) -> Tensor\n'
        'special_erfcx.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_i0e':
        'special_i0e(Tensor self) -> Tensor\n'
        'special_i0e.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_i1':
        'special_i1(Tensor self) -> Tensor\n'
        'special_i1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_i1e':
        'special_i1e(Tensor self) -> Tensor\n'
        'special_i1e.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_ndtr':
        'special_ndtr(Tensor self) -> Tensor\n'
        'special_ndtr.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_ndtri':
        'special_ndtri(Tensor self) -> Tensor\n'
        'special_ndtri.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_log_ndtr':
        'special_log_ndtr(Tensor self) -> Tensor\n'
        'special_log_ndtr.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_expit':
        'special_expit(Tensor self) -> Tensor\n'
        'special_expit.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_exp2':
        'special_exp2(Tensor self) -> Tensor\n'
        'special_exp2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_expm1':
        'special_expm1(Tensor self) -> Tensor\n'
        'special_expm1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_erf':
        'special_erf(Tensor self) -> Tensor\n'
        'special_erf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_erfc':
        'special_erfc(Tensor self) -> Tensor\n'
        'special_erfc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_erfinv':
        'special_erfinv(Tensor self) -> Tensor\n'
        'special_erfinv.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_gammaln':
        'special_gammaln(Tensor self) -> Tensor\n'
        'special_gammaln.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_digamma':
        'special_digamma(Tensor self) -> Tensor\n'
        'special_digamma.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_psi':
        'special_psi(Tensor self) -> Tensor\n'
        'special_psi.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_i0':
        'special_i0(Tensor self) -> Tensor\n'
        'special_i0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_log1p':
        'special_log1p(Tensor self) -> Tensor\n'
        'special_log1p.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_logit':
        'special_logit(Tensor self, float? eps=None) -> Tensor\n'
        'special_logit.out(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)',
    'special_round':
        'special_round(Tensor self, *, int decimals=0) -> Tensor\n'
        'special_round.out(Tensor self, *, int decimals=0, Tensor(a!) out) -> Tensor(a!)',
    'special_sinc':
        'special_sinc(Tensor self) -> Tensor\n'
        'special_sinc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_xlogy':
        'special_xlogy(Tensor self, Tensor other) -> Tensor\n'
        'special_xlogy.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor\n'
        'special_xlogy.other_scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor\n'
        'special_xlogy.self_scalar_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'special_polygamma':
        'special_polygamma(int n, Tensor self) -> Tensor\n'
        'special_polygamma.out(int n, Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_multigammaln':
        'special_multigammaln(Tensor self, int p) -> Tensor\n'
        'special_multigammaln.out(Tensor self, int p, *, Tensor(a!) out) -> Tensor(a!)',
    'special_gammainc':
        'special_gammainc(Tensor self, Tensor other) -> Tensor\n'
        'special_gammainc.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'special_gammaincc':
        'special_gammaincc(Tensor self, Tensor other) -> Tensor\n'
        'special_gammaincc.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'special_airy_ai':
        'special_airy_ai(Tensor x) -> Tensor\n'
        'special_airy_ai.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)',
    'special_bessel_j0':
        'special_bessel_j0(Tensor self) -> Tensor\n'
        'special_bessel_j0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_bessel_j1':
        'special_bessel_j1(Tensor self) -> Tensor\n'
        'special_bessel_j1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_bessel_y0':
        'special_bessel_y0(Tensor self) -> Tensor\n'
        'special_bessel_y0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_bessel_y1':
        'special_bessel_y1(Tensor self) -> Tensor\n'
        'special_bessel_y1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_modified_bessel_i0':
        'special_modified_bessel_i0(Tensor self) -> Tensor\n'
        'special_modified_bessel_i0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_modified_bessel_i1':
        'special_modified_bessel_i1(Tensor self) -> Tensor\n'
        'special_modified_bessel_i1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_modified_bessel_k0':
        'special_modified_bessel_k0(Tensor self) -> Tensor\n'
        'special_modified_bessel_k0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_modified_bessel_k1':
        'special_modified_bessel_k1(Tensor self) -> Tensor\n'
        'special_modified_bessel_k1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'special_scaled_modified_bessel_k0':
        'special_scaled_modified_bessel_k0(Tensor x) -> Tensor\n'
        'special_scaled_modified_bessel_k0.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)',
    'special_scaled_modified_bessel_k1':
        'special_scaled_modified_bessel_k1(Tensor x) -> Tensor\n'
        'special_scaled_modified_bessel_k1.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)',
    'special_spherical_bessel_j0':
        'special_spherical_bessel_j0(Tensor x) -> Tensor\n'
        'special_spherical_bessel_j0.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)',
    'frexp':
        'frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)\n'
        'frexp.Tensor_out(Tensor self, *, Tensor(a!) mantissa, Tensor(b!) exponent) -> (Tensor(a!) mantissa, Tensor(b!) exponent)',
    'relu':
        'relu(Tensor self) -> Tensor\n'
        'relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'relu_':
        'relu_(Tensor(a!) self) -> Tensor(a!)',
    'relu6':
        'relu6(Tensor self) -> Tensor',
    'gelu':
        'gelu(Tensor self, *, str approximate="none") -> Tensor\n'
        'gelu.out(Tensor self, *, str approximate="none", Tensor(a!) out) -> Tensor(a!)',
    'silu':
        'silu(Tensor self) -> Tensor\n'
        'silu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'silu_':
        'silu_(Tensor(a!) self) -> Tensor(a!)',
    'leaky_relu':
        'leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor\n'
        'leaky_relu.out(Tensor self, Scalar negative_slope=0.01, *, Tensor(a!) out) -> Tensor(a!)',
    'leaky_relu_':
        'leaky_relu_(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)',
    'elu':
        'elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor\n'
        'elu.out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1, *, Tensor(a!) out) -> Tensor(a!)',
    'hardtanh':
        'hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor\n'
        'hardtanh.out(Tensor self, Scalar min_val=-1, Scalar max_val=1, *, Tensor(a!) out) -> Tensor(a!)',
    'hardswish':
        'hardswish(Tensor self) -> Tensor\n'
        'hardswish.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'hardsigmoid':
        'hardsigmoid(Tensor self) -> Tensor\n'
        'hardsigmoid.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'softplus':
        'softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor\n'
        'softplus.out(Tensor self, Scalar beta=1, Scalar threshold=20, *, Tensor(a!) out) -> Tensor(a!)',
    'threshold':
        'threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor\n'
        'threshold.out(Tensor self, Scalar threshold, Scalar value, *, Tensor(a!) out) -> Tensor(a!)',
    'clamp':
        'clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor\n'
        'clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor\n'
        'clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        'clamp.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor(a!) out) -> Tensor(a!)',
    'clamp_':
        'clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)\n'
        'clamp_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)',
    'clamp_min':
        'clamp_min(Tensor self, Scalar min) -> Tensor\n'
        'clamp_min.out(Tensor self, Scalar min, *, Tensor(a!) out) -> Tensor(a!)\n'
        'clamp_min.Tensor(Tensor self, Tensor min) -> Tensor\n'
        'clamp_min.Tensor_out(Tensor self, Tensor min, *, Tensor(a!) out) -> Tensor(a!)',
    'clamp_min_':
        'clamp_min_(Tensor(a!) self, Scalar min) -> Tensor(a!)\n'
        'clamp_min_.Tensor(Tensor(a!) self, Tensor min) -> Tensor(a!)',
    'clamp_max':
        'clamp_max(Tensor self, Scalar max) -> Tensor\n'
        'clamp_max.out(Tensor self, Scalar max, *, Tensor(a!) out) -> Tensor(a!)\n'
        'clamp_max.Tensor(Tensor self, Tensor max) -> Tensor\n'
        'clamp_max.Tensor_out(Tensor self, Tensor max, *, Tensor(a!) out) -> Tensor(a!)',
    'clamp_max_':
        'clamp_max_(Tensor(a!) self, Scalar max) -> Tensor(a!)\n'
        'clamp_max_.Tensor(Tensor(a!) self, Tensor max) -> Tensor(a!)',
    'relu6_':
        'relu6_(Tensor(a!) self) -> Tensor(a!)',
    'gelu_':
        'gelu_(Tensor(a!) self, *, str approximate="none") -> Tensor(a!)',
    'mish':
        'mish(Tensor self) -> Tensor\n'
        'mish.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'mish_':
        'mish_(Tensor(a!) self) -> Tensor(a!)',
    'elu_':
        'elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)',
    'celu':
        'celu(Tensor self, Scalar alpha=1.) -> Tensor\n'
        'celu.out(Tensor self, Scalar alpha=1., *, Tensor(a!) out) -> Tensor(a!)',
    'celu_':
        'celu_(Tensor(a!) self, Scalar alpha=1.) -> Tensor(a!)',
    'selu':
        'selu(Tensor self) -> Tensor',
    'selu_':
        'selu_(Tensor(a!) self) -> Tensor(a!)',
    'hardtanh_':
        'hardtanh_(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) -> Tensor(a!)',
    'hardswish_':
        'hardswish_(Tensor(a!) self) -> Tensor(a!)',
    'hardsigmoid_':
        'hardsigmoid_(Tensor(a!) self) -> Tensor(a!)',
    'hardshrink':
        'hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor\n'
        'hardshrink.out(Tensor self, Scalar lambd=0.5, *, Tensor(a!) out) -> Tensor(a!)',
    'softshrink':
        'softshrink(Tensor self, Scalar lambd=0.5) -> Tensor\n'
        'softshrink.out(Tensor self, Scalar lambd=0.5, *, Tensor(a!) out) -> Tensor(a!)',
    'threshold_':
        'threshold_(Tensor(a!) self, Scalar threshold, Scalar value) -> Tensor(a!)',
    'clip':
        'clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor\n'
        'clip.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        'clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor\n'
        'clip.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor(a!) out) -> Tensor(a!)',
    'clip_':
        'clip_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)\n'
        'clip_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)',
    'prelu':
        'prelu(Tensor self, Tensor weight) -> Tensor\n'
        'prelu.out(Tensor self, Tensor weight, *, Tensor(a!) out) -> Tensor(a!)',
    'glu':
        'glu(Tensor self, int dim=-1) -> Tensor\n'
        'glu.out(Tensor self, int dim=-1, *, Tensor(a!) out) -> Tensor(a!)',
    'log_sigmoid':
        'log_sigmoid(Tensor self) -> Tensor\n'
        'log_sigmoid.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'log_sigmoid_forward':
        'log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)\n'
        'log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer) -> (Tensor(a!), Tensor(b!))',
    'gelu_backward':
        'gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor\n'
        'gelu_backward.grad_input(Tensor grad_output, Tensor self, *, str approximate="none", Tensor(a!) grad_input) -> Tensor(a!)',
    'silu_backward':
        'silu_backward(Tensor grad_output, Tensor self) -> Tensor\n'
        'silu_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'mish_backward':
        'mish_backward(Tensor grad_output, Tensor self) -> Tensor',
    'elu_backward':
        'elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor\n'
        'elu_backward.grad_input(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'leaky_relu_backward':
        'leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor\n'
        'leaky_relu_backward.grad_input(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'hardtanh_backward':
        'hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor\n'
        'hardtanh_backward.grad_input(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'hardswish_backward':
        'hardswish_backward(Tensor grad_output, Tensor self) -> Tensor\n'
        'hardswish_backward.out(Tensor grad_output, Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'hardsigmoid_backward':
        'hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor\n'
        'hardsigmoid_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'hardshrink_backward':
        'hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor\n'
        'hardshrink_backward.grad_input(Tensor grad_out, Tensor self, Scalar lambd, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'softshrink_backward':
        'softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor\n'
        'softshrink_backward.grad_input(Tensor grad_output, Tensor self, Scalar lambd, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'softplus_backward':
        'softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor\n'
        'softplus_backward.grad_input(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'threshold_backward':
        'threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor\n'
        'threshold_backward.grad_input(Tensor grad_output, Tensor self, Scalar threshold, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'log_sigmoid_backward':
        'log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor\n'
        'log_sigmoid_backward.grad_input(Tensor grad_output, Tensor self, Tensor buffer, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'glu_backward':
        'glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor\n'
        'glu_backward.grad_input(Tensor grad_output, Tensor self, int dim, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'glu_jvp':
        'glu_jvp(Tensor glu, Tensor x, Tensor dx, int dim) -> Tensor\n'
        'glu_jvp.out(Tensor glu, Tensor x, Tensor dx, int dim, *, Tensor(a!) out) -> Tensor(a!)',
    'glu_backward_jvp':
        'glu_backward_jvp(Tensor grad_x, Tensor grad_glu, Tensor x, Tensor dgrad_glu, Tensor dx, int dim) -> Tensor\n'
        'glu_backward_jvp.out(Tensor grad_x, Tensor grad_glu, Tensor x, Tensor dgrad_glu, Tensor dx, int dim, *, Tensor(a!) out) -> Tensor(a!)',
    'prelu_backward':
        'prelu_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)\n'
        'prelu_backward.out(Tensor grad_output, Tensor self, Tensor weight, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    'infinitely_differentiable_gelu_backward':
        'infinitely_differentiable_gelu_backward(Tensor grad, Tensor self) -> Tensor',
    'sigmoid_backward':
        'sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor\n'
        'sigmoid_backward.grad_input(Tensor grad_output, Tensor output, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'tanh_backward':
        'tanh_backward(Tensor grad_output, Tensor output) -> Tensor\n'
        'tanh_backward.grad_input(Tensor grad_output, Tensor output, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'logit_backward':
        'logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor\n'
        'logit_backward.grad_input(Tensor grad_output, Tensor self, float? eps=None, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'logical_not':
        'logical_not(Tensor self) -> Tensor\n'
        'logical_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'logical_not_':
        'logical_not_(Tensor(a!) self) -> Tensor(a!)',
    'logical_and':
        'logical_and(Tensor self, Tensor other) -> Tensor\n'
        'logical_and.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'logical_and_':
        'logical_and_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'logical_or':
        'logical_or(Tensor self, Tensor other) -> Tensor\n'
        'logical_or.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'logical_or_':
        'logical_or_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'logical_xor':
        'logical_xor(Tensor self, Tensor other) -> Tensor\n'
        'logical_xor.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'logical_xor_':
        'logical_xor_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'bitwise_not':
        'bitwise_not(Tensor self) -> Tensor\n'
        'bitwise_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'bitwise_not_':
        'bitwise_not_(Tensor(a!) self) -> Tensor(a!)',
    'bitwise_and':
        'bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'bitwise_and.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'bitwise_and.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor\n'
        'bitwise_and.Scalar_Tensor_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'bitwise_and_':
        'bitwise_and_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'bitwise_and_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'bitwise_or':
        'bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'bitwise_or.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'bitwise_or.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor\n'
        'bitwise_or.Scalar_Tensor_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'bitwise_or_':
        'bitwise_or_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'bitwise_or_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'bitwise_xor':
        'bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'bitwise_xor.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'bitwise_xor.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor\n'
        'bitwise_xor.Scalar_Tensor_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'bitwise_xor_':
        'bitwise_xor_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'bitwise_xor_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'bitwise_left_shift':
        'bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor\n'
        'bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'bitwise_left_shift.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor\n'
        'bitwise_left_shift.Tensor_Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'bitwise_left_shift.Scalar_Tensor_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'bitwise_left_shift_':
        'bitwise_left_shift_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'bitwise_left_shift_.Tensor_Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'bitwise_right_shift':
        'bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor\n'
        'bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'bitwise_right_shift.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor\n'
        'bitwise_right_shift.Tensor_Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'bitwise_right_shift.Scalar_Tensor_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'bitwise_right_shift_':
        'bitwise_right_shift_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'bitwise_right_shift_.Tensor_Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    '__and__':
        '__and__.Scalar(Tensor self, Scalar other) -> Tensor\n'
        '__and__.Tensor(Tensor self, Tensor other) -> Tensor',
    '__iand__':
        '__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        '__iand__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    '__or__':
        '__or__.Scalar(Tensor self, Scalar other) -> Tensor\n'
        '__or__.Tensor(Tensor self, Tensor other) -> Tensor',
    '__ior__':
        '__ior__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        '__ior__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    '__xor__':
        '__xor__.Scalar(Tensor self, Scalar other) -> Tensor\n'
        '__xor__.Tensor(Tensor self, Tensor other) -> Tensor',
    '__ixor__':
        '__ixor__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        '__ixor__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    '__lshift__':
        '__lshift__.Scalar(Tensor self, Scalar other) -> Tensor\n'
        '__lshift__.Tensor(Tensor self, Tensor other) -> Tensor\n'
        '__lshift__.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        '__lshift__.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    '__ilshift__':
        '__ilshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        '__ilshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    '__rshift__':
        '__rshift__.Scalar(Tensor self, Scalar other) -> Tensor\n'
        '__rshift__.Tensor(Tensor self, Tensor other) -> Tensor\n'
        '__rshift__.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        '__rshift__.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    '__irshift__':
        '__irshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        '__irshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'eq':
        'eq.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'eq.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'eq.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'eq.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)',
    'eq_':
        'eq_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'eq_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'ne':
        'ne.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'ne.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'ne.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'ne.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)',
    'ne_':
        'ne_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'ne_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'lt':
        'lt.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'lt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'lt.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'lt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)',
    'lt_':
        'lt_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'lt_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'le':
        'le.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'le.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'le.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'le.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)',
    'le_':
        'le_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'le_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'gt':
        'gt.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'gt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'gt.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'gt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)',
    'gt_':
        'gt_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'gt_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'ge':
        'ge.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'ge.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'ge.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'ge.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)',
    'ge_':
        'ge_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n'
        'ge_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)',
    'isnan':
        'isnan(Tensor self) -> Tensor\n'
        'isnan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'isinf':
        'isinf(Tensor self) -> Tensor\n'
        'isinf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'isfinite':
        'isfinite(Tensor self) -> Tensor',
    'where':
        'where.self(Tensor condition, Tensor self, Tensor other) -> Tensor\n'
        'where.self_out(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor\n'
        'where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor\n'
        'where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor\n'
        'where(Tensor condition) -> Tensor[]',
    'masked_fill':
        'masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor\n'
        'masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor\n'
        'masked_fill.Scalar_out(Tensor self, Tensor mask, Scalar value, *, Tensor(a!) out) -> Tensor(a!)\n'
        'masked_fill.Tensor_out(Tensor self, Tensor mask, Tensor value, *, Tensor(a!) out) -> Tensor(a!)',
    'masked_fill_':
        'masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)\n'
        'masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)',
    'not_equal':
        'not_equal.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'not_equal.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'not_equal.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'not_equal.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'not_equal_':
        'not_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'not_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'less':
        'less.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'less.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'less.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'less.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'less_':
        'less_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'less_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'less_equal':
        'less_equal.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'less_equal.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'less_equal.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'less_equal.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'less_equal_':
        'less_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'less_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'greater':
        'greater.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'greater.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'greater.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'greater.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'greater_':
        'greater_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'greater_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'greater_equal':
        'greater_equal.Scalar(Tensor self, Scalar other) -> Tensor\n'
        'greater_equal.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)\n'
        'greater_equal.Tensor(Tensor self, Tensor other) -> Tensor\n'
        'greater_equal.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'greater_equal_':
        'greater_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n'
        'greater_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
    'isposinf':
        'isposinf(Tensor self) -> Tensor\n'
        'isposinf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'isneginf':
        'isneginf(Tensor self) -> Tensor\n'
        'isneginf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'isreal':
        'isreal(Tensor self) -> Tensor',
    'isclose':
        'isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor',
    'cat':
        'cat(Tensor[] tensors, int dim=0) -> Tensor\n'
        'cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)',
    'stack':
        'stack(Tensor[] tensors, int dim=0) -> Tensor\n'
        'stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)',
    '_stack':
        '_stack(Tensor[] tensors, int dim=0) -> Tensor\n'
        '_stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)',
    'repeat':
        'repeat(Tensor self, SymInt[] repeats) -> Tensor\n'
        'repeat.out(Tensor self, SymInt[] repeats, *, Tensor(a!) out) -> Tensor(a!)',
    'index_select':
        'index_select(Tensor self, int dim, Tensor index) -> Tensor\n'
        'index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!)',
    'gather':
        'gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor\n'
        'gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) out) -> Tensor(a!)',
    'embedding':
        'embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor\n'
        'embedding.out(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False, *, Tensor(a!) out) -> Tensor(a!)',
    'embedding_dense_backward':
        'embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, int padding_idx, bool scale_grad_by_freq) -> Tensor\n'
        'embedding_dense_backward.out(Tensor grad_output, Tensor indices, SymInt num_weights, int padding_idx, bool scale_grad_by_freq, *, Tensor(a!) out) -> Tensor(a!)',
    'embedding_renorm_':
        'embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)',
    'embedding_backward':
        'embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, int padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor',
    'embedding_bag':
        'embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)\n'
        'embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)',
    '_embedding_bag':
        '_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)\n'
        '_embedding_bag.out(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2, Tensor(d!) out3) -> (Tensor(a!), Tensor(b!), Tensor(c!), Tensor(d!))',
    '_embedding_bag_forward_only':
        '_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)\n'
        '_embedding_bag_forward_only.out(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2, Tensor(d!) out3) -> (Tensor(a!), Tensor(b!), Tensor(c!), Tensor(d!))',
    '_embedding_bag_backward':
        '_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, int num_weights, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor',
    '_embedding_bag_dense_backward':
        '_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, int num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor\n'
        '_embedding_bag_dense_backward.out(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, int num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1, *, Tensor(a!) out) -> Tensor(a!)',
    '_embedding_bag_per_sample_weights_backward':
        '_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor\n'
        '_embedding_bag_per_sample_weights_backward.out(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1, *, Tensor(a!) out) -> Tensor(a!)',
    'one_hot':
        'one_hot(Tensor self, int num_classes=-1) -> Tensor',
    '_unique':
        '_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)\n'
        '_unique.out(Tensor self, bool sorted=True, bool return_inverse=False, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    '_rowwise_prune':
        '_rowwise_prune(Tensor weight, Tensor mask, ScalarType compressed_indices_dtype) -> (Tensor, Tensor)',
    '_unique2':
        '_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)\n'
        '_unique2.out(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'unique_consecutive':
        'unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)\n'
        'unique_consecutive.out(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'unique_dim':
        'unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)\n'
        'unique_dim.out(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'unique_dim_consecutive':
        'unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)\n'
        'unique_dim_consecutive.out(Tensor self, int dim, bool return_inverse=False, bool return_counts=False, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'searchsorted':
        'searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor\n'
        'searchsorted.Tensor_out(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None, Tensor(a!) out) -> Tensor(a!)\n'
        'searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor\n'
        'searchsorted.Scalar_out(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None, Tensor(a!) out) -> Tensor(a!)',
    'bucketize':
        'bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor\n'
        'bucketize.Tensor_out(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False, Tensor(a!) out) -> Tensor(a!)\n'
        'bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor\n'
        'bucketize.Scalar_out(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False, Tensor(a!) out) -> Tensor(a!)',
    'cartesian_prod':
        'cartesian_prod(Tensor[] tensors) -> Tensor',
    'combinations':
        'combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor',
    'repeat_interleave':
        'repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor\n'
        'repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor\n'
        'repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor\n'
        'repeat_interleave.Tensor_out(Tensor repeats, *, int? output_size=None, Tensor(a!) out) -> Tensor(a!)',
    'mm':
        'mm(Tensor self, Tensor mat2) -> Tensor\n'
        'mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)',
    'bmm':
        'bmm(Tensor self, Tensor mat2) -> Tensor\n'
        'bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)',
    'addmm':
        'addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor\n'
        'addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)',
    'addmm_':
        'addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)',
    '_addmm_activation':
        '_addmm_activation.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False, Tensor(a!) out) -> Tensor(a!)\n'
        '_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor',
    'baddbmm':
        'baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor\n'
        'baddbmm.out(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)',
    'baddbmm_':
        'baddbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)',
    'addmv':
        'addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor\n'
        'addmv.out(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)',
    'addmv_':
        'addmv_(Tensor(a!) self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)',
    'addbmm':
        'addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor\n'
        'addbmm.out(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)',
    'addbmm_':
        'addbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)',
    'addr':
        'addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor\n'
        'addr.out(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)',
    'addr_':
        'addr_(Tensor(a!) self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)',
    'dot':
        'dot(Tensor self, Tensor tensor) -> Tensor\n'
        'dot.out(Tensor self, Tensor tensor, *, Tensor(a!) out) -> Tensor(a!)',
    'vdot':
        'vdot(Tensor self, Tensor other) -> Tensor\n'
        'vdot.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'mv':
        'mv(Tensor self, Tensor vec) -> Tensor\n'
        'mv.out(Tensor self, Tensor vec, *, Tensor(a!) out) -> Tensor(a!)',
    'outer':
        'outer(Tensor self, Tensor vec2) -> Tensor\n'
        'outer.out(Tensor self, Tensor vec2, *, Tensor(a!) out) -> Tensor(a!)',
    'ger':
        'ger(Tensor self, Tensor vec2) -> Tensor\n'
        'ger.out(Tensor self, Tensor vec2, *, Tensor(a!) out) -> Tensor(a!)',
    'kron':
        'kron(Tensor self, Tensor other) -> Tensor\n'
        'kron.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'inner':
        'inner(Tensor self, Tensor other) -> Tensor\n'
        'inner.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'tensordot':
        'tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor\n'
        'tensordot.out(Tensor self, Tensor other, int[] dims_self, int[] dims_other, *, Tensor(a!) out) -> Tensor(a!)',
    'linalg_multi_dot':
        'linalg_multi_dot(Tensor[] tensors) -> Tensor\n'
        'linalg_multi_dot.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)',
    'chain_matmul':
        'chain_matmul(Tensor[] matrices) -> Tensor\n'
        'chain_matmul.out(Tensor[] matrices, *, Tensor(a!) out) -> Tensor(a!)',
    'linalg_matmul':
        'linalg_matmul(Tensor self, Tensor other) -> Tensor\n'
        'linalg_matmul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'bilinear':
        'bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor',
    '_trilinear':
        '_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor\n'
        '_trilinear.out(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1, *, Tensor(a!) out) -> Tensor(a!)',
    'linear':
        'linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor\n'
        'linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) out) -> Tensor(a!)',
    'matmul':
        'matmul(Tensor self, Tensor other) -> Tensor\n'
        'matmul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'einsum':
        'einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor',
    'triangular_solve':
        'triangular_solve.X(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False, *, Tensor(a!) X, Tensor(b!) M) -> (Tensor(a!) solution, Tensor(b!) cloned_coefficient)\n'
        'triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)',
    '_linalg_check_errors':
        '_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()',
    'linalg_solve_triangular':
        'linalg_solve_triangular.out(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False, Tensor(a!) out) -> Tensor(a!)\n'
        'linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor',
    '_symeig_helper':
        '_symeig_helper(Tensor self, bool eigenvectors, bool upper) -> (Tensor, Tensor)\n'
        '_symeig_helper.out(Tensor self, bool eigenvectors, bool upper, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    'cholesky':
        'cholesky.out(Tensor self, bool upper=False, *, Tensor(a!) out) -> Tensor(a!)\n'
        'cholesky(Tensor self, bool upper=False) -> Tensor',
    '_cholesky_solve_helper':
        '_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor\n'
        '_cholesky_solve_helper.out(Tensor self, Tensor A, bool upper, *, Tensor(a!) out) -> Tensor(a!)',
    'cholesky_inverse':
        'cholesky_inverse(Tensor self, bool upper=False) -> Tensor\n'
        'cholesky_inverse.out(Tensor self, bool upper=False, *, Tensor(a!) out) -> Tensor(a!)',
    'geqrf':
        'geqrf.a(Tensor self, *, Tensor(a!) a, Tensor(b!) tau) -> (Tensor(a!) a, Tensor(b!) tau)\n'
        'geqrf(Tensor self) -> (Tensor a, Tensor tau)',
    'ormqr':
        'ormqr.out(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False, *, Tensor(a!) out) -> Tensor(a!)\n'
        'ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor',
    'linalg_cholesky_ex':
        'linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)\n'
        'linalg_cholesky_ex.L(Tensor self, *, bool upper=False, bool check_errors=False, Tensor(a!) L, Tensor(b!) info) -> (Tensor(a!) L, Tensor(b!) info)',
    'linalg_lu_factor_ex':
        'linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)\n'
        'linalg_lu_factor_ex.out(Tensor A, *, bool pivot=True, bool check_errors=False, Tensor(a!) LU, Tensor(b!) pivots, Tensor(c!) info) -> (Tensor(a!) LU, Tensor(b!) pivots, Tensor(c!) info)',
    'linalg_lu_solve':
        'linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor\n'
        'linalg_lu_solve.out(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False, Tensor(a!) out) -> Tensor(a!)',
    '_linalg_det':
        '_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)\n'
        '_linalg_det.result(Tensor A, *, Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots) -> (Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots)',
    'linalg_ldl_factor_ex':
        'linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)\n'
        'linalg_ldl_factor_ex.out(Tensor self, *, bool hermitian=False, bool check_errors=False, Tensor(a!) LD, Tensor(b!) pivots, Tensor(c!) info) -> (Tensor(a!) LD, Tensor(b!) pivots, Tensor(c!) info)',
    'linalg_ldl_solve':
        'linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor\n'
        'linalg_ldl_solve.out(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False, Tensor(a!) out) -> Tensor(a!)',
    '_linalg_slogdet':
        '_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)\n'
        '_linalg_slogdet.sign(Tensor A, *, Tensor(a!) sign, Tensor(b!) logabsdet, Tensor(c!) LU, Tensor(d!) pivots) -> (Tensor(a!) sign, Tensor(b!) logabsdet, Tensor(c!) LU, Tensor(d!) pivots)',
    'linalg_eig':
        'linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)\n'
        'linalg_eig.out(Tensor self, *, Tensor(a!) eigenvalues, Tensor(b!) eigenvectors) -> (Tensor(a!) eigenvalues, Tensor(b!) eigenvectors)',
    'linalg_eigvals':
        'linalg_eigvals.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n'
        'linalg_eigvals(Tensor self) -> Tensor',
    '_linalg_eigh':
        '_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)\n'
        '_linalg_eigh.eigenvalues(Tensor A, str UPLO="L", bool compute_v=True, *, Tensor(a!) eigenvalues, Tensor(b!) eigenvectors) -> (Tensor(a!) eigenvalues, Tensor(b!) eigenvectors)',
    'linalg_householder_product':
        'linalg_householder_product(Tensor input, Tensor tau) -> Tensor\n'
        'linalg_householder_product.out(Tensor input, Tensor tau, *, Tensor(a!) out) -> Tensor(a!)',
    'linalg_inv_ex':
        'linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)\n'
        'linalg_inv_ex.inverse(Tensor A, *, bool check_errors=False, Tensor(a!) inverse, Tensor(b!) info) -> (Tensor(a!) inverse, Tensor(b!) info)',
    '_linalg_svd':
        '_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)\n'
        '_linalg_svd.U(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None, Tensor(a!) U, Tensor(b!) S, Tensor(c!) Vh) -> (Tensor(a!) U, Tensor(b!) S, Tensor(c!) Vh)',
    '_linalg_solve_ex':
        '_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)\n'
        '_linalg_solve_ex.result(Tensor A, Tensor B, *, bool left=True, bool check_errors=False, Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots, Tensor(d!) info) -> (Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots, Tensor(d!) info)',
    'linalg_qr':
        'linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)\n'
        'linalg_qr.out(Tensor A, str mode="reduced", *, Tensor(a!) Q, Tensor(b!) R) -> (Tensor(a!) Q, Tensor(b!) R)',
    'lu_unpack':
        'lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)\n'
        'lu_unpack.out(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True, *, Tensor(a!) P, Tensor(b!) L, Tensor(c!) U) -> (Tensor(a!) P, Tensor(b!) L, Tensor(c!) U)',
    'linalg_cross':
        'linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor\n'
        'linalg_cross.out(Tensor self, Tensor other, *, int dim=-1, Tensor(a!) out) -> Tensor(a!)',
    'linalg_lu':
        'linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)\n'
        'linalg_lu.out(Tensor A, *, bool pivot=True, Tensor(a!) P, Tensor(b!) L, Tensor(c!) U) -> (Tensor(a!) P, Tensor(b!) L, Tensor(c!) U)',
    'linalg_lstsq':
        'linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)\n'
        'linalg_lstsq.out(Tensor self, Tensor b, float? rcond=None, *, str? driver=None, Tensor(a!) solution, Tensor(b!) residuals, Tensor(c!) rank, Tensor(d!) singular_values) -> (Tensor(a!) solution, Tensor(b!) residuals, Tensor(c!) rank, Tensor(d!) singular_values)',
    'linalg_matrix_exp':
        'linalg_matrix_exp(Tensor self) -> Tensor\n'
        'linalg_matrix_exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'linalg_diagonal':
        'linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)',
    'matrix_power':
        'matrix_power(Tensor self, int n) -> Tensor\n'
        'matrix_power.out(Tensor self, int n, *, Tensor(a!) out) -> Tensor(a!)',
    'matrix_exp':
        'matrix_exp(Tensor self) -> Tensor',
    'matrix_exp_backward':
        'matrix_exp_backward(Tensor self, Tensor grad) -> Tensor',
    'pinverse':
        'pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor',
    'vander':
        'vander(Tensor x, int? N=None, bool increasing=False) -> Tensor',
    'frobenius_norm':
        'frobenius_norm(Tensor self) -> Tensor\n'
        'frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor\n'
        'frobenius_norm.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'nuclear_norm':
        'nuclear_norm(Tensor self, bool keepdim=False) -> Tensor\n'
        'nuclear_norm.out(Tensor self, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)\n'
        'nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor\n'
        'nuclear_norm.dim_out(Tensor self, int[2] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'cross':
        'cross.out(Tensor self, Tensor other, int? dim=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        'cross(Tensor self, Tensor other, int? dim=None) -> Tensor',
    'linalg_vander':
        'linalg_vander(Tensor x, *, int? N=None) -> Tensor',
    'symeig':
        'symeig.e(Tensor self, bool eigenvectors=False, bool upper=True, *, Tensor(a!) e, Tensor(b!) V) -> (Tensor(a!) eigenvalues, Tensor(b!) eigenvectors)\n'
        'symeig(Tensor self, bool eigenvectors=False, bool upper=True) -> (Tensor eigenvalues, Tensor eigenvectors)',
    'svd':
        'svd.U(Tensor self, bool some=True, bool compute_uv=True, *, Tensor(a!) U, Tensor(b!) S, Tensor(c!) V) -> (Tensor(a!) U, Tensor(b!) S, Tensor(c!) V)\n'
        'svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)',
    'cholesky_solve':
        'cholesky_solve.out(Tensor self, Tensor input2, bool upper=False, *, Tensor(a!) out) -> Tensor(a!)\n'
        'cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor',
    'qr':
        'qr.Q(Tensor self, bool some=True, *, Tensor(a!) Q, Tensor(b!) R) -> (Tensor(a!) Q, Tensor(b!) R)\n'
        'qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)',
    'orgqr':
        'orgqr(Tensor self, Tensor input2) -> Tensor\n'
        'orgqr.out(Tensor self, Tensor input2, *, Tensor(a!) out) -> Tensor(a!)',
    '_lu_with_info':
        '_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)',
    'lu_solve':
        'lu_solve.out(Tensor self, Tensor LU_data, Tensor LU_pivots, *, Tensor(a!) out) -> Tensor(a!)\n'
        'lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor',
    'linalg_cholesky':
        'linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor\n'
        'linalg_cholesky.out(Tensor self, *, bool upper=False, Tensor(a!) out) -> Tensor(a!)',
    'linalg_lu_factor':
        'linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)\n'
        'linalg_lu_factor.out(Tensor A, *, bool pivot=True, Tensor(a!) LU, Tensor(b!) pivots) -> (Tensor(a!) LU, Tensor(b!) pivots)',
    'linalg_det':
        'linalg_det(Tensor A) -> Tensor\n'
        'linalg_det.out(Tensor A, *, Tensor(a!) out) -> Tensor(a!)',
    'det':
        'det(Tensor self) -> Tensor',
    'linalg_ldl_factor':
        'linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)\n'
        'linalg_ldl_factor.out(Tensor self, *, bool hermitian=False, Tensor(a!) LD, Tensor(b!) pivots) -> (Tensor(a!) LD, Tensor(b!) pivots)',
    'linalg_vecdot':
        'linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor\n'
        'linalg_vecdot.out(Tensor x, Tensor y, *, int dim=-1, Tensor(a!) out) -> Tensor(a!)',
    'linalg_slogdet':
        'linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)\n'
        'linalg_slogdet.out(Tensor A, *, Tensor(a!) sign, Tensor(b!) logabsdet) -> (Tensor(a!) sign, Tensor(b!) logabsdet)',
    'slogdet':
        'slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)\n'
        'slogdet.out(Tensor self, *, Tensor(a!) sign, Tensor(b!) logabsdet) -> (Tensor(a!) sign, Tensor(b!) logabsdet)',
    'logdet':
        'logdet(Tensor self) -> Tensor',
    'linalg_eigh':
        'linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)\n'
        'linalg_eigh.eigvals(Tensor self, str UPLO="L", *, Tensor(a!) eigvals, Tensor(b!) eigvecs) -> (Tensor(a!) eigenvalues, Tensor(b!) eigenvectors)',
    'linalg_eigvalsh':
        'linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor\n'
        'linalg_eigvalsh.out(Tensor self, str UPLO="L", *, Tensor(a!) out) -> Tensor(a!)',
    'linalg_inv':
        'linalg_inv(Tensor A) -> Tensor\n'
        'linalg_inv.out(Tensor A, *, Tensor(a!) out) -> Tensor(a!)',
    'inverse':
        'inverse(Tensor self) -> Tensor\n'
        'inverse.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'linalg_norm':
        'linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n'
        'linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n'
        'linalg_norm.out(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)\n'
        'linalg_norm.ord_str_out(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)',
    'linalg_matrix_norm':
        'linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n'
        'linalg_matrix_norm.out(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)\n'
        'linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n'
        'linalg_matrix_norm.str_ord_out(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)',
    'linalg_svd':
        'linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)\n'
        'linalg_svd.U(Tensor A, bool full_matrices=True, *, str? driver=None, Tensor(a!) U, Tensor(b!) S, Tensor(c!) Vh) -> (Tensor(a!) U, Tensor(b!) S, Tensor(c!) Vh)',
    'linalg_svdvals':
        'linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor\n'
        'linalg_svdvals.out(Tensor A, *, str? driver=None, Tensor(a!) out) -> Tensor(a!)',
    'linalg_cond':
        'linalg_cond(Tensor self, Scalar? p=None) -> Tensor\n'
        'linalg_cond.out(Tensor self, Scalar? p=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        'linalg_cond.p_str(Tensor self, str p) -> Tensor\n'
        'linalg_cond.p_str_out(Tensor self, str p, *, Tensor(a!) out) -> Tensor(a!)',
    'linalg_pinv':
        'linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor\n'
        'linalg_pinv.atol_rtol_tensor_out(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False, Tensor(a!) out) -> Tensor(a!)\n'
        'linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor\n'
        'linalg_pinv.atol_rtol_float_out(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False, Tensor(a!) out) -> Tensor(a!)\n'
        'linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor\n'
        'linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor\n'
        'linalg_pinv.out(Tensor self, float rcond, bool hermitian=False, *, Tensor(a!) out) -> Tensor(a!)\n'
        'linalg_pinv.out_rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False, *, Tensor(a!) out) -> Tensor(a!)',
    'linalg_solve_ex':
        'linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)\n'
        'linalg_solve_ex.out(Tensor A, Tensor B, *, bool left=True, bool check_errors=False, Tensor(a!) result, Tensor(b!) info) -> (Tensor(a!) result, Tensor(b!) info)',
    'linalg_solve':
        'linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor\n'
        'linalg_solve.out(Tensor A, Tensor B, *, bool left=True, Tensor(a!) out) -> Tensor(a!)',
    'linalg_tensorinv':
        'linalg_tensorinv(Tensor self, int ind=2) -> Tensor\n'
        'linalg_tensorinv.out(Tensor self, int ind=2, *, Tensor(a!) out) -> Tensor(a!)',
    'linalg_tensorsolve':
        'linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor\n'
        'linalg_tensorsolve.out(Tensor self, Tensor other, int[]? dims=None, *, Tensor(a!) out) -> Tensor(a!)',
    'linalg_matrix_power':
        'linalg_matrix_power(Tensor self, int n) -> Tensor\n'
        'linalg_matrix_power.out(Tensor self, int n, *, Tensor(a!) out) -> Tensor(a!)',
    'linalg_matrix_rank':
        'linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor\n'
        'linalg_matrix_rank.atol_rtol_tensor_out(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False, Tensor(a!) out) -> Tensor(a!)\n'
        'linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor\n'
        'linalg_matrix_rank.atol_rtol_float_out(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False, Tensor(a!) out) -> Tensor(a!)\n'
        'linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor\n'
        'linalg_matrix_rank.out(Tensor self, float tol, bool hermitian=False, *, Tensor(a!) out) -> Tensor(a!)\n'
        'linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor\n'
        'linalg_matrix_rank.out_tol_tensor(Tensor input, Tensor tol, bool hermitian=False, *, Tensor(a!) out) -> Tensor(a!)',
    '_compute_linear_combination':
        '_compute_linear_combination(Tensor input, Tensor coefficients) -> Tensor\n'
        '_compute_linear_combination.out(Tensor input, Tensor coefficients, *, Tensor(a!) out) -> Tensor(a!)',
    'convolution':
        'convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor\n'
        'convolution.out(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, *, Tensor(a!) out) -> Tensor(a!)',
    '_convolution':
        '_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor\n'
        '_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor\n'
        '_convolution.out(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32, *, Tensor(a!) out) -> Tensor(a!)',
    '_convolution_mode':
        '_convolution_mode(Tensor input, Tensor weight, Tensor? bias, int[] stride, str padding, int[] dilation, int groups) -> Tensor',
    'convolution_overrideable':
        'convolution_overrideable(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor\n'
        'convolution_overrideable.out(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, *, Tensor(a!) out) -> Tensor(a!)',
    'convolution_backward':
        'convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)\n'
        'convolution_backward.out(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'convolution_backward_overrideable':
        'convolution_backward_overrideable(Tensor grad_output, Tensor input, Tensor weight, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)\n'
        'convolution_backward_overrideable.out(Tensor grad_output, Tensor input, Tensor weight, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'conv1d':
        'conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], int[1] padding=[0], int[1] dilation=[1], int groups=1) -> Tensor\n'
        'conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], str padding="valid", int[1] dilation=[1], int groups=1) -> Tensor',
    'conv2d':
        'conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, int groups=1) -> Tensor\n'
        'conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, str padding="valid", int[2] dilation=1, int groups=1) -> Tensor',
    'conv3d':
        'conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] dilation=1, int groups=1) -> Tensor\n'
        'conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, str padding="valid", int[3] dilation=1, int groups=1) -> Tensor',
    'conv_transpose1d':
        'conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], int[1] padding=[0], int[1] output_padding=[0], int groups=1, int[1] dilation=[1]) -> Tensor',
    'conv_transpose2d':
        'conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] output_padding=0, int groups=1, int[2] dilation=1) -> Tensor',
    'conv_transpose3d':
        'conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] output_padding=0, int groups=1, int[3] dilation=1) -> Tensor',
    'conv_tbc':
        'conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor\n'
        'conv_tbc.out(Tensor self, Tensor weight, Tensor bias, int pad=0, *, Tensor(a!) out) -> Tensor(a!)',
    'conv_tbc_backward':
        'conv_tbc_backward(Tensor self, Tensor input, Tensor weight, Tensor bias, int pad) -> (Tensor, Tensor, Tensor)',
    '_convolution_double_backward':
        '_convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor self, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)',
    '_slow_conv2d_forward':
        '_slow_conv2d_forward.output(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias, int[2] stride, int[2] padding, *, Tensor(a!) output) -> Tensor(a!)\n'
        '_slow_conv2d_forward(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias, int[2] stride, int[2] padding) -> Tensor',
    '_slow_conv2d_backward':
        '_slow_conv2d_backward.grad_input(Tensor grad_output, Tensor self, Tensor weight, int[2] kernel_size, int[2] stride, int[2] padding, *, Tensor(a!) grad_input, Tensor(b!) grad_weight, Tensor(c!) grad_bias) -> (Tensor(a!), Tensor(b!), Tensor(c!))\n'
        '_slow_conv2d_backward.output_mask(Tensor grad_output, Tensor self, Tensor weight, int[2] kernel_size, int[2] stride, int[2] padding, bool[3] output_mask) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)\n'
        '_slow_conv2d_backward.output_mask_out(Tensor grad_output, Tensor self, Tensor weight, int[2] kernel_size, int[2] stride, int[2] padding, bool[3] output_mask, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'thnn_conv2d':
        'thnn_conv2d.out(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias=None, int[2] stride=1, int[2] padding=0, *, Tensor(a!) out) -> Tensor(a!)\n'
        'thnn_conv2d(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias=None, int[2] stride=1, int[2] padding=0) -> Tensor',
    'slow_conv3d':
        'slow_conv3d.out(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias=None, int[3] stride=1, int[3] padding=0, *, Tensor(a!) out) -> Tensor(a!)\n'
        'slow_conv3d(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias=None, int[3] stride=1, int[3] padding=0) -> Tensor',
    'slow_conv3d_forward':
        'slow_conv3d_forward.output(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias, int[3] stride, int[3] padding, *, Tensor(a!) output) -> Tensor(a!)\n'
        'slow_conv3d_forward(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias, int[3] stride, int[3] padding) -> Tensor',
    'slow_conv_transpose2d':
        'slow_conv_transpose2d.out(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] output_padding=0, int[2] dilation=1, *, Tensor(a!) out) -> Tensor(a!)\n'
        'slow_conv_transpose2d(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] output_padding=0, int[2] dilation=1) -> Tensor',
    'slow_conv_transpose3d':
        'slow_conv_transpose3d.out(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] output_padding=0, int[3] dilation=1, *, Tensor(a!) out) -> Tensor(a!)\n'
        'slow_conv_transpose3d(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] output_padding=0, int[3] dilation=1) -> Tensor',
    'slow_conv_dilated2d':
        'slow_conv_dilated2d(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1) -> Tensor\n'
        'slow_conv_dilated2d.out(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, *, Tensor(a!) out) -> Tensor(a!)',
    'slow_conv_dilated3d':
        'slow_conv_dilated3d(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] dilation=1) -> Tensor\n'
        'slow_conv_dilated3d.out(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] dilation=1, *, Tensor(a!) out) -> Tensor(a!)',
    '_nnpack_available':
        '_nnpack_available() -> bool',
    'im2col':
        'im2col.out(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride, *, Tensor(a!) out) -> Tensor(a!)\n'
        'im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor',
    'col2im':
        'col2im.out(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride, *, Tensor(a!) out) -> Tensor(a!)\n'
        'col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor',
    '_fft_r2c':
        '_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor\n'
        '_fft_r2c.out(Tensor self, int[] dim, int normalization, bool onesided, *, Tensor(a!) out) -> Tensor(a!)',
    '_fft_c2r':
        '_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor\n'
        '_fft_c2r.out(Tensor self, int[] dim, int normalization, int last_dim_size, *, Tensor(a!) out) -> Tensor(a!)',
    '_fft_c2c':
        '_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor\n'
        '_fft_c2c.out(Tensor self, int[] dim, int normalization, bool forward, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_fft':
        'fft_fft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor\n'
        'fft_fft.out(Tensor self, int? n=None, int dim=-1, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_fft2':
        'fft_fft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor\n'
        'fft_fft2.out(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_fftn':
        'fft_fftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor\n'
        'fft_fftn.out(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_fftshift':
        'fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor',
    'fft_hfft':
        'fft_hfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor\n'
        'fft_hfft.out(Tensor self, int? n=None, int dim=-1, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_hfft2':
        'fft_hfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor\n'
        'fft_hfft2.out(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_hfftn':
        'fft_hfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor\n'
        'fft_hfftn.out(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_ifft':
        'fft_ifft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor\n'
        'fft_ifft.out(Tensor self, int? n=None, int dim=-1, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_ifft2':
        'fft_ifft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor\n'
        'fft_ifft2.out(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_ifftn':
        'fft_ifftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor\n'
        'fft_ifftn.out(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_ifftshift':
        'fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor',
    'fft_ihfft':
        'fft_ihfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor\n'
        'fft_ihfft.out(Tensor self, int? n=None, int dim=-1, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_ihfft2':
        'fft_ihfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor\n'
        'fft_ihfft2.out(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_ihfftn':
        'fft_ihfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor\n'
        'fft_ihfftn.out(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_irfft':
        'fft_irfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor\n'
        'fft_irfft.out(Tensor self, int? n=None, int dim=-1, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_irfft2':
        'fft_irfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor\n'
        'fft_irfft2.out(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_irfftn':
        'fft_irfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor\n'
        'fft_irfftn.out(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_rfft':
        'fft_rfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor\n'
        'fft_rfft.out(Tensor self, int? n=None, int dim=-1, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_rfft2':
        'fft_rfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor\n'
        'fft_rfft2.out(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_rfftn':
        'fft_rfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor\n'
        'fft_rfftn.out(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None, *, Tensor(a!) out) -> Tensor(a!)',
    'fft_fftfreq':
        'fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'fft_fftfreq.out(int n, float d=1., *, Tensor(a!) out) -> Tensor(a!)',
    'fft_rfftfreq':
        'fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'fft_rfftfreq.out(int n, float d=1., *, Tensor(a!) out) -> Tensor(a!)',
    'bartlett_window':
        'bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'bartlett_window.out(int window_length, *, Tensor(a!) out) -> Tensor(a!)\n'
        'bartlett_window.periodic_out(int window_length, bool periodic, *, Tensor(a!) out) -> Tensor(a!)',
    'blackman_window':
        'blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'blackman_window.out(int window_length, *, Tensor(a!) out) -> Tensor(a!)\n'
        'blackman_window.periodic_out(int window_length, bool periodic, *, Tensor(a!) out) -> Tensor(a!)',
    'hamming_window':
        'hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'hamming_window.out(int window_length, *, Tensor(a!) out) -> Tensor(a!)\n'
        'hamming_window.periodic_out(int window_length, bool periodic, *, Tensor(a!) out) -> Tensor(a!)\n'
        'hamming_window.periodic_alpha_out(int window_length, bool periodic, float alpha, *, Tensor(a!) out) -> Tensor(a!)\n'
        'hamming_window.periodic_alpha_beta_out(int window_length, bool periodic, float alpha, float beta, *, Tensor(a!) out) -> Tensor(a!)',
    'hann_window':
        'hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'hann_window.out(int window_length, *, Tensor(a!) out) -> Tensor(a!)\n'
        'hann_window.periodic_out(int window_length, bool periodic, *, Tensor(a!) out) -> Tensor(a!)',
    'kaiser_window':
        'kaiser_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'kaiser_window.beta(int window_length, bool periodic, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'kaiser_window.out(int window_length, *, Tensor(a!) out) -> Tensor(a!)\n'
        'kaiser_window.beta_out(int window_length, bool periodic, float beta, *, Tensor(a!) out) -> Tensor(a!)\n'
        'kaiser_window.periodic_out(int window_length, bool periodic, *, Tensor(a!) out) -> Tensor(a!)',
    'stft':
        'stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None) -> Tensor\n'
        'stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None) -> Tensor',
    'istft':
        'istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor',
    'unfold_backward':
        'unfold_backward(Tensor grad_in, int[] input_sizes, int dim, int size, int step) -> Tensor\n'
        'unfold_backward.out(Tensor grad_in, int[] input_sizes, int dim, int size, int step, *, Tensor(a!) out) -> Tensor(a!)',
    'alpha_dropout':
        'alpha_dropout(Tensor input, float p, bool train) -> Tensor',
    'alpha_dropout_':
        'alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)',
    'bernoulli':
        'bernoulli(Tensor self, *, Generator? generator=None) -> Tensor\n'
        'bernoulli.out(Tensor self, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)\n'
        'bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor\n'
        'bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor\n'
        'bernoulli.Tensor_out(Tensor self, Tensor p, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)\n'
        'bernoulli.float_out(Tensor self, float p=0.5, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)',
    'bernoulli_':
        'bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)\n'
        'bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)',
    'cauchy_':
        'cauchy_(Tensor(a!) self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor(a!)',
    'dropout':
        'dropout(Tensor input, float p, bool train) -> Tensor',
    'dropout_':
        'dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)',
    'exponential_':
        'exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)',
    'feature_alpha_dropout':
        'feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor',
    'feature_alpha_dropout_':
        'feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)',
    'feature_dropout':
        'feature_dropout(Tensor input, float p, bool train) -> Tensor',
    'feature_dropout_':
        'feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)',
    'geometric_':
        'geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)',
    'log_normal_':
        'log_normal_(Tensor(a!) self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor(a!)',
    'multinomial':
        'multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor\n'
        'multinomial.out(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)',
    'normal_':
        'normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)',
    'normal_functional':
        'normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor',
    'rand':
        'rand(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'rand.generator(int[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'rand.generator_out(int[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)\n'
        'rand.out(int[] size, *, Tensor(a!) out) -> Tensor(a!)',
    'rand_like':
        'rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor\n'
        'rand_like.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'randint':
        'randint(int high, int[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'randint.generator(int high, int[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'randint.generator_out(int high, int[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)\n'
        'randint.low(int low, int high, int[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'randint.low_generator(int low, int high, int[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'randint.low_generator_out(int low, int high, int[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)\n'
        'randint.low_out(int low, int high, int[] size, *, Tensor(a!) out) -> Tensor(a!)\n'
        'randint.out(int high, int[] size, *, Tensor(a!) out) -> Tensor(a!)',
    'randint_like':
        'randint_like(Tensor self, int high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor\n'
        'randint_like.low_dtype(Tensor self, int low, int high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor\n'
        'randint_like.out(Tensor self, int high, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)\n'
        'randint_like.low_dtype_out(Tensor self, int low, int high, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'randn':
        'randn(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'randn.generator(int[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'randn.generator_out(int[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)\n'
        'randn.out(int[] size, *, Tensor(a!) out) -> Tensor(a!)',
    'randn_like':
        'randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor\n'
        'randn_like.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'random_':
        'random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)\n'
        'random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)\n'
        'random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)',
    'randperm':
        'randperm(int n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'randperm.generator(int n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'randperm.generator_out(int n, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)\n'
        'randperm.out(int n, *, Tensor(a!) out) -> Tensor(a!)',
    'uniform_':
        'uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)',
    'normal':
        'normal.float_float(float mean, float std, int[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor\n'
        'normal.float_float_out(float mean, float std, int[] size, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)\n'
        'normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor\n'
        'normal.Tensor_float_out(Tensor mean, float std=1., *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)\n'
        'normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor\n'
        'normal.float_Tensor_out(float mean, Tensor std, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)\n'
        'normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor\n'
        'normal.Tensor_Tensor_out(Tensor mean, Tensor std, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)\n'
        'normal.out(Tensor self, float mean=0., float std=1., *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)',
    'poisson':
        'poisson(Tensor self, Generator? generator=None) -> Tensor\n'
        'poisson.out(Tensor self, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)',
    'binomial':
        'binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor\n'
        'binomial.out(Tensor count, Tensor prob, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)',
    '_standard_gamma':
        '_standard_gamma(Tensor self, Generator? generator=None) -> Tensor\n'
        '_standard_gamma.out(Tensor self, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)',
    '_sample_dirichlet':
        '_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor\n'
        '_sample_dirichlet.out(Tensor self, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)',
    'native_dropout':
        'native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)\n'
        'native_dropout.out(Tensor input, float p, bool? train, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    'native_dropout_backward':
        'native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor\n'
        'native_dropout_backward.out(Tensor grad_output, Tensor mask, float scale, *, Tensor(a!) out) -> Tensor(a!)',
    'rrelu':
        'rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor',
    'rrelu_':
        'rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor(a!)',
    'rrelu_with_noise':
        'rrelu_with_noise(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor\n'
        'rrelu_with_noise.out(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)',
    'rrelu_with_noise_':
        'rrelu_with_noise_(Tensor(a!) self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor(a!)',
    'rrelu_with_noise_backward':
        'rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor\n'
        'rrelu_with_noise_backward.out(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result, *, Tensor(a!) out) -> Tensor(a!)',
    '_standard_gamma_grad':
        '_standard_gamma_grad(Tensor self, Tensor output) -> Tensor\n'
        '_standard_gamma_grad.out(Tensor self, Tensor output, *, Tensor(a!) out) -> Tensor(a!)',
    '_dirichlet_grad':
        '_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor\n'
        '_dirichlet_grad.out(Tensor x, Tensor alpha, Tensor total, *, Tensor(a!) out) -> Tensor(a!)',
    'batch_norm':
        'batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor',
    '_batch_norm_impl_index':
        '_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor, int)',
    'native_batch_norm':
        'native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)',
    'layer_norm':
        'layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor',
    'native_layer_norm':
        'native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)\n'
        'native_layer_norm.out(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'native_batch_norm_backward':
        'native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)\n'
        'native_batch_norm_backward.out(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'batch_norm_update_stats':
        'batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum) -> (Tensor, Tensor)\n'
        'batch_norm_update_stats.out(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    '_batch_norm_impl_index_backward':
        '_batch_norm_impl_index_backward(int impl_index, Tensor input, Tensor grad_output, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var_transform, bool train, float eps, bool[3] output_mask, Tensor reservedSpace) -> (Tensor, Tensor, Tensor)',
    'native_layer_norm_backward':
        'native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)\n'
        'native_layer_norm_backward.out(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'group_norm':
        'group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor',
    'native_group_norm':
        'native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)\n'
        'native_group_norm.out(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'native_group_norm_backward':
        'native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)\n'
        'native_group_norm_backward.out(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    'instance_norm':
        'instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor',
    'norm_except_dim':
        'norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor',
    '_weight_norm':
        '_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor',
    '_weight_norm_interface':
        '_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)\n'
        '_weight_norm_interface.out(Tensor v, Tensor g, int dim=0, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    '_weight_norm_interface_backward':
        '_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) -> (Tensor, Tensor)\n'
        '_weight_norm_interface_backward.out(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    '_weight_norm_differentiable_backward':
        '_weight_norm_differentiable_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) -> (Tensor, Tensor)',
    'renorm':
        'renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor\n'
        'renorm.out(Tensor self, Scalar p, int dim, Scalar maxnorm, *, Tensor(a!) out) -> Tensor(a!)',
    'renorm_':
        'renorm_(Tensor(a!) self, Scalar p, int dim, Scalar maxnorm) -> Tensor(a!)',
    'max_pool1d':
        'max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor',
    'max_pool1d_with_indices':
        'max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)',
    'max_pool2d':
        'max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor',
    'max_pool2d_with_indices':
        'max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)\n'
        'max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))',
    'max_pool2d_with_indices_backward':
        'max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor\n'
        'max_pool2d_with_indices_backward.grad_input(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'max_pool3d':
        'max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor',
    'max_pool3d_with_indices':
        'max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)\n'
        'max_pool3d_with_indices.out(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))',
    'max_pool3d_with_indices_backward':
        'max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor\n'
        'max_pool3d_with_indices_backward.grad_input(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'avg_pool1d':
        'avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor',
    'avg_pool2d':
        'avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor\n'
        'avg_pool2d.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, *, Tensor(a!) out) -> Tensor(a!)',
    'avg_pool2d_backward':
        'avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor\n'
        'avg_pool2d_backward.grad_input(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'avg_pool3d':
        'avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor\n'
        'avg_pool3d.out(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, *, Tensor(a!) out) -> Tensor(a!)',
    'avg_pool3d_backward':
        'avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor\n'
        'avg_pool3d_backward.grad_input(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'adaptive_avg_pool1d':
        'adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor',
    'adaptive_avg_pool2d':
        'adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor\n'
        'adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size, *, Tensor(a!) out) -> Tensor(a!)',
    '_adaptive_avg_pool2d':
        '_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor\n'
        '_adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size, *, Tensor(a!) out) -> Tensor(a!)',
    '_adaptive_avg_pool2d_backward':
        '_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor\n'
        '_adaptive_avg_pool2d_backward.out(Tensor grad_output, Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'adaptive_avg_pool3d':
        'adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor\n'
        'adaptive_avg_pool3d.out(Tensor self, int[3] output_size, *, Tensor(a!) out) -> Tensor(a!)',
    '_adaptive_avg_pool3d':
        '_adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor\n'
        '_adaptive_avg_pool3d.out(Tensor self, int[3] output_size, *, Tensor(a!) out) -> Tensor(a!)',
    '_adaptive_avg_pool3d_backward':
        '_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor\n'
        '_adaptive_avg_pool3d_backward.out(Tensor grad_output, Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'adaptive_avg_pool3d_backward':
        'adaptive_avg_pool3d_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'adaptive_max_pool1d':
        'adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)',
    'adaptive_max_pool2d':
        'adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)\n'
        'adaptive_max_pool2d.out(Tensor self, int[2] output_size, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))',
    'adaptive_max_pool2d_backward':
        'adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor\n'
        'adaptive_max_pool2d_backward.grad_input(Tensor grad_output, Tensor self, Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'adaptive_max_pool3d':
        'adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)\n'
        'adaptive_max_pool3d.out(Tensor self, int[3] output_size, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))',
    'adaptive_max_pool3d_backward':
        'adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor\n'
        'adaptive_max_pool3d_backward.grad_input(Tensor grad_output, Tensor self, Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'fractional_max_pool2d':
        'fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)\n'
        'fractional_max_pool2d.output(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples, *, Tensor(a!) output, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))',
    'fractional_max_pool2d_backward':
        'fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor indices) -> Tensor\n'
        'fractional_max_pool2d_backward.grad_input(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'fractional_max_pool3d':
        'fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, Tensor)\n'
        'fractional_max_pool3d.output(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples, *, Tensor(a!) output, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))',
    'fractional_max_pool3d_backward':
        'fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] output_size, Tensor indices) -> Tensor\n'
        'fractional_max_pool3d_backward.grad_input(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] output_size, Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'max_unpool2d':
        'max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor\n'
        'max_unpool2d.out(Tensor self, Tensor indices, int[2] output_size, *, Tensor(a!) out) -> Tensor(a!)',
    'max_unpool3d':
        'max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, int[3] padding) -> Tensor\n'
        'max_unpool3d.out(Tensor self, Tensor indices, int[3] output_size, int[3] stride, int[3] padding, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_nearest1d':
        'upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor\n'
        'upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor\n'
        'upsample_nearest1d.out(Tensor self, SymInt[1] output_size, float? scales=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        'upsample_nearest1d.vec_out(Tensor input, SymInt[]? output_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_nearest1d_backward':
        'upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor\n'
        'upsample_nearest1d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors) -> Tensor\n'
        'upsample_nearest1d_backward.grad_input(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        'upsample_nearest1d_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_nearest2d':
        'upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        'upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor\n'
        'upsample_nearest2d.out(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        'upsample_nearest2d.vec_out(Tensor input, SymInt[]? output_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_nearest2d_backward':
        'upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        'upsample_nearest2d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors) -> Tensor\n'
        'upsample_nearest2d_backward.grad_input(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        'upsample_nearest2d_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_nearest3d':
        'upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        'upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor\n'
        'upsample_nearest3d.out(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        'upsample_nearest3d.vec_out(Tensor input, SymInt[]? output_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_nearest3d_backward':
        'upsample_nearest3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        'upsample_nearest3d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors) -> Tensor\n'
        'upsample_nearest3d_backward.grad_input(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        'upsample_nearest3d_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    '_upsample_nearest_exact1d':
        '_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor\n'
        '_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor\n'
        '_upsample_nearest_exact1d.out(Tensor self, SymInt[1] output_size, float? scales=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        '_upsample_nearest_exact1d.vec_out(Tensor input, SymInt[]? output_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    '_upsample_nearest_exact1d_backward':
        '_upsample_nearest_exact1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor\n'
        '_upsample_nearest_exact1d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors) -> Tensor\n'
        '_upsample_nearest_exact1d_backward.grad_input(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        '_upsample_nearest_exact1d_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    '_upsample_nearest_exact2d':
        '_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        '_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor\n'
        '_upsample_nearest_exact2d.out(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        '_upsample_nearest_exact2d.vec_out(Tensor input, SymInt[]? output_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    '_upsample_nearest_exact2d_backward':
        '_upsample_nearest_exact2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        '_upsample_nearest_exact2d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors) -> Tensor\n'
        '_upsample_nearest_exact2d_backward.grad_input(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        '_upsample_nearest_exact2d_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    '_upsample_nearest_exact3d':
        '_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        '_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor\n'
        '_upsample_nearest_exact3d.out(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        '_upsample_nearest_exact3d.vec_out(Tensor input, SymInt[]? output_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    '_upsample_nearest_exact3d_backward':
        '_upsample_nearest_exact3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        '_upsample_nearest_exact3d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors) -> Tensor\n'
        '_upsample_nearest_exact3d_backward.grad_input(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        '_upsample_nearest_exact3d_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_linear1d':
        'upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor\n'
        'upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        'upsample_linear1d.out(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        'upsample_linear1d.vec_out(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_linear1d_backward':
        'upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, bool align_corners, float? scales=None) -> Tensor\n'
        'upsample_linear1d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        'upsample_linear1d_backward.grad_input(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, bool align_corners, float? scales=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        'upsample_linear1d_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_bilinear2d':
        'upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        'upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        'upsample_bilinear2d.out(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        'upsample_bilinear2d.vec_out(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_bilinear2d_backward':
        'upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        'upsample_bilinear2d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        'upsample_bilinear2d_backward.grad_input(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        'upsample_bilinear2d_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_trilinear3d':
        'upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        'upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        'upsample_trilinear3d.out(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        'upsample_trilinear3d.vec_out(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_trilinear3d_backward':
        'upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        'upsample_trilinear3d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        'upsample_trilinear3d_backward.grad_input(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        'upsample_trilinear3d_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_bicubic2d':
        'upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        'upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        'upsample_bicubic2d.out(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        'upsample_bicubic2d.vec_out(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'upsample_bicubic2d_backward':
        'upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        'upsample_bicubic2d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        'upsample_bicubic2d_backward.grad_input(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        'upsample_bicubic2d_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    '_upsample_bilinear2d_aa':
        '_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        '_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        '_upsample_bilinear2d_aa.out(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        '_upsample_bilinear2d_aa.vec_out(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    '_upsample_bilinear2d_aa_backward':
        '_upsample_bilinear2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        '_upsample_bilinear2d_aa_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        '_upsample_bilinear2d_aa_backward.grad_input(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        '_upsample_bilinear2d_aa_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    '_upsample_bicubic2d_aa':
        '_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        '_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        '_upsample_bicubic2d_aa.out(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)\n'
        '_upsample_bicubic2d_aa.vec_out(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    '_upsample_bicubic2d_aa_backward':
        '_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor\n'
        '_upsample_bicubic2d_aa_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors) -> Tensor\n'
        '_upsample_bicubic2d_aa_backward.grad_input(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None, *, Tensor(a!) grad_input) -> Tensor(a!)\n'
        '_upsample_bicubic2d_aa_backward.vec_out(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)',
    'reflection_pad1d':
        'reflection_pad1d(Tensor self, int[2] padding) -> Tensor\n'
        'reflection_pad1d.out(Tensor self, int[2] padding, *, Tensor(a!) out) -> Tensor(a!)',
    'reflection_pad1d_backward':
        'reflection_pad1d_backward(Tensor grad_output, Tensor self, int[2] padding) -> Tensor\n'
        'reflection_pad1d_backward.grad_input(Tensor grad_output, Tensor self, int[2] padding, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'reflection_pad2d':
        'reflection_pad2d(Tensor self, int[4] padding) -> Tensor\n'
        'reflection_pad2d.out(Tensor self, int[4] padding, *, Tensor(a!) out) -> Tensor(a!)',
    'reflection_pad2d_backward':
        'reflection_pad2d_backward(Tensor grad_output, Tensor self, int[4] padding) -> Tensor\n'
        'reflection_pad2d_backward.grad_input(Tensor grad_output, Tensor self, int[4] padding, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'reflection_pad3d':
        'reflection_pad3d(Tensor self, int[6] padding) -> Tensor\n'
        'reflection_pad3d.out(Tensor self, int[6] padding, *, Tensor(a!) out) -> Tensor(a!)',
    'reflection_pad3d_backward':
        'reflection_pad3d_backward(Tensor grad_output, Tensor self, int[6] padding) -> Tensor\n'
        'reflection_pad3d_backward.grad_input(Tensor grad_output, Tensor self, int[6] padding, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'replication_pad1d':
        'replication_pad1d(Tensor self, int[2] padding) -> Tensor\n'
        'replication_pad1d.out(Tensor self, int[2] padding, *, Tensor(a!) out) -> Tensor(a!)',
    'replication_pad1d_backward':
        'replication_pad1d_backward(Tensor grad_output, Tensor self, int[2] padding) -> Tensor\n'
        'replication_pad1d_backward.grad_input(Tensor grad_output, Tensor self, int[2] padding, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'replication_pad2d':
        'replication_pad2d(Tensor self, int[4] padding) -> Tensor\n'
        'replication_pad2d.out(Tensor self, int[4] padding, *, Tensor(a!) out) -> Tensor(a!)',
    'replication_pad2d_backward':
        'replication_pad2d_backward(Tensor grad_output, Tensor self, int[4] padding) -> Tensor\n'
        'replication_pad2d_backward.grad_input(Tensor grad_output, Tensor self, int[4] padding, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'replication_pad3d':
        'replication_pad3d(Tensor self, int[6] padding) -> Tensor\n'
        'replication_pad3d.out(Tensor self, int[6] padding, *, Tensor(a!) out) -> Tensor(a!)',
    'replication_pad3d_backward':
        'replication_pad3d_backward(Tensor grad_output, Tensor self, int[6] padding) -> Tensor\n'
        'replication_pad3d_backward.grad_input(Tensor grad_output, Tensor self, int[6] padding, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'grid_sampler':
        'grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor',
    'grid_sampler_2d':
        'grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor\n'
        'grid_sampler_2d.out(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, *, Tensor(a!) out) -> Tensor(a!)',
    'grid_sampler_2d_backward':
        'grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)\n'
        'grid_sampler_2d_backward.out(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    'grid_sampler_3d':
        'grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor\n'
        'grid_sampler_3d.out(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, *, Tensor(a!) out) -> Tensor(a!)',
    'grid_sampler_3d_backward':
        'grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)\n'
        'grid_sampler_3d_backward.out(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    '_grid_sampler_2d_cpu_fallback':
        '_grid_sampler_2d_cpu_fallback(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor\n'
        '_grid_sampler_2d_cpu_fallback.out(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, *, Tensor(a!) out) -> Tensor(a!)',
    '_grid_sampler_2d_cpu_fallback_backward':
        '_grid_sampler_2d_cpu_fallback_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> (Tensor, Tensor)',
    'affine_grid_generator':
        'affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor\n'
        'affine_grid_generator.out(Tensor theta, int[] size, bool align_corners, *, Tensor(a!) out) -> Tensor(a!)',
    'affine_grid_generator_backward':
        'affine_grid_generator_backward(Tensor grad, int[] size, bool align_corners) -> Tensor',
    'channel_shuffle':
        'channel_shuffle(Tensor self, int groups) -> Tensor\n'
        'channel_shuffle.out(Tensor self, int groups, *, Tensor(a!) out) -> Tensor(a!)',
    'native_channel_shuffle':
        'native_channel_shuffle(Tensor self, int groups) -> Tensor',
    'pad':
        'pad(Tensor self, int[] pad, str mode="constant", float? value=None) -> Tensor',
    '_pad_enum':
        '_pad_enum(Tensor self, int[] pad, int mode, float? value=None) -> Tensor',
    '_pad_circular':
        '_pad_circular(Tensor self, int[] pad) -> Tensor',
    'softmax':
        'softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor\n'
        'softmax.int_out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)',
    'special_softmax':
        'special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor',
    '_softmax':
        '_softmax(Tensor self, int dim, bool half_to_float) -> Tensor\n'
        '_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)',
    '_softmax_backward_data':
        '_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor\n'
        '_softmax_backward_data.out(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'log_softmax':
        'log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor\n'
        'log_softmax.int_out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)',
    'special_log_softmax':
        'special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor',
    '_log_softmax':
        '_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor\n'
        '_log_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)',
    '_log_softmax_backward_data':
        '_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor\n'
        '_log_softmax_backward_data.out(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype, *, Tensor(a!) out) -> Tensor(a!)',
    'sum':
        'sum(Tensor self, *, ScalarType? dtype=None) -> Tensor\n'
        'sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n'
        'sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)\n'
        'sum.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)',
    'mean':
        'mean(Tensor self, *, ScalarType? dtype=None) -> Tensor\n'
        'mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n'
        'mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)',
    'prod':
        'prod(Tensor self, *, ScalarType? dtype=None) -> Tensor\n'
        'prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n'
        'prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)\n'
        'prod.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)',
    'amax':
        'amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor\n'
        'amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'amin':
        'amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor\n'
        'amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'max':
        'max(Tensor self) -> Tensor\n'
        'max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)\n'
        'max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)\n'
        'max.other(Tensor self, Tensor other) -> Tensor\n'
        'max.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'min':
        'min(Tensor self) -> Tensor\n'
        'min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)\n'
        'min.dim_min(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) min, Tensor(b!) min_indices) -> (Tensor(a!) values, Tensor(b!) indices)\n'
        'min.other(Tensor self, Tensor other) -> Tensor\n'
        'min.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)',
    'argmax':
        'argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor\n'
        'argmax.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'argmin':
        'argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor\n'
        'argmin.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'any':
        'any(Tensor self) -> Tensor\n'
        'any.all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n'
        'any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor\n'
        'any.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'all':
        'all(Tensor self) -> Tensor\n'
        'all.all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n'
        'all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor\n'
        'all.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'nansum':
        'nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n'
        'nansum.out(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)',
    'nanmean':
        'nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n'
        'nanmean.out(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)',
    'count_nonzero':
        'count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor\n'
        'count_nonzero(Tensor self, int? dim=None) -> Tensor\n'
        'count_nonzero.dim_IntList_out(Tensor self, int[] dim, *, Tensor(a!) out) -> Tensor(a!)\n'
        'count_nonzero.out(Tensor self, int? dim=None, *, Tensor(a!) out) -> Tensor(a!)',
    '_aminmax':
        '_aminmax(Tensor self) -> (Tensor, Tensor)\n'
        '_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)\n'
        '_aminmax.out(Tensor self, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))\n'
        '_aminmax.dim_out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    'aminmax':
        'aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)\n'
        'aminmax.out(Tensor self, *, int? dim=None, bool keepdim=False, Tensor(a!) min, Tensor(b!) max) -> (Tensor(a!) min, Tensor(b!) max)',
    'var':
        'var(Tensor self, bool unbiased=True) -> Tensor\n'
        'var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor\n'
        'var.correction(Tensor self, int[1]? dim, *, int? correction, bool keepdim=False) -> Tensor\n'
        'var.correction_out(Tensor self, int[1]? dim, *, int? correction, bool keepdim=False, Tensor(a!) out) -> Tensor(a!)\n'
        'var.out(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'var_mean':
        'var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)\n'
        'var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)\n'
        'var_mean.correction(Tensor self, int[1]? dim, *, int? correction, bool keepdim=False) -> (Tensor, Tensor)\n'
        'var_mean.correction_out(Tensor self, int[1]? dim, *, int? correction, bool keepdim=False, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    'std':
        'std(Tensor self, bool unbiased=True) -> Tensor\n'
        'std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor\n'
        'std.correction(Tensor self, int[1]? dim, *, int? correction, bool keepdim=False) -> Tensor\n'
        'std.correction_out(Tensor self, int[1]? dim, *, int? correction, bool keepdim=False, Tensor(a!) out) -> Tensor(a!)\n'
        'std.out(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'std_mean':
        'std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)\n'
        'std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)\n'
        'std_mean.correction(Tensor self, int[1]? dim, *, int? correction, bool keepdim=False) -> (Tensor, Tensor)\n'
        'std_mean.correction_out(Tensor self, int[1]? dim, *, int? correction, bool keepdim=False, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    'norm':
        'norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor\n'
        'norm.out(Tensor self, Scalar? p, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)\n'
        'norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor\n'
        'norm.dtype_out(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype, Tensor(a!) out) -> Tensor(a!)\n'
        'norm.Scalar(Tensor self, Scalar p=2) -> Tensor\n'
        'norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor\n'
        'norm.Scalar_out(Tensor self, Scalar p=2, *, Tensor(a!) out) -> Tensor(a!)\n'
        'norm.ScalarOpt_dtype_out(Tensor self, Scalar? p, *, ScalarType dtype, Tensor(a!) out) -> Tensor(a!)',
    'linalg_vector_norm':
        'linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n'
        'linalg_vector_norm.out(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)',
    'allclose':
        'allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool',
    'logsumexp':
        'logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor\n'
        'logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'special_logsumexp':
        'special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor\n'
        'special_logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)',
    'segment_reduce':
        'segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor\n'
        'segment_reduce.out(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None, Tensor(a!) out) -> Tensor(a!)',
    '_segment_reduce_backward':
        '_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor\n'
        '_segment_reduce_backward.out(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None, Tensor(a!) out) -> Tensor(a!)',
    'cov':
        'cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor',
    'corrcoef':
        'corrcoef(Tensor self) -> Tensor',
    'cumsum':
        'cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor\n'
        'cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)',
    'cumsum_':
        'cumsum_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)',
    'cumprod':
        'cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor\n'
        'cumprod.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)',
    'cumprod_backward':
        'cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor',
    'cumprod_':
        'cumprod_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)',
    'cummax':
        'cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)\n'
        'cummax.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)',
    '_cummax_helper':
        '_cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()',
    'cummin':
        'cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)\n'
        'cummin.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)',
    '_cummin_helper':
        '_cummin_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()',
    'logcumsumexp':
        'logcumsumexp(Tensor self, int dim) -> Tensor\n'
        'logcumsumexp.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)',
    '_logcumsumexp':
        '_logcumsumexp(Tensor self, int dim) -> Tensor\n'
        '_logcumsumexp.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)',
    'squeeze_':
        'squeeze_(Tensor(a!) self) -> Tensor(a!)\n'
        'squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)',
    'unsqueeze_':
        'unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)',
    'transpose_':
        'transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)',
    't_':
        't_(Tensor(a!) self) -> Tensor(a!)',
    'as_strided_':
        'as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)',
    'resize_':
        'resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)',
    'resize_as_':
        'resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)',
    'set_':
        'set_(Tensor(a!) self) -> Tensor(a!)\n'
        'set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)\n'
        'set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)',
    'flip':
        'flip(Tensor self, int[] dims) -> Tensor\n'
        'flip.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)',
    'roll':
        'roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor\n'
        'roll.out(Tensor self, int[1] shifts, int[1] dims=[], *, Tensor(a!) out) -> Tensor(a!)',
    'tril':
        'tril(Tensor self, int diagonal=0) -> Tensor\n'
        'tril.out(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!)',
    'tril_':
        'tril_(Tensor(a!) self, int diagonal=0) -> Tensor(a!)',
    'triu':
        'triu(Tensor self, int diagonal=0) -> Tensor\n'
        'triu.out(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!)',
    'triu_':
        'triu_(Tensor(a!) self, int diagonal=0) -> Tensor(a!)',
    'diag':
        'diag(Tensor self, int diagonal=0) -> Tensor\n'
        'diag.out(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!)',
    'trace':
        'trace(Tensor self) -> Tensor\n'
        'trace.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'narrow_copy':
        'narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor\n'
        'narrow_copy.out(Tensor self, int dim, SymInt start, SymInt length, *, Tensor(a!) out) -> Tensor(a!)',
    'pixel_shuffle':
        'pixel_shuffle(Tensor self, int upscale_factor) -> Tensor\n'
        'pixel_shuffle.out(Tensor self, int upscale_factor, *, Tensor(a!) out) -> Tensor(a!)',
    'pixel_unshuffle':
        'pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor\n'
        'pixel_unshuffle.out(Tensor self, int downscale_factor, *, Tensor(a!) out) -> Tensor(a!)',
    'equal':
        'equal(Tensor self, Tensor other) -> bool',
    'rot90':
        'rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor\n'
        'rot90.out(Tensor self, int k=1, int[] dims=[0, 1], *, Tensor(a!) out) -> Tensor(a!)',
    'block_diag':
        'block_diag(Tensor[] tensors) -> Tensor\n'
        'block_diag.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)',
    'constant_pad_nd':
        'constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor\n'
        'constant_pad_nd.out(Tensor self, int[] pad, Scalar value=0, *, Tensor(a!) out) -> Tensor(a!)',
    'slice_scatter':
        'slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor\n'
        'slice_scatter.out(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1, *, Tensor(a!) out) -> Tensor(a!)',
    'select_scatter':
        'select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor\n'
        'select_scatter.out(Tensor self, Tensor src, int dim, int index, *, Tensor(a!) out) -> Tensor(a!)',
    'diagonal_scatter':
        'diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor\n'
        'diagonal_scatter.out(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1, *, Tensor(a!) out) -> Tensor(a!)',
    'as_strided_scatter':
        'as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor\n'
        'as_strided_scatter.out(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None, *, Tensor(a!) out) -> Tensor(a!)',
    'diag_embed':
        'diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor\n'
        'diag_embed.out(Tensor self, int offset=0, int dim1=-2, int dim2=-1, *, Tensor(a!) out) -> Tensor(a!)',
    'numpy_T':
        'numpy_T(Tensor(a) self) -> Tensor(a)',
    'mT':
        'mT(Tensor(a) self) -> Tensor(a)',
    'mH':
        'mH(Tensor(a) self) -> Tensor(a)',
    'adjoint':
        'adjoint(Tensor(a) self) -> Tensor(a)',
    'matrix_H':
        'matrix_H(Tensor(a) self) -> Tensor(a)',
    'fliplr':
        'fliplr(Tensor self) -> Tensor',
    'flipud':
        'flipud(Tensor self) -> Tensor',
    'ravel':
        'ravel(Tensor(a) self) -> Tensor(a)',
    'diagflat':
        'diagflat(Tensor self, int offset=0) -> Tensor',
    'tile':
        'tile(Tensor self, int[] dims) -> Tensor',
    'fill_diagonal_':
        'fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)',
    'nonzero_numpy':
        'nonzero_numpy(Tensor self) -> Tensor[]',
    'sum_to_size':
        'sum_to_size(Tensor self, int[] size) -> Tensor',
    'argwhere':
        'argwhere(Tensor self) -> Tensor',
    'swapaxes':
        'swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)',
    'swapaxes_':
        'swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)',
    'swapdims':
        'swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)',
    'swapdims_':
        'swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)',
    'moveaxis':
        'moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)\n'
        'moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)',
    'view_as_real':
        'view_as_real(Tensor(a) self) -> Tensor(a)',
    'view_as_complex':
        'view_as_complex(Tensor(a) self) -> Tensor(a)',
    '_conj':
        '_conj(Tensor(a) self) -> Tensor(a)',
    'conj':
        'conj(Tensor(a) self) -> Tensor(a)',
    '_conj_physical':
        '_conj_physical(Tensor self) -> Tensor\n'
        '_conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'conj_physical':
        'conj_physical(Tensor self) -> Tensor\n'
        'conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'conj_physical_':
        'conj_physical_(Tensor(a!) self) -> Tensor(a!)',
    '_neg_view':
        '_neg_view(Tensor(a) self) -> Tensor(a)',
    'resolve_conj':
        'resolve_conj(Tensor(a) self) -> Tensor(a)',
    'resolve_neg':
        'resolve_neg(Tensor(a) self) -> Tensor(a)',
    'real':
        'real(Tensor(a) self) -> Tensor(a)',
    'imag':
        'imag(Tensor(a) self) -> Tensor(a)',
    'index':
        'index.Tensor(Tensor self, Tensor?[] indices) -> Tensor\n'
        'index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)',
    'index_put':
        'index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor\n'
        'index_put.out(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, *, Tensor(a!) out) -> Tensor(a!)',
    'index_put_':
        'index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)',
    '_index_put_impl_':
        '_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)',
    'nonzero':
        'nonzero(Tensor self) -> Tensor\n'
        'nonzero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'masked_select':
        'masked_select(Tensor self, Tensor mask) -> Tensor\n'
        'masked_select.out(Tensor self, Tensor mask, *, Tensor(a!) out) -> Tensor(a!)',
    'masked_scatter':
        'masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor\n'
        'masked_scatter.out(Tensor self, Tensor mask, Tensor source, *, Tensor(a!) out) -> Tensor(a!)',
    'masked_scatter_':
        'masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)',
    'take':
        'take(Tensor self, Tensor index) -> Tensor\n'
        'take.out(Tensor self, Tensor index, *, Tensor(a!) out) -> Tensor(a!)',
    'put':
        'put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor\n'
        'put.out(Tensor self, Tensor index, Tensor source, bool accumulate=False, *, Tensor(a!) out) -> Tensor(a!)',
    'put_':
        'put_(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> Tensor(a!)',
    'scatter':
        'scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor\n'
        'scatter.src_out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> Tensor(a!)\n'
        'scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor\n'
        'scatter.value_out(Tensor self, int dim, Tensor index, Scalar value, *, Tensor(a!) out) -> Tensor(a!)\n'
        'scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor\n'
        'scatter.reduce_out(Tensor self, int dim, Tensor index, Tensor src, *, str reduce, Tensor(a!) out) -> Tensor(a!)\n'
        'scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor\n'
        'scatter.value_reduce_out(Tensor self, int dim, Tensor index, Scalar value, *, str reduce, Tensor(a!) out) -> Tensor(a!)',
    'scatter_':
        'scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)\n'
        'scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)\n'
        'scatter_.reduce(Tensor(a!) self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor(a!)\n'
        'scatter_.value_reduce(Tensor(a!) self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor(a!)',
    'scatter_reduce':
        'scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor\n'
        'scatter_reduce.two_out(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True, Tensor(a!) out) -> Tensor(a!)',
    'scatter_reduce_':
        'scatter_reduce_.two(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor(a!)',
    'scatter_add':
        'scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor\n'
        'scatter_add.out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> Tensor(a!)',
    'scatter_add_':
        'scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)',
    'index_add':
        'index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor\n'
        'index_add.out(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)',
    'index_add_':
        'index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)',
    'index_copy':
        'index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor\n'
        'index_copy.out(Tensor self, int dim, Tensor index, Tensor source, *, Tensor(a!) out) -> Tensor(a!)',
    'index_copy_':
        'index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)',
    'index_reduce':
        'index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor\n'
        'index_reduce.out(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True, Tensor(a!) out) -> Tensor(a!)',
    'index_reduce_':
        'index_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor(a!)',
    'index_fill_':
        'index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)\n'
        'index_fill_.int_Tensor(Tensor(a!) self, int dim, Tensor index, Tensor value) -> Tensor(a!)',
    'index_fill':
        'index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor\n'
        'index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor\n'
        'index_fill.int_Scalar_out(Tensor self, int dim, Tensor index, Scalar value, *, Tensor(a!) out) -> Tensor(a!)\n'
        'index_fill.int_Tensor_out(Tensor self, int dim, Tensor index, Tensor value, *, Tensor(a!) out) -> Tensor(a!)',
    'take_along_dim':
        'take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor\n'
        'take_along_dim.out(Tensor self, Tensor indices, int? dim=None, *, Tensor(a!) out) -> Tensor(a!)',
    'sort':
        'sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)\n'
        'sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)\n'
        'sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)\n'
        'sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)',
    'argsort':
        'argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor\n'
        'argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor\n'
        'argsort.stable_out(Tensor self, *, bool stable, int dim=-1, bool descending=False, Tensor(a!) out) -> Tensor(a!)',
    'msort':
        'msort(Tensor self) -> Tensor\n'
        'msort.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'topk':
        'topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)\n'
        'topk.values(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)',
    'kthvalue':
        'kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)\n'
        'kthvalue.values(Tensor self, int k, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)',
    'median':
        'median(Tensor self) -> Tensor\n'
        'median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)\n'
        'median.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)\n'
        'median.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'nanmedian':
        'nanmedian(Tensor self) -> Tensor\n'
        'nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)\n'
        'nanmedian.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)\n'
        'nanmedian.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'mode':
        'mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)\n'
        'mode.values(Tensor self, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)',
    'histogram':
        'histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)\n'
        'histogram.bin_ct_out(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False, Tensor(a!) hist, Tensor(b!) bin_edges) -> (Tensor(a!) hist, Tensor(b!) bin_edges)\n'
        'histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)\n'
        'histogram.bins_tensor_out(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False, Tensor(a!) hist, Tensor(b!) bin_edges) -> (Tensor(a!) hist, Tensor(b!) bin_edges)',
    'histc':
        'histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor\n'
        'histc.out(Tensor self, int bins=100, Scalar min=0, Scalar max=0, *, Tensor(a!) out) -> Tensor(a!)',
    '_histogramdd_bin_edges':
        '_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]\n'
        '_histogramdd_bin_edges.out(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False, Tensor(a!)[] out) -> ()',
    '_histogramdd_from_bin_cts':
        '_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor\n'
        '_histogramdd_from_bin_cts.out(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False, Tensor(a!) out) -> Tensor(a!)',
    '_histogramdd_from_bin_tensors':
        '_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor\n'
        '_histogramdd_from_bin_tensors.out(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False, Tensor(a!) out) -> Tensor(a!)',
    'bincount':
        'bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor\n'
        'bincount.out(Tensor self, Tensor? weights=None, int minlength=0, *, Tensor(a!) out) -> Tensor(a!)',
    'isin':
        'isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor\n'
        'isin.Tensor_Tensor_out(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor(a!) out) -> Tensor(a!)\n'
        'isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor\n'
        'isin.Tensor_Scalar_out(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False, Tensor(a!) out) -> Tensor(a!)\n'
        'isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor\n'
        'isin.Scalar_Tensor_out(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor(a!) out) -> Tensor(a!)',
    'quantile':
        'quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor\n'
        'quantile.out(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor(a!) out) -> Tensor(a!)\n'
        'quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor\n'
        'quantile.scalar_out(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor(a!) out) -> Tensor(a!)',
    'nanquantile':
        'nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor\n'
        'nanquantile.out(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor(a!) out) -> Tensor(a!)\n'
        'nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor\n'
        'nanquantile.scalar_out(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor(a!) out) -> Tensor(a!)',
    'histogramdd':
        'histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)\n'
        'histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)\n'
        'histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)',
    'tensor_split':
        'tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]\n'
        'tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]\n'
        'tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]',
    'hsplit':
        'hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]\n'
        'hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]',
    'vsplit':
        'vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]\n'
        'vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]',
    'dsplit':
        'dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]\n'
        'dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]',
    'unsafe_split':
        'unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]\n'
        'unsafe_split.Tensor_out(Tensor self, int split_size, int dim=0, *, Tensor(a!)[] out) -> ()',
    'unsafe_split_with_sizes':
        'unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]\n'
        'unsafe_split_with_sizes.out(Tensor self, int[] split_sizes, int dim=0, *, Tensor(a!)[] out) -> ()',
    'unsafe_chunk':
        'unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]',
    'atleast_1d':
        'atleast_1d(Tensor self) -> Tensor\n'
        'atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]',
    'atleast_2d':
        'atleast_2d(Tensor self) -> Tensor\n'
        'atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]',
    'atleast_3d':
        'atleast_3d(Tensor self) -> Tensor\n'
        'atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]',
    'hstack':
        'hstack(Tensor[] tensors) -> Tensor\n'
        'hstack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)',
    'vstack':
        'vstack(Tensor[] tensors) -> Tensor\n'
        'vstack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)',
    'dstack':
        'dstack(Tensor[] tensors) -> Tensor\n'
        'dstack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)',
    'column_stack':
        'column_stack(Tensor[] tensors) -> Tensor\n'
        'column_stack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)',
    'row_stack':
        'row_stack(Tensor[] tensors) -> Tensor\n'
        'row_stack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)',
    'concat':
        'concat(Tensor[] tensors, int dim=0) -> Tensor\n'
        'concat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)',
    'concatenate':
        'concatenate(Tensor[] tensors, int dim=0) -> Tensor\n'
        'concatenate.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)',
    'broadcast_tensors':
        'broadcast_tensors(Tensor[] tensors) -> Tensor[]',
    'meshgrid':
        'meshgrid(Tensor[] tensors) -> Tensor[]\n'
        'meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]',
    'flatten_dense_tensors':
        'flatten_dense_tensors(Tensor[] tensors) -> Tensor',
    'unflatten_dense_tensors':
        'unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]',
    'alias_copy':
        'alias_copy(Tensor self) -> Tensor\n'
        'alias_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'as_strided_copy':
        'as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor\n'
        'as_strided_copy.out(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None, *, Tensor(a!) out) -> Tensor(a!)',
    'detach_copy':
        'detach_copy(Tensor self) -> Tensor\n'
        'detach_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'diagonal_copy':
        'diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor\n'
        'diagonal_copy.out(Tensor self, int offset=0, int dim1=0, int dim2=1, *, Tensor(a!) out) -> Tensor(a!)',
    'expand_copy':
        'expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor\n'
        'expand_copy.out(Tensor self, SymInt[] size, *, bool implicit=False, Tensor(a!) out) -> Tensor(a!)',
    'permute_copy':
        'permute_copy(Tensor self, int[] dims) -> Tensor\n'
        'permute_copy.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)',
    'select_copy':
        'select_copy.int(Tensor self, int dim, int index) -> Tensor\n'
        'select_copy.int_out(Tensor self, int dim, int index, *, Tensor(a!) out) -> Tensor(a!)',
    'slice_copy':
        'slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor\n'
        'slice_copy.Tensor_out(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1, *, Tensor(a!) out) -> Tensor(a!)',
    'split_copy':
        'split_copy.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]\n'
        'split_copy.Tensor_out(Tensor self, int split_size, int dim=0, *, Tensor(a!)[] out) -> ()',
    'split_with_sizes_copy':
        'split_with_sizes_copy(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]\n'
        'split_with_sizes_copy.out(Tensor self, int[] split_sizes, int dim=0, *, Tensor(a!)[] out) -> ()',
    'squeeze_copy':
        'squeeze_copy(Tensor self) -> Tensor\n'
        'squeeze_copy.dim(Tensor self, int dim) -> Tensor\n'
        'squeeze_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n'
        'squeeze_copy.dim_out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)',
    't_copy':
        't_copy(Tensor self) -> Tensor\n'
        't_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'transpose_copy':
        'transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor\n'
        'transpose_copy.int_out(Tensor self, int dim0, int dim1, *, Tensor(a!) out) -> Tensor(a!)',
    'unbind_copy':
        'unbind_copy.int(Tensor self, int dim=0) -> Tensor[]\n'
        'unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()',
    'unfold_copy':
        'unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor\n'
        'unfold_copy.out(Tensor self, int dimension, int size, int step, *, Tensor(a!) out) -> Tensor(a!)',
    'unsqueeze_copy':
        'unsqueeze_copy(Tensor self, int dim) -> Tensor\n'
        'unsqueeze_copy.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)',
    'view_as_complex_copy':
        'view_as_complex_copy(Tensor self) -> Tensor\n'
        'view_as_complex_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'view_as_real_copy':
        'view_as_real_copy(Tensor self) -> Tensor\n'
        'view_as_real_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'view_copy':
        'view_copy(Tensor self, SymInt[] size) -> Tensor\n'
        'view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor\n'
        'view_copy.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)\n'
        'view_copy.dtype_out(Tensor self, ScalarType dtype, *, Tensor(a!) out) -> Tensor(a!)',
    '_conj_copy':
        '_conj_copy(Tensor self) -> Tensor\n'
        '_conj_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    '_neg_view_copy':
        '_neg_view_copy(Tensor self) -> Tensor\n'
        '_neg_view_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    '_reshape_alias_copy':
        '_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor\n'
        '_reshape_alias_copy.out(Tensor self, SymInt[] size, SymInt[] stride, *, Tensor(a!) out) -> Tensor(a!)',
    'diff':
        'diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor\n'
        'diff.out(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None, *, Tensor(a!) out) -> Tensor(a!)',
    'trapezoid':
        'trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor\n'
        'trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor',
    'trapz':
        'trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor\n'
        'trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor',
    'cumulative_trapezoid':
        'cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor\n'
        'cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor',
    'gradient':
        'gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]\n'
        'gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]\n'
        'gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]\n'
        'gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]\n'
        'gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]\n'
        'gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]\n'
        'gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]',
    'select_backward':
        'select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, int index) -> Tensor\n'
        'select_backward.out(Tensor grad_output, SymInt[] input_sizes, int dim, int index, *, Tensor(a!) out) -> Tensor(a!)',
    'slice_backward':
        'slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor\n'
        'slice_backward.out(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step, *, Tensor(a!) out) -> Tensor(a!)',
    'diagonal_backward':
        'diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor\n'
        'diagonal_backward.out(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2, *, Tensor(a!) out) -> Tensor(a!)',
    'index_select_backward':
        'index_select_backward(Tensor grad, int[] self_sizes, int dim, Tensor index) -> Tensor',
    'gather_backward':
        'gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor',
    'masked_select_backward':
        'masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor',
    'trace_backward':
        'trace_backward(Tensor grad, int[] sizes) -> Tensor',
    'diag_backward':
        'diag_backward(Tensor grad, SymInt[] input_sizes, int diagonal) -> Tensor',
    'value_selecting_reduction_backward':
        'value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, int[] sizes, bool keepdim) -> Tensor',
    'cummaxmin_backward':
        'cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim) -> Tensor',
    'special_chebyshev_polynomial_t':
        'special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor\n'
        'special_chebyshev_polynomial_t.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_chebyshev_polynomial_t.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_chebyshev_polynomial_t.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'special_chebyshev_polynomial_u':
        'special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor\n'
        'special_chebyshev_polynomial_u.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_chebyshev_polynomial_u.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_chebyshev_polynomial_u.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'special_chebyshev_polynomial_v':
        'special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor\n'
        'special_chebyshev_polynomial_v.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_chebyshev_polynomial_v.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_chebyshev_polynomial_v.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'special_chebyshev_polynomial_w':
        'special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor\n'
        'special_chebyshev_polynomial_w.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_chebyshev_polynomial_w.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_chebyshev_polynomial_w.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'special_hermite_polynomial_h':
        'special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor\n'
        'special_hermite_polynomial_h.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_hermite_polynomial_h.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_hermite_polynomial_h.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'special_hermite_polynomial_he':
        'special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor\n'
        'special_hermite_polynomial_he.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_hermite_polynomial_he.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_hermite_polynomial_he.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'special_laguerre_polynomial_l':
        'special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor\n'
        'special_laguerre_polynomial_l.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_laguerre_polynomial_l.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_laguerre_polynomial_l.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'special_legendre_polynomial_p':
        'special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor\n'
        'special_legendre_polynomial_p.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_legendre_polynomial_p.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_legendre_polynomial_p.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'special_shifted_chebyshev_polynomial_t':
        'special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_t.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_t.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_t.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'special_shifted_chebyshev_polynomial_u':
        'special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_u.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_u.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_u.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'special_shifted_chebyshev_polynomial_v':
        'special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_v.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_v.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_v.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'special_shifted_chebyshev_polynomial_w':
        'special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_w.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_w.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)\n'
        'special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor\n'
        'special_shifted_chebyshev_polynomial_w.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)',
    'mse_loss':
        'mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor\n'
        'mse_loss.out(Tensor self, Tensor target, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)',
    'mse_loss_backward':
        'mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor\n'
        'mse_loss_backward.grad_input(Tensor grad_output, Tensor self, Tensor target, int reduction, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'l1_loss':
        'l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor',
    'smooth_l1_loss':
        'smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor\n'
        'smooth_l1_loss.out(Tensor self, Tensor target, int reduction=1, float beta=1., *, Tensor(a!) out) -> Tensor(a!)',
    'smooth_l1_loss_backward':
        'smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor\n'
        'smooth_l1_loss_backward.grad_input(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'huber_loss':
        'huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor\n'
        'huber_loss.out(Tensor self, Tensor target, int reduction=1, float delta=1., *, Tensor(a!) out) -> Tensor(a!)',
    'huber_loss_backward':
        'huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor\n'
        'huber_loss_backward.out(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'binary_cross_entropy':
        'binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor\n'
        'binary_cross_entropy.out(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)',
    'binary_cross_entropy_backward':
        'binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor\n'
        'binary_cross_entropy_backward.grad_input(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'binary_cross_entropy_with_logits':
        'binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor\n'
        'binary_cross_entropy_with_logits.out(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)',
    'soft_margin_loss':
        'soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor\n'
        'soft_margin_loss.out(Tensor self, Tensor target, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)',
    'soft_margin_loss_backward':
        'soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor\n'
        'soft_margin_loss_backward.grad_input(Tensor grad_output, Tensor self, Tensor target, int reduction, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'nll_loss_forward':
        'nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor output, Tensor total_weight)\n'
        'nll_loss_forward.output(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, *, Tensor(a!) output, Tensor(b!) total_weight) -> (Tensor(a!), Tensor(b!))',
    'nll_loss_backward':
        'nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, Tensor total_weight) -> Tensor\n'
        'nll_loss_backward.grad_input(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, Tensor total_weight, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'nll_loss2d_forward':
        'nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor output, Tensor total_weight)\n'
        'nll_loss2d_forward.output(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, *, Tensor(a!) output, Tensor(b!) total_weight) -> (Tensor(a!), Tensor(b!))',
    'nll_loss2d_backward':
        'nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, Tensor total_weight) -> Tensor\n'
        'nll_loss2d_backward.grad_input(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, Tensor total_weight, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'nll_loss':
        'nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor\n'
        'nll_loss.out(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, *, Tensor(a!) out) -> Tensor(a!)',
    'nll_loss2d':
        'nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor\n'
        'nll_loss2d.out(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, *, Tensor(a!) out) -> Tensor(a!)',
    'nll_loss_nd':
        'nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor',
    'cross_entropy_loss':
        'cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float label_smoothing=0.) -> Tensor',
    'cosine_embedding_loss':
        'cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor',
    'hinge_embedding_loss':
        'hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor',
    'margin_ranking_loss':
        'margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor',
    'triplet_margin_loss':
        'triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor',
    'kl_div':
        'kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor',
    'poisson_nll_loss':
        'poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor',
    'multi_margin_loss':
        'multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor\n'
        'multi_margin_loss.out(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)',
    'multi_margin_loss_backward':
        'multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor\n'
        'multi_margin_loss_backward.grad_input(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=1, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'multilabel_margin_loss':
        'multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor\n'
        'multilabel_margin_loss.out(Tensor self, Tensor target, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)',
    'multilabel_margin_loss_forward':
        'multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)\n'
        'multilabel_margin_loss_forward.output(Tensor self, Tensor target, int reduction, *, Tensor(a!) output, Tensor(b!) is_target) -> (Tensor(a!), Tensor(b!))',
    'multilabel_margin_loss_backward':
        'multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> Tensor\n'
        'multilabel_margin_loss_backward.grad_input(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target, *, Tensor(a!) grad_input) -> Tensor(a!)',
    'ctc_loss':
        'ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor\n'
        'ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor',
    '_ctc_loss':
        '_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)\n'
        '_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)\n'
        '_ctc_loss.out(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    '_ctc_loss_backward':
        '_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor\n'
        '_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor\n'
        '_ctc_loss_backward.out(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False, *, Tensor(a!) out) -> Tensor(a!)',
    'dist':
        'dist(Tensor self, Tensor other, Scalar p=2) -> Tensor\n'
        'dist.out(Tensor self, Tensor other, Scalar p=2, *, Tensor(a!) out) -> Tensor(a!)',
    'pairwise_distance':
        'pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor',
    'cosine_similarity':
        'cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor',
    'cdist':
        'cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor',
    '_cdist_forward':
        '_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor\n'
        '_cdist_forward.out(Tensor x1, Tensor x2, float p, int? compute_mode, *, Tensor(a!) out) -> Tensor(a!)',
    '_cdist_backward':
        '_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor\n'
        '_cdist_backward.out(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist, *, Tensor(a!) out) -> Tensor(a!)',
    '_euclidean_dist':
        '_euclidean_dist(Tensor x1, Tensor x2) -> Tensor\n'
        '_euclidean_dist.out(Tensor x1, Tensor x2, *, Tensor(a!) out) -> Tensor(a!)',
    'pdist':
        'pdist(Tensor self, float p=2.) -> Tensor',
    '_pdist_forward':
        '_pdist_forward(Tensor self, float p=2.) -> Tensor\n'
        '_pdist_forward.out(Tensor self, float p=2., *, Tensor(a!) out) -> Tensor(a!)',
    '_pdist_backward':
        '_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor\n'
        '_pdist_backward.out(Tensor grad, Tensor self, float p, Tensor pdist, *, Tensor(a!) out) -> Tensor(a!)',
    '_foreach_add':
        '_foreach_add.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]\n'
        '_foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]\n'
        '_foreach_add.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]\n'
        '_foreach_add.Scalar_out(Tensor[] self, Scalar scalar, *, Tensor(a!)[] out) -> ()\n'
        '_foreach_add.List_out(Tensor[] self, Tensor[] other, *, Scalar alpha=1, Tensor(a!)[] out) -> ()\n'
        '_foreach_add.ScalarList_out(Tensor[] self, Scalar[] scalars, *, Tensor(a!)[] out) -> ()',
    '_foreach_add_':
        '_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()\n'
        '_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()\n'
        '_foreach_add_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()',
    '_foreach_sub':
        '_foreach_sub.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]\n'
        '_foreach_sub.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]\n'
        '_foreach_sub.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]\n'
        '_foreach_sub.Scalar_out(Tensor[] self, Scalar scalar, *, Tensor(a!)[] out) -> ()\n'
        '_foreach_sub.List_out(Tensor[] self, Tensor[] other, *, Scalar alpha=1, Tensor(a!)[] out) -> ()\n'
        '_foreach_sub.ScalarList_out(Tensor[] self, Scalar[] scalars, *, Tensor(a!)[] out) -> ()',
    '_foreach_sub_':
        '_foreach_sub_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()\n'
        '_foreach_sub_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()\n'
        '_foreach_sub_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()',
    '_foreach_mul':
        '_foreach_mul.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]\n'
        '_foreach_mul.List(Tensor[] self, Tensor[] other) -> Tensor[]\n'
        '_foreach_mul.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]\n'
        '_foreach_mul.Scalar_out(Tensor[] self, Scalar scalar, *, Tensor(a!)[] out) -> ()\n'
        '_foreach_mul.List_out(Tensor[] self, Tensor[] other, *, Tensor(a!)[] out) -> ()\n'
        '_foreach_mul.ScalarList_out(Tensor[] self, Scalar[] scalars, *, Tensor(a!)[] out) -> ()',
    '_foreach_mul_':
        '_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()\n'
        '_foreach_mul_.List(Tensor(a!)[] self, Tensor[] other) -> ()\n'
        '_foreach_mul_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()',
    '_foreach_div':
        '_foreach_div.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]\n'
        '_foreach_div.List(Tensor[] self, Tensor[] other) -> Tensor[]\n'
        '_foreach_div.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]\n'
        '_foreach_div.Scalar_out(Tensor[] self, Scalar scalar, *, Tensor(a!)[] out) -> ()\n'
        '_foreach_div.List_out(Tensor[] self, Tensor[] other, *, Tensor(a!)[] out) -> ()\n'
        '_foreach_div.ScalarList_out(Tensor[] self, Scalar[] scalars, *, Tensor(a!)[] out) -> ()',
    '_foreach_div_':
        '_foreach_div_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()\n'
        '_foreach_div_.List(Tensor(a!)[] self, Tensor[] other) -> ()\n'
        '_foreach_div_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()',
    '_foreach_exp':
        '_foreach_exp(Tensor[] self) -> Tensor[]\n'
        '_foreach_exp.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_zero_':
        '_foreach_zero_(Tensor(a!)[] self) -> ()',
    '_foreach_exp_':
        '_foreach_exp_(Tensor(a!)[] self) -> ()',
    '_foreach_sqrt':
        '_foreach_sqrt(Tensor[] self) -> Tensor[]\n'
        '_foreach_sqrt.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_sqrt_':
        '_foreach_sqrt_(Tensor(a!)[] self) -> ()',
    '_foreach_abs':
        '_foreach_abs(Tensor[] self) -> Tensor[]\n'
        '_foreach_abs.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_abs_':
        '_foreach_abs_(Tensor(a!)[] self) -> ()',
    '_foreach_acos':
        '_foreach_acos(Tensor[] self) -> Tensor[]\n'
        '_foreach_acos.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_acos_':
        '_foreach_acos_(Tensor(a!)[] self) -> ()',
    '_foreach_asin':
        '_foreach_asin(Tensor[] self) -> Tensor[]\n'
        '_foreach_asin.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_asin_':
        '_foreach_asin_(Tensor(a!)[] self) -> ()',
    '_foreach_atan':
        '_foreach_atan(Tensor[] self) -> Tensor[]\n'
        '_foreach_atan.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_atan_':
        '_foreach_atan_(Tensor(a!)[] self) -> ()',
    '_foreach_ceil':
        '_foreach_ceil(Tensor[] self) -> Tensor[]\n'
        '_foreach_ceil.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_ceil_':
        '_foreach_ceil_(Tensor(a!)[] self) -> ()',
    '_foreach_cos':
        '_foreach_cos(Tensor[] self) -> Tensor[]\n'
        '_foreach_cos.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_cos_':
        '_foreach_cos_(Tensor(a!)[] self) -> ()',
    '_foreach_cosh':
        '_foreach_cosh(Tensor[] self) -> Tensor[]\n'
        '_foreach_cosh.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_cosh_':
        '_foreach_cosh_(Tensor(a!)[] self) -> ()',
    '_foreach_erf':
        '_foreach_erf(Tensor[] self) -> Tensor[]\n'
        '_foreach_erf.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_erf_':
        '_foreach_erf_(Tensor(a!)[] self) -> ()',
    '_foreach_erfc':
        '_foreach_erfc(Tensor[] self) -> Tensor[]\n'
        '_foreach_erfc.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_erfc_':
        '_foreach_erfc_(Tensor(a!)[] self) -> ()',
    '_foreach_expm1':
        '_foreach_expm1(Tensor[] self) -> Tensor[]\n'
        '_foreach_expm1.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_expm1_':
        '_foreach_expm1_(Tensor(a!)[] self) -> ()',
    '_foreach_floor':
        '_foreach_floor(Tensor[] self) -> Tensor[]\n'
        '_foreach_floor.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_floor_':
        '_foreach_floor_(Tensor(a!)[] self) -> ()',
    '_foreach_log':
        '_foreach_log(Tensor[] self) -> Tensor[]\n'
        '_foreach_log.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_log_':
        '_foreach_log_(Tensor(a!)[] self) -> ()',
    '_foreach_log10':
        '_foreach_log10(Tensor[] self) -> Tensor[]\n'
        '_foreach_log10.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_log10_':
        '_foreach_log10_(Tensor(a!)[] self) -> ()',
    '_foreach_log1p':
        '_foreach_log1p(Tensor[] self) -> Tensor[]\n'
        '_foreach_log1p.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_log1p_':
        '_foreach_log1p_(Tensor(a!)[] self) -> ()',
    '_foreach_log2':
        '_foreach_log2(Tensor[] self) -> Tensor[]\n'
        '_foreach_log2.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_log2_':
        '_foreach_log2_(Tensor(a!)[] self) -> ()',
    '_foreach_neg':
        '_foreach_neg(Tensor[] self) -> Tensor[]\n'
        '_foreach_neg.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_neg_':
        '_foreach_neg_(Tensor(a!)[] self) -> ()',
    '_foreach_tan':
        '_foreach_tan(Tensor[] self) -> Tensor[]\n'
        '_foreach_tan.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_tan_':
        '_foreach_tan_(Tensor(a!)[] self) -> ()',
    '_foreach_tanh':
        '_foreach_tanh(Tensor[] self) -> Tensor[]\n'
        '_foreach_tanh.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_tanh_':
        '_foreach_tanh_(Tensor(a!)[] self) -> ()',
    '_foreach_sin':
        '_foreach_sin(Tensor[] self) -> Tensor[]\n'
        '_foreach_sin.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_sin_':
        '_foreach_sin_(Tensor(a!)[] self) -> ()',
    '_foreach_sinh':
        '_foreach_sinh(Tensor[] self) -> Tensor[]\n'
        '_foreach_sinh.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_sinh_':
        '_foreach_sinh_(Tensor(a!)[] self) -> ()',
    '_foreach_round':
        '_foreach_round(Tensor[] self) -> Tensor[]\n'
        '_foreach_round.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_round_':
        '_foreach_round_(Tensor(a!)[] self) -> ()',
    '_foreach_lgamma':
        '_foreach_lgamma(Tensor[] self) -> Tensor[]\n'
        '_foreach_lgamma.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_lgamma_':
        '_foreach_lgamma_(Tensor(a!)[] self) -> ()',
    '_foreach_frac':
        '_foreach_frac(Tensor[] self) -> Tensor[]\n'
        '_foreach_frac.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_frac_':
        '_foreach_frac_(Tensor(a!)[] self) -> ()',
    '_foreach_reciprocal':
        '_foreach_reciprocal(Tensor[] self) -> Tensor[]\n'
        '_foreach_reciprocal.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_reciprocal_':
        '_foreach_reciprocal_(Tensor(a!)[] self) -> ()',
    '_foreach_sigmoid':
        '_foreach_sigmoid(Tensor[] self) -> Tensor[]\n'
        '_foreach_sigmoid.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_sigmoid_':
        '_foreach_sigmoid_(Tensor(a!)[] self) -> ()',
    '_foreach_trunc':
        '_foreach_trunc(Tensor[] self) -> Tensor[]\n'
        '_foreach_trunc.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_foreach_trunc_':
        '_foreach_trunc_(Tensor(a!)[] self) -> ()',
    '_foreach_addcdiv_':
        '_foreach_addcdiv_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> ()\n'
        '_foreach_addcdiv_.ScalarList(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> ()',
    '_foreach_addcmul_':
        '_foreach_addcmul_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> ()\n'
        '_foreach_addcmul_.ScalarList(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> ()',
    '_foreach_addcdiv':
        '_foreach_addcdiv.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> Tensor[]\n'
        '_foreach_addcdiv.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> Tensor[]\n'
        '_foreach_addcdiv.Scalar_out(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1, *, Tensor(a!)[] out) -> ()\n'
        '_foreach_addcdiv.ScalarList_out(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars, *, Tensor(a!)[] out) -> ()',
    '_foreach_addcmul':
        '_foreach_addcmul.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> Tensor[]\n'
        '_foreach_addcmul.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> Tensor[]\n'
        '_foreach_addcmul.Scalar_out(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1, *, Tensor(a!)[] out) -> ()\n'
        '_foreach_addcmul.ScalarList_out(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars, *, Tensor(a!)[] out) -> ()',
    '_foreach_maximum':
        '_foreach_maximum.List(Tensor[] self, Tensor[] other) -> Tensor[]\n'
        '_foreach_maximum.List_out(Tensor[] self, Tensor[] other, *, Tensor(a!)[] out) -> ()',
    '_foreach_maximum_':
        '_foreach_maximum_.List(Tensor(a!)[] self, Tensor[] other) -> ()',
    '_foreach_minimum':
        '_foreach_minimum.List(Tensor[] self, Tensor[] other) -> Tensor[]\n'
        '_foreach_minimum.List_out(Tensor[] self, Tensor[] other, *, Tensor(a!)[] out) -> ()',
    '_foreach_minimum_':
        '_foreach_minimum_.List(Tensor(a!)[] self, Tensor[] other) -> ()',
    '_foreach_norm':
        '_foreach_norm.Scalar(Tensor[] self, Scalar ord=2) -> Tensor[]\n'
        '_foreach_norm.Scalar_out(Tensor[] self, Scalar ord=2, *, Tensor(a!)[] out) -> ()',
    'rnn_tanh_cell':
        'rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor',
    'rnn_relu_cell':
        'rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor',
    'gru_cell':
        'gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor',
    'lstm_cell':
        'lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)',
    'lstm':
        'lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)\n'
        'lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)',
    '_sobol_engine_draw':
        '_sobol_engine_draw(Tensor quasi, int n, Tensor sobolstate, int dimension, int num_generated, ScalarType? dtype) -> (Tensor, Tensor)',
    '_sobol_engine_ff_':
        '_sobol_engine_ff_(Tensor(a!) self, int n, Tensor sobolstate, int dimension, int num_generated) -> Tensor(a!)',
    '_sobol_engine_scramble_':
        '_sobol_engine_scramble_(Tensor(a!) self, Tensor ltm, int dimension) -> Tensor(a!)',
    '_sobol_engine_initialize_state_':
        '_sobol_engine_initialize_state_(Tensor(a!) self, int dimension) -> Tensor(a!)',
    '_pack_padded_sequence':
        '_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)\n'
        '_pack_padded_sequence.out(Tensor input, Tensor lengths, bool batch_first, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    '_pack_padded_sequence_backward':
        '_pack_padded_sequence_backward(Tensor grad, int[] input_size, Tensor batch_sizes, bool batch_first) -> Tensor',
    '_pad_packed_sequence':
        '_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)',
    'gru':
        'gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)\n'
        'gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)',
    'rnn_tanh':
        'rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)\n'
        'rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)',
    'rnn_relu':
        'rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)\n'
        'rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)',
    '_masked_softmax':
        '_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor\n'
        '_masked_softmax.out(Tensor self, Tensor mask, int? dim=None, int? mask_type=None, *, Tensor(a!) out) -> Tensor(a!)',
    '_masked_softmax_backward':
        '_masked_softmax_backward(Tensor grad_output, Tensor output, Tensor mask, int? dim=None) -> Tensor\n'
        '_masked_softmax_backward.out(Tensor grad_output, Tensor output, Tensor mask, int? dim=None, *, Tensor(a!) out) -> Tensor(a!)',
    '_scaled_dot_product_attention':
        '_scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool need_attn_weights=False, bool is_causal=False) -> (Tensor, Tensor)',
    '_scaled_dot_product_attention_forward':
        '_scaled_dot_product_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool need_attn_weights=False, bool is_causal=False) -> (Tensor, Tensor)',
    '_scaled_dot_product_attention_math':
        '_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool need_attn_weights=False, bool is_causal=False) -> (Tensor, Tensor)',
    '_transform_bias_rescale_qkv':
        '_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)\n'
        '_transform_bias_rescale_qkv.out(Tensor qkv, Tensor qkv_bias, int num_heads, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))',
    '_native_multi_head_attention':
        '_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)\n'
        '_native_multi_head_attention.out(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    '_transformer_encoder_layer_fwd':
        '_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor\n'
        '_transformer_encoder_layer_fwd.out(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None, *, Tensor(a!) out) -> Tensor(a!)',
    'can_cast':
        'can_cast(ScalarType from, ScalarType to) -> bool',
    'promote_types':
        'promote_types(ScalarType type1, ScalarType type2) -> ScalarType',
    'result_type':
        'result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType\n'
        'result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType\n'
        'result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType\n'
        'result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType',
    '_test_serialization_subcmul':
        '_test_serialization_subcmul(Tensor self, Tensor other, Scalar alpha=1) -> Tensor',
    '_version':
        '_version(Tensor self) -> int',
    'requires_grad_':
        'requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)',
    'is_leaf':
        'is_leaf(Tensor self) -> bool',
    'retain_grad':
        'retain_grad(Tensor(a!) self) -> ()',
    'retains_grad':
        'retains_grad(Tensor self) -> bool',
    'output_nr':
        'output_nr(Tensor self) -> int',
    '_backward':
        '_backward(Tensor self, Tensor[] inputs, Tensor? gradient=None, bool? retain_graph=None, bool create_graph=False) -> ()',
    'set_data':
        'set_data(Tensor(a!) self, Tensor new_data) -> ()',
    '_fw_primal':
        '_fw_primal(Tensor(a) self, int level) -> Tensor(a)',
    '_make_dual':
        '_make_dual(Tensor(a) primal, Tensor tangent, int level) -> Tensor(a)',
    '_unpack_dual':
        '_unpack_dual(Tensor(a) dual, int level) -> (Tensor(a) primal, Tensor tangent)',
    'tensor':
        'tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor\n'
        'tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor\n'
        'tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor\n'
        'tensor.complex(complex t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor',
    'data':
        'data(Tensor self) -> Tensor',
    'is_pinned':
        'is_pinned(Tensor self, Device? device=None) -> bool',
    'is_inference':
        'is_inference(Tensor self) -> bool',
    'is_distributed':
        'is_distributed(Tensor self) -> bool',
    '_is_zerotensor':
        '_is_zerotensor(Tensor self) -> bool',
    '_has_compatible_shallow_copy_type':
        '_has_compatible_shallow_copy_type(Tensor self, Tensor from) -> bool',
    '_debug_has_internal_overlap':
        '_debug_has_internal_overlap(Tensor self) -> int',
    'is_set_to':
        'is_set_to(Tensor self, Tensor tensor) -> bool',
    '_has_same_storage_numel':
        '_has_same_storage_numel(Tensor self, Tensor other) -> bool',
    '_assert_tensor_metadata':
        '_assert_tensor_metadata(Tensor a, int[]? size=None, int[]? stride=None, ScalarType? dtype=None) -> ()',
    '_assert_async':
        '_assert_async(Tensor self) -> ()',
    'to_dense':
        'to_dense(Tensor self, ScalarType? dtype=None) -> Tensor',
    '_autocast_to_full_precision':
        '_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> Tensor(a)',
    '_autocast_to_reduced_precision':
        '_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, ScalarType cuda_dtype, ScalarType cpu_dtype) -> Tensor(a)',
    '_dim_arange':
        '_dim_arange(Tensor like, int dim) -> Tensor',
    '_reshape_from_tensor':
        '_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor',
    '_new_zeros_with_same_feature_meta':
        '_new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0) -> Tensor\n'
        '_new_zeros_with_same_feature_meta.out(Tensor self, Tensor other, *, int self_num_batch_dims=0, Tensor(a!) out) -> Tensor(a!)',
    '_to_cpu':
        '_to_cpu(Tensor[] tensors) -> Tensor[]',
    'is_same_size':
        'is_same_size(Tensor self, Tensor other) -> bool',
    'is_floating_point':
        'is_floating_point(Tensor self) -> bool',
    'is_complex':
        'is_complex(Tensor self) -> bool',
    'is_signed':
        'is_signed(Tensor self) -> bool',
    'is_conj':
        'is_conj(Tensor self) -> bool',
    'is_neg':
        'is_neg(Tensor self) -> bool',
    'is_nonzero':
        'is_nonzero(Tensor self) -> bool',
    'size':
        'size.int(Tensor self, int dim) -> int',
    'stride':
        'stride.int(Tensor self, int dim) -> int',
    '_shape_as_tensor':
        '_shape_as_tensor(Tensor self) -> Tensor',
    'lift':
        'lift(Tensor self) -> Tensor\n'
        'lift.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'lift_fresh':
        'lift_fresh(Tensor(a) self) -> Tensor(a)',
    'lift_fresh_copy':
        'lift_fresh_copy(Tensor self) -> Tensor\n'
        'lift_fresh_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    '_cast_Byte':
        '_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor',
    '_cast_Char':
        '_cast_Char(Tensor self, bool non_blocking=False) -> Tensor',
    '_cast_Double':
        '_cast_Double(Tensor self, bool non_blocking=False) -> Tensor',
    '_cast_Float':
        '_cast_Float(Tensor self, bool non_blocking=False) -> Tensor',
    '_cast_Half':
        '_cast_Half(Tensor self, bool non_blocking=False) -> Tensor',
    '_cast_Int':
        '_cast_Int(Tensor self, bool non_blocking=False) -> Tensor',
    '_cast_Long':
        '_cast_Long(Tensor self, bool non_blocking=False) -> Tensor',
    '_cast_Short':
        '_cast_Short(Tensor self, bool non_blocking=False) -> Tensor',
    'pad_sequence':
        'pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.) -> Tensor',
    'fake_quantize_per_tensor_affine':
        'fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor\n'
        'fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor',
    'fake_quantize_per_tensor_affine_cachemask':
        'fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> (Tensor output, Tensor mask)\n'
        'fake_quantize_per_tensor_affine_cachemask.out(Tensor self, float scale, int zero_point, int quant_min, int quant_max, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    '_fake_quantize_per_tensor_affine_cachemask_tensor_qparams':
        '_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)\n'
        '_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.out(Tensor self, Tensor scale, Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    'fake_quantize_per_tensor_affine_cachemask_backward':
        'fake_quantize_per_tensor_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor',
    '_fake_quantize_learnable_per_tensor_affine':
        '_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max, float grad_factor=1.) -> Tensor\n'
        '_fake_quantize_learnable_per_tensor_affine.out(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max, float grad_factor=1., *, Tensor(a!) out) -> Tensor(a!)',
    '_fake_quantize_learnable_per_tensor_affine_backward':
        '_fake_quantize_learnable_per_tensor_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor)',
    'fake_quantize_per_channel_affine':
        'fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor',
    'fake_quantize_per_channel_affine_cachemask':
        'fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)\n'
        'fake_quantize_per_channel_affine_cachemask.out(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))',
    'fake_quantize_per_channel_affine_cachemask_backward':
        'fake_quantize_per_channel_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor',
    '_fake_quantize_learnable_per_channel_affine':
        '_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.) -> Tensor\n'
        '_fake_quantize_learnable_per_channel_affine.out(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max, float grad_factor=1., *, Tensor(a!) out) -> Tensor(a!)',
    '_fake_quantize_learnable_per_channel_affine_backward':
        '_fake_quantize_learnable_per_channel_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor)',
    'dequantize':
        'dequantize.self(Tensor self) -> Tensor\n'
        'dequantize.self_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'cudnn_is_acceptable':
        'cudnn_is_acceptable(Tensor self) -> bool',
    'is_vulkan_available':
        'is_vulkan_available() -> bool',
    '_use_cudnn_rnn_flatten_weight':
        '_use_cudnn_rnn_flatten_weight() -> bool',
    '_choose_qparams_per_tensor':
        '_choose_qparams_per_tensor(Tensor self, bool reduce_range=False) -> (float, int)',
    '_fused_moving_avg_obs_fq_helper':
        '_fused_moving_avg_obs_fq_helper(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask)\n'
        '_fused_moving_avg_obs_fq_helper.out(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False, *, Tensor(e!) out0, Tensor(f!) out1) -> (Tensor(e!), Tensor(f!))',
    'fused_moving_avg_obs_fake_quant':
        'fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor',
    '_convert_indices_from_coo_to_csr':
        '_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor\n'
        '_convert_indices_from_coo_to_csr.out(Tensor self, int size, *, bool out_int32=False, Tensor(a!) out) -> Tensor(a!)',
    '_convert_indices_from_csr_to_coo':
        '_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, bool transpose=False) -> Tensor\n'
        '_convert_indices_from_csr_to_coo.out(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, bool transpose=False, Tensor(a!) out) -> Tensor(a!)',
    '_amp_foreach_non_finite_check_and_unscale_':
        '_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()',
    '_amp_update_scale_':
        '_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, float scale_growth_factor, float scale_backoff_factor, int growth_interval) -> Tensor(a!)',
    '_fused_adam_':
        '_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()',
    'zero':
        'zero(Tensor self) -> Tensor\n'
        'zero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)',
    'embedding_renorm':
        'embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor\n'
        'embedding_renorm.out(Tensor self, Tensor indices, float max_norm, float norm_type, *, Tensor(a!) out) -> Tensor(a!)',
    'cauchy':
        'cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor\n'
        'cauchy.out(Tensor self, float median=0., float sigma=1., *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)',
    'exponential':
        'exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor\n'
        'exponential.out(Tensor self, float lambd=1., *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)',
    'geometric':
        'geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor\n'
        'geometric.out(Tensor self, float p, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)',
    'log_normal':
        'log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor\n'
        'log_normal.out(Tensor self, float mean=1., float std=2., *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)',
    'random':
        'random(Tensor self, *, Generator? generator=None) -> Tensor\n'
        'random.out(Tensor self, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)\n'
        'random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor\n'
        'random.from_out(Tensor self, int from, int? to, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)\n'
        'random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor\n'
        'random.to_out(Tensor self, int to, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)',
    'uniform':
        'uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor\n'
        'uniform.out(Tensor self, float from=0., float to=1., *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)',
    'resize':
        'resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor\n'
        'resize.out(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'resize_as':
        'resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor\n'
        'resize_as.out(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)',
    'set':
        'set(Tensor self) -> Tensor\n'
        'set.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n'
        'set.source_Tensor(Tensor self, Tensor source) -> Tensor\n'
        'set.source_Tensor_out(Tensor self, Tensor source, *, Tensor(a!) out) -> Tensor(a!)',
    '_index_put_impl':
        '_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor\n'
        '_index_put_impl.out(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False, *, Tensor(a!) out) -> Tensor(a!)',
    '_foreach_zero':
        '_foreach_zero(Tensor[] self) -> Tensor[] self_out\n'
        '_foreach_zero.out(Tensor[] self, *, Tensor(a!)[] out) -> ()',
    '_fused_moving_avg_obs_fq_helper_functional':
        '_fused_moving_avg_obs_fq_helper_functional(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask, Tensor running_min_out, Tensor running_max_out, Tensor scale_out, Tensor zero_point_out)',
    '_amp_foreach_non_finite_check_and_unscale':
        '_amp_foreach_non_finite_check_and_unscale(Tensor[] self, Tensor found_inf, Tensor inv_scale) -> (Tensor[] self_out, Tensor found_inf_out)\n'
        '_amp_foreach_non_finite_check_and_unscale.out(Tensor[] self, Tensor(b!) found_inf, Tensor inv_scale, *, Tensor(a!)[] out) -> ()',
    '_amp_update_scale':
        '_amp_update_scale(Tensor self, Tensor growth_tracker, Tensor found_inf, float scale_growth_factor, float scale_backoff_factor, int growth_interval) -> (Tensor, Tensor growth_tracker_out)\n'
        '_amp_update_scale.out(Tensor self, Tensor(b!) growth_tracker, Tensor found_inf, float scale_growth_factor, float scale_backoff_factor, int growth_interval, *, Tensor(a!) out) -> Tensor(a!)',
    '_fused_adam':
        '_fused_adam(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] grads_out, Tensor[] exp_avgs_out, Tensor[] exp_avg_sqs_out, Tensor[] max_exp_avg_sqs_out)\n'
        '_fused_adam.out(Tensor[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None, Tensor(a!)[] out) -> ()',
}
FUNCTIONS: frozenset[str] = frozenset('abs abs_ absolute acos acos_ acosh acosh_ adaptive_avg_pool1d adaptive_max_pool1d add addbmm addcdiv addcmul addmm addmv addmv_ addr adjoint affine_grid_generator alias_copy all allclose alpha_dropout alpha_dropout_ amax amin aminmax angle any arange arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan_ arctanh arctanh_ argmax argmin argsort argwhere as_strided as_strided_ as_strided_copy as_strided_scatter asin asin_ asinh asinh_ atan atan2 atan_ atanh atanh_ atleast_1d atleast_2d atleast_3d avg_pool1d baddbmm bartlett_window batch_norm batch_norm_update_stats bernoulli bilinear binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman_window block_diag bmm broadcast_tensors broadcast_to bucketize can_cast cartesian_prod cat cdist ceil ceil_ celu celu_ chain_matmul channel_shuffle cholesky cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ clone column_stack combinations complex concat concatenate conj conj_physical conj_physical_ constant_pad_nd conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution copysign corrcoef cos cos_ cosh cosh_ cosine_embedding_loss cosine_similarity count_nonzero cov cross ctc_loss cudnn_is_acceptable cummax cummin cumprod cumsum cumulative_trapezoid deg2rad deg2rad_ dequantize det detach detach_ detach_copy diag diag_embed diagflat diagonal diagonal_copy diagonal_scatter diff digamma dist div divide dot dropout dropout_ dsplit dstack einsum embedding embedding_bag embedding_renorm_ empty empty_like empty_strided eq equal erf erf_ erfc erfc_ erfinv exp exp2 exp2_ exp_ expand_copy expm1 expm1_ eye fake_quantize_per_channel_affine fake_quantize_per_tensor_affine feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ fill fill_ fix fix_ flatten flip fliplr flipud float_power floor floor_ floor_divide fmax fmin fmod frac frac_ frexp frobenius_norm full full_like fused_moving_avg_obs_fake_quant gather gcd gcd_ ge geqrf ger gradient greater greater_equal grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru gru_cell gt hamming_window hann_window hardshrink heaviside hinge_embedding_loss histc histogram histogramdd hsplit hstack hypot i0 i0_ igamma igammac imag index_add index_copy index_fill index_put index_put_ index_reduce index_select inner instance_norm inverse is_complex is_conj is_distributed is_floating_point is_inference is_neg is_nonzero is_same_size is_signed is_vulkan_available isclose isfinite isin isinf isnan isneginf isposinf isreal istft kaiser_window kl_div kron kthvalue layer_norm lcm lcm_ ldexp ldexp_ le lerp less less_equal lgamma linspace log log10 log10_ log1p log1p_ log2 log2_ log_ log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logit_ logspace logsumexp lstm lstm_cell lt lu_solve lu_unpack margin_ranking_loss masked_fill masked_scatter masked_select matmul matrix_exp matrix_power max max_pool1d max_pool1d_with_indices max_pool2d max_pool3d maximum mean median meshgrid min minimum mm mode moveaxis movedim msort mul multinomial multiply mv mvlgamma nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy native_batch_norm native_channel_shuffle native_dropout native_group_norm native_layer_norm ne neg neg_ negative negative_ nextafter nonzero norm norm_except_dim normal not_equal nuclear_norm ones ones_like orgqr ormqr outer pairwise_distance pdist permute permute_copy pinverse pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar polygamma positive pow prelu prod promote_types put qr quantile rad2deg rad2deg_ rand rand_like randint randint_like randn randn_like randperm range ravel real reciprocal reciprocal_ relu relu_ remainder renorm repeat_interleave reshape resize_as_ resolve_conj resolve_neg result_type rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell roll rot90 round round_ row_stack rrelu rrelu_ rsqrt rsqrt_ rsub scalar_tensor scatter scatter_add scatter_reduce searchsorted segment_reduce select select_copy select_scatter selu selu_ sgn sigmoid sigmoid_ sign signbit sin sin_ sinc sinc_ sinh sinh_ slice_copy slice_scatter slogdet softmax sort split split_copy split_with_sizes split_with_sizes_copy sqrt sqrt_ square square_ squeeze squeeze_copy stack std std_mean stft sub subtract sum svd swapaxes swapdims symeig t t_copy take take_along_dim tan tan_ tanh tanh_ tensor tensor_split tensordot threshold threshold_ tile topk trace transpose transpose_copy trapezoid trapz triangular_solve tril tril_indices triplet_margin_loss triu triu_indices true_divide trunc trunc_ unbind unbind_copy unflatten unfold_copy unique_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_copy vander var var_mean vdot view_as_complex view_as_complex_copy view_as_real view_as_real_copy view_copy vsplit vstack where xlogy xlogy_ zero_ zeros zeros_like'.split())
METHODS: frozenset[str] = frozenset('abs abs_ absolute absolute_ acos acos_ acosh acosh_ add add_ addbmm addbmm_ addcdiv addcdiv_ addcmul addcmul_ addmm addmm_ addmv addmv_ addr addr_ adjoint all allclose amax amin aminmax angle any arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ argmax argmin argsort argwhere as_strided as_strided_ as_strided_scatter asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ baddbmm baddbmm_ bernoulli bernoulli_ bincount bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ bmm broadcast_to cauchy_ ceil ceil_ cholesky cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ clone conj conj_physical conj_physical_ contiguous copy_ copysign copysign_ corrcoef cos cos_ cosh cosh_ count_nonzero cov cross cummax cummin cumprod cumprod_ cumsum cumsum_ data deg2rad deg2rad_ dequantize det detach detach_ diag diag_embed diagflat diagonal diagonal_scatter diff digamma digamma_ dist div div_ divide divide_ dot dsplit eq eq_ equal erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expand expand_as expm1 expm1_ exponential_ fill_ fill_diagonal_ fix fix_ flatten flip fliplr flipud float_power float_power_ floor floor_ floor_divide floor_divide_ fmax fmin fmod fmod_ frac frac_ frexp gather gcd gcd_ ge ge_ geometric_ geqrf ger greater greater_ greater_equal greater_equal_ gt gt_ hardshrink heaviside heaviside_ histc histogram hsplit hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ imag index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_ index_reduce index_reduce_ index_select inner inverse is_complex is_conj is_distributed is_floating_point is_inference is_leaf is_neg is_nonzero is_pinned is_same_size is_set_to is_signed isclose isfinite isinf isnan isneginf isposinf isreal istft item kron kthvalue lcm lcm_ ldexp ldexp_ le le_ lerp lerp_ less less_ less_equal less_equal_ lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ log_ log_normal_ log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor logical_xor_ logit logit_ logsumexp lt lt_ lu_solve mH mT masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select matmul matrix_exp matrix_power max maximum mean median min minimum mm mode moveaxis movedim msort mul mul_ multinomial multiply multiply_ mv mvlgamma mvlgamma_ nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy ne ne_ neg neg_ negative negative_ new_empty new_empty_strided new_full new_ones new_zeros nextafter nextafter_ nonzero norm normal_ not_equal not_equal_ orgqr ormqr outer output_nr permute pinverse polygamma polygamma_ positive pow pow_ prelu prod put put_ qr quantile rad2deg rad2deg_ random_ ravel real reciprocal reciprocal_ relu relu_ remainder remainder_ renorm renorm_ repeat repeat_interleave requires_grad_ reshape reshape_as resize resize_ resize_as resize_as_ resolve_conj resolve_neg retain_grad retains_grad roll rot90 round round_ rsqrt rsqrt_ scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_ select select_scatter set_ sgn sgn_ sigmoid sigmoid_ sign sign_ signbit sin sin_ sinc sinc_ sinh sinh_ size slice_scatter slogdet softmax sort split split_with_sizes sqrt sqrt_ square square_ squeeze squeeze_ std stft stride sub sub_ subtract subtract_ sum sum_to_size svd swapaxes swapaxes_ swapdims swapdims_ symeig t t_ take take_along_dim tan tan_ tanh tanh_ tensor_split tile to to_dense topk trace transpose transpose_ triangular_solve tril tril_ triu triu_ true_divide true_divide_ trunc trunc_ type_as unbind unflatten unfold uniform_ unique_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_ var vdot view view_as vsplit where xlogy xlogy_ zero_'.split())
LINALG: frozenset[str] = frozenset('cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh householder_product inv inv_ex ldl_factor ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex lu_solve matmul matrix_exp matrix_norm matrix_power matrix_rank multi_dot norm pinv qr slogdet solve solve_ex solve_triangular svd svdvals tensorinv tensorsolve vander vecdot vector_norm'.split())
FFT: frozenset[str] = frozenset('fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn'.split())
SPECIAL: frozenset[str] = frozenset('airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc gammaincc gammaln hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e laguerre_polynomial_l legendre_polynomial_p log1p log_ndtr log_softmax logit logsumexp modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri polygamma psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 xlog1py xlogy zeta'.split())
