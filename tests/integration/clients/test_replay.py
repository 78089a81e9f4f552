"""test_replay.py -- dispatchctl record and replay: what a client did is in the file, and a wrong kernel is named."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from harness import BUILD, ROOT, SANITIZED, contains, equal, main
from daemon import TestDaemon

PLUGINS = os.path.join(BUILD, "tests", "plugins")
NPU, WRONG = (os.path.join(PLUGINS, name + ".so") for name in ("npu", "npu_wrong"))
BEGIN = """
import os, struct, sys
import dispatchd
d = dispatchd.connect()
def h(t): return {"tensor": t["tensor"]}
def ones(n, x=1.5): return struct.pack("<f", x) * n
"""


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__()
        self.files = tempfile.TemporaryDirectory()

    def done(self):
        self.files.cleanup()
        self.finish()

    def path(self, name):
        return os.path.join(self.files.name, name)

    def ctl(self, *words, status=0, env=None):
        """Run dispatchctl; returns (standard output, standard error)."""
        done = subprocess.run([os.path.join(BUILD, "dispatchctl"), *words], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "DISPATCHD_SOCKET": self.socket, "TMPDIR": self.files.name, **(env or {})})
        equal(done.returncode, status, f"exit code of {words}; {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def record(self, name, program, *options, status=0):
        """Record a Python program; returns the path of the file."""
        path = self.path(name)
        self.ctl("record", path, *options, "--", sys.executable, "-c", BEGIN + program, status=status,
                 env={"PYTHONPATH": os.path.join(ROOT, "clients", "python")})
        return path

    def replay(self, path, *words, status=0):
        return json.loads(self.ctl("replay", path, *words, "--json", status=status)[0])


SESSION = """
x = d.op("aten::add.Tensor", {"data": [1, 2]}, 10)
y = d.op("aten::exp", h(x))
big = d.call("tensor.create", dtype="float32", shape=[200, 200], attachment=ones(40000))
twin = d.call("tensor.create", dtype="float32", shape=[200, 200], attachment=ones(40000))
d.op("aten::mm", h(big), h(twin), into=-1)
d.op("aten::add_.Tensor", {"tensor": -1}, 1)
assert d.op("aten::sum", {"tensor": -1}, returns="data")["data"] == 200 * 200 * 451
d.release({"tensor": -1})
d.op("aten::neg", h(x), into=-1)
try:
    d.op("aten::mm", h(x), h(x))
except dispatchd.Error as e:
    assert e.type == "RuntimeError"
p = d.call("program.create", inputs=[{"name": "x", "type": "Tensor"}], outputs=["z"],
           steps=[{"op": "aten::mul.Tensor", "args": [{"ref": "x"}, 3], "as": ["y"]},
                  {"op": "aten::relu", "args": [{"ref": "y"}], "as": ["z"]}])["program"]
assert d.call("program.run", program=p, inputs={"x": {"data": [2]}}, **{"return": "data"})["outputs"][0]["data"] == [6]
"""


def test_a_session_replays_equal(f):
    path = f.record("session", SESSION)
    equal(os.path.getsize(path) < 200 * 200 * 4 * 1.2, True, "an input that was sent twice is there once")
    equal(os.path.getsize(path) > 200 * 200 * 4, True, "and it is there")
    found = f.replay(path)
    equal([found[k] for k in ("calls", "same", "close", "differ", "behind", "not_made")], [12, 12, 0, 0, 0, 0])
    contains(f.ctl("replay", path)[0], "12 calls on the recorded devices beside cpu\n12 the same, 0 within the tolerance, 0 differ\n")


def test_it_replays_on_another_device(f):
    path = f.record("session", SESSION)
    found = f.replay(path, "--plugin", NPU, "--device", "npu")
    equal([found[k] for k in ("calls", "same", "differ", "not_made", "unread")], [12, 12, 0, 0, 0])
    found = f.replay(path, "--plugin", NPU, NPU, "--device", "npu:1")
    equal([found[k] for k in ("calls", "same", "beside", "on")], [12, 12, NPU, NPU])


CHAIN = """
x = d.call("tensor.create", data=[1, 4, 9])
r = d.op("aten::sqrt", h(x))
y = d.op("aten::exp", h(r))
z = d.op("aten::mul.Tensor", h(y), 2)
w = d.op("aten::add.Tensor", h(z), h(z))
for i in range(5):
    w = d.op("aten::sin", h(w))
