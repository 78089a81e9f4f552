"""functions.py -- functions that PyTorch writes in Python (torch/functional.py), with its argument names."""

from __future__ import annotations

from typing import Any

from .api import call_named as _op
from .tensors import Size, Tensor


def is_tensor(obj: object) -> bool:
    """Is `obj` a tensor of this package?"""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Is the dtype a floating-point one?"""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Is the dtype a complex one?"""
    return input.is_complex()


def numel(input: Tensor) -> int:
    """Return the number of elements."""
    return input.numel()


def einsum(*args: Any) -> Tensor:
    """Sum products of elements by the indices of Einstein's notation: einsum("ij,jk", a, b)."""
    if len(args) > 1 and isinstance(args[0], Tensor):  # tensors and lists of indices in turn
        pairs = len(args) // 2
        names = {v: chr(ord("a") + n if n < 26 else ord("A") + n - 26) for n, v in enumerate(sorted(
            {i for a in args[1::2] for i in a if i is not Ellipsis}))}

        def term(indices: Any) -> str:
            return "".join("..." if i is Ellipsis else names[i] for i in indices)
        equation = ",".join(term(a) for a in args[1:2 * pairs:2])
        return einsum(equation + ("->" + term(args[-1]) if len(args) % 2 else ""), *args[:2 * pairs:2])
    if not args or not isinstance(args[0], str):
        raise TypeError("einsum() takes an equation such as \"ij,jk->ik\" and tensors")
    operands = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
    return _op("einsum", args[0], list(operands))  # type: ignore[no-any-return]


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Tensor | None = None, dtype: Any = None) -> Tensor:
    """Return the norm of a tensor, or along dim; torch.linalg.norm has more."""
    more: dict[str, Any] = {} if out is None else {"out": out}
    if dtype is not None:
        more["dtype"] = dtype
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if p == "nuc":
        return _op("nuclear_norm", input, dims, keepdim, **more) if dim is not None else _op("nuclear_norm", input, keepdim, **more)  # type: ignore[no-any-return]
    if p == "fro":
        return _op("norm", input, 2, dims, keepdim, **more)  # type: ignore[no-any-return]
    if isinstance(p, str):
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    return _op("norm", input, 2 if p is None else p, dims, keepdim, **more)  # type: ignore[no-any-return]


def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """Return the indices of the elements that are not zero: a row each, or as_tuple a tensor for each dimension."""
    if as_tuple:
        return _op("nonzero_numpy", input)
    return _op("nonzero", input, **({} if out is None else {"out": out}))


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into pieces of one size, or of the sizes in a list; they are views."""
    if isinstance(split_size_or_sections, int):
        return _op("split", tensor, split_size_or_sections, dim)  # type: ignore[no-any-return]
    return _op("split_with_sizes", tensor, list(split_size_or_sections), dim)  # type: ignore[no-any-return]


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Sum products over several dimensions: the last `dims` of a and the first of b, or two lists."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        dims = [list(range(a.ndim - dims, a.ndim)), list(range(dims))]
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    return _op("tensordot", a, b, first, second, **({} if out is None else {"out": out}))  # type: ignore[no-any-return]


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Return grids of coordinates."""
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return _op("meshgrid", list(listed), indexing=indexing)  # type: ignore[no-any-return]


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Return views of the tensors with one common shape."""
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return _op("broadcast_tensors", list(listed))  # type: ignore[no-any-return]


def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape that tensors of these shapes have together."""
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    result = [1] * max(map(len, given), default=0)
    for shape in given:
        for i in range(-1, -len(shape) - 1, -1):
            if shape[i] != 1 and result[i] not in (1, shape[i]):
                raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {shape} and {tuple(result)}")
            result[i] = shape[i] if shape[i] != 1 else result[i]
    return Size(result)


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:
    """Return the different elements, or slices along dim; and where each element is among them, and how often it is there."""
    values, inverse, counts = (_op("_unique2", input, sorted, return_inverse, return_counts) if dim is None else
                               _op("unique_dim", input, dim, sorted, return_inverse, return_counts))
    return _chosen(values, inverse if return_inverse else None, counts if return_counts else None)


def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """Return the elements without repetitions of the one before."""
    values, inverse, counts = _op("unique_consecutive", input, return_inverse, return_counts, dim)
    return _chosen(values, inverse if return_inverse else None, counts if return_counts else None)


def _chosen(values: Tensor, *others: Tensor | None) -> Any:
    wanted = [o for o in others if o is not None]
    return (values, *wanted) if wanted else values


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Return the distances between the rows of x1 and those of x2."""
    modes = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode: it is {', '.join(modes)}")
    return _op("cdist", x1, x2, p, modes[compute_mode])  # type: ignore[no-any-return]


def _at_least(name: str) -> Any:
    def f(*tensors: Any) -> Any:
        if len(tensors) == 1:
            given = tensors[0]
            return _op(name, list(given)) if isinstance(given, (list, tuple)) else _op(name, given)
        return _op(name, list(tensors))
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"Return tensors with at least {name[-2]} dimensions."
    return f


atleast_1d, atleast_2d, atleast_3d = _at_least("atleast_1d"), _at_least("atleast_2d"), _at_least("atleast_3d")


def block_diag(*tensors: Tensor) -> Tensor:
    """Return a matrix with the tensors on its diagonal."""
    return _op("block_diag", list(tensors))  # type: ignore[no-any-return]


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return all combinations of elements, one a row."""
    return _op("cartesian_prod", list(tensors))  # type: ignore[no-any-return]


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the product of matrices, in the cheapest order."""
    if len(matrices) == 1:
        return matrices[0]
    return _op("linalg_multi_dot", list(matrices), **({} if out is None else {"out": out}))  # type: ignore[no-any-return]


def stft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
         center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
         return_complex: bool | None = None) -> Tensor:
    """Return the short-time Fourier transform."""
    if center:
        from .nn.functional import pad
        shape = [1] * (3 - input.ndim) + list(input.shape)
        input = pad(input.view(shape), [n_fft // 2, n_fft // 2], pad_mode).view(shape[3 - input.ndim:-1] + [-1])
    return _op("stft", input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)  # type: ignore[no-any-return]
