"""test_generators.py -- clients' generators: draws are PyTorch's, states go out and in, nobody draws twice."""

import json
import os
import threading
import zlib

from harness import BUILD, ROOT, SANITIZED, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon

STATE_BYTES = 5056
DEFAULT_SEED = 67280421310721  # torch.Generator()'s


class Fixture:
    def __init__(self):
        self.daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.daemon.connect()
        self.d.call("plugin.load", path="random_kernel")


def finish(f):
    f.d.call("generator.release", generators=[])
    equal(f.d.call("plugin.unload", plugin="random_kernel")["unmapped"], True, "unmapped")
    equal(f.d.call("server.status")["live_tensors"], 0, "live tensors")
    f.d.close()
    f.daemon.stop()


def create(d, **params):
    return {"generator": d.call("generator.create", **params)["generator"]}


def raw(d, n, **kwargs):
    return d.op("rnd::raw", n, returns="data", **kwargs)["data"]


def state(d, **params):
    return d.call("generator.state", **params, **{"return": "attachment"})["state"]["attachment"]


def cases():
    with open(os.path.join(ROOT, "tests", "data", "random_cases.jsonl")) as f:
        return [json.loads(line) for line in f]


def draw(d, op, dtype, size, **kwargs):
    if op == "uniform":
        return d.op("rnd::uniform", size, dtype=dtype, returns="attachment", **kwargs)["attachment"]
    n = size[0]
    to = d.call("tensor.create", dtype=dtype, data=[0] * n)
    d.op("rnd::normal_", {"tensor": to["tensor"]}, **kwargs)
    got = d.call("tensor.read", tensor=to["tensor"], **{"as": "attachment"})["attachment"]
    d.release(to)
    return got


def check(d, case, **kwargs):
    for op, dtype, size, want in case["calls"]:
        got = bytes(draw(d, op, dtype, size, **kwargs))
        got = zlib.crc32(got) if isinstance(want, int) else got.hex()
        equal(got, want, f"seed {case['seed']}: {op} {dtype} {size}")


def seed_of(n):
    return n if abs(n) < 2**53 else str(n)


def test_draws_are_torchs(f):
    equal(len(cases()), 10, "seeds")
    for case in cases():
        g = create(f.d, seed=seed_of(case["seed"]))
        check(f.d, case, generator=g)
        equal(zlib.crc32(state(f.d, **g)), case["state"], f"seed {case['seed']}: state")
        f.d.call("generator.release", generators=[g["generator"]])


def test_session_set_seeds_the_default_generator(f):
    with f.daemon.connect() as a, f.daemon.connect() as b:
        equal("seed" in a.call("session.get"), False, "a seed that nobody set")
        equal(raw(a, 2) == raw(b, 2), False, "sessions that nobody seeded draw the same")
        for case in cases()[-3:]:
            equal(a.call("session.set", seed=seed_of(case["seed"]))["seed"], seed_of(case["seed"]))
            check(a, case)
            equal(zlib.crc32(state(a)), case["state"], "state of the default generator")
            equal(zlib.crc32(state(a, device="cpu")), case["state"], "of its device's")
        raises(lambda: a.call("session.set", seed="much"), "ValueError", "seed", "much")
        raises(lambda: a.call("session.set", seed=1.5), "InvalidParams", "seed")


def test_the_connections_of_a_session_share_its_default_generator(f):
    with f.daemon.connect() as a, f.daemon.connect() as b, f.daemon.connect() as other:
        b.call("server.hello", session_key=a.call("server.hello")["session_key"])
        for d in a, other:
            d.call("session.set", seed=3)
        want = raw(other, 20)
        equal(raw(a, 10) + raw(b, 10), want, "draws of two connections")


