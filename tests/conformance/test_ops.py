"""test_ops.py [PATTERN] -- every operator beside PyTorch 1.13.1's, through the daemon's socket.

Each call is made here and there with the same arguments, of every dtype that matters and of awkward
shapes: 0-dim, empty, transposed, sliced, broadcast, with NaN, infinities and the extremes of integers.
dtype, shape, strides and values must agree, what a call writes to must agree, and where PyTorch raises,
the daemon must answer an error of the same type.  A test is one operator; PATTERN narrows them.  With PART=N
in the environment every N-th case of an operator that has many is tried.  tests/data/ops.txt lists those that are
known to differ in some case: any other is a fault.  With --known it prints that list anew.
Without PyTorch nothing is compared, and it says so."""

import functools
import itertools
import os
import random
import re
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import ROOT
from daemon import TestDaemon
import dispatchd

try:
    import torch
    import yaml
    import linalg_cases
    import space_cases
except ImportError as e:
    print(f"skipped: {e}; install python3-torch to compare operators with PyTorch")
    print("0 passed, 0 failed")
    sys.exit(0)

import nn_cases
import draw_op_cases
from edge_cases import EDGES
import spectral_cases

warnings.filterwarnings("ignore")
torch.manual_seed(0)
torch.set_num_threads(1)

DTYPES = {getattr(torch, n): n for n in
          "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 bool".split()}
BY_NAME = {n: d for d, n in DTYPES.items()}
FORMATS = {torch.contiguous_format: "contiguous_format", torch.preserve_format: "preserve_format",
           torch.channels_last: "channels_last", torch.channels_last_3d: "channels_last_3d"}
MAIN = [torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool]
MORE = MAIN + [torch.int32, torch.int8, torch.int16, torch.float16, torch.bfloat16]
f32, f64, i64, i32, u8, b8 = (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool)
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


# -- what to call --------------------------------------------------------------------------------------
# name -> function that yields (arguments, keyword arguments); PLAIN ones follow from the schema.

CASES = {}


def case(*names):
    def add(function):
        for name in names:
            CASES[name] = function
        return function
    return add


def scalars(dtype):
    yield from (2, -3, 1.5, 0)  # torch.ops takes a bool for an int, torch does not


# What arguments are given that are neither tensors nor Scalars, by name.
GIVEN = {"rounding_mode": "floor", "approximate": "none", "decimals": 2, "n": 2, "p": 2, "dim": 0, "reduction": 0, "eps": 0.25,
         "beta": 0.5, "delta": 0.5, "is_result": False, "self_is_result": False, "alpha": 1.5, "scale": 2, "input_scale": 0.5,
         "negative_slope": 0.25, "threshold": 1, "lambd": 0.5, "min_val": -1, "max_val": 2}


def plain(schema):
    """Cases of a pointwise operator, from its schema."""
    arguments = list(schema.arguments)  # others each time they are asked for
    outs = [a.name for a in arguments if a.kwarg_only and a.alias_info is not None and a.alias_info.is_write]
    tensors = [a for a in arguments if str(a.type) == "Tensor" and a.name not in outs]
    needed = [a for a in arguments if not a.has_default_value() and a.name not in outs
              and str(a.type) not in ("Tensor", "Optional[Tensor]")]
    numbers = [a for a in needed if str(a.type) == "number" and len(tensors) == 1 and "backward" not in schema.name]
    others = {a.name: GIVEN.get(a.name, 2) for a in needed if a.name not in {n.name for n in numbers}}
    alpha = any(a.name == "alpha" and str(a.type) == "number" for a in schema.arguments) and len(tensors) > 1
    order = [a.name for a in schema.arguments]
    if any(name not in GIVEN for name in others):
        return  # not pointwise: compared where CASES has it, and by test_samples.py

    def given(values, options=None):
        """values: of tensors and numbers, in the schema's order"""
        names = [n for n in order if n in {a.name for a in tensors + numbers}]
        kwargs = {**dict(zip(names, values)), **others, **(options or {})}
        args = []
        while order[len(args)] in kwargs and not schema.arguments[len(args)].kwarg_only:
            args.append(kwargs.pop(order[len(args)]))
            if len(args) == len(order):
                break
        if outs:
            shape = torch.broadcast_shapes(*[v.shape for v in values if torch.is_tensor(v)])
            for dtype in (f32, f64, i64, b8):
                yield args, {**kwargs, **{n: torch.zeros(shape, dtype=dtype) for n in outs}}
        else:
            yield args, kwargs

    if len(tensors) == 1 and not numbers:
        for dtype in MORE:
            for x in layouts(dtype):
                yield from given((x,))
    elif len(tensors) == 1:
        first = schema.arguments[0].name == tensors[0].name
        for dtype, x in ((d, x) for d in MAIN for x in (make(d, 3, 4), make(d), special(d), make(d, 4, 3).t())):
            for s in itertools.product(scalars(dtype), repeat=len(numbers)):
                if WHOLE.match(schema.name) and any(isinstance(v, float) or v < 0 for v in s):
                    continue
                yield from given((x, *s) if first else (*s, x))
    elif len(tensors) == 2:
        whole = WHOLE.match(schema.name)
        for a, b in itertools.product(MAIN, MAIN):
            for x, y in pairs(a, b):
                try:
                    torch.broadcast_shapes(x.shape, y.shape)
                except RuntimeError:
                    if outs:
                        continue
                if whole and (a.is_floating_point or b.is_floating_point or x.shape[:1] == (9,) or y.shape[-1:] == (9,)):
                    continue  # PyTorch divides the least integer by -1, and that ends the process
                yield from given((x, y))
        for dtype in (torch.float16, torch.bfloat16, torch.int32, torch.int8, torch.int16):
            for x, y in pairs(dtype, dtype):
                # floors of quotients: 16 bits round some to a whole number
                if not outs and not whole and not (dtype.is_floating_point and re.search("floor_divide|remainder", schema.name)):
                    yield from given((x, y))
        for options in ({"alpha": 2}, {"alpha": 0.5}) if alpha else ():
            for dtype in MAIN:
                yield from given((make(dtype, 3, 4), make(dtype, 4)), options)
    else:
        for dtype in MAIN:
            yield from given((make(dtype, 3, 4), make(dtype, 4), make(dtype, 3, 1)), {"value": 2} if "value" in order else None)


def degrees(name):
    """Of polynomials: PyTorch takes as many steps as n says, so none between these two is large."""
    for args, kwargs in plain(operator(name)._schema):
        n = args[1]
        if torch.is_tensor(n) and not n.is_floating_point():
            many = n.long()
            args[1] = torch.where((many > 10**5) & (many < 2**62), 33, many).to(n.dtype)
        yield args, kwargs


@case("empty.memory_format", "zeros", "ones")
def sized():
    for dtype in [None] + MORE:
        for size in ([2, 3], [], [0, 4], [2, 3, 4, 5]):
            yield (size,), {"dtype": dtype} if dtype else {}
    yield ([2, -3],), {}
    yield ([2, 3],), {"device": torch.device("cpu")}


@case("full", "new_full")
def filled_sized():
    for value in (2, 2.5, -1):
        for dtype in [None] + MAIN:
            yield ([2, 3], value), {"dtype": dtype} if dtype else {}


@case("new_empty", "new_zeros", "new_ones")
def new_sized():
    for dtype in MAIN:
        for size in ([2, 3], [], [0]):
            yield (make(dtype, 2), size), {}
    yield (make(f32, 2), [3]), {"dtype": i64}


CASES["new_full"] = lambda: (((make(d, 2), [2, 3], v), {}) for d in MAIN for v in (2, 1.5, 300, -1))


@case("empty_strided", "new_empty_strided")
def strided():
    yield ([2, 3], [1, 2]), {}
    yield ([2, 3], [0, 1]), {"dtype": i64}
    yield ([2, 3], [1]), {}


CASES["new_empty_strided"] = lambda: (((make(i64, 2), *a), k) for a, k in strided())


@case("empty_like", "zeros_like", "ones_like")
def likes():
    for dtype in MAIN:
        for x in layouts(dtype):
            yield (x,), {}
    yield (make(f32, 2, 3),), {"dtype": i64}
    for x in layouts(f32):
        yield (x,), {"memory_format": torch.contiguous_format}
        yield (x,), {"memory_format": torch.channels_last}


CASES["full_like"] = lambda: (((x, v), {}) for d in MAIN for x in layouts(d) for v in (3, 2.5, -1, 300, inf))
CASES["scalar_tensor"] = lambda: (((v,), {"dtype": d} if d else {}) for v in (2, 2.5) for d in [None] + MAIN)
CASES["arange"] = lambda: (((e,), {"dtype": d} if d else {}) for e in (0, 5, 4.5, 100000) for d in (None, f32, f64, i64, i32))
CASES["arange.start"] = lambda: (((s, e), {}) for s, e in ((0, 5), (2, 7), (0.5, 3), (5, 2), (2**60, 2**60 + 3), (nan, 2)))
CASES["arange.start_step"] = lambda: (
    ((s, e, t), {"dtype": d} if d else {}) for d in (None, f32, f64, i64, torch.float16) for s, e, t in
    ((0, 10, 3), (0, 1, 0.25), (10, 0, -3), (0, 5, 0), (1, 2, -1), (0.0, 1.0, 0.1), (-3, 3, 2)))
CASES["range.step"] = lambda: (
    ((s, e, t), {"dtype": d} if d else {}) for d in (None, f32, f64, i64, torch.bfloat16, torch.float16, u8) for s, e, t in
    ((0, 10, 3), (0, 1, 0.25), (10, 0, -3), (0, 5, 0), (1, 2, -1), (0.0, 1.0, 0.1), (-3, 3, 2), (1, 1, -1), (0, inf, 1), (0, 1e20, 1e17)))
CASES["range"] = CASES["arange.start"]
CASES["range.out"] = lambda: (((s, 9, 3), {"out": o}) for s in (0, 1, 10) for d in (f32, i64, f64, b8) for o in (
    torch.zeros(4, dtype=d), torch.zeros(0, dtype=d), torch.zeros(4, 2, dtype=d)[:, 1], torch.zeros(2, 2, dtype=d).t()))
CASES["range.out_"] = lambda: (((0, 3), {"out": torch.zeros(n, dtype=d)}) for d in (f32, i64) for n in (4, 2))
CASES["empty.out"] = lambda: (((s,), {"out": torch.zeros(2, 3, dtype=d)}) for d in (f32, i64) for s in ([3, 2], [2, 3], [], [0], [-1]))
CASES["arange.start_out"] = lambda: (((0, 10, 3), {"out": torch.zeros(4, dtype=d)}) for d in (f32, i64, f64))
CASES["fill_.Scalar"] = CASES["full_like"]
CASES["fill_.Tensor"] = lambda: (((x, make(f32, *s)), {}) for d in MAIN for x in layouts(d) for s in ((), (1,)))
CASES["zero_"] = lambda: (((x,), {}) for d in MORE for x in layouts(d))


@case("copy_")
def copies():
    for a, b in itertools.product(MORE, MORE):
        for x, y in ((make(a, 3, 4), make(b, 3, 4)), (make(a, 4, 3).t(), make(b, 4)), (make(a, 2, 2), make(b))):
            yield (x, y), {}
    yield (make(f32, 2), make(f32, 3)), {}


@case("clone")
def clones():
    for dtype in MORE:
        for x in layouts(dtype):
            yield (x,), {}
    for x in layouts(f32):
        for f in FORMATS:
            yield (x,), {"memory_format": f}


CASES["contiguous"] = lambda: (((x,), {"memory_format": f}) for x in layouts(f32) for f in FORMATS)
CASES["_to_copy"] = lambda: itertools.chain(
    (((x,), {"dtype": d}) for e in MAIN for x in layouts(e) for d in MAIN),
    (((x,), {"memory_format": f}) for x in layouts(f32) for f in FORMATS))
CASES["to.dtype"] = lambda: (((x, d, False, c), {}) for x in layouts(f32) for d in MAIN for c in (False, True))
CASES["to.device"] = lambda: (((x, torch.device("cpu"), d), {}) for x in layouts(f32) for d in MAIN)
CASES["to.dtype_layout"] = lambda: (((x,), {"dtype": d}) for x in layouts(f32) for d in MAIN)
CASES["to.other"] = CASES["type_as"] = lambda: (((x, make(d, 2)), {}) for x in layouts(f32) for d in MAIN)
CASES["detach"] = CASES["alias"] = CASES["positive"] = lambda: (((x,), {}) for d in MAIN if d is not b8 for x in layouts(d))
CASES["_local_scalar_dense"] = CASES["item"] = lambda: (((make(d, *s),), {}) for d in MORE for s in ((), (1,), (1, 1), (2,)))


# -- views --

def viewed():
    return [make(f32, 2, 3, 4), make(f32, 4, 3, 2).permute(2, 1, 0), make(i64, 6), make(u8), make(f32, 0, 3),
            make(f32, 3, 1, 2), make(f32, 8, 9)[1::2, ::3], make(f64, 1).expand(4), special(i64)]


def with_args(*lists):
    return lambda: (((x, *a), {}) for x in viewed() for a in lists)


CASES["as_strided"] = with_args(([2], [1]), ([2, 2], [1, 1]), ([2], [1], 1), ([100], [1]), ([2], [-1]), ([2, 2], [1]), ([], []))
CASES["view"] = CASES["reshape"] = CASES["_unsafe_view"] = with_args(
    ([-1],), ([6],), ([2, 3],), ([4, 6],), ([2, -1],), ([-1, -1],), ([1],), ([],), ([5],), ([-2],), ([3, -1, 2],), ([0, -1],))
CASES["_reshape_alias"] = lambda: (((make(f32, 6), *a), {}) for a in (([2, 3], [3, 1]), ([2, 1], [1, 1]), ([], []), ([2], [1, 1])))
CASES["reshape_as"] = CASES["view_as"] = lambda: (((make(f32, 2, 3), make(f32, *s)), {}) for s in ((6,), (3, 2), (4,)))
CASES["permute"] = with_args(([0],), ([],), ([2, 0, 1],), ([1, 0],), ([-1, 0, 1],), ([0, 0, 1],), ([3, 0, 1],))
CASES["transpose.int"] = with_args((0, 1), (0, -1), (-2, 0), (3, 0), (0, 0))
CASES["t"] = CASES["squeeze"] = with_args(())
CASES["squeeze.dim"] = CASES["unsqueeze"] = with_args((0,), (1,), (-1,), (-2,), (3,), (4,), (-5,))
CASES["expand"] = with_args(([1, 1],), ([1],), ([2, 1, 3],), ([2, 3, 4],), ([3, 5, 2],), ([-1, 6],), ([4],), ([2, 0, 3],), ([-1, -1],), ([5, -1],), ([7, 4],))
CASES["broadcast_to"] = with_args(([1, 1],), ([2, 1],), ([2, 3, 4],), ([4],), ([7, 4],))
CASES["expand_as"] = lambda: (((make(f32, 3, 1), make(f32, *s)), {}) for s in ((3, 4), (2, 3, 4), (4, 4)))
CASES["flatten.using_ints"] = with_args((), (0, 0), (0, 1), (1, 2), (-2, -1), (1, 0), (0, 5))
CASES["unflatten.int"] = lambda: itertools.chain(unflattened(), (((make(f32, *s), *a), {}) for s, a in (
    ((0, 3, 2), (1, [5, 1, 1])), ((3, 0), (0, [-1])), ((0, 4), (1, [2, -1])), ((0, 4), (0, [0, 7])), ((0,), (0, [-1, 0])))))
unflattened = with_args((0, [2, 1]), (0, [3, 2]), (-1, [2, -1]), (0, []), (7, [2]))
CASES["slice.Tensor"] = with_args((), (0, 1), (0, 1, 2), (1, None, 2), (-1, -2, None), (0, 5, 1), (0, 0, 100, 2), (0, 0, 3, 0),
                                  (9, 0), (0, -100, 100, 2**40))
CASES["select.int"] = with_args((0, 0), (0, -1), (1, 2), (-1, 1), (0, 9), (5, 0))
CASES["narrow"] = with_args((0, 0, 1), (1, 1, 2), (-1, 0, 0), (0, 5, 3), (0, -1, 1), (0, 0, -1), (0, 1, 9))
CASES["movedim.int"] = with_args((0, 1), (0, -1), (2, 0), (3, 0))
CASES["movedim.intlist"] = with_args(([0, 1], [1, 2]), ([0], [-1]), ([0, 1], [0]), ([0, 0], [1, 2]), ([2, 0], [0, 1]), ([], []))
CASES["split.Tensor"] = with_args((1,), (2, 0), (2, -1), (4, 1), (0,), (-1,), (100, 0))
CASES["split_with_sizes"] = with_args(([1, 1],), ([2, 1], 1), ([1, 2], -2), ([-1, 3],), ([6],), ([2, 4],))
CASES["chunk"] = with_args((1,), (2, 0), (3, -1), (100, 0), (0,), (2, 1))
CASES["unbind.int"] = with_args((), (1,), (-1,), (4,))
CASES["diagonal"] = with_args((), (1,), (-1, 0, 2), (0, -1, 0), (0, 1, 1), (9, 0, 1), (-9, 0, 1), (0, 0, 7))
CASES["unfold"] = with_args((0, 1, 1), (0, 2, 1), (1, 2, 2), (-1, 2, 1), (0, 9, 1), (0, 1, 0), (0, 0, 1))


# -- other shapes and orders --

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


