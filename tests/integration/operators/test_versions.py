"""test_versions.py -- versions of tensors and roots of views: kept by the host, as PyTorch keeps them.

CASES says for each call how often its tensors were written: [those given], [those returned]; VIEWS which
of those returned are views of the first one given.  Where PyTorch is installed, the tables are compared
with it."""

import os

from harness import BUILD, equal, main, raises
from daemon import TestDaemon

X = [1.0, 2.0, 3.0, 4.0]
M = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


class T:
    """A tensor among arguments."""
    def __init__(self, data, dtype="float32"):
        self.data, self.dtype = data, dtype


def x():
    return T(X)


def m():
    return T(M)


def m4():
    return T([X, X])


CASES = [
    # what is new has version 0, however it was filled
    ("zeros", [[2]], {}, [], [0]),
    ("ones", [[2]], {}, [], [0]),
    ("full", [[2], 3.0], {}, [], [0]),
    ("arange", [3], {}, [], [0]),
    ("scalar_tensor", [2.0], {}, [], [0]),
    ("zeros_like", [x()], {}, [0], [0]),
    ("ones_like", [x()], {}, [0], [0]),
    ("full_like", [x(), 2.0], {}, [0], [0]),
    ("new_zeros", [x(), [2]], {}, [0], [0]),
    ("new_ones", [x(), [2]], {}, [0], [0]),
    ("new_full", [x(), [2], 1.0], {}, [0], [0]),
    ("clone", [x()], {}, [0], [0]),
    ("add.Tensor", [x(), x()], {}, [0, 0], [0]),
    ("matmul", [m(), T([[1.0], [2.0], [3.0]])], {}, [0, 0], [0]),
    ("linear", [m(), T([M[0]]), T([1.0])], {}, [0, 0, 0], [0]),
    ("cat", [[x(), x()]], {}, [0, 0], [0]),
    ("stack", [[x(), x()]], {}, [0, 0], [0]),
    ("repeat", [x(), [2]], {}, [0], [0]),
    ("masked_fill.Scalar", [x(), T([True, False, True, False], "bool"), 2.0], {}, [0, 0], [0]),
    ("to.dtype", [x(), "float64"], {}, [0], [0]),
    ("layer_norm", [m(), [3]], {}, [0], [0]),
    # what is written counts once
    ("fill_.Scalar", [x(), 1.0], {}, [1], [1]),
    ("fill_.Tensor", [x(), T(1.0)], {}, [1, 0], [1]),
    ("zero_", [x()], {}, [1], [1]),
    ("copy_", [x(), x()], {}, [1, 0], [1]),
    ("add_.Tensor", [x(), x()], {}, [1, 0], [1]),
    ("add_.Scalar", [x(), 2.0], {}, [1], [1]),
    ("sub_.Tensor", [x(), x()], {}, [1, 0], [1]),
    ("mul_.Tensor", [x(), x()], {}, [1, 0], [1]),
    ("div_.Tensor_mode", [x(), x()], {"rounding_mode": "floor"}, [1, 0], [1]),
    ("pow_.Scalar", [x(), 2.0], {}, [1], [1]),
    ("neg_", [x()], {}, [1], [1]),
    ("relu_", [x()], {}, [1], [1]),
    ("silu_", [x()], {}, [1], [1]),
    ("leaky_relu_", [x()], {}, [1], [1]),
    ("clamp_", [x(), 0.0, 1.0], {}, [1], [1]),
    ("clamp_min_", [x(), 1.0], {}, [1], [1]),
    ("masked_fill_.Scalar", [x(), T([True, False, True, False], "bool"), 2.0], {}, [1, 0], [1]),
    ("logical_not_", [x()], {}, [1], [1]),
    ("add.out", [x(), x()], {"out": x()}, [0, 0, 1], [1]),
    ("maximum.out", [x(), x()], {"out": x()}, [0, 0, 1], [1]),
    ("exp.out", [x()], {"out": x()}, [0, 1], [1]),
    ("arange.start_out", [0, 4], {"out": x()}, [1], [1]),
    # what shares memory shares the version
    ("view", [x(), [2, 2]], {}, [0], [0]),
    ("alias", [x()], {}, [0], [0]),
    ("detach", [x()], {}, [0], [0]),
    ("reshape", [x(), [2, 2]], {}, [0], [0]),
    ("transpose.int", [m(), 0, 1], {}, [0], [0]),
    ("expand", [x(), [2, 4]], {}, [0], [0]),
    ("contiguous", [x()], {}, [0], [0]),
    ("split.Tensor", [x(), 2], {}, [0], [0, 0]),
    ("unbind.int", [x()], {}, [0], [0, 0, 0, 0]),
    ("chunk", [x(), 2], {}, [0], [0, 0]),
    ("_unsafe_view", [x(), [2, 2]], {}, [0], [0]),
    # no write
    ("sum", [x()], {}, [0], [0]),
    ("softmax.int", [x(), 0], {}, [0], [0]),
    # running statistics do not count
    ("native_batch_norm", [m(), None, None, T([0.0] * 3), T([1.0] * 3), True, 0.1, 1e-5], {},
     [0, 0, 0], [0, 0, 0]),
    ("batch_norm", [m(), None, None, T([0.0] * 3), T([1.0] * 3), True, 0.1, 1e-5, False], {}, [0, 0, 0], [0]),
    # refused: nothing was written
    ("add_.Tensor", [x(), T([1.0] * 3)], {}, [0, 0], None),
    ("copy_", [x(), T([1.0] * 3)], {}, [0, 0], None),
    ("masked_fill_.Scalar", [x(), T([True] * 3, "bool"), 2.0], {}, [0, 0], None),
    ("fill_.Tensor", [x(), x()], {}, [0, 0], None),
    ("mul_.Tensor", [T([1], "int64"), T([0.5])], {}, [0, 0], None),
]


