"""test_torn_recording.py -- recordings that are torn, damaged or hostile, replayed on a living daemon: dispatchctl replay
ends by itself with an exit code, names the file and the byte, and takes no more memory than it should; and a
recording whose file cannot grow.

Bits are flipped in frames; other frames have right checksums and wrong contents.  FUZZ_SECONDS and FUZZ_SEED choose
how long and which."""

import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from harness import BUILD, ROOT, SANITIZED, contains, equal, less, main
from daemon import TestDaemon

SECONDS = float(os.environ.get("FUZZ_SECONDS", "6"))
SEED = int(os.environ.get("FUZZ_SEED", "7"))
CTL = os.path.join(BUILD, "dispatchctl")
PEAK_KB = 100 << 10  # of one replay; a sanitizer takes more
MAGIC, MASK = b"dispatchd-recording\n" + struct.pack("<I", 1), 2**64 - 1
ABOUT, BYTES, SESSION, CALL, CLOSE, END = range(1, 7)
PROGRAM = """
import dispatchd
with dispatchd.connect() as d:
    x = d.op("aten::arange", 4, dtype="float32")
    y = d.op("aten::exp", {"tensor": x["tensor"]}, into=-1)
    big = d.call("tensor.create", dtype="float32", shape=[20000], attachment=bytes(80000))
    d.op("aten::neg", {"dtype": "float32", "shape": [2], "attachment": bytes(8)})
    d.op("aten::mul_.Tensor", {"tensor": -1}, {"tensor": x["tensor"]})
    d.call("program.run", steps=[{"op": "aten::relu", "args": [{"ref": "x"}], "as": ["y"]}],
           inputs={"x": {"tensor": -1}}, outputs=["y"])
"""
# What stands in the place of a value in the JSON of a frame.
VALUES = [None, True, -1, 0, 1, 2, 1.5, -1e300, 1e308, 2**53, -2**63, 2**64, "", "cpu", "npu:7", "x" * 5000, [], {}, [[]], [1] * 3000,
          {"tensor": 1}, {"tensor": -1}, {"data": [1]}, {"attachment": 0}, {"attachment": 7}, {"shape": [1 << 62], "attachment": 0}]


def mixed(h, data):
    """The file's hash: clients/cli/replay/replay.h."""
    h ^= len(data) * 0x9e3779b97f4a7c15 & MASK
    for at in range(0, len(data), 8):
        h ^= int.from_bytes(data[at:at + 8].ljust(8, b"\0"), "little")
        h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9 & MASK
        h = (h ^ h >> 27) * 0x94d049bb133111eb & MASK
        h ^= h >> 31
    return h


def frame(kind, body=b"", connection=1):
    head = struct.pack("<IIQ", kind, connection, len(body))
    return head + struct.pack("<Q", mixed(mixed(0, head), body)) + body


def call(request, answer=b"", parts=b"", n_parts=0):
    request = request if isinstance(request, bytes) else json.dumps(request).encode()
    return frame(CALL, struct.pack("<QQII", len(request), len(answer), n_parts, 0) + request + b"\0" + answer + b"\0" + parts)


def part(how, nbytes, number=0, data=b""):
    return struct.pack("<QQQ", how, nbytes, number) + data


def frames_of(data):
    """(kind, connection, body) of each frame."""
    at, found = len(MAGIC), []
    while at < len(data):
        kind, connection, n = struct.unpack_from("<IIQ", data, at)
        found.append((kind, connection, data[at + 24:at + 24 + n]))
        equal(frame(kind, found[-1][2], connection), data[at:at + 24 + n], "a frame as this file makes it")
        at += 24 + n
    return found


