"""test_program.py -- programs over the socket: made once, run often, told about, called off, gone with
their session."""

import os
import time

from harness import BUILD, SANITIZED, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon

DATA = {"return": "data"}
X = {"data": [1, 2]}


def setup():
    return TestDaemon("--plugin", os.path.join(BUILD, "tests", "plugins", "sleeps.so"))


def ref(name, index=None):
    return {"ref": name} if index is None else {"ref": name, "index": index}


def step(op, *args, as_=None, **kwargs):
    s = {"op": "aten::" + op, "args": list(args)}
    if kwargs:
        s["kwargs"] = kwargs
    return {**s, "as": as_.split()} if as_ else s


def create(d, steps, outputs, inputs="x:Tensor", **constants):
    declared = [dict(zip(("name", "type"), i.split(":"))) for i in inputs.split()]
    return d.call("program.create", inputs=declared, constants=constants, steps=steps,
                  outputs=outputs.split())["program"]


def run(d, program, how="data", **inputs):
    return d.call("program.run", program=program, inputs=inputs, **{"return": how})["outputs"]


def test_a_program_is_made_once_and_run_often(f):
    with f.connect() as d:
        p = create(d, [step("mul.Tensor", ref("x"), ref("k"), as_="y"),
                       step("add.Tensor", ref("y"), ref("b"), alpha=ref("n"), as_="z")],
                   "z y n", "x:Tensor n:int", k=3, b={"data": [10, 20]})
        for n in 1, 2:
            z, y, m = run(d, p, x=X, n=n)
            equal((z["data"], y["data"], m), ([3 + 10 * n, 6 + 20 * n], [3, 6], n))
        kept = d.call("tensor.create", data=[5, 5])
        equal(run(d, p, x={"tensor": kept["tensor"]}, n=0)[0]["data"], [15, 15])
        d.call("program.release", program=p)
        raises(lambda: run(d, p, x=X, n=1), "NotFound", f"no program {p}")
        raises(lambda: d.call("program.release", program=p), "NotFound", f"no program {p}")


def test_inputs_are_checked(f):
    with f.connect() as d:
        p = create(d, [step("neg", ref("x"), as_="y")], "y")
        raises(lambda: run(d, p), "TypeError", "missing input 'x'")
        raises(lambda: run(d, p, x=X, z=1), "NotFound", "no input 'z'")
        raises(lambda: run(d, p, x="a"), "TypeError", "input 'x' must be Tensor, not str 'a'")
        raises(lambda: create(d, [], "x", "x:Tenser[[ y:int"), "ValueError", "inputs[0]", "Tenser[[")
        raises(lambda: create(d, [], "x", "x:Tensor x:int"), "AlreadyExists", "inputs[1]", "'x'")
        raises(lambda: d.call("program.run", program=p, steps=[], outputs=[]), "InvalidParams", "either")


def test_a_mistake_is_found_before_anything_runs(f):
    with f.connect() as d:
        x = d.call("tensor.create", data=[1])
        writes = [{"op": "aten::add_.Tensor", "args": [ref("x"), 1]}] * 900
        for bad, type_, part in [
                (step("relu", ref("x"), as_="y z"), "ValueError", "as names 2 returns but aten::relu has 1"),
                (step("rely", ref("x")), "NotFound", "aten::rely"),
                (step("relu", ref("q")), "NotFound", "steps[900].args[0]"),
                (step("relu", "a"), "TypeError", "must be Tensor, not str"),
                (step("relu6"), "TypeError", "missing 1 required argument"),
                ({"op": "aten::add", "args": [ref("x"), ref("x")], "as": ["y", "z"]}, "ValueError",
                 "as names 2 returns but "),
                ({"get": "sizes", "args": [3]}, "TypeError", "get 'sizes' is of a Tensor, which int is not"),
                ({"get": "len", "args": ["a"]}, "TypeError", "get 'len' is of a list, which str is not"),
                ({"get": "shape", "args": [ref("x")]}, "NotFound", "'shape'"),
                ({"while": "x"}, "NotImplementedError", "step kind 'while' is reserved"),
                ({"cond": "x"}, "NotImplementedError", "step kind 'cond' is reserved"),
                ({"program": 99, "inputs": {}}, "NotFound", "no program 99")]:
            for method, inputs in ("program.run", {"x": {"tensor": x["tensor"]}}), \
                                  ("program.create", [{"name": "x", "type": "Tensor"}]):
                e = raises(lambda: d.call(method, inputs=inputs, steps=[*writes, bad], outputs=[]),
                           type_, part)
                equal(e.data["step"], 900, part)
        equal(d.call("tensor.read", tensor=x["tensor"])["data"], [1])


