"""test_grad_attack.py -- what clients do to backward: changed tensors, fakes, graphs of any size, limits, other
connections, and leaving in the middle.  Whatever fails changes no gradient, and nothing is left of it."""

import os
import threading

from daemon import BUILD, TestDaemon
from graphs import Graphs, teardown
from harness import SANITIZED, equal, less, main, raises, wait_until
import dispatchd

THREADS, ROUNDS = 4, 40
CHANGED = ("RuntimeError", "modified by an inplace operation", "aten::mul.Tensor saved as", "expected version 0")


def setup():
    daemon = TestDaemon("--workers", "4")
    return Graphs(daemon, daemon.connect())


def others(f, n):
    """n more connections of f's session."""
    key = f.d.call("server.hello")["session_key"]
    all_ = [Graphs(f.daemon, f.daemon.connect()) for _ in range(n)]
    for g in all_:
        g.d.call("server.hello", session_key=key)
    return all_


def at_once(*functions):
    """Run the functions in threads; the first exception is raised here."""
    failures = []

    def run(fn):
        try:
            fn()
        except BaseException as e:  # noqa: B036
            failures.append(e)

    threads = [threading.Thread(target=run, args=(fn,)) for fn in functions]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


def without_grad(f, op, t, *args):
    f.d.call("op.call", op="aten::" + op, args=[{"tensor": t}, *args], grad_enabled=False)


def test_saved_tensors_that_change(f):
    other = {"data": [7, 8, 9]}
    for change in (lambda t: f.of(t, "resize_", [200000]), lambda t: f.of(t, "set_.source_Tensor", other),
                   lambda t: f.of(t, "mul_.Scalar", 2)):
        x, saved = f.leaf([1, 2, 3]), f.d.call("tensor.create", data=[4, 5, 6])["tensor"]
        s = f.op("sum", f.op("mul.Tensor", x, saved))
        change(saved)
        for _ in range(2):  # it is not freed by the failure
            raises(lambda: f.backward(s), *CHANGED)
        equal(f.grad(x), None)
    x = f.leaf([1, 2, 3])
    s = f.op("sum", f.op("mul.Tensor", x, x))
    without_grad(f, "mul_.Scalar", x, 2)
    raises(lambda: f.backward(s), *CHANGED)
    x, saved = f.leaf([1, 2, 3]), f.d.call("tensor.create", data=[4, 5, 6])["tensor"]
    s = f.op("sum", f.op("mul.Tensor", x, saved))
    f.d.call("op.call", op="aten::set_data", args=[{"tensor": saved}, {"data": [9]}])
    f.backward(s)  # set_data is no change of the version, and what was saved is still there
    equal(f.grad(x), [4, 5, 6])
    x = f.leaf([1, 2, 3])
    s = f.op("sum", f.op("mul.Tensor", x, x))
    f.d.call("op.call", op="aten::set_data", args=[{"tensor": x}, {"data": [4, 5, 6]}])
    without_grad(f, "add_.Scalar", x, 1)
    raises(lambda: f.backward(s), *CHANGED)  # the leaf's new elements have changed, too


def test_leaves_of_another_shape(f):
    x = f.leaf([1, 2, 3])
    s = f.op("sum", f.op("mul.Tensor", x, x))
    f.d.call("op.call", op="aten::set_data", args=[{"tensor": x}, {"data": [4, 5]}])
    raises(lambda: f.backward(s), "RuntimeError", "size of tensor a (3) must match the size of tensor b (2)")
    equal(f.grad(x), None)


def test_tensors_that_require_gradients_keep_their_sizes(f):
    x = f.leaf([1, 2, 3])
    for t in x, f.op("exp", x):
        raises(lambda: f.of(t, "resize_", [1]), "RuntimeError", "cannot resize variables that require grad")
        raises(lambda: f.of(t, "resize_as_", {"data": [1]}), "RuntimeError", "cannot resize variables that require grad")
        raises(lambda: without_grad(f, "resize_", t, [1]), "RuntimeError", "cannot resize variables that require grad")
    plain = f.d.call("tensor.create", data=[1, 2, 3])["tensor"]
    f.of(plain, "resize_", [2])
    equal(f.data(plain), [1, 2])


def test_gradients_of_other_shapes_and_dtypes(f):
    x = f.leaf([1, 2, 3])
    y = f.op("mul.Tensor", x, x)
    for grad, part in (({"data": [1]}, "gradient 0 has shape [1] and tensor 0 has shape [3]"),
                       ({"data": [[1, 1, 1]]}, "gradient 0 has shape [1, 3] and tensor 0 has shape [3]"),
                       ({"data": [[1, 0]] * 3, "dtype": "complex64"}, "complex64")):
        raises(lambda: f.backward(y, gradients=[grad]), "RuntimeError", part)
        raises(lambda: f.d.call("grad.set", tensor=x, grad=grad), "RuntimeError", "assigned grad has another shape")
    raises(lambda: f.d.call("grad.set", tensor=x, grad={"data": [[1, 1, 1]]}), "RuntimeError",
           "float32 [1, 3] on cpu for float32 [3] on cpu")
    equal(f.grad(x), None)
    f.backward(y, gradients=[{"data": [1, 2, 3], "dtype": "float64"}])  # cast, as in PyTorch
    equal(f.grad(x), [2, 8, 18])