# operator, arguments, what each tensor returned is: "view", "same" as the argument, "new", or "alias" of
# it: the version is shared, and there is no root
VIEWS = [
    ("view", [x(), [2, 2]], ["view"]),
    ("as_strided", [x(), [2], [1], 1], ["view"]),
    ("alias", [x()], ["view"]),
    ("detach", [x()], ["alias"]),
    ("reshape", [x(), [2, 2]], ["view"]),
    ("_reshape_alias", [x(), [2, 2], [2, 1]], ["view"]),
    ("reshape_as", [x(), T([[0.0] * 2] * 2)], ["view"]),
    ("view_as", [x(), T([[0.0] * 2] * 2)], ["view"]),
    ("flatten.using_ints", [m()], ["view"]),
    ("flatten.using_ints", [x()], ["same"]),
    ("unflatten.int", [x(), 0, [2, 2]], ["view"]),
    ("permute", [m(), [1, 0]], ["view"]),
    ("transpose.int", [m(), 0, 1], ["view"]),
    ("t", [m()], ["view"]),
    ("movedim.int", [m(), 0, 1], ["view"]),
    ("expand", [x(), [2, 4]], ["view"]),
    ("expand_as", [x(), m4()], ["view"]),
    ("broadcast_to", [x(), [2, 4]], ["view"]),
    ("slice.Tensor", [x(), 0, 1, 3], ["view"]),
    ("select.int", [x(), 0, 1], ["view"]),
    ("narrow", [x(), 0, 1, 2], ["view"]),
    ("squeeze", [x()], ["view"]),
    ("squeeze.dim", [m(), 0], ["view"]),
    ("unsqueeze", [x(), 0], ["view"]),
    ("diagonal", [m()], ["view"]),
    ("unfold", [x(), 0, 2, 1], ["view"]),
    ("split.Tensor", [x(), 2], ["view"] * 2),
    ("split_with_sizes", [x(), [1, 3]], ["view"] * 2),
    ("chunk", [x(), 2], ["view"] * 2),
    ("unbind.int", [x()], ["view"] * 4),
    ("_unsafe_view", [x(), [2, 2]], ["new"]),
    ("contiguous", [x()], ["same"]),
    ("positive", [x()], ["same"]),
    ("to.dtype", [x(), "float32"], ["same"]),
    ("to.dtype", [x(), "float64"], ["new"]),
    ("clone", [x()], ["new"]),
]


def flat(values):
    for v in values:
        if isinstance(v, (list, tuple)):
            yield from flat(v)
        else:
            yield v


def setup():
    daemon = TestDaemon()
    daemon.client = daemon.connect()
    return daemon


def teardown(daemon):
    daemon.client.close()
    daemon.finish()


def create(d, data, dtype="float32"):
    return d.call("tensor.create", data=data, dtype=dtype)["tensor"]


def version(d, t):
    return d.call("tensor.describe", tensor=t)["version"]


def ours(d, op, args, kwargs):
    """([versions of the tensors given], [of those returned], or None if it failed)."""
    given = []

    def value(v):
        if isinstance(v, T):
            given.append(create(d, v.data, v.dtype))
            return {"tensor": given[-1]}
        return [value(e) for e in v] if isinstance(v, list) else v
    args = [value(a) for a in args]
    kwargs = {k: value(v) for k, v in kwargs.items()}
    out = None
    try:
        out = d.call("op.call", op="aten::" + op, args=args, kwargs=kwargs)["outputs"]
        out = [o["version"] for o in flat(out) if isinstance(o, dict)]
    except Exception as e:
        if getattr(e, "type", None) != "RuntimeError":
            raise
        equal((e.data or {}).get("written"), None, f"{op}: written")
    seen = [version(d, t) for t in given]
    d.call("tensor.release", all=True)
    return seen, out


