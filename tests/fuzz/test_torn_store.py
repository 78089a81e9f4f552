"""test_torn_store.py -- files of tensors that are damaged or hostile, loaded by a living daemon: each
answer is a success or an error with a name that tells the file, and nothing is left of either.

Every byte of a file is cut off there, and bytes of its length and header are changed, removed, doubled
and exchanged.  FUZZ_SECONDS and FUZZ_SEED choose how long and which."""

import os
import random
import shutil
import struct
import tempfile
import time

from harness import ROOT, equal, less, main
from daemon import TestDaemon
import dispatchd

SECONDS = float(os.environ.get("FUZZ_SECONDS", "6"))
SEED = int(os.environ.get("FUZZ_SEED", "7"))
REFUSALS = {"ValueError", "NotImplementedError", "ResourceExhausted"}
PIECES = [b'"F32"', b'"U8"', b'"BOOL"', b"[", b"]", b"{", b"}", b",", b'"', b"0", b"1", b"-1", b"9007199254740991",
          b"18446744073709551616", b"1e3", b"null", b'"__metadata__"', b'"shape"', b"\\u0000", b"\xff", b"\n"]


def small():
    """A file of three tensors."""
    header = (b'{"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},'
              b'"b":{"dtype":"BOOL","shape":[4],"data_offsets":[24,28]},"s":{"dtype":"I64","shape":[],"data_offsets":[28,36]}}')
    return struct.pack("<Q", len(header)) + header + bytes(36)


def real():
    with open(os.path.join(ROOT, "tests", "data", "digits_cnn.safetensors"), "rb") as f:
        return f.read()


def load(d, folder, data):
    """What became of loading these bytes: "loaded", or the error's type."""
    with open(os.path.join(folder, "torn"), "wb") as f:
        f.write(data)
    try:
        loaded = d.call("store.load", path="torn")
    except dispatchd.Error as e:
        equal(e.type in REFUSALS, True, f"{e} of {data[:300]!r}")
        equal("torn" in e.message or "session_" in e.message, True, str(e))
        return e.type
    equal(sum(len(d.call("tensor.read", tensor=t["tensor"], **{"as": "attachment"})["attachment"])
              for t in loaded["tensors"].values()), len(data) - 8 - struct.unpack("<Q", data[:8])[0])
    d.call("tensor.release", all=True)
    return "loaded"


def damaged(rnd, whole):
    """The file with changes in its length and header."""
    n = struct.unpack("<Q", whole[:8])[0]
    header, data = bytearray(whole[8:8 + n]), whole[8 + n:]
    for _ in range(rnd.randrange(1, 4)):
        at, to = sorted(rnd.randrange(len(header) + 1) for _ in range(2))
        to = min(to, at + 40)
        kind = rnd.random()
        if kind < 0.3:
            header[at:at] = rnd.choice(PIECES)
        elif kind < 0.5:
            header[at:to] = b""
        elif kind < 0.7:
            header[at:at] = header[at:to]
        elif kind < 0.8:
            header[at:to] = rnd.choice(PIECES)
        elif header:
            header[rnd.randrange(len(header))] = rnd.randrange(256)
    length = len(header) + (rnd.choice([-1, 1, 8, 1 << 20, 1 << 40, -len(header)]) if rnd.random() < 0.1 else 0)
    return struct.pack("<Q", length % 2**64) + bytes(header) + data + (b"" if rnd.random() < 0.9 else b"\2")


def test_every_tear_is_an_answer():
    rnd, seen, start, folder = random.Random(SEED), {}, time.monotonic(), tempfile.mkdtemp(prefix="dispatchd-data-")

    def count(result):
        seen[result] = seen.get(result, 0) + 1

    with TestDaemon("--no-plugins", "--data-path", folder, "--session-bytes", str(64 << 20)) as daemon, daemon.connect() as d:
        files = [small(), real()]
        for at in range(len(files[0])):
            count(load(d, folder, files[0][:at]))
        equal(set(seen), {"ValueError"})
        for whole in files:
            count(load(d, folder, whole))
        while time.monotonic() - start < SECONDS:
            count(load(d, folder, damaged(rnd, rnd.choice(files))))
        status = d.call("server.status")
        equal((status["live_tensors"], status["bytes"]), (0, 0))
        equal({h["bytes"] for h in d.call("session.get")["account"].values()}, {0})
    print(f"     {sum(seen.values())} files: {seen}")
    less(2, seen["loaded"], "files that could be loaded all the same")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
