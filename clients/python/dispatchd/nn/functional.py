"""functional.py -- dispatchd.nn.functional: functions of neural networks under the names and arguments of PyTorch 1.13.1.

Most are operators with other arguments; those whose arguments are the operator's are made from its schema."""

from __future__ import annotations

import math
import warnings
from typing import Any, Callable

from .. import api
from ..api import call_named as _op
from ..tensors import Tensor

# operators whose arguments are those of PyTorch's functions
_SAME = frozenset("""adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear
    celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity elu_
    gelu hardshrink hardtanh_ leaky_relu_ linear logsigmoid log_sigmoid native_channel_shuffle one_hot pairwise_distance pdist
    pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ selu_ sigmoid softplus softshrink tanh threshold_""".split())

_BAGS = {"sum": 0, "mean": 1, "max": 2}  # the operator's numbers of the modes of embedding_bag


def __getattr__(name: str) -> Any:
    base = "log_sigmoid" if name == "logsigmoid" else name
    made = api.function(base, name) if name in _SAME else None
    if made is None:
        raise AttributeError(f"module 'dispatchd.nn.functional' has no attribute '{name}'")
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*(n for n in globals() if not n.startswith("_")), *_SAME})


def _tuple(value: Any, n: int) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value] * n


# -- activations -----------------------------------------------------------------------------------

def _activation(name: str, doc: str) -> Callable[..., Tensor]:
    def f(input: Tensor, inplace: bool = False) -> Tensor:
        return _op(name + "_" if inplace else name, input)  # type: ignore[no-any-return]
    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    return f


relu = _activation("relu", "Return max(input, 0).")
relu6 = _activation("relu6", "Return min(max(input, 0), 6).")
selu = _activation("selu", "Return the scaled exponential linear unit.")
silu = _activation("silu", "Return input * sigmoid(input).")
mish = _activation("mish", "Return input * tanh(softplus(input)).")
hardsigmoid = _activation("hardsigmoid", "Return relu6(input + 3) / 6.")
hardswish = _activation("hardswish", "Return input * relu6(input + 3) / 6.")


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return input where it is positive, else alpha * (exp(input) - 1)."""
    return _op("elu_" if inplace else "elu", input, alpha)  # type: ignore[no-any-return]


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""
    return _op("celu_" if inplace else "celu", input, alpha)  # type: ignore[no-any-return]


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return input where it is positive, else negative_slope * input."""
    return _op("leaky_relu_" if inplace else "leaky_relu", input, negative_slope)  # type: ignore[no-any-return]


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Return input bounded by min_val and max_val."""
    return _op("hardtanh_" if inplace else "hardtanh", input, min_val, max_val)  # type: ignore[no-any-return]


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return input where it is above threshold, else value."""
    return _op("threshold_" if inplace else "threshold", input, threshold, value)  # type: ignore[no-any-return]


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """Return a leaky relu with a random slope from lower to upper."""
    return _op("rrelu_" if inplace else "rrelu", input, lower, upper, training)  # type: ignore[no-any-return]


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return a * sigmoid(b) for the halves a and b of input along dim."""
    return _op("glu", input, dim)  # type: ignore[no-any-return]


def softsign(input: Tensor) -> Tensor:
    """Return input / (1 + |input|)."""
    return input / (input.abs() + 1)  # type: ignore[no-any-return]


def tanhshrink(input: Tensor) -> Tensor:
    """Return input - tanh(input)."""
    return input - input.tanh()  # type: ignore[no-any-return]


def _softmax_dim(name: str, dim: int | None, ndim: int) -> int:
    if dim is None:
        return 0 if ndim in (0, 1, 3) else 1
    return dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return exp(input) / sum(exp(input)) along dim."""
    d = _softmax_dim("softmax", dim, input.ndim if dim is None else 0)
    return _op("softmax", input, d) if dtype is None else _op("softmax", input, d, dtype=dtype)  # type: ignore[no-any-return]


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return log(softmax(input)) along dim."""
    d = _softmax_dim("log_softmax", dim, input.ndim if dim is None else 0)
    return _op("log_softmax", input, d) if dtype is None else _op("log_softmax", input, d, dtype=dtype)  # type: ignore[no-any-return]


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return softmax(-input) along dim."""
    return softmax(-input, dim, dtype=dtype)


