"""test_optim.py -- operators of namespace optim and those for mixed precision: wrong arguments change nothing, gradients
of None, found_inf, versions, tensors without memory, clipping, and a step of training as one request."""

import math
import os
import re
import time

from harness import ROOT, SANITIZED, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon
import dispatchd

SHAPES = [[3], [2, 2], []]
VALUES = {"params": 1.5, "grads": 0.5, "exp_avgs": 0.25, "exp_avg_sqs": 0.125, "max_exp_avg_sqs": 2, "state_steps": 3}
NAMES = list(VALUES)
ALIASED, INSIDE = "refer to a single memory location", "more than one element of the written-to tensor"


def literal(shape, value, dtype="float32"):
    data = value
    for n in reversed(shape):
        data = [data] * n
    return {"data": data, "dtype": dtype}


def made(d, shape, value, dtype="float32", **more):
    return {"tensor": d.call("tensor.create", **literal(shape, value, dtype), **more)["tensor"]}


def handle(t):
    return {"tensor": t["tensor"]}


def lists(d):
    """Return the lists of adam_, by name."""
    return {name: [made(d, [] if name == "state_steps" else shape, value) for shape in SHAPES] for name, value in VALUES.items()}


def adam(d, given, op="adam_", **options):
    return d.call("op.call", op="optim::" + op, args=[given[n] for n in NAMES],
                  kwargs={k: {"float": v} if isinstance(v, float) else v for k, v in {"lr": 0.1, **options}.items()})


def read(d, tensor):
    return d.call("tensor.read", tensor=tensor["tensor"])["data"]


def version(d, tensor):
    return d.call("tensor.describe", tensor=tensor["tensor"])["version"]


def everything(d, given):
    """Return data and version of every tensor of the lists."""
    all_ = [(t, d.call("tensor.describe", tensor=t["tensor"])) for name in sorted(given) for t in given[name] if t]
    return [(None if told["device"] == "meta" else read(d, t), told["version"]) for t, told in all_]


def refused(d, type_, *parts, change=None, op="adam_", **options):
    """The step must fail with these words, and change no tensor.  change(lists): makes them wrong."""
    given = lists(d)
    if change:
        change(given)
    before = everything(d, given)
    raises(lambda: adam(d, given, op, **options), type_, *parts)
    equal(everything(d, given), before, "after " + parts[0])
    d.call("tensor.release", all=True)


def test_wrong_lists_change_nothing(daemon):
    with daemon.connect() as d:
        def put(name, index, *args, **kwargs):
            return lambda given: given[name].__setitem__(index, made(d, *args, **kwargs))

        def same(name, index, other, at):
            return lambda given: given[name].__setitem__(index, given[other][at])

        def no(name):
            return lambda given: given[name].pop()

        for name in NAMES[1:]:
            refused(d, "RuntimeError", "same number of tensors, got 3 params and 2 " + name, change=no(name), amsgrad=True)
        refused(d, "RuntimeError", "params[1] has dtype float32, but grads[1] has dtype float64", change=put("grads", 1, [2, 2], 1, "float64"))
        refused(d, "RuntimeError", "params[2] has dtype float32, but exp_avgs[2] has dtype float16", change=put("exp_avgs", 2, [], 1, "float16"))
        refused(d, "RuntimeError", "params[0] has shape [3], but grads[0] has shape [1]", change=put("grads", 0, [1], 1))
        refused(d, "RuntimeError", "params[1] has shape [2, 2], but exp_avg_sqs[1] has shape [4]", change=put("exp_avg_sqs", 1, [4], 1))
        refused(d, "RuntimeError", "state_steps[1] must be a 1-element tensor, but it has 2 elements", change=put("state_steps", 1, [2], 1))
        refused(d, "RuntimeError", "state_steps[0]", "its dtype is complex64", change=put("state_steps", 0, [], [1, 0], "complex64"))
        refused(d, "ValueError", "Invalid step: state_steps[2] is -1", change=put("state_steps", 2, [], -1))
        refused(d, "ValueError", "Invalid step: state_steps[2] is nan", change=put("state_steps", 2, [], "nan"))
        refused(d, "ValueError", "Invalid step: state_steps[0] is inf", change=put("state_steps", 0, [], "inf"))
        refused(d, "ValueError", "Invalid step: state_steps[1] is 255, the largest number of uint8",
                change=put("state_steps", 1, [], 255, "uint8"))
        refused(d, "ValueError", "Invalid step: state_steps[0] is 2.14748e+09, the largest number of int32",
                change=put("state_steps", 0, [], 2**31 - 1, "int32"))
        refused(d, "RuntimeError", "params[0] and exp_avgs[0] " + ALIASED, change=same("exp_avgs", 0, "params", 0))
        refused(d, "RuntimeError", ALIASED, "params[2]", "params[2]", change=same("state_steps", 1, "params", 2))
        refused(d, "RuntimeError", ALIASED, "state_steps[0]", "state_steps[1]", change=same("state_steps", 1, "state_steps", 0))
        refused(d, "RuntimeError", ALIASED, "grads[1]", "exp_avg_sqs[1]", change=same("grads", 1, "exp_avg_sqs", 1))


