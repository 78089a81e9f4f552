"""test_own_gradients.py -- gradients that plugins compute: with an operator of their own (dp_record_as),
with a formula for another plugin's operator, with a kernel at AutogradCPU; and plugins that come and go
between recording and backward.

DP_ORDERS sets the number of random orders."""

import os
import random
import shutil

from graphs import Graphs
from graphs import setup as graphs_setup
from graphs import teardown as graphs_teardown
from harness import BUILD, SANITIZED, equal, main, raises

ORDERS = int(os.environ.get("DP_ORDERS", 4 if SANITIZED else 25))
PATHS = {name: os.path.join(BUILD, "tests", "plugins", name + ".so") for name in ("own_forward", "own_backward", "own_layer")}
PATHS["autograd"] = os.path.join(BUILD, "plugins", "autograd.so")
ONCE = "trying to differentiate twice a function that was marked with @once_differentiable"


class Plugins(Graphs):
    """The plugins under test, and what is loaded of them."""

    def __init__(self, daemon, d):
        super().__init__(daemon, d)
        self.there = {"autograd"}
        self.slope, self.mode = 0, 0
        PATHS["slope"] = os.path.join(daemon.dir, "slope.so")

    def install(self, version):
        """Put release 1 or 2 of plugin slope where a load or a reload finds it."""
        shutil.copy(os.path.join(BUILD, "tests", "plugins", f"slope_{version}.so"), PATHS["slope"] + ".new")
        os.rename(PATHS["slope"] + ".new", PATHS["slope"])
        self.slope = version

    def load(self, *names):
        for name in names:
            if name == "slope":
                self.install(self.slope or 1)
            self.d.call("plugin.load", path=PATHS[name])
            self.there.add(name)
            self.mode = 0 if name == "own_layer" else self.mode

    def unload(self, *names):
        for name in names:
            self.d.call("plugin.unload", plugin=name)
            self.there.remove(name)

    def only(self, *names):
        """Begin a test with these plugins and no tensors."""
        self.d.call("tensor.release", all=True)
        self.unload(*(self.there - {"autograd"}))
        self.load(*({"autograd", *names} - self.there))

    def reload(self, name):
        if name == "slope":
            self.install(3 - self.slope)
        self.d.call("plugin.reload", plugin=name)
        self.mode = 0 if name == "own_layer" else self.mode

    def set_mode(self, mode):
        """How own_layer records from now on; returns how many calls it has seen."""
        self.mode = mode
        return self.d.op("own_layer::mode", {"data": [0]}, mode)

    def own(self, name, t):
        return self.d.call("op.call", op=name, args=[{"tensor": t}], **{"return": "handle"})["outputs"][0]["tensor"]

    def slope_of(self, y, x, **options):
        """The gradient of each element of y by that of x."""
        ones = {"data": [1.0] * len(self.data(x))}
        grads = self.backward(y, gradients=[ones], inputs=[{"tensor": x}], **options)["grads"]
        return grads[0]["tensor"]

    def drop(self, *tensors):
        self.d.call("tensor.release", tensors=list(tensors))


def setup():
    f = graphs_setup()
    return Plugins(f.daemon, f.d)


def teardown(f):
    f.only()
    graphs_teardown(f)


def test_an_operator_of_the_plugin_computes_the_gradient(f):
    f.only("own_forward", "own_backward")
    x = f.leaf([1, 2, 3])
    y = f.own("own::cube", x)
    equal((f.data(y), f.d.call("tensor.describe", tensor=y)["grad_fn"]), ([1, 8, 27], "own::cube"))
    first = f.slope_of(y, x, create_graph=True)
    equal(f.data(first), [3, 12, 27])
    equal(f.data(f.slope_of(first, x)), [6, 12, 18])
    path = f.d.call("registry.explain", op="own::cube", args=[{"tensor": x}])["path"]
    equal([(s["key"], s["plugin"]) for s in path], [("AutogradCPU", "own_forward"), ("CPU", "own_forward")])


def test_once_differentiable(f):
    f.only("own_forward", "own_backward")
    x = f.leaf([2])
    first = f.slope_of(f.own("own::cube_once", x), x, create_graph=True)
    equal(f.data(first), [12])
    raises(lambda: f.slope_of(first, x), "RuntimeError", "own::cube_once: " + ONCE)


