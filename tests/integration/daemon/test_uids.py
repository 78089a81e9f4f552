"""test_uids.py -- clients of other uids: who may connect, what they may do, and what only the daemon's own uid may.

The tests run as root, whose children become other uids; without root they are skipped, by name."""

import concurrent.futures
import contextlib
import json
import mmap
import os
import shutil
import socket
import subprocess
import tempfile
import time

from harness import BUILD, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon
import dispatchd
import exposition

OWN, OTHER, THIRD = os.geteuid(), 65534, 65533
GROUP = 54321
SLEEPS = os.path.join(BUILD, "tests", "plugins", "sleeps.so")
PACKED = os.path.join(BUILD, "tests", "plugins", "packed.so")
TEMPLATE = os.path.join(BUILD, "plugins", "template.so")
ADD = {"op": "aten::add.Tensor", "args": [{"data": [1.0, 2.0]}, 1], "return": "data"}


def begin_as_uid(uid, fn, gid=65534, groups=()):
    """Call fn() in a child with this uid; returns a function that waits for its result, which is fn()'s: an
    Error of the daemon is raised here, too."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setgid(gid)
            os.setuid(uid)
            answer = {"result": fn()}
        except dispatchd.Error as e:
            answer = {"error": {"code": e.code, "message": e.message, "data": e.data}}
        except BaseException as e:
            answer = {"raised": repr(e)}
        os.write(write, json.dumps(answer).encode())
        os._exit(0)
    os.close(write)

    def finish():
        with os.fdopen(read, "rb") as f:
            answer = json.loads(f.read() or b"{}")
        os.waitpid(child, 0)
        if "error" in answer:
            raise dispatchd.Error(answer["error"])
        if "raised" in answer:
            raise AssertionError(f"uid {uid}: {answer['raised']}")
        return answer["result"]
    return finish


def as_uid(uid, fn, **ids):
    """The result of fn() in a child with this uid."""
    return begin_as_uid(uid, fn, **ids)()


@contextlib.contextmanager
def daemon_for(*options):
    """A daemon whose socket other uids can reach."""
    directory = tempfile.mkdtemp(prefix="dispatchd-uids-")
    os.chmod(directory, 0o755)
    try:
        with TestDaemon("--mode", "0666", *options, socket=os.path.join(directory, "s")) as daemon:
            yield daemon
    finally:
        shutil.rmtree(directory)


def call(path, method, /, **params):
    with dispatchd.connect(path, 60) as d:
        return d.call(method, **params)


def setup():
    directory = tempfile.mkdtemp(prefix="dispatchd-uids-")
    os.chmod(directory, 0o755)
    daemon = TestDaemon("--mode", "0666", "--allow-uid", str(OTHER), "--allow-uid", str(THIRD),
                        socket=os.path.join(directory, "s"))
    return daemon


def teardown(daemon):
    daemon.finish()
    shutil.rmtree(os.path.dirname(daemon.socket))


def connects(path):
    """Does the daemon answer this process?  A client that may not connect gets no answer."""
    try:
        return call(path, "server.hello")["session"] > 0
    except OSError:
        return False


def test_uids_that_are_not_allowed_are_refused(f):
    equal(as_uid(65000, lambda: connects(f.socket)), False)
    equal(as_uid(OTHER, lambda: connects(f.socket)), True)
    wait_until(lambda: "connection.refuse error=\"uid 65000" in f.log(), "the log says so")


def test_groups_are_allowed():
    with daemon_for("--allow-gid", str(GROUP), "--no-plugins") as f:
        able = lambda **ids: as_uid(65000, lambda: connects(f.socket), **ids)
        equal(able(gid=GROUP), True)
        equal(able(groups=[7, GROUP]), True, "a supplementary group")
        equal(able(groups=[7]), False)


def test_other_uids_call_operators_and_own_tensors(f):
    def use():
        with dispatchd.connect(f.socket, 60) as d:
            t = d.op("aten::ones", [100], dtype="float32")["tensor"]
            account = d.call("session.get")["account"]["tensors"]
            return [d.call("op.call", **ADD)["outputs"][0]["data"], account,
                    d.call("tensor.list")["tensors"][0]["tensor"] == t]
    equal(as_uid(OTHER, use), [[2, 3], {"count": 1, "bytes": 400}, True])


def test_clients_trust_a_daemon_of_another_uid_when_told_to():
    """The daemon runs as OTHER, and allows THIRD; both clients of ours refuse it unless $DISPATCHD_SERVER_UID names OTHER."""
    folder = tempfile.mkdtemp(prefix="dispatchd-uids-")
    os.chmod(folder, 0o777)
    path = os.path.join(folder, "s")
    os.environ["DISPATCHD_SERVER_UID"] = str(OTHER)
    daemon = TestDaemon("--no-plugins", "--mode", "0666", "--allow-uid", str(THIRD), "--allow-uid", "0",
                        "--cache-dir", os.path.join(folder, "cache"), socket=path,
                        preexec=lambda: (os.setgroups([]), os.setgid(65534), os.setuid(OTHER)))

    def ctl(**env):
        done = subprocess.run([os.path.join(BUILD, "dispatchctl"), "--socket", path, "raw", "server.hello"], env=env,
                              capture_output=True, text=True, timeout=60)
        return [done.returncode, done.stderr]
    try:
        equal(as_uid(THIRD, lambda: call(path, "server.hello")["session"] > 0), True)
        equal(as_uid(THIRD, lambda: ctl(DISPATCHD_SERVER_UID=str(OTHER))), [0, ""])
        del os.environ["DISPATCHD_SERVER_UID"]
        equal(as_uid(THIRD, lambda: connects(path)), False)
        for env in ({}, {"DISPATCHD_SERVER_UID": str(THIRD)}, {"DISPATCHD_SERVER_UID": f"{OTHER}x"}):
            status, said = as_uid(THIRD, lambda: ctl(**env))
            equal(status, 3, said)
            contains(said, f"runs as uid {OTHER}, not as root or as you ({THIRD}); if you trust that user, set "
                           f"DISPATCHD_SERVER_UID={OTHER}")
    finally:
        os.environ.pop("DISPATCHD_SERVER_UID", None)
        daemon.stop()
        shutil.rmtree(folder)


def refused_method(f, method, /, *parts, **params):
    raises(lambda: as_uid(OTHER, lambda: call(f.socket, method, **params)), "PermissionError", method, *parts,
           f"uid {OTHER} may not, only uid {OWN}")


def test_plugin_load_is_the_owners(f):
    refused_method(f, "plugin.load", path=TEMPLATE)
    refused_method(f, "plugin.load", path="/nowhere")  # nor may they ask which files there are


def test_plugin_reload_is_the_owners(f):
    refused_method(f, "plugin.reload", plugin="template")


def test_plugin_unload_is_the_owners(f):
    refused_method(f, "plugin.unload", plugin="template")
    with f.connect() as d:
        contains(f.loaded(d), "template")


def test_plugin_describe_by_path_is_the_owners(f):
    refused_method(f, "plugin.describe", "by path", path=TEMPLATE)
    with f.connect() as d:
        equal(d.call("plugin.describe", path=TEMPLATE)["plugin"], "template")


def test_plugins_by_descriptor(f):
    """Another uid reads a file that it has opened, and runs none.  A descriptor that cannot be read opens no file that
    only the daemon may read."""
    def ask():
        said = []
        with dispatchd.connect(f.socket, 60) as d:
            for method, path, flags in (("plugin.describe", TEMPLATE, os.O_RDONLY), ("plugin.load", TEMPLATE, os.O_RDONLY),
                                        ("plugin.describe", secret.name, os.O_PATH)):
                try:
                    said.append(d.call(method, fd=dispatchd.Fd(os.open(path, flags)))["plugin"])
                except dispatchd.Error as e:
                    said.append(f"{e.type} {e.message}")
        return said
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(f.socket)) as secret:
        with open(TEMPLATE, "rb") as template:
            secret.write(template.read())
        secret.flush()
        described, loaded, hidden = as_uid(OTHER, ask)
    equal(described, "template")
    contains(loaded, f"PermissionError plugin.load: uid {OTHER} may not")
    contains(hidden, "ValueError fd: descriptor 0 is not open for reading")


def test_server_shutdown_is_the_owners(f):
    refused_method(f, "server.shutdown")
    with f.connect() as d:
        d.call("server.status")


def test_a_batch_and_a_notification_have_no_more_rights(f):
    def ask():
        with dispatchd.connect(f.socket, 60) as d:
            d.send_message({"jsonrpc": "2.0", "method": "server.shutdown"})
            d.send_message([{"jsonrpc": "2.0", "id": 1, "method": "server.shutdown"}])
            return d.receive_message()[0]["error"]["data"]["type"]
    equal(as_uid(OTHER, ask), "PermissionError")
    with f.connect() as d:
        d.call("server.status")


def test_session_list_has_others_sessions_for_the_owner_only(f):
    with f.connect() as d:
        d.op("aten::ones", [10])
        listed = as_uid(OTHER, lambda: call(f.socket, "session.list"))["sessions"]
        equal([(s["uid"], s["connections"], s["bytes"]) for s in listed], [(OTHER, 1, 0)])
        key, read, write = as_uid_key(f)
        own = d.call("session.list")["sessions"]
        equal([s["session"] for s in own], sorted(s["session"] for s in own), "sorted")
        equal(sorted({s["uid"] for s in own}), [OWN, OTHER])
        mine = next(s for s in own if s["session"] == d.call("server.hello")["session"])
        equal((mine["bytes"], mine["account"]["tensors"]), (40, {"count": 1, "bytes": 40}))
        equal("ends_in_ms" in mine, False)
        let_go(read, write)


def as_uid_key(f, uid=OTHER):
    """Start a client of `uid` that keeps a session with one tensor until let_go(): its session and key."""
    read, child_write = os.pipe()
    child_read, write = os.pipe()
    if os.fork() == 0:
        os.close(write)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(uid)
        try:
            with dispatchd.connect(f.socket, 60) as d:
                d.op("aten::ones", [1000])
                hello = d.call("server.hello")
                os.write(child_write, json.dumps([hello["session"], hello["session_key"]]).encode() + b"\n")
                os.read(child_read, 1)
                # the daemon may have ended the session
                try:
                    d.call("server.status")
                    os.write(child_write, b"alive\n")
                except dispatchd.Error as e:
                    os.write(child_write, e.message.encode() + b"\n")
        finally:
            os._exit(0)
    os.close(child_write)
    os.close(child_read)
    answers = os.fdopen(read)
    return json.loads(answers.readline()), answers, write


def let_go(answers, write):
    os.close(write)
    said = answers.readline().strip()
    answers.close()
    os.wait()
    return said


def test_session_end_of_others_is_the_owners(f):
    (session, _), read, write = as_uid_key(f)
    with f.connect() as d:
        mine = d.call("server.hello")["session"]
        for uid, id_ in ((OTHER, mine), (THIRD, session), (OTHER, 1 << 40)):
            raises(lambda: as_uid(uid, lambda: call(f.socket, "session.end", session=id_)), "PermissionError",
                   f"session {id_} is no session of uid {uid}")
        raises(lambda: d.call("session.end", session=1 << 40), "NotFound", f"no session {1 << 40}")
        raises(lambda: d.call("session.end", session=mine), "ValueError", "the session of this connection")
        equal(d.call("session.end", session=session), {"session": session, "connections": 1})
        raises(lambda: d.call("session.end", session=session), "NotFound")
        contains(let_go(read, write), "the session was ended by session.end")
        wait_until(lambda: session not in [s["session"] for s in d.call("session.list")["sessions"]], "it is gone")
        wait_until(lambda: d.call("server.status")["live_tensors"] == 0, "its tensor is released")


def test_other_uids_end_their_own_sessions(f):
    (session, _), read, write = as_uid_key(f)
    equal(as_uid(OTHER, lambda: call(f.socket, "session.end", session=session))["connections"], 1)
    contains(let_go(read, write), "session.end")


def test_a_session_is_joined_by_its_own_uid_only(f):
    (session, key), read, write = as_uid_key(f)
    equal(as_uid(OTHER, lambda: call(f.socket, "server.hello", session_key=key)["session"]), session)
    raises(lambda: as_uid(THIRD, lambda: call(f.socket, "server.hello", session_key=key)), "NotFound")
    with f.connect() as d:
        raises(lambda: d.call("server.hello", session_key=key), "NotFound")
    equal(let_go(read, write), "alive")


def test_status_has_only_own_figures_for_other_uids(f):
    (session, _), read, write = as_uid_key(f, THIRD)
    with f.connect() as d:
        d.op("aten::ones", [10])
        status = as_uid(OTHER, lambda: call(f.socket, "server.status"))
        equal([u["uid"] for u in status["users"]], [OTHER])
        equal({h["uid"] for h in status["holders"]}, {OTHER})
        equal((status["tensors"], status["account"]["tensors"]), (0, {"count": 0, "bytes": 0}))
        for name in ("sessions", "connections", "live_tensors", "bytes", "calls", "requests", "running", "stuck"):
            equal(name in status, False, name)
        own = d.call("server.status")
        held = {u["uid"]: (u["sessions"], u["connections"], u["bytes"]) for u in own["users"]}
        equal(held[THIRD], (1, 1, 4000))
        equal((own["holders"][0]["session"], own["holders"][0]["bytes"]), (session, 4000), "holds most")
        less(1, own["sessions"])
    let_go(read, write)


def limits(directory, *lines):
    path = os.path.join(directory, "conf")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    return path


def test_a_uid_has_one_limit_for_all_its_sessions():
    with tempfile.TemporaryDirectory() as directory:
        conf = limits(directory, "uid_bytes = 1 MiB")
        with daemon_for("--config", conf, "--allow-uid", str(OTHER)) as f, f.connect() as a, f.connect() as b:
            a.op("aten::ones", [150, 1000])
            raises(lambda: b.op("aten::ones", [150, 1000]), "ResourceExhausted", "600000 bytes asked for", "of 1048576 left",
                   "(uid_bytes)")
            equal(as_uid(OTHER, lambda: call(f.socket, "op.call", op="aten::ones", args=[[150, 1000]])["outputs"][0]["dtype"]),
                  "float32", "another uid has its own limit")
            b.op("aten::ones", [100, 1000])
            a.call("tensor.release", all=True)
            b.op("aten::ones", [150, 1000])


def refusal(path, member="message"):
    """What the daemon says to a client that it does not take."""
    with dispatchd.connect(path, 60) as d:
        return d.receive_message()["error"][member]


def test_other_uids_cannot_take_every_place():
    with tempfile.TemporaryDirectory() as directory:
        conf = limits(directory, "uid_connections = 3", "uid_sessions = 2")
        with daemon_for("--config", conf, "--allow-uid", str(OTHER), "--no-plugins") as f:
            def crowd():
                first = [dispatchd.connect(f.socket, 60) for _ in range(2)]
                key = first[0].call("server.hello")["session_key"]
                first[1].call("server.hello")
                said = [refusal(f.socket)]
                first[1].call("server.hello", session_key=key)
                time_out = 200
                while len(first) < 3 and time_out > 0:  # the session that was left ends soon
                    try:
                        d = dispatchd.connect(f.socket, 60)
                        d.call("server.hello", session_key=key)
                        first.append(d)
                    except (dispatchd.Error, OSError):
                        time_out -= 1
                return said + [refusal(f.socket)]
            said = as_uid(OTHER, crowd)
            contains(said[0], f"uid {OTHER} has 2 sessions (uid_sessions)")
            contains(said[1], f"uid {OTHER} has 3 connections (uid_connections)")


def user(d, uid):
    """The figures of a uid, as the owner sees them."""
    return next((u for u in d.call("server.status")["users"] if u["uid"] == uid), None)


def held_by(d, uid, name):
    return (user(d, uid) or {}).get(name, 0)


def test_the_number_of_uids_is_limited():
    def keep(path):
        return call(path, "tensor.create", data=[1], name="kept")["shape"]

    def admitted(path):
        try:
            return as_uid(THIRD, lambda: call(path, "server.hello")["session"] > 0)
        except (dispatchd.Error, AssertionError):
            return False
    with tempfile.TemporaryDirectory() as directory:
        conf = limits(directory, "uids = 2")
        with daemon_for("--config", conf, "--allow-uid", str(OTHER), "--allow-uid", str(THIRD), "--no-plugins") as f, \
                f.connect() as owner:
            equal(as_uid(OTHER, lambda: keep(f.socket)), [1])
            wait_until(lambda: held_by(owner, OTHER, "sessions") == 0, "its session has ended")
            equal(as_uid(THIRD, lambda: refusal(f.socket)), "2 uids use this daemon, no more can (uids)")
            equal(as_uid(THIRD, lambda: refusal(f.socket, "data")),
                  {"type": "ResourceExhausted", "limit": {"name": "uids", "most": 2, "asked": 3}})
            contains(owner.call("server.metrics")["text"], 'dispatchd_limit_refusals_total{limit="uids"} 2\n')
            as_uid(OTHER, lambda: call(f.socket, "tensor.unlink", name="kept"))
            wait_until(lambda: admitted(f.socket), "a uid that holds nothing gives way")
            equal(sorted(u["uid"] for u in owner.call("server.status")["users"]), sorted([OWN, THIRD]))


def test_counts_over_all_sessions_of_a_uid():
    with tempfile.TemporaryDirectory() as directory:
        conf = limits(directory, "uid_tensors = 3", "uid_objects = 2", "uid_maps = 2", "uid_names = 1")
        with daemon_for("--config", conf, "--allow-uid", str(OTHER), "--plugin", PACKED) as f, f.connect() as owner:
            def use():
                with dispatchd.connect(f.socket, 60) as a, dispatchd.connect(f.socket, 60) as b:
                    made = [d.op("aten::ones", [2])["tensor"] for d in (a, a, b)]
                    e = raises(lambda: b.op("aten::ones", [2]), "ResourceExhausted",
                               "tensors: 1 more asked for, 0 of 3 left (uid_tensors)")
                    equal(e.data["limit"], {"name": "uid_tensors", "most": 3, "asked": 1})
                    a.release(made[0])
                    given = [b.op("aten::ones", [2])["tensor"]] + made[1:]
                    for d, t in ((a, given[1]), (b, given[2])):
                        d.map(t)
                    raises(lambda: b.call("tensor.read", tensor=given[0], **{"as": "fd"}), "ResourceExhausted",
                           f"uid {OTHER} has 2 maps", "(uid_maps)")
                    a.call("tensor.name", tensor=given[1], name="one")
                    raises(lambda: b.call("tensor.name", tensor=given[0], name="two"), "ResourceExhausted",
                           "names: 1 more asked for, 0 of 1 left (uid_names)")
                    pack = {"op": "packed::prepack", "args": [{"data": [[1.0]]}, {"float": 1}, ""]}
                    a.call("op.call", **pack)  # an object and its handle
                    raises(lambda: b.call("op.call", **pack), "ResourceExhausted",
                           "objects: 1 more asked for, 0 of 2 left (uid_objects)")
                    return user(b, OTHER)
            seen = as_uid(OTHER, use)
            equal((seen["sessions"], seen["connections"], seen["maps"]), (2, 2, 2))
            equal([seen["account"][h]["count"] for h in ("tensors", "objects", "names")], [3, 2, 1])
            wait_until(lambda: held_by(owner, OTHER, "maps") == 0, "the maps are gone with their connections")
            wait_until(lambda: user(owner, OTHER)["account"]["tensors"]["count"] == 0, "so are the handles")
            owner.op("aten::ones", [2])
            refused = exposition.read(owner.call("server.metrics")["text"])["dispatchd_limit_refusals_total"]
            equal({dict(k)["limit"]: n for k, n in refused.items()},
                  {"uid_tensors": 1, "uid_objects": 1, "uid_maps": 1, "uid_names": 1})
            as_uid(OTHER, lambda: call(f.socket, "tensor.unlink", name="one"))


def test_memory_that_is_shared_takes_few_descriptors():
    """Releasing a map leaves the tensor's memfd, so memfds have a limit of their own."""
    with tempfile.TemporaryDirectory() as directory:
        conf = limits(directory, "uid_memfds = 3")
        with daemon_for("--config", conf, "--allow-uid", str(OTHER)) as f, f.connect() as owner:
            owner.call("server.status")  # so it is connected
            before = f.descriptors()

            def use():
                with dispatchd.connect(f.socket, 60) as d:
                    made = [d.op("aten::ones", [2])["tensor"] for _ in range(4)]
                    for t in made[:3]:
                        d.unmap(d.map(t)[0]["map"])
                    raises(lambda: d.call("tensor.read", tensor=made[3], **{"as": "fd"}), "ResourceExhausted",
                           "memfds: 1 more asked for, 0 of 3 left (uid_memfds)")
                    raises(lambda: d.call("tensor.create", dtype="int8", shape=[4], fd=dispatchd.share(b"abcd")),
                           "ResourceExhausted", "(uid_memfds)")
                    equal(user(d, OTHER)["account"]["memfds"]["count"], 3)
                    d.release(made[0])
                    d.map(made[3])
            as_uid(OTHER, use)
            wait_until(lambda: f.descriptors() == before, "they are gone with their session")
            for _ in range(3):
                owner.map(owner.op("aten::ones", [2])["tensor"])
            wait_until(lambda: f.descriptors() == before + 3, "one descriptor for each")


