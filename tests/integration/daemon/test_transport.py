"""test_transport.py -- bytes on the socket: framing, order, pressure, who may connect, which socket."""

import array
import contextlib
import json
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import threading
import time
import traceback

from harness import BUILD, SANITIZED, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon
import dispatchd
import raw

PARSE, INVALID = -32700, -32600


def setup():
    return TestDaemon("--no-plugins")


def teardown(daemon):
    daemon.finish()


class Raw(raw.Raw):
    def __init__(self, daemon):
        super().__init__(daemon.socket, 60)

    def ask(self, *parts):
        self.send(*parts)
        return self.answer()

    def ended(self):
        """The daemon has closed the connection, and said nothing more."""
        try:
            equal(self.file.read(), b"", "bytes before the end")
        except ConnectionResetError:
            pass


def request(id_, method="server.status", **more):
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, **more}).encode() + b"\n"


class Watch:
    """A client that sees descriptors come and go: those of the daemon while it is the only one."""

    def __init__(self, daemon):
        self.daemon = daemon

    def __enter__(self):
        self.client = self.daemon.connect()
        self._alone()
        self.before = self.daemon.descriptors()
        return self

    def _alone(self):
        wait_until(lambda: self.client.call("server.status")["connections"] == 1, "the others are gone")

    def __exit__(self, type_, *rest):
        if type_ is None:
            wait_until(lambda: self.daemon.descriptors() == self.before, "descriptors are what they were")
        self.client.close()


def lives(raw):
    equal(raw.ask(request(4711))["id"], 4711, "id of the answer after it")


def test_pipelined_requests_are_answered_in_order(daemon):
    with Raw(daemon) as c:
        c.send(*[request(i, "server.hello" if i % 3 else "registry.dump") for i in range(1000)])
        equal([c.answer()["id"] for _ in range(1000)], list(range(1000)))