def test_a_saved_tensor_that_is_written(f):
    f.only("own_forward", "own_backward")
    x = f.of(f.leaf([1, 2]), "clone")
    y = f.own("own::cube", x)
    f.op("add_.Tensor", x, {"data": [1]})
    raises(lambda: f.backward(f.op("sum", y)), "RuntimeError", "which own::cube saved as 'x', is at version 1")


def test_a_backward_operator_that_is_gone(f):
    f.only("own_forward")
    x = f.leaf([1, 2])
    raises(lambda: f.own("own::cube", x), "NotFound", "own::cube: its backward operator own_back::cube is not defined")
    equal((f.data(f.own("own::cube", f.of(x, "detach"))), f.history()), ([1, 8], 0))
    f.load("own_backward")
    y = f.own("own::cube", x)
    f.backward(y, gradients=[{"data": [1, 1]}], retain_graph=True)
    f.unload("own_backward")
    raises(lambda: f.backward(y, gradients=[{"data": [1, 1]}]), "NotFound", "own::cube", "own_back::cube",
           "no plugin defines this operator")
    equal((f.grad(x), f.history()), ([3, 12], 1))
    f.load("own_backward")
    f.unload("own_forward", "autograd")
    f.backward(y, gradients=[{"data": [1, 1]}])
    equal(f.grad(x), [6, 24])


def test_a_graph_keeps_the_formula_it_was_recorded_with(f):
    f.only("own_forward", "slope")
    x = f.leaf([1, 2])
    graphs = [f.own("own::same", x)]
    f.reload("slope")
    graphs.append(f.own("own::same", x))
    f.unload("slope")
    graphs.append(f.own("own::same", x))
    f.load("slope")
    f.unload("own_forward")
    equal([f.data(f.slope_of(y, x)) for y in graphs[:2]], [[1, 1], [2, 2]])
    raises(lambda: f.slope_of(graphs[2], x), "NotImplementedError", "the derivative for 'own::same' is not implemented")


def test_errors_name_the_plugin_that_is_not_loaded(f):
    f.only("own_forward")
    x, y = f.leaf([1, 2]), f.leaf([3])
    f.unload("autograd", "own_forward")
    raises(lambda: f.of(x, "requires_grad_"), "NotImplementedError", "keys that have one: none; plugin 'autograd' had one: load it")
    raises(lambda: f.d.call("op.call", op="grad::gradients", args=[[], []]), "NotFound",
           "no operator 'grad::gradients'; plugin 'autograd' had it until it was unloaded or reloaded")
    raises(lambda: f.own("own::cube", x), "NotFound", "no operator 'own::cube'; plugin 'own_forward' had it until it was unloaded or reloaded")
    total = f.op("sum", x)
    for method in "backward", "graph":
        raises(lambda: f.d.call("grad." + method, tensors=[total]), "RuntimeError", "element 0 of tensors does not require grad",
               "no plugin records calls: load plugin autograd")
    f.load("autograd")
    raises(lambda: f.d.call("grad.backward", tensors=[total]), "RuntimeError", "does not have a grad_fn")
    f.of(x, "requires_grad_")
    raises(lambda: f.own("own::cube", x), "NotFound", "plugin 'own_forward'")
    f.load("own_forward")
    f.own("own::cube", f.of(x, "detach"))
    f.op("sum", y)


def test_a_kernel_at_autograd_of_one_backend_comes_first(f):
    f.only()
    x = f.leaf([3])
    args = [{"tensor": x}, {"tensor": x}]

    def layer():
        path = f.d.call("registry.explain", op="aten::mul.Tensor", args=args)["path"]
        return path[0]["key"], path[0]["plugin"]

    equal(layer(), ("AutogradCPU", "autograd"))
    f.load("own_layer")
    equal(layer(), ("AutogradCPU", "own_layer"))
    before = f.set_mode(0)
    equal(f.data(f.slope_of(f.op("mul.Tensor", x, x), x)), [6])
    equal(f.set_mode(1), before + 1, "calls seen")
    late = f.op("mul.Tensor", x, x)
    equal(f.data(f.slope_of(late, x, retain_graph=True)), [60])
    f.set_mode(2)
    equal(f.d.call("tensor.describe", tensor=f.op("mul.Tensor", x, x))["requires_grad"], False)
    seen = f.set_mode(1)
    f.d.call("op.call", op="aten::mul.Tensor", args=args, grad_enabled=False)
    equal(f.set_mode(1), seen, "calls seen")
    f.unload("own_layer")
    equal(layer(), ("AutogradCPU", "autograd"))
    equal(f.data(f.slope_of(f.op("mul.Tensor", x, x), x)), [6])
    raises(lambda: f.slope_of(late, x), "NotFound", "aten::mul.Tensor", "own_layer::back")


