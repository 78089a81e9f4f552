"""test_wrappers.py -- tensors made of tensors (tests/plugins/masked.c): made, taken apart, described, and
refused where bytes are wanted, with their plugin and without it."""

import os

from harness import BUILD, equal, main, raises
from daemon import TestDaemon

PLUGIN = os.path.join(BUILD, "tests", "plugins", "masked.so")
VALUES, MASK = [[1, 2, 3], [4, 5, 6]], [[True, False, True], [True, True, False]]


def setup():
    daemon = TestDaemon()
    daemon.client = daemon.connect()
    daemon.client.call("plugin.load", path=PLUGIN)
    return daemon


def teardown(daemon):
    daemon.client.call("tensor.release", all=True)
    equal(daemon.client.call("server.status")["live_tensors"], 0, "tensors")
    equal(daemon.client.call("plugin.unload", plugin="masked")["unmapped"], True)
    daemon.client.close()
    daemon.finish()


def op(f, name, *tensors, more=(), how="handle"):
    """The first output of a call with these tensors, and `more` behind them."""
    args = [{"tensor": t} for t in tensors] + list(more)
    out = f.client.call("op.call", op=name, args=args, **{"return": how})["outputs"]
    return out[0] if out else None


def create(f, data, dtype="float32"):
    return f.client.call("tensor.create", data=data, dtype=dtype)["tensor"]


def make(f, values=VALUES, mask=MASK):
    return op(f, "masked::make", create(f, values), create(f, mask, "bool"))


def dense(f, t, fill=0):
    return op(f, "masked::to_dense", t, more=[fill], how="data")["data"]


def test_operators_take_it_apart(f):
    t = make(f)["tensor"]
    equal(dense(f, t), [[1, 0, 3], [4, 5, 0]])
    equal(dense(f, op(f, "aten::neg", t)["tensor"], 9), [[-1, 9, -3], [-4, -5, 9]])
    other = make(f, [[1] * 3] * 2, [[True] * 3, [False] * 3])["tensor"]
    equal(dense(f, op(f, "aten::add.Tensor", t, other)["tensor"]), [[2, 0, 4], [0, 0, 0]])
    plain = create(f, [10, 20, 30])
    for a, b in (t, plain), (plain, t):
        equal(dense(f, op(f, "aten::mul.Tensor", a, b)["tensor"]), [[10, 0, 90], [40, 100, 0]])
    equal(op(f, "aten::sum", t, how="data")["data"], 13)


def test_describe_names_kind_and_parts(f):
    made = make(f)
    equal((made["storage"], made["shape"], made["strides"], made["dtype"], made["device"]),
          (None, [2, 3], [3, 1], "float32", "cpu"))
    equal(made["keys"], ["masked"])
    t = f.client.call("tensor.describe", tensor=made["tensor"])
    equal((t["kind"], t["ints"], t["storage"]), ("masked", [7], None))
    equal([(p["dtype"], p["shape"], p["storage"] is None) for p in t["parts"]],
          [("float32", [2, 3], False), ("bool", [2, 3], False)])
    values = t["parts"][0]["tensor"]  # it has a handle of its own here
    equal(f.client.call("tensor.read", tensor=values)["data"], VALUES)
    equal("kind" in f.client.call("tensor.describe", tensor=values), False)
    f.client.call("tensor.release", tensors=[values])
    equal("tensor" in f.client.call("tensor.describe", tensor=made["tensor"])["parts"][0], False)
    listed = {x["tensor"]: x for x in f.client.call("tensor.list")["tensors"]}
    equal(listed[made["tensor"]]["storage"], None)


def test_its_bytes_are_refused_by_its_kind(f):
    t, plain = make(f)["tensor"], create(f, VALUES)
    for how in "json", "attachment":
        raises(lambda: f.client.call("tensor.read", tensor=t, **{"as": how}), "NotImplementedError",
               "a tensor of kind 'masked' has no bytes of its own")
    for how in 1, 2, 3, 4:
        raises(lambda: op(f, "masked::leak", t, plain, more=[how]), "NotImplementedError", "kind 'masked'")
    raises(lambda: op(f, "masked::leak", t, plain, more=[5]), "ValueError", "data is NULL, sizes [2, 3]")
    raises(lambda: op(f, "masked::leak", t, plain, more=[0]), "NotImplementedError", "aten::maximum",
           "the kernel for CPU (plugin 'cpu'", "reads bytes", "made of tensors")
    raises(lambda: op(f, "aten::exp", t), "NotImplementedError", "no kernel for masked")
    raises(lambda: op(f, "aten::maximum", plain, t), "NotImplementedError", "aten::maximum", "no kernel for masked")
    equal(f.client.call("tensor.read", tensor=plain)["data"], VALUES)


def test_version_is_that_of_its_values(f):
    values = create(f, VALUES)
    t = op(f, "masked::make", values, create(f, MASK, "bool"))["tensor"]
    version = lambda i: f.client.call("tensor.describe", tensor=i)["version"]
    op(f, "aten::mul_.Scalar", t, more=[2])
    equal((version(t), version(values)), (1, 1))
    op(f, "aten::add_.Scalar", values, more=[1])
    equal((version(t), version(values)), (2, 2))
    equal(dense(f, t), [[3, 0, 7], [9, 11, 0]])


