"""test_shared_memory.py -- tensors in memfds that client and daemon pass to each other."""

import ctypes
import fcntl
import mmap
import os
import signal
import struct
import threading

from harness import contains, equal, main, raises, wait_until
from daemon import TestDaemon
import dispatchd

def refused(fn, kind):
    """fn() must raise an exception of this kind."""
    try:
        result = fn()
    except kind:
        return
    raise AssertionError(f"got {result!r}, want {kind}")


SHRINK, GROW, WRITE, ADD_SEALS, GET_SEALS = 2, 4, 8, 1033, 1034


def setup():
    return TestDaemon()


def teardown(daemon):
    daemon.finish()


def floats(*values):
    return struct.pack(f"{len(values)}f", *values)


def memfd(data=b"", size=None, seals=SHRINK, flags=0):
    """Return an Fd of a memfd that stays writable unless `seals` says otherwise."""
    fd = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING | flags)
    if data:
        os.write(fd, data)
    if size is not None:
        os.ftruncate(fd, size)
    fcntl.fcntl(fd, ADD_SEALS, seals)
    return dispatchd.Fd(fd)


def create(d, fd, shape, **more):
    return d.call("tensor.create", dtype=more.pop("dtype", "float32"), shape=shape, fd=fd, **more)


def data(d, t):
    return d.call("tensor.read", tensor=t["tensor"])["data"]


def frames(pid, address, n):
    """Return the numbers of the page frames behind `n` pages of a process; None: not allowed."""
    with open(f"/proc/{pid}/pagemap", "rb") as f:
        f.seek(address // mmap.PAGESIZE * 8)
        found = [x & (1 << 55) - 1 for x in struct.unpack(f"{n}Q", f.read(8 * n))]
    return found if any(found) else None


def mappings(pid, name):
    """Return (address, inode) of every mapping of a process whose file has `name`."""
    with open(f"/proc/{pid}/maps") as f:
        rows = [line.split(None, 5) for line in f]
    return [(int(r[0].split("-")[0], 16), int(r[4])) for r in rows if len(r) > 5 and name in r[5]]


def test_a_descriptor_travels_once_and_shows_later_writes(daemon):
    with daemon.connect() as d:
        t = d.call("tensor.create", data=[[1.0, 2.0], [3.0, 4.0]])
        first = d.call("tensor.read", tensor=t["tensor"], **{"as": "fd"})
        fd = first.pop("fd")
        equal(os.fstat(fd).st_mode & 0o777, 0o600)
        equal(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE, os.O_RDONLY)
        with mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ) as seen:
            os.close(fd)
            equal((first["offset"], first["nbytes"], first["strides"]), (0, 16, [2, 1]))
            equal(seen[:16], floats(1, 2, 3, 4))
            d.op("aten::add_.Scalar", {"tensor": t["tensor"]}, 10)
            equal(seen[:16], floats(11, 12, 13, 14))
            again = d.call("tensor.read", tensor=t["tensor"], **{"as": "fd"})
            equal("fd" in again, False)
            equal(again["map"], first["map"])
            column = d.op("aten::select.int", {"tensor": t["tensor"]}, 1, 1)
            view = d.call("tensor.read", tensor=column["tensor"], **{"as": "fd"})
            equal((view["map"], view["offset"], view["nbytes"]), (first["map"], 4, 12))
            d.release(t, column)
            equal(seen[:16], floats(11, 12, 13, 14))  # the memory stays while it is mapped
            d.call("map.release", maps=[first["map"]])
            equal(seen[:16], floats(11, 12, 13, 14))


def test_memory_that_a_memfd_replaced_is_released(daemon):
    with daemon.connect() as d:
        held = lambda: sum(v["bytes"] for v in d.call("session.get")["account"].values())
        t = d.op("aten::ones", [1 << 20])["tensor"]
        os.close(d.call("tensor.read", tensor=t, **{"as": "fd"})["fd"])
        equal((held(), d.call("server.status")["bytes"]), (4 << 20, 4 << 20))