# -- dropout ---------------------------------------------------------------------------------------

def _dropout(name: str) -> Callable[..., Tensor]:
    def f(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        return _op(name + "_" if inplace else name, input, p, training)  # type: ignore[no-any-return]
    f.__name__ = f.__qualname__ = name
    return f


dropout = _dropout("dropout")
feature_alpha_dropout = _dropout("feature_alpha_dropout")
dropout2d = dropout3d = _dropout("feature_dropout")


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Drop elements and keep mean and variance, as selu networks need it."""
    return _op("alpha_dropout_" if inplace else "alpha_dropout", input, p, training)  # type: ignore[no-any-return]


# -- normalization ---------------------------------------------------------------------------------

def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Normalize each channel by the mean and variance of the batch (training) or by the running ones."""
    return _op("batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps, False)  # type: ignore[no-any-return]


def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Normalize each channel of each sample."""
    return _op("instance_norm", input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)  # type: ignore[no-any-return]


def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """Normalize the last dimensions, of shape normalized_shape."""
    return _op("layer_norm", input, list(normalized_shape), weight, bias, eps)  # type: ignore[no-any-return]


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """Normalize groups of channels."""
    return _op("group_norm", input, num_groups, weight, bias, eps)  # type: ignore[no-any-return]


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Normalize each element by the sum of squares of neighbouring channels."""
    if input.numel() == 0:
        return input
    square = (input * input).unsqueeze(1)
    if input.ndim == 3:
        means = _op("avg_pool2d", pad(square, (0, 0, size // 2, (size - 1) // 2)), [size, 1], 1).squeeze(1)
    else:
        shape = list(input.shape)
        flat = square.view(shape[0], 1, shape[1], shape[2], -1)
        means = _op("avg_pool3d", pad(flat, (0, 0, 0, 0, size // 2, (size - 1) // 2)), [size, 1, 1], 1).squeeze(1).view(shape)
    return input / (means * alpha + k).pow(beta)  # type: ignore[no-any-return]


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divide by the p-norm along dim, at least eps."""
    denominator = _op("norm", input, p, dim, True).clamp_min(eps).expand_as(input)
    return _op("div", input, denominator) if out is None else _op("div", input, denominator, out=out)  # type: ignore[no-any-return]


# -- pooling ---------------------------------------------------------------------------------------

def _max_pool(n: int) -> Callable[..., Any]:
    name = f"max_pool{n}d"

    def f(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
          return_indices: bool = False) -> Any:
        stride = [] if stride is None else _tuple(stride, n)
        return _op(name + "_with_indices" if return_indices else name, input, _tuple(kernel_size, n), stride, _tuple(padding, n),
                   _tuple(dilation, n), ceil_mode)
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"Return the maximum of each window, in {n} dimensions; return_indices: and where it was."
    return f


def _adaptive_max_pool(n: int) -> Callable[..., Any]:
    name = f"adaptive_max_pool{n}d"

    def f(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        given = _tuple(output_size, n)
        sizes = [input.shape[i - n] if s is None else s for i, s in enumerate(given)]
        values, indices = _op(name, input, sizes)
        return (values, indices) if return_indices else values
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"Return maxima over windows that give {n} dimensions of size output_size."
    return f


def _adaptive_avg_pool(n: int) -> Callable[..., Tensor]:
    def f(input: Tensor, output_size: Any) -> Tensor:
        given = _tuple(output_size, n)
        return _op(f"adaptive_avg_pool{n}d", input, [input.shape[i - n] if s is None else s for i, s in enumerate(given)])  # type: ignore[no-any-return]
    f.__name__ = f.__qualname__ = f"adaptive_avg_pool{n}d"
    f.__doc__ = f"Return means over windows that give {n} dimensions of size output_size; None keeps a size."
    return f


adaptive_avg_pool2d, adaptive_avg_pool3d = _adaptive_avg_pool(2), _adaptive_avg_pool(3)


def _max_unpool(n: int) -> Callable[..., Tensor]:
    def f(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
        kernel = _tuple(kernel_size, n)
        step = kernel if stride is None else _tuple(stride, n)
        padded = _tuple(padding, n)
        if output_size is None:
            sizes = [(input.shape[i - n] - 1) * step[i] + kernel[i] - 2 * padded[i] for i in range(n)]
        else:
            sizes = list(output_size)[-n:]
        if n == 1:
            return _op("max_unpool2d", input.unsqueeze(-1), indices.unsqueeze(-1), [*sizes, 1]).squeeze(-1)  # type: ignore[no-any-return]
        return _op("max_unpool2d", input, indices, sizes) if n == 2 else _op("max_unpool3d", input, indices, sizes, step, padded)  # type: ignore[no-any-return]
    f.__name__ = f.__qualname__ = f"max_unpool{n}d"
    return f


max_pool1d, max_pool2d, max_pool3d = _max_pool(1), _max_pool(2), _max_pool(3)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = _adaptive_max_pool(1), _adaptive_max_pool(2), _adaptive_max_pool(3)
max_unpool1d, max_unpool2d, max_unpool3d = _max_unpool(1), _max_unpool(2), _max_unpool(3)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Return the p-norm of each window."""
    kernel = _tuple(kernel_size, 2)
    means = _op("avg_pool2d", input.pow(norm_type), kernel, [] if stride is None else _tuple(stride, 2), [0, 0], ceil_mode)
    return (means.sign() * relu(means.abs())).mul(kernel[0] * kernel[1]).pow(1.0 / norm_type)  # type: ignore[no-any-return]


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Return the p-norm of each window."""
    means = _op("avg_pool1d", input.pow(norm_type), [kernel_size], [] if stride is None else _tuple(stride, 1), [0], ceil_mode)
    return (means.sign() * relu(means.abs())).mul(kernel_size).pow(1.0 / norm_type)  # type: ignore[no-any-return]


# -- embedding, vision -----------------------------------------------------------------------------

def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """Return the rows of weight that input names."""
    rows = weight.shape[0] if padding_idx is not None else 0
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ValueError("Padding_idx must be within num_embeddings")
    at = -1 if padding_idx is None else padding_idx % rows
    if max_norm is not None:
        _op("embedding_renorm_", weight.detach(), input.contiguous(), max_norm, norm_type)
    return _op("embedding", weight, input, at, scale_grad_by_freq, sparse)  # type: ignore[no-any-return]


def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Tensor | None = None,
                  include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:
    """Return the sum, mean or maximum of the rows of weight that each bag names: a row of input, or a part of it that begins
    at one of the offsets."""
    if weight.dtype == "int64" and input.is_floating_point():
        warnings.warn("embedding_bag() takes input, then weight; the other order is deprecated", stacklevel=2)
        weight, input = input, weight
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, then it must have "
                         f"the same shape as the input ({list(input.shape)})")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                             f"sequences. However, found offsets of type {type(offsets)}")
        offsets = _op("arange", 0, input.numel(), input.shape[1], dtype=input.dtype, device=input.device)
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    elif offsets is None or offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor" + (" but got None" if offsets is None else ""))
    if mode not in _BAGS:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        _op("embedding_renorm_", weight.detach(), input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
                                  f"mode='sum' (got mode='{mode}')")
    return _op("embedding_bag", weight, input, offsets, scale_grad_by_freq, _BAGS[mode], sparse, per_sample_weights,  # type: ignore[no-any-return]
               include_last_offset, padding_idx)[0]


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Add elements at the ends of the last dimensions: pad has (before, after) of each, the last dimension first."""
    return _op("pad", input, list(pad), mode, value)  # type: ignore[no-any-return]


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Add up windows to images: the inverse of unfold but for overlaps."""
    return _op("col2im", input, *(_tuple(v, 2) for v in (output_size, kernel_size, dilation, padding, stride)))  # type: ignore[no-any-return]


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Return the windows of images as columns."""
    return _op("im2col", input, *(_tuple(v, 2) for v in (kernel_size, dilation, padding, stride)))  # type: ignore[no-any-return]


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """Return input at the positions in grid."""
    modes = {"bilinear": 0, "nearest": 1, "bicubic": 2}
    paddings = {"zeros": 0, "border": 1, "reflection": 2}
    if mode not in modes or padding_mode not in paddings:
        raise ValueError(f"grid_sample has the modes {', '.join(modes)} and the padding modes {', '.join(paddings)}, "
                         f"got {mode!r} and {padding_mode!r}")
    return _op("grid_sampler", input, grid, modes[mode], paddings[padding_mode], bool(align_corners))  # type: ignore[no-any-return]


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Return the grid of an affine map, for grid_sample."""
    return _op("affine_grid_generator", theta, list(size), bool(align_corners))  # type: ignore[no-any-return]


def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:
    """Return input with its last dimensions resized to size, or by scale_factor."""
    n = input.ndim - 2
    names = {("nearest", 1): "upsample_nearest1d", ("nearest", 2): "upsample_nearest2d", ("nearest", 3): "upsample_nearest3d",
             ("nearest-exact", 1): "_upsample_nearest_exact1d", ("nearest-exact", 2): "_upsample_nearest_exact2d",
             ("nearest-exact", 3): "_upsample_nearest_exact3d", ("linear", 1): "upsample_linear1d",
             ("bilinear", 2): "upsample_bilinear2d", ("trilinear", 3): "upsample_trilinear3d", ("bicubic", 2): "upsample_bicubic2d"}
    if antialias and (mode, n) in (("bilinear", 2), ("bicubic", 2)):
        names[mode, n] = f"_upsample_{mode}2d_aa"
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate takes either size or scale_factor")
    if size is not None:
        sizes, scales = _tuple(size, n), None
    else:
        scales = [float(s) for s in _tuple(scale_factor, n)]
        sizes = None
        if recompute_scale_factor:
            sizes = [math.floor(float(input.shape[i + 2]) * s) for i, s in enumerate(scales)]
            scales = None
    if mode == "area":
        sizes = sizes or [math.floor(float(input.shape[i + 2]) * s) for i, s in enumerate(scales or [])]
        return _op(f"adaptive_avg_pool{n}d", input, sizes)  # type: ignore[no-any-return]
    if (mode, n) not in names:
        raise NotImplementedError(f"interpolate has no mode {mode!r} for an input of {input.ndim} dimensions")
    if mode.startswith("nearest"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                             "trilinear")
        return _op(names[mode, n], input, sizes, scales)  # type: ignore[no-any-return]
    return _op(names[mode, n], input, sizes, bool(align_corners), scales)  # type: ignore[no-any-return]


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Tensor:
    """Return interpolate() of the same arguments."""
    return interpolate(input, size, scale_factor, mode, align_corners)


# -- attention -------------------------------------------------------------------------------------

def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw from the Gumbel-Softmax distribution; hard: one-hot, with the gradient of the soft sample."""
    gumbels = -_op("empty_like", logits).exponential_().log()
    soft = softmax((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = _op("zeros_like", logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft  # type: ignore[no-any-return]


from .losses import (binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss, cross_entropy,  # noqa: E402, F401
                     ctc_loss, gaussian_nll_loss, hinge_embedding_loss, huber_loss, kl_div, l1_loss, margin_ranking_loss,
                     mse_loss, multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss, nll_loss,
                     poisson_nll_loss, smooth_l1_loss, soft_margin_loss, triplet_margin_loss)