class Fixture:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-torn-")
        self.daemon = TestDaemon("--session-bytes", str(64 << 20))
        self.whole = self.path("whole")
        equal(self.record(self.whole, "-c", PROGRAM)[0], 0)
        with open(self.whole, "rb") as f:
            self.data = f.read()
        self.frames = frames_of(self.data)

    def path(self, name):
        return os.path.join(self.dir, name)

    def run(self, *words, preexec=None):
        """Run dispatchctl; returns its exit code, output, errors and the peak memory of all until now, in kB."""
        env = {**os.environ, "DISPATCHD_SOCKET": self.daemon.socket, "TMPDIR": self.dir,
               "PYTHONPATH": os.path.join(ROOT, "clients", "python"), "ASAN_OPTIONS": "allocator_may_return_null=1"}
        done = subprocess.run([CTL, *words], capture_output=True, stdin=subprocess.DEVNULL, errors="replace", timeout=120, env=env,
                              preexec_fn=preexec)
        return done.returncode, done.stdout, done.stderr, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss

    def record(self, path, *words, preexec=None):
        return self.run("record", path, "--", sys.executable, *words, preexec=preexec)

    def replay(self, data, *more):
        path = self.path("torn")
        with open(path, "wb") as f:
            f.write(data)
        rc, out, err, peak = self.run("replay", path, *more)
        what = f"exit code {rc}; {out[-500:]}{err[-2000:]}; the file began with {data[:300]!r}"
        equal(rc in (0, 1, 2) and "Sanitizer" not in err and "runtime error" not in err, True, what)
        if rc != 0 and not err:
            equal(any(word in out for word in ("first that matters", "not made")), True, what)
        for line in err.splitlines():
            contains(line, "dispatchctl: ", what)
        if not SANITIZED:
            less(peak, PEAK_KB, f"kB; {what}")
        return rc, out, err

    def refused(self, data, offset, text):
        """The file is replayed up to `offset`, and the error names that and what is wrong."""
        rc, _, err = self.replay(data)
        equal(rc, 1, err)
        contains(err, f"torn: byte {offset} of {len(data)}: ")
        contains(err, text)

    def end(self):
        shutil.rmtree(self.dir)
        with self.daemon.connect() as d:
            for name in d.call("tensor.names")["names"]:
                d.call("tensor.unlink", name=name["name"])
        self.daemon.finish()


def test_the_whole_file(f):
    rc, out, err = f.replay(f.data)
    equal((rc, err), (0, ""))
    contains(out, "6 the same")
    equal([kind for kind, _, _ in f.frames].count(CALL), 6)