# the lists of state of the optimizers other than Adam, and what makes them use each list
STATES = {"sgd_": (["momentum_buffers"], {"momentum": 0.9}),
          "rmsprop_": (["square_avgs", "grad_avgs", "momentum_buffers"], {"momentum": 0.9, "centered": True}),
          "adagrad_": (["state_sums", "state_steps"], {}), "lion_": (["exp_avgs"], {})}


def test_wrong_lists_of_every_optimizer(daemon):
    with daemon.connect() as d:
        for op, (states, options) in STATES.items():
            names = ["params", "grads", *states]

            def check(type_, *parts, **changes):
                given = {n: [made(d, [] if n == "state_steps" else shape, 0.5) for shape in SHAPES] for n in names}
                for name, change in changes.items():
                    change(given[name], given)
                before = everything(d, given)
                raises(lambda: d.call("op.call", op="optim::" + op, args=[given[n] for n in names], kwargs={"lr": 0.1, **options}),
                       type_, *parts)
                equal(everything(d, given), before, f"{op} after {parts[0]}")

            for name in names[1:]:
                check("RuntimeError", f"same number of tensors, got 3 params and 2 {name}", **{name: lambda l, _: l.pop()})
                check("RuntimeError", ALIASED, **{name: lambda l, given: l.__setitem__(2, given["params"][2])})
                if name != "state_steps":
                    check("RuntimeError", f"params[1] has shape [2, 2], but {name}[1] has shape [4]",
                          **{name: lambda l, _: l.__setitem__(1, made(d, [4], 1))})
                    check("RuntimeError", f"params[0] has dtype float32, but {name}[0] has dtype bfloat16",
                          **{name: lambda l, _: l.__setitem__(0, made(d, [3], 1, "bfloat16"))})
                    check("RuntimeError", f"params[0] is on CPU and {name}[0] is on Meta",
                          **{name: lambda l, _: l.__setitem__(0, handle(d.op("aten::empty.memory_format", [3], device="meta")))})
            d.call("tensor.release", all=True)


def test_a_huge_number_of_steps(daemon):
    with daemon.connect() as d:
        given = lists(d)
        given["state_steps"] = [made(d, [], 3e38) for _ in SHAPES]
        adam(d, given)
        equal([read(d, t) for t in given["state_steps"]], [3e38] * 3, "steps, to which 1 is nothing")
        less(abs(read(d, given["params"][2]) - 1.5), 0.2, "the change of a parameter")
        d.call("tensor.release", all=True)


def test_tensors_that_share_memory_in_part(daemon):
    with daemon.connect() as d:
        given = lists(d)
        base = made(d, [5], 1)
        view = lambda offset, stride=1: handle(d.op("aten::as_strided", base, [3], [stride], offset))
        given["params"][0], given["exp_avgs"][0] = view(0), view(2)
        raises(lambda: adam(d, given), "RuntimeError", ALIASED, "params[0]", "exp_avgs[0]")
        given["exp_avgs"][0] = view(0, 0)
        raises(lambda: adam(d, given), "RuntimeError", INSIDE, "exp_avgs[0]")
        given["params"][0], given["exp_avgs"][0] = view(0, 2), made(d, [3], 0)  # elements 0, 2 and 4
        given["grads"][0] = view(1, 0)  # one element, which nothing writes
        adam(d, given)
        equal([x == 1 for x in read(d, base)], [False, True, False, True, False], "elements that stayed")
        d.call("tensor.release", all=True)