def test_the_number_of_returns_is_that_of_some_overload(f):
    with f.connect() as d:
        raises(lambda: create(d, [step("add", ref("x"), ref("y"), as_="a b")], "a", "x y"), "ValueError",
               "as names 2 returns but no aten::add has so many")
        create(d, [step("max", ref("x"), ref("y"), as_="a b")], "a", "x y")  # max.dim has two


def test_lists_and_what_can_be_got(f):
    with f.connect() as d:
        p = create(d, [step("split.Tensor", ref("x"), 1, as_="parts"),
                       step("cat", [ref("parts", 1), ref("parts", 0), {"data": [[7, 7]]}], as_="y"),
                       {"get": "sizes", "args": [ref("y")], "as": ["sizes"]},
                       {"get": "size", "args": [ref("y"), -1], "as": ["columns"]},
                       {"get": "dtype", "args": [ref("y")], "as": ["dtype"]},
                       {"get": "len", "args": [ref("parts")], "as": ["n"]},
                       step("full", [ref("n"), ref("columns")], 1.5, dtype=ref("dtype"), as_="z")],
                   "y sizes columns dtype n z")
        y, sizes, columns, dtype, n, z = run(d, p, x={"dtype": "float64", "data": [[1, 2], [3, 4]]})
        equal(y["data"], [[3, 4], [1, 2], [7, 7]])
        equal((sizes, columns, dtype, n), ([3, 2], 2, "float64", 2))
        equal((z["data"], z["dtype"]), ([[1.5, 1.5]] * 2, "float64"))
        e = raises(lambda: run(d, p, x={"data": [[1, 2]]}), "IndexError", "index 1 of 'parts', a list of 1")
        equal(e.data["step"], 1)


def test_an_output_shares_no_memory_with_a_constant(f):
    """Whoever has an output's handle may write to it; the next run sees the constant as it was."""
    with f.connect() as d:
        inner = create(d, [step("t", ref("w"), as_="v")], "v", "", w={"data": [[1, 2], [3, 4]]})
        p = create(d, [step("t", ref("k"), as_="t"), step("unbind.int", ref("k"), as_="parts"),
                       step("contiguous", ref("k"), as_="same"),
                       {"program": inner, "inputs": {}, "as": ["sub"]}], "k t parts same many sub", "",
                   k={"data": [[1, 2], [3, 4]]}, many=[{"data": [5]}, {"data": [6]}])
        rows, columns = [[1, 2], [3, 4]], [[1, 3], [2, 4]]
        for _ in range(2):
            k, t, parts, same, many, sub = run(d, p, "handle")
            outputs = [k, t, *parts, same, *many, sub]
            equal(t["strides"], [1, 2], "a copy is laid out as what it copies")
            for o, data in zip(outputs, [rows, columns, *rows, rows, [5], [6], columns]):
                equal(d.call("tensor.read", tensor=o["tensor"])["data"], data)
                d.call("op.call", op="aten::zero_", args=[{"tensor": o["tensor"]}])
        equal(len({d.call("tensor.describe", tensor=o["tensor"])["storage"] for o in outputs}), 8)


