"""test_systemd.py -- what a service manager sees: READY when clients are served, STOPPING when the daemon drains, and
a listening socket that it passes and keeps."""

import ctypes
import os
import select
import signal
import socket
import subprocess
import tempfile

from harness import BUILD, SANITIZED, contains, equal, main
from daemon import TestDaemon
import dispatchd

LIMIT = 60
PR_SET_NO_NEW_PRIVS, PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 38, 65, 1  # <linux/prctl.h>


class Manager:
    """Plays the service manager: a socket for messages, and a listening socket for one daemon after another."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-systemd-")
        self.path = os.path.join(self.dir, "d.sock")
        self.messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.messages.bind(os.path.join(self.dir, "notify"))
        self.messages.settimeout(LIMIT)
        self.listener = None

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(8)

    def start(self, *options, passed=None, fds="1", **env):
        """Start a daemon with the descriptor `passed` as its number 3."""
        env = {**os.environ, "NOTIFY_SOCKET": os.path.join(self.dir, "notify"), "TMPDIR": self.dir, **env}
        words = [os.path.join(BUILD, "dispatchd"), "--no-plugins", *options]
        if passed is not None:
            # the shell becomes the daemon, so that its process id is the daemon's
            number = passed.fileno()
            words = ["sh", "-c", f'LISTEN_FDS={fds} LISTEN_PID=$$ exec "$@" 3<&{number}', "sh", *words]
            env.pop("DISPATCHD_SOCKET", None)
        return subprocess.Popen(words, env=env, text=True, stderr=subprocess.PIPE,
                                pass_fds=[passed.fileno()] if passed else ())

    def message(self):
        return self.messages.recv(4096).decode().splitlines()

    def silent(self):
        return not select.select([self.messages], [], [], 0)[0]

    def connect(self):
        return dispatchd.connect(self.path, LIMIT)

    def end(self):
        self.messages.close()
        if self.listener:
            self.listener.close()
        subprocess.run(["rm", "-rf", self.dir], check=True)


def stop(process):
    process.send_signal(signal.SIGTERM)
    log = process.communicate(timeout=LIMIT)[1]
    equal(process.returncode, 0, "status of the daemon; its log:\n" + log)
    return log


def test_ready_is_said_when_clients_are_served():
    m = Manager()
    d = m.start("--socket", m.path)
    equal(m.message(), ["READY=1", f"STATUS=serves {m.path}"])
    with m.connect() as client:  # at once, without another try
        equal(client.call("registry.check")["ok"], True)
    equal(m.silent(), True, "nothing else is said")
    stop(d)
    # the drain's 5 s, and 5 s more for the end
    equal(m.message(), ["STOPPING=1", "EXTEND_TIMEOUT_USEC=10000000"])
    m.end()


def test_a_long_drain_asks_for_time():
    m = Manager()
    d = m.start("--socket", m.path)
    m.message()
    with m.connect() as client:
        client.call("server.shutdown", drain_ms=60000)
    equal(m.message(), ["STOPPING=1", "EXTEND_TIMEOUT_USEC=65000000"])
    d.communicate(timeout=LIMIT)
    equal(d.returncode, 0)
    m.end()


def test_a_daemon_that_does_not_start_is_not_ready():
    m = Manager()
    d = m.start("--socket", m.path, "--plugin", "/nowhere.so")
    contains(d.communicate(timeout=LIMIT)[1], "/nowhere.so")
    equal((d.returncode, m.silent()), (1, True))
    m.end()


def test_a_passed_socket_is_served_and_kept():
    """A client that connects before the daemon runs is served; the socket outlives the daemon, and its next one
    serves who came in between."""
    m = Manager()
    m.listen()
    for _ in range(2):
        early = m.connect()
        d = m.start(passed=m.listener)
        equal(m.message(), ["READY=1", f"STATUS=serves {m.path}"])
        equal(early.call("server.status")["sessions"], 1)
        # nothing of the daemon's own lies beside the socket: it owns neither the path nor a lock
        equal(sorted(n for n in os.listdir(m.dir) if n.startswith("d.sock")), ["d.sock"])
        early.close()
        contains(stop(d), f"socket='{m.path}'")
        m.message()
        equal(os.path.exists(m.path), True, "the socket's file after the daemon's end")
    m.end()


def test_children_do_not_see_the_variables():
    """The trial load of a plugin's file runs in a child process."""
    m = Manager()
    m.listen()
    d = m.start(passed=m.listener)
    m.message()
    with m.connect() as client:
        client.call("plugin.load", path=os.path.join(BUILD, "plugins", "template.so"))
    equal(m.silent(), True, "nothing was said by a child")
    stop(d)
    m.end()


def refused(m, said, *options, **start):
    d = m.start(*options, **start)
    contains(d.communicate(timeout=LIMIT)[1], said)
    equal((d.returncode, m.silent()), (1, True))


def test_what_cannot_be_served_is_refused_by_name():
    m = Manager()
    m.listen()
    refused(m, "LISTEN_FDS is '2'; the daemon serves 1 socket", passed=m.listener, fds="2")
    refused(m, f"the socket is '/elsewhere' by --socket, but the service manager passed '{m.path}'",
            "--socket", "/elsewhere", passed=m.listener)
    refused(m, "LISTEN_FDS: descriptor 3 is not a listening Unix stream socket that has a path", passed=m.messages)
    with socket.socket(socket.AF_UNIX) as unbound:
        refused(m, "LISTEN_FDS: descriptor 3 is not a listening", passed=unbound)
    with open(os.devnull) as file:
        refused(m, "LISTEN_FDS: descriptor 3: Socket operation on non-socket", passed=file)
    refused(m, "NOTIFY_SOCKET is 'here'; expected a path", NOTIFY_SOCKET="here")
    m.end()


def test_clients_see_who_made_the_passed_socket():
    """SO_PEERCRED of a client is whoever called listen(): with socket activation by root, root."""
    m = Manager()
    m.listen()
    d = m.start(passed=m.listener)
    m.message()
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(m.path)
        pid = int.from_bytes(s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], "little")
    equal(pid, os.getpid(), "process that clients see")
    stop(d)
    m.end()


def refuse_writable_code():
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)


def test_the_daemon_needs_no_memory_that_is_written_and_run():
    """MemoryDenyWriteExecute and NoNewPrivileges of the system's unit: plugins load, reload and compute."""
    if SANITIZED:
        print("skipped: a sanitizer maps memory of its own")
        return
    child = os.fork()
    if child == 0:
        os._exit(refuse_writable_code() != 0)
    if os.waitpid(child, 0)[1] != 0:
        print("skipped: the kernel lacks PR_SET_MDWE")
        return
    with TestDaemon(preexec=refuse_writable_code) as daemon, daemon.connect() as d:
        matrix = {"dtype": "float32", "data": [[1, 2], [3, 4]]}
        equal(d.call("op.call", op="aten::mm", args=[matrix, matrix], **{"return": "data"})["outputs"][0]["data"],
              [[7, 10], [15, 22]])
        d.call("plugin.reload", plugin="template")
        d.call("plugin.unload", plugin="template")
        d.call("plugin.load", path=os.path.join(BUILD, "plugins", "template.so"))


main()