def test_wrong_numbers_change_nothing(daemon):
    with daemon.connect() as d:
        refused(d, "ValueError", "Invalid learning rate: -0.1", lr=-0.1)
        refused(d, "ValueError", "Invalid learning rate: nan", lr={"float": "nan"})
        refused(d, "ValueError", "Invalid learning rate: -3", lr={"data": -3})
        refused(d, "RuntimeError", "lr must be a 1-element tensor, but it has 2 elements", lr={"data": [1, 2]})
        refused(d, "ValueError", "Invalid beta parameter at index 0: 1", beta1=1.0)
        refused(d, "ValueError", "Invalid beta parameter at index 1: -1", beta2=-1.0)
        refused(d, "ValueError", "Invalid epsilon value: -1", eps=-1.0, op="adamw_")
        refused(d, "ValueError", "Invalid weight_decay value: -1", weight_decay=-1.0)
        refused(d, "RuntimeError", "grad_scale must be a 1-element tensor", grad_scale={"data": []})
        refused(d, "RuntimeError", "found_inf must be a tensor of a real number, but its dtype is bool", found_inf={"data": True})
        p = [made(d, [2], 1)]
        sgd = lambda **k: d.op("optim::sgd_", p, [literal([2], 1)], p, lr=1, **k)
        raises(lambda: sgd(momentum=-1), "ValueError", "Invalid momentum value: -1")
        raises(lambda: sgd(nesterov=True), "ValueError", "Nesterov momentum requires a momentum and zero dampening")
        raises(lambda: d.op("optim::sgd_", [literal([2], 1, "int64")], [literal([2], 1, "int64")], [], lr=1), "RuntimeError",
               '"sgd" not implemented for \'Long\'')
        raises(lambda: d.op("optim::sgd_", p, [{"data": [1, 2], "device": "meta"}], [], lr=1), "RuntimeError",
               "params[0] is on CPU", "grads[0] is on Meta")
        equal(read(d, p[0]), [1, 1])
        d.call("tensor.release", all=True)


def test_a_gradient_of_none_leaves_parameter_and_state(daemon):
    with daemon.connect() as d:
        given = lists(d)
        given["grads"][1] = None
        before = {name: [read(d, t) for t in tensors if t] for name, tensors in given.items()}
        adam(d, given, amsgrad=True)
        for name in ("params", "exp_avgs", "exp_avg_sqs", "state_steps"):
            equal([read(d, t) == b for t, b in zip(given[name], before[name])], [False, True, False], f"same {name}")
        equal([read(d, t) for t in given["state_steps"]], [4, 3, 4])
        d.call("tensor.release", all=True)


def test_the_page_has_the_lists_of_each_operator(daemon):
    with open(os.path.join(ROOT, "docs", "gradients.md")) as f:
        rows = re.findall(r"^\| (`\w+_`(?:, `\w+_`)*) \| (`params`[^|]*) \|", f.read(), re.M)
    listed = {op: re.findall(r"\w+", lists) for ops, lists in rows for op in re.findall(r"\w+", ops)}
    with daemon.connect() as d:
        defined = {op[7:] for op in d.call("registry.list", namespace="optim")["ops"] if "." not in op and "clip" not in op}
        equal(sorted(listed), sorted(defined))
        for op, names in listed.items():
            args = d.call("registry.describe", op="optim::" + op)["arguments"]
            equal(names, [a["name"] for a in args if a["type"].endswith("[]")], op)


