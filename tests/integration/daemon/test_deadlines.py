"""test_deadlines.py -- a kernel that does not end is answered for at its deadline, and harms nobody else."""

import contextlib
import os
import resource
import shutil
import signal
import threading
import time

from harness import BUILD, SANITIZED, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon
import dispatchd

DEADLINE_MS = 300  # long enough for a busy machine to begin a call
SLACK = 60 if SANITIZED else 20  # a busy machine answers late; what is not answered is not answered at all


class Fixture:
    def __init__(self, *options, **how):
        self.daemon = TestDaemon("--plugin", BUILD + "/tests/plugins/stubborn.so", *options, **how)

    def connect(self):
        return self.daemon.connect()

    @contextlib.contextmanager
    def gate(self):
        """What kernels wait for.  None of them outlives its block, whatever fails in it."""
        try:
            with self.daemon.gate() as gate:
                yield gate
        finally:
            with self.connect() as d:
                self.ended(d)

    def ended(self, d):
        wait_until(lambda: not d.call("server.status")["stuck"], "no worker is stuck")


def setup():
    return Fixture()


def teardown(f):
    f.daemon.finish()


def tensor(d, *data):
    return {"tensor": d.call("tensor.create", data=list(data) or [1.0, 2.0])["tensor"]}


def elements(d, t):
    return d.call("tensor.read", **t)["data"]


def calls(f):
    """How many calls of clients run.  A session of its own asks: the question may need a worker, too."""
    with f.connect() as d:
        return sum(r["depth"] == 0 for r in d.call("server.status")["running"])


def hold(d, op, t, gate, ms=DEADLINE_MS, **kwargs):
    """Call it with a deadline and return the error; it runs on."""
    begin = time.monotonic()
    fault = raises(lambda: d.call("op.call", op="stubborn::" + op, args=[t, gate.path], kwargs=kwargs,
                                  deadline_ms=ms), "DeadlineExceeded")
    less(time.monotonic() - begin, ms / 1000 + 0.05 * SLACK, "seconds until it was answered")
    return fault


def test_deadline_is_answered_while_the_kernel_runs(f):
    with f.connect() as d, f.gate() as gate:
        t = tensor(d)
        fault = hold(d, "hold", t, gate)
        contains(fault.message, "stubborn::hold still runs")
        equal(fault.data.get("op"), "stubborn::hold", "data.op")
        equal("written" in fault.data, False, "is data.written there")
        equal(d.op("aten::add.Tensor", {"data": [1.0]}, 1, returns="data")["data"], [2], "a call beside it")
        stuck = d.call("server.status")["stuck"]
        equal([(s["request"], s["op"], s["plugin"]) for s in stuck], [("op.call", "stubborn::hold", "stubborn")])
        contains(f.daemon.log(), "executor.stuck")
        contains(f.daemon.log(), "op='stubborn::hold' plugin='stubborn'")
        before = d.call("tensor.list")["tensors"]
        gate.open()
        f.ended(d)
        equal(d.call("tensor.list")["tensors"], before, "tensors once it has ended: its result was dropped")


def test_kernel_that_calls_operators_for_ever_ends(f):
    """diff calls others 3 * 10^9 times, each of which takes no time: none begins after the deadline."""
    with f.connect() as d:
        x = {"shape": [1 << 32], "device": "meta"}
        raises(lambda: d.call("op.call", op="aten::diff", args=[x, 3037000500], deadline_ms=100), "DeadlineExceeded")
        f.ended(d)


def test_written_names_what_may_still_change(f):
    with f.connect() as d, f.gate() as gate:
        t = tensor(d)
        equal(hold(d, "hold_", t, gate).data["written"], [t["tensor"]], "data.written")
        gate.open()
        equal(elements(d, t), [7, 7], "elements, read when it has ended")