def test_fakes_are_no_gradients_of_real_tensors(f):
    x = f.leaf([1, 2, 3])
    y = f.op("mul.Tensor", x, x)
    include = f.d.call("session.get")["include"]
    f.d.call("session.set", include=[*include, "Fake"])
    fake = f.d.call("op.call", op="aten::ones", args=[[3]])["outputs"][0]["tensor"]
    raises(lambda: f.backward(y, gradients=[{"tensor": fake}], retain_graph=True), "RuntimeError", "assigned grad is fake")
    f.d.call("session.set", include=include, exclude=["Fake"])
    raises(lambda: f.backward(y, gradients=[{"tensor": fake}], retain_graph=True), "RuntimeError", "assigned grad is fake")
    raises(lambda: f.d.call("grad.set", tensor=x, grad={"tensor": fake}), "RuntimeError", "assigned grad is fake")
    equal(f.grad(x), None)
    f.backward(y, gradients=[{"data": [1, 1, 1]}])
    equal(f.grad(x), [2, 4, 6])


def test_graphs_of_all_sizes(f):
    n = 20000
    for data, want in (([], []), (3, 6), ([[]], [[]])):
        x = f.leaf(data)
        f.backward(f.op("sum", f.op("mul.Tensor", x, x)))
        equal(f.grad(x), want)
    x = f.leaf([1, 2])
    f.backward(f.op("sum", f.d.call("op.call", op="aten::stack", args=[[{"tensor": x}] * n])["outputs"][0]["tensor"]))
    equal(f.grad(x), [n, n])
    wide = f.of(x, "expand", [n, 2])
    parts = f.d.call("op.call", op="aten::unbind.int", args=[{"tensor": wide}])["outputs"][0]
    parts = [{"tensor": t["tensor"]} for t in parts]
    s = f.op("sum", f.d.call("op.call", op="aten::stack", args=[parts])["outputs"][0]["tensor"])
    # as many inputs as returns: each is found without looking at all others
    grads = f.backward(s, inputs=parts, retain_graph=True)["grads"]
    equal((len(grads), f.data(grads[n - 1]["tensor"])), (n, [1, 1]))
    f.backward(s)
    equal(f.grad(x), [2 * n, 2 * n])