def test_the_pages_of_a_memfd_are_charged(daemon):
    with daemon.connect() as d:
        held = lambda: sum(v["bytes"] for v in d.call("session.get")["account"].values())
        tensors = [d.op("aten::ones", [1])["tensor"] for _ in range(10)]
        equal(held(), 40)
        for t in tensors:
            os.close(d.call("tensor.read", tensor=t, **{"as": "fd"})["fd"])
        equal(held(), 10 * mmap.PAGESIZE)
        d.release(*tensors)
        equal(held(), 10 * mmap.PAGESIZE, "what is mapped is charged")
        d.call("tensor.read", tensor=d.op("aten::ones", [1])["tensor"])
        d.call("tensor.release", all=True)
        d.call("map.release", maps=list(range(1, 11)))
        equal(held(), 0)


def test_nobody_can_write_what_the_daemon_exports(daemon):
    with daemon.connect() as d:
        t, memory = d.map(d.call("tensor.create", data=[1.0, 2.0]))
        refused(lambda: memory.__setitem__(0, 1), TypeError)
        first = d.call("tensor.create", data=[5.0])
        fd = d.call("tensor.read", tensor=first["tensor"], **{"as": "fd"})["fd"]
        again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)  # allowed: it is our own file
        refused(lambda: mmap.mmap(again, 0, mmap.MAP_SHARED, mmap.PROT_WRITE), PermissionError)
        refused(lambda: os.pwrite(again, b"x", 0), PermissionError)
        refused(lambda: os.ftruncate(again, 0), PermissionError)
        os.close(again)
        os.close(fd)


def test_the_client_and_the_daemon_map_the_same_pages(daemon):
    """No copy: the page frames of both processes are equal."""
    pages, pid = 16, daemon.pid
    with daemon.connect() as d:
        t = d.op("aten::ones", [pages * 1024])
        _, memory = d.map(t)
        bytes(memory)
        theirs = mappings(pid, "dispatchd-tensor")
        equal(len(theirs), 1)
        mine = next(m for m in mappings(os.getpid(), "dispatchd-tensor") if m[1] == theirs[0][1])
        expected = frames(os.getpid(), mine[0], pages)
        if expected is None:
            return  # only root may see page frames; the inodes are equal
        equal(frames(pid, theirs[0][0], pages), expected)
        fd = dispatchd.share(floats(*[2.0] * pages * 1024))
        given = create(d, fd, [pages * 1024])
        equal(d.op("aten::sum", {"tensor": given["tensor"]}, returns="data")["data"], pages * 1024 * 2)
        with mmap.mmap(fd.fd, 0, mmap.MAP_SHARED, mmap.PROT_READ) as m:
            m.read()
            inode = os.fstat(fd.fd).st_ino
            mine, theirs = ([a for a, i in mappings(p, "dispatchd") if i == inode] for p in (os.getpid(), pid))
            equal(frames(pid, theirs[0], pages), frames(os.getpid(), mine[0], pages))


def test_sealed_memory_is_used_in_place_and_written_privately(daemon):
    with daemon.connect() as d:
        fd = dispatchd.share(floats(1, 2, 3, 4))
        t = create(d, fd, [2, 2])
        other = d.call("tensor.create", dtype="float32", shape=[2], map=fd.map, offset=8)
        equal(data(d, t), [[1, 2], [3, 4]])
        d.op("aten::mul_.Scalar", {"tensor": t["tensor"]}, 2)
        equal(data(d, t), [[2, 4], [6, 8]])
        equal(data(d, other), [3, 4])
        equal(os.pread(fd.fd, 16, 0), floats(1, 2, 3, 4))
        _, memory = d.map(t)
        equal(bytes(memory), floats(2, 4, 6, 8))
        grown = d.op("aten::resize_", {"tensor": other["tensor"]}, [4])
        equal(grown["shape"], [4])
        strided = d.call("tensor.create", dtype="float32", shape=[2], strides=[2], storage_offset=1, map=fd.map)
        equal(data(d, strided), [2, 4])


def test_writable_memory_is_copied(daemon):
    with daemon.connect() as d:
        fd = memfd(floats(1, 2, 3, 4))
        t = create(d, fd, [4])
        os.pwrite(fd.fd, floats(9), 0)
        equal(data(d, t), [1, 2, 3, 4])
        equal(d.call("tensor.create", dtype="float32", shape=[1], map=fd.map)["shape"], [1])


