"""test_devices.py -- a backend with memory and streams of its own: every slot, its failures, its end."""

import os
import threading

from harness import BUILD, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon

X = {"data": [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]}
GONE = "backend simdev was unloaded"
SLOTS = ["allocate", "release", "copy", "memory_info", "synchronize", "stream_new", "stream_free", "stream_query",
         "stream_synchronize", "copy_async", "fill", "event_new", "event_free", "event_record", "event_wait",
         "event_query", "event_synchronize", "event_elapsed", "pin", "unpin", "adopt", "adopted", "copy_between", "trim",
         "stream_priorities", "hand_over", "take_over", "hand_back", "export_block", "import_block", "import_end"]


class Fixture:
    def __init__(self, adopts="yes"):
        self.daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"), "--workers", "4",
                                 env={"SIMDEV_ADOPTS": adopts, "SIMDEV_LOG": os.devnull})
        self.d, self.watch = self.daemon.connect(), self.daemon.connect()
        self.before = self.held()
        self.d.call("plugin.load", path="async_device")

    def held(self):
        status = self.d.call("server.status")
        return {k: status[k] for k in ("tensors", "storages", "bytes")}

    def state(self):
        """What the device holds now: blocks, pinned blocks, events, streams."""
        return dict(zip(("live", "pinned", "events", "streams"), self.watch.op("sim::state")))

    def idle(self):
        """The state when nothing that was released is still in use."""
        wait_until(lambda: (self.state()["live"], self.state()["pinned"]) == (0, 0), "device memory is released")

    def synchronized(self):
        """How often the host has waited for a stream."""
        return self.watch.op("sim::state")[5]

    def go_while_it_waits(self, op, *args):
        """Call an operator that waits for a stopped stream, which goes on once the call waits."""
        self.d.send("op.call", op=op, args=list(args))
        wait_until(lambda: self.watch.op("sim::state")[4] > 0, f"{op} waits for the stream")
        self.watch.op("sim::go")
        return {"tensor": self.d.receive()["outputs"][0]["tensor"]}


def handle(d, op, *args, **kwargs):
    return {"tensor": d.op(op, *args, **kwargs)["tensor"]}


def read(d, t):
    return d.call("tensor.read", tensor=t["tensor"])["data"]


def test_memory_and_copies(f):
    x = handle(f.d, "sim::to", X)
    y = handle(f.d, "sim::add_one", x)
    equal(read(f.d, y), [[2, 3, 4, 5], [6, 7, 8, 9]])
    equal(f.d.call("tensor.describe", tensor=x["tensor"])["device"], "simdev:0")
    other = handle(f.d, "sim::to", y, 1)
    equal((f.d.call("tensor.describe", tensor=other["tensor"])["device"], read(f.d, other)),
          ("simdev:1", read(f.d, y)))
    raises(lambda: f.d.op("sim::to", X, 2), "RuntimeError", "simdev", "2")
    free, total = f.d.op("sim::memory")
    equal((total, total - free), (1 << 24, 96), "bytes of the device")
    equal(f.state()["live"], 3)
    f.d.release(x, y, other)
    equal(f.state()["live"], 0)


def test_pinned_memory_is_the_hosts(f):
    p = handle(f.d, "sim::pinned", [2, 4])
    equal((f.d.op("sim::is_pinned", p), f.d.op("sim::is_pinned", X)), (True, False))
    f.d.op("sim::fill", p, 0)
    equal(read(f.d, p), [[0] * 4] * 2)
    q = handle(f.d, "aten::add.Tensor", p, 3)
    equal((read(f.d, q), f.d.op("sim::is_pinned", q)), ([[3] * 4] * 2, False), "kernels of the CPU take it")
    equal(f.state()["pinned"], 1)
    f.d.release(p, q)
    equal(f.state()["pinned"], 0)


def test_streams_are_a_sessions(f):
    with f.daemon.connect() as other:
        equal(f.d.op("sim::on_default"), True)
        equal(f.d.op("sim::use_stream"), True)
        equal((f.d.op("sim::on_default"), other.op("sim::on_default")), (False, True))
        with f.daemon.connect() as joined:
            joined.call("server.hello", session_key=f.d.call("server.hello")["session_key"])
            equal(joined.op("sim::on_default"), False, "another connection of the session")
        f.d.op("sim::hold")
        equal((f.d.op("sim::query"), other.op("sim::query")), (False, False), "the default stream waits for all")
        other.op("sim::go")
        f.d.op("sim::synchronize")
        equal(f.d.op("sim::query"), True)