def test_descriptors_of_requests_that_wait():
    """However many connections send them: no more requests of the uid are read, and all are answered later."""
    with tempfile.TemporaryDirectory() as directory:
        conf = limits(directory, "uid_descriptors = 16")
        with daemon_for("--config", conf, "--allow-uid", str(OTHER), "--plugin", SLEEPS) as f, f.connect() as owner:
            owner.call("server.status")  # so it is connected
            before = f.descriptors()

            def use():
                clients = [socket.socket(socket.AF_UNIX) for _ in range(4)]
                for s in clients:
                    s.connect(f.socket)
                    s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"op.call","params":{"op":"sleeps::sleep",'
                              b'"args":[{"data":[1]},1000],"return":"data"}}\n')
                for s in clients:
                    fds = [os.memfd_create("sent") for _ in range(8)]
                    socket.send_fds(s, [b'{"jsonrpc":"2.0","id":2,"fds":8,"method":"server.hello"}\n'], fds)
                    for fd in fds:
                        os.close(fd)
                answers = []
                for s in clients:
                    s.settimeout(60)
                    with s.makefile("rb") as lines:
                        answers += ["result" in json.loads(lines.readline()) for _ in range(2)]
                return answers
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                answers = pool.submit(as_uid, OTHER, use)
                wait_until(lambda: f.descriptors() == before + 4 + 16, "two messages with descriptors are read")
                time.sleep(0.2)
                equal(f.descriptors(), before + 4 + 16, "the others wait")
                equal(answers.result(), [True] * 8)
            wait_until(lambda: f.descriptors() == before, "they are closed")