def test_an_operator_that_reads_once_sees_writable_memory_itself(daemon):
    with daemon.connect() as d:
        fd = memfd(floats(1, 2, 3, 4))
        literal = {"dtype": "float32", "shape": [4], "fd": fd}
        equal(d.op("aten::add.Scalar", literal, 1, returns="data")["data"], [2, 3, 4, 5])
        literal = {"dtype": "float32", "shape": [4], "map": fd.map}
        for first in (7, 8):
            os.pwrite(fd.fd, floats(first), 0)
            equal(d.op("aten::sum", literal, returns="data")["data"], first + 9)
        contains(" ".join(d.call("registry.describe", op="aten::add.Tensor")["tags"]), "reads_once")
        # one that does not, one that writes, and one whose argument is saved get bytes of their own
        equal(d.op("aten::flip", literal, [0], returns="data")["data"], [4, 3, 2, 8])
        equal(d.op("aten::add_.Scalar", literal, 1, returns="data")["data"], [9, 3, 4, 5])
        equal(os.pread(fd.fd, 4, 0), floats(8))
        w = d.call("tensor.create", data=[1.0, 1.0, 1.0, 1.0], requires_grad=True)
        y = d.op("aten::mul.Tensor", {"tensor": w["tensor"]}, literal)
        os.pwrite(fd.fd, floats(100), 0)
        loss = d.op("aten::sum", {"tensor": y["tensor"]})
        d.call("grad.backward", tensors=[{"tensor": loss["tensor"]}])
        equal(data(d, d.call("grad.get", tensor=w["tensor"])["grad"]), [8, 2, 3, 4])


def test_two_descriptors_and_one_twice(daemon):
    with daemon.connect() as d:
        a, b = dispatchd.share(floats(1, 2)), dispatchd.share(floats(10, 20))
        literal = lambda fd: {"dtype": "float32", "shape": [2], "fd": fd}
        equal(d.op("aten::add.Tensor", literal(a), literal(b), returns="data")["data"], [11, 22])
        equal((a.map, b.map), (1, 2))
        same = {"dtype": "float32", "shape": [2], "fd": 0}
        message = {"jsonrpc": "2.0", "id": 50, "method": "op.call", "fds": 1,
                   "params": {"op": "aten::add.Tensor", "args": [same, same], "return": "data"}}
        import json
        d.send_bytes(json.dumps(message).encode() + b"\n", [a])
        answer = d.receive_message()
        equal((answer["result"]["outputs"][0]["data"], answer["maps"]), ([2, 4], [3]))


def test_what_is_no_sealed_memfd_is_refused(daemon):
    pipe = os.pipe()
    file = open(os.path.join(daemon.dir, "file"), "w+b")
    file.write(floats(1, 2))
    file.flush()
    watch = daemon.connect()
    daemon.alone(watch)
    before = daemon.descriptors()
    cases = [(memfd(floats(1), seals=0), [1], "not sealed against shrinking"),
             (memfd(), [0], "no bytes"),
             (dispatchd.Fd(os.dup(pipe[0])), [1], "descriptor 0 is no file"),
             (dispatchd.Fd(os.dup(file.fileno())), [1], "sealed against shrinking (F_SEAL_SHRINK)"),
             (dispatchd.Fd(os.open("/dev/zero", os.O_RDONLY)), [1], "descriptor 0 is no file"),
             (memfd(size=1 << 40), [1], "session_intermediate_bytes", "ResourceExhausted"),
             (memfd(size=1 << 21, seals=SHRINK, flags=os.MFD_HUGETLB), [1], "huge pages (MFD_HUGETLB)"),
             (dispatchd.share(floats(1)), [2], "a tensor [2] of float32 from byte 0 is not inside a memfd of 4 bytes"),
             (dispatchd.share(floats(1)), [1 << 40, 1 << 40], "[1099511627776, 1099511627776]", "RuntimeError")]
    with daemon.connect() as d:
        for fd, shape, message, *kind in cases:
            raises(lambda: create(d, fd, shape), kind[0] if kind else "ValueError", message)
        fd = dispatchd.share(floats(1, 2))
        raises(lambda: create(d, fd, [1], offset=2), "ValueError", "no multiple of the 4 bytes")
        raises(lambda: create(d, fd, [1], offset=8), "ValueError", "not inside")
        raises(lambda: create(d, fd, [1], strides=[1], storage_offset=2), "ValueError", "not inside")
        raises(lambda: create(d, fd, [1], device="meta"), "ValueError", "on cpu, not on 'meta'")
        raises(lambda: d.call("tensor.create", shape=[1], fd=fd), "ValueError", "need dtype and shape")
        raises(lambda: create(d, fd, [1], data=[1]), "ValueError", "one of data, attachment, fd and map")
        raises(lambda: d.call("tensor.create", data=[1], offset=4), "ValueError", "offset is for")
        raises(lambda: create(d, 0, [1]), "ValueError", "descriptor 0, but the message has 0")
        equal(d.call("tensor.list")["tensors"], [])
        # no number stays after a failure: the first success gets one
        create(d, fd, [2])
    file.close()
    for end in pipe:
        os.close(end)
    wait_until(lambda: daemon.descriptors() == before, "every descriptor is closed")
    watch.close()


