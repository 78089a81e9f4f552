"""test_grad_graph.py -- grad.graph, and what says which call was recorded: errors of backward, explain and traces."""

import os
import re
import subprocess
import xml.etree.ElementTree

from daemon import BUILD
from graphs import setup, teardown
from harness import contains, equal, main, raises

SQUARE = {"op": "aten::mul.Tensor", "args": [{"ref": "x"}, {"ref": "x"}], "as": ["y"]}
EXP = {"op": "aten::exp", "args": [{"ref": "y"}], "as": ["z"]}


def test_calls_leaves_and_edges(f):
    x, w = f.leaf([1, 2]), f.leaf([3, 4])
    z = f.op("mul.Tensor", f.op("mul.Tensor", x, w), x)
    g = f.d.call("grad.graph", tensors=[z])
    equal(g["roots"], [{"tensor": z, "node": 0, "nr": 0}])
    equal([n.get("op", n.get("tensor")) for n in g["nodes"]], ["aten::mul.Tensor"] * 2 + [x, w])
    equal([(n["saved_bytes"], n["released"]) for n in g["nodes"][:2]], [(16, False)] * 2)
    equal([n["returns"] for n in g["nodes"][:2]], [[{"dtype": "float32", "shape": [2]}]] * 2)
    equal(g["nodes"][2], {"leaf": True, "tensor": x, "dtype": "float32", "shape": [2]})
    equal([tuple(e.values()) for e in g["edges"]], [(0, 0, 1, 0), (0, 1, 2, 0), (1, 0, 2, 0), (1, 1, 3, 0)])
    ids = [int(n["request"]) for n in g["nodes"][:2]]
    equal(ids[0], ids[1] + 1)
    f.d.call("tensor.release", tensors=[w])
    equal("tensor" in f.d.call("grad.graph", tensors=[z])["nodes"][3], False)
    f.backward(f.op("sum", z))
    equal(f.d.call("grad.graph", tensors=[z])["nodes"][0]["released"], True)


def test_steps_of_programs(f):
    x = f.leaf([1, 2])
    out = f.d.call("program.run", steps=[SQUARE, EXP], outputs=["z"], inputs={"x": {"tensor": x}})["outputs"][0]
    nodes = f.d.call("grad.graph", tensors=[out["tensor"]])["nodes"]
    equal([(n["op"], n["step"]) for n in nodes[:2]], [("aten::exp", 1), ("aten::mul.Tensor", 0)])
    equal("step" in f.d.call("grad.graph", tensors=[f.op("exp", x)])["nodes"][0], False)


def test_the_picture(f):
    x = f.leaf([1, 2])
    text = f.d.call("grad.graph", tensors=[f.op("exp", x)], format="dot")["text"]
    equal((text.startswith("digraph gradients {"), "aten::exp" in text, f"tensor {x}" in text, "n0 -> n1;" in text), (True,) * 4)