def test_what_a_step_writes_has_its_own_handle(f):
    with f.connect() as d:
        x = d.call("tensor.create", data=[1, 2])
        p = create(d, [step("add_.Tensor", ref("x"), 1, as_="y"), step("add_.Tensor", ref("y"), ref("x"), as_="z")], "z x")
        z, same = run(d, p, "handle", x={"tensor": x["tensor"]})
        equal((z["tensor"], z["version"]), (x["tensor"], 2))
        less(x["tensor"], same["tensor"], "an input that is an output has a fresh handle")
        equal(d.call("tensor.read", tensor=x["tensor"])["data"], [4, 6])
        raises(lambda: create(d, [step("add_.Tensor", ref("k"), 1)], "", k=X), "ValueError",
               "aten::add_.Tensor writes to its argument 'self', which is a constant")
        create(d, [step("_foreach_add_.Scalar", [], 1)], "")  # an empty list has nothing that is written
        view = step("view", ref("k"), [-1], as_="v")
        raises(lambda: create(d, [view, step("add_.Tensor", ref("v"), 1)], "", k=X), "ValueError",
               "aten::add_.Tensor writes to its argument 'self', which is a constant")
        same, views = create(d, [], "x"), create(d, [step("view", ref("x"), [-1], as_="v")], "v")
        for sub in same, views:  # a constant that went through another program
            through = [{"program": sub, "inputs": {"x": ref("k")}, "as": ["y"]}, step("add_.Tensor", ref("y"), 1)]
            raises(lambda: create(d, through, "", k=X), "ValueError", "'self', which is a constant")
        writes = create(d, [step("view", ref("x"), [-1], as_="v"), step("add_.Tensor", ref("v"), 1)], "")
        raises(lambda: create(d, [{"program": writes, "inputs": {"x": ref("k")}}], "", k=X), "ValueError",
               "the program writes to its input 'x', which is a constant")
        late = create(d, [step("view", ref("k"), [-1], as_="v"), step("mul_", ref("v"), ref("n"))], "", "n", k=X)
        raises(lambda: run(d, late, n=2), "ValueError", "aten::mul_.Scalar writes to argument 1, which is a constant")
        bad = create(d, [step("add_.Tensor", ref("x"), {"data": [1, 2, 3]})], "")
        e = raises(lambda: run(d, bad, x={"tensor": x["tensor"]}), "RuntimeError", "step 0")
        equal(e.data.get("written"), None, "refused before it was written")


def test_programs_run_programs(f):
    with f.connect() as d:
        twice = create(d, [step("add.Tensor", ref("x"), ref("x"), as_="y")], "y")
        sub = lambda of, x, y: {"program": of, "inputs": {"x": ref(x)}, "as": [y]}
        p = create(d, [sub(twice, "x", "a"), sub(twice, "a", "b")], "b")
        d.call("program.release", program=twice)
        equal(run(d, p, x=X)[0]["data"], [4, 8])
        raises(lambda: create(d, [{"program": p, "inputs": {}}], ""), "TypeError", "missing input 'x'")
        made = 0
        for _ in range(40):
            try:
                p, made = create(d, [sub(p, "x", "a"), sub(p, "a", "b")], "b"), made + 1
            except Exception as e:
                contains(str(e), "1000000 steps")
                break
        less(made, 20, "programs that call the one before twice")
        told = d.call("program.describe", program=p)
        less(told["expanded"], 1000001)
        equal((told["depth"], [s["kind"] for s in told["steps"]]), (made + 2, ["SUB", "SUB"]))


def test_passes_make_another_program(f):
    with f.connect() as d:
        p = create(d, [step("select.int", ref("x"), 0, 1, as_="row"), step("mul_.Scalar", ref("row"), 2, as_="w"),
                       step("mul.Scalar", ref("x"), 3, as_="lost"), step("ones", [2], as_="k"),
                       step("add.Tensor", ref("x"), ref("k"), as_="y")], "y")
        q = d.call("program.pass", program=p, passes=["functionalize", "dead", "fold"])["program"]
        less(p, q, "handles")
        names = [s["name"] for s in d.call("program.describe", program=q)["steps"]]
        equal(names, ["aten::select.int", "aten::mul.Scalar", "aten::select_scatter", "aten::add.Tensor", "aten::copy_"])
        equal([s["step"] for s in d.call("program.describe", program=q)["steps"]], [0, 1, 1, 4, 1])
        for made in (p, q):
            x = d.call("tensor.create", data=[1, 2])["tensor"]
            equal(run(d, made, x={"tensor": x})[0]["data"], [2, 5])
            equal(d.call("tensor.read", tensor=x)["data"], [1, 4], "what the program wrote")
        equal(len(d.call("program.describe", program=p)["steps"]), 5, "steps of the first program")
        raises(lambda: d.call("program.pass", program=p, passes=["dead", "flod"]), "NotFound",
               "no pass is called 'flod'; nearest: 'fold'")
        raises(lambda: d.call("program.pass", program=999, passes=[]), "NotFound", "999")
        raises(lambda: d.call("program.pass", program=p, passes=["dead"] * 65), "ResourceExhausted", "65 passes, at most 64")
        bad = create(d, [step("abs", ref("x"), as_="y"), step("resize_", ref("y"), [4], as_="z")], "z")
        raises(lambda: d.call("program.pass", program=bad, passes=["functionalize"]), "NotImplementedError",
               "step 1: aten::resize_ cannot be made functional")
        equal(d.call("program.pass", program=p, passes=[])["program"] > q, True, "no pass")