def test_every_tear_near_a_frame(f):
    at, offsets = len(MAGIC), [0, 10, len(MAGIC) - 1]
    for _, _, body in f.frames:
        offsets += [at, at + 23, at + 24 + len(body) // 2]
        at += 24 + len(body)
    for n in sorted(set(offsets)):
        rc, _, err = f.replay(f.data[:n])
        whole = n == len(f.data)
        equal(rc, 2 if n < len(MAGIC) else 0 if whole else 1, f"{n} bytes: {err}")
        if not whole:
            contains(err, "is no recording" if n < len(MAGIC) else f" of {n}: ")


def test_right_checksums_and_wrong_contents(f):
    head = MAGIC + frame(ABOUT, b'{"command":[],"left_out":false}', 0)
    end = frame(END, b'{"calls":0,"unanswered":0}', 0)
    deep = b"[" * 100000 + b"]" * 100000
    neg = {"method": "op.call", "params": {"op": "aten::neg", "args": [{"data": [1]}]}}
    with_part = {"method": "tensor.create", "params": {"dtype": "float32", "shape": [2], "attachment": 0}}
    not_request, lengths = "the request in this frame is none", "the lengths in this call do not add up"
    for bad, text in (
            (call(b"{"), not_request), (call(b"[]"), not_request), (call(b"{}"), not_request), (call(b'{"method":7}'), not_request),
            (call(b'{"method":"op.call"} x'), not_request), (call(b"\xff\xfe"), not_request), (call(b""), not_request),
            (call({**neg, "params": [1]}), not_request), (call({**neg, "params": 1}), not_request),
            (call(b'{"method":"op.call","params":{"args":' + deep + b"}}"), not_request),
            (call(b'{"method":"op.call"}\0'), lengths),
            (call(neg, b"{"), "the answer in this frame is none"), (call(neg, deep), "the answer in this frame is none"),
            (call({"method": "server.shutdown"}), "no recording has calls of 'server.shutdown'"),
            (call({"method": "plugin.load", "params": {"path": "/tmp/x.so"}}), "no recording has calls of 'plugin.load'"),
            (call({"method": "store.save", "params": {"path": "x"}}), "no recording has calls of 'store.save'"),
            (call(with_part, b"", part(1, 80000, 9), 1), "a call names bytes that are not there"),
            (call(with_part, b"", part(1, 80000, 2**64 - 1), 1), "a call names bytes that are not there"),
            (call(with_part, b"", part(3, 8), 1), lengths), (call(with_part, b"", part(0, 9, 0, b"12345678"), 1), lengths),
            (call(with_part, b"", part(0, 2**64 - 1, 0, b"12345678"), 1), lengths), (call(with_part, b"", b"", 1), lengths),
            (call(with_part, b"", part(2, 2**63), 1), lengths), (call(with_part, b"", b"", 2**32 - 1), lengths),
            (call(with_part, b"", part(2, 1 << 36) * 600, 600), "more than half of this machine's memory"),
            (frame(CALL, bytes(23)), lengths), (frame(CALL, struct.pack("<QQII", 2**64 - 1, 2**64 - 1, 0, 0)), lengths),
            (frame(CALL, struct.pack("<QQII", 2**63, 2**63, 0, 0) + bytes(9)), lengths),
            (frame(SESSION, b"{"), "the session in this frame has no number"), (frame(SESSION, b""), "has no number"),
            (frame(SESSION, b'{"session":"1"}'), "has no number"), (frame(SESSION, deep), "has no number"),
            (frame(BYTES, bytes(100)), "no frame of kind 2 has 100 bytes"),
            (frame(0), "no frame begins here"), (frame(7), "no frame begins here"), (frame(2**32 - 1), "no frame begins here"),
            (b"".join(call({**neg, "params": {"device": f"d{i}-{k}"}}) if k else b"" for i in range(2) for k in (0, 1)) +
             call(b'{"method":"op.call","params":{"x":[%s]}}' % b",".join(b'{"device":"a%d"}' % i for i in range(2000))),
             "more than 1024 devices")):
        before = frame(SESSION, b'{"session":1,"lingers":false}') + call(neg)
        at = len(head) + len(before)
        if "devices" in text:
            at += len(bad) - len(call(b'{"method":"op.call","params":{"x":[%s]}}' %
                                      b",".join(b'{"device":"a%d"}' % i for i in range(2000))))
        f.refused(head + before + bad + end, at, text)
    f.refused(head + end + end, len(head) + len(end), "the recording has ended, but more bytes follow")


def test_lines_and_numbers_at_extremes(f):
    """These calls are as a file may have them: the daemon refuses them, or both sides do the same."""
    head, end = MAGIC + frame(ABOUT, b"{}", 0), frame(END, b"{}", 0)
    for request, answer in (
            (b'{"method":"op.call","params":{"op":"aten::neg","args":["%s"]}}' % (b"x" * (8 << 20)), b""),
            (b'{"method":"op.call","params":{"op":"%s"}}' % (b"y" * (2 << 20)), b""),
            (b'{"method":"tensor.release","params":{"tensors":[1e308,-1e308,0.5,-0.0,9007199254740993]}}', b'{"result":{}}'),
            (b'{"method":"tensor.create","params":{"data":[1,1e400,-1e400]},"x":1}', b'{"result":{"tensor":1e308}}'),
            (b'{"method":"op.call","params":{"op":"aten::neg","args":[{"data":[1]}],"into":-1e308}}', b""),
            (b'{"method":"op.call","params":{"op":"aten::neg","args":[{"data":[1]}],"kwargs":[{}],"device":7}}',
             b'{"result":{"outputs":[{"tensor":-9e99,"dtype":[],"shape":{}}],"program":1e308,"object":-1}}'),
            (b'{"method":"tensor.create","params":{"data":%s}}' % (b"[" * 500 + b"]" * 500), b""),
            (b'{"method":"program.run","params":{"program":-1e300,"inputs":7,"outputs":{}}}', b'{"error":null}')):
        f.replay(head + call(request, answer) * 2 + end)
    for session in (b"1e308", b"-1", b"0.1"):
        f.replay(head + frame(SESSION, b'{"session":%s}' % session, 2**32 - 1) + frame(CLOSE, b"", 2**32 - 1) + end)


def value_in(rnd, j):
    """Put something else in the place of a value in the JSON."""
    path, at = [], j
    while isinstance(at, (dict, list)) and at and (not path or rnd.random() < 0.8):
        key = rnd.choice(list(at) if isinstance(at, dict) else range(len(at)))
        path.append((at, key))
        at = at[key]
    if path:
        where, key = path[-1]
        if rnd.random() < 0.2:
            del where[key]
        else:
            where[key] = rnd.choice(VALUES)
    return j


def damaged(rnd, frames):
    """The frames with some of them changed, with right checksums, and with bits flipped afterwards at times."""
    frames = list(frames)
    for _ in range(rnd.randrange(1, 4)):
        i, kind = rnd.randrange(len(frames)), rnd.random()
        what, connection, body = frames[i]
        if kind < 0.6 and what == CALL:
            n, m, count, _ = struct.unpack_from("<QQII", body)
            texts = [body[24:24 + n], body[25 + n:25 + n + m]]
            k = rnd.randrange(2)
            try:
                texts[k] = json.dumps(value_in(rnd, json.loads(texts[k]))).encode()
            except ValueError:
                pass  # it is damaged already, or there is no answer
            body = struct.pack("<QQII", len(texts[0]), len(texts[1]), count, 0) + texts[0] + b"\0" + texts[1] + body[25 + n + m:]
        elif kind < 0.7:
            frames.insert(rnd.randrange(len(frames)), frames[i])
        elif kind < 0.8:
            connection = rnd.choice([0, 1, 2, 2**32 - 1])
        elif kind < 0.9:
            what = rnd.randrange(1, 7)
        elif body:
            at = rnd.randrange(len(body))
            body = body[:at] + bytes([rnd.randrange(256)]) + body[at + 1:]
        frames[i] = (what, connection, body)
    data = bytearray(MAGIC + b"".join(frame(*[k, b, c]) for k, c, b in frames))
    for _ in range(rnd.choice((0, 0, 0, 1, 3))):
        at = rnd.randrange(len(data))
        data[at] ^= 1 << rnd.randrange(8)
    return bytes(data)


def test_damaged_files(f):
    rnd, start, seen = random.Random(SEED), time.monotonic(), {0: 0, 1: 0, 2: 0}
    small = [one for one in f.frames if one[0] != BYTES]  # without the long one more files are made
    while time.monotonic() - start < SECONDS or sum(seen.values()) < 20:
        rc, _, _ = f.replay(damaged(rnd, rnd.choice((f.frames, small, small))))
        seen[rc] += 1
    print(f"     {sum(seen.values())} files, exit codes: {seen}")
    less(0, seen[1], "files that were damaged")


def test_a_sparse_call_of_10_gb(f):
    """No frame of a call is so long, so nothing of it is read."""
    large = f.path("large")
    with open(large, "wb") as file:
        file.write(f.data)
        file.write(struct.pack("<IIQQ", CALL, 1, 10 << 30, 0))
        file.truncate(len(f.data) + 24 + (10 << 30))
    with open(large, "r+b") as file:  # in the place of the last frame
        at = len(f.data) - 24 - len(f.frames[-1][2])
        file.seek(at)
        file.write(struct.pack("<IIQQ", CALL, 1, 10 << 30, 0))
    rc, out, err, peak = f.run("replay", large)
    equal(rc, 1, err)
    contains(out, "6 the same")
    contains(err, f"byte {at} of {os.path.getsize(large)}: the file is damaged: no frame of kind 4 has {10 << 30} bytes")
    if not SANITIZED:
        less(peak, PEAK_KB, "kB")


def test_a_sparse_call_of_1_gb(f):
    """A call may be so long: its checksum is compared before there is memory for it."""
    large, head = f.path("large"), MAGIC + frame(ABOUT, b"{}", 0)
    with open(large, "wb") as file:
        file.write(head + struct.pack("<IIQQ", CALL, 1, 1 << 30, 0))
        file.truncate(len(head) + 24 + (1 << 30))
    rc, _, err, peak = f.run("replay", large)
    equal(rc, 1, err)
    contains(err, f"byte {len(head)} of ")
    contains(err, "the checksum of this frame is another")
    if not SANITIZED:
        less(peak, PEAK_KB, "kB")
    os.unlink(large)


def test_a_file_that_cannot_grow(f):
    """The client goes on; what was written until then can be replayed."""
    limit = lambda n: lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))
    path = f.path("short")
    # the thread sanitizer writes a file of its own when a program starts, which such a limit ends
    for n in () if "thread" in os.path.basename(BUILD) else (0, 30, 3000, 50000):
        rc, _, err, _ = f.record(path, "-c", PROGRAM + "print('went on')", preexec=limit(max(n, 0)))
        equal(rc, 1, f"{n} bytes: {err}")
        contains(err, f"dispatchctl: {path}: File too large; the rest of the session is not recorded")
        equal(os.path.getsize(path) <= n, True, "bytes of the file")
        rc, _, err, _ = f.run("replay", path)
        equal(rc, 2 if n < len(MAGIC) else 1, err)
        contains(err, "is no recording" if n < len(MAGIC) else f"of {os.path.getsize(path)}: the file is torn")
    rc, _, err, _ = f.record("/dev/full", "-c", PROGRAM)
    equal(rc, 1, err)
    contains(err, "dispatchctl: /dev/full: No space left on device; the rest of the session is not recorded")


def test_the_command_has_the_signals_of_its_own(f):
    """The recorder ignores SIGINT, which is for the command, and SIGXFSZ; what was ignored before stays so."""
    ours = 1 << signal.SIGINT - 1 | 1 << signal.SIGXFSZ - 1
    for handler, want in ((signal.SIG_DFL, 0), (signal.SIG_IGN, ours)):
        def set_both():
            for number in (signal.SIGINT, signal.SIGXFSZ):
                signal.signal(number, handler)
        rc, out, err, _ = f.run("record", f.path("signals"), "--", "grep", "SigIgn", "/proc/self/status", preexec=set_both)
        equal((rc, int(out.split()[1], 16) & ours), (0, want), err)


def test_the_daemon_is_as_it_was(f):
    with f.daemon.connect() as d:
        f.daemon.alone(d)


if __name__ == "__main__":
    main(Fixture, Fixture.end)