def test_it_in_backward(f):
    def backward(t, **options):
        return f.client.call("grad.backward", tensors=[t], retain_graph=True, **options)

    def grad(t):
        return f.client.call("tensor.read", tensor=f.client.call("grad.get", tensor=t)["grad"]["tensor"])["data"]

    x = f.client.call("tensor.create", data=VALUES, requires_grad=True)["tensor"]
    t = op(f, "masked::make", x, create(f, MASK, "bool"))["tensor"]
    raises(lambda: backward(t), "RuntimeError", "only for scalar outputs")
    total = op(f, "aten::sum", t)["tensor"]
    equal(backward(total, inputs=[t]), {"grads": [None]})
    backward(total)
    equal(grad(x), [[1, 0, 1], [1, 1, 0]])
    plain, y = make(f)["tensor"], op(f, "aten::mul.Tensor", x, x)["tensor"]
    given = [{"tensor": plain}]
    raises(lambda: backward(y, gradients=given), "RuntimeError", "assigned grad is of kind 'masked'")
    raises(lambda: backward(y, gradients=given, create_graph=True), "RuntimeError", "assigned grad is of kind 'masked'")
    equal(dense(f, backward(y, gradients=given, inputs=[x])["grads"][0]["tensor"]), [[2, 0, 18], [32, 50, 0]])
    raises(lambda: f.client.call("grad.set", tensor=x, grad={"tensor": plain}), "RuntimeError",
           "assigned grad is of kind 'masked', a tensor made of tensors, but its tensor of float32 is none")
    equal(grad(x), [[1, 0, 1], [1, 1, 0]], "what fails changes no gradient")


def test_views_of_it_know_their_root(f):
    """As those of plain tensors: what views a view has the root of that; detach has none; a copy has none."""
    t, describe = make(f)["tensor"], lambda i: f.client.call("tensor.describe", tensor=i)
    base = lambda i: describe(i).get("base")
    view = op(f, "aten::transpose.int", t, more=[0, 1])["tensor"]
    deeper = op(f, "aten::transpose.int", view, more=[0, 1])["tensor"]
    equal([base(i) for i in (t, view, deeper)], [None, t, t])
    equal(dense(f, view), [[1, 4], [0, 5], [3, 0]])
    equal(base(op(f, "aten::detach", t)["tensor"]), None)
    equal(base(op(f, "aten::neg", t)["tensor"]), None)
    values = op(f, "masked::values", t)["tensor"]
    equal((base(values), describe(values).get("kind")), (t, None), "a plain tensor on the bytes of a part")
    op(f, "aten::mul_.Scalar", view, more=[2])
    equal([describe(i)["version"] for i in (t, view, deeper, values)], [1] * 4)
    nested = op(f, "masked::nest", t, more=[1])["tensor"]
    inner = op(f, "masked::same", nested)["tensor"]
    equal((base(inner), base(t), describe(inner)["kind"]), (nested, None, "masked"), "held by others, too")
    equal(inner == t, False)


def test_it_becomes_something_else(f):
    t, plain = make(f)["tensor"], create(f, [5, 6, 7])
    set_ = lambda *tensors: op(f, "masked::set_", *tensors)
    set_(t, plain, create(f, [True, True, False], "bool"))
    d = f.client.call("tensor.describe", tensor=t)
    equal((d["shape"], d["ints"], dense(f, t)), ([3], [], [5, 6, 0]))
    raises(lambda: set_(t, t, plain), "ValueError", "might hold itself")
    around = op(f, "masked::nest", t, more=[1])["tensor"]
    raises(lambda: set_(t, around, plain), "ValueError", "1 levels cannot become one of 3")
    set_(around, make(f)["tensor"], plain)
    raises(lambda: set_(t, create(f, [1], "int64"), plain), "ValueError", "stays that")


def test_levels_have_a_limit(f):
    nest = lambda t, n: op(f, "masked::nest", t, more=[n])["tensor"]
    limits = f.client.call("server.hello")["limits"]
    t, before = make(f)["tensor"], f.client.call("server.status")["live_tensors"]
    deep = nest(t, limits["wrapper_depth"] - 1)  # each of them holds the next one twice
    raises(lambda: nest(deep, 1), "ResourceExhausted", "wrapper_depth", "at most 64 levels")
    raises(lambda: nest(t, 1000), "ResourceExhausted", "at most 64 levels")
    d = f.client.call("tensor.describe", tensor=deep)
    equal([p["kind"] for p in d["parts"]], ["masked"] * 2)
    f.client.call("tensor.release", tensors=[deep])
    equal(f.client.call("server.status")["live_tensors"], before)


def test_its_plugin_can_go_and_come(f):
    t = make(f)["tensor"]
    equal(f.client.call("plugin.unload", plugin="masked")["unmapped"], True)
    d = f.client.call("tensor.describe", tensor=t)
    equal((d["kind"], d["shape"], len(d["parts"])), ("masked", [2, 3], 2))
    raises(lambda: f.client.call("tensor.read", tensor=t), "NotImplementedError", "kind 'masked'")
    raises(lambda: op(f, "aten::neg", t), "NotImplementedError", "no kernel for masked")
    f.client.call("plugin.load", path=PLUGIN)
    equal(dense(f, op(f, "aten::neg", t)["tensor"]), [[-1, 0, -3], [-4, -5, 0]])
    equal(f.client.call("plugin.unload", plugin="masked")["unmapped"], True)
    f.client.call("tensor.release", all=True)
    equal(f.client.call("server.status")["live_tensors"], 0, "freed without its plugin")
    f.client.call("plugin.load", path=PLUGIN)


if __name__ == "__main__":
    main(setup, teardown)