def test_copies_run_by_themselves(f):
    p, back = handle(f.d, "sim::pinned", [2, 4]), handle(f.d, "sim::pinned", [2, 4])
    f.d.op("aten::copy_", p, X)
    there = handle(f.d, "sim::to", {"data": [[0.0] * 4] * 2})
    f.d.op("sim::fill", back, 0)
    f.d.op("sim::hold")
    f.d.op("sim::copy", there, p)
    f.d.op("sim::copy", back, there)
    equal((f.d.op("sim::query"), read(f.d, back)), (False, [[0] * 4] * 2), "neither has begun")
    f.d.op("sim::go")
    f.d.op("sim::synchronize")
    equal(read(f.d, back), X["data"])
    f.d.op("sim::copy", there, {"data": [[9.0] * 4] * 2})  # not pinned: at once
    equal(read(f.d, there), [[9] * 4] * 2)
    f.d.op("sim::copy", there, {"data": [[8, 8, 8, 8]]})  # another dtype, and it broadcasts
    equal(read(f.d, there), [[8] * 4] * 2)
    wide = handle(f.d, "sim::rows", p)
    f.d.op("sim::synchronize", True)
    equal(read(f.d, wide), [[1, 2, 3, 4, 0, 0], [5, 6, 7, 8, 0, 0]], "rows at a distance")
    f.d.op("sim::fill", there, 0)
    equal(read(f.d, there), [[0] * 4] * 2)
    f.d.release(p, back, there, wide)


def test_events(f):
    before, after, elapsed = f.d.op("sim::events", 100)
    equal((before, after, 95 < elapsed < 60000), (False, True, True), f"{elapsed} ms")
    wait_until(lambda: f.state()["events"] == 0, "events are freed")


def test_memory_that_a_stream_uses_is_put_aside(f):
    x, p = handle(f.d, "sim::to", X), handle(f.d, "sim::pinned", [2, 4])
    bytes_ = f.held()["bytes"]
    f.d.op("sim::hold")
    f.d.op("sim::copy", p, x)
    f.d.release(x, p)  # does not wait: the stream goes on only below
    equal({k: v for k, v in f.state().items() if k in ("live", "pinned")}, {"live": 1, "pinned": 1}, "still there")
    less(f.held()["bytes"], bytes_ + 1)
    f.d.op("sim::go")
    f.idle()
    x = handle(f.d, "sim::to", X)
    f.d.op("sim::record", x)
    f.d.op("sim::hold")
    f.d.release(x)
    equal(f.state()["live"], 1, "recorded")
    y = f.go_while_it_waits("sim::to", X)  # and an allocation takes back what is over
    f.d.release(handle(f.d, "sim::to", X), y)
    equal(f.state()["live"], 0)


def test_a_full_device_waits_for_what_is_put_aside(f):
    big = handle(f.d, "aten::zeros", [(1 << 22) - 4])
    x = handle(f.d, "sim::to", big)
    f.d.op("sim::record", x)
    f.d.op("sim::hold")
    f.d.release(x)
    x = f.go_while_it_waits("sim::to", big)
    raises(lambda: f.d.op("sim::to", X), "ResourceExhausted", "backend simdev: allocate failed: no room for 32 bytes")
    f.d.release(x, big)
    equal(f.state()["live"], 0)


def call_every_slot(f):
    """Calls by the slot of the device that each of them reaches, and what they work on, which the caller releases."""
    p, x = handle(f.d, "sim::pinned", [2, 4]), handle(f.d, "sim::to", X)
    far, exported = handle(f.d, "sim::to", X, 1), handle(f.d, "sim::export", x)
    f.d.op("sim::fill", p, 0)
    f.d.op("sim::synchronize", True)
    calls = {"allocate": lambda: f.d.op("sim::to", X), "copy": lambda: f.d.op("sim::to", X),
             "memory_info": lambda: f.d.op("sim::memory"),
             "synchronize": lambda: f.d.op("sim::synchronize", True), "pin": lambda: f.d.op("sim::pinned", [3]),
             "stream_query": lambda: f.d.op("sim::query"), "stream_synchronize": lambda: f.d.op("sim::synchronize"),
             "copy_between": lambda: f.d.op("aten::copy_", far, x) and None, "trim": lambda: f.d.op("sim::trim"),
             "stream_priorities": lambda: f.d.op("sim::priority", 0), "export_block": lambda: handle(f.d, "sim::export", x),
             "import_block": lambda: handle(f.d, "sim::import", exported, [8]),
             "copy_async": lambda: f.d.op("sim::copy", x, p), "fill": lambda: f.d.op("sim::fill", x, 1)}
    for slot in "stream_new", "event_new", "event_record", "event_wait", "event_query", "event_synchronize", \
            "event_elapsed":
        calls[slot] = lambda: f.d.op("sim::events", 1)
    elsewhere = ["release", "stream_free", "event_free", "unpin", "adopt", "adopted", "hand_over", "take_over", "hand_back",
                 "import_end"]
    equal(sorted([*calls, *elsewhere]), sorted(SLOTS), "slots")
    return calls, (p, x, far, exported)


