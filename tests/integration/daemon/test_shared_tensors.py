"""test_shared_tensors.py -- connections of one session that use one tensor at the same time: some give
it a shape, as an output, while others read it.  Its elements are theirs to agree on; the daemon's
memory is not."""

import array
import os

from harness import BUILD, SANITIZED, contains, equal, less, main, raises
from daemon import TestDaemon
import dispatchd

SHAPE = [64, 129]
ELEMENTS = SHAPE[0] * SHAPE[1]
ROUNDS = 100 if SANITIZED else 400
# Elements that one connection writes while another reads them are a race, and no fault of the daemon's.
RACES_ARE_REPORTED = "thread" in os.environ.get("SANITIZE", "") + os.path.basename(BUILD)
THIS = object()  # where the tensor stands among the arguments
# What is asked, and the shapes to be seen: before, after.
LOOKS = [("tensor.describe", {}, [0], SHAPE),
         ("op.call", {"op": "aten::t", "args": [THIS]}, [0], SHAPE[::-1]),
         ("op.call", {"op": "aten::reshape", "args": [THIS, [-1]]}, [0], [ELEMENTS])]
READS = [("tensor.read", {"as": "attachment"}, [0], SHAPE),
         ("op.call", {"op": "aten::sum", "args": [THIS]}, [], []),
         ("op.call", {"op": "aten::add.Tensor", "args": [THIS, THIS]}, [0], SHAPE),
         ("tensor.read", {"as": "json"}, [0], SHAPE)]


def setup():
    return TestDaemon("--workers", "4")


def teardown(daemon):
    daemon.finish()


def connections(daemon, n):
    """n connections of one session."""
    all_ = [daemon.connect() for _ in range(n)]
    key = all_[0].call("server.hello")["session_key"]
    for d in all_[1:]:
        d.call("server.hello", session_key=key)
    return all_


def receive(d):
    """A result, or the Error that came instead."""
    try:
        return d.receive()
    except dispatchd.Error as e:
        return e


def send_look(d, look, t):
    method, params = look[:2]
    if method == "op.call":
        d.send(method, op=params["op"], args=[{"tensor": t} if a is THIS else a for a in params["args"]])
    else:
        d.send(method, **params, tensor=t)


def check_look(look, result):
    """What was seen is of one shape: the one before, or the one after."""
    method, params, *shapes = look
    what = f"{method} {params.get('op', params)}"
    if isinstance(result, dispatchd.Error):
        raise AssertionError(f"{what}: {result}")
    seen = result["outputs"][0] if method == "op.call" else result
    contains(shapes, seen["shape"], what)
    if "attachment" in seen:
        equal(len(seen["attachment"]), 4 * ELEMENTS * (seen["shape"] == SHAPE), "bytes")
    if "data" in seen:
        equal([len(row) for row in seen["data"]], SHAPE[1:] * SHAPE[0] if seen["data"] else [], what)
        equal(bool(seen["data"]), seen["shape"] == SHAPE, "are there rows?")


def check_writer(result, shape, what):
    """It gave the tensor its shape, found the shape given already, or says that it came too late."""
    if isinstance(result, dispatchd.Error):
        equal(result.type, "RuntimeError", what)
        contains(result.message, "was given another one by another call", what)
    else:
        equal(result["outputs"][0]["shape"], shape, what)