# -- random orders --

class Link:
    """One call of a chain: its gradient, and what backward needs or says."""

    def __init__(self, factor, op=None, owner=None, missing=None):
        self.factor, self.op, self.owner, self.missing = factor, op, owner, missing


class Chain:
    """A graph of some calls, recorded with the plugins that were loaded."""

    def __init__(self, f, x):
        self.x, self.y, self.links, self.tensors = x, x, [], []
        self.recorded = True

    def call(self, f, name):
        """Append a call. It is recorded, not recorded or refused, as what is loaded makes it."""
        value = f.data(self.y)
        link = None
        if name == "own::cube":
            if self.recorded and "own_backward" not in f.there:
                raises(lambda: f.own(name, self.y), "NotFound", "own_back::cube is not defined")
                return
            link = Link([3 * v * v for v in value], "own_back::cube", "own_backward")
        elif name == "own::same" and "autograd" in f.there:
            missing = None if "slope" in f.there else "the derivative for 'own::same' is not implemented"
            link = Link([f.slope] * len(value), missing=missing)
        elif name == "aten::mul.Tensor" and "own_layer" in f.there and f.mode == 1:
            link = Link([20 * v for v in value], "own_layer::back", "own_layer")
        elif name == "aten::mul.Tensor" and ("autograd" in f.there or "own_layer" in f.there):
            missing = None if "autograd" in f.there else "the derivative for 'aten::mul.Tensor' is not implemented"
            link = Link([2 * v for v in value], missing=missing)
            link = None if "own_layer" in f.there and f.mode == 2 else link
        args = [{"tensor": self.y}] * (2 if name == "aten::mul.Tensor" else 1)
        self.y = f.d.call("op.call", op=name, args=args, **{"return": "handle"})["outputs"][0]["tensor"]
        self.tensors.append(self.y)
        self.recorded = self.recorded and link is not None
        self.links.append(link)
        equal(f.d.call("tensor.describe", tensor=self.y)["requires_grad"], self.recorded, name)

    def check(self, f):
        """Compare what backward answers with what it must."""
        if not self.recorded:
            raises(lambda: f.slope_of(self.y, self.x), "RuntimeError", "does not require grad")
            return
        for link in reversed(self.links):
            if link.missing:
                raises(lambda: f.slope_of(self.y, self.x, retain_graph=True), "NotImplementedError", link.missing)
                return
            if link.owner and link.owner not in f.there:
                raises(lambda: f.slope_of(self.y, self.x, retain_graph=True), "NotFound", link.op)
                return
        want = [1] * len(f.data(self.x))
        for link in self.links:
            want = [a * b for a, b in zip(want, link.factor)]
        grad = f.slope_of(self.y, self.x, retain_graph=True)
        equal(f.data(grad), want)
        f.drop(grad)


def turn(f, r):
    """Load, unload or reload one of the plugins, or let own_layer record in another way."""
    name = r.choice(sorted(PATHS))
    if name not in f.there:
        f.load(name)
    elif name == "own_layer" and r.random() < 0.5:
        f.set_mode(r.randrange(3))
    elif r.random() < 0.5:
        f.reload(name)
    else:
        f.unload(name)


def test_any_order_of_plugins_around_live_graphs(f):
    f.only()
    x = f.leaf([-1, 1])
    for seed in range(ORDERS):
        r = random.Random(seed)
        chains = []
        for _ in range(40):
            turn(f, r)
            names = ["aten::mul.Tensor"] + ["own::cube", "own::same"] * ("own_forward" in f.there)
            if len(chains) < 6:
                chains.append(Chain(f, x))
            chain = r.choice(chains)
            if len(chain.links) < 4:
                chain.call(f, r.choice(names))
            chain = r.choice(chains)
            if chain.links:
                chain.check(f)
            if chain.links and r.random() < 0.2:
                chains.remove(chain)
                f.drop(*chain.tensors)
        for chain in chains:
            if chain.links:
                chain.check(f)
            f.drop(*chain.tensors)
        equal((f.history(), f.grad(x)), (0, None), f"seed {seed}")


main(setup, teardown)