def test_every_failure_is_told_and_changes_nothing(f):
    calls, made_for_them = call_every_slot(f)
    before, state = f.held(), f.state()
    for slot, call in calls.items():
        for nth in range(1, 5):
            f.d.op("sim::fail", slot, nth)
            try:
                for _ in range(nth):
                    made = call()
                    if isinstance(made, dict):
                        f.d.release(made)
            except Exception as e:
                equal(e.type, "Busy", slot)
                contains(e.message, f"backend simdev: {slot} failed: {slot} was told to fail")
            else:
                raise AssertionError(f"{slot}: call {nth} did not fail")
            f.d.op("sim::fail", slot, 0)
            f.d.op("sim::synchronize", True)
            equal((f.held(), f.state()), (before, state), f"{slot}, call {nth}")
    f.d.release(*made_for_them)


def test_a_function_that_blocks_holds_only_those_who_use_the_device(f):
    """Whichever function of the device does not return: other sessions work, and once it returns nothing is lost."""
    calls, made_for_them = call_every_slot(f)
    calls["release"] = lambda: f.d.release(handle(f.d, "sim::to", X)) and None
    before, state = f.held(), f.state()
    for slot, call in calls.items():
        ended = []

        def work(call=call):
            made = call()
            if isinstance(made, dict):
                f.d.release(made)
            ended.append(True)

        f.watch.op("sim::block", slot, 1)
        worker = threading.Thread(target=work)
        worker.start()
        wait_until(lambda: f.watch.op("sim::blocked") > 0, f"{slot} is called")
        equal(f.watch.op("aten::neg", X, returns="data")["data"][0], [-1, -2, -3, -4], f"another session while {slot} blocks")
        equal(f.watch.call("server.status")["tensors"] >= 4, True, f"the daemon answers while {slot} blocks")
        equal(ended, [], f"calls that ended though {slot} blocks")
        f.watch.op("sim::block", slot, 0)
        worker.join()
        f.d.op("sim::synchronize", True)
        equal((ended, f.held(), f.state()), ([True], before, state), slot)
    f.d.release(*made_for_them)


def test_a_session_may_leave_while_a_function_blocks(f):
    """Its client goes while the device copies, allocates or releases for it: nothing is left when that returns."""
    f.idle()  # the test before used memory on the stream
    before, state = f.held(), f.state()
    for slot in "allocate", "copy", "copy_async", "release", "stream_new", "stream_synchronize":
        d = f.daemon.connect()
        x, p = handle(d, "sim::to", X), handle(d, "sim::pinned", [2, 4])
        what = {"copy_async": ("sim::copy", x, p), "stream_synchronize": ("sim::synchronize", ),
                "stream_new": ("sim::events", 1)}
        f.watch.op("sim::block", slot, 1)
        if slot == "release":
            d.send("tensor.release", tensors=[x["tensor"]])
        else:
            op, *args = what.get(slot, ("sim::to", X))
            d.send("op.call", op=op, args=args, deadline_ms=100)
        wait_until(lambda: f.watch.op("sim::blocked") > 0, f"{slot} is called")
        d.close()
        equal(f.watch.op("aten::neg", X, returns="data")["data"][0], [-1, -2, -3, -4], f"another session while {slot} blocks")
        f.watch.op("sim::block", slot, 0)
        wait_until(lambda: (f.held(), f.state()) == (before, state), f"all is given back after {slot}")


def test_release_without_events_waits_for_the_stream(f):
    f.idle()  # the test before used memory on the stream
    for slot in "event_new", "event_record":
        x = handle(f.d, "sim::to", X)
        f.d.op("sim::record", x)
        f.d.op("sim::slow", 50)
        f.d.op("sim::fail", slot, 1)
        before = f.synchronized()
        f.d.release(x)
        equal((f.synchronized(), f.state()["live"]), (before + 1, 0), f"waits and live blocks, without {slot}")
        f.d.op("sim::fail", slot, 0)