def test_what_graph_refuses(f):
    plain = f.d.call("tensor.create", data=[1])["tensor"]
    raises(lambda: f.d.call("grad.graph", tensors=[plain]), "RuntimeError", "element 0 of tensors does not require grad")
    raises(lambda: f.d.call("grad.graph", tensors=[plain, 999999]), "NotFound", "tensors[1]", "999999")
    limit = f.d.call("server.hello")["limits"]["graph_nodes"]
    x = f.leaf([1])
    steps = [{"op": "aten::neg", "args": [{"ref": f"v{i}"}], "as": [f"v{i + 1}"]} for i in range(limit // 2)]
    run = {"steps": steps, "outputs": [f"v{limit // 2}"]}
    half = f.d.call("program.run", inputs={"v0": {"tensor": x}}, **run)["outputs"][0]["tensor"]
    equal(len(f.d.call("grad.graph", tensors=[half])["nodes"]), limit // 2 + 1)
    whole = f.d.call("program.run", inputs={"v0": {"tensor": half}}, **run)["outputs"][0]["tensor"]
    raises(lambda: f.d.call("grad.graph", tensors=[whole]), "ResourceExhausted", f"more than {limit}", "graph_nodes")


def test_errors_of_backward_name_the_call(f):
    x = f.leaf([1, 2])
    out = f.d.call("program.run", steps=[SQUARE, EXP], outputs=["z"], inputs={"x": {"tensor": x}})["outputs"][0]["tensor"]
    request = f.d.call("grad.graph", tensors=[out])["nodes"][0]["request"]
    called = f"backward of aten::exp, request {request}, step 1"
    total = f.op("sum", out)
    f.op("mul_.Tensor", out, {"data": [2, 2]})
    raises(lambda: f.backward(total), "RuntimeError", "modified by an inplace operation", called)
    y = f.op("exp", x)
    request = f.d.call("grad.graph", tensors=[y])["nodes"][0]["request"]
    f.backward(f.op("sum", y))
    called = f"(backward of aten::exp, request {request})"
    raises(lambda: f.backward(f.op("sum", y)), "RuntimeError", "a second time", called)
    raises(lambda: f.backward(y), "RuntimeError", "only for scalar outputs", called)
    raises(lambda: f.backward(y, gradients=[{"data": [1]}]), "RuntimeError", "Mismatch in shape", called)


def test_ids_that_are_texts(f):
    x = f.leaf([1, 2])
    f.d.send_message({"jsonrpc": "2.0", "id": "tensor ä", "method": "op.call", "params": {"op": "aten::exp", "args": [{"tensor": x}]}})
    y = f.d.receive_message()["result"]["outputs"][0]["tensor"]
    equal(f.d.call("grad.graph", tensors=[y])["nodes"][0]["request"], "tensor ä")


def test_the_layer_is_explained_and_traced(f):
    x = f.leaf([1, 2])
    args = [{"tensor": x}, {"tensor": x}]
    path = f.d.call("registry.explain", op="aten::mul.Tensor", args=args)["path"]
    equal([(s["key"], s["plugin"]) for s in path[:1]], [("AutogradCPU", "autograd")])
    trace = f.d.call("op.call", op="aten::mul.Tensor", args=args, trace=True)["trace"]
    equal([(s["key"], s["plugin"]) for s in trace[:2]], [("AutogradCPU", "autograd"), ("CPU", "cpu")])


def ctl_of(f):
    """Return a function that runs dispatchctl in the session of f.d: status, and what it prints."""
    run = [os.path.join(BUILD, "dispatchctl"), "--socket", f.daemon.socket, "--session", f.d.call("server.hello")["session_key"]]

    def ctl(*words):
        done = subprocess.run([*run, *words], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return ctl


def drawn(svg):
    """Return the texts of a picture, and the vertical position of each line's two ends."""
    elements = list(xml.etree.ElementTree.fromstring(svg).iter())
    texts = [e.text for e in elements if e.tag.endswith("}text")]
    lines = [e.get("d") for e in elements if e.get("class") == "edge"]
    return texts, [[int(y) for y in re.match(r"M\d+ (\d+)(?:H\d+)?V(\d+)", d).groups()] for d in lines]


def test_the_drawings(f):
    ctl = ctl_of(f)
    x, w = f.leaf([1, 2]), f.leaf([[3, 4]])
    f.d.send_message({"jsonrpc": "2.0", "id": "<a & \"b\">", "method": "op.call", "params": {"op": "aten::exp", "args": [{"tensor": x}]}})
    y = f.d.receive_message()["result"]["outputs"][0]["tensor"]
    top = f.op("sum", f.op("add.Tensor", f.op("mul.Tensor", y, w), y))  # from add, a line leads past mul to exp
    code, svg = ctl("grad", "graph", str(top), "--svg")
    equal(code, 0, svg)
    texts, lines = drawn(svg)
    ops = [t for t in texts if t.startswith("aten::")]
    equal(ops, ["aten::sum", "aten::add.Tensor", "aten::mul.Tensor", "aten::exp"])
    equal([t for t in texts if t.startswith(("float32", "tensor"))],
          ["float32 []", "float32 [1, 2]", "float32 [1, 2]", f"tensor {w}: float32 [1, 2]", "float32 [2]", f"tensor {x}: float32 [2]"])
    equal((len(lines), all(a < b for a, b in lines)), (4, True), "lines, and whether each leads down")
    contains(svg, "request &lt;a &amp; &quot;b&quot;&gt;")
    code, html = ctl("grad", "graph", str(top), "--html")
    equal((code, html.startswith("<!DOCTYPE html>"), svg in html, "<script" in html, "src=" in html), (0, True, True, False, False))
    many = f.d.op("aten::stack", [{"tensor": f.leaf([i])} for i in range(9)])["tensor"]
    texts, _ = drawn(ctl("grad", "graph", str(many), "--svg")[1])
    equal((sum(t.startswith("tensor ") for t in texts), texts[-1]), (6, "and 3 more"), "leaves of a row")
    texts, lines = drawn(ctl("grad", "graph", str(x), "--svg")[1])
    equal((lines, [t for t in texts if "::" in t]), ([], []), "a leaf alone")
    steps = [{"op": "aten::add.Tensor", "args": [{"ref": f"v{max(i - 3, 0)}"}, {"ref": f"v{i}"}], "as": [f"v{i + 1}"]} for i in range(60)]
    woven = f.d.call("program.run", steps=steps, outputs=["v60"], inputs={"v0": {"tensor": x}})["outputs"][0]["tensor"]
    texts, lines = drawn(ctl("grad", "graph", str(woven), "--svg")[1])
    equal((texts.count("aten::add.Tensor"), all(a < b for a, b in lines)), (60, True))
    code, text = ctl("grad", "graph", str(x), "--svg", "--html")
    equal((code, "exclude each other" in text), (2, True))


def test_the_verbs(f):
    ctl = ctl_of(f)
    x = f.leaf([1, 2])
    y = f.op("mul.Tensor", x, x)
    code, text = ctl("grad", "graph", str(y))
    equal((code, "aten::mul.Tensor" in text, "float32" in text), (0, True, True))
    f.d.send_message({"jsonrpc": "2.0", "id": "\x1b[31m\n\x7f\x85é", "method": "op.call",
                      "params": {"op": "aten::exp", "args": [{"tensor": x}], "return": "handle"}})
    z = f.d.receive_message()["result"]["outputs"][0]["tensor"]
    contains(ctl("grad", "graph", str(z))[1], "aten::exp  ?[31m????é ")  # nothing that a terminal obeys
    code, text = ctl("grad", "graph", str(y), "--dot")
    equal((code, text.startswith("digraph")), (0, True))
    equal(ctl("grad", "backward", "--retain-graph", str(f.op("sum", y))), (0, ""))
    equal(ctl("grad", "backward", str(f.op("sum", y)))[0], 0)
    equal(f.grad(x), [4, 8])
    code, text = ctl("grad", "backward", "x")
    equal((code, "'x' is not a handle" in text), (2, True))
    code, text = ctl("grad", "backward", str(y))
    equal((code, "only for scalar outputs" in text), (1, True))


main(setup, teardown)
