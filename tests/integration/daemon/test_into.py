"""test_into.py -- handles that the client chooses (param "into"): chains of calls that are sent without waiting,
what becomes of them when a call fails, and failures of notifications (session.sync)."""

import json

from harness import BUILD, contains, equal, main, raises, wait_until
from daemon import TestDaemon
import dispatchd

CHAIN = 64


def setup():
    return TestDaemon("--plugin", BUILD + "/tests/plugins/sleeps.so", "--plugin", BUILD + "/tests/plugins/stubborn.so",
                      "--plugin", BUILD + "/tests/plugins/packed.so")


def teardown(daemon):
    daemon.finish()


def t(handle):
    return {"tensor": handle}


def request(id_, method, **params):
    """id_ None: a notification."""
    return {"jsonrpc": "2.0", **({} if id_ is None else {"id": id_}), "method": method, "params": params}


def add(id_, a, into, b=1, **params):
    return request(id_, "op.call", op="aten::add.Tensor", args=[t(a), b], into=into, **params)


def send(d, *messages):
    """Send them in one write and return the answers to those that have an id, by id."""
    d.send_bytes(b"".join(json.dumps(m).encode() + b"\n" for m in messages))
    answers = [d.receive_message() for m in messages if "id" in m]
    equal([a["id"] for a in answers], [m["id"] for m in messages if "id" in m], "order of the answers")
    return {a["id"]: a for a in answers}


def chain(n=CHAIN):
    return [request(0, "tensor.create", data=[0, 10], into=-1), *(add(i, -i, [-i - 1]) for i in range(1, n + 1))]


def error(answer, type_, *parts):
    equal(answer.get("error", {}).get("data", {}).get("type"), type_, f"type of {answer}")
    for part in parts:
        contains(answer["error"]["message"], part)
    return answer["error"]


def release_all(d):
    d.call("tensor.release", all=True)


def tensors(d):
    return [x["tensor"] for x in d.call("tensor.list")["tensors"]]


def usage(d):
    return d.call("session.get")["account"]["tensors"]["count"]


def test_a_chain_is_sent_without_waiting(daemon):
    with daemon.connect() as d:
        answers = send(d, *chain(), request("read", "tensor.read", tensor=-CHAIN - 1))
        equal(answers["read"]["result"]["data"], [CHAIN, CHAIN + 10])
        equal(answers[3]["result"]["outputs"][0]["tensor"], -4)
        equal(tensors(d), [-i for i in range(1, CHAIN + 2)], "tensor.list")
        equal(usage(d), CHAIN + 1, "handles that the session is charged for")
        equal(d.call("tensor.describe", tensor=-3)["tensor"], -3)
        equal(d.call("tensor.release", tensors=[-i for i in range(1, CHAIN + 2)]), {"released": CHAIN + 1})
        equal(usage(d), 0, "after the release")
        equal(d.op("aten::neg", {"data": [1.0]}, into=-1)["tensor"], -1, "the number is free again")