CASES["flip"] = of_all(([0],), ([0, 1],), ([-1],), ([],), ([0, 0],), ([0, -5],), ([2, 0],))
CASES["roll"] = of_all(([1], [0]), ([-1], [0]), ([1],), ([5, -7], [0, 1]), ([2**62], [0]), ([], []), ([1, 2], [0]))
CASES["rot90"] = of_all((), (2,), (3, [0, 1]), (-1, [1, 0]), (1, [0, 0]), (1, [0]), (4, [0, -1]), (1, [0, 7]))
CASES["tril"] = CASES["triu"] = CASES["tril_"] = CASES["triu_"] = of_all((), (1,), (-1,), (100,), (-100,), (2**60,), (-2**60,))
CASES["tril.out"] = CASES["triu.out"] = with_out(of_all((), (1,)))
CASES["diag"] = of_all((), (1,), (-1,), (3,))
CASES["diag.out"] = with_out(of_all((), (1,)))
CASES["diag_embed"] = of_all((), (1,), (-2, 0, 1), (0, -1, 0), (0, 0, 0), (0, 0, 9))
CASES["trace"] = lambda: (((make(d, *s),), {}) for d in ALL if not d.is_complex for s in ((3, 4), (0, 2), (4,), ()))
CASES["constant_pad_nd"] = of_all(([1, 2],), ([1, 0, 0, 1], 3), ([-1, 0],), ([-1, 2],), ([0, 0],), ([1],), ([-9, 2],),
                                  ([1] * 10,), ([2**62, 2**62],))
CASES["narrow_copy"] = CASES["narrow"]
CASES["block_diag"] = lambda: ((([make(a, 2, 3), make(b), make(b, 4), make(a, 0)],), {}) for a in MAIN for b in MAIN)
CASES["slice_scatter"] = lambda: (((make(d, 4, 3), make(e, *s), 0, *a), {}) for d in MAIN for e in (d, f32)
                                  for s, a in (((2, 3), (1, 3)), ((2, 3), (0, 4, 2)), ((1, 3), (0, 2)), ((4, 3), ())))
CASES["select_scatter"] = lambda: (((make(d, 4, 3), make(e, *s), *a), {}) for d in MAIN for e in (d, f32)
                                   for s, a in (((3,), (0, 1)), ((4,), (1, -1)), ((4,), (0, 1)), ((3,), (0, 9))))
CASES["diagonal_scatter"] = lambda: (((make(d, 4, 3), make(e, s), *a), {}) for d in MAIN for e in (d, f32)
                                     for s, a in ((3, ()), (2, (1,)), (3, (1,)), (3, (0, 1, 0))))
CASES["as_strided_scatter"] = lambda: (((x, make(x.dtype, *s), s, *a), {}) for d in MAIN for x in (make(d, 4, 3), make(d, 3, 4).t())
                                       for s, a in (([2, 2], ([1, 2],)), ([3], ([2], 1)), ([2, 2], ([100, 1],))))
CASES["pixel_shuffle"] = lambda: (((x, r), {}) for d in ALL for r in (1, 2, 0, 3, -1)
                                  for x in (make(d, 2, 8, 3, 2), make(d, 4, 1, 1), make(d, 2, 8), make(d, 0, 4, 2, 2),
                                            make(d, 1, 8, 3, 2).to(memory_format=torch.channels_last)))
CASES["pixel_unshuffle"] = lambda: (((x, r), {}) for d in ALL for r in (1, 2, 0, 3)
                                    for x in (make(d, 2, 2, 6, 4), make(d, 4, 2, 2), make(d, 2, 8), make(d, 2, 1, 3, 4)))
CASES["repeat_interleave.Tensor"] = lambda: (((torch.tensor(v, dtype=d), *a), {}) for d in (i64, torch.int32, f32)
                                             for v, a in (([1, 2, 0, 3], ()), ([], ()), ([2, -1], ()), ([[1]], ())))
@case("equal")
def compared():
    for dtype in ALL:
        x = make(dtype, 3, 4)
        for y in (x, x.clone(), x.t().contiguous().t(), x[:2], make(dtype, 4), make(f32, 3, 4)):
            yield (x, y), {}
        yield (make(dtype, 0), make(dtype, 0)), {}
    yield (torch.tensor([nan]), torch.tensor([nan])), {}


# -- ranges --

CASES["linspace"] = lambda: (((a, b, n), {"dtype": d} if d else {}) for a, b in ((0, 1), (-2.5, 7), (3, -3), (1, 1))
                             for n in (0, 1, 2, 5, 50, -1) for d in (None, f32, f64, torch.float16, torch.bfloat16, torch.complex64))
CASES["logspace"] = lambda: (((a, b, n, *p), {"dtype": d} if d else {}) for a, b in ((0, 1), (-2.5, 3), (3, -3))
                             for n in (0, 1, 2, 5, -1) for p in ((), (2.0,)) for d in (None, f32, f64, torch.complex64))
CASES["linspace.out"] = lambda: (((0, 4, n), {"out": o()}) for n in (0, 1, 5) for o in (
    lambda: torch.zeros(0), lambda: torch.zeros(5), lambda: torch.zeros(10)[::2], lambda: torch.zeros(2, 2)))
CASES["logspace.out"] = CASES["linspace.out"]
CASES["eye"] = lambda: (((n,), {"dtype": d} if d else {}) for n in (0, 1, 3, -1) for d in [None] + ALL)
CASES["eye.m"] = lambda: (((n, m), {}) for n in (0, 2, -1) for m in (0, 3, -1))
CASES["eye.out"] = lambda: (((n,), {"out": o}) for n in (0, 3, -1) for o in (torch.zeros(0), torch.zeros(2, 2), torch.zeros(3, 6)[:, ::2]))
CASES["eye.m_out"] = lambda: (((n, 2), {"out": o}) for n in (0, 3, -1) for o in (torch.zeros(0), torch.zeros(2, 2), torch.zeros(3, 2)))
CASES["tril_indices"] = CASES["triu_indices"] = lambda: (
    ((r, c, o), {}) for r in (0, 1, 3, 5, -1) for c in (0, 1, 4, -1) for o in (0, 1, -1, 3, -3, 100, -100))

# -- a tensor's own sizes --

CASES["squeeze_"] = CASES["t_"] = with_args(())
CASES["squeeze_.dim"] = CASES["unsqueeze_"] = CASES["squeeze.dim"]
CASES["transpose_"] = CASES["transpose.int"]
CASES["as_strided_"] = CASES["as_strided"]
CASES["resize_"] = lambda: (((x, s), k) for x in viewed() for s, k in (
    ([2, 2], {}), ([0], {}), ([], {}), ([1, 2, 1, 1], {"memory_format": torch.channels_last}), ([-1], {}), ([2], {"memory_format": torch.channels_last})) if x.numel() >= 4 and x.stride() != (0,))
CASES["resize_as_"] = lambda: (((make(f32, 4), make(f32, *s)), {}) for s in ((2, 2), (4,), (0,), ()))
CASES["set_"] = with_args(())
CASES["set_.source_Tensor"] = lambda: (((make(f32, 4), x), {}) for x in (make(f32, 3, 2).t(), make(f32), make(f32, 0)))


# -- by index and by mask --

def masks():
    return [torch.tensor([True, False, True]), torch.tensor([[True, False, True, True]] * 3), torch.zeros(3, dtype=b8),
            torch.tensor([1, 0, 1], dtype=u8), torch.ones(2, dtype=b8)]


def indices():
    at = torch.tensor([0, 2, 1, -1])
    return [[at], [None, at], [at, at], [at.reshape(2, 2)], [at[:1], at], [at.reshape(4, 1), at], [torch.tensor(1)], [None, torch.tensor(-4)],
            [torch.tensor([], dtype=i64)], [torch.tensor([5])], [torch.tensor([0, -9])], [at, at, at], [at, None, at[:2]],
            [torch.tensor([0, 1]), None, torch.tensor([[0], [1]])], [at.to(torch.int32)], [at[:3], at[:2]], [torch.tensor([1.5])]] + [
            [m] for m in masks()] + [[None, torch.tensor([True, False, True, True])], [at[:2], torch.tensor([True, False, False, True])]]


def indexed():
    return [make(d, 3, 4) for d in ALL] + [make(f32, 4, 3).t(), make(f32, 3, 4, 2), make(f32, 0, 4), make(f32, 3, 0), make(f32),
                                           make(i64, 6, 8)[::2, ::2], make(f32, 3, 1).expand(3, 4), make(f32, 3, 4, 2).permute(0, 2, 1)]


CASES["index.Tensor"] = lambda: (((x, i), {}) for x in indexed() for i in indices())
CASES["index.Tensor_out"] = lambda: (((x, i), {"out": o}) for x in indexed() for i in indices()[:6] for o in (
    torch.zeros(0, dtype=x.dtype), torch.zeros(4, 8, dtype=x.dtype)[:, ::2]))


@case("index_put", "index_put_", "_index_put_impl_")
def put_at():
    for x in indexed():
        if x.stride() == (1, 0):
            continue
        for i in indices():
            for values in (make(x.dtype), make(x.dtype, 1), make(x.dtype, 4), make(x.dtype, 4, 4), make(i64 if x.dtype is f32 else f32)):
                # where an index is there twice, PyTorch's threads decide
                for add in (False, True) if x.dtype is not torch.float16 else (False,):
                    yield (x, i, values, add), {}
    for x, i in ((make(f32, 5, 40), torch.tensor([4, -5, 2])), (make(i64, 3, 5, 30), torch.tensor([1, 1, -1, 0])), (make(b8, 30, 6).t(), torch.tensor([2, 6])),
                 (make(f32, 0, 20), torch.tensor([0])), (make(torch.bfloat16, 4, 50)[:, ::2], torch.tensor([3, 0]))):
        for at in ([i], [None, i]) if x.dim() == 3 else ([i],):
            for values in (make(x.dtype), make(x.dtype, x.shape[-1])):
                yield (x, at, values, True), {}
                if i.numel() < 4:
                    yield (x, at, values, False), {}


CASES["nonzero"] = lambda: (((x,), {}) for x in indexed() + [special(f32), make(f32, 70, 1001), torch.tensor([-0.0, nan])])
CASES["nonzero.out"] = lambda: (((x,), {"out": o}) for x in indexed() for o in (
    torch.zeros(0, dtype=i64), torch.zeros(2, 2, dtype=i64), torch.zeros(0)))
CASES["masked_select"] = lambda: (((x, m), {}) for x in indexed() for m in masks() + [make(f32, 3, 4), torch.ones(3, 1, dtype=b8)])
CASES["masked_select.out"] = lambda: (((x, m), {"out": o}) for x in indexed() for m in masks()[:2] for o in (
    torch.zeros(0, dtype=x.dtype), torch.zeros(20, dtype=x.dtype)[::2], torch.zeros(0, dtype=b8)))
CASES["masked_scatter"] = CASES["masked_scatter_"] = lambda: (
    ((x, m, s), {}) for x in indexed() if x.is_contiguous() for m in masks() + [make(f32, 3, 4)]
    for s in (make(x.dtype, 3, 4), make(x.dtype, 40), make(x.dtype, 1), make(f64, 12)))
CASES["masked_fill.Tensor"] = CASES["masked_fill_.Tensor"] = lambda: (
    ((x, m, v), {}) for x in indexed() if x.stride() != (1, 0) for m in masks()[:4]
    for v in (torch.tensor(2), torch.tensor(True), torch.tensor(2.5), torch.tensor([1])) if x.dtype is not b8 or v.dtype is b8)
CASES["take"] = lambda: (((x, i), {}) for x in indexed() for i in (
    torch.tensor([0, 5, -1]), torch.tensor([[0], [3]]), torch.tensor(2), torch.tensor([12]), torch.tensor([-13]), torch.tensor([], dtype=i64),
    torch.tensor([1], dtype=torch.int32), torch.tensor([[0, 1], [2, 3]]).t()))
CASES["take.out"] = lambda: (((x, torch.tensor([0, 5, -1])), {"out": o}) for x in indexed() for o in (
    torch.zeros(0, dtype=x.dtype), torch.zeros(6, dtype=x.dtype)[::2], torch.zeros(2, 2, dtype=x.dtype)))
CASES["put"] = CASES["put_"] = lambda: (((x, i, s, a), {}) for x in indexed() if x.stride() != (1, 0) for i in (
    torch.tensor([0, 5, -1]), torch.tensor([[0], [3], [7]]), torch.tensor([12, 0, 0]), torch.tensor([1, 2, 3], dtype=torch.int32))
    for s in (make(x.dtype, 3), make(x.dtype, 1, 3), make(x.dtype, 2), make(f64, 3)) for a in (False, True))


# -- by index, along a dimension --

def some(n, cases):
    """At most n of them, the same ones each time."""
    return lambda: random.Random(0).sample(listed, n) if len(listed := list(cases())) > n else listed


def vectors():
    """A tensor of every dtype and geometry, a dimension, and a vector of indices for it."""
    at = [torch.tensor(i, dtype=t) for i, t in (([0, 2, 1], i64), ([0, 0], i64), ([1, 0], i32), ([], i64), (0, i64), ([9], i64), ([-1], i64),
                                                ([[0]], i64), ([0.5], f32))]
    for x in [make(d, 3, 4) for d in ALL] + [make(f32, 4, 3).t(), make(f32, 3, 4, 3), make(f32, 3), make(f32, 3, 0), make(f32, 0, 3), make(f32),
                                             make(i64, 6, 8)[::2, ::2], make(f32, 3, 4, 3).permute(2, 0, 1), make(f32, 40, 300)]:
        for i in at[:3] if x.dtype not in (f32, i64) else at:
            for d in (0, -1, 1, 5)[:2 if x.dtype is not f32 else 4]:
                yield x, d, i


def sources(x, d, i, narrow=False):
    """What may go to those slices, and what may not."""
    n, shape = i.numel(), list(x.shape)
    if not -x.dim() <= d < x.dim() or i.dim() > 1:
        return [make(x.dtype, 3, 4)]
    shape[d] = n
    good = make(x.dtype, *shape)
    found = [good, good.clone().transpose(0, -1).contiguous().transpose(0, -1)]
    if x.dtype is f32:
        found += [make(f32, *shape[:-1], shape[-1] + 1), make(f64, *shape), make(f32), make(f32, n, 1), make(f32, n)]
    return found


def reduced(x):
    return ("prod", "mean", "amax", "amin") + (("sum", "foo") if x.dtype is f32 else ())


def written_outs(x):
    return [torch.zeros(0, dtype=x.dtype), torch.zeros(2, 2, dtype=x.dtype), torch.zeros(6, 8, dtype=x.dtype)[::2, ::2], torch.zeros(3, 4, dtype=b8),
            torch.zeros(1, dtype=x.dtype).expand(3, 4)]


CASES["index_add"] = CASES["index_add_"] = some(120, lambda: (
    ((x, d, i, s), k) for x, d, i in vectors() for s in sources(x, d, i) for k in ({}, {"alpha": 2}, {"alpha": -1.5}) if k or x.numel() < 100))
CASES["index_copy"] = CASES["index_copy_"] = some(120, lambda: (((x, d, i, s), {}) for x, d, i in vectors() for s in sources(x, d, i) if i.tolist() != [0, 0] and x.numel()))
CASES["index_reduce"] = CASES["index_reduce_"] = some(120, lambda: (
    ((x, d, i, s, r), {"include_self": k}) for x, d, i in vectors() for s in sources(x, d, i) for r in reduced(x) for k in (True, False)))
CASES["index_fill.int_Scalar"] = CASES["index_fill_.int_Scalar"] = some(120, lambda: (
    ((x, d, i, v), {}) for x, d, i in [*vectors(), (make(f32, 3, 1).expand(3, 4), 0, torch.tensor([1])), (make(f32, 3), 0, torch.tensor([-3]))]
    for v in (2, 1.5, -1, 300)))
CASES["index_fill.int_Tensor"] = CASES["index_fill_.int_Tensor"] = some(120, lambda: (
    ((x, d, i, v), {}) for x, d, i in vectors() for v in (torch.tensor(2), torch.tensor(0.5), torch.tensor([1]))))
CASES["index_select.out"] = some(120, lambda: (((x, d, i), {"out": o}) for x, d, i in vectors() for o in written_outs(x) if x.dim() or i.numel()))
CASES["index_add.out"] = some(120, lambda: (((x, 0, i, s), {"out": o}) for x, d, i in vectors() for s in sources(x, 0, i) for o in written_outs(x) if o.dtype is x.dtype or x.numel() and s.dim() == x.dim()))
CASES["index_copy.out"] = some(120, lambda: (((x, 0, i, s), {"out": o}) for x, d, i in vectors() if i.tolist() != [0, 0] and x.numel() for s in sources(x, 0, i) for o in written_outs(x) if o.dtype is x.dtype if x.dim() or i.numel()))
CASES["index_reduce.out"] = some(120, lambda: (((x, 0, i, s, "amax"), {"out": o}) for x, d, i in vectors() for s in sources(x, 0, i) for o in written_outs(x) if o.dtype is x.dtype or x.numel() and s.dim() == x.dim()))


def places():
    """A tensor, a dimension and an index with as many dimensions."""
    wide = torch.randint(0, 3, (3, 4))
    for x in [make(d, 3, 4) for d in ALL] + [make(f32, 4, 3).t(), make(f32, 3), make(f32), make(f32, 3, 0), make(f32, 0, 3), make(i64, 6, 8)[::2, ::2],
                                             special(f32)[:12].reshape(3, 4), special(i64)[:8].reshape(2, 4)]:
        for i in (wide, torch.tensor([[0, 1], [1, 0]]), torch.tensor([[2]]).expand(3, 3), wide.t().contiguous().t(), torch.zeros(0, 4, dtype=i64),
                  torch.tensor([1, 0]), torch.tensor(0), torch.tensor([[9]]), torch.tensor([[-1]]), torch.tensor([[0]], dtype=i32),
                  torch.zeros(5, 4, dtype=i64), torch.zeros(3, 5, dtype=i64)):
            for d in (0, 1, -1):
                yield x, d, i
    yield make(f32, 50, 70, 20), 1, torch.randint(0, 70, (50, 60, 20))
    yield make(f32, 20, 70, 50).permute(2, 1, 0), 1, torch.randint(0, 70, (50, 60, 20))
    yield make(f32, 300, 200), 0, torch.randint(0, 300, (280, 200))


def scattered(x, i):
    return [make(x.dtype, *i.shape)] + ([make(f32, 4, 5), make(f64, *i.shape), make(f32)] if x.dtype is f32 and x.numel() < 100 else [])


def placed_outs(x):
    return [torch.zeros(0, dtype=x.dtype), torch.zeros(6, 8, dtype=x.dtype)[::2, ::2], torch.zeros(3, 4, dtype=b8), torch.zeros(1, dtype=x.dtype).expand(3, 4)]