def test_maps_are_the_connections_own_and_few(daemon):
    with daemon.connect() as d, daemon.connect() as other:
        fd = dispatchd.share(floats(1, 2))
        create(d, fd, [2])
        raises(lambda: other.call("tensor.create", dtype="float32", shape=[2], map=fd.map), "NotFound", "no map")
        raises(lambda: d.call("map.release", maps=[fd.map, 99]), "NotFound",
               "maps[1]: this connection has no map 99")
        most = d.call("server.hello")["limits"]["maps"]
        t = d.call("tensor.create", data=[1.0])
        for _ in range(most - 1):
            create(d, fd, [2])
        raises(lambda: d.map(t), "ResourceExhausted", "(maps)")
        d.call("map.release", maps=list(range(1, most + 1)))
        equal(bytes(d.map(t)[1]), floats(1))


def test_what_cannot_be_mapped_says_why(daemon):
    with daemon.connect() as d:
        daemon.alone(d)
        meta = d.call("tensor.create", dtype="float32", shape=[2], device="meta")
        z = d.call("tensor.create", dtype="complex64", data=[[1, 2]])
        conj = d.op("aten::_conj", {"tensor": z["tensor"]})
        raises(lambda: d.map(meta), "NotImplementedError", "no data")
        raises(lambda: d.map(conj), "ValueError", "resolve_conj")
        empty = d.call("tensor.create", dtype="float32", shape=[0, 3], data=[])
        equal(len(d.map(empty)[1]), 0)
        bytes_before = d.call("server.status")["bytes"]
        t = d.op("aten::ones", [1 << 20])
        d.map(t)
        raises(lambda: d.op("aten::resize_", {"tensor": t["tensor"]}, [1 << 21]), "RuntimeError", "not resizable")
        d.release(t)
        d.call("map.release", maps=[t_map for t_map in d._maps])
        wait_until(lambda: d.call("server.status")["bytes"] == bytes_before, "the memory is freed")


def test_a_client_that_scribbles_harms_only_itself(daemon):
    """Indices in writable memory are copied before they are checked."""
    n, stop = 1 << 14, threading.Event()
    fd = memfd(struct.pack(f"{n}q", *range(n)))
    with mmap.mmap(fd.fd, 0) as memory:
        def scribble():
            while not stop.is_set():
                memory[0:8] = struct.pack("q", 1 << 60)
                memory[0:8] = struct.pack("q", 3)
        thread = threading.Thread(target=scribble)
        thread.start()
        try:
            with daemon.connect() as d:
                x = d.op("aten::arange", n, dtype="int64")
                for _ in range(100):
                    index = {"dtype": "int64", "shape": [n], **({"map": fd.map} if fd.map else {"fd": fd})}
                    try:
                        y = d.op("aten::index_select", {"tensor": x["tensor"]}, 0, index)
                        equal(data(d, y)[1:5], [1, 2, 3, 4])
                        d.release(y)
                    except dispatchd.Error as e:
                        contains(e.message, "out of range")
        finally:
            stop.set()
            thread.join()