def test_a_step_over_nothing(daemon):
    """torch.optim's functional forms loop over no parameter, and clip_grad_norm_([]) is tensor(0.)."""
    lists_of = {"sgd_": 3, "adam_": 6, "adamw_": 6, "rmsprop_": 5, "adagrad_": 4, "lion_": 3}
    with daemon.connect() as d:
        for op, n in lists_of.items():
            for name, lr in ((op, {"float": 0.1}), (op + ".tensor_lr", literal([], 0.1))):
                call = lambda **options: d.call("op.call", op=f"optim::{name}", args=[[]] * n, kwargs={"lr": lr, **options})
                equal(call()["outputs"], [], name)
                equal(call(found_inf=literal([1], 1))["outputs"], [], name)
                raises(lambda: call(weight_decay={"float": -1}), "ValueError", "Invalid weight_decay value: -1")
        norm = d.call("op.call", op="optim::clip_grad_norm_", args=[[], 1], **{"return": "data"})["outputs"][0]
        equal((norm["dtype"], norm["shape"], norm["device"], norm["data"]), ("float32", [], "cpu", 0))
        equal(d.call("op.call", op="optim::clip_grad_value_", args=[[], 1])["outputs"], [])
        raises(lambda: d.call("op.call", op="optim::sgd_", args=[[], [], [made(d, [1], 0)]], kwargs={"lr": 1, "momentum": 1}),
               "RuntimeError", "same number of tensors")
        raises(lambda: d.op("aten::_foreach_add.Scalar", [], 1), "NotImplementedError", "no argument is a tensor")
        d.call("tensor.release", all=True)


def test_found_inf_changes_nothing_and_grad_scale_divides(daemon):
    with daemon.connect() as d:
        given, scaled = lists(d), lists(d)
        before = [x for x, _ in everything(d, given)]
        adam(d, given, found_inf={"data": 1})
        equal([x for x, _ in everything(d, given)], before)
        scaled["grads"] = [made(d, shape, 32) for shape in SHAPES]
        adam(d, given, found_inf={"data": 0})
        adam(d, scaled, grad_scale={"data": 64})
        equal(before == [x for x, _ in everything(d, given)], False, "nothing changed with found_inf 0")
        for name in ("params", "exp_avgs", "exp_avg_sqs", "state_steps"):
            equal([read(d, t) for t in scaled[name]], [read(d, t) for t in given[name]], name)
        equal(read(d, scaled["grads"][0]), [32, 32, 32], "scaled gradients")
        d.call("tensor.release", all=True)


def test_written_tensors_have_new_versions_and_leaves_may_be_written(daemon):
    with daemon.connect() as d:
        given = lists(d)
        leaf = given["params"][0] = made(d, [3], 1, requires_grad=True)
        adam(d, given)
        equal([version(d, given[n][0]) for n in NAMES[:4]], [1, 0, 1, 1])
        told = d.call("tensor.describe", tensor=leaf["tensor"])
        equal((told["is_leaf"], told["requires_grad"], told["grad_fn"]), (True, True, None))
        y = handle(d.op("aten::mul.Tensor", leaf, leaf))
        s = handle(d.op("aten::sum", y))
        adam(d, given)
        raises(lambda: d.call("grad.backward", tensors=[s]), "RuntimeError", "modified by an inplace operation")
        d.call("tensor.release", all=True)


def test_tensors_without_memory_are_checked_only(daemon):
    with daemon.connect() as d:
        meta = lambda shape, dtype="float32": handle(d.op("aten::empty.memory_format", shape, dtype=dtype, device="meta"))
        given = {name: [meta([] if name == "state_steps" else shape) for shape in SHAPES] for name in NAMES}
        adam(d, given, amsgrad=True)
        given["grads"][1] = meta([4])
        raises(lambda: adam(d, given), "RuntimeError", "params[1] has shape [2, 2], but grads[1] has shape [4]")
        equal(d.op("optim::clip_grad_norm_", given["grads"], 1)["shape"], [])
        d.call("tensor.release", all=True)


def test_half_precision_is_computed_in_float32(daemon):
    with daemon.connect() as d:
        for dtype in ("float16", "bfloat16"):
            p, b = made(d, [1100], 1, dtype), made(d, [1100], 0.5, dtype)
            d.op("optim::sgd_", [p], [literal([1100], 0.25, dtype)], [b], lr=0.5, momentum=0.5, dampening=0.5)
            equal({round(x, 2) for x in read(d, p)}, {0.81}, dtype)
            equal(set(read(d, b)), {0.375}, dtype)
        d.call("tensor.release", all=True)