def test_a_failure_in_the_middle_fails_the_rest(daemon):
    with daemon.connect() as d:
        messages = chain()
        messages[CHAIN // 2] = add(CHAIN // 2, -CHAIN // 2, [-CHAIN // 2 - 1], {"data": [1, 2, 3]})
        answers = send(d, *messages)
        equal([i for i, a in answers.items() if "error" in a], list(range(CHAIN // 2, CHAIN + 1)), "the failed ones")
        first = error(answers[CHAIN // 2], "RuntimeError", "must match the size")
        equal("cause" in first["data"], False, "has the first error a cause")
        for i in range(CHAIN // 2 + 1, CHAIN + 1):
            e = answers[i]["error"]
            equal(e["data"].pop("cause"), {"tensor": -i, "method": "op.call", "id": CHAIN // 2})
            equal(e, first, "the error itself")
        equal(usage(d), CHAIN // 2, "failed handles are not charged")
        equal(len(tensors(d)), CHAIN // 2, "failed handles are not listed")
        raises(lambda: d.op("aten::neg", {"data": [1]}, into=[-CHAIN]), "AlreadyExists",
               f"into[0]: handle {-CHAIN} has failed and was not released")
        equal(d.call("tensor.release", tensors=[-CHAIN, -1]), {"released": 2})
        raises(lambda: d.call("tensor.read", tensor=-CHAIN), "NotFound", f"tensor: no tensor {-CHAIN} in this session")
        equal(d.op("aten::neg", {"data": [1.0]}, into=[-CHAIN])["tensor"], -CHAIN)
        equal(d.call("tensor.release", all=True), {"released": CHAIN})


def test_every_use_of_a_failed_handle_has_its_error(daemon):
    with daemon.connect() as d:
        raises(lambda: d.call("op.call", op="aten::no_such", into=[-5]), "NotFound", "no_such")
        uses = {
            "tensor.read": dict(tensor=-5), "tensor.describe": dict(tensor=-5), "grad.get": dict(tensor=-5),
            "grad.zero": dict(tensors=[-5]), "grad.graph": dict(tensors=[-5]), "grad.set": dict(tensor=-5, grad=None),
            "op.call": dict(op="aten::cat", args=[[t(-5)]]),
            "program.run": dict(inputs={"x": t(-5)}, steps=[{"op": "aten::neg", "args": [{"ref": "x"}], "as": ["y"]}],
                                outputs=["y"]),
        }
        for method, params in uses.items():
            e = raises(lambda: d.call(method, **params), "NotFound", "no_such")
            equal(e.data["cause"], {"tensor": -5, "method": "op.call", "id": 1}, method)


def test_params_that_do_not_fit_fail_their_handles(daemon):
    with daemon.connect() as d:
        answers = send(d, request("a", "op.call", op=5, into=[-1, [-2]]), request("b", "tensor.read", tensor=-2),
                       {**request("c", "op.call", op="aten::neg", into=-3), "extra": 1},
                       request("d", "tensor.read", tensor=-3))
        equal(answers["a"]["error"]["code"], -32602)
        e = error(answers["b"], "ValueError", "op: expected string but got 5")
        equal(e["data"]["cause"], {"tensor": -2, "method": "op.call", "id": "a"})
        equal(answers["c"]["error"]["code"], -32600)
        error(answers["d"], "ValueError", "unknown member 'extra'")


def test_a_number_that_is_taken(daemon):
    with daemon.connect() as d:
        d.call("tensor.create", data=[7], into=-1)
        raises(lambda: d.call("tensor.create", data=[8], into=[-1]), "AlreadyExists",
               "into[0]: handle -1 names a tensor that was not released")
        equal(d.call("tensor.read", tensor=-1)["data"], [7], "the tensor is still there")
        e = raises(lambda: d.op("aten::sort", {"data": [2.0, 1.0]}, into=[-2, -2]), "AlreadyExists",
                   "into[1]: handle -2 is given to two outputs")
        raises(lambda: d.call("tensor.read", tensor=-2), "AlreadyExists", e.message)
        raises(lambda: d.op("aten::sort", {"data": [2.0, 1.0]}, into=[-3, -1]), "AlreadyExists", "into[1]")
        raises(lambda: d.call("tensor.read", tensor=-3), "AlreadyExists", "handle -1 names a tensor")
        equal(tensors(d), [-1])


def test_methods(daemon):
    """Each method that takes `into`, and each kind of output."""
    with daemon.connect() as d:
        values, indices = d.op("aten::sort", {"data": [2.0, 1.0]}, into=[-1, None])
        equal(values["tensor"], -1)
        equal(indices["tensor"] > 0, True, "a handle of the daemon")
        pieces = d.op("aten::split.Tensor", t(-1), 1, into=[[-2, None]])
        equal([pieces[0]["tensor"], pieces[1]["tensor"] > 0], [-2, True])
        equal(d.call("tensor.describe", tensor=-2)["base"], -1)
        steps = [{"op": "aten::add.Tensor", "args": [{"ref": "x"}, 1], "as": ["y"]},
                 {"op": "aten::split.Tensor", "args": [{"ref": "y"}, 1], "as": ["z"]},
                 {"op": "aten::mul.Tensor", "args": [{"ref": "y"}, 2], "as": ["w"]}]
        run = {"steps": steps, "outputs": ["y", "z", "w"], "inputs": {"x": t(-1)}}
        y, z, w = d.call("program.run", **run, into=[-10, [-11, -12], None])["outputs"]
        equal([y["tensor"], z[0]["tensor"], z[1]["tensor"], w["tensor"] > 0], [-10, -11, -12, True])
        equal(d.call("tensor.read", tensor=-12)["data"], [3])
        equal(d.call("tensor.create", data=[1], into=-20)["tensor"], -20)
        raises(lambda: d.call("tensor.create", data=[[1], 2], into=-21), "ValueError")
        raises(lambda: d.call("tensor.read", tensor=-21), "ValueError")
        equal(d.call("grad.zero", tensors=[-1, -2]), {"zeroed": 0})


def test_outputs_that_are_no_tensors(daemon):
    with daemon.connect() as d:
        weight = d.op("packed::prepack", {"data": [1.0, 2.0]})
        raises(lambda: d.op("packed::prepack", {"data": [1.0]}, into=[-1]), "ValueError",
               "into[0]: the output is no tensor and gets no handle of its client: expected null but got number")
        d.call("object.release", objects=[weight["object"]])
        x = {"data": [[[1.0, 2.0]]]}
        grads = d.op("aten::convolution_backward", x, x, {"data": [[[1.0]]]}, None, [1], [0], [1], False, [0], 1,
                     [True, False, True], into=[-2, -3, None])
        equal([grads[0]["tensor"], grads[1]], [-2, None])
        raises(lambda: d.call("tensor.read", tensor=-3), "NotFound", "no tensor -3 in this session")
        equal(d.call("tensor.create", data=[1], into=-3)["tensor"], -3, "a null output leaves its number free")


def test_what_into_must_be(daemon):
    with daemon.connect() as d:
        x = {"data": [1.0, 2.0]}
        own = d.call("tensor.create", data=[1.0])["tensor"]

        def refused(type_, text, op, *args, **params):
            raises(lambda: d.call("op.call", op=op, args=list(args), **params), type_, text)

        refused("InvalidParams", "into[0]: expected a handle below 0, null or an array but got 3", "aten::neg", x, into=[3])
        refused("InvalidParams", "into: expected a handle below 0, null or an array but got 0", "aten::neg", x, into=0)
        refused("InvalidParams", "into[0]: expected null or integer or array but got string", "aten::neg", x, into=["a"])
        for how in "data", "attachment":
            refused("InvalidParams", f"into: return is '{how}'", "aten::neg", x, into=[-1], **{"return": how})
            release_failed(d, -1)
        refused("ValueError", "into: 2 entries, but aten::neg has 1 output", "aten::neg", x, into=[-1, -2])
        refused("ValueError", "into: 1 entry, but aten::sort has 2 outputs", "aten::sort", x, into=[-3])
        refused("ValueError", "into[0]: the output is one tensor: expected a number below 0 or null", "aten::neg", x,
                into=[[-4]])
        refused("ValueError", "into[0]: the output is a list: expected an array", "aten::split.Tensor", x, 1, into=[-5])
        refused("ValueError", "into[0]: 1 entries, but the output is a list of 2", "aten::split.Tensor", x, 1,
                into=[[-6]])
        refused("ValueError", "into[0]: the output is no tensor", "aten::item", {"data": [1.0]}, into=[-7])
        refused("ValueError", f"into[0]: aten::add_.Tensor answers the handle {own} of the argument that it writes",
                "aten::add_.Tensor", t(own), 1, into=[-8])
        equal(d.call("tensor.read", tensor=own)["data"], [1], "what was refused has written nothing")
        equal(d.op("aten::add_.Tensor", t(own), 1, into=[None])["tensor"], own)
        run = dict(steps=[{"op": "aten::add_.Tensor", "args": [{"ref": "x"}, 1], "as": ["y"]}], outputs=["y"],
                   inputs={"x": t(own)})
        raises(lambda: d.call("program.run", **run, into=[-9]), "ValueError",
               f"into[0]: the program answers the handle {own} of the input that it writes")
        equal(d.call("tensor.read", tensor=own)["data"], [2], "what was refused has written nothing")
        raises(lambda: d.call("program.run", **run, into=[-10, -11]), "ValueError",
               "into: 2 entries, but the program has 1 output")
        equal(d.call("program.run", **run, into=[None])["outputs"][0]["tensor"], own)
        equal(tensors(d), [own])
        equal(usage(d), 1, "handles that the session is charged for")


def release_failed(d, handle):
    equal(d.call("tensor.release", tensors=[handle]), {"released": 1}, f"handle {handle}")


def test_notifications(daemon):
    with daemon.connect() as d:
        answers = send(d, request(None, "tensor.create", data=[1], into=-1), add(None, -1, -2), add(None, -2, [-3]),
                       request(None, "program.run", steps=[{"op": "aten::neg", "args": [{"ref": "x"}], "as": ["y"]}],
                               outputs=["y"], inputs={"x": t(-3)}, into=-4),
                       request(None, "tensor.release", tensors=[-1, -2, -3]), request("s", "session.sync"),
                       request("r", "tensor.read", tensor=-4))
        equal(answers["s"]["result"], {"failed": [], "dropped": 0})
        equal(answers["r"]["result"]["data"], [-3])
        equal(tensors(d), [-4])
        answers = send(d, add(None, -9, [-10]), add(None, -10, -11), request(None, "op.call", op=5, into=[[-12]]),
                       request(None, "tensor.release", tensors=[77]), request(None, "tensor.creat"),
                       request(None, "tensor.create", data=[], into=-4), request("s", "session.sync"),
                       request("again", "session.sync"))
        unknown = "args[0].tensor: no tensor -9 in this session"
        equal(answers["s"]["result"], {"failed": [
            {"type": "NotFound", "message": unknown, "op": "aten::add.Tensor", "into": [-10]},
            {"type": "NotFound", "message": unknown, "op": "aten::add.Tensor", "into": -11},
            {"type": "ValueError", "message": "op: expected string but got 5", "op": None, "into": [[-12]]},
            {"type": "NotFound", "message": "tensors[0]: no tensor 77 in this session", "op": None, "into": None},
            {"type": "NotFound", "message": "no method 'tensor.creat', did you mean 'tensor.create'?", "op": None,
             "into": None},
            {"type": "AlreadyExists", "message": "into: handle -4 names a tensor that was not released", "op": None,
             "into": -4}], "dropped": 0})
        equal(answers["again"]["result"], {"failed": [], "dropped": 0})
        e = raises(lambda: d.call("tensor.read", tensor=-11), "NotFound", unknown)
        equal(e.data["cause"], {"tensor": -11, "method": "op.call", "id": None})


def test_sync_answers_the_first_failures_and_counts_the_others(daemon):
    with daemon.connect() as d, daemon.connect() as other:
        most = d.call("server.hello")["limits"]["sync_failed"]
        long = [-i for i in range(1, 2000)]
        answers = send(d, *(request(None, "op.call", op=f"no::such{i}", into=long) for i in range(most + 5)),
                       request("s", "session.sync"))["s"]["result"]
        equal([f["op"] for f in answers["failed"]], [f"no::such{i}" for i in range(most)])
        equal(answers["dropped"], 5)
        into = answers["failed"][0]["into"]
        equal(into, long[:len(into)], "the beginning of a long `into`")
        equal(other.call("session.sync"), {"failed": [], "dropped": 0}, "of another connection")


def test_batch(daemon):
    with daemon.connect() as d:
        d.send_message([request(1, "tensor.create", data=[1], into=-1), add(2, -1, -2), add(None, -2, -3),
                        add(3, -1, -2), add(None, -99, -4), request(4, "session.sync")])
        answers = {a["id"]: a for a in d.receive_message()}
        equal(answers[2]["result"]["outputs"][0]["tensor"], -2)
        error(answers[3], "AlreadyExists", "handle -2")
        equal([f["into"] for f in answers[4]["result"]["failed"]], [-4])
        equal(tensors(d), [-1, -2, -3])


def test_cancelled_requests_fail_their_handles(daemon):
    with daemon.connect() as d, daemon.gate() as gate:
        x = d.call("tensor.create", data=[1.0])["tensor"]
        until = lambda id_, into: request(id_, "op.call", op="sleeps::until", args=[t(x), gate.path], into=into)
        d.send_bytes(b"".join(json.dumps(m).encode() + b"\n" for m in (
            until(1, -1), add("waits", -1, -2), add(2, -2, -3), request("cancel", "call.cancel", id="waits"))))
        with daemon.connect() as other:
            wait_until(lambda: other.call("server.status")["running"], "the call runs")
        gate.open()
        answers = {a["id"]: a for a in (d.receive_message() for _ in range(4))}
        equal(answers[1]["result"]["outputs"][0]["tensor"], -1)
        error(answers["waits"], "Cancelled")
        equal(error(answers[2], "Cancelled")["data"]["cause"], {"tensor": -2, "method": "op.call", "id": "waits"})
        raises(lambda: d.call("tensor.read", tensor=-3), "Cancelled")


def test_deadlines_fail_handles(daemon):
    """Of a request that waits, and of a kernel that does not stop: its result is dropped."""
    with daemon.connect() as d, daemon.gate() as gate:
        d.call("tensor.create", data=[1.0], into=-1)
        waits = add("late", -1, -3, deadline_ms=0)
        answers = send(d, request("held", "op.call", op="stubborn::hold", args=[{"data": [1.0]}, gate.path], into=-2,
                                  deadline_ms=100),
                       waits, request("a", "tensor.read", tensor=-2), request("b", "tensor.read", tensor=-3),
                       add("c", -2, -4))
        error(answers["held"], "DeadlineExceeded", "still runs")
        error(answers["late"], "DeadlineExceeded", "deadline_ms is 0")
        for id_, cause in ("a", "held"), ("b", "late"), ("c", "held"):
            e = error(answers[id_], "DeadlineExceeded")
            equal(e["data"]["cause"]["id"], cause)
        gate.open()
        wait_until(lambda: not d.call("server.status")["stuck"], "the kernel has ended")
        raises(lambda: d.call("tensor.read", tensor=-2), "DeadlineExceeded")
        equal(d.call("tensor.release", tensors=[-2, -3, -4]), {"released": 3})
        equal(usage(d), 1, "handles that the session is charged for")
        notified = request(None, "op.call", op="aten::neg", args=[t(-1)], into=-5, deadline_ms=0)
        failed = send(d, notified, request("s", "session.sync"))["s"]["result"]["failed"]
        equal([(f["type"], f["into"]) for f in failed], [("DeadlineExceeded", -5)])


def test_other_connections_of_the_session(daemon):
    with daemon.connect() as d, daemon.connect() as other, daemon.gate() as gate:
        other.call("server.hello", session_key=d.call("server.hello")["session_key"])
        d.send("op.call", op="sleeps::until", args=[{"data": [1.0]}, gate.path], into=-1)
        wait_until(lambda: other.call("server.status")["running"], "the call runs")
        raises(lambda: other.call("tensor.read", tensor=-1), "NotFound", "no tensor -1 in this session")
        raises(lambda: other.call("tensor.release", tensors=[-1]), "NotFound")
        raises(lambda: other.call("tensor.create", data=[1], into=-1), "AlreadyExists",
               "handle -1 is reserved by a request that runs")
        gate.open()
        equal(d.receive()["outputs"][0]["tensor"], -1)
        equal(other.call("tensor.read", tensor=-1)["data"], [1])
        equal(other.call("tensor.release", tensors=[-1]), {"released": 1})


def test_a_client_that_leaves(daemon):
    """What it has sent and nobody ran: another connection of the session finds the handles failed."""
    with daemon.connect() as other, daemon.gate() as gate:
        d = daemon.connect()
        d.call("server.hello", session_key=other.call("server.hello")["session_key"])
        d.send("op.call", op="sleeps::until", args=[{"data": [1.0]}, gate.path], into=-1)
        wait_until(lambda: other.call("server.status")["running"], "the call runs")
        d.send("op.call", op="aten::neg", args=[t(-1)], into=-2)
        d.send("tensor.create", data=[1], into=-3)
        d.send_message([add(1, -1, -4), add(2, -1, -5)])
        d.send("tensor.create", data=[0] * 5000, into=-6)
        wait_until(lambda: other.call("server.status")["connections"] == 2, "both are there")
        d.close()
        for handle in (-2, -3, -4, -5, -6):
            def failed():
                try:
                    other.call("tensor.read", tensor=handle)
                except dispatchd.Error as e:
                    return e.type == "Cancelled"
            wait_until(failed, f"handle {handle} has failed")
        gate.open()
        release_all(other)


def test_failed_handles_are_limited(daemon):
    with daemon.connect() as d:
        most = d.call("server.hello")["limits"]["session_failed"]
        for first in range(0, most + 10, 100):
            into = [-1 - i for i in range(first, min(first + 100, most + 10))]
            raises(lambda: d.call("op.call", op="no::such", into=into), "NotFound")
        raises(lambda: d.call("tensor.read", tensor=-10), "NotFound", "no tensor -10 in this session")
        raises(lambda: d.call("tensor.read", tensor=-11), "NotFound", "no::such")
        equal(d.call("tensor.release", all=True), {"released": most})


def test_handles_are_charged(daemon):
    """Numbers over the limit of the session are refused before the operator runs."""
    with TestDaemon("--session-bytes", str(1 << 20)) as small, small.connect() as d:
        zeros = {"op": "aten::zeros", "args": [[3 << 18]], "kwargs": {"dtype": "uint8"}}
        equal(d.call("op.call", **zeros, into=-3)["outputs"][0]["tensor"], -3)
        raises(lambda: d.call("op.call", **zeros, into=-1), "ResourceExhausted", "session_tensor_bytes")
        raises(lambda: d.call("tensor.read", tensor=-1), "ResourceExhausted")
        equal(d.call("tensor.create", data=[0], into=-2)["tensor"], -2)
        equal(usage(d), 2)
        release_all(d)
        equal(usage(d), 0)


def test_many_handles(daemon):
    with daemon.connect() as d:
        n, sent = 20_000, 500
        for first in range(0, n, sent):
            send(d, *(request(i, "tensor.create", data=1, into=-1 - i * 1024) for i in range(first, first + sent)))
        equal(d.call("tensor.read", tensor=-1 - 777 * 1024)["data"], 1)
        equal(usage(d), n)
        equal(d.call("tensor.release", all=True), {"released": n})


def test_answers_that_fail_leave_failed_handles(daemon):
    """An output that gets no handle, because the kernel answered an object, after one that has."""
    with daemon.connect() as d:
        raises(lambda: d.op("aten::split.Tensor", {"data": [1.0, 2.0, 3.0]}, 1, into=[[-1, -2]]), "ValueError")
        raises(lambda: d.call("tensor.read", tensor=-1), "ValueError", "2 entries, but the output is a list of 3")
        equal(usage(d), 0)


if __name__ == "__main__":
    main(setup, teardown)
