"""test_out_forms.py -- every operator with one out= argument, called in both of its forms with arguments that
its schema suggests: where the functional form answers, out= answers the same, and nothing dies."""

from harness import equal, less, main, raises, warnings
from daemon import TestDaemon
import dispatchd

VALUES = {"int": 1, "SymInt": 1, "float": 1, "bool": False, "Scalar": 2, "str": "mean", "ScalarType": "float32",
          "MemoryFormat": "contiguous_format", "Device": "cpu", "Layout": "strided"}
NAMED = {"rounding_mode": "floor", "reduction": 1, "approximate": "none", "dim": 0, "ord": 2}
# The functional form is a mean, of any tensor, where the result has one element a plane; the others resize
# nothing: binary_cross_entropy writes to its output without dimensions of size 1.  All so in PyTorch.
OTHERWISE = ("aten::adaptive_avg_pool2d.out", "aten::adaptive_avg_pool3d.out", "aten::_compute_linear_combination.out",
             "aten::binary_cross_entropy.out", "aten::binary_cross_entropy_backward.grad_input")
UNDEFINED = ("empty", "new_empty", "resize")  # elements are anything


def value(arg, literal):
    type_ = arg["type"]
    if arg["name"] in NAMED:
        return [0] if "[" in type_ else NAMED[arg["name"]]
    if type_.endswith("?"):
        return None
    if type_.startswith("Tensor"):
        return [literal, literal] if "[" in type_ else literal
    return [1, 1] if "[" in type_ else VALUES.get(type_)


def pairs(d):
    """{out= overload: (functional overload, its arguments, name of out)}"""
    names, found = d.call("registry.list")["ops"], {}
    read = lambda a: not (a["written"] and a["kwarg_only"])
    signature = lambda name, args: (name.split(".")[0], tuple((a["name"], a["type"]) for a in args))
    all_ = {name: d.call("registry.describe", op=name)["arguments"] for name in names}
    plain = {signature(n, args): n for n, args in all_.items() if not any(a["written"] for a in args)}
    for name, args in all_.items():
        outs, kept = [a for a in args if a["written"]], [a for a in args if not a["written"]]
        source = plain.get(signature(name, kept))
        if len(outs) == 1 and outs[0]["type"].startswith("Tensor") and "[" not in outs[0]["type"] and source \
                and name not in OTHERWISE:
            found[name] = source, kept, outs[0]["name"]
    return found


def test_both_forms_answer_the_same(daemon):
    answered = 0
    with daemon.connect() as d:
        for name, (source, args, out) in pairs(d).items():
            for literal in ({"data": [[0.25, 0.5], [0.75, 1]]}, {"dtype": "int64", "data": [[1, 2], [3, 1]]}):
                given = {a["name"]: value(a, literal) for a in args if "default" not in a or a["name"] in NAMED}
                call = lambda op, extra: d.call("op.call", op=op, args=[], kwargs={**given, **extra},
                                                **{"return": "data"})["outputs"]
                try:
                    want = call(source, {})[0]
                except dispatchd.Error:
                    continue
                drawn = "nondeterministic_seeded" in d.call("registry.describe", op=source)["tags"]
                fixed = drawn or "_copy." in name  # copies of views, and some that draw, resize nothing
                dst = d.call("tensor.create", dtype=want["dtype"], **{"data": want["data"]} if fixed else {"data": []})["tensor"]
                try:
                    got = call(name, {out: {"tensor": dst}})[0]
                except dispatchd.Error as e:
                    raise AssertionError(f"{name} {given}: {e}; {source} answers {want}")
                if not drawn and not source.split("::")[1].startswith(UNDEFINED):
                    equal([got[k] for k in ("dtype", "shape", "data")],
                          [want[k] for k in ("dtype", "shape", "data")], f"{name} {given}")
                answered += 1
        d.call("tensor.release", tensors=[], all=True)
    print(f"{answered} calls of out= overloads answered as the functional ones did")
    less(300, answered, "calls compared")