d.op("aten::exp", h(x))
"""


def test_a_wrong_kernel_is_named_and_nothing_behind_it(f):
    path = f.record("chain", CHAIN)
    found = f.replay(path, "--plugin", NPU, WRONG, "--device", "npu", status=1)
    equal([found[k] for k in ("calls", "same", "close", "differ", "behind")], [11, 8, 1, 2, 0])
    equal((found["first"]["op"], found["first"]["call"], found["first"]["verdict"]), ("aten::sqrt", 2, "pass"))
    equal((found["matters"]["op"], found["matters"]["call"], found["matters"]["verdict"]), ("aten::exp", 3, "differs"))
    contains(found["matters"]["why"], "output 0: element [0] is -1, want 2.718281")
    equal([(o["op"], o["differ"]) for o in found["ops"] if o["differ"]], [("aten::exp", 2)])
    out = f.ctl("replay", path, "--plugin", NPU, WRONG, "--device", "npu", status=1)[0].splitlines()
    contains(out[1], "first difference: call 2, aten::sqrt: output 0 is not the same bits")
    contains(out[3], "first that matters: call 3, aten::exp: ")
    equal(out[5], "  aten::exp                        2 of 2 calls differ")


def test_the_step_of_a_program_is_named(f):
    steps = """[{"op": "aten::mul.Tensor", "args": [{"ref": "x"}, {"ref": "k"}], "as": ["y"]},
                {"op": "aten::add_.Tensor", "args": [{"ref": "y"}, 1], "as": ["y1"]},
                {"op": "aten::sqrt", "args": [{"ref": "y"}], "as": ["s"]},
                {"op": "aten::exp", "args": [{"ref": "s"}], "as": ["e"]},
                {"op": "aten::sum", "args": [{"ref": "e"}], "as": ["z"]}]"""
    inputs = '[{"name": "x", "type": "Tensor"}]'
    path = f.record("program", f"""
k = d.op("aten::ones", [2])
p = d.call("program.create", inputs={inputs}, constants={{"k": h(k)}}, outputs=["z"], steps={steps})["program"]
d.release(k)
d.call("program.run", program=p, inputs={{"x": {{"data": [2, 3]}}}})
""")
    found = f.replay(path, "--plugin", NPU, WRONG, "--device", "npu", status=1)
    equal([found["matters"].get(k) for k in ("call", "op", "step")], [4, "program.run", None])  # its constant is released
    path = f.record("program", f"""
k = d.op("aten::ones", [2])
d.call("program.run", inputs={{"x": {{"data": [2, 3]}}, "k": h(k)}}, outputs=["z"], steps={steps})
p = d.call("program.create", inputs={inputs}, constants={{"k": h(k)}}, outputs=["z"], steps={steps})["program"]
d.call("program.run", program=p, inputs={{"x": {{"data": [2, 3]}}}})
d.release(k)
""")
    found = f.replay(path, "--plugin", NPU, WRONG, "--device", "npu", status=1)
    equal([found["matters"].get(k) for k in ("call", "op", "step")], [2, "aten::exp", 3])
    contains(f.ctl("replay", path, "--plugin", NPU, WRONG, "--device", "npu", status=1)[0],
             "first that matters: call 2, aten::exp, step 3: output 0: element [0] is -1.7320")
    equal([(o["op"], o["differ"]) for o in found["ops"] if o["differ"]], [("program.run", 2)])


def test_names_of_tensors_do_not_meet(f):
    path = f.record("names", """
d.call("tensor.create", data=[1, 2], name="weights")
w = d.call("tensor.open", name="weights")
d.op("aten::neg", h(w))
d.call("tensor.name", tensor=w["tensor"], name="other")
""")
    found = f.replay(path)
    equal([found[k] for k in ("calls", "same", "not_made")], [4, 4, 0])
    with f.connect() as d:
        equal(sorted(n["name"] for n in d.call("tensor.names")["names"]), ["other", "weights"])
        for name in "other", "weights":
            d.call("tensor.unlink", name=name)


def test_values_that_are_no_tensors_are_compared(f):
    path = f.record("equal", 'x = d.op("aten::ones", [2])\nassert d.op("aten::equal", h(x), h(x)) is True\n')
    found = f.replay(path, "--plugin", NPU, WRONG, "--device", "npu", status=1)
    equal((found["matters"]["op"], found["matters"]["why"]), ("aten::equal", "output 0: false, want true"))


def test_a_wrong_write_reaches_no_other_tensor(f):
    path = f.record("views", """