def test_named_bytes_are_apart_from_the_bytes_of_sessions():
    with tempfile.TemporaryDirectory() as directory:
        conf = limits(directory, "uid_named_bytes = 4000000", "uid_bytes = 3500000")
        with daemon_for("--config", conf, "--allow-uid", str(OTHER)) as f, f.connect() as owner:
            def use():
                with dispatchd.connect(f.socket, 60) as d:
                    t = d.op("aten::ones", [500, 1000])["tensor"]
                    raises(lambda: d.op("aten::ones", [500, 1000]), "ResourceExhausted", "of 3500000 left (uid_bytes)")
                    d.call("tensor.name", tensor=t, name="w")  # now its 2,000,000 bytes are named ones
                    u = d.op("aten::ones", [500, 1000])["tensor"]
                    d.call("tensor.name", tensor=u, name="v")
                    w = d.op("aten::ones", [500, 1000])["tensor"]
                    raises(lambda: d.call("tensor.name", tensor=w, name="x"), "ResourceExhausted",
                           "4000000 bytes of named tensors", "2000000 more exceed 4000000 (uid_named_bytes)")
                    held = user(d, OTHER)["account"]
                    return held["tensors"]["bytes"], held["names"]["bytes"]
            equal(as_uid(OTHER, use), [2000000, 4000000])
            for name in "wv":
                as_uid(OTHER, lambda: call(f.socket, "tensor.unlink", name=name))