def test_two_sessions_at_once(f):
    failures = []

    def client(seed):
        try:
            with f.daemon.connect() as d:
                equal(d.op("sim::use_stream"), True)
                for i in range(40):
                    value = [[float(seed * 1000 + i)] * 4] * 2
                    p, back = handle(d, "sim::pinned", [2, 4]), handle(d, "sim::pinned", [2, 4])
                    d.op("aten::copy_", p, {"data": value})
                    x = handle(d, "sim::to", X)
                    d.op("sim::slow", 1)
                    d.op("sim::copy", x, p)
                    d.op("sim::copy", back, x)
                    d.release(x, p)  # the stream still uses them
                    d.op("sim::synchronize")
                    equal(read(d, back), value)
                    d.release(back)
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=client, args=(n,)) for n in (1, 2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(failures, [])
    f.idle()


def test_an_unload_waits_for_copies(f):
    x, p = handle(f.d, "sim::to", X), handle(f.d, "sim::pinned", [2, 4])
    f.d.op("sim::use_stream")
    f.d.op("sim::slow", 300)
    f.d.op("sim::copy", p, x)
    raises(lambda: f.d.call("plugin.unload", plugin="async_device"), "Busy", "1 storage of its", "simdev")
    f.d.release(x)
    equal(f.d.call("plugin.unload", plugin="async_device")["unmapped"], True)
    equal(read(f.d, p), X["data"], "pinned memory stays, and what was copied into it")
    f.d.call("plugin.load", path="async_device")
    equal((f.d.op("sim::is_pinned", p), f.d.op("sim::on_default")), (False, True), "not pinned any more")
    f.d.release(p)


def test_an_unload_that_is_refused_takes_streams_and_pins(f):
    """They are gone before on_unload is asked; the session is back at the default stream."""
    p = handle(f.d, "sim::pinned", [2, 4])
    f.d.op("sim::use_stream")
    f.d.op("sim::refuse")
    raises(lambda: f.d.call("plugin.unload", plugin="async_device"), "RuntimeError", "not yet")
    equal((f.d.op("sim::on_default"), f.d.op("sim::is_pinned", p), f.state()),
          (True, False, {"live": 0, "pinned": 0, "events": 0, "streams": 0}))
    equal((f.d.op("sim::use_stream"), f.d.op("sim::on_default")), (True, False), "and it goes on")
    f.d.release(p)


def test_a_forced_unload_waits_too_and_gives_back(f):
    x, p = handle(f.d, "sim::to", X), handle(f.d, "sim::pinned", [2, 4])
    f.d.op("sim::use_stream")
    f.d.op("sim::slow", 300)
    f.d.op("sim::copy", p, x)
    f.d.op("sim::record", x)
    equal(f.d.call("plugin.unload", plugin="async_device", force=True)["unmapped"], True)
    equal(read(f.d, p), X["data"])
    for again in False, True:
        if again:
            f.d.call("plugin.load", path="async_device")
            raises(lambda: f.d.op("sim::add_one", x), "RuntimeError", GONE)
            equal(f.state()["live"], 0)
        raises(lambda: f.d.call("tensor.read", tensor=x["tensor"]), "RuntimeError", GONE)
    f.d.release(x, p)


def reload(f):
    return f.d.call("plugin.reload", plugin="async_device")


def test_a_reload_adopts(f):
    x = handle(f.d, "sim::to", X)
    f.d.op("sim::use_stream")
    old = reload(f)["old"]
    equal((old["unmapped"], f.state()["live"], f.d.op("sim::on_default")), (True, 1, True))
    equal(read(f.d, handle(f.d, "sim::add_one", x)), [[2, 3, 4, 5], [6, 7, 8, 9]], "by the new code")
    f.d.op("sim::fail", "adopt", 1)  # of the code that runs now: it is not asked
    reload(f)
    equal(read(f.d, x), X["data"])
    f.d.call("tensor.release", tensors=[t["tensor"] for t in f.d.call("tensor.list")["tensors"]])
    equal(f.state()["live"], 0)


def kept(f):
    """Of the device: bytes that it caches, blocks of other processes, reloads that its state has lived through."""
    return f.watch.op("sim::kept")


def test_a_reload_hands_the_context_over(f):
    x = handle(f.d, "sim::to", X)
    f.d.op("sim::cache", 4096)
    before = kept(f)[2]
    for n in (1, 2):
        reload(f)
        equal((kept(f), read(f.d, x)), ([4096, 0, before + n], X["data"]))
    f.d.op("sim::cache", 0)
    equal(f.state()["live"], 1)
    f.d.release(x)
    equal(f.state()["live"], 0)


def test_a_version_that_refuses_the_context_gets_no_block(f):
    x = handle(f.d, "sim::to", X)
    f.d.op("sim::poison")
    reload(f)
    equal(kept(f), [0, 0, 0])
    contains(f.daemon.log(), "backend simdev: take_over failed, so its tensors answer that it was unloaded: a state of version 1")
    raises(lambda: f.d.op("sim::add_one", x), "RuntimeError", GONE)
    f.d.release(x)
    y = handle(f.d, "sim::to", X)
    equal(read(f.d, y), X["data"], "the new code goes on")
    f.d.op("sim::fail", "hand_over", 1)
    reload(f)
    contains(f.daemon.log(), "backend simdev: hand_over failed")
    raises(lambda: f.d.op("sim::add_one", y), "RuntimeError", GONE)
    f.d.release(y)
    equal(f.state()["live"], 0)


def test_an_allocation_that_finds_no_room_trims(f):
    f.d.op("sim::cache", (1 << 24) - 16)
    x = handle(f.d, "sim::to", X)
    equal((kept(f)[0], read(f.d, x)), (0, X["data"]))
    f.d.op("sim::cache", 1 << 24)
    f.d.op("sim::fail", "trim", 1)
    raises(lambda: f.d.op("sim::to", X), "ResourceExhausted", "allocate failed: no room for 32 bytes")
    equal(kept(f)[0], 1 << 24)
    f.d.op("sim::fail", "trim", 1)
    raises(lambda: f.d.op("sim::trim"), "Busy", "backend simdev: trim failed")
    f.d.op("sim::trim")
    equal(kept(f)[0], 0)
    f.d.release(x)


def test_priorities_and_flags(f):
    equal(f.d.op("sim::priority", -2), [-2, -2, 0])
    for wanted in (1, -3, 1 << 30):
        raises(lambda: f.d.op("sim::priority", wanted), "ValueError", f"no stream of priority {wanted} on simdev:0", "-2 to 0")
    equal(f.d.op("sim::priority", 0, 1)[0], 0)
    raises(lambda: f.d.op("sim::priority", 0, 2), "ValueError", "0x2")
    f.d.op("sim::fail", "stream_priorities", 1)
    raises(lambda: f.d.op("sim::priority", 0), "Busy", "stream_priorities failed")
    less(-0.001, f.d.op("sim::timed", 0))
    raises(lambda: f.d.op("sim::timed", 1), "RuntimeError", "DP_EVENT_NO_TIMING")
    raises(lambda: f.d.op("sim::timed", 2), "ValueError", "0x2")


def test_a_fault_of_a_stream_surfaces_at_the_next_wait_and_names_operators(f):
    x = handle(f.d, "sim::to", X)
    for ask in (lambda: f.d.op("sim::synchronize"), lambda: f.d.op("sim::synchronize", True), lambda: read(f.d, x)):
        f.d.op("sim::use_stream")
        f.d.op("sim::synchronize", True)
        f.d.op("sim::fill", x, 0)
        f.d.op("sim::fault")
        raises(ask, "RuntimeError", "an illegal address was read", "queued since the last synchronisation:", "sim::fault")
        ask()  # told once
    f.d.op("sim::fault")
    wait_until(lambda: fails(f), "the stream reaches the fault")
    f.d.release(x)


def fails(f):
    try:
        f.d.op("sim::query")
        return False
    except Exception as e:
        contains(str(e), "stream_query failed: an illegal address was read; queued since the last synchronisation: sim::fault")
        return True


def test_devices_of_a_backend_copy_to_each_other(f):
    x = handle(f.d, "sim::to", X)
    y = handle(f.d, "sim::to", {"data": [[0.0] * 4] * 2}, 1)
    f.d.op("sim::fail", "copy_between", 1)
    raises(lambda: f.d.op("aten::copy_", y, x), "Busy", "backend simdev: copy_between failed")
    f.d.op("sim::fail", "copy", 1)  # of which none is needed
    f.d.op("aten::copy_", y, x)
    f.d.op("sim::fail", "copy", 0)
    equal(read(f.d, y), X["data"])
    f.d.op("sim::use_stream")
    f.d.op("sim::hold")
    f.d.op("sim::fill", x, 0)
    f.d.op("sim::use_stream", 1)
    f.d.op("sim::go")
    f.d.op("sim::synchronize", True)
    f.d.op("sim::copy", y, x)
    f.d.op("sim::synchronize", True)
    equal(read(f.d, y), [[0.0] * 4] * 2)
    f.d.release(x, y)


def test_blocks_of_other_processes(f):
    x = handle(f.d, "sim::to", X)
    exported = handle(f.d, "sim::export", x)
    before = f.held()["bytes"]
    y = handle(f.d, "sim::import", exported, [4, 2])
    equal((kept(f)[1], f.held()["bytes"] - before), (1, 32), "charged")
    equal(read(f.d, y), [[1, 2], [3, 4], [5, 6], [7, 8]])
    f.d.op("sim::fill", x, 0)
    f.d.op("sim::synchronize", True)
    equal(read(f.d, y), [[0, 0]] * 4, "what others write shows")
    raises(lambda: f.d.op("sim::import", exported, [9]), "RuntimeError", "32")
    raises(lambda: f.d.op("sim::import", exported, [8], 1), "RuntimeError", "import_block failed: process", "is gone")
    raises(lambda: f.d.op("sim::export", X), "NotImplementedError", "exports no such memory")
    reload(f)
    raises(lambda: read(f.d, y), "RuntimeError", GONE)
    equal(read(f.d, x), [[0] * 4] * 2, "the block itself was adopted")
    f.d.release(x, y, exported)
    equal(kept(f)[1], 0)


def test_a_constant_of_a_program_is_not_given_to_the_new_code():
    f = Fixture(adopts="no")
    x = handle(f.d, "sim::to", X)
    program = f.d.call("program.create", inputs=[], constants={"x": x}, outputs=["y"], steps=[
        {"op": "sim::add_one", "args": [{"ref": "x"}], "as": ["y"]}])["program"]
    f.d.release({"tensor": f.d.call("program.run", program=program)["outputs"][0]["tensor"]})
    reload(f)
    raises(lambda: f.d.call("program.run", program=program), "RuntimeError", GONE)
    f.d.call("program.release", program=program)
    f.d.release(x)
    finish(f)


def test_a_call_under_way_keeps_the_old_memory():
    f = Fixture(adopts="no")
    x = handle(f.d, "sim::to", X)
    live = f.state()["live"]
    with f.daemon.connect() as other:
        other.call("server.hello", session_key=f.d.call("server.hello")["session_key"])
        until = os.path.join(f.daemon.dir, "until")
        other.send("op.call", op="sim::late", args=[x, until])
        wait_until(lambda: f.d.call("server.status")["running"], "the call runs")
        old = reload(f)["old"]
        equal((old["drained"], live, f.state()["live"]), (False, 1, 0), "new code, no memory")
        raises(lambda: f.d.op("sim::add_one", x), "RuntimeError", GONE)
        raises(lambda: f.d.call("tensor.read", tensor=x["tensor"]), "RuntimeError", GONE)
        open(until, "w").close()
        equal(other.receive()["outputs"][0], 1.0, "what the old code read at its end")
    wait_until(lambda: len(f.d.call("plugin.list")["plugins"]) == len(
        {p["plugin"] for p in f.d.call("plugin.list")["plugins"]}), "the old code goes")
    raises(lambda: f.d.op("sim::add_one", x), "RuntimeError", GONE)
    f.d.release(x)
    finish(f)


def test_reloads_while_two_sessions_work():
    f = Fixture()
    stop, failures = threading.Event(), []

    def client():
        with f.daemon.connect() as d:
            while not stop.is_set():
                try:
                    x = handle(d, "sim::to", X)
                    y = handle(d, "sim::add_one", x)
                    equal(read(d, y), [[2, 3, 4, 5], [6, 7, 8, 9]])
                    d.release(x, y)
                except Exception as e:
                    failures.append(e)
                    return
    threads = [threading.Thread(target=client) for _ in range(2)]
    for t in threads:
        t.start()
    for _ in range(10):
        reload(f)
    stop.set()
    for t in threads:
        t.join()
    equal([str(e) for e in failures], [])
    finish(f)


def finish(f):
    for t in f.d.call("tensor.list")["tensors"]:
        f.d.call("tensor.release", tensors=[t["tensor"]])
    wait_until(lambda: f.state()["live"] == 0, "device memory is released")
    equal(f.d.call("plugin.unload", plugin="async_device")["unmapped"], True, "unmapped")
    equal(f.held(), f.before, "held")
    f.d.close()
    f.watch.close()
    f.daemon.stop()


main(Fixture, finish)