x = d.call("tensor.create", data=[[1, 2], [3, 4]], device="cpu")
t = d.op("aten::t", h(x))
row = d.op("aten::select.int", h(t), 0, 1)
d.op("aten::mul_.Tensor", h(row), h(row))
d.op("aten::add.Tensor", h(x), h(t))
d.op("aten::_foreach_mul_.Scalar", [h(x)], 3)
d.op("aten::clone", h(t), memory_format="contiguous_format")
out = d.op("aten::empty", [0])
d.op("aten::exp.out", h(x), out=h(out))
d.op("aten::neg", h(out))
w = d.op("aten::exp", h(t))
d.op("aten::view", h(d.op("aten::t", h(w))), [4])
""")
    found = f.replay(path, "--plugin", NPU, WRONG, "--device", "npu", status=1)
    equal([(o["op"], o["differ"]) for o in found["ops"] if o["differ"]], [("aten::mul_.Tensor", 1), ("aten::exp", 1)])
    equal([found[k] for k in ("calls", "differ", "behind", "not_made")], [13, 2, 0, 0])


def test_gradients_of_a_wrong_kernel_are_behind_it(f):
    path = f.record("gradients", """
x = d.call("tensor.create", data=[1, 2], requires_grad=True)
y = d.op("aten::exp", h(x))
d.call("grad.backward", tensors=[h(d.op("aten::sum", h(y)))])
g = d.call("grad.get", tensor=x["tensor"])["grad"]
d.op("aten::neg", h(g))
d.call("grad.zero", tensors=[h(x)])
d.call("grad.backward", tensors=[h(d.op("aten::sum", h(d.op("aten::sqrt", h(x)))))])
d.call("grad.get", tensor=x["tensor"])
""")
    equal(f.replay(path)["same"], 11)
    found = f.replay(path, "--plugin", NPU, WRONG, "--device", "npu", status=1)
    equal([(o["op"], o["differ"]) for o in found["ops"] if o["differ"]], [("aten::exp", 1)])
    equal((found["calls"], found["differ"], found["behind"] > 0), (11, 1, True))


def test_a_call_that_ends_the_daemon_is_named(f):
    path = f.record("crash", """
x = d.op("aten::ones", [2])
d.op("aten::sinh", h(x))
d.op("aten::neg", h(x))
""")
    found = f.replay(path, "--plugin", NPU, WRONG, "--device", "npu", status=1)
    equal([found["matters"][k] for k in ("call", "op", "verdict")], [2, "aten::sinh", "crashed"])
    found = json.loads(f.ctl("bisect", path, *builds(f, NPU, WRONG, WRONG), "--device", "npu", "--json", status=1)[0])
    equal((found["first"][-10:], found["fault"]["verdict"]), ("build_2.so", "crashed"))


def test_the_last_call_of_a_daemon_is_recorded(f):
    with TestDaemon("--plugin", WRONG) as other:
        try:
            path = f.path("last")
            f.ctl("--socket", other.socket, "record", path, "--", sys.executable, "-c", BEGIN + """
x = d.op("aten::ones", [2], device="npu")
d.op("aten::sinh", h(x))
""", status=1, env={"PYTHONPATH": os.path.join(ROOT, "clients", "python")})
        finally:
            other.process.wait(60)
            other.finish = other.stop = lambda *_: None
    found = f.replay(path, "--plugin", WRONG, status=1)
    equal([found["matters"][k] for k in ("call", "op", "verdict")], [2, "aten::sinh", "crashed"])
    equal(f.replay(path, "--plugin", NPU)["same"], 2)


def test_sessions_and_batches_and_notifications(f):
    path = f.record("sessions", """
hello = d.call("server.hello", linger_ms=60000)
x = d.op("aten::ones", [2])
alone = dispatchd.connect()
y = alone.op("aten::zeros", [2])
assert y["tensor"] == x["tensor"]
d.close()
alone.op("aten::neg", h(y))
again = dispatchd.connect()
again.call("server.hello", session_key=hello["session_key"])
again.op("aten::exp", h(x))
again.notify("op.call", op="aten::exp", args=[h(x)], into=-1)
again.notify("op.call", op="aten::exp", args=[{"tensor": -1}], into=-2)
again.send_message([{"jsonrpc": "2.0", "id": 1, "method": "op.call", "params": {"op": "aten::neg", "args": [{"tensor": -2}]}},
                    {"jsonrpc": "2.0", "method": "op.call", "params": {"op": "aten::neg", "args": [{"tensor": -1}], "into": -3}},
                    {"jsonrpc": "2.0", "id": 2, "method": "server.status"},
                    {"jsonrpc": "2.0", "id": "x", "method": "op.call", "params": {"op": "aten::cos", "args": [{"tensor": -3}]}}])