def test_workers_of_another_uid_are_limited():
    with tempfile.TemporaryDirectory() as directory:
        conf = limits(directory, "uid_workers = 1")
        with daemon_for("--config", conf, "--allow-uid", str(OTHER), "--plugin", SLEEPS) as f, f.connect() as owner, \
                f.gate() as gate:
            def use():
                with dispatchd.connect(f.socket, 60) as a, dispatchd.connect(f.socket, 60) as b:
                    for d in (a, b):
                        d.send("op.call", op="sleeps::until", args=[{"data": [1]}, gate.path])
                    return [d.receive()["outputs"][0]["shape"] for d in (a, b)]
            finish = begin_as_uid(OTHER, use)
            wait_until(lambda: held_by(owner, OTHER, "requests") == 2, "both calls are read")
            wait_until(lambda: held_by(owner, OTHER, "workers") == 1, "one runs")
            time.sleep(0.2)  # more workers are started for what has waited for 50 ms
            equal([held_by(owner, OTHER, name) for name in ("workers", "requests")], [1, 2])
            equal(owner.op("sleeps::sleep", {"data": [1]}, 1, returns="data")["data"], [1], "the owner is served")
            gate.open()
            equal(finish(), [[1], [1]])


def test_a_uid_with_many_sessions_gets_no_more_workers():
    """Ten sessions of one uid, and a session of another uid with ten connections."""
    with tempfile.TemporaryDirectory() as directory:
        conf = limits(directory, "uid_workers = 2")
        with daemon_for("--config", conf, "--workers", "2", "--allow-uid", str(OTHER), "--allow-uid", str(THIRD),
                        "--plugin", SLEEPS) as f, f.gate() as gate, f.connect() as watch:
            def crowd(joined):
                clients = [dispatchd.connect(f.socket, 60) for _ in range(10)]
                key = clients[0].call("server.hello")["session_key"]
                for d in clients[1:] if joined else ():
                    d.call("server.hello", session_key=key)
                for d in clients:
                    d.send("op.call", op="sleeps::until", args=[{"data": [1]}, gate.path])
                return [d.receive()["outputs"][0]["shape"] for d in clients]

            def held(name):
                return [held_by(watch, uid, name) for uid in (OTHER, THIRD)]
            many, one = begin_as_uid(OTHER, lambda: crowd(False)), begin_as_uid(THIRD, lambda: crowd(True))
            wait_until(lambda: held("requests") == [10, 10], "every call is read")
            wait_until(lambda: held("workers") == [2, 2], "each has its workers")
            equal([held_by(watch, uid, "sessions") for uid in (OTHER, THIRD)], [10, 1])
            time.sleep(0.2)  # more workers are started for what has waited for 50 ms
            equal(held("workers"), [2, 2])
            gate.open()
            equal((many(), one()), ([[1]] * 10, [[1]] * 10))