def test_a_state_round_trips(f):
    g, h = create(f.d, seed=8), create(f.d)
    f.d.op("rnd::normal_", {"data": [1.0, 2.0, 3.0]}, generator=g, returns="data")  # one is kept
    kept = f.d.call("generator.state", **g)["state"]
    equal((kept["dtype"], kept["shape"]), ("uint8", [STATE_BYTES]))
    want = draw(f.d, "normal_", "float32", [9], generator=g) + draw(f.d, "uniform", "float64", [800], generator=g)
    for again in {"tensor": kept["tensor"]}, {"dtype": "uint8", "shape": [STATE_BYTES], "attachment": state_bytes(f, kept)}:
        equal(f.d.call("generator.set_state", **h, state=again), {"seed": 8})
        got = draw(f.d, "normal_", "float32", [9], generator=h) + draw(f.d, "uniform", "float64", [800], generator=h)
        equal(got, want, "draws after a state was set")
    before = state(f.d, **h)
    for bad, type_, part in (({"dtype": "uint8", "data": [1, 2]}, "ValueError", "5056"),
                             ({"data": [1.0]}, "TypeError", "float32"), (3, "TypeError", "expected a tensor"),
                             ({"dtype": "uint8", "shape": [STATE_BYTES], "attachment": bytes(STATE_BYTES)}, "ValueError", "no state")):
        raises(lambda: f.d.call("generator.set_state", **h, state=bad), type_, part)
    equal(state(f.d, **h), before, "after states that are none")
    f.d.release(kept)
    f.d.call("generator.release", generators=[g["generator"], h["generator"]])


def state_bytes(f, descriptor):
    return f.d.call("tensor.read", tensor=descriptor["tensor"], **{"as": "attachment"})["attachment"]


def test_handles(f):
    made = f.d.call("generator.create")
    equal((made["device"], made["seed"]), ("cpu", DEFAULT_SEED))
    g = {"generator": made["generator"]}
    with f.daemon.connect() as other:
        raises(lambda: raw(other, 1, generator=g), "NotFound", "no generator", "kwargs.generator")
    raises(lambda: f.d.op("rnd::raw", g), "TypeError")
    raises(lambda: f.d.op("rnd::raw", 1, generator={"data": [1]}), "TypeError", "Generator")
    raises(lambda: f.d.call("generator.release", generators=[g["generator"], 999]), "NotFound", "generators[1]")
    equal(len(raw(f.d, 2, generator=g)), 2, "still there")
    raises(lambda: f.d.call("tensor.release", tensors=[g["generator"]]), "NotFound")
    raises(lambda: f.d.call("generator.create", device="cuda:0"), "RuntimeError", "CUDA")
    raises(lambda: f.d.call("generator.state", **g, device="cpu"), "InvalidParams", "not both")
    equal(f.d.call("generator.release", generators=[g["generator"]]), {"released": 1})
    raises(lambda: raw(f.d, 1, generator=g), "NotFound", f"no generator {g['generator']}")
    program = {"inputs": {"g": create(f.d, seed=5)}, "outputs": ["a", "b"], "return": "data", "steps": [
        {"op": "rnd::raw", "args": [2], "kwargs": {"generator": {"ref": "g"}}, "as": [n]} for n in "ab"]}
    both = [o["data"] for o in f.d.call("program.run", **program)["outputs"]]
    equal(both[0] + both[1], raw(f.d, 4, generator=create(f.d, seed=5)), "draws of a program")


def test_the_limit_of_a_session(f):
    with f.daemon.connect() as d:
        limit = d.call("server.hello")["limits"]["session_generators"]
        made = [d.call("generator.create")["generator"] for _ in range(limit)]
        equal(len(set(made)), limit)
        raises(lambda: d.call("generator.create"), "ResourceExhausted", str(limit), "session_generators")
        d.call("generator.release", generators=made[:1])
        d.call("generator.create")