CASES["gather.out"] = some(120, lambda: (((x, d, i), {"out": o}) for x, d, i in places() for o in placed_outs(x)))
# 16 bits: what one index names twice is rounded after each step, in an order of PyTorch's
CASES["scatter.src"] = CASES["scatter_.src"] = CASES["scatter_add"] = CASES["scatter_add_"] = some(120, lambda: (
    ((x, d, i, s), {}) for x, d, i in places() for s in scattered(x, i)))
CASES["scatter.value"] = CASES["scatter_.value"] = some(120, lambda: (((x, d, i, v), {}) for x, d, i in places() for v in (2, 1.5, 300, -1)))
CASES["scatter.reduce"] = CASES["scatter_.reduce"] = some(120, lambda: (
    ((x, d, i, s), {"reduce": r}) for x, d, i in places() for s in scattered(x, i) for r in ("add", "multiply", "sum") if r != "sum" or x.dim() == 2))
CASES["scatter.value_reduce"] = CASES["scatter_.value_reduce"] = some(120, lambda: (
    ((x, d, i, v), {"reduce": r}) for x, d, i in places() for v in (2, 1.5) for r in ("add", "multiply", "sum") if r != "sum" or x.dim() == 2))
CASES["scatter_reduce.two"] = CASES["scatter_reduce_.two"] = some(120, lambda: (
    ((x, d, i, s, r), {"include_self": k}) for x, d, i in places() for s in scattered(x, i) for r in ("sum", "prod", "mean", "amax", "amin", "foo")
    for k in (True, False)))
for _name, _more in (("src", ()), ("reduce", ("add",)), ("add", ()), ("two", ("amax",))):
    _full = {"add": "scatter_add.out", "two": "scatter_reduce.two_out"}.get(_name, f"scatter.{_name}_out")
    CASES[_full] = some(120, lambda more=_more, named=_name == "reduce": (
        ((x, d, i, s, *(() if named else more)), {"out": o, **({"reduce": more[0]} if named else {})})
        for x, d, i in places() for s in scattered(x, i) for o in placed_outs(x)))
CASES["scatter.value_out"] = some(120, lambda: (((x, d, i, 2), {"out": o}) for x, d, i in places() for o in placed_outs(x)))
CASES["scatter.value_reduce_out"] = some(120, lambda: (((x, d, i, 2), {"out": o, "reduce": "add"}) for x, d, i in places() for o in placed_outs(x)))
CASES["take_along_dim"] = some(120, lambda: itertools.chain((((x, i, d), {}) for x, d, i in places()), (((x, i), {}) for x, d, i in places())))
CASES["take_along_dim.out"] = some(120, lambda: (((x, i, d), {"out": o}) for x, d, i in places() for o in placed_outs(x)))


# -- the same bytes, seen otherwise --

def complexes():
    return [make(d, *shape) for d in (torch.complex64, torch.complex128) for shape in ((3, 4), (), (0, 2), (2, 3, 2))] + [
        make(torch.complex64, 4, 3).t(), make(torch.complex64, 6, 5)[1::2, ::3], make(torch.complex64, 1).expand(3)]


CASES["_conj"] = CASES["view_as_real"] = lambda: (((x,), {}) for x in complexes())
CASES["_neg_view"] = lambda: (((x,), {}) for x in [make(d, 3, 4) for d in ALL if d is not b8] + complexes())
CASES["conj"] = CASES["_conj_physical"] = CASES["conj_physical"] = CASES["conj_physical_"] = CASES["real"] = CASES["imag"] = \
    CASES["resolve_conj"] = CASES["resolve_neg"] = lambda: (((x,), {}) for x in complexes() + viewed()
                                                            if x.is_complex() or x.is_contiguous())
CASES["conj_physical.out"] = lambda: (((x,), {"out": o}) for x in complexes() for o in (
    torch.zeros(0, dtype=x.dtype), torch.zeros(2, 2, dtype=x.dtype), torch.zeros_like(x, memory_format=torch.contiguous_format)))
CASES["view_as_complex"] = lambda: (((x,), {}) for d in (f32, f64, i64) for x in (
    make(d, 3, 2), make(d, 2), make(d), make(d, 3, 3), make(d, 0, 2), make(d, 2, 3).t(), make(d, 4, 5, 2)[::2, 1::2], make(d, 3)[1:],
    make(d, 3, 3)[:, :2], make(d, 3, 4)[:, 1:3]))
CASES["view.dtype"] = lambda: (((x, d), {}) for d in ALL if d is not b8 for x in [make(e, *s) for e in (f32, u8, i64, torch.complex64)
                               for s in ((3, 4), (), (0, 8), (16,))] + [make(f32, 8, 16)[:, ::2], make(f32, 8, 16)[1:, 2:10], make(f64, 4, 4).t()])


# -- joining and indexing --

@case("cat")
def joined(last=torch.channels_last):
    for dtype in MORE:
        for dim in (0, 1, -1, 2, 5):
            yield ([make(dtype, 2, 3), make(dtype, 2, 3), make(dtype, 3, 2).t()], dim), {}
    for dim in (0, 1):
        yield ([make(f32, 2, 3), make(i64, 2, 3), make(f64, 2, 3)], dim), {}
        yield ([make(u8, 2, 3), make(b8, 2, 3)], dim), {}
        yield ([make(f32, 2, 3), make(f32, 4, 3)], dim), {}
        yield ([make(f32, 2, 3), make(f32, 2, 3, 1)], dim), {}
        yield ([make(f32, 0), make(f32, 2, 3)], dim), {}
        yield ([make(f32, 0), make(f32, 0)], dim), {}
        yield ([make(f32, 2, 3, 4, 5).contiguous(memory_format=last)] * 2, dim), {}
        yield ([make(f32, 2, 3, 4, 5).contiguous(memory_format=last), make(f32, 2, 3, 4, 5)], dim), {}
    yield ([make(f32), make(f32)],), {}
    yield ([],), {}


CASES["stack"] = lambda: joined(torch.channels_last)
CASES["repeat"] = lambda: (((x, r), {}) for d in MAIN for x in layouts(d) if 0 < x.numel() < 1000 for r in
                           ([2], [1, 2], [2, 1, 3], [0, 2], [-1, 2, 1], [2, 2, 1, 3], []))
CASES["index_select"] = lambda: (((x, d, torch.tensor(i, dtype=t)), {}) for x in viewed() for d in (0, 1, -1, 4) for i, t in
                                 (([0], i64), ([0, 0, 1], i64), ([1, 0], i32), ([], i64), ([9], i64), ([-1], i64),
                                  (0, i64), ([[0]], i64), ([0], f32))
                                 if x.ndim or i == [0])
CASES["gather"] = lambda: (((x, d, torch.tensor(i, dtype=t)), {}) for x in viewed() for d in (0, 1, -1) for i, t in
                           (([0], i64), ([[0, 1], [1, 0]], i64), ([[[0, 1]]], i64), ([9], i64), ([], i64), (0, i64), (1, i64), ([0], i32), ([[9, 0]], i64)))
CASES["embedding"] = lambda: (((make(d, 5, 3), torch.tensor(i, dtype=t)), {}) for d in MAIN for i, t in
                              (([0, 4, 1], i64), ([[1, 2], [3, 0]], i64), (2, i64), ([5], i64), ([], i64), ([1], i32), ([1], f32)))


CASES["embedding_dense_backward"] = lambda: (
    ((make(d, *torch.tensor(i).shape, 3), torch.tensor(i, dtype=t), 6, p, s), {}) for d in (f32, f64, torch.bfloat16) for p in (-1, 1, 0) for s in (False, True)
    for i, t in (([0, 4, 1, 4], i64), ([[1, 2], [1, 0]], i64), (2, i64), ([1, 1], i32), ([1], f32)))
CASES["embedding_renorm_"] = lambda: (((make(d, 5, 3), torch.tensor(i, dtype=t), m, p), {}) for d in (f32, f64) for m in (1.0, 100.0, 0.5) for p in (2.0, 1.0, inf)
                                      for i, t in (([0, 4, 1, 4], i64), ([[1, 2], [3, 0]], i64), ([9], i64), ([1], i32), ([1], f32)))


def sorted_ones():
    for a in ALL:
        for b in (a, f32, i64):
            yield make(a, 7).sort().values if not a.is_complex else make(a, 7), make(b, 3, 4)
    yield make(f32, 3, 7).sort().values, make(f32, 3, 4)
    yield make(f32, 7, 3).t().sort().values, make(f32, 4, 3).t()
    yield make(f32, 7).sort().values, special(f32)
    yield special(i64).sort().values, special(i64)
    for x, y in ((make(f32, 0), make(f32, 2)), (make(f32, 3), make(f32, 0)), (make(f32), make(f32, 2)), (make(f32, 2, 3), make(f32, 3, 3)), (make(f32, 2, 3), make(f32)),
                 (make(f32, 3).sort().values, make(f32)), (make(f32, 2000).sort().values, make(f32, 5000))):
        yield x, y


CASES["searchsorted.Tensor"] = lambda: itertools.chain(
    (((x, y), k) for x, y in sorted_ones() for k in ({}, {"right": True}, {"out_int32": True}, {"side": "right"}, {"side": "left", "right": True}, {"side": "up"})),
    (((x, make(f32, 4)), {"sorter": torch.tensor(s)}) for x in (make(f32, 3),) for s in ([2, 1, 0], [0, 1], [0.5, 1, 2])),  # 1.13 reads where an index that is out of range points
    [((x := make(f32, 3, 5), make(f32, 3, 4)), {"sorter": x.argsort(-1)})])
CASES["searchsorted.Scalar"] = lambda: (((x, v), {"right": r}) for x, _ in sorted_ones() for v in (1, 0.5) for r in (False, True))
CASES["bucketize.Tensor"] = lambda: (((y, x), {"right": r, "out_int32": o}) for x, y in sorted_ones() for r in (False, True) for o in (False, True))
CASES["bucketize.Scalar"] = lambda: (((v, x), {"right": r}) for x, _ in sorted_ones() for v in (1, 0.5) for r in (False, True))


def repeated():
    return [make(d, *s) for d in MORE + [torch.complex64] for s in ((3, 4), (9,))] + [
        make(f32, 4, 3).t(), make(f32), make(f32, 0), make(f32, 0, 3), make(f32, 3, 0), make(f32, 0, 0), make(i64, 3, 2, 2, low=0, high=2), make(b8, 6, 2), special(i64)]


CASES["_unique2"] = lambda: (((x, True, i, c), {}) for x in repeated() for i in (False, True) for c in (False, True))
CASES["unique_consecutive"] = lambda: (((x, i, c, *d), {}) for x in repeated() for i in (False, True) for c in (False, True) for d in ((), (0,), (-1,), (5,)))
CASES["unique_dim"] = lambda: (((x, d, True, i, True), {}) for x in repeated() for d in (0, -1, 5) for i in (False, True))
CASES["unique_dim_consecutive"] = lambda: (((x, d), {}) for x in repeated() for d in (0, -1, 5))
CASES["one_hot"] = lambda: (((torch.tensor(i, dtype=t), *n), {}) for n in ((), (6,), (2,), (0,)) for i, t in (
    ([0, 4, 1], i64), ([[1, 2], [3, 0]], i64), (2, i64), ([], i64), ([-1], i64), ([1], i32)))


# -- order --

def lines(types=MORE):
    """A tensor of every dtype and geometry, with equal elements, lines short and long, and a dimension."""
    for x in [make(d, *s) for d in types for s in ((3, 4), (9,), (7, 5))] + [special(f32), special(i64), special(torch.bfloat16), special(f32).repeat(3, 2)] + [
            make(f32, 4, 3).t(), make(f32, 6, 8)[::2, ::2], make(f32), make(i64), make(f32, 0), make(f32, 3, 0), make(f32, 2, 3, 4, 2).to(memory_format=torch.channels_last),
            make(f32, 3, 1).expand(3, 4), make(i64, 30, 70), make(i64, 2, 900), make(f32, 2, 500), make(f64, 300, 4), make(b8, 8, 90), make(torch.complex64, 3)]:
        for d in (-1, 0, 1) if x.dtype is f32 else (-1, 5) if x.dtype is i64 else (-1,):
            yield x, d


def pair_outs(x):
    return [{"values": v, "indices": i} for v, i in (
        (torch.zeros(0, dtype=x.dtype), torch.zeros(0, dtype=i64)), (torch.zeros(6, 8, dtype=x.dtype)[::2, ::2], torch.zeros(3, 4, dtype=i64)),
        (torch.zeros(2, dtype=x.dtype), torch.zeros(2, dtype=i64)), (torch.zeros(0, dtype=x.dtype), torch.zeros(0)), (torch.zeros(0, dtype=torch.int8), torch.zeros(0, dtype=i64)))]


CASES["sort"] = CASES["argsort"] = some(60, lambda: (((x, d, r), {}) for x, d in lines() for r in (False, True)))
CASES["sort.stable"] = some(60, lambda: (((x,), {"stable": True, "dim": d, "descending": r}) for x, d in lines() for r in (False, True)))
CASES["argsort.stable"] = CASES["sort.stable"]
CASES["sort.values"] = some(60, lambda: (((x, d), o) for x, d in lines() for o in pair_outs(x)))
CASES["sort.values_stable"] = some(60, lambda: (((x,), {"stable": True, "dim": d, **o}) for x, d in lines() for o in pair_outs(x)))
CASES["msort"] = some(60, lambda: (((x,), {}) for x, _ in lines()))
CASES["msort.out"] = some(60, lambda: (((x,), {"out": torch.zeros(0, dtype=e)}) for x, _ in lines() for e in (x.dtype, b8)))
long_lines = lambda: [(y.repeat(40), -1) for d in MORE if d is not b8 for y in (special(d), make(d, 9))] + [(make(f64, 300, 2), 0)]
CASES["topk"] = some(90, lambda: (((x, k, d, g, s), {}) for x, d in [*lines(), *long_lines()] for k in (0, 1, 3, 20, 60, -1) for g in (True, False) for s in (True, False)))
CASES["topk.values"] = some(60, lambda: (((x, 2, d), o) for x, d in lines() for o in pair_outs(x)))
CASES["kthvalue"] = some(60, lambda: (((x, k, d, e), {}) for x, d in lines() for k in (0, 1, 3, 35, 400) for e in (False, True)))
CASES["kthvalue.values"] = some(60, lambda: (((x, 2, d), o) for x, d in lines() for o in pair_outs(x)))
CASES["median"] = CASES["nanmedian"] = some(60, lambda: (((x,), {}) for x, _ in lines()))
# 1.13's medians take an expanded dimension for a packed one
CASES["median.dim"] = CASES["nanmedian.dim"] = CASES["mode"] = some(60, lambda: (((x, d, e), {}) for x, d in lines() if 0 not in x.stride() for e in (False, True)))
CASES["median.dim_values"] = CASES["nanmedian.dim_values"] = CASES["mode.values"] = some(60, lambda: (
    ((x, d), o) for x, d in lines() if 0 not in x.stride() for o in pair_outs(x)))


def counted():
    for x in [make(d, *s) for d in MORE for s in ((7,), (3, 4), (0,))] + [make(f32), special(f32), special(i64), make(f32, 4, 3).t(), make(f64, 3, 200)]:
        yield x


CASES["isin.Tensor_Tensor"] = some(150, lambda: (((x, y), k) for x in counted() for y in counted() for k in ({}, {"invert": True}) if y.is_contiguous()))  # 1.13 takes no view of others
CASES["isin.Tensor_Tensor_out"] = some(60, lambda: (((x, y), {"out": o}) for x in counted() for y in counted() if y.is_contiguous() for o in (torch.zeros(0, dtype=b8), torch.zeros(3, 4, dtype=b8), torch.zeros(0))))
CASES["isin.Tensor_Scalar"] = some(60, lambda: (((x, v), {"invert": n}) for x in counted() for v in (2, -1, 1.5) for n in (False, True)))
CASES["isin.Scalar_Tensor"] = some(60, lambda: (((v, x), {"invert": n}) for x in counted() for v in (2, -1, 1.5) for n in (False, True)))
CASES["isin.Tensor_Scalar_out"] = some(60, lambda: (((x, 2), {"out": torch.zeros(0, dtype=o)}) for x in counted() for o in (b8, f32)))
CASES["isin.Scalar_Tensor_out"] = some(60, lambda: (((2, x), {"out": torch.zeros(0, dtype=o)}) for x in counted() for o in (b8, f32)))
CASES["bincount"] = some(100, lambda: (((x.abs() if x.dtype is i64 else x, w, n), {}) for x in counted() for w in (
    None, make(f32, *x.shape), make(f64, *x.shape), make(i64, *x.shape), make(f32, 3)) for n in (0, 12, -1)
    if x.numel() == 0 or not x.dtype.is_floating_point and x.max() < 99))
CASES["histc"] = some(100, lambda: (((x, *a), {}) for x in counted() if x.dtype is not torch.bfloat16 and x.shape != (14,) for a in ((), (5,), (4, -1, 2), (0,), (3, 2, 1), (3, 0, inf))))
CASES["histc.out"] = some(60, lambda: (((x, 5), {"out": torch.zeros(n, dtype=d)}) for x in counted() for n in (0, 5, 3) for d in (x.dtype, i64)))


def weights_of(x):
    return [{}, {"density": True}, {"weight": make(x.dtype, *x.shape, low=0)}, {"weight": make(i64, *x.shape)}, {"weight": make(x.dtype, 2)}]


CASES["histogram.bin_ct"] = some(100, lambda: (((x, *b), {**k, **r}) for x in counted() for b in ((), (5,), (0,)) for k in weights_of(x)
                                               for r in ({}, {"range": [-1.0, 3.0]}, {"range": [1.0]}, {"range": [2.0, 1.0]}, {"range": [2.0, 2.0]})))
CASES["histogram.bins_tensor"] = some(100, lambda: (((x, make(d, *s).sort().values), k) for x in counted() for d, s in ((x.dtype, (6,)), (f32, (6,)), (x.dtype, (1,)), (x.dtype, (2, 3)))
                                                    for k in weights_of(x)))