def test_writes_to_inputs_without_types_are_made_functional(f):
    """An input without a type, or an item of one, is a tensor where an operator takes it as one."""
    with f.connect() as d:
        p = d.call("program.create", inputs=[{"name": "x"}, {"name": "l"}], outputs=["x", "b", "s"], steps=[
            step("select.int", ref("x"), 0, 0, as_="row"), step("normal_", ref("row"), 0.0, 0.0, as_="w"),
            step("logical_not_", {**ref("l"), "index": 0}, as_="b"), step("lt_.Scalar", {**ref("l"), "index": 1}, 3, as_="v"),
            step("add.Tensor", ref("v"), ref("b"), as_="s")])["program"]
        q = d.call("program.pass", program=p, passes=["functionalize"])["program"]
        seen = []
        for made in (p, q):
            x, a, b = ({"tensor": d.call("tensor.create", data=data)["tensor"]} for data in ([[1, 2], [3, 4]], [0, 5], [2, 4]))
            outs = d.call("program.run", program=made, inputs={"x": x, "l": [a, b]}, **DATA)["outputs"]
            seen.append([(o["dtype"], o["data"]) for o in outs] + [d.call("tensor.read", **t)["data"] for t in (x, a, b)])
        equal(seen[0][1:], [("float32", [1, 0]), ("float32", [2, 0]), [[0, 0], [3, 4]], [1, 0], [1, 0]])
        equal(seen[1], seen[0])


def test_fold_freezes_constants_before_its_deadline(f):
    """A constant is the session's own tensor: what is folded has its elements of that time."""
    with f.connect() as d:
        k = d.call("tensor.create", data=[1, 2])["tensor"]
        p = d.call("program.create", inputs=[{"name": "x"}], outputs=["y"], constants={"k": {"tensor": k}},
                   steps=[step("neg", ref("k"), as_="m"), step("add.Tensor", ref("x"), ref("m"), as_="y")])["program"]
        q = d.call("program.pass", program=p, passes=["fold"], deadline_ms=60000)["program"]
        d.op("aten::add_.Tensor", {"tensor": k}, 10)
        equal([run(d, made, x={"data": [0, 0]})[0]["data"] for made in (p, q)], [[-11, -12], [-1, -2]])
        slow = d.call("program.create", inputs=[], outputs=["y"], constants={"k": {"data": [1]}}, steps=[
            {"op": "sleeps::sleep", "args": [ref(f"y{i - 1}" if i else "k"), 20], "as": [f"y{i}"]} for i in range(500)] + [
            step("neg", ref("y499"), as_="y")])["program"]
        raises(lambda: d.call("program.pass", program=slow, passes=["fold"], deadline_ms=100), "DeadlineExceeded")
        for method in "program.grad", "program.jvp":
            raises(lambda: d.call(method, program=p, inputs={"x": {"data": [1, 2]}}, wrt=["x"], deadline_ms=0),
                   "DeadlineExceeded")


