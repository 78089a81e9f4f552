"""test_store.py -- store.save and store.load: bytes are exact, a file is old or new and never half, what
stops in the middle leaves nothing."""

import json
import os
import resource
import signal
import struct
import subprocess
import tempfile
import threading
import time

from harness import BUILD, ROOT, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon
import dispatchd

# Elements of each dtype: its name in the format, and bytes with special values.
DTYPES = {
    "float64": ("F64", struct.pack("<4d", 1.5, float("nan"), float("-inf"), 5e-324)),
    "float32": ("F32", struct.pack("<4f", 1.5, float("nan"), float("-inf"), 1e-45)),
    "float16": ("F16", bytes.fromhex("003c007e00fc0100")),
    "bfloat16": ("BF16", bytes.fromhex("803fc07f80ff0100")),
    "int64": ("I64", struct.pack("<4q", -2**63, 2**63 - 1, 0, -1)),
    "int32": ("I32", struct.pack("<4i", -2**31, 2**31 - 1, 0, -1)),
    "int16": ("I16", struct.pack("<4h", -2**15, 2**15 - 1, 0, -1)),
    "int8": ("I8", struct.pack("<4b", -128, 127, 0, -1)),
    "uint8": ("U8", bytes([0, 1, 128, 255])),
    "bool": ("BOOL", bytes([0, 1, 1, 0])),
    "complex64": ("C64", struct.pack("<8f", *range(7), float("nan"))),
}
BIG = 32 << 20  # bytes of a tensor that takes many pieces
MANY = 24  # how often it is saved into one file, so that the file takes a while


class Fixture:
    def __init__(self, *options, **more):
        self.daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"), "--data-path",
                                 self.folder(), *options, **more)
        self.d = self.daemon.connect()

    def folder(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-data-")
        return self.dir

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)

    def left(self):
        """Temporary files in the directory."""
        return [n for n in os.listdir(self.dir) if n.startswith(".dispatchd-")]


def finish(f):
    f.d.close()
    f.daemon.finish()
    subprocess.run(["rm", "-rf", f.dir], check=True)


def refuse(f, type_, parts, method, **params):
    raises(lambda: f.d.call(method, **params), type_, *parts)


def read_file(path):
    """A reader of the format: {name: (dtype, shape, bytes)}, metadata."""
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    metadata = header.pop("__metadata__", {})
    spans = sorted(t["data_offsets"] for t in header.values())
    equal([a for a, _ in spans] + [len(data) - 8 - n], [0, *(b for _, b in spans)], "offsets without gaps")
    return {name: (t["dtype"], t["shape"], data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]])
            for name, t in header.items()}, metadata