assert [a["id"] for a in again.receive_message()] == [1, 2, "x"]
alone.call("session.end", session=hello["session"])
""")
    found = f.replay(path)
    equal([found[k] for k in ("calls", "same", "not_made")], [9, 9, 0])
    equal([o["calls"] for o in found["ops"]], [1, 1, 3, 3, 1])


def spoil(f, path, name, change):
    """A copy of a file, of which `change` makes other bytes."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    with open(f.path(name), "wb") as file:
        file.write(change(data))
    return f.path(name)


def flipped(data, at):
    data[at] ^= 1
    return data


def test_a_recording_without_calls_is_no_success(f):
    """A program that talks to another daemon looks as if it made none."""
    path = f.path("empty")
    contains(f.ctl("record", path, "--", "true")[1],
             f"0 calls in {path}: no client has called by the socket that DISPATCHD_SOCKET names")
    contains(f.ctl("replay", path, status=1)[1], f"{path} has no calls: nothing was compared")


def test_a_device_that_is_not_there_is_no_fault_of_a_call(f):
    path = f.record("chain", CHAIN)
    for words in (("--device", "npu9"), ("--against", "npu9"), ("--plugin", NPU, "--device", "npu9")):
        out, err = f.ctl("replay", path, *words, status=1)
        equal(out, "")
        contains(err, "dispatchctl: device npu9: ")
        contains(err, "no device 'npu9'; there are cpu,")


def test_a_torn_file_is_replayed_up_to_the_tear(f):
    path = f.record("chain", CHAIN)
    size = os.path.getsize(path)
    torn = spoil(f, path, "torn", lambda data: data[:size - 300])
    out, err = f.ctl("replay", torn, status=1)
    contains(out, "10 calls on the recorded devices beside cpu\n10 the same")
    contains(err, f"of {size - 300}: the file is torn")
    end = spoil(f, path, "end", lambda data: data[:data.rindex(b'{"calls"') - 24])
    out, err = f.ctl("replay", end, status=1)
    contains(out, "11 calls on the recorded devices beside cpu\n11 the same")
    contains(err, "the recording ends here without its last frame")
    more = spoil(f, path, "more", lambda data: data + b"!")
    contains(f.ctl("replay", more, status=1)[1], "the recording has ended, but more bytes follow")
    for n in (0, 10, 24, 30, 47, 48):
        short = spoil(f, path, "short", lambda data: data[:n])
        contains(f.ctl("replay", short, status=2 if n < 24 else 1)[1], "is no recording" if n < 24 else f"of {n}: the ")


def test_a_damaged_file_is_replayed_up_to_the_damage(f):
    path = f.record("session", SESSION)
    with open(path, "rb") as file:
        data = file.read()
    for at, calls in ((data.index(b'"op":"aten::mm"'), 4), (data.index(b"\0\0\xc0?" * 100) + 700, 2)):
        out, err = f.ctl("replay", spoil(f, path, "flipped", lambda data: flipped(data, at)), status=1)
        contains(out, f"{calls} calls on the recorded devices beside cpu\n{calls} the same")
        contains(err, "the file is damaged: the checksum of this frame is another")


def test_foreign_and_newer_files_are_refused(f):
    path = f.record("chain", CHAIN)
    for verb, *words in (["replay"], ["bisect", NPU, NPU]):
        contains(f.ctl(verb, NPU, *words, status=2)[1], "npu.so is no recording: it does not begin with 'dispatchd-recording'")
        newer = spoil(f, path, "newer", lambda data: flipped(flipped(data, 20), 21))
        contains(f.ctl(verb, newer, *words, status=2)[1], "newer has version 256 of the format, this dispatchctl reads 1")
        contains(f.ctl(verb, f.path("none"), *words, status=2)[1], "No such file")
        contains(f.ctl(verb, f.files.name, *words, status=2)[1], "is no regular file")


def test_a_frame_that_claims_to_be_huge_is_torn(f):
    path = f.record("chain", CHAIN)

    def grow(data):
        data[32:40] = (10 << 30).to_bytes(8, "little")  # the length of the first frame's body
        return data
    contains(f.ctl("replay", spoil(f, path, "huge", grow), status=1)[1], "byte 24 of ")