def test_operators_that_return_their_argument_share_its_memory(f):
    """The schemas of dropout and type_as do not say that they may."""
    with f.connect() as d:
        def made(op, *args):
            return create(d, [step("neg", ref("x"), as_="h"), step(op, ref("h"), *args, as_="y"),
                              step("relu_", ref("y"), as_="z"), step("add.Tensor", ref("y"), ref("h"), as_="s")], "s")

        def ran(p):
            d.call("session.set", seed=3)
            return run(d, p, x={"data": [1, -2]})[0]["data"]
        eval_, train = made("dropout", 0.5, False), made("dropout", 0.5, True)
        equal(ran(eval_), [0, 4])
        for p in (eval_, train):
            for passes in (["functionalize"], ["dead"], ["functionalize", "common", "dead"]):
                equal(ran(d.call("program.pass", program=p, passes=passes)["program"]), ran(p), f"{passes}")
        for p, op in (made("type_as", ref("x")), "type_as"), (made("atleast_1d"), "atleast_1d"):
            equal(ran(p), [0, 4])
            equal(ran(d.call("program.pass", program=p, passes=["dead", "common"])["program"]), [0, 4])
            raises(lambda: d.call("program.pass", program=p, passes=["functionalize"]), "NotImplementedError",
                   "step 2: aten::relu_ cannot be made functional: it writes to what may be a view or a copy")


def test_a_program_can_be_read(f):
    with f.connect() as d:
        p = create(d, [step("mul.Tensor", ref("x"), ref("k"), as_="y"),
                       step("cat", [ref("y"), ref("x")], as_="z")], "z", k=0.5)
        text = d.call("program.describe", program=p, format="text")["text"].splitlines()
        equal(text[0], "program(Tensor x) -> (z)")
        equal(text[1], "  constant k = 0.5")
        contains(text[2], "     0  y = aten::mul.Tensor(x, 0.5)")
        contains(text[3], "     1  %2 = LIST[y, x]".replace("LIST", ""))
        contains(text[4], "z = aten::cat(%2, 0)  # ends: %2")
        dot = d.call("program.describe", program=p, format="dot")["text"]
        equal((dot.splitlines()[0], dot.splitlines()[-1]), ("digraph program {", "}"))
        contains(dot, 'step0 -> step1 [label="y"];')
        told = d.call("program.describe", program=p)
        equal([(s["step"], s["kind"], s["ends"]) for s in told["steps"]],
              [(0, "CALL", []), (1, "LIST", ["y"]), (1, "CALL", ["%2"])])
        equal((told["inputs"], told["outputs"]), ([{"name": "x", "type": "Tensor", "written": False}], ["z"]))
        equal(told["steps"][0]["args"][0], {"ref": "x"})
        equal(told["steps"][2]["args"][1], 0)


def test_a_description_says_what_steps_do_besides_returning(f):
    with f.connect() as d:
        p = create(d, [step("relu", ref("x"), as_="y"), step("bernoulli", ref("y"), as_="b"),
                       step("mul_.Tensor", ref("b"), 2, as_="z"), step("uniform_", ref("x"))], "z")
        told = d.call("program.describe", program=p)["steps"]
        equal([s.get("flags") for s in told], [None, ["random"], ["effect"], ["random", "effect"]])
        contains(d.call("program.describe", program=p, format="text")["text"], "# random, effect")


def test_a_step_says_whether_it_records_gradients(f):
    with f.connect() as d:
        x = {"tensor": d.call("op.call", op="aten::requires_grad_", args=[X])["outputs"][0]["tensor"]}
        steps = [step("mul.Tensor", ref("x"), 2, as_="a"),
                 dict(step("mul.Tensor", ref("x"), 3, as_="b"), grad_enabled=False),
                 dict(step("mul.Tensor", ref("x"), 4, as_="c"), grad_enabled=True)]
        recorded = lambda outputs: [d.call("tensor.describe", tensor=o["tensor"])["requires_grad"] for o in outputs]
        p = d.call("program.create", inputs=[{"name": "x", "type": "Tensor"}], steps=steps, outputs=["a", "b", "c"])["program"]
        equal([s.get("grad_enabled") for s in d.call("program.describe", program=p)["steps"]], [None, False, True])
        contains(d.call("program.describe", program=p, format="text")["text"], "b = aten::mul.Tensor(x, 3)  # grad off")
        outer = d.call("program.create", inputs=[{"name": "x", "type": "Tensor"}], outputs=["a", "b", "c"], steps=[
            {"program": p, "inputs": {"x": ref("x")}, "as": ["a", "b", "c"], "grad_enabled": False}])["program"]
        for on in True, False:
            d.call("session.set", grad_enabled=on)
            for _ in range(2):
                equal(recorded(d.call("program.run", program=p, inputs={"x": x})["outputs"]), [on, False, True])
            equal(recorded(d.call("program.run", program=outer, inputs={"x": x})["outputs"]), [False, False, True])
            for third in True, False, True:  # inline programs that differ in nothing else
                steps[2]["grad_enabled"] = third
                outputs = d.call("program.run", steps=steps, outputs=["a", "b", "c"], inputs={"x": x})["outputs"]
                equal(recorded(outputs), [on, False, third])
        raises(lambda: create(d, [dict(step("relu", ref("x")), grad_enabled=1)], "x"), "InvalidParams", "grad_enabled")