def file_of(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def create(d, dtype, shape, data, **more):
    return d.call("tensor.create", dtype=dtype, shape=shape, attachment=data, **more)["tensor"]


def attachment(d, handle):
    return d.call("tensor.read", tensor=handle, **{"as": "attachment"})["attachment"]


def big(d):
    t = d.op("aten::full", [BIG // 4], 1.5)["tensor"]
    return {f"w{i:02}": t for i in range(MANY)}


def release(f):
    f.d.call("tensor.release", all=True)


def test_every_dtype_bit_for_bit(f):
    made = {dtype: create(f.d, dtype, [2, 2], data) for dtype, (_, data) in DTYPES.items()}
    made["empty"] = create(f.d, "int16", [0, 3], b"")
    made["0-dim"] = create(f.d, "int16", [], b"\x01\x02")
    saved = f.d.call("store.save", path="all", tensors=made, metadata={"é": "\"\n"})
    equal(saved, {"tensors": len(made), "bytes": os.path.getsize(f.path("all"))})
    got, metadata = read_file(f.path("all"))
    equal(metadata, {"é": "\"\n"})
    want = {dtype: (name, [2, 2], data) for dtype, (name, data) in DTYPES.items()}
    equal(got, {**want, "empty": ("I16", [0, 3], b""), "0-dim": ("I16", [], b"\x01\x02")})
    loaded = f.d.call("store.load", path="all")
    equal(loaded["metadata"], metadata)
    equal(set(loaded["tensors"]), set(made))
    for name, t in loaded["tensors"].items():
        before = f.d.call("tensor.describe", tensor=made[name])
        equal((t["dtype"], t["shape"], t["requires_grad"]), (before["dtype"], before["shape"], False), name)
        equal(attachment(f.d, t["tensor"]), attachment(f.d, made[name]), name)
    release(f)


def test_real_files(f):
    for name in ("digits", "digits_cnn", "digits_training"):
        with open(os.path.join(ROOT, "tests", "data", name + ".safetensors"), "rb") as real:
            f.write("real", real.read())
        loaded = f.d.call("store.load", path="real")
        f.d.call("store.save", path="again", tensors={n: t["tensor"] for n, t in loaded["tensors"].items()},
                 metadata=loaded["metadata"])
        equal(read_file(f.path("again")), read_file(f.path("real")), name)
    release(f)


def test_tensors_that_are_not_contiguous(f):
    d, h = f.d, lambda t: {"tensor": t["tensor"]}
    n = 700  # so that a row, and a transposed matrix, take several pieces
    square = h(d.op("aten::reshape", h(d.op("aten::arange", n * n, dtype="float32")), [n, n]))
    z = h(d.op("aten::view_as_complex", h(d.op("aten::reshape", square, [n * n // 2, 2]))))
    views = {
        "t": d.op("aten::t", square), "column": d.op("aten::select.int", square, 1, 3),
        "expanded": d.op("aten::expand", h(d.op("aten::select.int", square, 0, 3)), [3, n]),
        "step": d.op("aten::slice.Tensor", square, 1, 1, n, 3), "conj": d.op("aten::_conj", z),
        "neg": d.op("aten::_neg_view", square), "many": d.op("aten::permute", h(d.op("aten::reshape", square, [n, 7, 10, 10])), [2, 0, 3, 1]),
        "scalar": d.op("aten::_neg_view", h(d.op("aten::select.int", h(d.op("aten::select.int", square, 0, 1)), 0, 1))),
        "row": d.op("aten::t", h(d.op("aten::expand", h(d.op("aten::reshape", square, [1, n * n])), [2, n * n]))),
    }
    d.call("store.save", path="views", tensors={name: t["tensor"] for name, t in views.items()})
    got, _ = read_file(f.path("views"))
    for name, t in views.items():
        equal(got[name][1], t["shape"], name)
        equal(got[name][2] == attachment(d, t["tensor"]), True, name)
    release(f)


def test_a_device_is_saved_through_the_host(f):
    f.d.call("plugin.load", path="async_device")
    t = f.d.op("sim::to", {"data": [1, 2, 3]}, 0)
    f.d.call("store.save", path="device", tensors={"there": t["tensor"]})
    equal(read_file(f.path("device"))[0], {"there": ("F32", [3], struct.pack("<3f", 1, 2, 3))})
    release(f)
    f.d.call("plugin.unload", plugin="async_device")


def test_named_tensors_are_saved_by_name(f):
    f.d.call("tensor.create", data=[1, 2], name="a.w")
    f.d.call("tensor.create", data=[3], name="a.b")
    f.d.call("store.save", path="named", names=["a.w", "a.b"])
    equal({n: t[1] for n, t in read_file(f.path("named"))[0].items()}, {"a.w": [2], "a.b": [1]})
    refuse(f, "ValueError", ["two tensors have the name 'a.w'"], "store.save", path="named", names=["a.w", "a.w"])
    refuse(f, "NotFound", ["names[1]: no tensor", "did you mean 'a.w'?"], "store.save", path="named", names=["a.b", "a.ww"])
    for name in ("a.w", "a.b"):
        f.d.call("tensor.unlink", name=name)
    release(f)


def test_a_prefix_chooses_tensors(f):
    h = create(f.d, "uint8", [1], b"x")
    f.d.call("store.save", path="p", tensors={"enc.w": h, "enc.b": h, "dec.w": h})
    names = lambda **p: sorted(f.d.call("store.load", path="p", **p)["tensors"])
    equal(names(prefix="enc."), ["enc.b", "enc.w"])
    equal((names(prefix=""), names(prefix="x")), (["dec.w", "enc.b", "enc.w"], []))
    release(f)


def test_tensors_that_no_file_can_have(f):
    d = f.d
    meta = d.call("tensor.create", dtype="float32", shape=[3], device="meta")["tensor"]
    wide = d.call("tensor.create", dtype="complex128", data=[[1, 2]])["tensor"]
    good = d.call("tensor.create", data=[1])["tensor"]
    d.call("plugin.load", path="coo")
    parts = [{"tensor": d.call("tensor.create", data=[0], dtype=t)["tensor"]} for t in ("int64", "float32")]
    coo = d.op("coo::make", *parts, [4], 1, 0)["tensor"]
    before = sorted(os.listdir(f.dir))
    for handle, parts in ((meta, ["tensors.w", "device meta has no elements"]), (wide, ["no dtype complex128"]),
                          (coo, ["wrapper tensor of kind 'coo'"])):
        refuse(f, "NotImplementedError", parts, "store.save", path="no", tensors={"a": good, "w": handle})
    refuse(f, "NotFound", ["tensors.w: no tensor 123456"], "store.save", path="no", tensors={"w": 123456})
    refuse(f, "ValueError", ["tensors.__metadata__"], "store.save", path="no", tensors={"__metadata__": good})
    refuse(f, "InvalidParams", ["1 to 1023 bytes"], "store.save", path="no", tensors={"": good})
    refuse(f, "InvalidParams", ["either 'tensors' or 'names'"], "store.save", path="no")
    equal(sorted(os.listdir(f.dir)), before)
    release(f)


def test_no_path_leads_out(f):
    h = create(f.d, "uint8", [1], b"x")
    os.symlink("/etc", f.path("etc"))
    f.d.call("store.save", path="target", tensors={"w": h})
    os.symlink("target", f.path("link"))
    os.mkfifo(f.path("fifo"))
    os.mkdir(f.path("sub"))
    f.d.call("store.save", path="sub/file", tensors={"w": h})
    equal(list(f.d.call("store.load", path="sub/file")["tensors"]), ["w"])
    for path in ("/etc/passwd", "../x", "sub/../target", "etc/passwd", "link", "sub/.."):
        refuse(f, "PermissionError", [f"'{path}'"], "store.load", path=path)
        refuse(f, "PermissionError", [f"'{path}'"], "store.save", path=path, tensors={"w": h})
    refuse(f, "ValueError", ["'fifo' is no regular file"], "store.load", path="fifo")
    refuse(f, "ValueError", ["'fifo' is no regular file"], "store.save", path="fifo", tensors={"w": h})
    refuse(f, "ValueError", ["'sub' is no regular file"], "store.load", path="sub")
    refuse(f, "NotFound", ["'none'", "No such file"], "store.load", path="none")
    equal(f.left(), [])
    release(f)


def test_files_that_are_none(f):
    one = {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    good = file_of(one, bytes(8))
    for data, parts in ((b"", ["0 bytes"]), (b"1234567", ["7 bytes"]), (good[:20], ["announced"]),
                        (good[:-1], ["8 bytes but the file has 7"]), (good + b"x", ["8 bytes but the file has 9"]),
                        (file_of(b"[]"), ["'{'"]), (file_of(b"{\xff}"), ["header"]),
                        (file_of({"b": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}, b"\1\2"),
                         ["element 1 of tensor 'b' is 2, but a BOOL is 0 or 1"])):
        f.write("bad", data)
        refuse(f, "ValueError", ["'bad'", *parts], "store.load", path="bad")
    f.write("bad", struct.pack("<Q", (16 << 20) + 1) + bytes((16 << 20) + 1))
    refuse(f, "ResourceExhausted", ["store_header_bytes"], "store.load", path="bad")
    many = ",".join(f'"{i}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}' for i in range((1 << 16) + 1))
    f.write("bad", file_of(("{" + many + "}").encode()))
    refuse(f, "ResourceExhausted", ["65537 tensors", "store_tensors"], "store.load", path="bad")
    equal(f.d.call("tensor.list")["tensors"], [])
    account = f.d.call("session.get")["account"]
    equal(account["intermediates"]["bytes"], 0, "bytes of headers")


def test_progress_comes_before_the_answer(f):
    tensors = big(f.d)
    for method, params in (("store.save", {"tensors": tensors}), ("store.load", {})):
        f.d.notifications.clear()
        f.d.call(method, path="big", progress=True, **params)
        got = [n["params"] for n in f.d.notifications if n["method"] == "store.progress"]
        less(0, len(got), "notifications")
        equal(len({p["id"] for p in got}), 1)
        done = [p["done"] for p in got]
        equal(done, sorted(done))
        equal((done[-1], {p["total"] for p in got}), (got[-1]["total"], {done[-1]}))
        f.d.notifications.clear()
    f.d.call("store.load", path="big", prefix="w00")
    equal(list(f.d.notifications), [], "nobody asked")
    release(f)


def begin_save(d, tensors):
    """Begin to replace `kept` and return the request's id when its first bytes are written."""
    d.send("store.save", path="kept", tensors=tensors, progress=True)
    while True:
        message = d.receive_message()
        if message.get("method") == "store.progress":
            return message["params"]["id"]
        raise AssertionError(f"the save ended before it was stopped: {message}")


def keep(f):
    f.d.call("store.save", path="kept", tensors={"old": create(f.d, "uint8", [3], b"old")})
    with open(f.path("kept"), "rb") as file:
        return file.read()


def still(f, old):
    with open(f.path("kept"), "rb") as file:
        equal(file.read(), old, "the old file")
    equal(f.left(), [], "temporary files")


def test_a_cancelled_save_leaves_the_old_file(f):
    old = keep(f)
    id_ = begin_save(f.d, big(f.d))
    f.d.send("call.cancel", id=id_)
    answer = f.d.receive_message()
    while "id" not in answer:
        answer = f.d.receive_message()
    equal(answer["error"]["data"]["type"], "Cancelled")
    equal(f.d.receive_message()["result"], {"waiting": True})
    f.d._sent.clear()
    still(f, old)
    refuse(f, "DeadlineExceeded", [], "store.save", path="kept", tensors=big(f.d), deadline_ms=20)
    wait_until(lambda: f.left() == [], "the temporary file is removed")
    still(f, old)
    release(f)


def test_a_client_that_leaves_stops_its_save(f):
    old = keep(f)
    other = f.daemon.connect()
    begin_save(other, big(other))
    other.close()
    wait_until(lambda: f.d.call("server.status")["sessions"] == 1, "the session is over")
    wait_until(lambda: f.left() == [], "the temporary file is removed")
    still(f, old)
    release(f)


def test_a_daemon_that_is_killed_leaves_the_old_file(f):
    f2 = Fixture()
    old = keep(f2)
    begin_save(f2.d, big(f2.d))
    f2.daemon.process.send_signal(signal.SIGKILL)
    f2.daemon.process.wait()
    f2.d.close()
    with open(f2.path("kept"), "rb") as file:
        equal(file.read(), old, "the old file")
    equal(len(f2.left()), 1, "temporary files of the killed daemon")
    with TestDaemon("--data-path", f2.dir) as again, again.connect() as d:
        equal(list(d.call("store.load", path="kept")["tensors"]), ["old"])
        h = create(d, "uint8", [3], b"new")
        d.call("store.save", path="kept", tensors={"new": h})
        equal(f2.left(), [])
        d.call("tensor.release", all=True)
    equal(list(read_file(f2.path("kept"))[0]), ["new"])
    subprocess.run(["rm", "-rf", f2.dir, f2.daemon.dir], check=True)


def test_a_full_disk_leaves_the_old_file(f):
    def bounded():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    f2 = Fixture("--no-plugins", preexec=bounded)
    old = keep(f2)
    t = create(f2.d, "uint8", [2 << 20], bytes(2 << 20))
    refuse(f2, "ResourceExhausted", ["'kept'", "File too large"], "store.save", path="kept", tensors={"w": t})
    still(f2, old)
    release(f2)
    finish(f2)
    mount = f.path("small")
    os.mkdir(mount)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", mount], capture_output=True).returncode != 0:
        return  # only root can
    try:
        t = f.d.op("aten::zeros", [1 << 20])["tensor"]
        refuse(f, "ResourceExhausted", ["'small/w'", "No space left"], "store.save", path="small/w", tensors={"w": t})
        equal(os.listdir(mount), [])
    finally:
        subprocess.run(["umount", mount], check=True)
    release(f)


def test_a_load_is_all_or_nothing(f):
    f2 = Fixture("--session-bytes", str(4 << 20))
    header = {f"w{i}": {"dtype": "U8", "shape": [1 << 20], "data_offsets": [i << 20, (i + 1) << 20]} for i in range(5)}
    f2.write("large", file_of(header, bytes(5 << 20)))
    refuse(f2, "ResourceExhausted", ["session_"], "store.load", path="large")
    equal(f2.d.call("tensor.list")["tensors"], [])
    equal({v["bytes"] for v in f2.d.call("session.get")["account"].values()}, {0})
    equal(len(f2.d.call("store.load", path="large", prefix="w3")["tensors"]), 1)
    with open(f2.path("sparse"), "wb") as file:  # a terabyte of holes
        file.write(file_of({"w": {"dtype": "U8", "shape": [1 << 40], "data_offsets": [0, 1 << 40]}}))
        file.truncate(file.tell() + (1 << 40))
    refuse(f2, "ResourceExhausted", ["session_"], "store.load", path="sparse")
    release(f2)
    finish(f2)


def test_a_load_gives_all_names_or_none(f):
    header = {f"w{i}": {"dtype": "U8", "shape": [2], "data_offsets": [2 * i, 2 * i + 2]} for i in range(3)}
    f.write("three", file_of(header, bytes(range(6))))
    named = lambda: [n["name"] for n in f.d.call("tensor.names")["names"]]
    taken = f.d.call("tensor.create", data=[7], name="w2")["tensor"]
    refuse(f, "AlreadyExists", ["the name 'w2' is taken by a tensor of dtype float32"], "store.load", path="three",
           named=True)
    equal((named(), [t["tensor"] for t in f.d.call("tensor.list")["tensors"]]), (["w2"], [taken]))
    f.d.call("tensor.unlink", name="w2")
    f.d.call("store.load", path="three", named=True, prefix="w1")
    equal(named(), ["w1"])
    f.d.call("tensor.unlink", name="w1")
    f.d.call("store.load", path="three", named=True)
    release(f)  # names stay
    equal([(n, f.d.call("tensor.read", tensor=f.d.call("tensor.open", name=n)["tensor"])["data"]) for n in named()],
          [("w0", [0, 1]), ("w1", [2, 3]), ("w2", [4, 5])])
    for name in named():
        f.d.call("tensor.unlink", name=name)
    f.d.send_message({"jsonrpc": "2.0", "method": "store.load", "params": {"path": "three", "named": True}})
    equal(named(), ["w0", "w1", "w2"], "names that a notification gave")
    for name in named():
        f.d.call("tensor.unlink", name=name)
    release(f)


def test_a_file_that_shrinks_while_it_is_read(f):
    """It is an error that says where the file ends; it is read and never mapped, so no signal comes."""
    n = 64 << 20
    whole = file_of({"w": {"dtype": "U8", "shape": [n], "data_offsets": [0, n]}})
    f.write("shrinks", whole)
    stop, told = threading.Event(), ""

    def shrink():
        with open(f.path("shrinks"), "r+b") as file:
            while not stop.is_set():
                file.truncate(len(whole) + n)
                time.sleep(0.01)
                file.truncate(len(whole) + 4096)
    thread = threading.Thread(target=shrink)
    thread.start()
    try:
        end = time.monotonic() + 60
        while "more were there when it was opened" not in told and time.monotonic() < end:
            try:
                f.d.release(f.d.call("store.load", path="shrinks")["tensors"]["w"])
            except dispatchd.Error as e:
                equal(e.type, "ValueError", e.message)
                told = e.message
    finally:
        stop.set()
        thread.join()
    contains(told, "'shrinks' ends at byte")
    equal({v["bytes"] for v in f.d.call("session.get")["account"].values()}, {0})


def test_two_who_save_one_file_leave_one_of_both(f):
    def save(name):
        with f.daemon.connect() as d:
            h = create(d, "uint8", [100000], name.encode() * 100000)
            for _ in range(20):
                d.call("store.save", path="raced", tensors={name: h})
    threads = [threading.Thread(target=save, args=(name,)) for name in "abc"]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        if os.path.exists(f.path("raced")):
            (name, (_, _, data)), = read_file(f.path("raced"))[0].items()
            equal(data, name.encode() * 100000)
    for t in threads:
        t.join()
    equal(f.left(), [])


def test_stats_count(f):
    before = f.d.call("store.stats")
    h = create(f.d, "uint8", [8], bytes(8))
    f.d.call("store.save", path="s", tensors={"w": h})
    f.d.call("store.load", path="s")
    refuse(f, "NotFound", [], "store.load", path="none")
    after = f.d.call("store.stats")
    equal(after["data_path"], f.dir)
    equal({k: after[k] - before[k] for k in ("saves", "loads", "failed", "bytes_loaded")},
          {"saves": 1, "loads": 1, "failed": 1, "bytes_loaded": 8})
    equal(after["bytes_saved"] - before["bytes_saved"], os.path.getsize(f.path("s")))
    release(f)


def test_a_daemon_without_a_data_path(f):
    with TestDaemon() as daemon, daemon.connect() as d:
        raises(lambda: d.call("store.load", path="x"), "PermissionError", "without --data-path")
        raises(lambda: d.call("store.save", path="x", tensors={}), "PermissionError", "without --data-path")
        equal(d.call("store.stats")["data_path"], None)
    done = subprocess.run([os.path.join(BUILD, "dispatchd"), "--socket", f.path("sock"), "--data-path", f.path("gone")],
                          capture_output=True, text=True)
    equal(done.returncode, 1)
    contains(done.stderr, "--data-path: cannot open", "log")


def opened(path, flags):
    return dispatchd.Fd(os.open(path, flags))


def test_a_descriptor_in_place_of_a_path():
    with TestDaemon() as daemon, daemon.connect() as d, tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "w")
        with open(path, "wb") as f:
            f.write(b"x" * 5000)
        t = d.call("tensor.create", data=[[1, 2], [3, 4]], name="w")
        saved = d.call("store.save", fd=opened(path, os.O_WRONLY), names=["w"], metadata={"a": "b"})
        equal(saved, {"tensors": 1, "bytes": os.path.getsize(path)})
        loaded = d.call("store.load", fd=opened(path, os.O_RDONLY))
        equal((loaded["metadata"], loaded["tensors"]["w"]["shape"]), ({"a": "b"}, [2, 2]))
        equal(d.call("tensor.read", tensor=loaded["tensors"]["w"]["tensor"])["data"], [[1, 2], [3, 4]])
        memory, before = os.memfd_create("store"), os.path.getsize(path)
        saved = d.call("store.save", fd=dispatchd.Fd(os.dup(memory)), tensors={"w": t["tensor"]})
        equal(os.fstat(memory).st_size, saved["bytes"])
        with open(path, "rb") as f:
            equal(f.read()[-16:], os.pread(memory, 16, saved["bytes"] - 16))
        d.release(loaded["tensors"]["w"]["tensor"])

        def refuse(type_, text, method, fd, **params):
            raises(lambda: d.call(method, fd=fd, **params), type_, text)
        refuse("ValueError", "fd: descriptor 0 is not open for reading", "store.load", opened(path, os.O_WRONLY))
        refuse("ValueError", "fd: descriptor 0 is not open for writing", "store.save", opened(path, os.O_RDONLY),
               names=["w"])
        refuse("ValueError", "for appending (O_APPEND)", "store.save", opened(path, os.O_RDWR | os.O_APPEND),
               names=["w"])
        refuse("InvalidParams", "either 'path' or 'fd'", "store.load", opened(path, os.O_RDONLY), path="w")
        raises(lambda: d.call("store.load", fd=0), "ValueError", "descriptor 0, but the message has 0")
        raises(lambda: d.call("store.save", names=["w"]), "InvalidParams", "either 'path' or 'fd'")
        refuse("NotFound", "nobody", "store.save", opened(path, os.O_RDWR), names=["nobody"])
        equal(os.path.getsize(path), before, "a save that cannot begin changes nothing")
        os.pwrite(memory, b"\xff" * 8, 0)
        refuse("ValueError", "'descriptor 0': ", "store.load", dispatchd.Fd(os.dup(memory)))
        d.call("tensor.unlink", name="w")
        d.release(t["tensor"])


def test_a_save_to_a_descriptor_that_fails_leaves_an_empty_file():
    """The file system of the descriptor is full: a tmpfs of 1 MiB."""
    if os.geteuid() != 0:
        return
    folder = tempfile.mkdtemp()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True).returncode != 0:
        os.rmdir(folder)
        return
    try:
        with TestDaemon() as daemon, daemon.connect() as d:
            path = os.path.join(folder, "w")
            with open(path, "wb") as f:
                f.write(b"x" * 5000)
            t = d.op("aten::zeros", [1 << 20])["tensor"]
            raises(lambda: d.call("store.save", fd=opened(path, os.O_RDWR), tensors={"w": t}), "ResourceExhausted",
                   "descriptor 0")
            equal(os.path.getsize(path), 0)
            d.release(t)
    finally:
        subprocess.run(["umount", folder], check=True)
        os.rmdir(folder)


main(Fixture, finish)