def test_a_step_that_ran_out_of_time_is_made_or_not(daemon):
    """Each parameter and its state are as before or as after the step, and all of them alike."""
    late = 0
    with daemon.connect() as d:
        full = lambda value: [handle(d.op("aten::full", [1 << (18 if SANITIZED else 21)], value, dtype="float32")) for _ in range(4)]
        for deadline in (1, 3, 9):
            params, grads, average, square = full(1), full(0.5), full(0), full(0)
            steps = [made(d, [], 0) for _ in range(4)]
            try:
                d.call("op.call", op="optim::adam_", args=[params, grads, average, square, [], steps],
                       kwargs={"lr": 0.25}, deadline_ms=deadline)
            except dispatchd.Error as e:
                equal(e.type, "DeadlineExceeded")
                late += 1
            wait_until(lambda: d.call("server.status")["running"] == [], "the step has ended")
            for tensors, after in ((params, 0.75), (average, 0.05), (square, 0.00025)):
                ends = [[read(d, x) for x in d.op("aten::aminmax", t)] for t in tensors]
                equal(len({str(x) for end in ends for x in end}), 1, f"values of four tensors after {deadline} ms: {ends}")
                done = read(d, steps[0]) == 1
                less(abs(ends[0][0] - after) if done else abs(ends[0][0] - (after == 0.75)), 1e-6, "their value")
            equal(len({read(d, t) for t in steps}), 1, "steps")
            d.call("tensor.release", all=True)
    print(f"{late} of 3 steps ran out of time")


def many(d, value):
    return [handle(d.op("aten::full", [1 << (15 if SANITIZED else 18)], value, dtype="float32")) for _ in range(6)]


def scalars(d):
    return [made(d, [], 0) for _ in range(6)]


# operators that write lists: their arguments after the lists, how many lists, and how many tensors of counts
IN_PLACE = {"optim::sgd_": ([], {"lr": 0.25, "momentum": 0.9}, 3, 0), "optim::adam_": ([], {"lr": 0.25}, 4, 1),
            "optim::adamw_": ([], {"lr": 0.25}, 4, 1), "optim::rmsprop_": ([], {"lr": 0.25, "momentum": 0.9, "centered": True}, 5, 0),
            "optim::adagrad_": ([], {"lr": 0.25}, 3, 1), "optim::lion_": ([], {"lr": 0.25}, 3, 0),
            "optim::clip_grad_norm_": ([0.5], {}, 1, 0), "optim::clip_grad_value_": ([0.25], {}, 1, 0),
            "aten::_amp_foreach_non_finite_check_and_unscale_": ([{"data": 0}, {"data": 0.5}], {}, 1, 0)}


def test_a_cancelled_step_is_made_or_not(daemon):
    """call.cancel reaches the step at any time: all tensors are as before, or all are as after."""
    cancelled = finished = 0
    with daemon.connect() as d:
        for op, (more, kwargs, n_lists, n_counts) in IN_PLACE.items():
            outcomes = []
            for wait in (None, 0, 0.0002, 0.0006, 0.0015):  # None: no cancel
                tensors = [many(d, 0.5 if k < 2 else 0) for k in range(n_lists)]
                counts = [scalars(d) for _ in range(n_counts)]
                args = [*tensors, *([[]] if "adam" in op else []), *counts, *more]
                id_ = d.send("op.call", op=op, args=args, kwargs=kwargs)
                if wait is not None:
                    time.sleep(wait)
                    d.send_message({"jsonrpc": "2.0", "method": "call.cancel", "params": {"id": id_}})
                try:
                    d.receive()
                    finished += 1
                except dispatchd.Error as e:
                    equal(e.type, "Cancelled", op)
                    cancelled += 1
                ends = [[read(d, x) for t in list_ for x in d.op("aten::aminmax", t)] for list_ in tensors + counts]
                equal([len(set(e)) for e in ends], [1] * len(ends), f"{op} cancelled after {wait} s: values of each list, {ends}")
                outcomes.append([e[0] for e in ends])
                d.call("tensor.release", all=True)
            before = [0.5] * min(2, n_lists) + [0] * (len(outcomes[0]) - min(2, n_lists))
            for found in outcomes[1:]:
                equal(found in (before, outcomes[0]), True, f"{op}: {found}, before {before}, after {outcomes[0]}")
            equal(outcomes[0] != before, True, f"{op} changes {before}")
    print(f"{cancelled} steps were cancelled, {finished} ended")


