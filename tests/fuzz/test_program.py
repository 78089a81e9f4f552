"""test_program.py -- random programs, right and wrong: every one is answered, what is right gives what
plain Python gives, and nothing is left."""

import os
import random
import time

from harness import equal, less, main
from daemon import TestDaemon
import dispatchd

SECONDS = 8
SEED = int(os.environ.get("SEED", time.time_ns() % 1000000))
TYPES = {"NotFound", "TypeError", "ValueError", "IndexError", "RuntimeError", "AlreadyExists",
         "NotImplementedError", "ResourceExhausted", "InvalidParams"}
N = 3  # elements of every tensor
EXPANDED = 10000  # steps of a program, those of the programs that it runs counted each time
OPS = {"add.Tensor": lambda a, b: a + b, "sub.Tensor": lambda a, b: a - b, "maximum": max}


def ref(name, index=None):
    return {"ref": name} if index is None else {"ref": name, "index": index}


class Program:
    """A random program of small whole numbers, and what each of its values is."""

    def __init__(self, rng, made):
        self.rng, self.steps, self.values = rng, [], {}
        self.inputs = {f"i{k}": self.numbers() for k in range(rng.randrange(1, 4))}
        self.constants = {f"c{k}": self.numbers() for k in range(rng.randrange(3))}
        self.values.update(self.inputs)
        self.values.update(self.constants)
        self.subs = [m for m in made if m[1].inputs.keys() <= self.values.keys()]
        n = rng.randrange(1, 40)
        self.expanded = 3 * n  # at most, without the programs that it runs
        for k in range(n):
            rng.choice([self.call, self.call, self.call, self.lists, self.get, self.sub])(f"v{k}")
        self.outputs = [rng.choice(list(self.values)) for _ in range(rng.randrange(1, 5))]

    def numbers(self):
        return [self.rng.randrange(-9, 9) for _ in range(N)]

    def tensors(self):
        return [n for n, v in self.values.items() if isinstance(v, list) and len(v) == N]

    def clip(self, values):
        return [max(-1000, min(1000, v)) for v in values]

    def call(self, name):
        a, b = (self.rng.choice(self.tensors()) for _ in range(2))
        op = self.rng.choice(list(OPS))
        raw = name + "r"
        self.steps.append({"op": "aten::" + op, "args": [ref(a), ref(b)], "as": [raw]})
        self.steps.append({"op": "aten::clamp", "args": [ref(raw), -1000], "kwargs": {"max": 1000},
                           "as": [name]})
        self.values[raw] = [OPS[op](x, y) for x, y in zip(self.values[a], self.values[b])]
        self.values[name] = self.clip(self.values[raw])

    def lists(self, name):
        chosen = [self.rng.choice(self.tensors()) for _ in range(self.rng.randrange(1, 4))]
        index = self.rng.randrange(len(chosen))
        self.steps += [{"op": "aten::cat", "args": [[ref(c) for c in chosen]], "as": [name + "c"]},
                       {"op": "aten::split.Tensor", "args": [ref(name + "c"), N], "as": [name + "s"]},
                       {"op": "aten::neg", "args": [ref(name + "s", index)], "as": [name]}]
        self.values[name] = [-v for v in self.values[chosen[index]]]

    def get(self, name):
        a = self.rng.choice(self.tensors())
        self.steps.append({"get": "numel", "args": [ref(a)], "as": [name + "n"]})
        self.steps.append({"op": "aten::add", "args": [ref(a), ref(name + "n")], "as": [name]})
        self.values[name + "n"] = N
        self.values[name] = [v + N for v in self.values[a]]

    def sub(self, name):
        if not self.subs:
            return self.call(name)
        handle, of = self.rng.choice(self.subs)
        if self.expanded + of.expanded > EXPANDED:
            return self.call(name)
        self.expanded += of.expanded
        inputs = {k: self.rng.choice(self.tensors()) for k in of.inputs}
        want = of.evaluate({k: self.values[v] for k, v in inputs.items()})
        self.steps.append({"program": handle, "inputs": {k: ref(v) for k, v in inputs.items()},
                           "as": [f"{name}o{i}" for i in range(len(want))]})
        self.values.update({f"{name}o{i}": w for i, w in enumerate(want)})

    def evaluate(self, inputs):
        """The outputs for other inputs; every value is computed again."""
        values = {**self.constants, **inputs}
        lists = {}
        for s in self.steps:
            names = s["as"]
            if "get" in s:
                values[names[0]] = N
            elif "program" in s:
                of = next(m for h, m in self.subs if h == s["program"])
                given = {k: values[v["ref"]] for k, v in s["inputs"].items()}
                values.update(zip(names, of.evaluate(given)))
            elif s["op"] == "aten::cat":
                lists[names[0]] = [values[r["ref"]] for r in s["args"][0]]
            elif s["op"] == "aten::split.Tensor":
                lists[names[0]] = lists[s["args"][0]["ref"]]
            elif s["op"] == "aten::neg":
                values[names[0]] = [-v for v in lists[s["args"][0]["ref"]][s["args"][0]["index"]]]
            elif s["op"] == "aten::clamp":
                values[names[0]] = self.clip(values[s["args"][0]["ref"]])
            elif s["op"] == "aten::add":
                values[names[0]] = [v + N for v in values[s["args"][0]["ref"]]]
            else:
                a, b = (values[r["ref"]] for r in s["args"])
                values[names[0]] = [OPS[s["op"][6:]](x, y) for x, y in zip(a, b)]
        return [values[o] for o in self.outputs]

    def params(self):
        return dict(inputs=[{"name": k, "type": "Tensor"} for k in self.inputs], steps=self.steps,
                    constants={k: {"data": v} for k, v in self.constants.items()}, outputs=self.outputs)

    def broken(self):
        """Its params with something changed, which may be no harm."""
        p, rng = self.params(), self.rng
        steps = [dict(s) for s in p["steps"]]
        s = rng.choice(steps)
        kind = rng.randrange(8)
        if kind == 0:
            s["as"] = s["as"] + ["more"]
        elif kind == 1 and "op" in s:
            s["op"] = s["op"][:-1]
        elif kind == 2 and "args" in s:
            s["args"] = rng.choice([[], [None], ["a"], [ref("nope")], [[[]]], [ref("i0", 7)], [1, 2, 3, 4]])
        elif kind == 3:
            rng.shuffle(steps)
        elif kind == 4:
            p["outputs"] = p["outputs"] + ["nothing"]
        elif kind == 5 and "op" in s:
            s["kwargs"] = {rng.choice(["other", "alpha", "self", "x"]): rng.choice([1, "s", None, ref("i0")])}
        elif kind == 6:
            p["inputs"] = p["inputs"] + [{"name": "i0", "type": rng.choice(["Tensor", "in t", "int[]"])}]
        else:
            steps.insert(rng.randrange(len(steps)), rng.choice([
                {"get": "sizes", "args": []}, {"program": 10 ** 6}, {"while": "x"},
                {"op": "aten::add_.Tensor", "args": [ref("c0"), 1]}, {"op": "aten::_nothing"}]))
        return {**p, "steps": steps}


