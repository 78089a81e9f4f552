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
    packed = dd.ops.quantized.pack(x.double(), 0.5, "quint8")
    equal((packed.layout, packed.is_sparse, packed.is_quantized), (dd.strided, False, True))


def bags(lib, args, kwargs, table):
    """Return the result and the gradients of embedding_bag in `lib`, or the type and the beginning of the error."""
    of = {k: lib.tensor(v) if isinstance(v, list) else v for k, v in kwargs.items()}
    weight = lib.tensor(table, requires_grad=True)
    factors = of.get("per_sample_weights")
    if factors is not None:
        factors.requires_grad_()
    try:
        y = lib.nn.functional.embedding_bag(lib.tensor(args), weight, **of)
        (y * y).sum().backward()
    except Exception as e:
        return next(k.__name__ for k in type(e).__mro__ if k.__module__ == "builtins"), str(e)[:60]
    return [t.tolist() for t in (y.detach(), weight.detach(), weight.grad, *([] if factors is None else [factors.grad]))]


def test_embedding_bag():
    table = [[float((7 * i + 3 * j) % 5) for j in range(3)] for i in range(6)]
    flat, square = [0, 1, 2, 2, 5, 3, 4], [[0, 1], [2, 2], [5, 3]]
    good = [(flat, {"offsets": [0, 3, 3], "mode": m, **more}) for m in ("sum", "mean", "max") for more in (
        {}, {"padding_idx": 2}, {"padding_idx": -1}, {"max_norm": 2.0}, {"max_norm": 2.0, "norm_type": 1.0}, {"offsets": [0, 3, 7], "include_last_offset": True})]
    good += [(square, {}), (square, {"mode": "max"}), ([[5, 1], [0, 5]], {"scale_grad_by_freq": True}),
             (square, {"mode": "sum", "per_sample_weights": [[1.0, 2.0], [3.0, 4.0], [0.5, 0.25]]}),
             (flat, {"offsets": [0, 4], "mode": "sum", "per_sample_weights": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]})]
    for args, kwargs in good:
        ours = bags(dd, args, kwargs, table)
        equal(isinstance(ours, list), True, f"{kwargs}: {ours}")
        for a, b in zip(ours, bags(torch, args, kwargs, table), strict=True):
            equal(torch.allclose(torch.tensor(a), torch.tensor(b)), True, f"{kwargs}: {a} and {b}")
    bad = [(flat, {}), (square, {"offsets": [0]}), ([square], {}), (flat, {"offsets": [[0]]}), (square, {"mode": "min"}),
           (square, {"mode": "max", "scale_grad_by_freq": True}), (square, {"mode": "max", "sparse": True}),
           (square, {"per_sample_weights": [1.0]}), (square, {"per_sample_weights": [[1.0, 2.0]] * 3}),
           (flat, {"offsets": [1]}), (flat, {"offsets": [0, 9]}), (square, {"padding_idx": 6})]
    for args, kwargs in bad:
        (kind, said), (their_kind, theirs) = (bags(lib, args, kwargs, table) for lib in (dd, torch))
        equal((kind, said[:24]), (their_kind, theirs[:24]), f"{args} {kwargs}")


def test_linalg_errors():
    nan = float("nan")

    def calls(m):
        zero, low, odd, a = m.zeros(2, 2), m.tensor([[1.0, 2.0], [2.0, -5.0]]), m.full((2, 2), nan), m.linalg
        return {"inv": lambda: a.inv(zero), "inverse": lambda: zero.inverse(), "solve": lambda: a.solve(zero, m.ones(2)),
                "cholesky": lambda: a.cholesky(low), "svd": lambda: a.svd(odd),
                "pinv": lambda: a.pinv(odd), "matrix_power": lambda: a.matrix_power(zero, -1),
                "batch": lambda: a.inv(m.stack([m.eye(2), zero])), "inv_ex": lambda: a.inv_ex(zero, check_errors=True),
                "eigh": lambda: a.eigh(m.full((3, 3), float("inf"))), "cholesky_inverse": lambda: m.cholesky_inverse(zero),
                "tensorinv": lambda: a.tensorinv(zero, ind=1), "matrix_norm": lambda: a.matrix_norm(odd, 2),
                # RuntimeErrors of PyTorch
                "lu_factor": lambda: a.lu_factor(zero), "eig": lambda: a.eig(odd), "ldl_factor": lambda: a.ldl_factor(zero),
                "shape": lambda: a.inv(m.ones(2, 3)), "dtype": lambda: a.inv(m.ones((2, 2), dtype=m.int64)),
                # no error
                "det": lambda: a.det(zero), "lu": lambda: a.lu(zero)}

    def outcome(m, f):
        try:
            r = f()
            return "none", str(r.dtype if hasattr(r, "dtype") else r[0].dtype)[-7:]
        except m.linalg.LinAlgError as e:
            return "LinAlgError", str(e)
        except RuntimeError as e:
            return "RuntimeError", "" if "INTERNAL ASSERT" in str(e) or "Unknown error code" in str(e) else str(e)
    theirs = calls(torch)
    for name, f in calls(dd).items():
        equal(outcome(dd, f), outcome(torch, theirs[name]), name)
    kind = dd.linalg.LinAlgError
    equal((issubclass(kind, RuntimeError), issubclass(kind, dd.Error), "LinAlgError" in dir(dd.linalg), hasattr(dd.fft, "LinAlgError")),
          (True, True, True, False))
    for made in (lambda: dd.program(dd.linalg.inv), pipelined):
        f = made()
        equal([outcome(dd, lambda: f(dd.zeros(2, 2)))[0] for _ in range(2)], ["LinAlgError"] * 2, "of a program, and later")


def pipelined():
    def f(x):
        with dd.pipelined():
            y = dd.linalg.inv(x) + 1
        return y
    return f


def test_docstrings_have_the_schemas():
    for f in (dd.add, dd.Tensor.add, dd.linalg.norm, dd.ops.aten.add.Tensor):
        equal("add.Tensor(" in f.__doc__ or "linalg_norm(" in f.__doc__, True, str(f.__doc__))
    equal({"add", "ones", "rand", "linalg", "float32", "tensor"} <= set(dir(dd)), True, "dir()")
    equal({"relu", "add_", "shape"} <= set(dir(dd.ones(1))), True, "dir() of a tensor")


main()