def test_a_cancelled_program_has_made_its_step_or_not(daemon):
    """A program of forward, gradients and a step of Adam is cancelled: weights and state belong to one whole step."""
    stopped = 0
    with daemon.connect() as d:
        names = ["x", "t", "w", "b", "mw", "mb", "vw", "vb", "sw", "sb"]
        shapes = [[512, 512], [512, 128], [128, 512], [128], [128, 512], [128], [128, 512], [128], [], []]
        values = {"x": 0.5, "t": 1e4}  # far away, so that each step moves all weights by the learning rate
        inputs = {n: handle(d.op("aten::full", s, values.get(n, 0.0), dtype="float32")) for n, s in zip(names, shapes)}
        for n in "wb":
            d.op("aten::requires_grad_", inputs[n])
        program = d.call("program.create", inputs=[{"name": n, "type": "Tensor"} for n in names], steps=STEP, outputs=["loss"])["program"]
        for i in range(60):
            before = read(d, inputs["sw"])
            id_ = d.send("program.run", program=program, inputs=inputs)
            time.sleep(i * 1e-4)
            d.send_message({"jsonrpc": "2.0", "method": "call.cancel", "params": {"id": id_}})
            try:
                d.receive()
                equal(read(d, inputs["sw"]), before + 1, "steps after a run that ended")
            except dispatchd.Error as e:
                equal(e.type, "Cancelled")
                stopped += 1
            steps = [read(d, inputs[s]) for s in ("sw", "sb")]
            equal(steps, [steps[0]] * 2, "steps of both parameters")
            equal(steps[0] in (before, before + 1), True, f"steps {steps[0]}, before {before}")
            for n in ("w", "b", "mw", "vw"):
                ends = [read(d, x) for x in d.op("aten::aminmax", inputs[n])]
                less(ends[1] - ends[0], 1e-3, f"difference of the least and the largest element of {n}, {ends}")
        d.call("program.release", program=program)
        d.call("tensor.release", all=True)
    print(f"{stopped} of 60 programs were cancelled")


# -- clipping --

def test_clip_grad_norm(daemon):
    with daemon.connect() as d:
        grads = [made(d, [1], 3), made(d, [2, 0], 1), made(d, [], 4, "float64")]
        norm = lambda *args, **k: read(d, d.op("optim::clip_grad_norm_", grads, *args, **k))
        equal(norm(10), 5)
        equal([read(d, g) for g in (grads[0], grads[2])], [[3], 4], "gradients that are short enough")
        equal(norm(0.5), 5)
        less(abs(read(d, grads[0])[0] - 0.3), 1e-6)
        less(abs(read(d, grads[2]) - 0.4), 1e-6)
        raises(lambda: norm(1, {"float": "inf"}), "RuntimeError", "max()", "grads[1] has no elements")
        grads[1] = made(d, [2], "inf")
        raises(lambda: norm(1, error_if_nonfinite=True), "RuntimeError", "The total norm of order 2 for gradients from `parameters` is non-finite")
        equal(read(d, grads[1]), ["inf"] * 2)
        equal(norm(1), "inf")
        equal([read(d, grads[0]), read(d, grads[1])], [[0], ["nan"] * 2])
        raises(lambda: d.op("optim::clip_grad_norm_", [grads[0], grads[0]], 1), "RuntimeError", "grads[0] and grads[1]", ALIASED)
        d.call("tensor.release", all=True)


def test_clip_grad_value(daemon):
    with daemon.connect() as d:
        g = {"tensor": d.call("tensor.create", data=[-5, 0.5, "nan", "inf"])["tensor"]}
        d.op("optim::clip_grad_value_", [g], 2)
        equal(read(d, g), [-2, 0.5, "nan", 2])
        d.op("optim::clip_grad_value_", [g], {"float": "nan"})
        equal(read(d, g), ["nan"] * 4, "a limit of NaN, as torch.clamp")
        d.call("tensor.release", all=True)


# -- mixed precision --