def literals(values):
    return {k: {"data": v} for k, v in values.items()}


def data(outputs):
    return [o["data"] if isinstance(o, dict) else o for o in outputs]


def check_right(d, rng, made):
    p = Program(rng, made)
    handle = d.call("program.create", **p.params())["program"]
    for _ in range(2):
        inputs = {k: p.numbers() for k in p.inputs}
        got = d.call("program.run", program=handle, inputs=literals(inputs), **{"return": "data"})["outputs"]
        equal(data(got), p.evaluate(inputs), f"SEED={SEED}, {p.params()} on {inputs}")
    got = d.call("program.run", steps=p.steps, outputs=p.outputs, **{"return": "data"},
                 inputs=literals({**p.inputs, **p.constants}))["outputs"]
    equal(data(got), p.evaluate(p.inputs), f"SEED={SEED}, inline")
    for form in "json", "text", "dot":
        d.call("program.describe", program=handle, format=form)
    made.append((handle, p))
    while len(made) > 20:
        d.call("program.release", program=made.pop(rng.randrange(20))[0])
    return p


def check_broken(d, p):
    params = p.broken()
    try:
        handle = d.call("program.create", **params)["program"]
        d.call("program.run", program=handle, inputs=literals(p.inputs), **{"return": "data"})
        d.call("program.release", program=handle)
    except dispatchd.Error as e:
        equal(e.type in TYPES, True, f"SEED={SEED}, {e} of {params}")


def test_random_programs(f):
    rng, made, n = random.Random(SEED), [], 0
    print(f"SEED={SEED}")
    end = time.monotonic() + SECONDS
    with f.connect() as d:
        while time.monotonic() < end:
            p = check_right(d, rng, made)
            for _ in range(4):
                check_broken(d, p)
            n += 1
        equal(d.call("registry.check")["violations"], [])
    print(f"{n} programs")
    less(10, n, "programs in the time given")


main(TestDaemon, TestDaemon.finish)