CASES["histogram.bin_ct_out"] = some(40, lambda: (((x, 5), {"hist": torch.zeros(n, dtype=d), "bin_edges": torch.zeros(0, dtype=e)}) for x in counted()
                                                  for n in (0, 5, 3) for d in (x.dtype, i64) for e in (x.dtype, i64)))
CASES["histogram.bins_tensor_out"] = some(40, lambda: (((x, make(x.dtype, 6).sort().values), {"hist": torch.zeros(n, dtype=d), "bin_edges": torch.zeros(0, dtype=x.dtype)})
                                                       for x in counted() for n in (0, 5, 3) for d in (x.dtype, i64)))
points = lambda: [make(d, *s) for d in (f32, f64, i64) for s in ((30, 2), (4, 5, 3), (0, 2), (5,), (9, 1))]
CASES["_histogramdd_bin_edges"] = CASES["_histogramdd_from_bin_cts"] = some(100, lambda: (
    ((x, b), {**r, **d}) for x in points() for b in ([3, 4], [3, 2, 5], [1, 0]) if x.shape[-1] == len(b) for r in ({}, {"range": [-2.0, 3.0] * len(b)}, {"range": [1.0]}) for d in ({}, {"density": True})))
CASES["_histogramdd_from_bin_tensors"] = some(100, lambda: (((x, [make(d, n).sort().values for n in b]), k) for x in points() for d in (x.dtype, f32) for b in ([3, 4], [3, 2, 5], [4], [1, 1])
                                                            for k in ({}, {"density": True}, {"weight": make(x.dtype, *x.shape[:-1])})))


def segmented():
    """data, and what says where its segments are"""
    for d in (f32, f64, torch.float16, torch.bfloat16, i64):
        for x in (make(d, 6, 3), make(d, 6), make(d, 3, 6).t(), special(f32)[:6].to(d)):
            for where in ({"lengths": torch.tensor([2, 0, 3, 1])}, {"lengths": torch.tensor([6], dtype=i32)}, {"offsets": torch.tensor([0, 2, 2, 6])},
                          {"lengths": torch.tensor([2, 3])}, {"lengths": torch.tensor([7, -1])}, {}):
                yield x, where
        yield make(d, 2, 4, 3), {"lengths": torch.tensor([[1, 3], [4, 0]]), "axis": 1}
        yield make(d, 2, 4, 3), {"lengths": torch.tensor([1, 3]), "axis": 1}


CASES["segment_reduce"] = some(150, lambda: (((x, r), {**w, **k}) for x, w in segmented() for r in ("sum", "mean", "max", "min", "prod", "amax") for k in ({}, {"initial": 1})))
CASES["_segment_reduce_backward"] = some(100, lambda: (
    ((make(x.dtype, *y.shape), y, x, r), {**w, **k}) for x, w in segmented() if x.dtype is not i64 and w and sum(w.get("lengths", torch.tensor([6])).flatten()) >= 6
    and (w.get("lengths") is None or w["lengths"].min() >= 0 and w["lengths"].dim() == w.get("axis", 0) + 1)
    for r in ("sum", "mean", "max", "min", "prod") for k in ({}, {"initial": 1}) for y in (torch.segment_reduce(x, r, **w, **k),)))


# -- copies of views --

def copied(view, *outs):
    """The view's cases; out= of the shape that it gives, of another dtype, and of no such shape."""
    for args, kwargs in some(25, CASES[view] if view in CASES else with_args(()))():
        if not outs:
            yield args, kwargs
            continue
        try:
            made = operator(view)(*args, **kwargs)
        except (RuntimeError, IndexError):
            continue
        many = isinstance(made, (list, tuple))
        for d in (args[0].dtype, f64):
            o = [torch.zeros(m.shape, dtype=d if not m.is_complex() else m.dtype) for m in (made if many else [made])]
            yield args, {**kwargs, "out": o if many else o[0]}


for _view in ("alias as_strided detach diagonal expand permute select.int slice.Tensor split.Tensor split_with_sizes squeeze squeeze.dim t transpose.int unbind.int unfold "
              "unsqueeze view_as_complex view_as_real view view.dtype _conj _neg_view _reshape_alias").split():
    _base, _, _over = _view.partition(".")
    CASES[_base + "_copy" + ("." + _over if _over else "")] = lambda view=_view: copied(view)
    CASES[_base + "_copy." + (_over + "_out" if _over else "out")] = lambda view=_view: copied(view, True)


# -- lists of tensors --

CASES["tensor_split.sections"] = with_args((1,), (2, 0), (3, -1), (7, 1), (0,), (-1,), (2, 5))
CASES["tensor_split.indices"] = with_args(([1],), ([0, 1], -1), ([], 0), ([2, 1, 9], 1), ([-1, 2],), ([1], 5))
CASES["tensor_split.tensor_indices_or_sections"] = with_args((torch.tensor(2),), (torch.tensor([1, 2]), -1), (torch.tensor([1, 2, 3, 4])[::2], 0),
                                                             (torch.tensor([[1]]),), (torch.tensor(2.0),), (torch.tensor(0),))
CASES["hsplit.int"] = CASES["vsplit.int"] = CASES["dsplit.int"] = with_args((1,), (2,), (3,), (0,), (-2,))
CASES["hsplit.array"] = CASES["vsplit.array"] = CASES["dsplit.array"] = with_args(([1],), ([0, 2],), ([],))
CASES["unsafe_split.Tensor"], CASES["unsafe_split_with_sizes"], CASES["unsafe_chunk"] = CASES["split.Tensor"], CASES["split_with_sizes"], CASES["chunk"]
CASES["split.sizes"] = CASES["split_with_sizes"]
CASES["atleast_1d"] = CASES["atleast_2d"] = CASES["atleast_3d"] = with_args(())
CASES["atleast_1d.Sequence"] = CASES["atleast_2d.Sequence"] = CASES["atleast_3d.Sequence"] = lambda: (((x,), {}) for x in (viewed(), [], [make(f32)]))


def stacked():
    return [[make(f32, 3), make(f32, 3)], [make(f32, 2, 3), make(f32, 2, 3)], [make(f32), make(i64)], [make(f32, 2, 3, 4), make(f64, 2, 3, 4)], [make(f32, 2), make(f32, 3)],
            [make(f32, 2), make(f32, 2, 3)], [], [make(f32, 2, 1), make(f32, 2)], [make(b8, 0)], [make(f32, 4, 3).t(), make(f32, 3, 4)]]


for _name in ("hstack", "vstack", "dstack", "column_stack", "row_stack"):
    CASES[_name] = lambda: (((x,), {}) for x in stacked())
    CASES[_name + ".out"] = lambda: (((x,), {"out": torch.zeros(s, dtype=d)}) for x in stacked() for s in ((0,), (4, 3)) for d in (f32, i64))
CASES["concat"] = CASES["concatenate"] = lambda: (((x, d), {}) for x in stacked() for d in (0, 1))
CASES["concat.out"] = CASES["concatenate.out"] = lambda: (((x, d), {"out": torch.zeros(0, dtype=e)}) for x in stacked() for d in (0, 1) for e in (f32, i64))
CASES["broadcast_tensors"] = lambda: (((x,), {}) for x in (stacked() + [[make(f32, 3, 1), make(i64, 4), make(f32)]]))
CASES["meshgrid"] = lambda: (((x,), {}) for x in stacked() + [[make(f32, 2), make(f32, 3), make(f32)], [make(f32, 6)[::2], make(f32, 1)]])
CASES["meshgrid.indexing"] = lambda: (((x[0],), {"indexing": i}) for x, _ in CASES["meshgrid"]() for i in ("ij", "xy", "yx"))
CASES["flatten_dense_tensors"] = lambda: (((x,), {}) for x in stacked() + [[make(f32, 4, 3).t()]])
CASES["unflatten_dense_tensors"] = lambda: (((make(f32, n), x), {}) for n in (6, 12, 48) for x in stacked())


for _name in "numpy_T mT mH adjoint matrix_H fliplr flipud ravel nonzero_numpy where argwhere".split():
    CASES[_name] = lambda: (((x,), {}) for x in viewed() + [make(f32, 3, 4), make(torch.complex64, 2, 3), make(torch.complex64)])
CASES["diagflat"] = with_args((), (1,), (-2,))
CASES["tile"] = with_args(([2],), ([2, 1, 3],), ([],), ([2, 2, 1, 2],), ([0],), ([-1],))
CASES["narrow.Tensor"] = with_args((0, torch.tensor(1), 1), (-1, torch.tensor(0), 2), (0, torch.tensor([1]), 1), (0, torch.tensor(1.5), 1))
CASES["fill_diagonal_"] = lambda: (((x, v, w), {}) for x in (make(f32, 3, 4), make(f32, 9, 3), make(i64, 4, 3).t(), make(f32, 3, 3, 3), make(f32, 3, 4, 3), make(f32, 3), make(f32, 8, 9)[::2, ::3],
                                                             make(f32, 0, 3)) for v in (2, 1.5) for w in (False, True) if x.dtype is f32 or v == 2)
CASES["sum_to_size"] = with_args(([1],), ([],), ([3, 4],), ([1, 1],), ([2, 1, 4],), ([4],), ([3, 1],), ([6],), ([5],), ([1, 2, 3, 4],))
CASES["swapaxes"] = CASES["swapdims"] = CASES["swapaxes_"] = CASES["swapdims_"] = CASES["transpose.int"]
CASES["moveaxis.int"], CASES["moveaxis.intlist"] = CASES["movedim.int"], CASES["movedim.intlist"]


