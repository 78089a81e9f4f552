"""inputs.py -- tensors and lists of arguments that the cases of several families share, and the tables that cases are in.

CASES has for an operator a function that yields (arguments, keyword arguments); EDGES has more of them, in a list, which
are tried however few of the others are."""

import itertools
import random

import torch

DTYPES = {getattr(torch, n): n for n in
          "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 bool".split()}
BY_NAME = {n: d for d, n in DTYPES.items()}
FORMATS = {torch.contiguous_format: "contiguous_format", torch.preserve_format: "preserve_format",
           torch.channels_last: "channels_last", torch.channels_last_3d: "channels_last_3d"}
MAIN = [torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool]
MORE = MAIN + [torch.int32, torch.int8, torch.int16, torch.float16, torch.bfloat16]
f32, f64, i64, i32, u8, b8 = (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool)
i8, bf16, f16, c64, c128 = torch.int8, torch.bfloat16, torch.float16, torch.complex64, torch.complex128
MOST = 2**63 - 1
nan, inf = float("nan"), float("inf")

SPECIAL = {
    True: [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-30, 1e30, 88.0, -104.0],
    i64: [0, 1, -1, 2, -7, 2**63 - 1, -2**63, 2**31, 12345],
    torch.int32: [0, 1, -1, 2, -7, 2**31 - 1, -2**31, 99], torch.int16: [0, 1, -1, 32767, -32768, 9],
    torch.int8: [0, 1, -1, 127, -128, 9], u8: [0, 1, 2, 255, 128, 9], b8: [False, True],
}


def make(dtype, *shape, low=-4, high=5):
    """Random values, whole ones where the dtype is of integers."""
    if dtype is b8:
        return torch.randint(0, 2, shape).to(b8)
    if dtype.is_floating_point or dtype.is_complex:
        return (torch.rand(shape, dtype=f64) * (high - low) + low).to(dtype)
    return torch.randint(max(low, 0) if dtype is u8 else low, high, shape).to(dtype)


def special(dtype):
    return torch.tensor(SPECIAL[True if dtype.is_floating_point else dtype], dtype=dtype)