def theirs(torch, op, args, kwargs):
    given = []

    def value(v):
        if isinstance(v, T):
            given.append(torch.tensor(v.data, dtype=getattr(torch, v.dtype)))
            return given[-1]
        return [value(e) for e in v] if isinstance(v, list) else getattr(torch, v) if v == "float64" else v
    args = [value(a) for a in args]
    kwargs = {k: value(v) for k, v in kwargs.items()}
    base, _, overload = op.partition(".")
    if base in ("zeros", "ones", "full", "arange", "scalar_tensor", "zeros_like", "ones_like", "full_like") \
            and not overload:  # torch.ops goes past what makes their results new
        call = getattr(torch, base)
    elif base.startswith("new_"):
        call = lambda t, *rest: getattr(t, base)(*rest)
    else:
        call = getattr(getattr(torch.ops.aten, base), overload or "default")
    try:
        out = call(*args, **kwargs)
        out = [o._version for o in flat(out if isinstance(out, (list, tuple)) else [out]) if torch.is_tensor(o)]
    except RuntimeError:
        out = None
    return [t._version for t in given], out


def test_the_table(f):
    for op, args, kwargs, *want in CASES:
        equal(ours(f.client, op, args, kwargs), tuple(want), op)


def test_the_table_is_what_pytorch_does():
    try:
        import torch
    except ImportError:
        print("python3-torch is not installed")
        return
    for op, args, kwargs, *want in CASES:
        equal(theirs(torch, op, args, kwargs), tuple(want), op)


def kinds(d, op, args):
    """What is returned, seen from outside: by base, by version, by handle."""
    given = []

    def value(v):
        if isinstance(v, T):
            given.append(create(d, v.data, v.dtype))
            return {"tensor": given[-1]}
        return v
    out = list(flat(d.call("op.call", op="aten::" + op, args=[value(a) for a in args])["outputs"]))
    d.call("op.call", op="aten::fill_.Scalar", args=[{"tensor": given[0]}, 1.0])
    for t in out:
        described = d.call("tensor.describe", tensor=t["tensor"])
        base, shared = described.get("base"), described["version"] == 1
        equal(base in (None, given[0]), True, f"{op}: base {base}")
        yield "view" if base else "new" if not shared else "shared"
    d.call("tensor.release", all=True)


def test_views_have_a_root(f):
    for op, args, want in VIEWS:
        # over the wire an argument that comes back is a tensor like an alias
        equal(list(kinds(f.client, op, args)), ["shared" if k in ("alias", "same") else k for k in want], op)


def test_views_are_what_pytorch_says():
    try:
        import torch
    except ImportError:
        print("python3-torch is not installed")
        return
    for op, args, want in VIEWS:
        args = [torch.tensor(a.data) if isinstance(a, T) else getattr(torch, a) if isinstance(a, str) else a
                for a in args]
        base, _, overload = op.partition(".")
        out = getattr(getattr(torch.ops.aten, base), overload or "default")(*args)
        got = []
        for t in flat([out]):
            args[0].fill_(1)
            got.append("same" if t is args[0] else "view" if t._is_view() and t._base is args[0]
                       else "alias" if t._version == args[0]._version else "new")
        equal(got, want, op)


def test_roots_are_the_first_of_a_chain(f):
    d = f.client
    call = lambda op, *args: d.call("op.call", op="aten::" + op, args=list(args))["outputs"]
    base = lambda t: d.call("tensor.describe", tensor=t["tensor"]).get("base")
    h = lambda t: {"tensor": t["tensor"]}
    out = call("zeros", [4])[0]
    v, w = call("slice.Tensor", h(out), 0, 0, 2)[0], call("slice.Tensor", h(out), 0, 1, 3)[0]
    call("mul_.Tensor", h(v), {"data": [2, 3]})
    equal([version(d, t["tensor"]) for t in (out, v, w)], [1, 1, 1])
    equal([base(t) for t in (out, v, w)], [None, out["tensor"], out["tensor"]])
    deep = v
    for _ in range(100):
        deep = call("view", h(deep), [2])[0]
    equal(base(deep), out["tensor"])
    half = call("chunk", h(v), 2)[0][0]
    equal(base(half), out["tensor"])
    loose = call("detach", h(v))[0]
    equal((base(loose), base(call("view", h(loose), [2])[0])), (None, loose["tensor"]))
    d.call("tensor.release", tensors=[out["tensor"]])
    equal(base(v), None, "its base is no handle of the session any more")
    call("add_.Scalar", h(w), 1.0)
    equal([version(d, t["tensor"]) for t in (v, w, deep, half, loose)], [2] * 5)
    d.call("tensor.release", all=True)
    equal(d.call("server.status")["live_tensors"], 0, "views let their roots go")