def test_unscale_finds_infinities(daemon):
    with daemon.connect() as d:
        for bad in (None, "inf", "-inf", "nan"):
            found = made(d, [], 0)
            grads = [made(d, [1030], 8), made(d, [2], 2 if bad is None else bad, "float16"), made(d, [0], 1)]
            d.op("aten::_amp_foreach_non_finite_check_and_unscale_", grads, found, {"data": 0.25})
            equal((read(d, found), read(d, grads[0])[-1]), (0 if bad is None else 1, 2), str(bad))
        check = lambda *args: d.op("aten::_amp_foreach_non_finite_check_and_unscale_", *args)
        raises(lambda: check(grads, {"data": [0, 0]}, {"data": 1}), "RuntimeError", "found_inf must be a 1-element tensor")
        raises(lambda: check(grads, found, literal([], 1, "float64")), "RuntimeError", "inv_scale must be a float tensor")
        raises(lambda: check([found], found, {"data": 1}), "RuntimeError", ALIASED, "self[0]", "found_inf[0]")
        out, told = d.op("aten::_amp_foreach_non_finite_check_and_unscale", [literal([2], 8)], {"data": 0}, {"data": 0.5}, returns="data")
        equal((out[0]["data"], told["data"]), ([4, 4], 0), "the functional overload")
        outs = [made(d, [2], 0)]
        d.call("op.call", op="aten::_amp_foreach_non_finite_check_and_unscale.out", args=[[literal([2], 8)], found, {"data": 0.5}],
               kwargs={"out": outs})
        equal(read(d, outs[0]), [4, 4], "the out= overload")
        d.call("tensor.release", all=True)


def test_update_scale(daemon):
    with daemon.connect() as d:
        scale, tracker = made(d, [], 8), made(d, [], 0, "int32")
        seen = []
        for found in (0, 0, 0, 1, 0):
            d.op("aten::_amp_update_scale_", scale, tracker, {"data": found, "dtype": "float32"}, 2, 0.5, 2)
            seen.append((read(d, scale), read(d, tracker)))
        equal(seen, [(8, 1), (16, 0), (16, 1), (8, 0), (8, 1)])
        d.op("aten::fill_.Scalar", scale, 3e38)
        d.op("aten::_amp_update_scale_", scale, tracker, {"data": 0, "dtype": "float32"}, 2, 0.5, 2)
        less(read(d, scale), math.inf, "a scale that would pass float32")
        raises(lambda: d.op("aten::_amp_update_scale_", scale, made(d, [], 0), {"data": 0, "dtype": "float32"}, 2, 0.5, 2), "RuntimeError",
               "growth_tracker must be an int tensor")
        d.call("tensor.release", all=True)


# -- programs --

STEP = [
    {"op": "aten::linear", "args": [{"ref": "x"}, {"ref": "w"}, {"ref": "b"}], "as": ["y"]},
    {"op": "aten::mse_loss", "args": [{"ref": "y"}, {"ref": "t"}], "as": ["loss"]},
    {"op": "grad::gradients", "args": [[{"ref": "loss"}], [{"ref": "w"}, {"ref": "b"}]], "as": ["grads"]},
    {"op": "optim::clip_grad_norm_", "args": [{"ref": "grads"}, 1.0], "as": ["norm"]},
    {"op": "optim::adam_", "args": [[{"ref": "w"}, {"ref": "b"}], {"ref": "grads"}, [{"ref": "mw"}, {"ref": "mb"}],
                                    [{"ref": "vw"}, {"ref": "vb"}], [], [{"ref": "sw"}, {"ref": "sb"}]],
     "kwargs": {"lr": 0.05}, "as": []},
]


def test_a_step_of_training_is_one_request(daemon):
    with daemon.connect() as d:
        names = ["x", "t", "w", "b", "mw", "mb", "vw", "vb", "sw", "sb"]
        shapes = [[4, 3], [4, 2], [2, 3], [2], [2, 3], [2], [2, 3], [2], [], []]
        inputs = [made(d, s, 0.5 if n in "xt" else 0.0, requires_grad=n in ("w", "b")) for n, s in zip(names, shapes)]
        program = d.call("program.create", inputs=[{"name": n, "type": "Tensor"} for n in names], steps=STEP,
                         outputs=["loss"])["program"]
        losses = [d.call("program.run", program=program, inputs=dict(zip(names, inputs)), **{"return": "data"})["outputs"][0]["data"]
                  for _ in range(30)]
        less(losses[-1], losses[0] / 20, "loss after 30 steps")
        equal([read(d, t) for t in inputs[-2:]], [30, 30])
        told = d.call("program.describe", program=program)
        contains(str(told), "optim::adam_")
        d.call("program.release", program=program)
        d.call("tensor.release", all=True)


main(TestDaemon, TestDaemon.finish)