@case("einsum")
def summed_products():
    for d in (f32, f64, i64, torch.complex64):
        for text, *shapes in (("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
                              ("i,i->", (3,), (3,)), ("i,j->ij", (2,), (3,)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
                              ("ijk->", (2, 3, 4)), ("...->...", (2, 3)), ("a...,b->a...b", (2, 3), (4,)), ("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)), (" i j , j k -> i k ", (2, 3), (3, 4)),
                              ("ij,ij->i", (2, 3), (1, 3)), ("Ab,bA", (2, 3), (3, 2)), ("i...->...", (3, 2)), ("...ii->...i", (2, 3, 3)), ("ij,kj->ik", (2, 3), (4, 3)), ("ijk,jil->kl", (2, 3, 4), (3, 2, 5)),
                              ("ij,jk->il", (2, 3), (3, 4)), ("ij,jk->ii", (2, 3), (3, 4)), ("ij", (2, 3, 4)), ("i.j", (2, 3)), ("ij,jk", (2, 3), (4, 5)), ("i1", (2, 3)), ("ij,jk", (2, 3)), ("ij", (2, 3), (2, 3)),
                              ("ii", (2, 3)), ("->", ()), ("i,->i", (3,), ()), ("ij,k->k", (2, 3), (4,)), ("ij,j->", (0, 3), (3,))):
            yield (text, [make(d, *s) for s in shapes]), {}
    yield ("ij,jk,kl->il", [make(f32, 2, 3), make(f32, 3, 4), make(f32, 4, 5)]), {"path": [1, 2, 0, 1]}
    yield ("ij,jk,kl->il", [make(f32, 2, 3), make(f32, 3, 4), make(f32, 4, 5)]), {"path": [1, 1, 0, 1]}
    yield ("ij,jk", [make(f32, 3, 2).t(), make(f32, 3, 4)]), {"path": [0, 1]}
    yield ("ij,jk", [make(f32, 2, 3), make(f32, 3, 4)]), {"path": [0]}
    yield ("ij,jk", []), {}


# -- differences and integrals --

def samples():
    return [make(d, *s) for d in (f32, i64, b8, u8, torch.complex64) for s in ((5,), (3, 4))] + [make(f32, 4, 3).t(), make(f32), make(f32, 0, 3), make(f32, 2, 3, 4)]


CASES["diff"] = some(100, lambda: (((x, n, d, p, a), {}) for x in samples() for n in (0, 1, 2, 9, -1) for d in (-1, 0, 5) for p in (None, make(x.dtype, *x.shape)) for a in (None, p, make(x.dtype, 2))))
CASES["diff.out"] = some(60, lambda: (((x, n, d), {"out": torch.zeros(s, dtype=e)}) for x in samples() if x.numel() for n in (0, 1, 2) for d in (-1, 0) for s in ((0,), (2, 4)) for e in (x.dtype, i64)))
CASES["trapezoid.x"] = CASES["trapz.x"] = CASES["cumulative_trapezoid.x"] = some(80, lambda: (
    ((y, x), {"dim": d}) for y in samples() for d in (-1, 0) for x in (make(f32, 5), make(f32, 4), make(f32, 3), make(i64, 3, 4), make(f32, 2, 3, 4), make(b8, 4))))
CASES["trapezoid.dx"] = CASES["cumulative_trapezoid.dx"] = lambda: (((y,), {"dx": v, "dim": d}) for y in samples() for d in (-1, 0) for v in (1, 0.5))
CASES["trapz.dx"] = lambda: (((y,), {"dx": v, "dim": d}) for y in samples() for d in (-1, 0) for v in (1.0, 0.5))


def graded():
    return [make(f32, 5), make(f64, 4, 3), make(f32, 3, 4, 5), make(i64, 4, 4), make(u8, 5), make(f32), make(f32, 2), make(torch.complex64, 4), make(f32, 4, 5).t()]


CASES["gradient.scalarint"] = lambda: (((x,), {"spacing": s, "dim": d, "edge_order": o}) for x in graded() for s in (None, 2, 0.5) for d in (None, 0, -1, 3) for o in (1, 2, 3))
CASES["gradient.scalararray"] = lambda: (((x,), {"spacing": s, "dim": d, "edge_order": o}) for x in graded() for s in (2, 0.5) for d in ([0], [1, 0], [0, 0], []) for o in (1, 2))
CASES["gradient.array"] = lambda: (((x,), {"dim": d, "edge_order": o}) for x in graded() for d in ([0], [1, 0], [0, 0], [-1]) for o in (1, 2))
CASES["gradient.scalarrayint"] = lambda: (((x,), {"spacing": s, "dim": d, "edge_order": o}) for x in graded() if x.dim() for s in ([2.0], [1.0, 0.5]) for d in (None, 0) if d == 0 or len(s) == x.dim() for o in (1, 2))
CASES["gradient.scalarrayarray"] = lambda: (((x,), {"spacing": s, "dim": d, "edge_order": o}) for x in graded() for s in ([2.0], [1.0, 0.5]) for d in ([0], [1, 0]) for o in (1, 2))


def placed(x, n):
    return [torch.cumsum(torch.rand(s, dtype=f64 if x.dtype is f64 else f32) + 0.5, 0) for s in list(x.shape)[:n]]


CASES["gradient.tensorarrayint"] = lambda: (((x,), {"spacing": placed(x, n), "dim": d, "edge_order": o}) for x in graded() for n, d in ((1, 0), (3, None), (2, 0)) for o in (1, 2))
CASES["gradient.tensorarray"] = lambda: (((x,), {"spacing": placed(x, n), "dim": d, "edge_order": o}) for x in graded() for n, d in ((1, [0]), (2, [0, 1])) for o in (1, 2))


# -- statistics --

def spread_samples():
    nans = make(f32, 4, 5)
    nans[1, 2] = nans[3] = nan
    return [make(f32, 4, 5), make(f64, 7), make(f32), make(f32, 2, 3, 4), make(f32, 0), nans, nans.t(), make(i64, 3), make(f32, 5, 4).t()]


CASES["quantile"] = CASES["nanquantile"] = some(150, lambda: (
    ((x, q, d, k), {"interpolation": m}) for x in spread_samples() for q in (torch.tensor(0.5, dtype=x.dtype), torch.tensor([0.1, 0.9, 1.0], dtype=x.dtype), torch.tensor([0.25], dtype=f32),
                                                                             torch.tensor([1.5], dtype=x.dtype), torch.tensor([[0.5]], dtype=x.dtype))
    for d in (None, 0, -1, 5) for k in (False, True) for m in ("linear", "lower", "higher", "midpoint", "nearest", "odd")))
CASES["quantile.scalar"] = CASES["nanquantile.scalar"] = some(80, lambda: (((x, q, d, k), {}) for x in spread_samples() for q in (0.3, 1.0, 1.5) for d in (None, 0, -1) for k in (False, True)))
CASES["quantile.out"] = CASES["nanquantile.out"] = some(40, lambda: (((x, torch.tensor([0.2, 0.6], dtype=x.dtype), 0), {"out": torch.zeros(n, dtype=d)}) for x in spread_samples()
                                                                     for n in (0, 3) for d in (x.dtype, i64)))
CASES["quantile.scalar_out"] = CASES["nanquantile.scalar_out"] = some(40, lambda: (((x, 0.2, 0), {"out": torch.zeros(n, dtype=d)}) for x in spread_samples() for n in (0, 3) for d in (x.dtype, i64)))
CASES["cov"] = lambda: (((x,), {**k, **f, **a}) for x in (make(f32, 3, 5), make(f64, 5), make(f32), make(torch.complex64, 3, 5), make(i64, 2, 5), make(b8, 5), make(f32, 2, 2, 5), make(f32, 5, 3).t())
                        for k in ({}, {"correction": 0}, {"correction": 9}) for f in ({}, {"fweights": torch.tensor([1, 2, 0, 1, 3])}, {"fweights": torch.tensor([-1, 2, 0, 1, 3])},
                                                                                     {"fweights": torch.tensor([1.5])}, {"fweights": torch.tensor([0] * 5)})
                        for a in ({}, {"aweights": torch.rand(5, dtype=f64)}))
CASES["corrcoef"] = lambda: (((x,), {}) for x in (make(f32, 3, 5), make(f64, 5), make(f32), make(torch.complex64, 3, 5), make(i64, 2, 5), make(b8, 5), make(f32, 2, 2, 5)))
CASES["histogramdd"] = some(60, lambda: (((x, b), {**r, **d}) for x in points() for b in ([3, 4], [3, 2, 5]) if x.shape[-1] == len(b) for r in ({}, {"range": [-2.0, 3.0] * len(b)}) for d in ({}, {"density": True})))
CASES["histogramdd.int_bins"] = some(40, lambda: (((x, b), d) for x in points() for b in (3, 0) for d in ({}, {"density": True})))
CASES["histogramdd.TensorList_bins"] = CASES["_histogramdd_from_bin_tensors"]
CASES["cartesian_prod"] = lambda: (((x,), {}) for x in ([make(f32, 3)], [make(f32, 3), make(f32, 2)], [make(i64, 2), make(i64, 0)], [make(f32, 3), make(f32)], [make(f32, 2), make(f32, 3), make(f32, 2)]))
CASES["combinations"] = lambda: (((x, r, w), {}) for x in (make(f32, 4), make(i64, 1), make(f32, 0), make(f32, 2, 2), make(b8, 5)) for r in (0, 1, 2, 3, 5, -1) for w in (False, True))
CASES["repeat_interleave.self_int"] = with_args((2,), (0,), (2, 0), (3, -1), (-1,), (2, 5))
CASES["repeat_interleave.self_Tensor"] = with_args((torch.tensor(2),), (torch.tensor([1, 2]), 0), (torch.tensor([3]), -1), (torch.tensor([1, 0, 2]), 1), (torch.tensor([[1]]),), (torch.tensor([1.5]),))


CASES["frexp.Tensor"] = lambda: (((x,), {}) for d in MORE for x in layouts(d))
CASES["frexp.Tensor_out"] = lambda: (((make(d, 3, 4),), {"mantissa": torch.zeros(n, dtype=m), "exponent": torch.zeros(n, dtype=e)})
                                     for d in MORE for m in (d, f32) for e in (i32, i64) for n in (0, (3, 4)))


# -- gradients of views and of picking --

CASES["select_backward"] = lambda: (((make(d, *g), s, *a), {}) for d in (f32, i64) for g, s, a in (((4,), [3, 4], (0, 1)), ((3,), [3, 4], (-1, -1)), ((4,), [3, 4], (0, 9)), ((), [3], (0, 2)), ((2,), [3, 4], (0, 1))))
CASES["slice_backward"] = lambda: (((make(d, *g), s, *a), {}) for d in (f32, i64) for g, s, a in (((2, 4), [3, 4], (0, 1, 3, 1)), ((3, 2), [3, 4], (1, 0, 4, 2)), ((3, 2), [3, 4], (1, 0, 100, 0)), ((1,), [3, 4], (0, 0, 2, 1))))
CASES["diagonal_backward"] = lambda: (((make(d, *g), s, *a), {}) for d in (f32, i64) for g, s, a in (((3,), [3, 4], (0, 0, 1)), ((2, 3), [3, 2, 4], (1, 0, 2)), ((3,), [3, 4], (0, 0, 0)), ((2,), [3, 4], (-1, 0, 1))))
CASES["index_select_backward"] = lambda: (((make(d, 3, 4), [5, 4], 0, torch.tensor(i)), {}) for d in (f32, i64) for i in ([0, 4, 4], [0, 1], [0, 1, 9]))
CASES["gather_backward"] = lambda: (((make(f32, 2, 2), make(f32, 3, 4), d, torch.tensor(i), False), {}) for d in (0, 1) for i in ([[0, 1], [1, 1]], [[0, 9], [1, 1]]))
CASES["masked_select_backward"] = lambda: (((make(f32, 9), x, m), {}) for x in (make(f32, 3, 4), make(f32, 4), make(f32, 3, 1)) for m in (make(b8, 3, 4), make(b8, 4)) if torch.broadcast_tensors(x, m)[1].sum() <= 9)
CASES["trace_backward"] = lambda: (((make(d), s), {}) for d in (f32, i64) for s in ([3, 4], [3], [0, 2]))
CASES["diag_backward"] = lambda: (((make(d, *g), s, k), {}) for d in (f32, i64) for g, s, k in (((3,), [3, 4], 0), ((3, 3), [3], 0), ((3,), [3, 4], 1), ((2,), [3, 4], -1), ((4, 4), [3], 1)))
CASES["value_selecting_reduction_backward"] = lambda: (((make(f32, *g), 1, torch.tensor(i), [3, 4], k), {}) for g, i, k in (((3,), [0, 3, 2], False), ((3, 1), [[0], [3], [2]], True), ((3,), [0, 9, 2], False)))
CASES["cummaxmin_backward"] = lambda: (((make(f32, 3, 4), make(f32, 3, 4), torch.tensor([[0, 0, 2, 2]] * 3), d), {}) for d in (0, 1, -1))


@case("where.self")
def chosen():
    for a, b in itertools.product(MAIN, MAIN):
        for x, y in pairs(a, b):
            yield (make(b8, *x.shape), x, y), {}
    yield (make(f32, 3), make(f32, 3), make(f32, 3)), {}
    yield (make(b8, 3), make(f32, 4), make(f32, 3)), {}


CASES["where.self_out"] = lambda: (((make(b8, *x.shape), x, y), {"out": o}) for d in MAIN for x, y in pairs(d, d) if x.numel() < 100 and y.dim() <= x.dim()
                                   for o in (torch.zeros(0, dtype=d), torch.zeros(6, 8, dtype=d)[::2, ::2], torch.zeros(3, 4, dtype=torch.int8)))
CASES["cat.out"] = lambda: (((t, d), {"out": o}) for e in MAIN for t in ([make(e, 2, 3), make(e, 2, 3)], [make(e, 3, 2).t(), make(f32, 2, 3)], [make(e, 0), make(e, 2, 3)])
                            for d in (0, 1) for o in (torch.zeros(0, dtype=e), torch.zeros(4, 3, dtype=e), torch.zeros(8, 6, dtype=e)[::2, ::2], torch.zeros(0), t[0],
                                                      torch.zeros(1, dtype=e).expand(4, 3)))
CASES["where.ScalarOther"] = lambda: (((make(b8, 3), make(d, 2, 3), s), {}) for d in MAIN for s in (2, 1.5))
CASES["where.ScalarSelf"] = lambda: (((make(b8, 3), s, make(d, 2, 3)), {}) for d in MAIN for s in (2, 1.5))
CASES["where.Scalar"] = lambda: (((make(b8, 3), s, t), {}) for s in (2, 1.5) for t in (2, 1.5))
CASES["masked_fill.Scalar"] = CASES["masked_fill_.Scalar"] = lambda: (
    ((x, m, v), {}) for d in MAIN for x in (make(d, 3, 4), make(d, 4, 3).t(), make(d, 4)) for m in
    (make(b8, 3, 4), make(b8, 4), make(f32, 4)) for v in (2, 0))


# -- pointwise ones with arguments of their own --

CASES["gelu"] = lambda: (((x,), {"approximate": a}) for d in MORE for x in layouts(d) for a in ("none", "tanh", "no"))
CASES["div.Tensor_mode"] = CASES["div_.Tensor_mode"] = lambda: (
    ((x, y), {"rounding_mode": m}) for a in MAIN for b in MAIN for x, y in pairs(a, b) for m in (None, "trunc", "floor", "up"))
CASES["clamp"] = CASES["clamp_"] = lambda: (((x, lo, hi), {}) for d in MAIN for x in layouts(d) for lo, hi in
                                            ((None, None), (1, None), (None, 2), (-1, 2), (0.5, 1.5), (3, 1), (nan, 1.0)))
CASES["clamp.Tensor"] = lambda: (((x, make(d, 4), None), {}) for d in MAIN for x in (make(d, 3, 4),))
CASES["hardtanh"] = CASES["leaky_relu"] = CASES["leaky_relu_"] = CASES["elu"] = CASES["softplus"] = \
    lambda: (((x, *a), {}) for d in MAIN for x in layouts(d) for a in ((), (2,), (0.25,)))
CASES["hardtanh"] = lambda: (((x, *a), {}) for d in MAIN for x in layouts(d) for a in ((), (-2, 2), (0.5, 1.5), (2, 1)))
CASES["lerp.Scalar"] = lambda: (((x, y, w), {}) for d in MAIN for x, y in pairs(d, d) for w in (0.25, 0.75, 2))
CASES["addcmul"] = CASES["addcdiv"] = lambda: (((make(d, 3, 4), make(d, 4), make(d, 3, 1)), {"value": v})
                                               for d in MAIN for v in (1, 2, 0.5))


# -- products, layers, reductions --

def matrices(*shapes):
    return lambda: ((tuple(make(d, *s) for s in group), {}) for d in (f32, f64, i64) for group in shapes)


CASES["mm"] = matrices(((3, 4), (4, 5)), ((3, 4), (5, 4)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((3,), (3, 2)), ((33, 65), (65, 17)))
CASES["bmm"] = matrices(((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (3, 4, 5)), ((0, 3, 4), (0, 4, 5)), ((3, 4), (4, 5)))
CASES["mv"] = matrices(((3, 4), (4,)), ((3, 4), (3,)), ((0, 4), (4,)))
CASES["dot"] = matrices(((4,), (4,)), ((4,), (3,)), ((0,), (0,)), ((2, 2), (2, 2)))
CASES["matmul"] = matrices(*(itertools.product(
    ((4,), (3, 4), (2, 3, 4), (5, 1, 3, 4), ()), ((4,), (4, 6), (2, 4, 6), (1, 2, 4, 6), (3, 3), ()))))
CASES["linear"] = matrices(((3, 4), (5, 4)), ((3, 4), (5, 4), (5,)), ((2, 3, 4), (5, 4), (5,)), ((4,), (5, 4), (5,)), ((4,), (4,)),
                           ((3, 4), (5, 3), (5,)), ((0, 4), (5, 4), (5,)))
CASES["addmm"] = lambda: (((make(d, *s), make(d, 3, 4), make(d, 4, 5)), k) for d in (f32, f64, i64) for s in ((3, 5), (5,), (3, 1), (), (2, 5))
                          for k in ({}, {"beta": 2, "alpha": 3}, {"beta": 0}))
CASES["baddbmm"] = lambda: (((make(d, *s), make(d, 2, 3, 4), make(d, 2, 4, 5)), k) for d in (f32, f64) for s in ((2, 3, 5), (5,), ())
                            for k in ({}, {"beta": 2, "alpha": 3}))  # beta=0: PyTorch adds what lay in memory


def with_forms(name):
    """name's cases also for name_, whose self is given a shape that fits, and for name.out with many outputs."""
    def in_place():
        for args, kwargs in CASES[name]():
            yield args, kwargs
            try:
                made = operator(name)(*args, **kwargs)
            except (RuntimeError, IndexError):
                continue
            yield ((make(args[0].dtype, *made.shape),) + args[1:]), kwargs

    def out():
        for args, kwargs in CASES[name]():
            try:
                made = operator(name)(*args, **kwargs)
            except (RuntimeError, IndexError):
                continue
            shape, dtype = made.shape, made.dtype
            for o in (make(dtype, *shape), make(dtype, 0), make(dtype, 7), make(dtype, *shape)
                      if len(shape) < 2 else make(dtype, *shape[:-2], shape[-1], shape[-2]).mT,
                      make(f64, *shape), make(dtype, *shape, 2)[..., 0]):
                yield args, {**kwargs, "out": o}

    CASES[name + ".out"] = out
    CASES[name + "_"] = in_place


PRODUCT_TYPES = (f32, f64, i64, i32, u8, b8, torch.int8, torch.complex64, torch.complex128)


def added(first, *shapes):
    """beta self + alpha times a product, for every shape of self."""
    return lambda: (((make(d, *s), *(make(d, *t) for t in shapes)), k) for d in PRODUCT_TYPES for s in first
                    for k in ({}, {"beta": 2, "alpha": 3}, {"beta": 0}, {"alpha": 0}, {"beta": 0.5}))


for typed, shapes in (("mm", ((3, 4), (4, 5))), ("bmm", ((2, 3, 4), (2, 4, 5))), ("mv", ((3, 4), (4,))), ("dot", ((4,), (4,)))):
    CASES[typed] = lambda plain=CASES[typed], shapes=shapes: itertools.chain(plain(), (
        (tuple(make(d, *s) for s in shapes), {}) for d in PRODUCT_TYPES), (
        (tuple(make(d, *s, 2)[..., 1] for s in shapes), {}) for d in PRODUCT_TYPES), (
        ((make(f32, *shapes[0]), make(f64, *shapes[1])), {}),))
CASES["vdot"] = CASES["dot"] = lambda dots=CASES["dot"]: ((a, k) for a, k in dots() if not a[0].is_complex())  # there Debian's is wrong
CASES["addmv"] = added(((3,), (1,), (), (2,)), (3, 4), (4,))
CASES["addbmm"] = added(((3, 5), (5,), (2, 5)), (2, 3, 4), (2, 4, 5))
CASES["addr"] = lambda: itertools.chain(added(((3, 4), (4,), (), (2, 4)), (3,), (4,))(), (
    ((make(a, 3, 4), make(b, 3), make(c, 4)), {}) for a in MAIN for b in MAIN for c in (f32, b8)), (
    ((make(b8, 3, 4), make(b8, 3), make(b8, 4)), {"beta": b, "alpha": a}) for a in (True, False) for b in (True, False)))
CASES["outer"] = CASES["ger"] = lambda: ((tuple(make(d, *s) for d, s in zip(ds, ss)), {}) for ds in itertools.product(MAIN, MAIN)
                                         for ss in (((3,), (4,)), ((0,), (2,)), ((2, 2), (2,)), ((2,), ())))
CASES["inner"] = matrices(((4,), (4,)), ((3, 4), (4,)), ((2, 3, 4), (5, 4)), ((), (3,)), ((3, 4), (3, 5)), ((2, 0), (3, 0)))
CASES["kron"] = lambda: ((tuple(make(d, *s) for d, s in zip(ds, ss)), {}) for ds in itertools.product(MAIN, MAIN) for ss in (
    ((3, 2), (2, 4)), ((3,), (2, 4)), ((2, 1, 3), (2,)), ((), (3,)), ((), ()), ((0, 2), (3,))))
CASES["tensordot"] = lambda: (((make(d, *a), make(d, *b), x, y), {}) for d in (f32, f64, i64) for a, b, x, y in (
    ((2, 3, 4), (3, 4, 5), [1, 2], [0, 1]), ((2, 3, 4), (4, 3, 5), [1, 2], [1, 0]), ((2, 3), (4, 5), [], []), ((3, 4), (3, 4), [-1, 0], [1, 0]),
    ((2, 3, 1), (4, 4), [2], [0]), ((2, 3), (4, 1), [0], [1]), ((2, 3), (3, 4), [0], [0]), ((3, 3), (3, 3), [0, 0], [0, 1]),
    ((2, 3), (3, 4), [1], [0, 1]), ((2, 3), (3, 4), [5], [0]), ((), (), [], []), ((2, 0), (0, 3), [1], [0])))
CASES["chain_matmul"] = lambda: ((([make(d, *s) for s in shapes],), {}) for d in (f32, f64) for shapes in (
    ((2, 3), (3, 4)), ((10, 3), (3, 40), (40, 2)), ((2, 30), (30, 4), (4, 20), (20, 3), (3, 1)), ((2, 3),), ((2, 3), (4, 4)), ((2, 3), (3,)), ()))
CASES["linalg_multi_dot"] = lambda: itertools.chain(CASES["chain_matmul"](), ((([make(f32, *s) for s in shapes],), {}) for shapes in (
    ((3,), (3, 4)), ((3,), (3, 4), (4,)), ((2, 3), (3, 4), (4,)), ((2, 3), (3, 4, 1), (4,)), ((2, 2, 2), (2, 2)), ((3,), (3,)))),
    [(([make(f32, 2, 3), make(f64, 3, 2)],), {})])
CASES["linalg_matmul"] = CASES["matmul"]
CASES["bilinear"] = lambda: ((tuple(make(d, *s) if s is not None else None for s in shapes), {}) for d in (f32, f64, i64, torch.complex64)
                             for shapes in (((2, 3), (2, 4), (5, 3, 4), (5,)), ((3,), (4,), (5, 3, 4), None), ((2, 6, 3), (2, 6, 4), (5, 3, 4), (5,)),
                                            ((0, 3), (0, 4), (5, 3, 4), (5,)), ((2, 3), (2, 4), (5, 4, 3), None), ((2, 3), (1, 4), (5, 3, 4), None),
                                            ((2, 3), (2, 4), (5, 3, 4), (4,)), ((2, 1), (2, 1), (1, 1, 1), (1,)), ((2, 3), (2, 2, 4), (5, 3, 4), None)))
CASES["_trilinear"] = lambda: (((make(d, *a), make(d, *b), make(d, *c), e1, e2, e3, s, *u), {}) for d in (f32, f64) for a, b, c, e1, e2, e3, s, u in (
    ((2, 3), (5, 3, 4), (2, 4), [1, 3], [0], [1, 2], [2, 3], ()), ((2, 3), (5, 3, 4), (2, 4), [1, 3], [0], [1, 2], [2, 3], (0,)),
    ((2, 3), (5, 3, 4), (2, 4), [1, 3], [0], [1, 2], [2, 3], (2,)), ((2, 3), (2, 5), (2, 4), [2, 3], [1, 3], [1, 2], [0], ()),
    ((2, 3), (2, 5), (2, 4), [2, 3], [1, 3], [1, 2], [0], (0,)), ((2, 3), (5, 3, 4), (2, 4), [1, 3], [0], [1, 2], [2, 2], ()),
    ((2, 3), (5, 3, 4), (2, 4), [1, 3], [0], [1, 2], [2, 3], (4,)), ((0, 3), (5, 3, 4), (0, 4), [1, 3], [0], [1, 2], [2, 3], ())))
for emptied, self_shape, left, right in (("addmm", (3, 5), (3, 0), (0, 5)), ("baddbmm", (2, 3, 5), (2, 3, 0), (2, 0, 5)), ("addmv", (3,), (3, 0), (0,)),
                                         ("addbmm", (3, 5), (2, 3, 0), (2, 0, 5)), ("addbmm", (3, 5), (0, 3, 4), (0, 4, 5))):
    CASES[emptied] = lambda more=CASES[emptied], s=self_shape, x=left, y=right: itertools.chain(more(), (
        ((make(a, *s), make(b, *x), make(c, *y)), k) for a in (f32, i64, torch.float16, b8) for b in (f32, i64, torch.float16, b8)
        for c in (f32, i64, torch.float16, b8) for k in ({}, {"beta": 0}, {"beta": 2})
        if x != (2, 3, 0) or s != (3, 5) or b8 not in (a, b, c)))  # there PyTorch multiplies bool by 1
for emptied, left, right in (("mm", (3, 0), (0, 5)), ("bmm", (2, 3, 0), (2, 0, 5)), ("mv", (3, 0), (0,))):
    CASES[emptied] = lambda more=CASES[emptied], x=left, y=right: itertools.chain(more(), (
        ((make(a, *x), make(b, *y)), {}) for a in (f32, i64, torch.float16, b8) for b in (f32, i64, torch.float16, b8)))
for formed in "mm bmm addmm baddbmm mv addmv addbmm addr dot vdot outer ger inner kron tensordot linalg_matmul matmul chain_matmul linalg_multi_dot".split():
    with_forms(formed)
CASES["baddbmm_"] = CASES["baddbmm"]
CASES["matmul.out"] = CASES["linalg_matmul.out"] = lambda outs=CASES["matmul.out"]: (
    (a, k) for a, k in outs() if k["out"].stride() != (2,))  # which PyTorch packs, for a vector and a matrix
CASES["addbmm_"] = added(((3, 5), (2, 5)), (2, 3, 4), (2, 4, 5))  # PyTorch resizes self


def images(dtype=f32):
    x = make(dtype, 2, 4, 9, 8)
    return [x, x.contiguous(memory_format=torch.channels_last), x[:, :, ::2], x[:0], x[0]]


CASES["conv2d"] = lambda: (((x, make(x.dtype, 6, 4 // g, 3, 3), b, s, p, d, g), {}) for t in (f32, f64) for x in images(t) for b in (None, make(t, 6))
                           for s, p, d, g in (([1], [0], [1], 1), ([2, 1], [1, 1], [1, 1], 2), ([1, 1], [2, 1], [2, 1], 1)))
CASES["conv1d"] = lambda: (((make(f32, *s), make(f32, 6, 4, 3), b, [t], [1]), {}) for s in ((2, 4, 9), (4, 9), (2, 3, 9)) for b in (None, make(f32, 6)) for t in (1, 2))
CASES["convolution"] = lambda: (((x, make(f32, 6, 4, 3, 3), make(f32, 6), [1, 1], [1, 1], [1, 1], False, [0, 0], 1), {}) for x in images()[:3])
_spread = ([2, 1], [1, 0], [1, 2])  # stride, padding, dilation
CASES["conv3d"] = lambda: (((make(f32, 2, 4, 5, 4, 6), make(f32, 6, 4 // g, 3, 2, 3), b, [1, 2, 1], 1, [1, 1, 2], g), {}) for b in (None, make(f32, 6)) for g in (1, 2))
CASES["conv2d.padding"] = lambda: (((x, make(f32, 6, 4, *k), None, 1, m, [1, 2]), {}) for x in images()[:2] for k in ((3, 3), (2, 4)) for m in ("same", "valid", "other"))
CASES["conv_transpose2d.input"] = lambda: (((x, make(x.dtype, 4, 6 // g, 3, 2), b, s, 1, o, g, [1, 2]), {}) for t in (f32, f64) for x in images(t) for b in (None, make(t, 6)) for g in (1, 2) for s, o in ((1, 0), ([2, 3], [1, 2]), (1, 5)))
CASES["convolution_backward"] = lambda: (((make(t, 2, 6, 4, 3), layout(make(t, 2, 4, 7, 7)), make(t, 6, 4 // g, 3, 3), [6], *_spread, False, [0, 0], g, m), {}) for t in (f32, f64, i64) for layout in (lambda x: x, lambda x: x.contiguous(memory_format=torch.channels_last)) for g in (1, 2) for m in ([True] * 3, [True, False, False]))
CASES["_convolution"] = lambda: (((x, make(f32, 6, 4, 3, 2), make(f32, 6), *_spread, False, [0, 0], 1, *[True] * 4), {}) for x in images()[:2])
CASES["_convolution.deprecated"] = lambda: ((a[:-1], k) for a, k in CASES["_convolution"]())
CASES["_convolution_mode"] = lambda: (((x, w, b, [1], m, d, 1), k) for (x, w, b, _, m, d), k in CASES["conv2d.padding"]())
CASES["_nnpack_available"] = lambda: [((), {})]
OTHERS = {"convolution_overrideable", "convolution_backward_overrideable"}  # kernels that PyTorch's CPU has not
# torch.ops answers with a dtype's number, a client gets its name: tests/integration/test_facts.py has them
OTHERS |= {"promote_types", *(f"result_type.{form}" for form in ("Tensor", "Scalar", "Scalar_Tensor", "Scalar_Scalar"))}
CASES["conv_tbc"] = lambda: (((make(t, 6, 2, 3), make(t, 2, 3, 4), make(t, 4), p), {}) for t in (f32, torch.complex64) for p in (0, 2))
CASES["conv_tbc_backward"] = lambda: (((make(f32, 5 + 2 * p, 2, 4), make(f32, 6, 2, 3), make(f32, 2, 3, 4), make(f32, 4), p), {}) for p in (0, 2))
CASES["_convolution_double_backward"] = lambda: (((*ggs, make(f32, 2, 6, 4, 3), make(f32, 6, 2, 3, 3), make(f32, 2, 4, 7, 7), *_spread, False, [0, 0], 2, [True] * 3), {}) for ggs in ((make(f32, 2, 4, 7, 7), make(f32, 6, 2, 3, 3), make(f32, 6)), (None, make(f32, 6, 2, 3, 3), None), (None, None, make(f32, 6))))
CASES["im2col"] = lambda: (((x, [3, 2], [1, 2], [1, 0], [2, 1]), {}) for x in images()[:2] + [make(torch.bfloat16, 4, 7, 7), make(i64, 1, 4, 7, 7)])
CASES["col2im"] = lambda: (((make(t, 2, 24, n), [7, 7], [3, 2], [1, 2], [1, 0], [2, 1]), {}) for t in (f32, torch.complex64) for n in (20, 19))
for _name in "im2col", "col2im":
    CASES[_name + ".out"] = lambda n=_name: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in CASES[n]())
CASES["thnn_conv2d"] = lambda: (((x, make(f32, 6, 4, 3, 2), [3, 2], b, *_spread[:2]), {}) for x in images()[:2] for b in (None, make(f32, 6)))
CASES["_slow_conv2d_forward"] = lambda: (((x, make(x.dtype, 6, 4, 3, 2), [3, 2], b, *_spread[:2]), {}) for x in images()[:2] + [make(i64, 2, 4, 9, 8)] for b in (None, make(x.dtype, 6)))
CASES["_slow_conv2d_forward.output"] = lambda: ((a, {"output": torch.zeros(n)}) for a, _ in CASES["thnn_conv2d"]() for n in (0, (2, 6, 5, 7)))
CASES["thnn_conv2d.out"] = lambda: ((a, {"out": k["output"]}) for a, k in CASES["_slow_conv2d_forward.output"]())
CASES["_slow_conv2d_backward.output_mask"] = lambda: (((make(t, 2, 6, 5, 7), make(t, 2, 4, 9, 8), make(t, 6, 4, 3, 2), [3, 2], *_spread[:2], m), {}) for t in (f32, f64, i64) for m in ([True] * 3, [True, False, False]))
CASES["_slow_conv2d_backward.grad_input"] = lambda: ((a[:-1], {"grad_input": torch.zeros(0), "grad_weight": torch.zeros(0), "grad_bias": torch.zeros(0)}) for a, _ in [*CASES["_slow_conv2d_backward.output_mask"]()][:1])
CASES["slow_conv3d_forward"] = lambda: (((make(t, 2, 4, 5, 4, 6), make(t, 6, 4, 3, 2, 3), [3, 2, 3], None, [1, 1, 1], [0, 1, 1]), {}) for t in (f32, i64))
CASES["slow_conv3d_forward.output"] = lambda: ((a, {"output": torch.zeros(0)}) for a, _ in [*CASES["slow_conv3d_forward"]()][:1])
CASES["slow_conv3d.out"] = lambda: ((a, {"out": k["output"]}) for a, k in CASES["slow_conv3d_forward.output"]())
CASES["slow_conv3d"] = lambda: (((make(t, 2, 4, 5, 4, 6), make(t, 6, 4, 3, 2, 3), [3, 2, 3], None, 1, 1), {}) for t in (f32, i64))
CASES["slow_conv_dilated2d"] = lambda: (((x, make(f32, 6, 4, 3, 2), [3, 2], b, *_spread), {}) for x in images()[:2] + [make(f32, 4, 7, 7)] for b in (make(f32, 6),))
CASES["slow_conv_transpose2d"] = lambda: (((x, make(f32, 4, 6, 3, 2), [3, 2], b, *_spread[:2], [1, 0], [2, 1]), {}) for x in images()[:2] for b in (None, make(f32, 6)))


def normed(*tail):
    for x in images()[:3] + [make(f32, 5, 4), make(f64, 2, 4, 9, 8)]:
        t = x.dtype
        w, b, m, v = make(t, 4), make(t, 4), make(t, 4), make(t, 4, low=1)
        yield (x, w, b, m, v, False, 0.1, 1e-5, *tail), {}
        yield (x, None, None, m, v, False, 0.1, 1e-5, *tail), {}
        yield (x, w, b, m, v, True, 0.1, 1e-5, *tail), {}
        yield (x, w, b, None, None, True, 0.1, 1e-5, *tail), {}


CASES["native_batch_norm"] = normed
CASES["batch_norm"] = CASES["_batch_norm_impl_index"] = lambda: normed(False)
CASES["layer_norm"] = lambda: (((x, [x.shape[-1]], w, b), {}) for x in (make(f32, 3, 5), make(f64, 2, 3, 5)) for w, b in
                               ((None, None), (make(x.dtype, 5), make(x.dtype, 5))))
CASES["native_layer_norm"] = lambda: (((*a, 1e-5), k) for a, k in CASES["layer_norm"]())
CASES["softmax.int"] = CASES["log_softmax.int"] = lambda: (((x, d, t), {}) for t in (None, f64) for e in (f32, f64, i64) for x in layouts(e)
                                                           if x.numel() for d in (0, -1, 1) for _ in (0,))
CASES["_softmax"] = CASES["_log_softmax"] = lambda: (((x, d, False), {}) for e in (f32, f64) for x in layouts(e) if x.numel() for d in (0, -1, 1))
CASES["sum"] = CASES["prod"] = CASES["mean"] = lambda: (((x,), {"dtype": t} if t else {}) for d in MAIN for x in layouts(d)
                                                        if x.numel() < 1000 and x.numel() != 9 for t in (None, f64))
CASES["max"] = CASES["min"] = CASES["any"] = CASES["all"] = lambda: (((x,), {}) for d in MAIN for x in layouts(d))
CASES["sum.dim_IntList"] = CASES["mean.dim"] = lambda: (((x, a, k), {}) for d in (f32, f64, i64) for x in layouts(d) if x.numel() < 1000
                                                        for a in ([0], [-1], [0, 1], [], None, [0, 0], [7]) for k in (False, True))
CASES["amax"] = CASES["amin"] = lambda: (((x, a, k), {}) for d in MAIN for x in layouts(d) for a in ([0], [-1], [0, 1], []) for k in (False, True))
CASES["prod.dim_int"] = CASES["any.dim"] = CASES["all.dim"] = CASES["max.dim"] = CASES["min.dim"] = lambda: (
    ((x, a, k), {}) for d in MAIN for x in layouts(d) if x.numel() < 1000 for a in (0, -1, 7) for k in (False, True))
CASES["argmax"] = CASES["argmin"] = lambda: (((x, a, k), {}) for d in MAIN if d is not b8 for x in layouts(d) for a in (None, 0, -1, 7) for k in (False, True))



def reduced_into(dims, names=("out",), result=None):
    """With outputs of the right shape, of others, of other dtypes, strided."""
    def given():
        for d in MORE + [torch.complex64]:
            for dim in dims:
                out = result or d
                for o in (torch.zeros(0, dtype=out), torch.zeros(8, dtype=out)[::2], torch.zeros(2, 2, dtype=out)):
                    yield (make(d, 3, 4), *dim), {n: o if i == 0 else copy(o).to(i64) for i, n in enumerate(names)}
        for out in (f64, i64, b8, u8, torch.bfloat16):
            yield (make(f32, 3, 4), *dims[0]), {n: torch.zeros(4, dtype=out) for n in names}
    return given


CASES["sum.IntList_out"] = CASES["mean.out"] = CASES["amax.out"] = CASES["amin.out"] = reduced_into((([0],), ([0], True), ([],)))
CASES["prod.int_out"] = reduced_into(((0,), (0, True)))
CASES["argmax.out"] = CASES["argmin.out"] = reduced_into(((0,), (0, True), (None,)), result=i64)
CASES["any.all_out"] = CASES["all.all_out"] = reduced_into(((),), result=b8)
CASES["any.out"] = CASES["all.out"] = reduced_into(((0,), (0, True)), result=b8)
CASES["max.dim_max"] = reduced_into(((0,), (0, True)), ("max", "max_values"))
CASES["min.dim_min"] = reduced_into(((0,), (0, True)), ("min", "min_indices"))

def reduced_by(*lists, dtypes=None, keywords=({},)):
    """Small tensors of every geometry with each list of arguments; floats of every dtype."""
    return lambda: (((x, *a), k) for d in dtypes or ALL for x in (layouts(d) if d in (f32, i64) else [make(d, 3, 4), make(d, 2, 0)])
                    if x.numel() < 1000 and not (x.dim() == 1 and x.numel() in (9, 14)) for a in lists for k in keywords)


DIMS = ([0],), ([-1], True), ([0, 1],), ([],), ([],  True), (None,), ([0, 0],), ([7],)
ONE_DIM = (0,), (-1, True), (7,)
NORMS = [torch.float16, torch.bfloat16, f32, f64, torch.complex64, torch.complex128, i64]
CASES["allclose"] = lambda: ((a, {}) for d in MAIN for x in (make(d, 3, 4), special(d)) for a in (
    (x, x), (x, x.clone(), 1e-3, 1e-3, True), (x, make(d, *x.shape)), (x, make(d)), (x, make(d, 5, 5))))
CASES["nansum"] = reduced_by(*DIMS, keywords=({}, {"dtype": f64}))
CASES["nansum.out"] = reduced_into(DIMS[:3])
CASES["nanmean"] = reduced_by(*DIMS, dtypes=MAIN)
CASES["count_nonzero"] = reduced_by((), (0,), (-1,), (7,))
CASES["count_nonzero.dim_IntList"] = reduced_by(([0],), ([0, 1],), ([],), ([0, 0],), ([7],))
CASES["aminmax"] = reduced_by((), keywords=({}, {"dim": 0}, {"dim": 1, "keepdim": True}, {"keepdim": True}, {"dim": 7}))
CASES["aminmax.out"] = lambda: (((make(d, 3, 4),), {"dim": 0, "min": torch.zeros(n, dtype=d), "max": torch.zeros(n, dtype=e)})
                                for d in (f32, i64) for e in (d, f64) for n in (0, 4, 5))
for _w in ("var", "std"):
    CASES[_w] = CASES[_w + "_mean"] = reduced_by((), (False,))
    CASES[_w + ".dim"] = CASES[_w + "_mean.dim"] = reduced_by(*[(d[0], u, len(d) > 1) for d in DIMS for u in (True, False)])
    CASES[_w + ".correction"] = CASES[_w + "_mean.correction"] = reduced_by(
        *[(d[0],) for d in DIMS], dtypes=MORE, keywords=[{"correction": c, "keepdim": k} for c in (None, 0, 1, 3, 100) for k in (False, True)])
    CASES[_w + ".out"] = reduced_into([(d[0], True, len(d) > 1) for d in DIMS[:3]])
    CASES[_w + ".correction_out"] = lambda: ((a, {**k, "correction": c}) for a, k in reduced_into([(d[0],) for d in DIMS[:3]])() for c in (0, 1))
CASES["norm.ScalarOpt_dim"] = reduced_by(*[(p, *d) for p in (None, 0, 1, 2, 3, 0.5, -1, inf, -inf) for d in DIMS if d[0] is not None], dtypes=NORMS)
CASES["norm.out"] = reduced_into([(p, *d) for p in (None, 1, 3, inf) for d in DIMS[:2]])
CASES["norm.ScalarOpt_dim_dtype"] = lambda: (((make(d, 3, 4), p, *(a if len(a) > 1 else (*a, False))), {"dtype": t}) for d in NORMS for t in (f64, f32)
                                             for p in (None, 1, inf) for a in DIMS[:2] if d.is_complex <= t.is_complex)
CASES["norm.dtype_out"] = lambda: (((make(f32, 3, 4), p, [0], False), {"dtype": f64, "out": torch.zeros(n, dtype=f64)}) for n in (0, 4, 5) for p in (None, 1, inf))
CASES["norm.Scalar"] = reduced_by((), (1,), (inf,), dtypes=NORMS)
CASES["norm.ScalarOpt_dtype"] = lambda: (((make(d, 3, 4), p), {"dtype": f64}) for d in (f32, f64) for p in (None, 1))
CASES["linalg_vector_norm"] = reduced_by(*[(p, *d) for p in (0, 1, 2, 3, 0.5, -1, inf, -inf) for d in DIMS], dtypes=NORMS,
                                         keywords=({}, {"dtype": f64}))
CASES["linalg_vector_norm.out"] = lambda: (((make(d, 3, 4), p, [0]), {"out": torch.zeros(n, dtype=d)}) for d in (f32, f64) for n in (0, 4, 5) for p in (2, inf))
# no empty list: PyTorch 1.13.1 cannot add what it has taken the maxima from
CASES["logsumexp"] = CASES["special_logsumexp"] = reduced_by(*[d for d in DIMS if d[0]], dtypes=MAIN + [torch.complex64])

CASES["special_softmax"] = CASES["softmax.int"]
CASES["special_log_softmax"] = lambda: ((a[:2], {"dtype": a[2]}) for a, _ in CASES["softmax.int"]())
CASES["_softmax.out"] = CASES["_log_softmax.out"] = lambda: (
    ((make(d, 3, 4), dim, False), {"out": o}) for d in (f32, f64, torch.bfloat16, i64) for dim in (0, 1) for o in (
        torch.zeros(0, dtype=d), torch.zeros(3, 4, dtype=d), torch.zeros(3, 4, dtype=f64)))  # PyTorch takes a strided one for dense
CASES["_softmax_backward_data"] = CASES["_log_softmax_backward_data"] = lambda: (
    ((make(d, *x.shape), x, dim, t), {}) for d in (f32, f64, torch.bfloat16) for x in layouts(d) if x.numel() != 14 and x.is_contiguous() and x.numel() < 1000
    for dim in (0, -1, 1) for t in (d, f64))
CASES["_softmax_backward_data.out"] = lambda: (((make(f32, 3, 4), make(f32, 3, 4), dim, f32), {"grad_input": torch.zeros(*s)})
                                               for dim in (0, 1) for s in ((0,), (3, 4), (5,)))
CASES["_log_softmax_backward_data.out"] = lambda: ((a, {"out": k["grad_input"]}) for a, k in CASES["_softmax_backward_data.out"]())

# -- scans --

CASES["cumsum"] = CASES["cumprod"] = reduced_by((0,), (-1,), (7,), dtypes=[d for d in ALL if d is not torch.float16],
                                                keywords=({}, {"dtype": f64}, {"dtype": i64}, {"dtype": torch.int32}))
CASES["cumsum_"] = CASES["cumprod_"] = lambda: (((make(d, 3, 4), dim), k) for d in MORE if d is not b8 for dim in (0, 1, 2) for k in ({}, {"dtype": f64}))
CASES["cumsum.out"] = CASES["cumprod.out"] = lambda: (((make(d, 3, 4), dim), {"out": o}) for d in MORE for dim in (0, 1) for o in (
    torch.zeros(0, dtype=d), torch.zeros(3, 4), torch.zeros(4, 3, dtype=f64).t(), torch.zeros(2, 2, dtype=i64)) if o.dtype is not b8)
CASES["cummax"] = CASES["cummin"] = reduced_by((0,), (-1,), (7,))
CASES["cummax.out"] = CASES["cummin.out"] = lambda: (
    ((make(d, 3, 4), dim), {"values": torch.zeros(*s, dtype=e), "indices": torch.zeros(*s, dtype=i64)})
    for d in (f32, i64, torch.bfloat16) for e in (d, f64) for dim in (0, 1, 2) for s in ((0,), (3, 4), (2, 2)))
CASES["_cummax_helper"] = CASES["_cummin_helper"] = lambda: (
    ((make(d, 3, 4), torch.zeros(3, 4, dtype=d), torch.zeros(3, 4, dtype=i64), dim), {}) for d in MORE for dim in (0, 1))
CASES["logcumsumexp"] = CASES["_logcumsumexp"] = reduced_by((0,), (-1,), (7,), dtypes=[f32, f64, torch.bfloat16, i64])
CASES["logcumsumexp.out"] = CASES["_logcumsumexp.out"] = lambda: (((make(d, 3, 4), 0), {"out": torch.zeros(n, 4, dtype=d)}) for d in (f32, f64) for n in (0, 3))



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


for _out, _name in (("stack.out", "stack"), ("linear.out", "linear"), ("softmax.int_out", "softmax.int"), ("log_softmax.int_out", "log_softmax.int"),
                    ("logsumexp.out", "logsumexp"), ("special_logsumexp.out", "logsumexp"), ("nanmean.out", "nanmean"),
                    ("searchsorted.Tensor_out", "searchsorted.Tensor"), ("bucketize.Tensor_out", "bucketize.Tensor")):
    CASES[_out] = functools.partial(outs_of, _name)
# PyTorch reads the first of no tensors, and writes as if out= were contiguous: that ends the process.
CASES["_stack"], CASES["_stack.out"] = (lambda name=name: ((a, k) for a, k in CASES[name]() if a[0]) for name in ("stack", "stack.out"))
CASES["narrow_copy.out"] = lambda: ((a, k) for a, k in outs_of("narrow_copy") if k["out"].is_contiguous())
# -- what is known of tensors, and loops that are one in PyTorch --

def shaped(*lists):
    """Tensors of some geometries, with each list of arguments."""
    return lambda: (((x, *a), {}) for a in lists for d in (f32, i64, torch.bfloat16, b8, torch.complex64) for x in layouts_of(d))


def layouts_of(d):
    return [make(d, 3, 4), make(d, 4, 3).t(), make(d, 3, 1).expand(3, 4), make(d), make(d, 0, 3)]


CASES["_version"] = CASES["data"] = CASES["is_pinned"] = CASES["is_inference"] = CASES["is_distributed"] = CASES["_is_zerotensor"] = shaped(())
CASES["_debug_has_internal_overlap"] = CASES["lift_fresh_copy"] = CASES["_assert_async"] = shaped(())
CASES["detach_"] = list  # arguments here are views, which it refuses: tests/integration/test_facts.py has it
CASES["is_set_to"] = CASES["_has_same_storage_numel"] = CASES["_has_compatible_shallow_copy_type"] = lambda: (
    ((x, y), {}) for x in layouts_of(f32) for y in (make(f32, 3, 4), make(f32, 0, 3)))
CASES["_assert_tensor_metadata"] = shaped((), ([3, 4],), (None, [4, 1]), (None, None, f32), ([3, 4], [4, 1], f32), ([3],))
CASES["set_.source_Tensor_storage_offset"] = lambda: (((make(f32, 4), make(f32, 3, 4), *a), {}) for a in (
    (1, [2, 2], [1, 1]), (0, [3, 4]), (5, []), (-1, [2]), (0, [2], [1, 1]), (0, [-2]), (0, [2], [-1])))
CASES["_new_zeros_with_same_feature_meta"] = lambda: (((make(f32, 2, 3), y), {"self_num_batch_dims": n})
                                                      for y in layouts_of(f32) + [make(i64, 4, 5)[1:, ::2]] for n in (0, 1, 2))
CASES["to_dense"] = shaped((), (f64,), (i64,))
CASES["_autocast_to_full_precision"] = shaped((False, True), (True, False))
CASES["_autocast_to_reduced_precision"] = shaped((False, True, torch.float16, torch.bfloat16), (True, False, torch.float16, torch.bfloat16))
CASES["_dim_arange"] = shaped((0,), (-1,), (2,))
CASES["_reshape_from_tensor"] = lambda: (((make(f32, 3, 4), torch.tensor(s, dtype=d)), {}) for s, d in (
    ([4, 3], i64), ([-1], i64), ([5], i64), ([4, 3], i32), ([[4, 3]], i64)))
CASES["_to_cpu"] = lambda: [(([make(f32, 3), make(i64, 2, 2).t()],), {}), (([],), {})]
CASES["_add_relu_.Tensor"] = lambda: (
    ((x, y), k) for a in (f32, i64, f64, torch.int8, u8, torch.bfloat16) for x, y in itertools.islice(pairs(a, a), 9)
    for k in ({}, {"alpha": 2}))
CASES["_add_relu.Tensor"] = lambda: itertools.chain(CASES["_add_relu_.Tensor"](), (
    ((x, y), {}) for a in (f32, i64, torch.int8) for b in (f64, i32, u8, f32, torch.bfloat16) for x, y in itertools.islice(pairs(a, b), 9)))
CASES["_add_relu.out"] = lambda: (((x, y), {"out": torch.zeros(s, dtype=d)}) for a in (f32, i64) for x, y in itertools.islice(pairs(a, a), 3)
                                  for d in (a,) for s in ((3, 4), (0,), (4, 3)))
CASES["_add_relu.Scalar"] = CASES["_add_relu_.Scalar"] = lambda: (((make(d, 3, 4), s, *a), {}) for d in (f32, i64, torch.int16, b8) for s in (1, -2, 1.5)
                                                                  for a in ((), (2,), (1.5,)))
CASES["_addmm_activation"] = lambda: (((make(d, *s), make(d, 3, 4), make(d, 4, 2)), k) for d in (f32, f64, i64, torch.bfloat16, torch.complex64, b8)
                                      for s in ((3, 2), (2,), (), (4, 4)) for k in ({}, {"beta": 2, "alpha": 3}, {"use_gelu": True}))
CASES["_addmm_activation.out"] = lambda: (((make(d, 3, 2), make(d, 3, 4), make(d, 4, 2)), {"out": torch.zeros(*s, dtype=o)})
                                          for d in (f32, i64) for s in ((3, 2), (0,)) for o in (f32, f64))
CASES["_aminmax"] = shaped(())
CASES["_aminmax.dim"] = shaped((0,), (-1, True), (3,))
CASES["_unique"] = lambda: (((x, True, i), {}) for d in (f32, i64, u8, b8, torch.complex64) for x in layouts_of(d) for i in (False, True))
CASES["_rowwise_prune"] = lambda: (((x, torch.tensor(m), d), {}) for x in (make(f32, 3, 4), make(i64, 3, 0), make(torch.bfloat16, 3, 2), make(f32, 3), make(b8, 3, 2))
                                   for m in ([True, False, True], [False] * 3, [True] * 2, [1, 0, 1]) for d in (i64, i32, f32))
CASES["_dirichlet_grad"] = lambda: itertools.chain(
    (((torch.rand(60, dtype=d) ** p, torch.rand(60, dtype=d) * a + 0.05, torch.rand(60, dtype=d) * b + a + 0.1), {})
     for d in (f64, f32) for p in (1, 4, 0.2) for a in (1, 5, 40) for b in (1, 20)),
    (((torch.rand(3, 4, dtype=d), torch.ones(e, dtype=d), torch.full((3, 1), 3., dtype=d)), {}) for d in (f32, f64) for e in (4, 1)),
    ((((x := make(d, 2, 2)), x, x), {}) for d in (i64, torch.bfloat16)), [((make(f32, 2), make(f64, 2), make(f32, 2)), {})])
CASES["glu_jvp"] = lambda: (((make(d, *g), make(d, 3, 4), make(e, 3, 4), dim), {}) for d in (f32, f64, i64, torch.bfloat16) for e in (d, f64)
                            for g, dim in (((3, 2), 1), ((3, 2), -1), ((1, 4), 0), ((3, 2), 2), ((3, 3), 1)))
CASES["glu_backward_jvp"] = lambda: (((make(d, 3, 4), make(d, 3, 2), make(d, 3, 4), make(d, 3, 2), make(d, 3, 4), dim), {})
                                     for d in (f32, f64, i64, torch.bfloat16) for dim in (1, -1, 0, 2))
CASES["prelu_backward"] = lambda: (((g, x, w), {}) for d in (f32, f64, torch.bfloat16, i64) for x, g in (
    (make(d, 2, 3, 4), make(d, 2, 3, 4)), (make(d, 4, 3, 2).transpose(0, 2), make(d, 2, 3, 4)), (make(d, 3), make(d, 3)), (make(d), make(d)), (make(d, 0, 3), make(d, 0, 3)))
    for w in (make(d, 3), make(d, 1), make(d), make(f64, 3)))
CASES["infinitely_differentiable_gelu_backward"] = lambda: (((make(d, 3, 4), make(d, 3, 4)), {}) for d in (f32, f64, i64, torch.complex64))
CASES["_test_serialization_subcmul"] = lambda: (((make(d, 3, 4), make(d, 4), *a), {}) for d in (f32, i64, b8) for a in ((), (2,), (1.5,)))


def sobol(dimension):
    return torch.ops.aten._sobol_engine_initialize_state_(torch.zeros(dimension, 30, dtype=i64), dimension)


CASES["_sobol_engine_initialize_state_"] = lambda: (((x, n), {}) for x, n in (
    (torch.zeros(40, 30, dtype=i64), 40), (make(i64, 30, 9).t(), 5), (make(i64, 60, 60)[::2, ::2], 30), (torch.zeros(21201, 30, dtype=i64), 21201),
    (make(i64, 1, 30), 1), (make(i64, 3, 30), 0), (make(i64, 3, 30), -2), (make(f32, 3, 30), 2), (make(i64, 30), 2)))
CASES["_sobol_engine_draw"] = lambda: (((torch.zeros(12, dtype=i64)[::2], n, sobol(6), d, g), {"dtype": t}) for n in (0, 1, 7, -1) for d in (6, 3)
                                       for g in (0, 5, 2**20 - 3) for t in (None, f64, f32, torch.bfloat16))
CASES["_sobol_engine_ff_"] = lambda: (((torch.zeros(12, dtype=i64)[::2], n, sobol(6).t().contiguous().t(), d, g), {}) for n in (0, 1, 7, 1000, 65537, -1) for d in (6, 3)
                                      for g in (0, 5, 2**20 - 3))
CASES["_sobol_engine_scramble_"] = lambda: (((sobol(6), torch.randint(0, 2, (6, 30, 30)).tril().to(e), d), {}) for e in (i64, i32) for d in (6, 3, 0))
CASES["_pack_padded_sequence"] = lambda: (((x, torch.tensor(n, dtype=d), b), {}) for e in (f32, i64, b8)
                                          for x in (make(e, 3, 3, 2), make(e, 3, 3), make(e, 3, 3, 2).transpose(0, 2), make(e, 3), make(e, 0, 3))
                                          for n, d in (([3, 2, 2], i64), ([3, 1, 1], i64), ([2, 2, 2], i64), ([2, 3, 1], i64), ([3, 1, 0], i64), ([3, 2], i64),
                                                       ([[3, 2, 1]], i64), ([3, 2, 1], i32), ([5, 2, 1], i64)) for b in (False, True))
CASES["_pack_padded_sequence_backward"] = lambda: (((make(f32, 6, 2), s, torch.tensor(n), b), {}) for s in ([3, 3, 2], [3, 4, 2], [2, 3, 2], [3])
                                                   for n in ([3, 2, 1], [2, 2, 2], [6], [3, 3, 3], [3, 1], [1, 1, 1, 1, 1, 1]) for b in (False, True))
CASES["_pad_packed_sequence"] = lambda: (((x, torch.tensor(n), b, v, t), {}) for x in (make(f32, 6, 2), make(i64, 6), make(f32, 6, 4)[:, ::2])
                                         for n in ([3, 2, 1], [2, 2, 2], [6], [1, 2, 3], [3, 3, 3], [2, 1], [3, 3, 0]) for b in (False, True)
                                         for v, t in ((0, -1), (1.5, 4), (2, 1)))
CASES["dequantize.self"] = CASES["cudnn_is_acceptable"] = shaped(())
CASES["is_vulkan_available"] = CASES["_use_cudnn_rnn_flatten_weight"] = lambda: [((), {})]
FAKED = [make(f32, 3, 4), make(f64, 4, 3).t(), make(f32, 3, 1).expand(3, 4), make(f32), make(f32, 0, 3), special(f32), make(i64, 3, 4)]
CASES["fake_quantize_per_tensor_affine"] = CASES["fake_quantize_per_tensor_affine_cachemask"] = lambda: (
    ((x, *a), {}) for x in FAKED for a in ((0.1, 0, 0, 255), (0.5, 3, -8, 7), (1e-9, 0, -128, 127), (0.1, 9, 0, 7), (0.1, 0, 7, 0), (0.0, 1, 0, 255)))
CASES["fake_quantize_per_tensor_affine.tensor_qparams"] = lambda: (
    ((x, torch.tensor(s), torch.tensor(z, dtype=d), 0, 15), {}) for x in FAKED for s, z in ((0.5, 3), ([0.25], [7]), ([0.5, 1], [1, 2])) for d in (i32, f32))
CASES["_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"] = lambda: (
    ((x, torch.tensor([0.5]), torch.tensor([2], dtype=i32), torch.tensor([on]), *r), {}) for x in FAKED for on in (0, 1) for r in ((0, 15), (15, 0)))
CASES["fake_quantize_per_tensor_affine_cachemask_backward"] = CASES["fake_quantize_per_channel_affine_cachemask_backward"] = lambda: (
    ((make(d, 3, 4), m), {}) for d in (f32, f64, i64) for m in (make(b8, 3, 4), make(b8, 4, 3), make(b8, 3), make(u8, 3, 4)))
CASES["_fake_quantize_learnable_per_tensor_affine"] = lambda: (
    ((x, torch.tensor(s), torch.tensor(z), *r), {}) for x in FAKED for s, z in (([0.5], [3.4]), ([0.3], [-200.0]), (0.5, 1.0)) for r in ((0, 15), (-8, 7, 0.5), (3, 1)))
CASES["_fake_quantize_learnable_per_tensor_affine_backward"] = lambda: (
    ((make(x.dtype, *x.shape), *a), {}) for a, _ in CASES["_fake_quantize_learnable_per_tensor_affine"]() for x in a[:1])
CASES["fake_quantize_per_channel_affine"] = CASES["fake_quantize_per_channel_affine_cachemask"] = lambda: (
    ((x, make(e, 3, low=0.1, high=2), make(d, n, low=0, high=9), axis, *r), {})
    for x in (make(f32, 3, 4), make(f32, 4, 3).t(), make(f64, 3, 3, 2), make(i64, 3, 4)) for e in (f32, f64) for d in (i32, f32, torch.float16, i64) for n in (3, 2)
    for axis in (0, 1, -1, 5) for r in ((0, 15), (0, 3)))
CASES["_fake_quantize_learnable_per_channel_affine"] = lambda: (
    ((x, make(f32, 3, low=0.1, high=2), make(d, 3, low=-3, high=9), axis, *r), {})
    for x in (make(f32, 3, 4), make(f32, 4, 3).t(), make(f32, 3, 3, 2), make(f32, 3), make(f32, 3, 0), make(f64, 3, 4)) for d in (f32, f64) for axis in (0, 1)
    for r in ((0, 15), (-4, 3, 0.5), (1, 3)))
CASES["_fake_quantize_learnable_per_channel_affine_backward"] = lambda: (
    ((make(x.dtype, *x.shape), *a), {}) for a, _ in CASES["_fake_quantize_learnable_per_channel_affine"]() for x in a[:1])
CASES["_convert_indices_from_coo_to_csr"] = lambda: (((torch.tensor(v).to(d), n), {"out_int32": o}) for d in (i64, i32, u8, f32, b8) for o in (False, True)
                                                     for v, n in (([0, 0, 1, 3], 5), ([0, 2], 3), ([], 3), ([[0, 1]], 2)))
CASES["_convert_indices_from_csr_to_coo"] = lambda: (((torch.tensor(b).to(d), torch.tensor(v).to(d)), {"out_int32": o, "transpose": t})
                                                     for d in (i64, i32, f32) for o in (False, True) for t in (False, True)
                                                     for b, v in (([0, 2, 3, 3, 4], [0, 1, 1, 2]), ([0, 1], [1])))
# PyTorch writes as if out= were contiguous.
CASES.update({f"_convert_indices_from_{kind}.out": lambda kind=kind: ((a, k) for a, k in outs_of(f"_convert_indices_from_{kind}") if k["out"].is_contiguous())
              for kind in ("coo_to_csr", "csr_to_coo")})
CASES["_choose_qparams_per_tensor"] = lambda: (((x, *a), {}) for a in ((), (True,)) for x in (
    make(f32, 3, 4), make(f32, 3, 4) * 1e-5, make(f32, 4, low=1, high=3), make(f32, 4, low=-3, high=-1), torch.zeros(3), make(i64, 4), make(f64, 4), make(f32, 0)))


def observed():
    for low, high, n in ((inf, -inf, 1), (-1.0, 1.0, 1), (inf, -inf, 3), (-0.5, 0.5, 3)):
        for on, quantize in itertools.product((0, 1), repeat=2):
            for least, most, symmetric in ((0, 255, False), (-128, 127, True), (0, 15, True)):
                yield (make(f32, 3, 4), torch.tensor([on]), torch.tensor([quantize]), torch.full((n,), low), torch.full((n,), high), torch.ones(n),
                       torch.zeros(n, dtype=i32), 0.01, least, most, 0, n > 1, symmetric), {}


CASES["_fused_moving_avg_obs_fq_helper"] = CASES["fused_moving_avg_obs_fake_quant"] = observed
CASES["cumprod_backward"] = lambda: (((make(x.dtype, *x.shape), x, d, x.cumprod(d)), {}) for x in (
    make(f64, 3, 4), make(f64, 1), make(f32, 4, 1), make(f64, 3, 5).round(), make(f64, 4, 5, 6).round(), torch.zeros(3, 4), make(torch.complex64, 3, 2), make(i64, 3, 2),
    torch.tensor([[1.0, 0, 2], [0, 0, 3], [0, 2, 3], [1, 2, 0]])) for d in (0, -1) if d < x.dim())
CASES.update(nn_cases.cases(make))
CASES.update(draw_op_cases.cases(make))
CASES.update(spectral_cases.cases(make, of_all((), ([0],), ([-1, 0],), ([7],), ([],))))

CASES.update(space_cases.cases())

# Their values are whatever lay in memory.
UNDEFINED = re.compile(r"empty|new_empty")
# Sums in another order, and 16-bit results of 32-bit sums, differ more than single operations do.
LOOSE = re.compile(r"(sum|mean|prod|var|std|matmul|linear|(?<!a)mm|conv|norm|dot|mv(?!l)|softmax|pool|grid_sampler|logcum|dist|loss|kl_div|cosine|dirichlet|transformer|attention|rnn|gru|lstm)")


# Where PyTorch's own values are wrong, and by how much: its polynomials for 1/x lack the leading coefficient, and
# the phase of float32 is rounded.  Ours agree with mpmath (tests/integration/test_special.py).
WRONG = ((re.compile("special_bessel_"), {f32: 1e-4, f64: 1e-6}), (re.compile("special_airy_ai"), {f32: 3e-3, f64: 5e-6}))


def wrong_by(name, dtype):
    """Tolerances where PyTorch's values of dtype are that wrong."""
    most = [by[dtype] for names, by in WRONG if names.match(name) and dtype in by]
    return {"rtol": 1e-5, "atol": most[0]} if most else {}


# -- calling both ----------------------------------------------------------------------------------

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


def raw(t):
    return t.view(torch.uint8).numpy().tobytes() if t.numel() else b""


class Both:
    def __init__(self, client, device="cpu"):
        self.client = client
        self.device = device  # of every tensor, and what an argument of device cpu stands for
        self.handles = []
        self.sent = {}  # handles by tensors' ids: one that is given twice is one there, too

    def encode(self, v):
        if torch.is_tensor(v):
            if id(v) not in self.sent:
                made = self.client.call("tensor.create", dtype=DTYPES[v.dtype], shape=list(v.shape), strides=list(v.stride()),
                                        storage_offset=v.storage_offset(), attachment=raw(storage(v)), device=self.device)
                for op in ["aten::_conj"] * v.is_conj() + ["aten::_neg_view"] * v.is_neg():
                    plain, made = made, self.client.op(op, {"tensor": made["tensor"]})
                    self.client.release(plain["tensor"])
                self.sent[id(v)] = made["tensor"], v
            self.handles.append(self.sent[id(v)][0])
            return {"tensor": self.handles[-1]}
        if isinstance(v, (list, tuple)):
            return [self.encode(x) for x in v]
        if isinstance(v, int) and not isinstance(v, bool) and abs(v) >= 2**53:
            return {"int": str(v)}
        if isinstance(v, complex):
            return {"complex": [v.real, v.imag]}
        if isinstance(v, float):
            return {"float": v if v == v and abs(v) != inf else str(v)}
        return DTYPES.get(v) or FORMATS.get(v) or (self.device if isinstance(v, torch.device) else v)

    def read(self, handle):
        answer = self.client.call("tensor.read", tensor=handle, **{"as": "attachment"})
        dtype, data = BY_NAME[answer["dtype"]], answer["attachment"]
        flat = torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)
        return flat.reshape(answer["shape"]), answer

    def call(self, name, args, kwargs):
        """(outputs as the daemon tells them, then every tensor argument after the call)"""
        sent = [self.encode(a) for a in args], {k: self.encode(v) for k, v in kwargs.items()}
        given = list(self.handles)
        outputs = self.client.call("op.call", op="aten::" + name, args=sent[0], kwargs=sent[1])["outputs"]
        flat = [x for o in outputs for x in (o if isinstance(o, list) else [o])]
        self.handles += [o["tensor"] for o in flat if isinstance(o, dict) and "tensor" in o]
        return flat, given

    def done(self):
        if self.handles:
            self.client.release(*set(self.handles))
        self.handles, self.sent = [], {}


linalg_cases.add(CASES)
LAPACK = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "complex128": 1e-9}
LINEAR = re.compile(r"linalg|cholesky|symeig|geqrf|ormqr|orgqr|triangular_solve|\bsvd|\bqr|\blu_|det|inverse|matrix_|^cross|pinv")

# PyTorch's loops by vectors and by elements differ where an argument is NaN, -0 or a bound: it has the one
# for most elements and the other for the last few, here all are computed as by the first.
TWO_LOOPS = re.compile("(hardtanh|hardshrink|softshrink|hardswish|logit|elu)_backward")

# Of whole numbers alone, and where PyTorch has no answer for the extremes.
WHOLE = re.compile("aten::(gcd|lcm|__i?[lr]shift__|bitwise_(left|right)_shift)")
# What PyTorch 1.13.1 has no kernel for and later versions have: here it may work.
WIDER = re.compile(r"not implemented for '(Half|BFloat16)'|please report a bug to PyTorch")
ERRORS = {RuntimeError: "RuntimeError", IndexError: "IndexError", TypeError: "TypeError", ValueError: "ValueError",
          NotImplementedError: "NotImplementedError"}


def flat_tensors(v):
    return [t for x in v for t in (flat_tensors(x) if isinstance(x, (list, tuple)) else [x]) if torch.is_tensor(t)]


def compare(name, got, want, answer, what, halves=False, written=False):
    if answer["dtype"] != DTYPES[want.dtype]:
        return f"{what}: dtype {answer['dtype']}, want {DTYPES[want.dtype]}"
    if answer["shape"] != list(want.shape):
        return f"{what}: shape {answer['shape']}, want {list(want.shape)}"
    if want.numel() > 1 and answer["strides"] != list(want.stride()):
        return f"{what}: strides {answer['strides']}, want {list(want.stride())}"
    if UNDEFINED.match(name) or draw_op_cases.RANDOM.match(name):
        return None
    tolerance, coarse = {}, written and (answer["dtype"] in ("float16", "bfloat16") or halves)
    if want.dtype in (torch.float16, torch.bfloat16):  # computed in float32 here and rounded once
        tolerance = {"rtol": 2e-2, "atol": 2e-2}
    if written:  # computed in the type of the inputs
        tolerance = {"rtol": 2e-2, "atol": 2e-2} if coarse else {"rtol": 1e-5, "atol": 1e-5}
    if LOOSE.search(name) and want.is_floating_point():
        loose = 2e-2 if coarse or want.dtype not in (f32, f64) else 1e-4 if want.dtype is f32 or written else 1e-10
        tolerance = {"rtol": loose, "atol": loose}
    if re.search("fft_|stft", name) and want.is_floating_point() | want.is_complex() and want.numel() and torch.isfinite(want).all():
        exact = want.dtype in (f64, torch.complex128) and "out" not in name  # rounded as the largest number is
        tolerance = {"rtol": 0, "atol": (1e-13 if exact else 2e-6) * (want.abs().max().item() + 1)}
    tolerance |= wrong_by(name, f32 if "out" in name else want.dtype)
    if LINEAR.search(name) and answer["dtype"] in LAPACK:  # as far apart as rounding in another order brings them
        tolerance = {"rtol": LAPACK[answer["dtype"]], "atol": LAPACK[answer["dtype"]]}
    try:
        torch.testing.assert_close(got, want.contiguous(), equal_nan=True, **tolerance)
    except AssertionError as e:
        return f"{what}: {' '.join(str(e).split())[:300]}"
    return None


def by_vectors(function, args, kwargs):
    """The answer of PyTorch's vector loop for each element: that of 16 copies of it."""
    tensors = [a for a in args if torch.is_tensor(a)]
    shape, dtype = torch.broadcast_shapes(*[t.shape for t in tensors]), functools.reduce(torch.promote_types, [t.dtype for t in tensors])
    more = [a.to(dtype).broadcast_to(shape).unsqueeze(-1).expand(*shape, 16).contiguous() if torch.is_tensor(a) else a for a in args]
    given = {k: v for k, v in kwargs.items() if not torch.is_tensor(v)}
    return getattr(function.overloadpacket, "default")(*more, **given)[..., 0]


def one(both, name, function, args, kwargs):
    """None when both agree, else why not."""
    made = {}
    mine = [copy(a, made) for a in args], {k: copy(v, made) for k, v in kwargs.items()}
    try:
        with torch.backends.mkldnn.flags(enabled=not name.startswith("gelu_backward")):  # which reads them by wrong strides
            want = function(*mine[0], **mine[1])
    except tuple(ERRORS) as e:
        if WIDER.search(str(e)):
            return None
        try:
            both.call(name, args, kwargs)
        except dispatchd.Error as error:
            kind = next(ERRORS[t] for t in type(e).__mro__ if t in ERRORS)
            same = error.type == kind or error.type == "IndexError" and "INDICES element" in str(e)
            return None if same else f"{error}, want {kind}: {str(e)[:200]}"
        return f"no error, want {type(e).__name__}: {str(e)[:200]}"
    try:
        flat, given = both.call(name, args, kwargs)
    except dispatchd.Error as error:
        return f"{error}, want a result"
    halves = any(t.dtype in (torch.float16, torch.bfloat16) for t in flat_tensors([*args, *kwargs.values()]))
    written = any(a.kwarg_only and a.is_out for a in function._schema.arguments)
    if TWO_LOOPS.match(name):
        want.copy_(by_vectors(function, args, kwargs).broadcast_to(want.shape))
    wants = want if isinstance(want, (tuple, list)) else [] if want is None else [want]
    wants = [w for x in wants for w in (x if isinstance(x, list) else [x])]
    if len(wants) != len(flat):
        return f"{len(flat)} outputs, want {len(wants)}"
    for i, (w, got) in enumerate(zip(wants, flat)):
        if not torch.is_tensor(w):
            number = float(got["float"]) if isinstance(got, dict) and "float" in got else \
                int(got["int"]) if isinstance(got, dict) else got
            if number != w and not (number != number and w != w):
                return f"output {i}: {number!r}, want {w!r}"
            continue
        if got is None:
            return f"output {i}: None, want a tensor of {list(w.shape)}"
        why = compare(name, *both.read(got["tensor"])[:1], w, both.client.call("tensor.describe", tensor=got["tensor"]), f"output {i}", halves, written)
        if why:
            return why
    for handle, before in zip(given, flat_tensors([*mine[0], *mine[1].values()])):
        got, answer = both.read(handle)
        why = compare(name, got, before, {**answer, "strides": list(before.stride())}, "argument", halves, written)
        if why:
            return "after the call, " + why
    return None


def show(v):
    if torch.is_tensor(v):
        text = f"{DTYPES[v.dtype]}{list(v.shape)}" + ("" if v.is_contiguous() else f"/{list(v.stride())}")
        return text + (f"={v.tolist()}" if v.numel() < 6 else "")
    return "[" + ", ".join(map(show, v)) + "]" if isinstance(v, list) else repr(v)


PART = int(os.environ.get("PART", 1))
TODAY = int(os.environ.get("DAY", time.time() // 86400))
FEW = 24  # cases of one operator that are all tried
LISTED = os.path.join(ROOT, "tests", "data", "ops.txt")


def slopes(name, *more):
    """What plain has, and gradient, input and target whose dtypes, shapes and orders differ."""
    x, y, v, whole = make(f32, 3, 4, low=0, high=1), make(f32, 4, 3, low=0, high=1).t(), make(f32, 4, low=0, high=1), make(i64, 3, 4)
    for three in ((x, x, v), (x, v, x), (v, y, y), (x, y, x), (x, whole, x), (x, x, whole), (whole, x, x), (x.double(), x, x), (x, x.double(), x),
                  (x, x, x.double()), (v, v[None], v), (v[None], v, v), (x[:0], x[:0], v), (x[:0], v, x), (x.half(), x.half(), x.half())):
        yield (*three, *more), {}
    yield from plain(operator(name)._schema)


for _name, _more in (("mse_loss", (1,)), ("smooth_l1_loss", (2, 0.5)), ("huber_loss", (0, 0.5)), ("soft_margin_loss", (1,)),
                     ("binary_cross_entropy", (None, 1)), ("log_sigmoid", ())):
    CASES[_name + "_backward"] = functools.partial(slopes, _name + "_backward", *_more)


def loss_outs(name, *more):
    """What plain has, and outputs of other shapes, orders and dtypes, by each reduction."""
    x, y = make(f32, 3, 4, low=0, high=1), make(f32, 3, 4, low=0, high=1)
    for reduction in (0, 1, 2):
        for out in (torch.zeros(0), torch.zeros(2), torch.zeros(()), torch.zeros(4, 3).t(), torch.zeros(3, 1, 4), torch.zeros(3, 1).expand(3, 4),
                    torch.zeros(3, 8)[:, ::2], torch.zeros(3, 4, dtype=f64), torch.zeros(3, 4, dtype=i64)):
            yield (x, y, *more, reduction), {"out": out}
    yield from plain(operator(name)._schema)


for _name, _more in (("mse_loss", ()), ("smooth_l1_loss", ()), ("huber_loss", ()), ("binary_cross_entropy", (None,))):
    CASES[_name + ".out"] = functools.partial(loss_outs, _name + ".out", *_more)


def cases_of(name):
    torch.manual_seed(0)  # the same values whatever else is tried
    random.seed(0)
    made = CASES[name]() if name in CASES else degrees(name) if "_polynomial_" in name else plain(operator(name)._schema)
    cases = list(made)
    return (cases if len(cases) <= FEW else cases[PART - 1::PART]) + EDGES.get(name, [])


def operator(name):
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


# What is known to differ: operator -> what the fault says, and the reason.  Any other fault of it still fails.
_HALF_MEAN = "PyTorch is wrong: its sum of float16 overflows before the mean divides it; since 2.0 it sums in float32"
KNOWN = {
    **dict.fromkeys("l1_loss mse_loss smooth_l1_loss huber_loss".split(), ("Absolute difference: inf", _HALF_MEAN)),
    "complex": ("Half and Half", "known to differ: no tensors of complex numbers of 16 bits"),
}


def known(name, why):
    return name in KNOWN and re.search(KNOWN[name][0], why) is not None


def check(client, name, limit=3):
    """Every case of one operator; the faults that are not KNOWN, at most `limit`, and how many calls were made."""
    function, faults, calls = operator(name), [], 0
    both = Both(client)
    for args, kwargs in cases_of(name):
        calls += 1
        why = one(both, name, function, args, kwargs)
        both.done()
        if why and not known(name, why):
            faults.append(f"({', '.join([show(a) for a in args] + [f'{k}={show(v)}' for k, v in kwargs.items()])}): {why}")
            if len(faults) == limit:
                break
    return faults, calls


def main():
    rewrite = "--known" in sys.argv
    pattern = re.compile(next((a for a in sys.argv[1:] if a != "--known"), ""))
    with open(os.path.join(ROOT, "proto", "ops", "native_functions.yaml")) as f:
        names = [e["func"].split("(")[0] for e in yaml.safe_load(f)]
    for name in sorted(EDGES.keys() - names):  # overloads that autogen names
        CASES.setdefault(name, tuple)
        names.append(name)
    with open(LISTED) as f:
        known = set() if rewrite else {line.strip() for line in f}
    passed = failed = total = left = 0
    with TestDaemon() as daemon, daemon.connect() as client, torch.no_grad():
        for name in filter(pattern.search, sorted({*names} - OTHERS - known, key=names.index)):
            faults, calls = check(client, name)
            total += calls
            left += calls == 0
            passed, failed = (passed, failed + 1) if faults else (passed + (calls > 0), failed)
            for fault in faults[:1] if rewrite else faults:
                print(name if rewrite else f"FAIL {name}{fault}", flush=True)
    print(f"{total} calls compared; {left} operators have no case of their own, {len(known)} are "
          f"known to differ, {len(KNOWN)} in faults that KNOWN says")
    print(f"{passed} passed, {failed} failed")
    return failed != 0 and not rewrite


if __name__ == "__main__":
    sys.exit(main())
