"""test_public.py -- what PyTorch offers and the Python package does not: each name has a reason."""

import inspect
import os
import sys

from harness import BUILD, equal, less, main

try:
    import torch
except ImportError:
    print("skipped: torch is not there\n0 passed, 0 failed")
    sys.exit()
import dispatchd as dd
from dispatchd import _schemas

# Names of torch.nn.functional that the package does not have.
FUNCTIONAL = {
    "embedding_bag": "its result depends on offsets that PyTorch computes in Python",
    "multi_head_attention_forward": "takes modules' weights",
    "triplet_margin_with_distance_loss": "takes a Python function",
    "fractional_max_pool2d": "random windows", "fractional_max_pool3d": "random windows",
    "assert_int_or_pair": "internal", "dropout1d": "as dropout2d", "max_pool1d_with_indices": "max_pool1d(return_indices=True)",
    "upsample_bilinear": "deprecated: interpolate", "upsample_nearest": "deprecated: interpolate",
    **{f"{n}_with_indices": "a form with return_indices=True" for n in (
        "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "max_pool2d", "max_pool3d",
        "fractional_max_pool2d", "fractional_max_pool3d")}}


def test_functions_and_methods_of_served_operators():
    bases = [b for b in _schemas.SCHEMAS if not b.startswith("_")]
    missing = [b for b in bases if callable(getattr(torch, b, None)) and not hasattr(dd, b)]
    equal(missing, [], "functions of torch")
    missing = [b for b in bases if hasattr(torch.Tensor, b) and not hasattr(dd.Tensor, b)]
    equal(missing, [], "methods of torch.Tensor")
    less(400, len(_schemas.METHODS), "methods")
    for kind in ("linalg", "fft", "special"):
        there = [b[len(kind) + 1:] for b in bases if b.startswith(kind + "_") and hasattr(getattr(torch, kind), b[len(kind) + 1:])]
        less(10, len(there), kind)
        equal([n for n in there if not hasattr(getattr(dd, kind), n)], [], kind)


def test_the_lists_of_names_are_pytorchs():
    equal([n for n in _schemas.FUNCTIONS if not hasattr(torch, n)], [], "functions that torch has not")
    equal([n for n in _schemas.METHODS if not hasattr(torch.Tensor, n)], [], "methods that torch.Tensor has not")


def test_functional():
    F = torch.nn.functional
    public = [n for n in dir(F) if callable(getattr(F, n)) and not n.startswith("_") and
              (inspect.getmodule(getattr(F, n)) is F or n in _schemas.SCHEMAS)]
    missing = [n for n in public if not hasattr(dd.nn.functional, n) and n not in FUNCTIONAL]
    equal(missing, [], "functions of torch.nn.functional")
    equal([n for n in FUNCTIONAL if hasattr(dd.nn.functional, n)], [], "there although they have a reason not to be")


def test_functional_has_pytorchs_arguments():
    F = torch.nn.functional
    other = []
    for n in dir(dd.nn.functional):
        ours, theirs = getattr(dd.nn.functional, n), getattr(F, n, None)
        if not inspect.isfunction(ours) or theirs is None:
            continue
        try:
            want = [p for p in inspect.signature(theirs).parameters if p not in ("args", "kwargs")]
        except ValueError:
            continue
        got = list(inspect.signature(ours).parameters)
        if got != ["args", "kwargs"] and want and got != want:
            other.append((n, got, want))
    equal(other, [], "other arguments")


def test_layouts():
    x, y = dd.ones(2), torch.ones(2)
    flags = ("is_sparse", "is_sparse_csr", "is_quantized", "is_mkldnn", "is_cpu", "is_cuda", "is_meta")
    for other in ({}, {"device": "meta"}):
        ours, theirs = dd.ones(2, **other), torch.ones(2, **other)
        equal({n: getattr(ours, n) for n in flags}, {n: getattr(theirs, n) for n in flags}, str(other))
    equal((x.layout, f"torch.{x.layout}"), (dd.strided, str(y.layout)))
    equal((dd.get_default_dtype(), f"torch.{dd.get_default_dtype()}"), (x.dtype, str(torch.get_default_dtype())))
    for plugin in ("coo", "quantized"):
        dd.current().call("plugin.load", path=os.path.join(BUILD, "tests", "plugins", f"{plugin}.so"))
    sparse = dd.ops.coo.make(dd.tensor([[0, 1]]), dd.tensor([1.0, 2.0]), [2])
    equal((sparse.layout, sparse.is_sparse, sparse.is_sparse_csr, sparse.is_quantized), ("sparse_coo", True, False, False))
    packed = dd.ops.quantized.pack(x, 0.5, "quint8")
    equal((packed.layout, packed.is_sparse, packed.is_quantized), (dd.strided, False, True))


def test_docstrings_have_the_schemas():
    for f in (dd.add, dd.Tensor.add, dd.linalg.norm, dd.ops.aten.add.Tensor):
        equal("add.Tensor(" in f.__doc__ or "linalg_norm(" in f.__doc__, True, str(f.__doc__))
    equal({"add", "ones", "rand", "linalg", "float32", "tensor"} <= set(dir(dd)), True, "dir()")
    equal({"relu", "add_", "shape"} <= set(dir(dd.ones(1))), True, "dir() of a tensor")


main()