def test_ranges_of_other_devices(f):
    g = create(f.d, seed=6, device="dice:0")
    equal([f.d.op("rnd::range", n, generator=g) for n in (1, 5, 4)], [[6, 0], [6, 4], [6, 12]])
    equal(state(f.d, **g), (6).to_bytes(8, "little") + (16).to_bytes(8, "little"))
    f.d.call("generator.set_state", **g, state={"dtype": "uint8", "data": [9] + [0] * 7 + [8] + [0] * 7})
    equal(f.d.op("rnd::range", 1, generator=g), [9, 8])
    f.d.call("session.set", seed=4)
    equal([f.d.op("rnd::range", n) for n in (3, 3)], [[4, 0], [4, 4]], "the default one")
    raises(lambda: raw(f.d, 1, generator=g), "RuntimeError", "expected a generator of cpu but got one of dice:0")
    raises(lambda: f.d.op("rnd::range", 1, generator=create(f.d)), "RuntimeError", "dice:0", "cpu")


def test_kernels_that_draw_wrongly(f):
    g = create(f.d, seed=1)
    raises(lambda: f.d.op("rnd::draws_without"), "RuntimeError", "no generator is held")
    raises(lambda: f.d.op("rnd::holds_two", generator=g), "RuntimeError", "already")
    first = f.d.op("rnd::forgets", generator=g)
    with f.daemon.connect() as d:  # the end of the request gave it back
        d.call("server.hello", session_key=f.d.call("server.hello")["session_key"])
        equal([first] + raw(d, 2, generator=g), raw(d, 3, generator=create(d, seed=1)))
    raises(lambda: f.d.op("rnd::uniform", [2], dtype="int32"), "TypeError", "int32")
    equal(len(raw(f.d, 1)), 1, "the default one was given back")


def test_a_kernel_that_draws_for_long_keeps_only_its_session_waiting(f):
    with f.daemon.connect() as a, f.daemon.connect() as b:
        b.call("server.hello", session_key=a.call("server.hello")["session_key"])

        def draws_inline():
            before = f.d.call("server.status")["calls_inline"]
            for _ in range(100):
                b.op("rnd::raw", 1, returns="data")
            return f.d.call("server.status")["calls_inline"] - before

        # a busy machine can make a short draw look long for a while
        equal(SANITIZED or any(draws_inline() for _ in range(20)), True, "short draws run on the loop")
        with f.daemon.gate() as gate:
            a.send("op.call", op="rnd::holds", args=[gate.path])
            wait_until(lambda: running(f), "it holds the generator")
            b.send("op.call", op="rnd::raw", args=[1], **{"return": "data"})
            b.send("session.set", seed=1)
            f.d.call("session.get")
            equal(running(f), ["rnd::holds"], "what runs while others are answered")
        equal(a.receive()["outputs"], [1])
        equal(len(b.receive()["outputs"][0]["data"]), 1)
        equal(b.receive()["seed"], 1)


def running(f):
    return [r["op"] for r in f.d.call("server.status")["running"] if r["op"] == "rnd::holds"]


def test_two_threads_of_a_session_use_each_draw_once(f):
    calls, n, got, keys = 40, 1000, [[], []], []
    with f.daemon.connect() as first:
        keys.append(first.call("server.hello")["session_key"])
        g = create(first, seed=99)

        def client(mine):
            with f.daemon.connect() as d:
                d.call("server.hello", session_key=keys[0])
                for _ in range(calls):
                    mine.append(raw(d, n, generator=g))

        threads = [threading.Thread(target=client, args=(mine,)) for mine in got]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        want = raw(first, 2 * calls * n, generator=create(first, seed=99))
        pieces = {tuple(want[i:i + n]) for i in range(0, len(want), n)}
        equal(set(map(tuple, got[0] + got[1])) == pieces, True, "each call's draws are a piece of the stream")
        contains(str(first.call("generator.state", **g)["state"]["shape"]), str(STATE_BYTES))
        first.call("tensor.release", all=True)


def test_a_generator_of_an_unloaded_backend(f):
    g = create(f.d, device="dice:0")
    f.d.call("plugin.unload", plugin="random_kernel")
    raises(lambda: f.d.call("generator.create", device="dice:0"), "RuntimeError", "dice")
    f.d.call("plugin.load", path="random_kernel")
    raises(lambda: f.d.op("rnd::range", 1, generator=g), "RuntimeError", "unloaded")
    equal(f.d.op("rnd::range", 1)[1], 0, "the default one is made anew")


main(Fixture, finish)