def test_memory_that_changes_after_it_was_passed(daemon):
    """Its client can neither take pages from a kernel that reads it, nor give it others."""
    n = 1 << 18
    with daemon.connect() as d:
        loose = memfd(bytes(4 * n), seals=0)  # nothing of it is mapped, so it may shrink
        raises(lambda: create(d, loose, [n]), "ValueError", "not sealed against shrinking")
        os.ftruncate(loose.fd, 0)
        fd = memfd(floats(*[1.0] * n))
        t = create(d, fd, [n])
        refused(lambda: os.ftruncate(fd.fd, 0), PermissionError)
        literal = {"dtype": "float32", "shape": [n], "map": fd.map}
        d.op("aten::sum", literal)  # which the daemon reads in the client's memory
        os.ftruncate(fd.fd, 8 * n)
        raises(lambda: d.call("tensor.create", dtype="float32", shape=[2 * n], map=fd.map), "ValueError",
               f"not inside a memfd of {4 * n} bytes")
        punch(fd, 0, 2 * n)
        equal(d.op("aten::sum", literal, returns="data")["data"], n / 2)
        punch(fd, 0, 8 * n)
        equal(d.op("aten::sum", literal, returns="data")["data"], 0)
        equal(d.op("aten::sum", {"tensor": t["tensor"]}, returns="data")["data"], n)
        sealed = dispatchd.share(floats(*[2.0] * n))
        t = create(d, sealed, [n])
        for change in (lambda: os.ftruncate(sealed.fd, 0), lambda: punch(sealed, 0, 4 * n)):
            refused(change, PermissionError)
        sealed.close()
        equal(d.op("aten::sum", {"tensor": t["tensor"]}, returns="data")["data"], 2 * n)


def punch(fd, offset, nbytes):
    """Free the pages of a file that lie there."""
    keep_size, punch_hole = 1, 2
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate(fd.fd, keep_size | punch_hole, ctypes.c_int64(offset), ctypes.c_int64(nbytes)) < 0:
        raise OSError(ctypes.get_errno(), "fallocate")


def test_results_are_in_memfds_where_the_session_asks(daemon):
    with daemon.connect() as d:
        equal(d.call("session.get")["share_from"], 0)
        raises(lambda: d.call("session.set", share_from=100), "InvalidParams", "expected 0 or at least 65536")
        equal(d.call("session.set", share_from=1 << 16)["share_from"], 1 << 16)
        x = d.op("aten::ones", [1 << 15])
        inodes = set()
        for i in range(4):
            y = d.op("aten::add.Scalar", {"tensor": x["tensor"]}, i)
            _, memory = d.map(y)
            equal(memory[-4:], floats(1 + i))
            inodes.add(mappings(os.getpid(), "dispatchd-tensor")[-1][1])
            number = max(d._maps)
            memory.release()
            d._maps.pop(number).close()
            d.call("map.release", maps=[number])
            d.release(y)
        equal(len(inodes), 1)  # the memory of a tensor that is gone serves the next one
        y = d.op("aten::add.Scalar", {"tensor": x["tensor"]}, 5)
        _, memory = d.map(y)
        d.release(y)
        z = d.op("aten::add.Scalar", {"tensor": x["tensor"]}, 6)
        equal(memory[-4:], floats(6))  # as long as it is mapped, no other tensor gets it
        d.release(x, z)


def test_clients_that_leave_with_maps_leave_nothing(daemon):
    with daemon.connect() as watch:
        daemon.alone(watch)
        before = daemon.descriptors()
        bytes_before = watch.call("server.status")["bytes"]
        for how in ("close", "kill"):
            child = os.fork()
            if child == 0:
                d = daemon.connect()
                t = d.op("aten::ones", [1 << 20])
                d.map(t)
                create(d, dispatchd.share(floats(*range(1 << 12))), [1 << 12])
                if how == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                os._exit(0)
            os.waitpid(child, 0)
        wait_until(lambda: daemon.descriptors() == before, "every descriptor is closed")
        wait_until(lambda: watch.call("server.status")["bytes"] == bytes_before, "all bytes are freed")


if __name__ == "__main__":
    main(setup, teardown)