def test_who_shares_with_it_waits_and_others_do_not(f):
    with f.connect() as d, f.connect() as other, f.connect() as watcher, f.gate() as gate:
        other.call("server.hello", session_key=d.call("server.hello")["session_key"])
        t, free = tensor(d), tensor(d)
        view = {"tensor": d.op("aten::slice.Tensor", t, 0, 1, 2)["tensor"]}
        hold(d, "hold_", t, gate)
        for connection in d, other:  # what shares nothing
            equal(elements(connection, free), [1, 2])
        other.send("tensor.read", **t)
        d.send("tensor.read", **view)
        d.send("tensor.read", **free)  # behind one that waits
        requests = watcher.call("server.status")["requests"]
        wait_until(lambda: watcher.call("server.status")["requests"] > requests, "time goes by")
        time.sleep(0.1)
        gate.open()
        equal(other.receive()["data"], [7, 7], "what another connection of the session reads")
        equal(d.receive()["data"], [7], "what a view of it reads")
        equal(d.receive()["data"], [1, 2])


def test_generator_is_shared_too(f):
    with f.connect() as d, f.gate() as gate:
        g = {"generator": d.call("generator.create", seed=1)["generator"]}
        hold(d, "hold_drawing", {"data": [1.0]}, gate, generator=g)
        d.op("aten::rand", [2])  # the default generator is another one
        d.send("op.call", op="aten::rand.generator", args=[[2]], kwargs={"generator": g})
        opener = threading.Timer(0.1, gate.open)
        opener.start()
        begin = time.monotonic()
        d.receive()
        equal(os.path.exists(gate.path), True, "had the kernel ended")
        opener.join()


def draw(d, **more):
    return d.send("op.call", op="aten::rand", args=[[2]], **{"return": "data", **more})


def test_draws_beside_one_that_never_ends(f):
    """They wait for the session's default generator without taking its places, whether the deadline of the
    kernel that holds it has passed or not, and stop waiting when they are called off."""
    for ms in DEADLINE_MS, None:
        with contextlib.ExitStack() as stack:
            d, holder, *others = [stack.enter_context(f.connect()) for _ in range(27)]
            gate = stack.enter_context(f.gate())
            key = d.call("server.hello")["session_key"]
            for c in (holder, *others):
                c.call("server.hello", session_key=key)
            if ms:
                hold(holder, "hold_drawing", {"data": [1.0]}, gate, ms)
            else:
                holder.send("op.call", op="stubborn::hold_drawing", args=[{"data": [1.0]}, gate.path])
                wait_until(lambda: d.call("server.status")["running"], "it runs")
            *drawing, reads, seeds, sets, leaves = others
            for c in (*drawing, leaves):
                draw(c)
            reads.send("generator.state", **{"return": "data"})
            sets.send("generator.set_state", state={"dtype": "uint8", "data": [0]})
            seeds.send("session.set", seed=1)
            wait_until(lambda: calls(f) == len(drawing) + 2, "they wait")
            begin = time.monotonic()
            equal(d.op("aten::add.Tensor", {"data": [1.0] * 3000}, 1, returns="data")["data"], [2] * 3000)
            less(time.monotonic() - begin, SLACK, "seconds for a call beside them")
            begin = time.monotonic()
            draw(d, deadline_ms=100)
            raises(d.receive, "DeadlineExceeded")
            less(late(begin, 100), 0.05 * SLACK, "seconds after the deadline of one that draws")
            for c, id_ in ((drawing.pop(), 2), (reads, 2), (seeds, 2), (sets, 2)):
                c.send_message({"jsonrpc": "2.0", "method": "call.cancel", "params": {"id": id_}})
                raises(c.receive, "Cancelled", "cancelled while it waited for a generator")
            leaves.close()
            wait_until(lambda: d.call("server.status")["connections"] == 26, "one has left")
            wait_until(lambda: calls(f) == len(drawing) + 1, "its call has ended")
            equal(os.path.exists(gate.path), False, "could the kernel end")
            gate.open()
            for c in drawing:
                equal(c.receive()["outputs"][0]["shape"], [2])


def test_one_that_waits_has_a_deadline_of_its_own(f):
    with f.connect() as d, f.gate() as gate:
        t = tensor(d)
        hold(d, "hold_", t, gate)
        fault = hold(d, "hold", t, gate, 150)
        contains(fault.message, "queued for")
        equal(len(d.call("server.status")["stuck"]), 1, "stuck workers")
        gate.open()


