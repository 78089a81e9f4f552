"""test_stream.py -- streams of good and broken messages, cut anywhere, left anywhere: the daemon lives
and keeps nothing.  FUZZ_SECONDS and FUZZ_SEED choose how long and which."""

import json
import os
import random
import socket
import time

from harness import BUILD, equal, less, main, wait_until
from daemon import TestDaemon

SECONDS = float(os.environ.get("FUZZ_SECONDS", "6"))
SEED = int(os.environ.get("FUZZ_SEED", "7"))

METHODS = [
    ("server.status", {}), ("tensor.list", {}), ("registry.dump", {}), ("no.such", {}),
    ("tensor.create", {"data": [1, 2, 3]}),
    ("tensor.create", {"dtype": "uint8", "shape": [3], "attachment": 0}),
    ("tensor.read", {"tensor": 1, "as": "attachment"}),
    ("op.call", {"op": "dozes::doze", "args": [{"tensor": 1}]}),
    ("op.call", {"op": "dozes::doze", "args": [{"data": [1]}, 1], "return": "data"}),
    ("plugin.reload", {"plugin": "dozes"}),
    ("call.cancel", {"id": 3}),
]


def message(rnd):
    method, params = rnd.choice(METHODS)
    m, body = {"jsonrpc": "2.0", "method": method, "params": params}, b""
    if rnd.random() < 0.9:
        m["id"] = rnd.randrange(9)
    if rnd.random() < 0.3:
        m["attachments"] = [rnd.choice([0, 3, 3, 100, 4000]) for _ in range(rnd.randrange(3))]
        body = rnd.randbytes(sum(m["attachments"]))
    if rnd.random() < 0.05:
        m["fds"] = rnd.choice([0, 1, -1])
    line = bytearray(json.dumps(m).encode())
    if rnd.random() < 0.2:
        for _ in range(rnd.randrange(1, 4)):
            line[rnd.randrange(len(line))] = rnd.choice([rnd.randrange(256), ord('"'), ord("{"), 10, 0])
    if rnd.random() < 0.05:
        line *= rnd.randrange(1, 200)
    return bytes(line) + b"\n" + body


def one_stream(daemon, rnd):
    data = b"".join(message(rnd) for _ in range(rnd.randrange(1, 60)))
    ending = rnd.random()
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(0.05)
        try:
            s.connect(daemon.socket)
            while data:
                n = rnd.choice([1, 10, 1000, 100000])
                s.sendall(data[:n])
                data = data[n:]
                if rnd.random() < 0.1:
                    s.recv(1000)
            if ending < 0.3:
                s.shutdown(socket.SHUT_WR)
            while ending < 0.6 and s.recv(1 << 16):
                pass
        except OSError:
            pass  # the daemon closed it, or waits for us to read


def test_streams():
    rnd, end, streams = random.Random(SEED), time.monotonic() + SECONDS, 0
    with TestDaemon("--no-plugins", "--plugin", BUILD + "/tests/plugins/dozes.so", "--max-line", "20000",
                    "--max-attachment", "5000") as daemon:
        with daemon.connect() as d:
            while time.monotonic() < end:
                one_stream(daemon, rnd)
                streams += 1
            wait_until(lambda: d.call("server.status")["connections"] == 1, "the others are gone", 60)
            wait_until(lambda: d.call("server.status")["sessions"] == 1, "their sessions are gone", 60)
            wait_until(lambda: not d.call("server.status")["running"], "calls that they began are over", 60)
            status = d.call("server.status")
            equal((status["live_tensors"], status["bytes"], status["running"]), (0, 0, []))
            less(10, streams, "streams")


if __name__ == "__main__":
    main()