def layouts(dtype):
    """One tensor of every kind of geometry."""
    yield make(dtype)
    yield make(dtype, 0, 3)
    yield make(dtype, 5)
    yield make(dtype, 3, 4)
    yield make(dtype, 4, 3).t()
    yield make(dtype, 7, 9)[1::2, 2::3]
    yield make(dtype, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    yield make(dtype, 3, 1).expand(3, 4)
    yield make(dtype, 203)
    yield make(dtype, 70, 1001)
    yield special(dtype)


def pairs(a, b):
    """Two tensors that broadcast."""
    yield make(a, 3, 4), make(b, 3, 4)
    yield make(a, 3, 4), make(b, 4)
    yield make(a, 3, 1), make(b, 1, 4)
    yield make(a, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last), make(b, 3, 1, 1)
    yield make(a, 4, 3).t(), make(b, 3, 4)
    yield make(a), make(b)
    yield make(a, 5), make(b)
    yield make(a), make(b, 5)
    yield make(a, 0, 3), make(b, 3)
    yield make(a, 3), make(b, 4)
    yield make(a, 40, 999), make(b, 999)
    x, y = special(a), special(b)
    yield x[:, None], y[None, :]


def two(*dtypes, shapes=(((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (4,)), ((), ()), ((2, 3, 4), (3, 1)), ((0, 4), (0, 4)), ((3, 4), (3, 5)))):
    """Pairs of floating tensors that broadcast, and one that does not, of each dtype; beside int64 too where that is among them."""
    return ((make(d, *a), make(e, *b)) for d in dtypes for e in ((d, i64) if i64 in dtypes and d is not i64 else (d,)) for a, b in shapes)


# -- the tables --

CASES = {}  # operator -> function that yields (arguments, keyword arguments)
EDGES = {}  # operator -> more of them, all of which are tried


def case(*names):
    def add(function):
        for name in names:
            CASES[name] = function
        return function
    return add


# -- cases of many operators --

def viewed():
    return [make(f32, 2, 3, 4), make(f32, 4, 3, 2).permute(2, 1, 0), make(i64, 6), make(u8), make(f32, 0, 3),
            make(f32, 3, 1, 2), make(f32, 8, 9)[1::2, ::3], make(f64, 1).expand(4), special(i64)]


def with_args(*lists):
    return lambda: (((x, *a), {}) for x in viewed() for a in lists)


ALL = MORE + [torch.complex64, torch.complex128]


def of_all(*lists):
    """Every dtype in two shapes, and every geometry, with each list of arguments."""
    return lambda: (((x, *a), {}) for a in lists
                    for x in [make(d, *shape) for d in ALL for shape in ((3, 4), (2, 3, 2))] + viewed())


def with_out(cases):
    """The same with out= of the right shape, of another, of another dtype, and strided."""
    def given():
        for args, _ in cases():
            yield args, {"out": torch.zeros(0, dtype=args[0].dtype)}
        for args, _ in itertools.islice(cases(), 6):
            yield args, {"out": torch.zeros(2, 2, dtype=args[0].dtype)}
            yield args, {"out": torch.zeros(12, 8, dtype=args[0].dtype).t()[::2]}
            yield args, {"out": torch.zeros(0, dtype=b8)}
    return given


def some(n, cases):
    """At most n of them, the same ones each time."""
    return lambda: random.Random(0).sample(listed, n) if len(listed := list(cases())) > n else listed


def outs_of(name):
    """A few cases of the functional overload, with outputs of its result's shape, of others, and of other dtypes."""
    for args, kwargs in some(12, CASES[name])():
        try:
            made = operator(name)(*map(copy, args), **kwargs)
        except (RuntimeError, IndexError):
            continue
        for dtype in (made.dtype, f64, i64):
            for out in (torch.zeros(made.shape, dtype=dtype), torch.zeros(0, dtype=dtype), torch.zeros(2, 5, dtype=dtype),
                        torch.zeros(*made.shape, 2, dtype=dtype)[..., 0]):
                yield args, {**kwargs, "out": out}


def shaped(*lists):
    """Tensors of some geometries, with each list of arguments."""
    return lambda: (((x, *a), {}) for a in lists for d in (f32, i64, torch.bfloat16, b8, torch.complex64) for x in layouts_of(d))


def layouts_of(d):
    return [make(d, 3, 4), make(d, 4, 3).t(), make(d, 3, 1).expand(3, 4), make(d), make(d, 0, 3)]


# -- copies, and operators by name --

def copy(v, made=None):
    """The same geometry over a copy of the whole storage.  made: copies by what they are of, where one tensor that is
    given twice stays one."""
    if torch.is_tensor(v):
        if made is not None and id(v) in made:
            return made[id(v)]
        t = torch.as_strided(storage(v).clone(), v.shape, v.stride(), v.storage_offset())
        t = torch._conj(t) if v.is_conj() else t
        t = torch._neg_view(t) if v.is_neg() else t
        if made is not None:
            made[id(v)] = t
        return t
    return [copy(x, made) for x in v] if isinstance(v, list) else v


def storage(t):
    return torch.tensor([], dtype=t.dtype).set_(t.storage())


def operator(name):
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


# -- cases at the edges --

def edges(names, calls):
    """Add calls to EDGES for each operator of names, with spaces between them.  A call is a list of arguments, or a pair of
    arguments and keyword arguments."""
    calls = [c if isinstance(c, tuple) else (c, {}) for c in calls]
    for name in names.split():
        EDGES.setdefault(name, []).extend(calls)


def of(*values, dtype=f32):
    return torch.tensor(values[0] if len(values) == 1 else values, dtype=dtype)


def upto(*shape, dtype=f32):
    return torch.arange(torch.Size(shape).numel()).to(dtype).reshape(shape)


def none(*shape, dtype=f32):
    return torch.zeros(shape, dtype=dtype)


def shared(*shape):
    return torch.zeros(1).expand(shape)


TURNED = [upto(2, 3, dtype=d).t() + 1 for d in (f32, i64, c64)]
BITS = TURNED + [torch._neg_view(t) for t in TURNED] + [TURNED[2].conj(), torch._neg_view(TURNED[2].conj())]
