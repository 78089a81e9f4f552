"""test_leave.py -- clients that leave at any moment: with answers unread, with half a message or half
its attachments sent, with work queued, with a call running; at once, or closing one side before.  The
daemon notices each of them and keeps nothing.  FUZZ_SECONDS and FUZZ_SEED choose how long and which."""

import json
import os
import random
import socket
import time

from harness import BUILD, equal, less, main, wait_until
from daemon import TestDaemon

SECONDS = float(os.environ.get("FUZZ_SECONDS", "6"))
SEED = int(os.environ.get("FUZZ_SEED", "5"))
AT_ONCE = 40  # clients that are connected at the same time

CREATE = ("tensor.create", {"data": [1.0, 2.0]})


def line(id_, method, params=None, **more):
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}, **more}).encode() + b"\n"


def sleeps(ms):
    return line(3, "op.call", {"op": "sleeps::sleep", "args": [{"tensor": 1}, ms]})


# What a client does before it leaves: bytes from a random generator.  Each has a tensor by then.
PHASES = {
    "nothing": lambda rnd: b"",
    "half a line": lambda rnd: line(2, "server.status")[:rnd.randrange(1, 30)],
    "half a long line": lambda rnd: b'{"x":"' + b"y" * rnd.randrange(1 << 20),
    "attachments to come": lambda rnd: line(2, *CREATE, attachments=[rnd.randrange(1, 1 << 20)]),
    "half of attachments": lambda rnd: line(2, *CREATE, attachments=[1 << 18]) + bytes(rnd.randrange(1 << 18)),
    "a long announcement": lambda rnd: line(2, "server.hello", {"client": "c" * 100000}, attachments=[9]) + b"half",
    "answers unread": lambda rnd: line(2, "rpc.discover") * rnd.randrange(1, 2000),
    "a call runs": lambda rnd: sleeps(rnd.randrange(1, 200)),
    "calls are queued": lambda rnd: sleeps(rnd.randrange(1, 100)) * rnd.randrange(2, 1500),
    "tensors in the answers": lambda rnd: line(2, *CREATE) * rnd.randrange(1, 1500),
    "a cancelled call": lambda rnd: sleeps(50) * 3 + line(4, "call.cancel", {"id": 3}),
    "refused": lambda rnd: b'{"attachments":[3}\n' + line(2, "server.status"),
}


class Leaver:
    """One client: connects, has a tensor, goes through a phase as far as the daemon reads."""

    def __init__(self, daemon, rnd, phase):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(60)
        self.s.connect(daemon.socket)
        self.s.sendall(line(1, *CREATE))
        equal(json.loads(self.s.recv(4096))["id"], 1, phase)
        self.s.setblocking(False)
        self.rest = PHASES[phase](rnd)
        self.send()

    def send(self):
        try:
            while self.rest:
                self.rest = self.rest[self.s.send(self.rest):]
        except BlockingIOError:
            pass  # the daemon waits for us to read
        except OSError:
            self.rest = b""

    def leave(self, rnd):
        how = rnd.randrange(5)
        try:
            if how == 1:
                self.s.shutdown(socket.SHUT_WR)
            elif how == 2:
                self.s.shutdown(socket.SHUT_RDWR)
            elif how == 3:
                self.s.recv(rnd.randrange(1, 100000))
                self.send()
            elif how == 4:
                self.s.shutdown(socket.SHUT_WR)
                time.sleep(rnd.random() / 50)
        except OSError:
            pass  # it was faster
        self.s.close()


def test_leaving():
    rnd, end, left = random.Random(SEED), time.monotonic() + SECONDS, dict.fromkeys(PHASES, 0)
    with TestDaemon("--no-plugins", "--plugin", BUILD + "/tests/plugins/sleeps.so") as daemon, daemon.connect() as d:
        here = []
        while time.monotonic() < end or here:
            more = time.monotonic() < end
            if more and len(here) < AT_ONCE and rnd.random() < 0.6:
                phase = rnd.choice(list(PHASES))
                here.append(Leaver(daemon, rnd, phase))
                left[phase] += 1
            elif here:
                here.pop(rnd.randrange(len(here))).leave(rnd)
        wait_until(lambda: d.call("server.status")["connections"] == 1, "the others are gone", 60)
        wait_until(lambda: d.call("server.status")["sessions"] == 1, "their sessions are gone", 60)
        wait_until(lambda: d.call("server.status")["live_tensors"] == 0, "their tensors are gone", 60)
        equal(d.call("server.status")["running"], [], "calls running")
        for phase, n in left.items():
            less(0, n, f"clients that left in the phase '{phase}'")


if __name__ == "__main__":
    main()