def test_requests_of_another_uid_are_limited():
    with tempfile.TemporaryDirectory() as directory:
        conf = limits(directory, "uid_outstanding = 4")
        with daemon_for("--config", conf, "--allow-uid", str(OTHER), "--plugin", SLEEPS) as f, f.connect() as owner, \
                f.gate() as gate:
            def use():
                with dispatchd.connect(f.socket, 60) as a, dispatchd.connect(f.socket, 60) as b:
                    for _ in range(8):
                        a.send("op.call", op="sleeps::until", args=[{"data": [1]}, gate.path])
                    b.send("server.hello")  # it is not read before requests of `a` are answered
                    return [len(a.receive()["outputs"]) for _ in range(8)] + [b.receive()["session"] > 0]
            finish = begin_as_uid(OTHER, use)
            wait_until(lambda: held_by(owner, OTHER, "requests") == 4, "four are read")
            wait_until(lambda: "dispatchd_connections_paused 2\n" in owner.call("server.metrics")["text"],
                       "neither connection is read further")
            equal(held_by(owner, OTHER, "requests"), 4)
            gate.open()
            equal(finish(), [1] * 8 + [True])


def keep_map(path, after):
    """Map a tensor, and another one that gets a name; end the session, call after() when it has ended, and
    return the first elements that the maps had before and have then."""
    with dispatchd.connect(path, 60) as d:
        made = [d.call("tensor.create", data=[7.0] * 3) for _ in range(2)]
        maps = [d.map(t)[1].cast("f") for t in made]
        d.call("tensor.name", tensor=made[1]["tensor"], name="kept")
        before = [m[0] for m in maps]
    after()
    return before, [m[0] for m in maps]