def test_one_who_does_not_read_is_not_read(daemon):
    """It is held back, costs the daemon little, stops nobody, and in the end has every answer."""
    before = daemon.resident_kb()
    with Raw(daemon) as c:
        c.s.settimeout(2)
        sent, line = 0, request(1, "server.hello")
        try:
            while sent < 64 << 20:
                sent += c.s.send(line * 1000)
        except (TimeoutError, socket.timeout):
            pass
        less(sent, 32 << 20, "bytes that the daemon took")
        with daemon.connect() as other:
            other.call("server.status")
        if not SANITIZED:
            less(daemon.resident_kb() - before, 64 << 10, "kB more than before")
        c.s.settimeout(60)
        c.s.shutdown(socket.SHUT_WR)
        equal(sum(1 for _ in c.file), sent // len(line), "answers")


@contextlib.contextmanager
def readers(daemon, n, elements):
    """n clients that have asked twice for a tensor of so many elements, and the line that they should get."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Raw(daemon)) for _ in range(n)]
        data = struct.pack(f"<{elements}i", *range(elements))
        for c in clients:
            c.send(request(1, "tensor.create", params={"dtype": "int32", "shape": [elements], "attachment": 0},
                           attachments=[len(data)]), data)
            equal(c.answer()["id"], 1)
        for c in clients:
            c.send(request(2, "tensor.read", params={"tensor": 1}) * 2)
        yield clients


def test_long_answers_to_many(daemon):
    """They take turns, on the socket and in printing; who leaves meanwhile is forgotten."""
    elements = 200_000
    with Watch(daemon), readers(daemon, 24, elements) as clients:
        for c in clients[1::4]:
            c.__exit__()
        for c in [c for i, c in enumerate(clients) if i % 4 != 1]:
            for _ in range(2):
                answer = c.answer()
                equal((answer["id"], answer["result"]["data"] == list(range(elements))), (2, True))


def test_few_workers_print_long_answers_at_once():
    """Else the loop's thread gets one of so many shares of the cores, and short answers wait for it."""
    def running():
        states = []
        for task in os.listdir(f"/proc/{daemon.pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                with open(f"/proc/{daemon.pid}/task/{task}/stat") as f:
                    states.append(f.read().rpartition(")")[2].split()[0])
        return states.count("R")

    with TestDaemon("--no-plugins", "--threads", "2") as daemon, readers(daemon, 24, 1_000_000) as clients:
        less(sorted(running() for _ in range(100))[70], 8, "threads that run, mostly")
        for c in clients[:12]:
            c.__exit__()
        with daemon.connect() as d:
            wait_until(lambda: d.call("server.status")["connections"] == 13, "half of them are gone")
        for c in clients[12:]:
            c.send(request(3, "call.cancel", params={"id": 2}))
            answers = [c.answer() for _ in range(3)]
            equal([a["id"] for a in answers], [2, 2, 3])
            for a in answers[:2]:
                if "error" in a:
                    equal(a["error"]["data"]["type"], "Cancelled")


def test_half_close_still_gets_every_answer(daemon):
    with Raw(daemon) as c:
        c.send(*[request(i, "registry.dump") for i in range(100)])
        c.s.shutdown(socket.SHUT_WR)
        equal([json.loads(line)["id"] for line in c.file], list(range(100)))


def test_half_close_behind_backpressure_still_gets_every_answer(daemon):
    """Nothing is read from it when it closes its side: that is not yet leaving."""
    n, line = 600, request(1, "rpc.discover")
    with Raw(daemon) as c:
        sender = threading.Thread(target=lambda: (c.send(line * n), c.s.shutdown(socket.SHUT_WR)))
        sender.start()
        time.sleep(0.5)  # long enough to have answers pile up unread
        equal(sum(1 for _ in c.file), n, "answers")
        sender.join()


def test_client_that_leaves_unread_answers_is_noticed(daemon):
    """It is not being read from, since it reads nothing, and holds a tensor."""
    clients = [Raw(daemon) for _ in range(10)]
    for c in clients:
        equal(c.ask(request(1, "tensor.create", params={"data": [1.0]}))["id"], 1)
        c.s.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                c.s.send(request(2, "rpc.discover") * 100)
    with daemon.connect() as d:
        equal(d.call("server.status")["live_tensors"], len(clients))
        for c in clients:
            c.__exit__()
        wait_until(lambda: d.call("server.status")["connections"] == 1, "they are gone")
        wait_until(lambda: d.call("server.status")["live_tensors"] == 0, "their tensors are gone")


def test_urgent_data_ends_a_connection(daemon):
    """It must not keep the loop turning either."""
    for _ in range(20):  # the daemon may be polling the client's socket, or may sleep
        with Raw(daemon) as c:
            equal(c.ask(request(1))["id"], 1)
            try:
                c.s.send(b"!", socket.MSG_OOB)
            except OSError:
                return  # a system that knows none
            c.ended()


def test_half_a_message_then_silence(daemon):
    """A line without its end, and attachments that do not come, hold up nobody."""
    with Raw(daemon) as a, Raw(daemon) as b, Raw(daemon) as c:
        a.send(b'{"jsonrpc":"2.0","id":1,')
        b.send(request(1, attachments=[1 << 30]), b"some")
        for _ in range(20):
            lives(c)
        a.send(b'"method":"server.status"}\n')
        equal(a.answer()["id"], 1)


def test_silence_then_the_end_leaves_nothing(daemon):
    with Watch(daemon):
        for _ in range(20):
            with Raw(daemon) as c:
                c.send(request(1, attachments=[1000]), b"some")
            with Raw(daemon) as c:
                c.send(b'{"jsonrpc"')


def test_bytes_one_at_a_time(daemon):
    """However long it takes, others are served after each of them."""
    with Raw(daemon) as c, Raw(daemon) as other:
        for byte in request(7, "tensor.create", params={"dtype": "uint8", "shape": [3], "attachment": 0}, attachments=[3]) + b"abc":
            lives(other)
            c.send(bytes([byte]))
        answer = c.answer()
        equal((answer["id"], answer["result"]["shape"]), (7, [3]))


def test_blank_lines_and_carriage_returns(daemon):
    with Raw(daemon) as c:
        equal(c.ask(b"\n\r\n  \t\n", request(1)[:-1], b"\r\n")["id"], 1)


def test_garbage_is_answered_and_the_connection_lives(daemon):
    with Raw(daemon) as c:
        for line in (b"garbage", b"{", b"}", b'{"a":1}x', b"\xff\xfe\x00", b"[", b'"\x01"', b"{'a':1}",
                     b"nul", b"1e", b"[1,2", b"\x00" * 100, b'{"a":1,"a":2}', b"01"):
            error = c.ask(line, b"\n")
            equal((error["id"], error["error"]["code"]), (None, PARSE), repr(line))
        lives(c)


def test_depth_bombs_are_answered(daemon):
    with Raw(daemon) as c:
        for opening, n in ((b"[", 1000), (b"[", 500000), (b'{"a":', 200000)):
            equal(c.ask(opening * n, b"\n")["error"]["code"], PARSE)
        lives(c)


def test_line_over_the_limit(daemon):
    with Raw(daemon) as c:
        answer = c.ask(b"x" * ((1 << 20) + 1), b"\n")
        equal((answer["id"], answer["error"]["code"]), (None, INVALID))
        contains(answer["error"]["message"], "1048576")
        lives(c)
        filled = request(1, "server.hello", params={"client": "x" * ((1 << 20) - 100)})
        less(len(filled), (1 << 20) + 2)
        contains(c.ask(filled), "result")


def test_line_over_the_limit_is_skipped_as_it_comes(daemon):
    with Raw(daemon) as c:
        equal(c.ask(b"y" * (2 << 20))["error"]["code"], INVALID)  # answered before its end
        before = daemon.resident_kb()
        for _ in range(40):
            c.send(b"y" * (1 << 20))
        if not SANITIZED:
            less(daemon.resident_kb() - before, 16 << 10, "kB more than before")
        c.send(b"\n")
        lives(c)


def test_line_over_the_limit_that_announces_ends_the_connection(daemon):
    for word in (b'"attachments":[1]', b'"fds":1'):
        with Raw(daemon) as c:
            equal(c.ask(word, b"x" * (1 << 20), b"\n")["error"]["code"], INVALID)
            c.ended()
        with Raw(daemon) as c:
            equal(c.ask(b"x" * (2 << 20))["error"]["code"], INVALID)
            c.send(word, b"\n")
            c.ended()


def test_attachments_are_consumed_whatever_the_outcome(daemon):
    blob = b'{"jsonrpc":"2.0","id":666,"method":"server.status"}\n'
    with Raw(daemon) as c:
        for method, params in (("no.such", {}), ("server.status", {}), ("tensor.create", {"dtype": "what"}),
                               ("tensor.create", {"dtype": "uint8", "shape": [3], "attachment": 5})):
            c.send(request(1, method, params=params, attachments=[len(blob), 0, 3]), blob, b"abc")
            equal(c.answer()["id"], 1, method)
            lives(c)
        c.send(request(2, attachments=[]))
        equal(c.answer()["id"], 2)


def test_attachments_go_in_and_come_out(daemon):
    data = os.urandom(3 << 20)
    with daemon.connect() as d:
        t = d.call("tensor.create", dtype="uint8", shape=[len(data)], attachment=data)
        back = d.call("tensor.read", tensor=t["tensor"], **{"as": "attachment"})
        equal(back["attachment"] == data, True, "bytes come back")


def test_long_line_that_announces(daemon):
    """It is parsed on a worker, and only then is it known how many bytes follow."""
    with Raw(daemon) as c:
        for i in range(20):
            c.send(request(i, "server.hello", params={"client": "c" * 100000}, attachments=[5]), b"a\nb\nc",
                   request(i + 100))
        equal([c.answer()["id"] for _ in range(40)], [n for i in range(20) for n in (i, i + 100)])


def test_announcement_that_cannot_be_kept_ends_the_connection(daemon):
    for attachments in ([-1], [1.5], ["1"], 3, {"a": 1}, [1 << 31], [1 << 30, 1 << 30], [1] * 1025, None):
        with Raw(daemon) as c:
            c.send(request(1, attachments=attachments), request(2))
            equal(c.answer()["error"]["code"], INVALID, repr(attachments)[:40])
            c.ended()
    for fds in (-1, 17, 1, "1", [1]):
        with Raw(daemon) as c:
            equal(c.ask(request(1, fds=fds))["error"]["code"], INVALID, repr(fds))
            c.ended()
    with Raw(daemon) as c:
        equal(c.ask(b'{"attachments":[3}\n')["error"]["code"], PARSE)
        c.ended()


def test_words_that_announce_nothing(daemon):
    with Raw(daemon) as c:
        equal(c.ask(request(1, "server.hello", params={"client": '"attachments"'}))["id"], 1)
        equal(len(c.ask(b"[" + request(2)[:-1] + b"," + request(3)[:-1] + b"]\n")), 2)
        c.ask(b'[{"jsonrpc":"2.0","id":1,"method":"server.status","attachments":[3]}]\n')
        lives(c)


def send_beside(c, descriptors, *lines):
    c.s.sendmsg([b"".join(lines)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])


def send_descriptors(c, n, *lines):
    pipes = [os.pipe() for _ in range((n + 1) // 2)]
    ends = [fd for pair in pipes for fd in pair]
    send_beside(c, ends[:n], *lines)
    for fd in ends:
        os.close(fd)


def test_descriptors_are_consumed_and_closed(daemon):
    with Watch(daemon) as watch:
        with Raw(daemon) as c:
            for _ in range(50):
                send_descriptors(c, 16, request(1, fds=16))
                equal(c.answer()["id"], 1)
            equal(daemon.descriptors(), watch.before + 1)
            send_descriptors(c, 2, b"garbage\n")  # a descriptor is pending: whose is it?
            equal(c.answer()["error"]["code"], PARSE)
            c.ended()
        with Raw(daemon) as c:
            try:
                for _ in range(10):
                    send_descriptors(c, 16, b" ")
            except OSError:
                pass
            error = c.answer()
            equal((error["id"], error["error"]["data"]["type"]), (None, "ResourceExhausted"))
            contains(error["error"]["message"], "more than 16 descriptors came (descriptors)")
            c.ended()


def test_unannounced_descriptors_are_closed(daemon):
    """When the line is parsed that they came beside, be it blank or over the limit; the second time the
    connection ends."""
    beside = (request(1), b"\n", request(1, attachments=[1]) + b"x", request(1, fds=1),
              request(1, "server.hello", params={"client": '"fds"' + "x" * 10000}))
    for line in beside:
        with Watch(daemon) as watch, Raw(daemon) as c:
            send_descriptors(c, 3, line)
            if line != b"\n":
                equal(c.answer()["id"], 1)
            lives(c)
            wait_until(lambda: daemon.descriptors() == watch.before + 1, "they are closed")
            send_descriptors(c, 2, request(2), request(3, fds=2))  # the system says only that much
            equal((c.answer()["id"], c.answer()["id"]), (2, 3))
            send_descriptors(c, 1, request(4))
            equal(c.answer()["id"], 4)
            error = c.answer()
            equal((error["id"], error["error"]["code"]), (None, INVALID))
            contains(error["error"]["message"], "for the second time")
            c.ended()
    with Raw(daemon) as c:
        send_descriptors(c, 1, b"x" * 100)
        c.send(b"x" * (1 << 20), b"\n")
        equal(c.answer()["error"]["code"], INVALID)
        c.ended()


def test_line_may_come_behind_its_descriptors(daemon):
    with Raw(daemon) as c:
        line = request(1, fds=2)
        for i in range(1, len(line), 7):
            send_descriptors(c, 1, line[:i // 2 + 1])
            send_descriptors(c, 1, line[i // 2 + 1:i + 1])
            c.send(line[i + 1:])
            equal(c.answer()["id"], 1)


def test_announced_sockets_are_refused(daemon):
    """By name, and with what came beside them; the connection goes on."""
    with Watch(daemon) as watch, Raw(daemon) as c:
        for more in ({}, {"attachments": [2]}):
            with open(__file__) as file:
                send_beside(c, [file.fileno(), c.s.fileno()], request(1, fds=2, **more), b"ab" if more else b"")
            answer = c.answer()
            equal(answer["id"], 1)
            contains(answer["error"]["message"], "descriptor 1 is a socket")
            lives(c)
        equal(daemon.descriptors(), watch.before + 1)


def test_clients_that_pass_their_own_end_are_noticed_when_they_leave(daemon):
    """The daemon would otherwise keep the connection open itself, and in the end all connections."""
    for line in (request(1), b'{"jsonrpc"', b"\n", b"garbage\n", request(1, fds=1), request(1, attachments=[9])):
        with Watch(daemon):
            for _ in range(40):
                with Raw(daemon) as c:
                    send_beside(c, [c.s.fileno()], line)


def test_clients_that_pass_their_own_end_behind_unread_answers(daemon):
    """They are not read from, and the descriptor stays in the socket: nobody would see them leave."""
    n = 300
    with daemon.connect() as d, Raw(daemon) as stays:
        clients = [Raw(daemon) for _ in range(5)]
        for c in (stays, *clients):
            c.send(request(2, "rpc.discover") * n)
        time.sleep(0.5)  # by then they are not read any more
        for c in clients:
            send_beside(c, [c.s.fileno()], request(3))
            c.__exit__()
        wait_until(lambda: d.call("server.status")["connections"] == 2, "they are gone", 40)
        equal([stays.answer()["id"] for _ in range(n)], [2] * n, "answers to one who only waits")


def test_descriptors_that_wait_are_few():
    """However many clients send them beside lines that do not end: those that have waited longest go."""
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    with TestDaemon("--no-plugins", preexec=few) as daemon, daemon.connect() as d:
        known = d.call("server.hello")["limits"]
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Raw(daemon)) for _ in range(20)]
            for c in clients:
                send_descriptors(c, known["descriptors"], b'{"jsonrpc"')
            stay = known["waiting_descriptors"] // known["descriptors"]
            for c in clients[:-stay]:
                contains(c.answer()["error"]["message"], "(waiting_descriptors)")
                c.ended()
            with daemon.connect() as late:
                equal(late.call("server.status")["connections"], stay + 2)
            for c in clients[-stay:]:  # nobody else needs them, but the line has to end some time
                contains(c.answer()["error"]["message"], "(silent_ms)")
                c.ended()


def test_notifications_get_no_answer(daemon):
    with Raw(daemon) as c:
        c.send(b'{"jsonrpc":"2.0","method":"server.status"}\n' * 100)
        c.send(b'{"jsonrpc":"2.0","method":"call.cancel","params":{"id":5}}\n')
        c.send(b'{"jsonrpc":"2.0","method":"call.cancel"}\n')
        lives(c)


def test_null_is_an_id(daemon):
    with Raw(daemon) as c:
        answer = c.ask(request(None))
        equal(answer["id"], None)
        contains(answer, "result")
        lives(c)


def test_cancel_is_a_method_that_answers_in_its_turn(daemon):
    with Raw(daemon) as c:
        equal(c.ask(request(2, "call.cancel", params={"id": 1}))["result"], {"waiting": False})
        answer = c.ask(request(3, "call.cancel", params={"ids": 1}))
        equal(answer["error"]["code"], -32602)
        batch = [json.loads(request(4, "call.cancel", params={"id": "a"}))]
        equal(c.ask(json.dumps(batch).encode() + b"\n")[0]["result"], {"waiting": False})


def test_64_connections(daemon):
    clients = [Raw(daemon) for _ in range(64)]
    for i, c in enumerate(clients):
        c.send(*[request(1000 * i + k) for k in range(50)])
    for i, c in enumerate(clients):
        equal([c.answer()["id"] for _ in range(50)], [1000 * i + k for k in range(50)])
    for c in clients:
        c.__exit__()


def test_connections_come_and_go(daemon):
    faults = []

    def churn(waits):
        try:
            for _ in range(100):
                with Raw(daemon) as c:
                    c.send(request(1), request(2))
                    if waits:
                        equal(c.answer()["id"], 1)
        except Exception as e:
            faults.append(e)

    threads = [threading.Thread(target=churn, args=(n % 2,)) for n in range(4)]
    with Watch(daemon):
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    equal(faults, [])


def test_sessions(daemon):
    """A handle belongs to its session; the key opens it to others; it lingers when told to."""
    with daemon.connect() as a, daemon.connect() as b:
        key = a.call("server.hello", linger_ms=500)["session_key"]
        t = a.call("tensor.create", data=[1.0])["tensor"]
        raises(lambda: b.call("tensor.read", tensor=t), "NotFound")
        raises(lambda: b.call("server.hello", session_key="0" * 32), "NotFound")
        b.call("server.hello", session_key=key)
        equal(b.call("tensor.read", tensor=t)["data"], [1])
        a.close()
        equal(b.call("tensor.read", tensor=t)["data"], [1])
    time.sleep(0.1)
    with daemon.connect() as c:  # nobody was in it for a moment
        c.call("server.hello", session_key=key)
        equal(c.call("tensor.read", tensor=t)["data"], [1])
    with daemon.connect() as c:
        wait_until(lambda: c.call("server.status")["live_tensors"] == 0, "the session has ended")
        raises(lambda: c.call("server.hello", session_key=key), "NotFound")


@contextlib.contextmanager
def started(*options, **more):
    """A daemon without plugins that does not outlive the block, whatever happens in it."""
    more = {"stderr": subprocess.DEVNULL, **more}
    process = subprocess.Popen([BUILD + "/dispatchd", "--no-plugins", *options], **more)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def become_somebody_and_connect(path):
    """In a forked child: ends it, with 0 when the daemon closes the connection, with 2 when the test
    itself cannot do it (a directory that others may not pass)."""
    status = 2
    try:
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            try:
                status = 0 if s.recv(1) == b"" else 1
            except ConnectionResetError:
                status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def test_another_user_is_refused(daemon):
    if os.geteuid() != 0:
        return  # only root can become somebody else
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        path = directory + "/open.sock"
        with started("--socket", path, "--mode", "0666", stderr=subprocess.PIPE) as open_to_all:
            wait_until(lambda: os.path.exists(path), "it listens")
            equal(stat.S_IMODE(os.stat(path).st_mode), 0o666)
            child = os.fork()
            if child == 0:
                become_somebody_and_connect(path)
            equal(os.waitpid(child, 0)[1], 0, "status of the other user")
            open_to_all.terminate()
            contains(open_to_all.communicate()[1].decode(), "uid 65534")
            equal(open_to_all.returncode, 0)


def run(*options, **more):
    return subprocess.run([BUILD + "/dispatchd", *options], capture_output=True, text=True, timeout=60, **more)


def test_live_socket_is_never_taken(daemon):
    second = run("--no-plugins", "--socket", daemon.socket)
    equal(second.returncode, 1)
    contains(second.stderr, str(daemon.pid))
    contains(second.stderr, daemon.socket)
    with Raw(daemon) as c:
        lives(c)


def test_socket_has_mode_0600_and_goes_with_the_daemon(daemon):
    equal(stat.S_IMODE(os.stat(daemon.socket).st_mode), 0o600)
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/s"
        with started("--socket", path) as p:
            wait_until(lambda: os.path.exists(path), "it listens")
            p.send_signal(signal.SIGINT)
            equal(p.wait(60), 0)
        equal(os.listdir(directory), [])


def test_daemon_removes_only_its_own_files(daemon):
    """Somebody cleans the directory, a second daemon takes the path, the first one leaves."""
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/s"
        with started("--socket", path) as first:
            wait_until(lambda: os.path.exists(path), "the first listens")
            os.unlink(path)
            os.unlink(path + ".lock")
            with started("--socket", path) as second:
                wait_until(lambda: os.path.exists(path), "the second listens")
                first.terminate()
                equal(first.wait(60), 0)
                equal(sorted(os.listdir(directory)), ["s", "s.lock"], "files of the second")
                with dispatchd.connect(path, 60) as d:
                    equal(d.call("server.hello")["pid"], second.pid)
                second.terminate()
                equal(second.wait(60), 0)
        equal(os.listdir(directory), [])


def listens(path):
    """A socket's file is there before anybody listens."""
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(path) == 0


def test_what_was_sent_before_the_end_is_answered(daemon):
    """More than one read takes, on connections accepted and not yet accepted."""
    line = request(1, params={})[:-2] + b" " * 300 + b"}\n"
    for n in (900, 450, 100, 1):
        with tempfile.TemporaryDirectory() as directory:
            path = directory + "/s"
            with started("--socket", path) as p:
                wait_until(lambda: listens(path), "it listens")
                with contextlib.ExitStack() as stack:
                    p.send_signal(signal.SIGSTOP)  # so that it reads nothing before the signal
                    clients = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(3)]
                    sent = []
                    for c in clients:
                        c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
                        c.connect(path)
                        c.setblocking(False)
                        sent.append(c.send(line * n) // len(line))
                    p.terminate()
                    p.send_signal(signal.SIGCONT)
                    for c, whole in zip(clients, sent):
                        c.settimeout(60)
                        equal(count_lines(c), whole, f"answers to the {whole} requests sent")
                equal(p.wait(60), 0)


def count_lines(c):
    """Lines until the end, however the other side ends."""
    n = 0
    with contextlib.suppress(ConnectionResetError):
        while data := c.recv(1 << 16):
            n += data.count(b"\n")
    return n


def test_dead_daemons_socket_is_replaced(daemon):
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/s"
        for _ in range(3):
            def answers():
                try:
                    with dispatchd.connect(path, 60) as d:
                        return d.call("server.status")
                except (FileNotFoundError, ConnectionRefusedError):
                    return False
            with started("--socket", path):
                wait_until(answers, "it answers")
            equal(os.path.exists(path), True, "a socket is left")


def test_what_is_not_a_dead_daemons_is_left_alone(daemon):
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/s"
        with open(path, "w") as f:
            f.write("precious")
        contains(run("--no-plugins", "--socket", path).stderr, "not a socket")
        with open(path) as f:
            equal(f.read(), "precious")
        os.unlink(path)
        other = socket.socket(socket.AF_UNIX)
        other.bind(path)
        other.listen()
        contains(run("--no-plugins", "--socket", path).stderr, "without our lock")
        equal(os.path.exists(path), True)
        other.close()


def test_usual_places(daemon):
    with tempfile.TemporaryDirectory() as directory:
        for env, path in (({"DISPATCHD_SOCKET": directory + "/a"}, "/a"),
                          ({"XDG_RUNTIME_DIR": directory}, "/dispatchd.sock")):
            clean = {k: v for k, v in os.environ.items() if k not in ("DISPATCHD_SOCKET", "XDG_RUNTIME_DIR")}
            with started(env={**clean, **env}) as p:
                wait_until(lambda: os.path.exists(directory + path), path)
                p.terminate()
                equal(p.wait(60), 0)


def test_bad_options(daemon):
    for options, part in ((["--what"], "--what"), (["--mode", "9"], "--mode"), (["--socket"], "--socket"),
                          (["--workers", "0"], "--workers"), (["--max-line", "1x"], "--max-line"),
                          (["--log-level", "loud"], "loud"), (["word"], "word"),
                          (["--log", "/no/such/directory/log"], "/no/such/directory")):
        r = run(*options)
        equal(r.returncode, 2, repr(options))
        contains(r.stderr, part)
    contains(run("--version").stdout, "dispatchd ")
    contains(run("--help").stdout, "--plugin-path")
    r = run("--no-plugins", "--socket", "/tmp/" + "x" * 200)
    equal(r.returncode, 1)
    contains(r.stderr, "107")


def test_plugin_that_does_not_load_stops_the_start(daemon):
    with tempfile.TemporaryDirectory() as directory:
        r = run("--no-plugins", "--socket", directory + "/s", "--plugin", "/no/such/plugin.so")
        equal(r.returncode, 1)
        contains(r.stderr, "/no/such/plugin.so")
        equal(os.listdir(directory), [])


def test_session_end_is_answered_when_the_connections_are_closed(daemon):
    sent = 0
    with daemon.connect() as d:
        for _ in range(100):
            with Raw(daemon) as c:
                session = c.ask(request(1, "server.hello"))["result"]["session"]
                d.call("session.end", session=session)
                try:
                    c.send(request(2))
                    sent += 1
                except BrokenPipeError:
                    pass
                contains(c.answer()["error"]["message"], "the session was ended by session.end")
                c.ended()
    equal(sent, 0, "requests that an ended session could still send")


def test_limits_can_be_set():
    with TestDaemon("--no-plugins", "--max-line", "4096", "--max-attachment", "100") as daemon:
        with Raw(daemon) as c:
            contains(c.ask(b"x" * 5000, b"\n")["error"]["message"], "4096")
            contains(c.ask(request(1, attachments=[101]))["error"]["message"], "100")
            c.ended()


if __name__ == "__main__":
    main(setup, teardown)
