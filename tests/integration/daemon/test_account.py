"""test_account.py -- what sessions hold, by holder: counted once, shown, limited by name, given back."""

import json
import os

from harness import BUILD, SANITIZED, contains, equal, less, main, raises, wait_until
from daemon import ASAN_OPTIONS, TestDaemon

PLUGINS = [os.path.join(BUILD, "tests", "plugins", name + ".so") for name in ("sleeps", "hoards", "async_device")]
BYTES = 1 << 20  # of --session-bytes
NOTHING = {"count": 0, "bytes": 0}


def setup():
    options = [part for path in PLUGINS for part in ("--plugin", path)]
    return TestDaemon(*options, "--session-bytes", str(BYTES))


def held(d):
    """{holder: (count, bytes)} of this session, without those that hold nothing."""
    account = d.call("session.get")["account"]
    return {name: (h["count"], h["bytes"]) for name, h in account.items() if h != NOTHING}


def zeros(d, *sizes):
    return d.op("aten::zeros", list(sizes), dtype="float32", returns="handle")["tensor"]


def ref(name):
    return {"ref": name}


def test_limits_are_reported(f):
    with f.connect() as d:
        limits = d.call("server.hello")["limits"]
        equal((limits["session_tensor_bytes"], limits["session_intermediate_bytes"]), (BYTES, BYTES))


def test_a_storage_is_charged_once(f):
    with f.connect() as d:
        a = zeros(d, 10, 10)
        equal(held(d), {"tensors": (1, 400)})
        views = [d.op("aten::view", {"tensor": a}, [100], returns="handle")["tensor"] for _ in range(5)]
        equal(held(d), {"tensors": (6, 400)})
        d.call("tensor.release", tensors=[a])
        equal(held(d), {"tensors": (5, 400)}, "its views hold it")
        d.call("tensor.release", tensors=views)
        equal(held(d), {})


def test_the_limit_of_bytes_names_holder_asked_and_left(f):
    with f.connect() as d, f.connect() as other:
        a = zeros(d, 1000, 250)
        raises(lambda: zeros(d, 1000, 20), "ResourceExhausted", "tensors: 80000 bytes asked for",
               f"{BYTES - 1000000} of {BYTES} left (session_tensor_bytes)")
        raises(lambda: d.call("tensor.create", shape=[20000], dtype="float32", data=[0] * 20000),
               "ResourceExhausted", "session_tensor_bytes")
        equal(held(d), {"tensors": (1, 1000000)}, "what was refused is not charged")
        # before a page of it is touched: a kernel that filled it might end the daemon
        raises(lambda: d.op("aten::full", [1 << 24], 0.0, dtype="float32"), "ResourceExhausted",
               f"{4 << 24} bytes asked for", "(session_intermediate_bytes)")
        zeros(other, 1000, 250)  # another session has its own
        d.call("tensor.release", tensors=[a])
        zeros(d, 1000, 20)


def test_a_tensor_that_an_operator_resizes_is_charged_anew(f):
    with f.connect() as d:
        e = zeros(d, 0)
        equal(held(d), {"tensors": (1, 0)})
        ones = {"dtype": "float32", "data": [1] * 1000}
        d.op("aten::add.out", ones, ones, out={"tensor": e}, returns="handle")
        equal(held(d), {"tensors": (1, 4000)})
        d.call("tensor.release", tensors=[e])
        equal(held(d), {})