def test_maps_of_other_uids_end_with_their_session():
    with daemon_for("--allow-uid", str(OTHER)) as f, f.connect() as d:
        def ended(uid, sessions):
            wait_until(lambda: held_by(d, uid, "sessions") == sessions, "the session has ended")
            wait_until(lambda: user(d, uid)["account"]["tensors"]["count"] == 0, "its tensors are released")
        read, write = os.pipe()

        def wait_for_owner():
            os.read(read, 1)
        finish = begin_as_uid(OTHER, lambda: keep_map(f.socket, wait_for_owner))
        wait_until(lambda: user(d, OTHER) and user(d, OTHER)["account"]["names"]["count"] == 1, "it maps")
        ended(OTHER, 0)
        wait_until(lambda: d.call("server.status")["live_tensors"] == 1, "only the named tensor is left")
        os.write(write, b"x")
        # the client's mapping stays valid; a named tensor outlives the session, and so does its memory
        equal(finish(), [[7, 7], [0, 7]])
        as_uid(OTHER, lambda: call(f.socket, "tensor.unlink", name="kept"))

        def until_released():
            wait_until(lambda: d.call("server.status")["live_tensors"] == 1, "only the named tensor is left")
        equal(keep_map(f.socket, until_released), ([7, 7], [7, 7]), "the daemon's own uid keeps its maps")
        d.call("tensor.unlink", name="kept")


