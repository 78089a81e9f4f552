"""tensors.py -- the tensor: a handle of the daemon that behaves as PyTorch's tensors do."""

from __future__ import annotations

from operator import index
from typing import Any, Iterator

from . import api, dtypes
from .connection import Cell, Connection, Handle
from .encode import connection_of, encode
from .errors import Closed
from .layouts import Layout
from .operators import Operators, call_in_place


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple."""

    def numel(self) -> int:
        """Return the number of elements."""
        n = 1
        for size in self:
            n *= size
        return n

    def __repr__(self) -> str:
        return f"dispatchd.Size({list(self)})"


class _Methods(type):
    """Finds the methods that are operators on the class, too: dispatchd.Tensor.add(x, y)."""

    def __getattr__(cls, name: str) -> Any:
        found = None if name.startswith("_") else api.method(name)
        if found is None:
            raise AttributeError(f"type object 'Tensor' has no attribute '{name}'" + api.nearest(name))
        return found

    def __dir__(cls) -> list[str]:
        return sorted({*super().__dir__(), *api.method_names()})


def _dim(dim: int, ndim: int) -> int:
    """Return a dimension's number, which may be negative, if a tensor of `ndim` dimensions has it."""
    dim = index(dim)
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return dim


def _of(op: str, t: "Tensor") -> "Tensor":
    """Call an operator that makes one tensor of one tensor."""
    made: Tensor = api.call_named(op, t)
    return made


