"""test_recompute_bytes.py -- what backward through a transformer of 12 layers takes, with and without recompute:
as much as the arithmetic says, and as grad.backward says with dry before it runs."""

from graphs import setup, teardown
from harness import equal, less, main

LAYERS, BATCH, TIME, WIDTH, HEADS = 12, 4, 32, 64, 4
WIDE = 4 * WIDTH
PARAMETERS = {"g1": [WIDTH], "b1": [WIDTH], "wq": [3 * WIDTH, WIDTH], "bq": [3 * WIDTH], "wo": [WIDTH, WIDTH], "bo": [WIDTH],
              "g2": [WIDTH], "b2": [WIDTH], "w1": [WIDE, WIDTH], "c1": [WIDE], "w2": [WIDTH, WIDE], "c2": [WIDTH]}
ITEM = 4  # bytes of a float32
COUNTED_TOO_LOW = 2 * 65536  # of bytes_peak, which two threads count: 64 KiB each (dpi_storage_stats())


def elements(sizes):
    n = 1
    for size in sizes:
        n *= size
    return n


INPUT = BATCH * TIME * WIDTH * ITEM
LAYER_PARAMETERS = sum(elements(s) for s in PARAMETERS.values()) * ITEM


def ref(name):
    return {"ref": name}


def step(as_, op, *args):
    """Arguments that are strings are references."""
    return {"op": "aten::" + op, "args": [ref(a) if isinstance(a, str) else a for a in args], "as": [as_]}


def layer(d):
    steps = [
        step("n1", "layer_norm", "x", [WIDTH], "g1", "b1"),
        step("qkv", "linear", "n1", "wq", "bq"),
        step("heads", "view", "qkv", [BATCH, TIME, 3, HEADS, WIDTH // HEADS]),
        step("first", "permute", "heads", [2, 0, 3, 1, 4]),
        *[step(name, "select.int", "first", 0, i) for i, name in enumerate("qkv")],
        step("kt", "transpose.int", "k", -2, -1),
        step("s", "matmul", "q", "kt"),
        step("scaled", "mul.Scalar", "s", (WIDTH // HEADS) ** -0.5),
        step("p", "softmax.int", "scaled", -1),
        step("dropped", "dropout", "p", 0.1, True),
        step("a", "matmul", "dropped", "v"),
        step("at", "transpose.int", "a", 1, 2),
        step("ar", "reshape", "at", [BATCH, TIME, WIDTH]),
        step("o", "linear", "ar", "wo", "bo"),
        step("x1", "add.Tensor", "x", "o"),
        step("n2", "layer_norm", "x1", [WIDTH], "g2", "b2"),
        step("h", "linear", "n2", "w1", "c1"),
        step("hg", "gelu", "h"),
        step("h2", "linear", "hg", "w2", "c2"),
        step("hd", "dropout", "h2", 0.1, True),
        step("y", "add.Tensor", "x1", "hd")]
    inputs = [{"name": n, "type": "Tensor"} for n in ("x", *PARAMETERS)]
    return d.call("program.create", inputs=inputs, steps=steps, outputs=["y"])["program"]


def network(d, recompute):
    inner, steps, x = layer(d), [], "x"
    for i in range(LAYERS):
        steps.append({"program": inner, "inputs": {"x": ref(x), **{n: ref(f"{n}.{i}") for n in PARAMETERS}},
                      "recompute": recompute, "as": [f"y.{i}"]})
        x = f"y.{i}"
    inputs = [{"name": n, "type": "Tensor"} for n in ("x", *[f"{n}.{i}" for i in range(LAYERS) for n in PARAMETERS])]
    return d.call("program.create", inputs=inputs, steps=[*steps, step("loss", "sum", x)], outputs=["loss"])["program"]


def values(f):
    f.d.call("session.set", seed=3)
    shapes = {"x": [BATCH, TIME, WIDTH], **{f"{n}.{i}": s for i in range(LAYERS) for n, s in PARAMETERS.items()}}
    made = {}
    for name, shape in shapes.items():
        t = f.d.call("op.call", op="aten::randn", args=[shape], **{"return": "handle"})["outputs"][0]["tensor"]
        f.of(t, "mul_.Scalar", 1.0 if name == "x" else 0.1)
        made[name] = f.op("requires_grad_", t)
    return made


def backward(recompute):
    """What dry said, the peak of the real backward, and the loss with all gradients."""
    f = setup()
    leaves = values(f)
    inputs = {n: {"tensor": t} for n, t in leaves.items()}
    loss = f.d.call("program.run", program=network(f.d, recompute), inputs=inputs, **{"return": "handle"})["outputs"][0]["tensor"]
    dry = f.backward(loss, dry=True)
    before = f.d.call("server.status")
    f.backward(loss)
    after = f.d.call("server.status")
    less(before["bytes_peak"], after["bytes_peak"], "the peak is backward's")
    found = [f.data(loss), *[f.grad(t) for t in leaves.values()]]
    teardown(f)
    return dry, after["bytes_peak"] - before["bytes"] + dry["saved_bytes"], found


def test_bytes_and_gradients():
    (plain, plain_peak, gradients), (again, again_peak, same) = backward(False), backward(True)
    equal(same, gradients)
    for dry, peak in (plain, plain_peak), (again, again_peak):
        less(abs(dry["peak_bytes"] - peak), COUNTED_TOO_LOW + 1, "difference between dry and real")
    parameters = LAYERS * LAYER_PARAMETERS
    # without: the parameters, and what each layer saves, most of all the probabilities and what gelu reads
    saved_by_layer = (plain["saved_bytes"] - parameters) / LAYERS
    less(3 * BATCH * TIME * WIDE * ITEM + 2 * BATCH * HEADS * TIME * TIME * ITEM, saved_by_layer)
    # with: the parameters and the inputs of the layers
    equal(again["saved_bytes"], parameters + LAYERS * INPUT)
    equal([o for o in again["ops"] if o["op"] == "recompute"],
          [{"op": "recompute", "calls": LAYERS, "saved_bytes": parameters + LAYERS * INPUT, "has_formula": True}])
    # backward holds that, the gradients of the parameters at its end, and one layer at a time: what it saves, the
    # gradients on their way through it
    less(again_peak, parameters + LAYERS * INPUT + parameters + 2 * saved_by_layer)
    less(2 * again_peak, plain_peak)


main()