def test_one_gives_the_shape_while_others_read(daemon):
    looks = LOOKS if RACES_ARE_REPORTED else LOOKS + READS
    writer, a, b = connections(daemon, 3)
    x = writer.op("aten::ones", SHAPE)
    for i in range(ROUNDS):
        out = writer.op("aten::empty.memory_format", [0])["tensor"]
        k, l = looks[i % len(looks)], looks[i // len(looks) % len(looks)]
        send_look(a, k, out)
        writer.send("op.call", op="aten::add.out", args=[{"tensor": x["tensor"]}] * 2,
                    kwargs={"out": {"tensor": out}})
        send_look(b, l, out)
        check_look(k, receive(a))
        check_look(l, receive(b))
        check_writer(receive(writer), SHAPE, "add.out")
        data = writer.call("tensor.read", **{"tensor": out, "as": "attachment"})["attachment"]
        equal(set(array.array("f", data)), {2.0}, "what add.out wrote")
        writer.call("tensor.release", all=True)
        x = writer.op("aten::ones", SHAPE)
    writer.call("tensor.release", all=True)
    for d in (writer, a, b):
        d.close()


def test_two_give_the_shape_at_once(daemon):
    """Two shapes: one of them stays, and it is all of one piece."""
    a, b, reader = connections(daemon, 3)
    other = [3, 5]
    x, y = a.op("aten::ones", SHAPE)["tensor"], a.op("aten::ones", other)["tensor"]
    for i in range(ROUNDS):
        out = a.op("aten::empty.memory_format", [0])["tensor"]
        results = []
        for d, t in (a, x), (b, y):
            d.send("op.call", op="aten::mul.out", args=[{"tensor": t}] * 2,
                   kwargs={"out": {"tensor": out}})
            if RACES_ARE_REPORTED:  # both write the elements
                results.append(receive(d))
        reader.send("tensor.describe", tensor=out)
        contains([[0], SHAPE, other], receive(reader)["shape"])
        results = results or [receive(a), receive(b)]
        won = [r for r in results if not isinstance(r, dispatchd.Error)]
        late = [r for r in results if isinstance(r, dispatchd.Error)]
        less(0, len(won), f"answers of {results}")
        for r in late:  # they overlapped
            equal(r.type, "RuntimeError")
            contains(r.message, "by another call, since this one began")
        last = reader.call("tensor.read", **{"tensor": out, "as": "attachment"})
        final = [r for r in won if len(won) == 1 or "warnings" in r]  # the later one resized it again
        equal([last["shape"]], [r["outputs"][0]["shape"] for r in final], "the shape that stays")
        equal(set(array.array("f", last["attachment"])), {1.0}, "its elements")
        a.release(out)
    for d in (a, b, reader):
        d.close()


def test_a_tensor_released_while_calls_use_it(daemon):
    a, b = connections(daemon, 2)
    for i in range(ROUNDS):
        t = a.op("aten::ones", SHAPE)["tensor"]
        a.send("op.call", op="aten::sum", args=[{"tensor": t}])
        b.send("tensor.release", tensors=[t])
        result = receive(a)
        if isinstance(result, dispatchd.Error):
            equal(result.type, "NotFound", result.message)
        equal(receive(b)["released"], 1)
        a.call("tensor.release", all=True)
    for d in (a, b):
        d.close()


def test_one_tensor_changes_its_shape_without_end(daemon):
    """Only what a running call saw is kept, so many at most."""
    with daemon.connect() as d, daemon.connect() as other:
        d.call("plugin.load", path=f"{BUILD}/tests/plugins/sleeps.so")
        out = d.op("aten::empty.memory_format", [0, 1])["tensor"]
        x = [d.op("aten::empty.memory_format", [0, n])["tensor"] for n in (1, 2)]


        def change(times):
            """Those that failed."""
            for n in range(times):
                d.send("op.call", op="aten::neg.out", args=[{"tensor": x[(n + 1) % 2]}],
                       kwargs={"out": {"tensor": out}})
            return [r for r in [receive(d) for _ in range(times)] if isinstance(r, dispatchd.Error)]

        equal(change(2000), [])
        mine = other.op("aten::empty.memory_format", [1])["tensor"]
        with daemon.gate() as gate:
            other.send("op.call", op="sleeps::until", args=[{"tensor": mine}, gate.path])
            while not d.call("server.status")["running"]:
                pass
            failed = change(200)
        equal(len(failed) > 0, True, "some shape is one too many")
        contains(failed[0].message, "DP_LIMIT_RESIZES")
        other.receive()
        equal(change(200), [])
        d.call("tensor.release", all=True)


def test_what_tells_where_elements_lie_may_change_meanwhile(daemon):
    """Masks and indices that were counted or checked are written before they are used."""
    if RACES_ARE_REPORTED:
        return
    n, names = 60000, {}
    calls = [("masked_select", ["x", "mask"]), ("masked_scatter_", ["x", "mask", "few"]), ("nonzero", ["mask"]),
             ("index.Tensor", ["x", ["mask"]]), ("put_", ["few", "index", "x"]), ("take", ["few", "index"]),
             ("index.Tensor", ["few", ["index"]]), ("index_put_", ["few", ["index"], "x"]),
             ("gather", ["few", 0, "index"]), ("index_select", ["few", 0, "index"]), ("embedding", ["rows", "index"]),
             ("repeat_interleave.Tensor", ["index"])]
    d, flips, other = connections(daemon, 3)
    with d, flips, other:
        for name, dtype, shape in [("x", "float32", [n]), ("few", "float32", [4]), ("rows", "float32", [4, 2]),
                                   ("index", "int64", [n]), ("mask", "bool", [n])]:
            names[name] = {"tensor": d.op("aten::zeros", shape, dtype=dtype)["tensor"]}
        put = lambda a: [put(v) for v in a] if isinstance(a, list) else names.get(a, a)
        for op, args in calls:
            for _ in range(10):
                for c in flips, other:
                    for value in [1, 3 if op.startswith("repeat") else 1 << 40, 0] * 10:
                        c.send("op.call", op="aten::fill_.Scalar", args=[names["index"], value])
                        c.send("op.call", op="aten::fill_.Scalar", args=[names["mask"], value != 0])
                for _ in range(20):
                    d.send("op.call", op="aten::" + op, args=put(args))
                answers = [receive(d) for _ in range(20)]
                made = {a["outputs"][0]["tensor"] for a in answers if isinstance(a, dict)}
                d.release(*made - {v["tensor"] for v in names.values()})
                for c in flips, other:
                    for _ in range(60):
                        c.receive()
        d.call("tensor.release", tensors=[], all=True)


def test_put_and_masked_scatter_want_one_device(daemon):
    with daemon.connect() as d:
        x, i, m = {"data": [1, 2]}, {"dtype": "int64", "data": [0, 1]}, {"dtype": "bool", "data": [True, True]}
        far = {"shape": [2], "device": "meta"}
        for op, args in [("put", [far, i, x]), ("put", [x, i, far]), ("masked_scatter", [x, m, far])]:
            raises(lambda: d.op("aten::" + op, *args), "RuntimeError", "on the same device")


if __name__ == "__main__":
    main(setup, teardown)
