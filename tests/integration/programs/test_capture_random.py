"""test_capture_random.py -- random programs with views, writes, lists and random operators, captured: what was captured
gives the bits of the program itself, also in the inputs that it writes; over fakes the steps are those over tensors.

DP_SEED (default: the time) chooses the programs; the first line of the output has it."""

import os
import random
import time

from graphs import setup, teardown
from harness import equal, less, main
import dispatchd

SEED = int(os.environ.get("DP_SEED", time.time()))
PROGRAMS, STEPS = 60, 14
# name, other arguments; the first argument is a value of shape [4, 4], and so is the result.
ONE = [("exp", []), ("neg", []), ("sin", []), ("relu", []), ("softmax.int", [-1]), ("silu", []), ("t", []), ("clone", []),
       ("flip", [[0]]), ("rand_like", []), ("dropout", [0.5, True]), ("alias", []), ("add.Scalar", [1.5]), ("cumsum", [1]),
       ("transpose.int", [0, 1]), ("view", [[4, 4]]), ("gelu", []), ("contiguous", []), ("square", [])]
IN_PLACE = [("neg_", []), ("mul_.Scalar", [0.5]), ("sin_", []), ("zero_", []), ("bernoulli_.float", [0.5]), ("relu_", [])]
TWO = ["add.Tensor", "mul.Tensor", "mm", "maximum", "matmul", "atan2"]
PARTS = [("split.Tensor", [2, 0]), ("chunk", [2, 1]), ("unbind.int", [0])]


def ref(name, **more):
    return {"ref": name, **more}


def made(r):
    """(steps, outputs) of a random program of x and y."""
    values, steps = ["x", "y"], []

    def step(op, args):
        steps.append({"op": "aten::" + op, "args": args, "as": [f"v{len(steps)}"]})
        return f"v{len(steps) - 1}"

    for _ in range(STEPS):
        v, kind = r.choice(values), r.random()
        if kind < 0.4:
            op, more = r.choice(ONE)
            values.append(step(op, [ref(v), *more]))
        elif kind < 0.6:
            values.append(step(r.choice(TWO), [ref(v), ref(r.choice(values))]))
        elif kind < 0.75:
            op, more = r.choice(IN_PLACE)
            step(op, [ref(v), *more])
        elif kind < 0.9:  # a write to a part, then the parts in another order
            op, more = r.choice(PARTS)
            parts = step(op, [ref(v), *more])
            op, more = r.choice(IN_PLACE)
            step(op, [ref(parts, index=1), *more])
        else:
            both = step("cat", [[ref(v), ref(r.choice(values))], 0])
            values.append(step("slice.Tensor", [ref(both), 0, 2, 6]))
    return steps, sorted(set(r.sample(values, min(3, len(values)))))


def inputs(f):
    data = [[float((3 * i + 5 * j) % 7) - 3 for j in range(4)] for i in range(4)]
    return {name: {"tensor": f.d.call("tensor.create", data=[[v + k for v in row] for row in data])["tensor"]}
            for k, name in enumerate("xy")}


def ran(f, program):
    """What a run answers, as text: the elements of each output, then of each input; or its error."""
    given = inputs(f)
    f.d.call("session.set", seed=4)
    try:
        outputs = f.d.call("program.run", program=program, inputs=given, **{"return": "data"})["outputs"]
    except dispatchd.Error as e:
        return f"{e.type}: {e.message}"
    return repr([o["data"] for o in outputs] + [f.data(t["tensor"]) for t in given.values()])


def captured(f, program, fakes):
    f.d.call("session.set", seed=4)
    return f.d.call("program.capture", program=program, inputs=inputs(f), fakes=fakes)["program"]


def text(f, program):
    return f.d.call("program.describe", program=program, format="text")["text"]


def test_captured_programs_give_the_same_bits(f):
    r, tried = random.Random(SEED), 0
    print(f"     DP_SEED={SEED}")
    for i in range(PROGRAMS):
        steps, outputs = made(r)
        what = f"program {i} of DP_SEED={SEED}: {steps}, {outputs}"
        p = f.d.call("program.create", inputs=[{"name": n} for n in "xy"], steps=steps, outputs=outputs)["program"]
        want = ran(f, p)
        if not want.startswith("["):  # it fails: a write to a tensor that shares elements, say
            continue
        tried += 1
        reals, fakes = captured(f, p, False), captured(f, p, True)
        equal(text(f, fakes), text(f, reals), what)
        equal(ran(f, reals), want, what)
        for q in (p, reals, fakes):
            f.d.call("program.release", program=q)
        f.d.call("tensor.release", all=True)
    less(PROGRAMS // 2, tried, "programs that run")


if __name__ == "__main__":
    main(setup, teardown)