def test_a_sparse_file_of_10_gb_needs_no_memory(f):
    path = f.record("chain", CHAIN)
    with open(path, "rb") as file:
        data = file.read()
    large = f.path("large")
    with open(large, "wb") as file:
        file.write(data[:data.rindex(b'{"calls"') - 24])
        file.write((2).to_bytes(4, "little") + bytes(4) + (10 << 30).to_bytes(8, "little") + bytes(8))
        file.seek(10 << 30, os.SEEK_CUR)  # bytes that no call names
        file.write(data[data.rindex(b'{"calls"') - 24:])
    limit = "ulimit -v 200000; exec " + os.path.join(BUILD, "dispatchctl") + ' replay "$1"'
    if SANITIZED:  # whose shadow memory takes more
        limit = limit[len("ulimit -v 200000; "):]
    done = subprocess.run(["sh", "-c", limit, "sh", large], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "DISPATCHD_SOCKET": f.socket})
    equal((done.returncode, done.stderr), (0, ""))
    contains(done.stdout, "11 calls on the recorded devices beside cpu\n11 the same")


def test_a_client_that_leaves(f):
    path = f.record("left", """
x = d.op("aten::ones", [2])
d.op("aten::neg", h(x), into=-1)
d.send("op.call", op="aten::exp", args=[{"tensor": -1}], into=-2)
d.send_bytes(b'{"jsonrpc":"2.0","id":77,"method":"op.c')
os._exit(3)
""", status=3)
    found = f.replay(path)
    equal([found[k] for k in ("calls", "same", "not_made")], [3, 3, 0])


def test_the_reason_of_a_closed_connection_passes(f):
    """The daemon answers an error and closes while the client still sends."""
    f.record("closed", """
for _ in range(5):
    e = dispatchd.connect()
    e.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"tensor.list","attachments":[%d]}\\n' % (1 << 40))
    try:
        while True:
            e.send_bytes(bytes(1 << 20))
    except (BrokenPipeError, ConnectionResetError):
        pass
    assert "attachment" in e.receive_message()["error"]["message"]
""")


def test_descriptors_pass_and_are_recorded(f):
    path = f.record("shared", """
big = ones(50000)
fd = dispatchd.share(big)
d.send("op.call", op="aten::neg", args=[{"data": [1]}], into=-9)
d.send("tensor.create", dtype="float32", shape=[50000], fd=fd, into=-1)
d.send("op.call", op="aten::sum", args=[{"tensor": -1}], into=-2)
for _ in range(3): d.receive()
t = d.call("tensor.create", dtype="float32", shape=[49999], map=fd.map, offset=4)
assert d.op("aten::sum", h(t), returns="data")["data"] == 49999 * 1.5
described, memory = d.map(t)
assert bytes(memory) == big[4:]
with d.open() as e:
    assert e.op("aten::neg", {"tensor": -9}, returns="data")["data"] == [1]
    with e.open() as third:
        third.op("aten::exp", {"tensor": -2})
d.op("aten::exp", {"tensor": -9})
""")
    found = f.replay(path)
    equal([found[k] for k in ("calls", "same", "not_made")], [8, 8, 0])
    found = f.replay(path, "--plugin", NPU, WRONG, "--device", "npu", status=1)
    equal([o["op"] for o in found["ops"] if o["differ"]], ["aten::exp"])


def test_large_inputs_may_be_left_out(f):
    path = f.record("without", SESSION, "--without-large")
    equal(os.path.getsize(path) < 20000, True, "the file is small")
    out = f.ctl("replay", path)[0]
    contains(out, "12 calls on the recorded devices beside cpu\n12 the same")
    contains(out, "large inputs are not in the recording: numbers were drawn in their place\n")


def builds(f, *sources):
    """Copies of plugins, as builds that follow one another."""
    paths = [f.path(f"build_{i}.so") for i in range(1, len(sources) + 1)]
    for source, path in zip(sources, paths):
        shutil.copy(source, path)
    return paths


def test_bisect_finds_the_fourth_of_six_builds(f):
    path = f.record("chain", CHAIN)
    paths = builds(f, NPU, NPU, NPU, WRONG, WRONG, WRONG)
    out = f.ctl("bisect", path, *paths, "--device", "npu", status=1)[0].splitlines()
    equal(out[:-2], [f"{paths[5]}: differs", f"{paths[2]}: the same", f"{paths[3]}: differs",
                     f"first that differs: {paths[3]}, number 4 of 6"])
    contains(out[-2], "there: call 3, aten::exp: output 0: element [0] is -1, want 2.718281")
    found = json.loads(f.ctl("bisect", path, *paths, "--device", "npu", "--json", status=1)[0])
    equal((found["first"], found["before"], found["fault"]["op"]), (paths[3], paths[2], "aten::exp"))
    out = f.ctl("bisect", path, *paths[:3], "--device", "npu")[0].splitlines()
    equal(out[-1], "the last build gives what the first one gives, on npu")


if __name__ == "__main__":
    main(Fixture, Fixture.done)