def test_a_description_says_what_shares_memory(f):
    with f.connect() as d:
        p = d.call("program.create", inputs=[{"name": n, "type": "Tensor"} for n in "xyz"], constants={"k": {"data": [1, 2]}},
                   steps=[step("view", ref("x"), [2], as_="v"), step("mul_.Tensor", ref("v"), 2, as_="w"),
                          step("add.Tensor", ref("y"), 1, as_="a"), {"op": "aten::split.Tensor", "args": [ref("a"), 1], "as": ["s"]},
                          step("neg", {"ref": "s", "index": 1}, as_="n"), step("t", ref("k"), as_="c")],
                   outputs=["v", "w", "y", "s", "a", "n", "c"])["program"]
        told = d.call("program.describe", program=p)
        equal([i["written"] for i in told["inputs"]], [True, False, False])
        equal(told["aliases"], [{"output": 0, "of": "input", "index": 0, "same": False},
                                {"output": 1, "of": "input", "index": 0, "same": False},
                                {"output": 2, "of": "input", "index": 1, "same": True},
                                {"output": 3, "of": "output", "index": 4, "same": False}])
        text = d.call("program.describe", program=p, format="text")["text"]
        contains(text, "  writes to x\n")
        contains(text, "  output y is input y\n")
        q = d.call("program.create", inputs=[{"name": "x"}, {"name": "y"}], outputs=["z"],
                   steps=[step("add", ref("x"), ref("y"), as_="z")])["program"]
        equal(d.call("program.describe", program=q)["aliases"], [{"output": 0, "of": "unknown"}])
        inputs = {n: {"tensor": d.call("tensor.create", **X)["tensor"]} for n in "xyz"}
        outputs = d.call("program.run", program=p, inputs=inputs)["outputs"]
        storage = lambda t: d.call("tensor.describe", tensor=t["tensor"])["storage"]
        equal([storage(o) for o in outputs[:3]], [storage(inputs["x"])] * 2 + [storage(inputs["y"])])
        equal({storage(o) for o in outputs[3]}, {storage(outputs[4])})


def test_the_same_program_has_the_same_hash(f):
    with f.connect() as d:
        def hash_of(name, args, kwargs, k=(1, 2)):
            p = d.call("program.create", inputs=[{"name": name, "type": "Tensor"}], constants={"k": {"data": list(k)}}, outputs=["out" + name],
                       steps=[{"op": "aten::add.Tensor", "args": args, "kwargs": kwargs, "as": ["out" + name]}])["program"]
            return d.call("program.describe", program=p)["hash"]
        first = hash_of("x", [ref("x"), ref("k")], {})
        equal((len(first), int(first, 16) > 0), (32, True))
        equal(hash_of("y", [ref("y"), ref("k")], {"alpha": 1}), first)
        equal(hash_of("y", [], {"other": ref("k"), "alpha": 1, "self": ref("y")}), first)
        equal(hash_of("x", [ref("x"), ref("k")], {}, k=(3, 4)), first)
        for other in ([ref("x"), ref("x")], {}), ([ref("x"), ref("k")], {"alpha": 2}), ([ref("k"), ref("x")], {}):
            equal(hash_of("x", *other) == first, False)
        equal(hash_of("x", [ref("x"), ref("k")], {}, k=(1, 2, 3)) == first, False)
        numbers = [hash_of("x", [ref("x"), n], {}) for n in (10, 11, 10.5, 10)]  # each stands for a tensor
        equal((len(set(numbers)), numbers[3]), (3, numbers[0]))


