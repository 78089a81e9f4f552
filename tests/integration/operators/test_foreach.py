"""test_foreach.py -- operators over lists of tensors: each answers what the operator of its name answers for each
element, in all forms."""

from harness import equal, less, main, raises
from daemon import TestDaemon
import dispatchd

LISTS = ([{"data": [0.25, -0.5]}, {"data": [[2.5, 1]]}], [{"data": [4, 2, 9], "dtype": "int64"}, {"data": [3], "dtype": "int64"}])
OTHERS = [{"data": [0.5]}, {"data": 8}]
NAMES = {"norm": "linalg_vector_norm", "maximum_": "maximum", "minimum_": "minimum"}


def value(arg, n):
    """(argument of the list operator, [argument for each element])"""
    if arg["type"] == "Tensor[]":
        return OTHERS, OTHERS
    if arg["type"] == "Scalar[]":
        return [2, 3.5], [2, 3.5]
    return 2, [2] * n


def answer(d, op, args):
    kwargs = {"value": args.pop()} if op.startswith("aten::addc") else {}
    try:
        outputs = d.call("op.call", op=op, args=args, kwargs=kwargs, **{"return": "data"})["outputs"]
        return [o["data"] for o in (outputs[0] if outputs and isinstance(outputs[0], list) else outputs)]
    except dispatchd.Error as e:
        return e.type


def made(d, literals):
    return [{"tensor": d.call("tensor.create", **t)["tensor"]} for t in literals]


def read(d, handles):
    return [d.call("tensor.read", tensor=h["tensor"])["data"] for h in handles]


def test_each_element_is_what_its_operator_answers(daemon):
    compared = 0
    with daemon.connect() as d:
        for op in (n for n in d.call("registry.list", namespace="aten")["ops"] if n.startswith("aten::_foreach_")):
            base, _, overload = op[len("aten::_foreach_"):].partition(".")
            if overload.endswith("out") or base == "zero":
                continue
            rest = [value(a, 2) for a in d.call("registry.describe", op=op)["arguments"][1:] if not a["kwarg_only"]]
            for given in LISTS:
                want = [answer(d, "aten::" + NAMES.get(base, base), [t] + [each[i] for _, each in rest])
                        for i, t in enumerate(given)]
                if base == "maximum_" or base == "minimum_":  # what is computed is copied
                    want = [w if w == "RuntimeError" or given is LISTS[0] else [[int(x) for x in w[0]]] for w in want]
                lists = made(d, given)
                got = answer(d, op, [lists] + [v for v, _ in rest])
                if base.endswith("_") and not isinstance(got, str):
                    got = read(d, lists)
                fault = next((w for w in want if isinstance(w, str)), None)
                equal(got, fault or [w[0] for w in want], f"{op} {given}")
                compared += 1
        d.call("tensor.release", tensors=[], all=True)
    print(f"{compared} calls")
    less(180, compared, "calls compared")


def test_outputs(daemon):
    with daemon.connect() as d:
        outs = made(d, [{"data": []}, {"data": [7], "dtype": "int32"}])
        said = d.call("op.call", op="aten::_foreach_mul.Scalar_out", args=[LISTS[0], 3], kwargs={"out": outs})
        equal(read(d, outs), [[0.75, -1.5], [[7, 3]]])
        equal(len(said["warnings"]), 1)
        equal([t["data"] for t in d.op("aten::_foreach_zero", LISTS[0], returns="data")], [[0, 0], [[0, 0]]])
        d.call("tensor.release", tensors=[], all=True)


def test_lists_must_have_the_same_length(daemon):
    two = LISTS[0]
    with daemon.connect() as d:
        raises(lambda: d.op("aten::_foreach_add.List", two, two[:1]), "RuntimeError", "same number of tensors, got 2 and 1")
        raises(lambda: d.op("aten::_foreach_add.List", two, []), "RuntimeError", "at least one tensor")
        raises(lambda: d.op("aten::_foreach_add.ScalarList", two, [1]), "RuntimeError", "scalar list, got 2 and 1")
        raises(lambda: d.op("aten::_foreach_addcmul.ScalarList", two, two, two, []), "RuntimeError", "got 2 and 0")
        raises(lambda: d.op("aten::_foreach_abs", []), "NotImplementedError")
        outs = made(d, two[:1])
        raises(lambda: d.op("aten::_foreach_abs.out", two, out=outs), "RuntimeError", "size 2, got size 1")
        d.call("tensor.release", tensors=[], all=True)


def test_without_memory(daemon):
    with daemon.connect() as d:
        found = d.op("aten::_foreach_sqrt", [{"shape": [2, 3], "device": "meta", "dtype": "int64"}])
        equal([(t["dtype"], t["shape"], t["device"]) for t in found], [("float32", [2, 3], "meta")])
        d.call("tensor.release", tensors=[], all=True)


def finish(f):
    f.finish()


if __name__ == "__main__":
    main(TestDaemon, finish)
