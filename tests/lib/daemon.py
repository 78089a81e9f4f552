"""daemon.py -- a daemon of $BUILD on a socket of its own, for tests and for the demo.

    with TestDaemon("--max-line", "4096") as daemon:
        with daemon.connect() as d: ...

Leaving the block asserts that no tensor is left and that every plugin can be unloaded (finish()), stops
it with SIGTERM, and asserts that it ended with status 0 and that its log holds no report of a
sanitizer (stop())."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import BUILD, equal, wait_until
import dispatchd

# Seconds; a sanitizer build on a busy machine is slow to start and to stop.
START_LIMIT = 60
STOP_LIMIT = 120
REPORT = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:")
ASAN_OPTIONS = "detect_leaks=1:abort_on_error=0:allocator_may_return_null=1"


class Gate:
    """What a kernel waits for (sleeps::until): `path` exists once the gate is open, at the latest when its
    block ends, so that no call outlives a test that failed."""

    def __init__(self, path):
        self.path = path

    def open(self):
        open(self.path, "w").close()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        if os.path.isdir(os.path.dirname(self.path)):
            self.open()


class TestDaemon:
    __test__ = False

    def __init__(self, *options, socket=None, env=None, preexec=None, build=BUILD):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-test-")
        self.socket = socket or os.path.join(self.dir, "dispatchd.sock")
        self.gates = 0
        self.log_path = os.path.join(self.dir, "log")
        env = {**os.environ, "TMPDIR": self.dir, **(env or {})}
        env.setdefault("ASAN_OPTIONS", ASAN_OPTIONS)
        env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(build, "dispatchd"), "--socket", self.socket, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, preexec_fn=preexec)
        self._wait_until_it_listens()

    def _wait_until_it_listens(self):
        end = time.monotonic() + START_LIMIT
        while True:
            try:
                self.connect().close()
                return
            except (FileNotFoundError, ConnectionRefusedError):
                if self.process.poll() is not None or time.monotonic() > end:
                    self.process.kill()
                    self.process.wait()
                    raise AssertionError("the daemon does not listen; its log:\n" + self.log())
                time.sleep(0.01)

    @property
    def pid(self):
        return self.process.pid

    def connect(self, timeout=STOP_LIMIT):
        return dispatchd.connect(self.socket, timeout)

    def gate(self):
        self.gates += 1
        return Gate(os.path.join(self.dir, f"gate-{self.gates}"))

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def maps(self):
        """Lines of /proc/PID/maps."""
        with open(f"/proc/{self.pid}/maps") as f:
            return f.read().splitlines()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def resident_kb(self):
        with open(f"/proc/{self.pid}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])

    def stop(self, sig=signal.SIGTERM):
        """Stop it, check how it ended, and remove its directory."""
        self.process.send_signal(sig)
        try:
            status = self.process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the daemon did not stop in {STOP_LIMIT} s:\n" + self.log())
        log = self.log()
        shutil.rmtree(self.dir)
        report = REPORT.search(log)
        if report:  # the last thing said is what a part's output is cut to
            log += "\nthe first report again:\n" + log[report.start():][:3000]
        if status != 0 or report:
            raise AssertionError(f"the daemon ended with status {status}, want 0; its log:\n{log}")

    def loaded(self, d):
        """Names of the plugins; not of files that only stay mapped."""
        return [p["plugin"] for p in d.call("plugin.list")["plugins"] if not p.get("kept")]

    def alone(self, d):
        """Wait until the sessions of clients that left have ended: `d` is the only client, no call runs,
        and no tensor is left. A test that compares counts of the whole daemon begins with it."""
        def quiet():
            status = d.call("server.status")
            return status["sessions"] == 1 and not status["running"] and status["live_tensors"] == 0
        wait_until(quiet, "the clients of earlier tests are gone")

    def finish(self):
        """The end of every integration file, when its clients are gone: their calls end, no tensor is
        left, every plugin can be unloaded, and the daemon stops as it should."""
        with self.connect() as d:
            def idle():
                status = d.call("server.status")
                return not status["running"] and status.get("live_tensors", 0) == 0
            try:
                wait_until(idle, "no call runs and no tensor is left")
            except AssertionError:
                pass  # say what is left
            status = d.call("server.status")
            equal((status["live_tensors"], status["running"]), (0, []), "live tensors, running calls")
            equal(status["live_objects"], 0, "live objects")
            for name in reversed(self.loaded(d)):
                d.call("plugin.unload", plugin=name)
            equal(self.loaded(d), [], "plugins still loaded")
            equal(d.call("server.status")["live_tensors"], 0, "live tensors after every unload")
        self.stop()

    def __enter__(self):
        return self

    def __exit__(self, type_, *rest):
        if type_ is None:
            self.finish()
            return
        try:
            self.stop()
        except AssertionError as e:
            print(e, file=sys.stderr)
