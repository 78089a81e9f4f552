"""daemon.py -- a daemon of $BUILD on a socket of its own, for tests and for the demo.

    with TestDaemon("--max-line", "4096") as daemon:
        with daemon.connect() as d: ...

Leaving the block stops it with SIGTERM and asserts that it ended with status 0 and that its log holds
no report of a sanitizer."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import BUILD, equal
import dispatchd

# Seconds; a sanitizer build on a busy machine is slow to start and to stop.
START_LIMIT = 60
STOP_LIMIT = 120
REPORT = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:")
_ASAN = "detect_leaks=1:abort_on_error=0:allocator_may_return_null=1"


class TestDaemon:
    __test__ = False

    def __init__(self, *options, socket=None, env=None):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-test-")
        self.socket = socket or os.path.join(self.dir, "dispatchd.sock")
        self.log_path = os.path.join(self.dir, "log")
        env = {**os.environ, "TMPDIR": self.dir, **(env or {})}
        env.setdefault("ASAN_OPTIONS", _ASAN)
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(BUILD, "dispatchd"), "--socket", self.socket, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
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

    def finish(self):
        """The end of every integration file: no tensor is left, and it stops as it should."""
        with self.connect() as d:
            equal(d.call("server.status")["tensors"], 0, "live tensors")
        self.stop()

    def __enter__(self):
        return self

    def __exit__(self, type_, *rest):
        try:
            self.stop()
        except AssertionError as e:
            if type_ is None:
                raise
            print(e, file=sys.stderr)