def test_an_inline_program_is_built_once_for_its_content(f):
    """What runs again is what was sent again: other tensors, constants, kinds or names make no mistake."""
    with f.connect() as d:
        def inline(x, other, name="y", **inputs):
            return d.call("program.run", inputs={"x": x, **inputs}, outputs=[name],
                          steps=[step("add.Tensor", ref("x"), other, as_=name)], **DATA)["outputs"][0]

        for _ in range(3):
            equal(inline(X, {"data": [1, 1]})["data"], [2, 3])
            equal(inline(X, {"data": [5, 6]})["data"], [6, 8])
            equal(inline(X, 3)["data"], [4, 5])
            equal(inline(X, 4)["data"], [5, 6])
            equal(inline(X, ref("k"), k=7)["data"], [8, 9])
            equal(inline(X, ref("k"), k={"data": [10, 20]})["data"], [11, 22])
            equal(inline(X, 3, "z")["data"], [4, 5])
            raises(lambda: inline(X, "a"), "TypeError", "must be Tensor, not str")
        for i in range(200):  # more than are kept
            equal(inline(X, i)["data"], [1 + i, 2 + i])


def test_limits(f):
    with f.connect() as d:
        limits = d.call("server.hello")["limits"]
        most = limits["session_programs"]
        for i in range(most):
            p = create(d, [], "x")
        raises(lambda: create(d, [], "x"), "ResourceExhausted", "programs", f"0 of {most} left (session_programs)")
        d.call("program.release", program=p)
        equal(create(d, [], "x"), most + 1, "handles are never reused")


def test_a_session_takes_its_programs_along(f):
    with f.connect() as watch:
        with f.connect() as d:
            create(d, [step("add.Tensor", ref("x"), ref("k"))], "x", k={"data": [1, 2, 3]})
            d.call("program.run", inputs={"x": X}, steps=[step("mul.Tensor", ref("x"), 2)], outputs=[])
            less(0, watch.call("server.status")["live_tensors"])
        wait_until(lambda: watch.call("server.status")["live_tensors"] == 0, "the constants are gone")


def sleepy(n, ms=200):
    return [{"op": "sleeps::sleep", "args": [ref("x"), ms], "as": [f"y{i}"]} for i in range(n)]


def running(d):
    return [r for r in d.call("server.status")["running"] if r["op"].startswith("sleeps")]


def test_a_deadline_stops_a_program_between_steps(f):
    with f.connect() as d:
        start = time.monotonic()
        e = raises(lambda: d.call("program.run", inputs={"x": X}, steps=sleepy(50), outputs=[],
                                  deadline_ms=300), "DeadlineExceeded", "deadline")
        less(time.monotonic() - start, 8)
        less(0, e.data["step"])
        equal(d.op("aten::neg", X, returns="data")["data"], [-1, -2], "the next request has none")


def test_call_cancel_stops_a_program_that_runs(f):
    with f.connect() as d, f.connect() as watch:
        wait_until(lambda: not running(watch), "the step of the test before has ended, whose deadline was answered")
        id_ = d.send("program.run", inputs={"x": X}, steps=sleepy(50), outputs=[])
        wait_until(lambda: running(watch), "it runs")
        d.send_message({"jsonrpc": "2.0", "method": "call.cancel", "params": {"id": id_}})
        e = raises(d.receive, "Cancelled", "cancelled while it ran")
        less(e.data["step"], 50)
        wait_until(lambda: not running(watch), "nothing runs")
        equal(d.op("aten::neg", X, returns="data")["data"], [-1, -2])


def test_a_client_that_leaves_stops_its_program(f):
    with f.connect() as watch:
        wait_until(lambda: not running(watch), "nothing runs")
        d = f.connect()
        d.send("program.run", inputs={"x": X}, steps=sleepy(50), outputs=[])
        wait_until(lambda: running(watch), "it runs")
        d.close()
        wait_until(lambda: not running(watch), "it has stopped", 6)
        wait_until(lambda: watch.call("server.status")["live_tensors"] == 0, "its tensors are gone")