@contextlib.contextmanager
def crowd(f, gate, n):
    """n more connections of one session, each inside a call that waits for `gate`; first one that is free."""
    with contextlib.ExitStack() as stack:
        d, *others = [stack.enter_context(f.connect()) for _ in range(n + 1)]
        key = d.call("server.hello")["session_key"]
        for c in others:
            c.call("server.hello", session_key=key)
            c.send("op.call", op="stubborn::hold", args=[{"data": [1.0]}, gate.path])
        wait_until(lambda: calls(f) == n, f"{n} calls run")
        yield d
        gate.open()


def late(begin, ms):
    """Seconds by which an answer came after its deadline."""
    return time.monotonic() - begin - ms / 1000


def test_what_waits_for_a_worker_is_answered_at_its_deadline(f):
    """However many calls its session has running; the line may be short, long or a batch."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "op.call", "params": {"op": "aten::neg", "deadline_ms": 100}}
    short = {**call, "params": {**call["params"], "args": [{"data": [1.0]}]}}
    long_ = {**call, "params": {**call["params"], "args": [{"data": [1.0] * 100_000}]}}
    with f.gate() as gate, crowd(f, gate, 16) as d:
        for what, message, answers in (("short", short, 1), ("long", long_, 1), ("batch", [short, long_, short], 3)):
            begin = time.monotonic()
            d.send_message(message)
            got = d.receive_message()
            less(late(begin, 100), 0.05 * SLACK, f"seconds after the deadline, {what}")
            errors = [a["error"] for a in (got if answers > 1 else [got])]
            equal([e["data"]["type"] for e in errors], ["DeadlineExceeded"] * answers, what)
            contains(errors[0]["message"], "queued for")
        equal(calls(f), 16, "calls that still run")


def test_pipelined_deadlines_pass_together(f):
    """Each is answered in its turn, which has come when those before it are answered."""
    with f.gate() as gate, crowd(f, gate, 16) as d:
        begin = time.monotonic()
        for _ in range(50):
            d.send("op.call", op="aten::neg", args=[{"data": [1.0]}], deadline_ms=100)
        for _ in range(50):
            raises(d.receive, "DeadlineExceeded", "queued for")
        less(late(begin, 100), 0.05 * SLACK, "seconds after the deadline of all")


def test_long_line_is_answered_when_every_thread_is_taken():
    f = Fixture("--workers", "2")
    most = 256
    with f.connect() as d, f.gate() as gate, contextlib.ExitStack() as stack:
        for _ in range(most):
            c = stack.enter_context(f.connect())
            c.send("op.call", op="stubborn::hold", args=[{"data": [1.0]}, gate.path])

        def waits(n):
            """False: a worker was free yet."""
            begin = time.monotonic()
            try:
                d.call("op.call", op="aten::neg", args=[{"data": [1.0] * n}], deadline_ms=100)
                return False
            except dispatchd.Error as e:
                equal(e.type, "DeadlineExceeded")
            less(late(begin, 100), 0.05 * SLACK, f"seconds after the deadline, with {n} numbers in the line")
            return True
        for n in 1, 1000, 1, 1000:
            wait_until(lambda: waits(n), "all workers are in calls", 60)
        gate.open()
    teardown(f)


def test_cancel_answers_what_waits(f):
    """At once, be it parked beside a stuck call or in want of a worker; the connection goes on."""
    with f.connect() as d, f.gate() as gate:
        t, free = tensor(d), tensor(d)
        hold(d, "hold_", t, gate)
        for n in range(2):  # the second time it is behind another one
            for _ in range(n):
                d.send("tensor.read", **free)
            id_ = d.send("tensor.read", **t)
            d.send("tensor.read", **free)
            time.sleep(0.1)  # by then it is parked, or else it is cancelled while it is queued
            d.send_message({"jsonrpc": "2.0", "method": "call.cancel", "params": {"id": id_}})
            for _ in range(n):
                equal(d.receive()["data"], [1, 2])
            raises(d.receive, "Cancelled", "cancelled before it ran")
            equal(d.receive()["data"], [1, 2], "behind it")
        equal(len(d.call("server.status")["stuck"]), 1, "stuck workers")
    with f.gate() as gate, crowd(f, gate, 16) as d:
        ids = [d.send("op.call", op="aten::neg", args=[{"data": [1.0] * n}]) for n in (1, 1000, 1)]
        for id_ in ids:
            d.send_message({"jsonrpc": "2.0", "method": "call.cancel", "params": {"id": id_}})
        for _ in ids:
            raises(d.receive, "Cancelled", "cancelled before it ran")
        equal(calls(f), 16, "calls that still run")


def test_program(f):
    with f.connect() as d, f.gate() as gate:
        t, free = tensor(d), tensor(d)
        program = {"steps": [{"op": "aten::add.Tensor", "args": [{"ref": "y"}, 1], "as": ["z"]},
                             {"op": "stubborn::hold_", "args": [{"ref": "x"}, gate.path], "as": ["w"]}],
                   "outputs": ["z"], "inputs": {"x": t, "y": free}}
        fault = raises(lambda: d.call("program.run", deadline_ms=DEADLINE_MS, **program), "DeadlineExceeded")
        contains(fault.message, "the program still runs")
        equal(fault.data["written"], [t["tensor"]], "data.written")
        equal(fault.data["step"], 1, "data.step")
        gate.open()
        equal(elements(d, t), [7, 7])


def test_batch_goes_on(f):
    def call(id_, op, *args, **params):
        return {"jsonrpc": "2.0", "id": id_, "method": "op.call",
                "params": {"op": op, "args": list(args), "return": "data", **params}}

    with f.connect() as d, f.gate() as first, f.gate() as second:
        t = tensor(d)
        d.send_message([call(1, "aten::neg", {"data": [1.0]}),
                        call(2, "stubborn::hold", {"data": [1.0]}, first.path, deadline_ms=DEADLINE_MS),
                        call(3, "aten::neg", {"data": [2.0]}),
                        call(4, "stubborn::hold_", t, second.path, deadline_ms=2 * DEADLINE_MS)])
        answers = d.receive_message()
        equal([a["id"] for a in answers], [1, 2, 3, 4])
        equal([answers[i]["result"]["outputs"][0]["data"] for i in (0, 2)], [[-1], [-2]])
        equal([answers[i]["error"]["data"]["type"] for i in (1, 3)], ["DeadlineExceeded"] * 2)
        equal(answers[3]["error"]["data"]["written"], [t["tensor"]])
        d.send_message([call(5, "aten::neg", {"data": [3.0]}), call(6, "aten::neg", t)])
        first.open()
        second.open()
        equal([a["result"]["outputs"][0]["data"] for a in d.receive_message()], [[-3], [-7, -7]],
              "a batch whose second request had to wait")


def test_notification(f):
    with f.connect() as d, f.gate() as gate:
        t = tensor(d)
        d.send_message({"jsonrpc": "2.0", "method": "op.call",
                        "params": {"op": "stubborn::hold_", "args": [t, gate.path], "deadline_ms": DEADLINE_MS}})
        d.call("server.status")  # answered once the deadline has passed
        equal(len(d.call("server.status")["stuck"]), 1, "stuck workers")
        gate.open()


def test_client_that_leaves_leaves_a_stuck_worker(f):
    with f.connect() as d, f.gate() as gate:
        gone = f.connect()
        gone.send("op.call", op="stubborn::hold", args=[{"data": [1.0]}, gate.path])
        wait_until(lambda: d.call("server.status")["running"], "it runs")
        gone.close()
        wait_until(lambda: d.call("server.status")["stuck"], "it counts as stuck")
        equal(d.call("server.status")["stuck"][0]["op"], "stubborn::hold")
        gate.open()


def test_stuck_workers_are_replaced():
    f = Fixture("--workers", "2")
    with f.connect() as d, f.gate() as gate:
        while len(d.call("server.status")["stuck"]) < 12:
            hold(d, "hold", {"data": [1.0]}, gate, 30)
        begin = time.monotonic()
        equal(d.op("aten::add.Tensor", {"data": [1.0] * 3000}, 1, returns="data")["data"], [2] * 3000)
        less(time.monotonic() - begin, SLACK, "seconds for a call beside them")
        gate.open()
    teardown(f)


def test_no_memory_for_another_worker():
    """Every worker is stuck and none can be started: deadlines are answered, and what a client frees is enough."""
    if SANITIZED:  # which take terabytes of address space
        return
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (300 << 20, resource.RLIM_INFINITY))
    f = Fixture("--workers", "1", preexec=limit)
    with f.connect() as d, f.gate() as gate:
        filler = f.connect()
        for n in 4 << 20, 1 << 20, 1 << 16:
            while True:
                try:
                    filler.op("aten::zeros", [n], dtype="uint8")
                except dispatchd.Error as e:
                    equal(e.type, "ResourceExhausted")
                    break
        hold(d, "hold", {"data": [1.0]}, gate, 30)
        hold(d, "hold", {"data": [1.0]}, gate, 30)
        raises(lambda: d.call("op.call", op="aten::add.Tensor", args=[{"data": [1.0]}, 1], deadline_ms=30),
               "DeadlineExceeded")
        filler.close()
        equal(d.op("aten::add.Tensor", {"data": [1.0]}, 1, returns="data")["data"], [2])
    f.daemon.finish()


def test_status_lists_every_stuck_call():
    f = Fixture("--workers", "2")
    half = 135  # more at once would find no worker by then
    with f.connect() as d, f.gate() as gate, contextlib.ExitStack() as stack:
        def hold_more(n):
            """A call whose deadline passed before a worker had taken it never becomes stuck."""
            clients = [stack.enter_context(f.connect()) for _ in range(n)]
            for c in clients:
                c.send_message([{"jsonrpc": "2.0", "id": 1, "method": "op.call", "params": {
                    "op": "stubborn::hold", "args": [{"data": [1.0]}, gate.path], "deadline_ms": 3000}}])
            for c in clients:
                equal(c.receive_message()[0]["error"]["data"]["type"], "DeadlineExceeded")
                c.close()

        def listed():
            return len(d.call("server.status")["stuck"])

        for n in half, 2 * half:
            for _ in range(10):
                hold_more(n - listed())
            equal(listed(), n, "calls listed")
        equal({(s["request"], s.get("op")) for s in d.call("server.status")["stuck"]},
              {("op.call", "stubborn::hold")}, "methods and operators, of batches too")
    teardown(f)


def test_unload_names_the_stuck_kernel():
    f = Fixture()
    with f.connect() as d, f.gate() as gate:
        hold(d, "hold", {"data": [1.0]}, gate)
        fault = raises(lambda: d.call("plugin.unload", plugin="stubborn", timeout_ms=100), "Busy")
        contains(fault.message, "stubborn::hold")
        r = d.call("plugin.unload", plugin="stubborn", timeout_ms=100, force=True)
        equal(r["unmapped"], False, "unmapped")
        contains(r["kept_because"], "stubborn::hold")
        raises(lambda: d.op("stubborn::hold", {"data": [1.0]}, gate.path), "NotFound")
        gate.open()
        wait_until(lambda: all(p["plugin"] != "stubborn" for p in d.call("plugin.list")["plugins"]),
                   "its code is gone")
    teardown(f)


def test_sigterm_with_stuck_workers():
    f = Fixture()
    with f.connect() as d, f.connect() as waits, f.connect() as draws:
        for c in waits, draws:
            c.call("server.hello", session_key=d.call("server.hello")["session_key"])
        t = tensor(d)
        hold(d, "hold_", t, f.daemon.gate())
        hold(d, "hold_drawing", {"data": [1.0]}, f.daemon.gate())
        waits.send("tensor.read", **t)
        draw(draws)
        wait_until(lambda: calls(f) == 3, "it waits for the generator")
        begin = time.monotonic()
        f.daemon.process.send_signal(signal.SIGTERM)
        raises(waits.receive, "Busy")
        raises(draws.receive, "Busy")
        equal(f.daemon.process.wait(60), 0, "exit status")
        less(time.monotonic() - begin, 4, "seconds until it left; without an end of its own it takes 5")
    contains(f.daemon.log(), "server.leave")
    shutil.rmtree(f.daemon.dir)


if __name__ == "__main__":
    main(setup, teardown)
