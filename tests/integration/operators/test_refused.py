"""test_refused.py -- every operator that writes, given arguments that are refused: an output that overlaps itself
or an input, or of another dtype or shape.  What was refused before anything was written leaves versions, shapes and
bytes as they were, and the error names no argument as written."""

from harness import equal, less, main, raises
from daemon import TestDaemon
import dispatchd

VALUES = {"int": 1, "SymInt": 1, "float": 1, "bool": False, "Scalar": 2, "str": "mean", "ScalarType": "float32",
          "MemoryFormat": "contiguous_format", "Device": "cpu", "Layout": "strided"}
NAMED = {"rounding_mode": "floor", "reduction": 1, "approximate": "none", "dim": 0, "ord": 2}
# An output was written after it had grown, and the growth was undone with what was written.
UNDONE = {"aten::" + name for name in ("histogram.bin_ct_out", "linalg_cholesky.out", "soft_margin_loss.out")}
SQUARE, OTHER = {"data": [[0.25, 0.5], [0.75, 1]]}, {"data": [[0.5] * 5] * 3}
INDICES, LINE = {"data": [[0, 1], [1, 0]], "dtype": "int64"}, {"data": [0, 1], "dtype": "int64"}


class Tensors:
    """The tensors of one call, made anew when a call wrote to them."""

    def __init__(self, d):
        self.d, self.made = d, {}

    def view(self, base, shape, strides, offset=0):
        return self.d.op("aten::as_strided", {"tensor": base}, shape, strides, offset)["tensor"]

    def make(self, kind):
        create = lambda data, dtype="float32": self.d.call("tensor.create", data=data, dtype=dtype)["tensor"]
        if kind in ("part", "next"):  # two that share a part of their memory
            base = create([1, 2, 3, 4, 5, 6])
            self.made["part"], self.made["next"] = self.view(base, [2, 2], [2, 1]), self.view(base, [2, 2], [2, 1], 1)
            return self.made[kind]
        return {"lapped": lambda: self.view(create([7]), [2, 2], [0, 0]),
                "bool": lambda: create([[True, False], [True, True]], "bool"),
                "int64": lambda: create([[1, 2], [3, 4]], "int64"),
                "complex64": lambda: create([[[1, 1]] * 2] * 2, "complex64"),
                "shape": lambda: create([[1, 2, 3]]),
                "square": lambda: create([[1, 2], [3, 4]])}[kind]()

    def get(self, kind):
        if kind not in self.made:
            self.made[kind] = self.make(kind)
        return {"tensor": self.made[kind]}

    def state(self, kind):
        read = self.d.call("tensor.read", **self.get(kind))
        return (self.d.call("tensor.describe", **self.get(kind))["version"],
                [read[k] for k in ("data", "shape", "strides", "dtype", "storage_offset")])


def value(arg, tensor):
    type_ = arg["type"]
    if arg["name"] in NAMED:
        return [0] if "[" in type_ else NAMED[arg["name"]]
    if type_.startswith("Tensor") and arg["name"] in ("index", "indices", "target", "mask"):
        tensor = INDICES if tensor is not LINE else LINE
    if type_.startswith("Tensor"):
        return [tensor, tensor] if "[" in type_ else tensor
    if type_.endswith("?"):
        return None
    return [1, 1] if "[" in type_ else VALUES.get(type_)


def calls(args):
    """(kind of the written arguments, what the other tensors are)"""
    for kind in ("lapped", "bool", "int64", "complex64", "shape", "square"):
        for tensor in (SQUARE, OTHER, INDICES, LINE):
            yield kind, tensor
    yield "next", "part"


def test_what_is_refused_changes_nothing(daemon):
    refused, wrong = 0, []
    with daemon.connect() as d:
        d.call("session.set", seed=1)
        tensors = Tensors(d)
        for name in d.call("registry.list", namespace="aten")["ops"]:
            args = d.call("registry.describe", op=name)["arguments"]
            if not any(a["written"] for a in args):
                continue
            for kind, tensor in calls(args):
                if tensor == "part":
                    tensor = tensors.get("part")
                target = tensors.get(kind)
                before = tensors.state(kind)
                given = {a["name"]: value(a, target if a["written"] else tensor)
                         for a in args if "default" not in a or a["name"] in NAMED}
                try:
                    d.call("op.call", op=name, args=[], kwargs=given)
                except dispatchd.Error as e:
                    refused += 1
                    after, told = tensors.state(kind), bool(e.data.get("written"))
                    if after == before and not told:
                        continue
                    partly = name in UNDONE or e.message.endswith("ZeroDivisionError")
                    if not told or after[0] == before[0] or after[1] == before[1] and not partly:
                        wrong.append(f"{name} of {kind}: {e.message[:150]}: {before} {after} {told}")
                d.call("tensor.release", tensors=[], all=True)
                tensors.made.clear()
    print(f"{refused} calls were refused")
    print("\n".join(wrong))
    equal(len(wrong), 0, "calls that were refused and changed something")
    less(5000, refused, "calls refused")


def test_checks_come_before_the_first_element(daemon):
    half, qparams = [0.5, 0.5], ([-1.0], [1.0], [0.5], [3])
    with daemon.connect() as d:
        create = lambda data: {"tensor": d.call("tensor.create", data=data, dtype="int64" if type(data[0]) is int else "float32")["tensor"]}

        def state(tensors):
            return [(d.call("tensor.describe", **t)["version"], d.call("tensor.read", **t)["data"]) for t in tensors]

        def refused(op, code, args, **kwargs):
            args, kwargs = [create(a) if isinstance(a, list) else a for a in args], {k: create(v) for k, v in kwargs.items()}
            tensors = [t for t in args + list(kwargs.values()) if isinstance(t, dict)]
            before = state(tensors)
            error = raises(lambda: d.call("op.call", op="aten::" + op, args=args, kwargs=kwargs), code)
            equal((state(tensors), error.data.get("written")), (before, None), f"{op} {args}: {error.message}")

        refused("take.out", "IndexError", [[1.0, 2.0], [0, 9]], out=[5.0, 5.0])
        refused("binary_cross_entropy.out", "RuntimeError", [half, half, [1.0, 2.0, 3.0]], out=[5.0, 5.0])
        refused("binary_cross_entropy_backward.grad_input", "RuntimeError", [half] * 3 + [[1.0, 2.0, 3.0]], grad_input=[5.0, 5.0])
        for op in ("_fused_moving_avg_obs_fq_helper", "fused_moving_avg_obs_fake_quant"):
            for at, wrong in ((0, [1.0, 2.0]), (1, [1]), (3, [1, 2])):
                given = [*qparams[:at], wrong, *qparams[at + 1:]]
                refused(op, "RuntimeError", [[1.0, 2.0], [1], [1], *given, 0.01, 0, 255, 0])
            refused(op, "RuntimeError", [[1.0, 2.0], [1], [1], *qparams, 0.01, 300, 255, 0])
            refused(op, "RuntimeError", [[1, 2], [1], [1], *qparams, 0.01, 0, 255, 0])


if __name__ == "__main__":
    main(TestDaemon, TestDaemon.finish)
