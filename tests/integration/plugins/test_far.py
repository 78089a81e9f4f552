"""test_far.py -- a backend with memory of its own whose one kernel, a boxed CPU fallback, serves every
operator through facts of its schema alone: the same values, shapes and aliases as on the CPU."""

import os

from harness import BUILD, contains, equal, main, raises
from daemon import TestDaemon

A = {"data": [[1, -2, 3], [4, 5, -6]]}
B = {"data": [[0.5, 2, 1], [3, 0.25, 2]]}
ROW = {"data": [10, 20, 30]}
SQUARE = {"data": [[2, 1], [1, 3]]}
INTS = {"data": [[1, 2, 3], [4, 5, 6]], "dtype": "int64"}
INDEX = {"data": [1, 0], "dtype": "int64"}
MASK = {"data": [[True, False, True], [False, True, False]], "dtype": "bool"}
IMAGE = {"data": [[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]}
KERNEL = {"data": [[[[1, 0], [0, -1]]]]}
CHANNELS = {"data": [[[[1], [2]], [[3], [5]]]]}
PAIR = {"data": [1, 2]}

CASES = [  # operator, arguments, by name
    ("add.Tensor", [A, B], {"alpha": 2}), ("add.Tensor", [A, ROW], {}), ("add.Tensor", [A, 5], {}),
    ("sub.Tensor", [A, B], {}), ("mul.Scalar", [A, 3], {}), ("div.Tensor_mode", [A, B], {"rounding_mode": "floor"}),
    ("pow.Tensor_Scalar", [A, 2], {}), ("neg", [A], {}), ("exp", [B], {}), ("sqrt", [B], {}),
    ("relu", [A], {}), ("gelu", [A], {"approximate": "tanh"}), ("clamp", [A, -1, 2], {}),
    ("clamp.Tensor", [A, None, B], {}), ("where.self", [MASK, A, B], {}), ("masked_fill.Scalar", [A, MASK, 9], {}),
    ("eq.Tensor", [A, A], {}), ("bitwise_and.Scalar", [INTS, 3], {}), ("addcmul", [A, B, B], {"value": 2}),
    # lists of tensors, and of tensors that may be None
    ("cat", [[A, B]], {}), ("cat", [[A, B], 1], {}), ("stack", [[ROW, ROW]], {}),
    ("split.Tensor", [A, 1, 1], {}), ("chunk", [A, 2], {}), ("unbind.int", [A], {}),
    ("lists::reversed", [[A, ROW]], {}), ("lists::present", [[A, None, ROW]], {}),
    ("lists::copy_", [[A, ROW], [B, {"data": [7, 8, 9]}]], {}), ("lists::copy_", [[A], [B]], {}),
    ("lists::copy.out", [[A, ROW]], {"out": [B, {"data": [0, 0, 0]}]}),
    # in place
    ("add_.Tensor", [A, B], {}), ("mul_.Scalar", [A, 2], {}), ("relu_", [A], {}), ("clamp_", [A, 0, None], {}),
    ("fill_.Scalar", [A, 7], {}), ("zero_", [A], {}), ("copy_", [A, B], {}), ("neg_", [INTS], {}),
    ("masked_fill_.Scalar", [A, MASK, 0.5], {}),
    # out=, of the shape, of none and of another
    ("add.out", [A, B], {"out": B}), ("neg.out", [A], {"out": {"data": []}}), ("exp.out", [B], {"out": ROW}),
    ("arange.start_out", [0, 5], {"out": ROW}), ("eq.Scalar_out", [A, 3], {"out": MASK}),
    # views
    ("view", [A, [3, 2]], {}), ("t", [A], {}), ("permute", [A, [1, 0]], {}), ("slice.Tensor", [A, 1, 1, 3], {}),
    ("select.int", [A, 0, 1], {}), ("expand", [ROW, [2, 3]], {}), ("as_strided", [A, [2], [2], 1], {}),
    ("squeeze", [IMAGE], {}), ("unsqueeze", [A, 0], {}), ("diagonal", [SQUARE], {}), ("unfold", [ROW, 0, 2, 1], {}),
    ("alias", [A], {}), ("detach", [A], {}), ("contiguous", [A], {}), ("clone", [A], {}),
    # products, pictures, norms: optional tensors, several returns
    ("mm", [SQUARE, A], {}), ("addmm", [ROW, SQUARE, A], {}), ("dot", [ROW, ROW], {}), ("matmul", [SQUARE, A], {}),
    ("linear", [A, B], {}), ("linear", [A, B, PAIR], {}),
    ("convolution", [IMAGE, KERNEL, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1], {}),
    ("max_pool2d_with_indices", [IMAGE, [2, 2]], {}), ("avg_pool2d", [IMAGE, [2, 2]], {}),
    ("native_batch_norm", [A, ROW, None, None, None, True, 0.1, 1e-5], {}),
    ("native_batch_norm", [CHANNELS, None, None, PAIR, PAIR, True, 0.5, 1e-5], {}),
    ("_softmax", [A, 1, False], {}), ("sum.dim_IntList", [A, [1], True], {}), ("mean", [A], {}),
    ("max.dim", [A, 1], {}), ("argmax", [A], {}), ("any", [MASK], {}),
    ("index_select", [A, 1, INDEX], {}), ("gather", [A, 1, {"data": [[0], [2]], "dtype": "int64"}], {}),
    ("embedding", [A, INDEX], {}), ("item", [{"data": [2.5]}], {}), ("isnan", [A], {}),
    # factories
    ("zeros", [[2, 2]], {"device": ...}), ("full", [[2], 1.5], {"device": ..., "dtype": "float64"}),
    ("arange", [4], {"device": ...}), ("zeros_like", [A], {}), ("new_ones", [A, [2]], {}),
    ("full_like", [A, 3], {"dtype": "int64"}), ("scalar_tensor", [2], {"device": ...}),
]


def lists(case): return case[0].startswith("lists::")
def in_place(case): return case[0].split(".")[0].endswith("_")
def out(case): return "out" in case[2]
def factories(case): return "device" in case[2]


FORMS = lists, in_place, out, factories


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.connect()
        for plugin in "far", "lists":
            self.d.call("plugin.load", path=plugin)

    def done(self):
        self.d.call("tensor.release", all=True)
        for plugin in "lists", "far":
            equal(self.d.call("plugin.unload", plugin=plugin)["unmapped"], True, "unmapped")
        self.d.close()
        self.finish()

    def call(self, op, *args, **more):
        return self.d.call("op.call", op=op if "::" in op else "aten::" + op, args=list(args), **more)

    def put(self, value, device, made):
        """Tensors of value on the device, each once; noted in made."""
        if isinstance(value, dict) and "data" in value:
            t = self.d.call("tensor.create", **value)["tensor"]
            if device != "cpu":
                t = self.call("to.device", {"tensor": t}, device, value.get("dtype", "float32"))["outputs"][0]["tensor"]
            made.append(t)
            return {"tensor": t}
        if isinstance(value, list):
            return [self.put(v, device, made) for v in value]
        return device if value is ... else value

    def read(self, t):
        t = self.d.call("tensor.read", tensor=t)
        return [t[k] for k in ("data", "shape", "strides", "dtype", "storage_offset")]

    def run(self, device, op, args, kwargs):
        """What the call gave and left in its arguments, and of which of them each output is a view."""
        made = []
        args = [self.put(a, device, made) for a in args]
        kwargs = {k: self.put(v, device, made) for k, v in kwargs.items()}
        answer = self.call(op, *args, kwargs=kwargs, trace=True)
        storages = [self.d.call("tensor.describe", tensor=t)["storage"] for t in made]
        tensors, flat = [], []
        for o in answer["outputs"]:
            flat += o if isinstance(o, list) else [o]
        for o in flat:
            if isinstance(o, dict) and "tensor" in o:
                equal(o["device"].split(":")[0], device, f"device of {op}'s result")
                tensors.append(self.read(o["tensor"]) + [[s == o["storage"] for s in storages]])
            else:
                tensors.append(o)
        plugins = {step["plugin"] for step in answer["trace"]}
        left = [self.read(t) for t in made]
        versions = [self.d.call("tensor.describe", tensor=t)["version"] for t in made]
        self.d.call("tensor.release", all=True)
        return tensors, left, answer.get("warnings"), [v > 0 for v in versions] if device == "cpu" else None, plugins


def test_every_operator_gives_what_it_gives_on_the_cpu(f):
    served = []
    for op, args, kwargs in CASES:
        want, have = f.run("cpu", op, args, kwargs), f.run("far", op, args, kwargs)
        equal(have[:3], want[:3], f"{op} {args} {kwargs}")
        served.append("far" in have[4])
    equal(sum(served) > 60, True, f"only {sum(served)} were served by the fallback")
    for form in FORMS:
        equal(any(s and form(case) for s, case in zip(served, CASES)), True, f"{form.__name__} by the fallback")


def test_views_write_through(f):
    made = []
    x = f.put(A, "far", made)
    t = f.call("t", x)["outputs"][0]["tensor"]
    row = f.call("select.int", {"tensor": t}, 0, 0)["outputs"][0]["tensor"]
    f.call("add_.Scalar", {"tensor": row}, 100)
    equal(f.read(made[0])[0], [[101, -2, 3], [104, 5, -6]])
    f.call("add_.Tensor", {"tensor": t}, {"tensor": t})
    equal(f.read(made[0])[0], [[202, -4, 6], [208, 10, -12]])
    part = {"tensor": f.call("slice.Tensor", x, 0, 0, 1)["outputs"][0]["tensor"]}
    raises(lambda: f.call("add_.Tensor", x, part), "RuntimeError", "refer to a single memory location")
    describe = f.d.call("tensor.describe", tensor=row)
    equal((describe["version"], describe["base"]), (2, made[0]), "one version, one root")
    f.d.call("tensor.release", all=True)


def test_what_fails_changes_nothing(f):
    made = []
    x, y = f.put(A, "far", made), f.put(SQUARE, "far", made)
    contains(raises(lambda: f.call("mm", x, y), "RuntimeError").message, "cannot be multiplied")
    e = raises(lambda: f.call("add_.Tensor", x, y), "RuntimeError")
    equal(e.data.get("written", []), [], "arguments that may be damaged")
    equal(f.read(made[0])[0], A["data"])
    equal(f.d.call("tensor.describe", tensor=made[0])["version"], 0)
    f.d.call("tensor.release", all=True)


def test_calls_between_devices(f):
    made = []
    x = f.put(A, "far", made)
    down = f.call("to.device", x, "cpu", "float64")["outputs"][0]
    equal((down["device"], f.read(down["tensor"])[0]), ("cpu", A["data"]))
    up = f.call("copy_", x, {"tensor": f.d.call("tensor.create", **B)["tensor"]})["outputs"][0]["tensor"]
    equal(f.read(up)[0], B["data"])
    equal(f.d.call("registry.check")["violations"], [])
    f.d.call("tensor.release", all=True)


main(Fixture, Fixture.done)