class Tensor(Operators, Layout, metaclass=_Methods):
    """A tensor that the daemon holds.  It behaves as torch.Tensor does: operators, indexing, methods.

    The methods are the operators of the daemon under PyTorch's names; dir() lists them, help() shows their
    schemas.  Its last reference releases the memory."""

    __slots__ = ()
    __array_priority__ = 1000.0  # NumPy leaves array + tensor to us

    def __init__(self, *args: object) -> None:
        raise TypeError("dispatchd.tensor(data) makes a tensor")

    # -- what is known of it ------------------------------------------------------------------------

    def _handle_on(self, c: Connection) -> str:
        """Return the JSON that names this tensor in a call on connection `c`."""
        own = self._c
        if own is not c:
            if own.session is not c.session:
                for session in own.session, c.session:
                    if session.closed:
                        raise session.error()
                raise RuntimeError("a tensor of another connection's session is used: a call takes tensors of one "
                                   "session; copy it with dispatchd.tensor(x.numpy())")
            if c.pipelined:
                c.holding(self)
            if own._recording is not None and self._h in own._recording._handles:
                raise RuntimeError("a function that becomes a program gives its argument to another thread: a program has the "
                                   "calls of one thread; return the tensor, and use it there")
        cell = self._cell
        if cell[0] is None and cell[3] is not c:
            cell[3].settle()
        return f'{{"tensor":{self._h}}}'

    @property
    def _info(self) -> dict[str, Any]:
        answer: dict[str, Any] = self._cell[0]
        return answer if answer.__class__ is dict else self._c.ready(self._cell)

    def _refresh(self) -> dict[str, Any]:
        """Ask the daemon what the tensor is like now: what other calls may have changed."""
        c = connection_of(self)
        self._info  # raises the error of a failed call
        answer: dict[str, Any] = c.waited("tensor.describe", f'"tensor":{self._h}')
        self._cell[0] = answer
        return answer

    @property
    def shape(self) -> Size:
        """Sizes of the dimensions."""
        return Size(self._info["shape"])

    def size(self, dim: int | None = None) -> Any:
        """Return the sizes of the dimensions, or that of dimension `dim`."""
        shape = self.shape
        return shape if dim is None else shape[_dim(dim, len(shape))]

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides in elements, or that of dimension `dim`."""
        strides = tuple(self._info["strides"])
        return strides if dim is None else strides[_dim(dim, len(strides))]

    def dim(self) -> int:
        """Return the number of dimensions."""
        return len(self._info["shape"])

    ndimension = dim

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._info["shape"])

    def numel(self) -> int:
        """Return the number of elements."""
        return self.shape.numel()

    nelement = numel

    @property
    def dtype(self) -> dtypes.dtype:
        """Type of the elements."""
        name = self._info["dtype"]
        return dtypes.ALL.get(name) or dtypes.dtype(name)

    @property
    def device(self) -> str:
        """Device that holds the elements: "cpu", "npu:0"."""
        return str(self._info["device"])

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    element_size = lambda self: self.dtype.itemsize  # noqa: E731

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel() * self.itemsize

    @property
    def requires_grad(self) -> bool:
        """Is a gradient computed for this tensor?"""
        return bool(self._refresh()["requires_grad"])

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @property
    def is_leaf(self) -> bool:
        """Did no recorded call compute this tensor?"""
        return bool(self._refresh().get("is_leaf", True))

    @property
    def grad_fn(self) -> str | None:
        """Name of the operator that computed this tensor, if its calls are recorded."""
        return self._refresh().get("grad_fn")

    @property
    def _version(self) -> int:
        return int(self._refresh()["version"])

    def is_floating_point(self) -> bool:
        """Is the dtype a floating-point one?"""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Is the dtype a complex one?"""
        return self.dtype.is_complex

    # -- values -------------------------------------------------------------------------------------

    def item(self) -> Any:
        """Return the only element as a Python number."""
        n = self.numel()
        if n != 1:
            raise ValueError("only one element tensors can be converted to Python scalars: this one has shape "
                             f"{list(self.shape)}")
        value = self.tolist()
        while isinstance(value, list):
            value = value[0]
        return value

    def tolist(self) -> Any:
        """Return the elements as nested lists, or as a number if there is no dimension."""
        from .arrays import to_list
        return to_list(self)

    def __len__(self) -> int:
        shape = self._info["shape"]
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return int(shape[0])

    def __iter__(self) -> "Iterator[Tensor]":
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> "Tensor":
        """Return the tensor with the order of dimension 0 reversed, a copy; without dimensions the tensor itself."""
        return self.flip(0) if self.ndim else self  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        n = self.numel()
        if n != 1:
            raise RuntimeError("Boolean value of Tensor with " + ("no values" if n == 0 else "more than one value") +
                               " is ambiguous")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        value = self.item()
        if isinstance(value, (float, complex)):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(value)

    def __contains__(self, value: object) -> bool:
        found = self == value
        if not isinstance(found, Tensor):
            raise TypeError(f"a tensor contains numbers: 'in' takes a number or a tensor, got {type(value).__name__}")
        return bool(found.any())

    def __repr__(self) -> str:
        from .printing import text
        return text(self)

    def __format__(self, spec: str) -> str:
        return self.item().__format__(spec) if self.ndim == 0 else object.__format__(self, spec)  # type: ignore

    def _repr_html_(self) -> str:
        from .printing import html
        return html(self)

    # -- indexing -----------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> "Tensor":
        from .indexing import get
        return get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        from .indexing import put
        put(self, index, value)

    # -- arrays -------------------------------------------------------------------------------------

    def numpy(self, *, force: bool = False, writable: bool = False) -> Any:
        """Return the elements as a NumPy array without a copy, read-only; later calls that write the tensor change it.

        force: also of a tensor that requires a gradient or is on another device, as x.detach().cpu().numpy().
        writable: a private array instead, whose pages are copied when they are written (copy on write)."""
        from .arrays import to_numpy
        return to_numpy(self.detach().cpu() if force else self, writable)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        from .arrays import to_numpy
        array = to_numpy(self, False)
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, stream: object = None) -> Any:
        from .dlpack import export
        return export(self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    # -- gradients ----------------------------------------------------------------------------------

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Record calls with this tensor, so that backward() computes its gradient."""
        call_in_place("aten::requires_grad_", self, encode(bool(requires_grad), self._c))
        return self

    def backward(self, gradient: "Tensor | None" = None, retain_graph: bool | None = None,
                 create_graph: bool = False, inputs: "list[Tensor] | None" = None) -> None:
        """Compute the gradients of this tensor for the leaves that require one; they are added to their .grad."""
        from .autograd import backward
        backward([self], None if gradient is None else [gradient], retain_graph, create_graph, inputs)

    @property
    def grad(self) -> "Tensor | None":
        """Gradient that backward() has accumulated, or None."""
        from .autograd import get_grad
        return get_grad(self)

    @grad.setter
    def grad(self, value: "Tensor | None") -> None:
        from .autograd import set_grad
        set_grad(self, value)

    def register_hook(self, op: str | None) -> None:
        """Let an operator, by its name, change the gradient of this tensor in each backward; None removes the hooks."""
        from .autograd import hook
        hook(self, op)

    # -- everything else is an operator -------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        method = api.method(name)  # sets it as an attribute of the class
        if method is None:
            raise AttributeError(f"'Tensor' object has no attribute '{name}'" + api.nearest(name))
        return method.__get__(self, Tensor)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *api.method_names()})

    def __reduce__(self) -> Any:
        from .arrays import rebuild, to_bytes
        return rebuild, (to_bytes(self), str(self.dtype), tuple(self.shape), self.requires_grad)

    def __copy__(self) -> "Tensor":
        return self.detach().requires_grad_(self.requires_grad)  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: object) -> "Tensor":
        return self.clone().detach().requires_grad_(self.requires_grad)  # type: ignore[no-any-return]

    def to(self, *args: Any, **kwargs: Any) -> "Tensor":
        """Return the tensor with another dtype or on another device: to(dtype), to(device), to(other)."""
        for a in args:
            if isinstance(a, Tensor):
                kwargs.setdefault("dtype", a.dtype)
                kwargs.setdefault("device", a.device)
            elif isinstance(a, bool):
                kwargs["copy" if "non_blocking" in kwargs else "non_blocking"] = a
            elif isinstance(a, str) and not isinstance(a, dtypes.dtype) and a not in dtypes.ALL:
                kwargs["device"] = a
            elif a is not None:
                kwargs["dtype"] = dtypes.of(a)
        kwargs.pop("non_blocking", None)
        copy = kwargs.pop("copy", False)
        wanted = kwargs.get("dtype"), kwargs.get("device")
        if not copy and wanted[0] in (None, self.dtype) and wanted[1] in (None, self.device) and len(kwargs) <= 2:
            return self
        return api.operator("aten::_to_copy")(self, **kwargs)  # type: ignore[no-any-return]

    def cpu(self) -> "Tensor":
        """Return the tensor on the CPU."""
        return self.to(device="cpu")

    def type(self, dtype: Any = None) -> Any:
        """Return the name of the dtype, or the tensor with another dtype."""
        return f"dispatchd.{self.dtype}" if dtype is None else self.to(dtype=dtype)

    def split(self, split_size: Any, dim: int = 0) -> "tuple[Tensor, ...]":
        """Split the tensor into views of one size, or of the sizes in a list."""
        return api.call_named("split" if isinstance(split_size, int) else "split_with_sizes", self, split_size, dim)  # type: ignore[no-any-return]

    def norm(self, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> "Tensor":
        """Return the norm of the tensor, or along dim."""
        from .functions import norm
        return norm(self, p, dim, keepdim, dtype=dtype)

    def unique(self, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
        """Return the different elements; see dispatchd.unique()."""
        from .functions import unique
        return unique(self, sorted, return_inverse, return_counts, dim)

    def nonzero(self, *, as_tuple: bool = False) -> Any:
        """Return the indices of the elements that are not zero: a row each, or as_tuple a tensor for each dimension."""
        return api.call_named("nonzero_numpy" if as_tuple else "nonzero", self)

    def new_tensor(self, data: Any, *, dtype: Any = None, requires_grad: bool = False) -> "Tensor":
        """Return a new tensor with the elements of `data`, of this tensor's dtype."""
        from .arrays import tensor
        return tensor(data, dtype=dtype or self.dtype, requires_grad=requires_grad, connection=self._c)

    @property
    def T(self) -> "Tensor":
        """The tensor with its dimensions reversed."""
        return _of("numpy_T", self)

    @property
    def mT(self) -> "Tensor":
        """The tensor with its last two dimensions swapped."""
        return _of("mT", self)

    @property
    def H(self) -> "Tensor":
        """The conjugate transpose of a matrix."""
        return _of("matrix_H", self)

    @property
    def mH(self) -> "Tensor":
        """The conjugate transpose of each matrix."""
        return _of("mH", self)

    @property
    def real(self) -> "Tensor":
        """The real parts, a view."""
        return _of("real", self)

    @property
    def imag(self) -> "Tensor":
        """The imaginary parts, a view."""
        return _of("imag", self)

    @property
    def data(self) -> "Tensor":
        """The same memory without a history."""
        return _of("detach", self)

    def explain(self) -> str:
        """Return a line about the tensor: dtype, shape, strides, device and dispatch keys."""
        i = self._refresh()
        return f"{i['dtype']} {i['shape']}  strides {i['strides']}  {i['device']}  keys {', '.join(i['keys'])}"


_new = Tensor.__new__


def make(c: Connection, handle: int, cell: Cell) -> Tensor:
    """Return the tensor of a handle; it owns the handle."""
    t = _new(Tensor)
    t._c, t._h, t._cell = c, handle, cell
    c._alive[handle] = ref = Handle(t, c._dropped)
    ref.number = handle
    c._unowned = 0
    return t


def wrap(value: Any, c: Connection) -> Any:
    """Return the Python value of an output: a Tensor for a descriptor, a tuple for a list."""
    if isinstance(value, dict) and "tensor" in value:
        return make(c, value["tensor"], [value, 0, None])
    if isinstance(value, list):
        return tuple([wrap(v, c) for v in value])
    if isinstance(value, dict) and "generator" in value:
        from .generators import Generator
        return Generator._of(c, value["generator"])
    if isinstance(value, dict) and "object" in value:
        from .plugins import Object
        return Object(c, value)
    return value


def _conversion(name: str) -> Any:
    target = dtypes.PUBLIC[name]

    def method(self: Tensor, memory_format: str | None = None) -> Tensor:
        return self.to(dtype=target) if memory_format is None else self.to(dtype=target, memory_format=memory_format)
    method.__name__ = name
    method.__doc__ = f"Return the tensor as {target}."
    return method


# x.float(), x.long(), ...
for _name in ("float", "double", "half", "bfloat16", "int", "long", "short", "bool", "cfloat", "cdouble", "byte", "char"):
    setattr(Tensor, _name, _conversion(_name))