def test_what_grew_before_it_is_kept_is_charged(f):
    """Nobody is charged for a literal while an operator makes it longer: whoever keeps it is."""
    grow = {"op": "aten::arange.start_out", "kwargs": {"out": {"data": [1]}}, "as": ["y"]}
    with f.connect() as d:
        d.op("aten::arange.start_out", 0, 1000, 1, out={"data": [1]}, returns="handle")
        equal(held(d), {"tensors": (1, 4004)})
        a = zeros(d, 1000, 230)
        raises(lambda: d.op("aten::arange.start_out", 0, 50000, 1, out={"data": [1]}, returns="handle"),
               "ResourceExhausted", "tensors: 200004 bytes asked for", "(session_tensor_bytes)")
        d.call("tensor.release", tensors=[a])
        raises(lambda: d.call("program.run", steps=[{**grow, "args": [0, BYTES, 1]}], outputs=["y"]),
               "ResourceExhausted", "step 0: intermediates: ", "(session_intermediate_bytes)")
        d.call("program.run", steps=[{**grow, "args": [0, 1000, 1]}], outputs=["y"])
        equal([held(d).get(h) for h in ("tensors", "intermediates")], [(2, 8008), None])
        d.call("tensor.release", all=True)
        equal(held(d).get("tensors"), None)


def test_a_joined_session_has_one_account(f):
    with f.connect() as d, f.connect() as other:
        other.call("server.hello", session_key=d.call("server.hello")["session_key"])
        zeros(d, 10)
        equal(held(other), {"tensors": (1, 40)})


def test_numbers_of_cached_programs_are_the_caches(f):
    with f.connect() as d, f.connect() as watch:
        d.call("program.run", inputs={"x": {"data": [1, 2]}}, outputs=["y"],
               steps=[{"op": "aten::add.Tensor", "args": [ref("x"), 2], "as": ["y"]}])
        d.call("tensor.release", all=True)
        count, size = held(d).pop("program_cache")
        equal((count, list(held(d))), (1, ["program_cache"]))
        less(100, size)
        status = watch.call("server.status")
        equal((status["tensors"], status["live_tensors"]), (0, 1), "of clients, of all")
        equal(status["account"]["program_cache"], {"count": 1, "bytes": size})


def test_a_program_is_charged_for_its_constants(f):
    with f.connect() as d:
        p = d.call("program.create", inputs=[], constants={"k": {"data": [1] * 1000}}, outputs=["y"],
                   steps=[{"op": "aten::neg", "args": [ref("k")], "as": ["y"]}])["program"]
        count, size = held(d)["programs"]
        equal(count, 1)
        less(4000, size)
        d.call("program.release", program=p)
        equal(held(d), {})


def chain(n, rows):
    """n steps of rows x 1000 bytes each."""
    first = [{"op": "aten::zeros", "args": [[rows, 250]], "kwargs": {"dtype": "float32"}, "as": ["y0"]}]
    return first + [{"op": "aten::neg", "args": [ref(f"y{i}")], "as": [f"y{i + 1}"]} for i in range(n)]


def test_intermediates_are_charged_while_they_live(f):
    with f.connect() as d:
        # a thousand results of 320,000 bytes, within a limit that two of them and the text nearly fill
        y = d.call("program.run", steps=chain(1000, 320), outputs=["y1000"], **{"return": "handle"})
        equal(y["outputs"][0]["shape"], [320, 250])
        d.release(*y["outputs"])
        equal(held(d).get("intermediates"), None)
        e = raises(lambda: d.call("program.run", steps=chain(3, 600), outputs=["y3"]), "ResourceExhausted",
                   "step 1: intermediates: 600000 bytes asked for", "(session_intermediate_bytes)")
        equal((e.data["step"], e.data["limit"]),
              (1, {"name": "session_intermediate_bytes", "most": BYTES, "asked": 600000}))
        wait_until(lambda: "intermediates" not in held(d), "they are given back")
        # views are their base's, which may be released before them
        views = [{"op": "aten::view", "args": [ref("y0"), [250000]], "as": ["v0"]}]
        views += [{"op": "aten::view", "args": [ref(f"v{i}"), [250000]], "as": [f"v{i + 1}"]} for i in range(20)]
        d.call("program.run", steps=chain(0, 1000) + views, outputs=["v20"])


def test_an_output_moves_to_the_tensors(f):
    with f.connect() as d:
        d.call("program.run", steps=chain(2, 100), outputs=["y2", "y1"])
        equal({h: held(d)[h] for h in ("tensors",)}, {"tensors": (2, 200000)})
        equal(held(d).get("intermediates"), None)


