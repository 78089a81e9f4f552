"""idle.py -- what a daemon costs that nobody calls: its start, its memory and its connections."""

import json
import os
import resource
import shutil
import socket
import subprocess
import tempfile
import time

CONNECTIONS = 1000
ASK = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "server.status"}).encode() + b"\n"
CORE = "aten", "composite", "cpu"  # plugins


def files_of(build):
    """What a start of `build` reads: the daemon, its library and its plugins."""
    plugins = os.path.join(build, "plugins")
    return [os.path.join(build, "dispatchd"), os.path.join(build, "libdispatchd.so"),
            *(os.path.join(plugins, p) for p in os.listdir(plugins) if p.endswith(".so"))]


def forget(paths):
    """Ask the system to drop its copies of the files, so that the next start reads them from the disk."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


class Started:
    """A daemon of `build`: `seconds` from its start to its answer to a client's first request."""

    def __init__(self, build, *options):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-bench-")
        self.socket = os.path.join(self.dir, "s")
        begin = time.perf_counter()
        self.process = subprocess.Popen([os.path.join(build, "dispatchd"), "--socket", self.socket, *options],
                                        stderr=subprocess.DEVNULL)
        while True:
            try:
                client = self.connect()
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if self.process.poll() is not None:
                    raise AssertionError("the daemon has ended") from None
                time.sleep(0.0005)
        self.ask(client)
        self.seconds = time.perf_counter() - begin
        client.close()

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(self.socket)
        except OSError:
            s.close()
            raise
        return s

    def ask(self, client):
        client.sendall(ASK)
        answer = client.recv(1 << 16)
        assert b'"result"' in answer, answer

    def memory(self, what):
        """KiB by a line of smaps_rollup: "Rss" or "Anonymous"."""
        with open(f"/proc/{self.process.pid}/smaps_rollup") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(what + ":"))

    def wakeups(self, seconds):
        """How often the daemon's threads fall asleep again within `seconds`."""
        def switches():
            n = 0
            for thread in os.listdir(f"/proc/{self.process.pid}/task"):
                with open(f"/proc/{self.process.pid}/task/{thread}/status") as f:
                    n += sum(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt_switches"))
            return n
        before = switches()
        time.sleep(seconds)
        return switches() - before

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.dir)


def start_seconds(build, cold):
    if cold:
        forget(files_of(build))
    d = Started(build)
    d.stop()
    return d.seconds


def idle(build):
    """MiB of anonymous memory, wake-ups in two seconds, and KiB of memory for each idle connection."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192) if hard >= 0 else 8192, hard))
    options = [o for p in CORE for o in ("--plugin", os.path.join(build, "plugins", p + ".so"))]
    d = Started(build, "--no-plugins", *options)
    time.sleep(3)  # the daemon still gives back memory of the start
    anonymous, wakeups, before = d.memory("Anonymous") / 1024, d.wakeups(2), d.memory("Rss")
    clients = [d.connect() for _ in range(CONNECTIONS)]
    for c in clients:
        d.ask(c)
    each = (d.memory("Rss") - before) / CONNECTIONS
    for c in clients:
        c.close()
    d.stop()
    return anonymous, wakeups, each