def test_losses_into_an_output(daemon):
    with daemon.connect() as d:
        out = d.call("tensor.create", data=0)["tensor"]
        a, b = {"data": [0.25, 0.5]}, {"data": [0, 1]}
        equal(d.op("aten::mse_loss.out", a, b, out={"tensor": out}, returns="data")["data"], 0.15625)
        d.release(out)


def test_the_slope_of_glu_has_the_shape_of_a_half(daemon):
    x = {"data": [[1, 2, 0, 0]]}
    with daemon.connect() as d:
        equal(d.op("aten::glu_backward", {"data": [[2, 4]]}, x, 1, returns="data")["data"], [[1, 2, 0.5, 2]])
        equal(d.op("aten::glu_backward", {"data": 2}, x, 1, returns="data")["data"], [[1, 1, 0.5, 1]])
        raises(lambda: d.op("aten::glu_backward", {"data": [[1, 1, 1, 1]]}, x, 1), "RuntimeError", "4", "2")


def into(d, op, *args, **kwargs):
    """Calls of out= into new tensors by name: their data, and what was warned of."""
    outs = {n: d.call("tensor.create", **t)["tensor"] for n, t in kwargs.items() if n.startswith("out")}
    handles = {n: {"tensor": t} for n, t in outs.items()}
    said = d.call("op.call", op=op, args=list(args), kwargs={**kwargs, **handles})
    data = [d.call("tensor.read", tensor=t)["data"] for t in outs.values()]
    d.release(*outs.values())
    return data, [w[:36] for w in warnings(said)]


def test_overloads_that_autogen_makes(daemon):
    resized = ["An output with one or more elements "]
    rows = {"data": [[1, 2], [3, 5]]}
    with daemon.connect() as d:
        equal(d.op("aten::zero", rows, returns="data")["data"], [[0, 0], [0, 0]])
        equal(into(d, "aten::zero.out", rows, out={"data": [7]}), ([[[0, 0], [0, 0]]], resized))
        equal(into(d, "aten::flip.out", rows, [0], out={"data": [], "dtype": "int32"}), ([[[3, 5], [1, 2]]], []))
        equal(into(d, "aten::full_like.out", rows, 7.5, out={"dtype": "int64", "data": []}), ([[[7, 7], [7, 7]]], []))
        equal(into(d, "aten::_unique2.out", {"data": [3, 1, 3]}, True, True, True, out0={"data": []},
                   out1={"dtype": "int64", "data": []}, out2={"dtype": "int64", "data": []}),
              ([[1, 3], [1, 0, 1], [1, 2]], []))
        one = d.call("tensor.create", data=[1])["tensor"]  # what an out= is made of is not written
        equal(into(d, "aten::fill.Scalar_out", {"tensor": one}, 4, out={"data": []}), ([[4]], []))
        equal(into(d, "aten::copy.out", {"tensor": one}, {"data": 6}, out={"data": []}), ([[6]], []))
        equal(d.op("aten::fill.Tensor", {"tensor": one}, {"data": 5}, returns="data")["data"], [5])
        equal(d.call("tensor.read", tensor=one)["data"], [1])
        wide = d.call("op.call", op="aten::expand", args=[{"tensor": one}, [2, 2]])["outputs"][0]["tensor"]
        raises(lambda: d.op("aten::relu.out", rows, out={"tensor": wide}), "RuntimeError", "more than one element")
        meta = d.op("aten::relu.out", {"shape": [2, 3], "device": "meta"}, out={"shape": [0], "device": "meta"})
        equal((meta["shape"], meta["device"]), ([2, 3], "meta"))
        d.call("tensor.release", tensors=[], all=True)


def setup():
    return TestDaemon()


def finish(f):
    f.finish()


if __name__ == "__main__":
    main(setup, finish)