def test_other_uids_cannot_write_what_they_map():
    with daemon_for("--allow-uid", str(OTHER)) as f:
        def attempt():
            with dispatchd.connect(f.socket, 60) as d:
                t = d.call("tensor.create", data=[1.0, 2.0])
                fd = d.call("tensor.read", tensor=t["tensor"], **{"as": "fd"})["fd"]
                refused = []
                for act in (lambda: os.open(f"/proc/self/fd/{fd}", os.O_RDWR), lambda: os.pwrite(fd, b"x", 0),
                            lambda: os.ftruncate(fd, 0), lambda: os.fchmod(fd, 0o666),
                            lambda: mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_WRITE)):
                    try:
                        act()
                        refused.append(False)
                    except OSError:
                        refused.append(True)
                return refused
        equal(as_uid(OTHER, attempt), [True] * 5)


def test_a_connection_that_was_opened_has_the_uid_of_its_client():
    """Its socket was made by the daemon, whose own uid the kernel would name."""
    with tempfile.TemporaryDirectory() as directory:
        conf = limits(directory, "uid_connections = 3")
        with daemon_for("--config", conf, "--allow-uid", str(OTHER)) as f, f.connect() as owner:
            def use():
                with dispatchd.connect(f.socket, 60) as d, d.open() as second, second.open() as third:
                    said = []
                    for c, method, params in ((second, "plugin.unload", {"plugin": "template"}), (third, "server.shutdown", {}),
                                              (third, "server.open", {})):
                        try:
                            said.append(c.call(method, **params))
                        except dispatchd.Error as e:
                            said.append(f"{e.type} {e.message}")
                    return said + [[s["uid"] for s in third.call("session.list")["sessions"]],
                                   third.call("server.hello", session_key=d.call("server.hello")["session_key"])["pid"]]
            said = as_uid(OTHER, use)
            contains(said[0], f"PermissionError plugin.unload: uid {OTHER} may not")
            contains(said[1], f"PermissionError server.shutdown: uid {OTHER} may not")
            contains(said[2], f"ResourceExhausted uid {OTHER} has 3 connections (uid_connections)")
            equal(said[3:], [[OTHER], f.pid])
            contains(f.loaded(owner), "template")