def test_an_operator_that_is_gone_is_named(f):
    with f.connect() as d:
        p = create(d, [step("relu", ref("x"), as_="r"),
                       {"op": "tutorial::scale", "args": [ref("r"), 2], "as": ["y"]}], "y")
        equal(run(d, p, x=X)[0]["data"], [2, 4])
        path = [q["path"] for q in d.call("plugin.list")["plugins"] if q["plugin"] == "template"][0]
        d.call("plugin.unload", plugin="template")
        e = raises(lambda: run(d, p, x=X), "NotFound", "step 1: tutorial::scale")
        equal((e.data["op"], e.data["step"]), ("tutorial::scale", 1))
        d.call("plugin.load", path=path)
        equal(run(d, p, x=X)[0]["data"], [2, 4])


def test_intermediate_values_go_at_their_last_use(f):
    if SANITIZED:  # what is freed stays in quarantine
        return
    with f.connect() as d:
        n = 1 << 18  # 1 MiB of float32
        steps = [step("ones", [n], as_="y0")]
        steps += [step("mul.Tensor", ref(f"y{i}"), 1.0, as_=f"y{i + 1}") for i in range(300)]
        before = f.resident_kb()
        equal(d.call("program.run", steps=steps, outputs=["y300"])["outputs"][0]["shape"], [n])
        less(f.resident_kb() - before, 100 << 10, "KiB more, of 300 MiB that were made")


def test_steps_change_the_shape_of_one_tensor_without_end(f):
    """As calls of their own would: what it was goes between them."""
    with f.connect() as d:
        x = [{"tensor": d.call("tensor.create", data=list(range(n)))["tensor"]} for n in (1, 2)]
        out = {"tensor": d.call("tensor.create", data=[])["tensor"]}
        steps = [step("neg.out", ref("xy"[i % 2]), out=ref("out"), as_=f"r{i}") for i in range(300)]
        steps += [step("resize_", ref("out"), [4 + i], as_=f"s{i}") for i in range(200)]
        r = d.call("program.run", steps=steps, outputs=["s199"], inputs={"x": x[0], "y": x[1], "out": out})
        equal((r["outputs"][0]["tensor"], r["outputs"][0]["shape"]), (out["tensor"], [203]))
        equal(d.call("tensor.read", **out)["data"][:2], [0, -1])


def test_a_backend_that_something_names_keeps_its_number(f):
    """Programs, key sets and generators of an unloaded backend are not of the one that comes next."""
    with f.connect() as d:
        load = lambda name: d.call("plugin.load", path=os.path.join(BUILD, "tests", "plugins", name + ".so"))
        load("toy_backend")
        p = create(d, [step("zeros", [2], dtype="float32", device="toy", as_="y")], "y", inputs="")
        state = d.call("session.set", exclude=d.call("session.get")["exclude"] + ["Autogradtoy"])
        contains(state["exclude"], "Autogradtoy")
        d.call("plugin.unload", plugin="toy_backend")
        load("far")
        try:
            raises(lambda: run(d, p), "NotImplementedError", "step 0", "no kernel for toy")
            equal(d.call("op.call", op="aten::zeros", args=[[2]], kwargs={"device": "far"})["outputs"][0]["device"],
                  "far:0")
            equal(d.call("session.get")["exclude"], state["exclude"])
            contains(d.call("program.describe", program=p, format="text")["text"], "'toy:0'")
            equal(d.call("program.describe", program=p)["steps"][0]["args"][1:4], ["float32", None, "toy:0"])
            load("toy_backend")
            raises(lambda: run(d, p), "NotImplementedError", "step 0", "no kernel for toy")
        finally:
            d.call("tensor.release", all=True)
            d.call("plugin.unload", plugin="far")


def test_the_registry_is_whole(f):
    with f.connect() as d:
        equal(d.call("registry.check"), {"ok": True, "violations": []})


main(setup, TestDaemon.finish)