def long_chain(f, x, n):
    """A graph of n calls."""
    step = 5000
    steps = [{"op": "aten::neg", "args": [{"ref": f"v{i}"}], "as": [f"v{i + 1}"]} for i in range(step)]
    p = f.d.call("program.create", inputs=[{"name": "v0"}], steps=steps, outputs=[f"v{step}"])["program"]
    for _ in range(n // step):
        x = f.d.call("program.run", program=p, inputs={"v0": {"tensor": x}})["outputs"][0]["tensor"]
    return x


def test_a_graph_of_a_million_calls(f):
    n = 50_000 if SANITIZED else 1_000_000
    before, x = f.history(), f.leaf([3])
    y = long_chain(f, x, n)
    equal(f.history(), before + n)
    f.backward(y, inputs=[{"tensor": x}], retain_graph=True)
    f.backward(y)
    equal(f.grad(x), [1])
    raises(lambda: f.d.call("grad.graph", tensors=[y]), "ResourceExhausted", "graph_nodes")
    f.d.call("tensor.release", all=True)
    wait_until(lambda: f.history() == 0, "no thread recurses to free the graph")
    x = f.leaf([3])
    y = long_chain(f, x, n // 20)
    dx = f.backward(y, inputs=[{"tensor": x}], create_graph=True)["grads"][0]["tensor"]
    equal(f.data(dx), [1])
    f.d.call("tensor.release", all=True)
    wait_until(lambda: f.history() == 0, "nor that of its gradient")


def test_clients_that_leave_or_cancel_in_the_middle(f):
    n = 200000
    before, x = f.history(), f.leaf([1])
    y = long_chain(f, x, n)
    equal(f.history(), before + n)
    leaves, cancels = others(f, 2)
    for _ in range(3):
        id_ = cancels.d.send("grad.backward", tensors=[{"tensor": y}], retain_graph=True)
        cancels.d.send_message({"jsonrpc": "2.0", "method": "call.cancel", "params": {"id": id_}})
        raises(cancels.d.receive, "Cancelled")
    raises(lambda: f.backward(y, retain_graph=True, deadline_ms=1), "DeadlineExceeded")
    raises(lambda: f.backward(y, inputs=[{"tensor": x}], retain_graph=True, deadline_ms=1), "DeadlineExceeded")
    equal(f.grad(x), None)
    leaves.d.send("grad.backward", tensors=[{"tensor": y}], retain_graph=True)
    leaves.d.close()
    wait_until(lambda: f.d.call("server.status")["connections"] == 2, "one has left")
    wait_until(lambda: not f.d.call("server.status").get("running"), "its backward has ended")
    f.d.call("grad.zero", tensors=[x])
    f.backward(y)
    equal(f.grad(x), [1])
    cancels.d.close()
    f.d.call("tensor.release", all=True)
    wait_until(lambda: f.history() == 0, "the graph is freed")


def test_connections_that_train_one_leaf(f):
    x = f.leaf([1, 2, 3])
    all_ = others(f, THREADS)

    def train(g):
        for _ in range(ROUNDS):
            g.backward(g.op("sum", g.op("mul.Tensor", x, x)))

    f.d.call("grad.set", tensor=x, grad={"data": [0, 0, 0]})
    at_once(*[lambda g=g: train(g) for g in all_])
    equal(f.grad(x), [THREADS * ROUNDS * 2 * v for v in (1, 2, 3)], "no gradient is lost")
    for g in all_:
        g.d.close()


def test_connections_that_walk_one_graph(f):
    x = f.leaf([1, 2])
    all_, walked, late = others(f, THREADS), [], []

    def walk(g, y):
        try:
            g.backward(y)
            walked.append(y)
        except dispatchd.Error as e:
            late.append(e)

    for _ in range(ROUNDS):
        y = f.op("sum", f.op("mul.Tensor", f.op("mul.Tensor", x, x), x))
        at_once(*[lambda g=g, y=y: walk(g, y) for g in all_])
    equal(len(set(walked)), ROUNDS, "graphs that were walked")
    equal({(e.type, "through the graph a second time" in str(e)) for e in late} | {("RuntimeError", True)},
          {("RuntimeError", True)})
    equal(f.grad(x), [len(walked) * 3, len(walked) * 12])
    for g in all_:
        g.d.close()


def test_requires_grad_while_programs_run(f):
    x = f.d.call("tensor.create", data=[1, 2])["tensor"]
    switch, runs = others(f, 2)
    steps = [{"op": "aten::mul.Tensor", "args": [{"ref": f"v{i}"}, {"ref": "v0"}], "as": [f"v{i + 1}"]} for i in range(30)]

    def turn():
        for i in range(8 * ROUNDS):
            switch.of(x, "requires_grad_", i % 2 == 0)

    def run():
        for _ in range(2 * ROUNDS):
            y = runs.d.call("program.run", steps=steps, outputs=["v30"], inputs={"v0": {"tensor": x}})["outputs"][0]
            if y["requires_grad"]:
                runs.backward(y["tensor"], gradients=[{"data": [1, 1]}])
            runs.d.call("tensor.release", tensors=[y["tensor"]])

    f.d.call("op.call", op="aten::requires_grad_", args=[{"tensor": x}, False])
    at_once(turn, run)
    for g in switch, runs:
        g.d.close()


def test_plugins_that_are_unloaded_before_backward(f):
    x = f.leaf([1, 2])
    s = f.op("sum", f.op("mul.Tensor", x, x))
    f.d.call("plugin.unload", plugin="autograd")
    f.backward(s, retain_graph=True)
    equal(f.grad(x), [2, 4])
    f.d.call("plugin.unload", plugin="composite")
    raises(lambda: f.backward(s, retain_graph=True), "NotImplementedError", "no kernel", "backward of aten::sum")
    equal(f.grad(x), [2, 4])
    for name in "composite", "autograd":
        f.d.call("plugin.load", path=os.path.abspath(os.path.join(BUILD, "plugins", name + ".so")))
    f.backward(s)
    equal(f.grad(x), [4, 8])


def test_graphs_past_the_limit_of_a_session(f):
    with TestDaemon("--session-bytes", "3000000") as daemon, daemon.connect() as d:
        g = Graphs(daemon, d)
        x = g.leaf([0.0] * 25000)
        y, made = x, 0

        def grow():
            nonlocal y, made
            while True:
                t = g.op("sin", y)
                if y != x:
                    d.call("tensor.release", tensors=[y])
                y, made = t, made + 1

        raises(grow, "ResourceExhausted", "bytes")
        less(15, made, "tensors of 100 kB that were saved before the limit")
        equal(g.history(), made)
        raises(lambda: g.backward(y, gradients=[{"tensor": y}], create_graph=True), "ResourceExhausted")
        equal(d.call("grad.get", tensor=x)["grad"], None)
        d.call("tensor.release", tensors=[y])
        equal(d.call("session.get")["account"]["history"], {"count": 0, "bytes": 0})
        g.backward(g.op("sum", g.op("sin", x)))
        equal(g.grad(x)[0], 1)


def test_sessions_end_with_their_cycles(f):
    live = f.d.call("server.status")["live_tensors"]
    g = Graphs(f.daemon, f.daemon.connect())
    for _ in range(3):
        x = g.leaf([1, 2])
        g.backward(g.op("sum", g.op("mul.Tensor", x, x)), create_graph=True)
    g.d.call("tensor.release", all=True)
    equal(g.history() > 0, True, "the cycles are there")
    g.d.close()
    wait_until(lambda: f.d.call("server.status")["live_tensors"] == live, "nothing is left of the session")


if __name__ == "__main__":
    main(setup, teardown)