def test_views_below_a_layer_for_gradients(f):
    """A view made before its base needed a gradient is seen by the layer."""
    d = f.client
    d.call("plugin.load", path=os.path.join(BUILD, "tests", "plugins", "layer.so"))
    call = lambda op, *args: d.call("op.call", op=op, args=[{"tensor": a["tensor"]} if isinstance(a, dict) else a
                                                            for a in args])["outputs"]
    seen = lambda: call("layer::seen")[0]
    t = d.call("tensor.create", data=[2.0, 3.0])
    out = call("aten::zeros", [4])[0]
    v, w = call("aten::slice.Tensor", out, 0, 0, 2)[0], call("aten::slice.Tensor", out, 0, 1, 3)[0]
    seen()
    call("layer::requires_grad_", t)
    call("aten::mul_.Tensor", v, t)
    equal(seen(), 1, "v.mul_(x) is recorded")
    call("aten::neg", w)
    equal(seen(), 1, "w shares its root's gradient")
    describe = lambda i: d.call("tensor.describe", tensor=i["tensor"])
    equal([describe(i)["version"] for i in (out, v, w, t)], [1, 1, 1, 0])
    equal([describe(i).get("base") for i in (out, v, w, t)], [None, out["tensor"], out["tensor"], None])
    d.call("tensor.release", all=True)
    equal(d.call("plugin.unload", plugin="layer")["unmapped"], True)


def written(e):
    return (e.data or {}).get("written")


def test_kernels_of_plugins_leave_versions_to_the_host(f):
    d = f.client
    d.call("plugin.load", path=os.path.join(BUILD, "tests", "plugins", "writes.so"))
    for op in "one", "implicit", "explicit", "typed":
        t = create(d, X)
        call = lambda how: d.call("op.call", op="writes::" + op, args=[{"tensor": t}, how])
        call(0)
        equal(version(d, t), 1, op)
        e = raises(lambda: call(1), "ValueError", "it refuses")
        # an explicit composite may have written before: only what calls others alone is believed
        equal((version(d, t), written(e)), (2, [t]) if op == "explicit" else (1, None), op + " refused")
        before = version(d, t)
        e = raises(lambda: call(2), "RuntimeError", "it fails")
        equal((version(d, t), written(e)), (before + 1, [t]), op + " failed")
        e = raises(lambda: call(3), "RuntimeError", "it fails")
        equal((version(d, t), written(e)), (before + 2, [t]), op + " wrote and failed")
        if op != "explicit":
            e = raises(lambda: call(4), "RuntimeError", "the layer fails")
            equal((version(d, t), written(e)), (before + 2, None), op + ": its layer failed")
    t, u, v = create(d, X), create(d, X), create(d, X)
    d.call("op.call", op="writes::all", args=[[{"tensor": t}, {"tensor": u}], {"tensor": v}])
    equal([version(d, i) for i in (t, u, v)], [1, 1, 1])
    many = [create(d, X) for _ in range(20)]
    d.call("op.call", op="writes::all", args=[[{"tensor": i} for i in many], None])
    equal([version(d, i) for i in many], [1] * 20)
    d.call("op.call", op="writes::twice", args=[{"tensor": t}])
    equal(version(d, t), 3, "two calls inside")
    d.call("op.call", op="writes::shrinks", args=[{"tensor": t}])
    equal(version(d, t), 3, "keeps_version")
    made = d.call("op.call", op="writes::made", args=[{"tensor": t}])["outputs"][0]
    equal((made["version"], version(d, t)), (0, 3), "a new result that others filled")
    statistics = lambda how: d.call("op.call", op="writes::statistics", args=[{"tensor": t}, {"tensor": u}, how])
    statistics(0)
    equal(version(d, u), 1, "also_written")
    e = raises(lambda: statistics(2), "RuntimeError", "it fails")
    equal((version(d, u), written(e)), (1, [u]), "also_written, failed")
    e = raises(lambda: statistics(1), "ValueError", "it refuses")
    equal((version(d, u), written(e)), (1, None), "also_written, refused")
    d.call("tensor.release", all=True)
    equal(d.call("plugin.unload", plugin="writes")["unmapped"], True)


if __name__ == "__main__":
    main(setup, teardown)