def test_each_uid_has_names_of_its_own():
    with daemon_for("--allow-uid", str(OTHER), "--allow-uid", str(THIRD)) as f, f.connect() as d:
        def own_names():
            return call(f.socket, "server.status")["account"]["names"]["count"]
        d.call("tensor.create", data=[1, 2], name="weights")
        as_uid(OTHER, lambda: call(f.socket, "tensor.create", data=[3], name="weights"))
        raises(lambda: as_uid(THIRD, lambda: call(f.socket, "tensor.open", name="weights")), "NotFound", str(THIRD))
        equal(as_uid(OTHER, lambda: call(f.socket, "tensor.open", name="weights"))["shape"], [1])
        equal((as_uid(OTHER, own_names), as_uid(THIRD, own_names), own_names()), (1, 0, 2))
        as_uid(OTHER, lambda: call(f.socket, "tensor.unlink", name="weights"))
        equal(d.call("tensor.open", name="weights")["shape"], [2])
        d.call("tensor.unlink", name="weights")


def test_another_uid_sees_its_own_figures():
    with daemon_for("--allow-uid", str(OTHER)) as f, f.connect() as d:
        d.call("op.call", **ADD)
        d.call("tensor.create", data=[1, 2], name="mine")
        raises(lambda: d.call("tensor.open", name="nobody"), "NotFound")
        def figures():
            with dispatchd.connect(f.socket, 60) as other:
                raises(lambda: other.call("plugin.load", path=TEMPLATE), "PermissionError")
                other.call("tensor.create", data=[3], name="theirs")
                return other.call("server.metrics")["text"]
        theirs, all_of_them = as_uid(OTHER, figures), d.call("server.metrics")["text"]
        contains(theirs, "dispatchd_connections 1\n")
        contains(theirs, "dispatchd_sessions 1\n")
        contains(theirs, 'dispatchd_held_things{holder="names"} 1\n')
        contains(theirs, 'dispatchd_request_errors_total{method="plugin.load",type="PermissionError"} 1\n')
        for part in ("aten::add", "dispatchd_info", "NotFound"):
            equal(part in theirs, False, part)
        contains(all_of_them, 'dispatchd_held_things{holder="names"} 2\n')
        contains(all_of_them, 'dispatchd_request_errors_total{method="plugin.load",type="PermissionError"} 1\n')
        contains(all_of_them, 'dispatchd_request_errors_total{method="tensor.open",type="NotFound"} 1\n')
        as_uid(OTHER, lambda: call(f.socket, "tensor.unlink", name="theirs"))
        d.call("tensor.unlink", name="mine")


def test_another_uid_sees_its_own_fallbacks():
    relu = {"op": "aten::relu", "args": [{"data": [1, 2], "device": "npu:0"}], "return": "data"}
    with daemon_for("--allow-uid", str(OTHER), "--plugin-path", os.path.dirname(SLEEPS)) as f, f.connect() as d:
        d.call("plugin.load", path="npu")
        for _ in range(3):
            d.call("op.call", **relu)

        def fallbacks():
            with dispatchd.connect(f.socket, 60) as other:
                before = other.call("server.status")["fallbacks"]
                other.call("op.call", **relu)
                return [before, other.call("server.status")["fallbacks"],
                        other.call("registry.describe", op="aten::relu")["fallbacks"]]

        def row(calls):
            return [{"op": "aten::relu", "key": "npu", "calls": calls, "bytes": 16 * calls}]
        equal(as_uid(OTHER, fallbacks), [[], row(1), row(1)])
        equal(d.call("server.status")["fallbacks"], row(4), "the daemon's own uid sees all")


def test_another_uid_saves_and_loads_by_descriptor_alone():
    with tempfile.TemporaryDirectory() as folder, daemon_for("--allow-uid", str(OTHER), "--data-path", folder) as f:
        def save_and_load():
            for method, more in (("store.save", {"tensors": {}}), ("store.load", {})):
                raises(lambda: call(f.socket, method, path="w", **more), "PermissionError", f"uid {OTHER}")
            raises(lambda: call(f.socket, "store.stats"), "PermissionError")
            memory = os.memfd_create("own")
            with dispatchd.connect(f.socket, 60) as d:
                t = d.call("tensor.create", data=[1, 2])["tensor"]
                d.call("store.save", fd=dispatchd.Fd(os.dup(memory)), tensors={"w": t})
                return d.call("store.load", fd=dispatchd.Fd(memory))["tensors"]["w"]["shape"]
        equal(as_uid(OTHER, save_and_load), [2])
        equal(os.listdir(folder), [])


if OWN == 0:
    main(setup, teardown)
else:
    print("skipped: test_uids needs root, to become other uids")
    print("0 passed, 0 failed")