WAYS = [(way, "cpu") for way in ("empty", "strided", "output", "iterated", "resized", "scratch")]
WAYS += [("pinned", "simdev"), ("device", "simdev")]


def test_temporaries_are_refused_in_the_middle(f):
    with f.connect() as d:
        zeros(d, 1000)
        for way, device in WAYS:
            equal(d.op("hoards::hoard", way, 10, BYTES // 20, device), 10, way)
            equal(held(d), {"tensors": (1, 4000)}, way)
            raises(lambda: d.op("hoards::hoard", way, 100, BYTES // 20, device),
                   "ResourceExhausted", "intermediates: ", f" of {BYTES} left (session_intermediate_bytes)")
            equal(held(d), {"tensors": (1, 4000)}, way)
        less(d.call("server.status")["bytes"], BYTES)


def test_temporaries_of_several_connections_are_one_sessions(f):
    with f.connect() as d, f.connect() as other, f.connect() as stranger:
        other.call("server.hello", session_key=d.call("server.hello")["session_key"])
        x = {"dtype": "uint8", "data": [0] * 1000}
        with f.gate() as gate:
            d.send("op.call", op="sleeps::until", args=[x, gate.path])
            wait_until(lambda: held(other).get("intermediates", (0, 0))[1] >= 1000, "the literal is the session's")
            raises(lambda: other.op("hoards::hoard", "empty", 2, BYTES // 2), "ResourceExhausted",
                   "intermediates: ", "(session_intermediate_bytes)")
        equal(stranger.op("hoards::hoard", "empty", 2, BYTES // 2 - 4096), 2, "another session has its own")
        d.receive()


def test_two_connections_of_a_session_come_out_even(f):
    with f.connect() as d, f.connect() as other:
        other.call("server.hello", session_key=d.call("server.hello")["session_key"])
        for _ in range(100):
            for c in (d, other):
                c.send("op.call", op="hoards::hoard", args=["resized", 3, BYTES // 5])
            for c in (d, other):
                try:
                    c.receive()
                except Exception as e:
                    contains(str(e), "session_intermediate_bytes")
        equal(held(d), {})


def test_what_a_plugin_keeps_is_whose_call_made_it_or_who_names_it(f):
    with f.connect() as d, f.connect() as other:
        d.op("hoards::leave", 1000)
        equal((held(d), held(other)), ({"intermediates": (0, 1000)}, {}))
        t = other.op("hoards::left", returns="handle")["tensor"]
        equal((held(d), held(other)), ({}, {"tensors": (1, 1000)}), "it pays who names it")
        other.call("tensor.release", tensors=[t])
        equal((held(d), held(other)), ({}, {"intermediates": (0, 1000)}), "the plugin has it still")
        d.op("hoards::clear")
        equal((held(d), held(other)), ({}, {}))


def test_a_released_argument_is_charged_until_its_call_ends(f):
    with f.connect() as d, f.connect() as other:
        other.call("server.hello", session_key=d.call("server.hello")["session_key"])
        a = zeros(d, 1000)
        with f.gate() as gate:
            d.send("op.call", op="sleeps::until", args=[{"tensor": a}, gate.path])
            wait_until(lambda: other.call("server.status")["running"], "the call runs")
            other.call("tensor.release", tensors=[a])
            less(3999, held(other)["intermediates"][1])
        d.receive()
        d.call("tensor.release", all=True)
        equal(held(other), {})


def test_an_answer_is_charged_until_it_is_read(f):
    with f.connect() as d, f.connect() as other:
        other.call("server.hello", session_key=d.call("server.hello")["session_key"])
        t = d.op("aten::ones", [BYTES * 3 // 4], dtype="uint8", returns="handle")["tensor"]
        raises(lambda: other.call("tensor.read", tensor=t), "ResourceExhausted",
               "intermediates: ", "bytes asked for", "(session_intermediate_bytes)")
        equal(held(other), {"tensors": (1, BYTES * 3 // 4)})
        d.send("tensor.read", tensor=t, **{"as": "attachment"})  # and is not read
        wait_until(lambda: "intermediates" in held(other), "the answer waits")
        equal(held(other)["intermediates"], (0, BYTES * 3 // 4))
        raises(lambda: other.call("tensor.read", tensor=t, **{"as": "attachment"}), "ResourceExhausted",
               f"intermediates: {BYTES * 3 // 4} bytes asked for, {BYTES // 4} of {BYTES} left")
        d.receive()
        wait_until(lambda: "intermediates" not in held(other), "it is read")


def test_a_refused_call_releases_its_storage(f):
    """order_widen() releases its cast also when the wider copy cannot be allocated."""
    with f.connect() as watch:
        f.alone(watch)
        with f.connect() as d:
            a = d.op("aten::full", [1000, 200], 1, dtype="float32", returns="handle")["tensor"]
            wide = d.op("aten::expand", {"tensor": a}, [1 << 30, 1000, 200], returns="handle")["tensor"]
            raises(lambda: d.op("aten::isin.Tensor_Tensor", {"tensor": a}, {"tensor": wide}), "ResourceExhausted")
        wait_until(lambda: watch.call("server.status")["live_tensors"] == 0, "its tensors are released")


def test_status_shows_a_running_program(f):
    with f.connect() as d, f.connect() as watch, f.gate() as gate:
        d.send("program.run", inputs={"x": {"data": [1] * 1000}}, outputs=["z"],
               steps=[{"op": "aten::neg", "args": [ref("x")], "as": ["y"]},
                      {"op": "sleeps::until", "args": [ref("y"), gate.path], "as": ["z"]}])
        wait_until(lambda: watch.call("server.status")["account"]["intermediates"]["bytes"] >= 4000,
                   "its values are seen")
        less(1, watch.call("server.status")["account"]["intermediates"]["count"])
        gate.open()
        d.receive()


def test_the_end_of_a_session_gives_everything_back(f):
    with f.connect() as watch:
        with f.connect() as d:
            zeros(d, 100)
            d.call("generator.create", seed=1)
            equal(held(d), {"tensors": (1, 400), "generators": (1, 5056)})
        wait_until(lambda: set(map(str, watch.call("server.status")["account"].values())) == {str(NOTHING)},
                   "nothing is held")


def test_freed_memory_is_kept_until_the_last_session_ends():
    megabytes = 64
    # Under AddressSanitizer nothing is kept, but by its own quarantine of 256 MiB.
    exact = "address" in os.path.basename(BUILD)
    with TestDaemon(env={"ASAN_OPTIONS": ASAN_OPTIONS + ":quarantine_size_mb=1"}) as daemon:
        before = daemon.resident_kb()
        with daemon.connect() as d:
            d.release(d.op("aten::ones", [megabytes << 20], dtype="uint8", returns="handle")["tensor"])
            if not exact:
                less((megabytes - 8) << 10, daemon.resident_kb() - before, "kB that are kept")
            less(megabytes << 20, d.call("server.hello")["limits"]["warm_bytes"] + 1, "bytes")
        wait_until(lambda: daemon.resident_kb() - before < 16 << 10, "freed memory to go back")


def test_memory_of_unread_answers_goes_back():
    """What the C library keeps is bounded, however many threads printed: 300 MB of answers are dropped."""
    if SANITIZED:
        return
    with TestDaemon() as daemon:
        before, request = daemon.resident_kb(), json.dumps({
            "jsonrpc": "2.0", "id": 1, "method": "op.call",
            "params": {"op": "aten::ones", "args": [[3000]], "return": "data"}}).encode() + b"\n"
        with daemon.connect() as d:
            clients = [daemon.connect() for _ in range(150)]
            for c in clients:
                c.send_bytes(request * 400)
            wait_until(lambda: daemon.resident_kb() - before > 250 << 10, "answers wait to be read", 60)
            for c in clients:
                c.close()
            wait_until(lambda: d.call("server.status")["connections"] == 1, "they are gone", 60)
        wait_until(lambda: daemon.resident_kb() - before < 160 << 10, "the memory to go back")


main(setup, TestDaemon.finish)
