"""test_threads.py -- threads, connections and forked children that use tensors of the Python package."""

import collections
import ctypes
import functools
import gc
import operator
import os
import signal
import threading
import time
import types

from harness import contains, equal, fails, less, main, together
import dispatchd as dd
from dispatchd.session import sweep


def status():
    return dd.current().call("server.status")


def test_threads_have_connections_of_one_session():
    x = dd.ones(1000)
    failed = []

    def work(k):
        try:
            with dd.no_grad():
                for i in range(50):
                    equal((x * k + i).sum().item(), 1000.0 * (k + i))
            equal(dd.current().session is x._c.session, True)
            equal(dd.current() is x._c, False)
        except Exception as e:
            failed.append(e)
    together(work, 6)
    equal(failed, [])
    equal(dd.is_grad_enabled(), True, "the mode is the thread's")


def test_threads_that_end_leave_nothing():
    x = dd.ones(3)
    gc.collect()
    (x + 1).tolist()
    before, files = status()["tensors"], len(os.listdir("/proc/self/fd"))
    kept = []

    def work(k):
        with dd.pipelined():
            kept.extend(x + k for _ in range(100))
    for k in range(50):
        t = threading.Thread(target=work, args=(k,))
        t.start()
        t.join()
    less(len(os.listdir("/proc/self/fd")) - files, 5, "connections of 50 threads that have ended")
    equal([t.tolist() for t in kept], [[k + 1.0] * 3 for k in range(50) for _ in range(100)], "their tensors")
    less(4900, status()["tensors"] - before, "tensors that are kept")
    kept.clear()
    for _ in range(600):
        x + 1
    less(status()["tensors"] - before, 65, "tensors after the last reference")


def test_an_interrupt_behind_a_lock_that_is_taken():
    """sweep() takes the lock of an ended thread's connection: C code sends the signal and takes the lock in one step, so that
    the handler runs right behind it."""
    with dd.connect() as c:
        x = dd.ones(2)
        t = threading.Thread(target=lambda: x + 1)
        t.start()
        t.join()
        (ended,) = c.session.members.values()
        lock = ended.lock
        steps = (functools.partial(ctypes.PyDLL(None).kill, os.getpid(), signal.SIGINT), functools.partial(lock.acquire, False))
        taken = functools.partial(next, filter(None, map(operator.call, steps)))
        ended.lock = types.SimpleNamespace(acquire=taken, release=lock.release)
        kept = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            fails(lambda: sweep(c.session.members, c), KeyboardInterrupt)
        finally:
            signal.signal(signal.SIGINT, kept)
            ended.lock = lock
        free = []
        t = threading.Thread(target=lambda: free.append(lock.acquire(blocking=False)))
        t.start()
        t.join()
        equal(free, [True], "another thread gets the lock")


def test_threads_share_a_program():
    x = dd.ones(3, requires_grad=True)
    twice = dd.program(lambda a: a * 2)
    failed = []

    def work(k):
        try:
            with dd.no_grad() if k % 2 else dd.enable_grad():
                for i in range(30):
                    equal((twice(x).requires_grad, twice(x).tolist()), (k % 2 == 0, [2.0] * 3), f"thread {k}, call {i}")
        except BaseException as e:
            failed.append(e)
    together(work, 6)
    equal(failed, [])


def test_a_fork_beside_a_call_of_another_thread():
    x = dd.ones(3)
    ended = threading.Event()

    def busy():
        while not ended.is_set():
            (x + 1).tolist()
    t = threading.Thread(target=busy)
    t.start()
    for k in range(10):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                x + 1
            except RuntimeError as e:
                code = 0 if "forked" in str(e) and (dd.ones(2) + 1).tolist() == [2.0, 2.0] else 2
            finally:
                os._exit(code)
        equal(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, f"child {k}")
    ended.set()
    t.join()
    equal((x + 1).tolist(), [2.0] * 3)


def test_a_tensor_that_is_not_there_yet_is_used_by_another_thread():
    with dd.pipelined():
        x = dd.ones(3) + 1
        found = []
        t = threading.Thread(target=lambda: found.append((x * 2).tolist()))
        t.start()
        t.join()
    equal(found, [[4.0] * 3])


def test_a_forked_child_has_its_own_session():
    x = dd.ones(3)
    number = dd.current().call("server.hello")["session"]
    r, w = os.pipe()
    child = os.fork()
    if child == 0:
        said = []
        try:
            x + 1
        except RuntimeError as e:
            said.append(str(e))
        said.append(str(dd.ones(2).sum().item()))
        said.append(str(dd.current().call("server.hello")["session"] != number or
                        bool(dd.private._started)))
        os.write(w, "|".join(said).encode())
        os._exit(0)
    os.close(w)
    said = b""
    while part := os.read(r, 4096):
        said += part
    os.close(r)
    os.waitpid(child, 0)
    words = said.decode().split("|")
    contains(words[0], "forked")
    equal(words[1:], ["2.0", "True"])
    equal((x + 1).tolist(), [2.0] * 3, "the parent goes on")


def test_a_recorded_function_gives_its_argument_to_a_thread():
    said = []

    def work(a):
        try:
            a * 2
        except RuntimeError as e:
            said.append(str(e))

    def f(a):
        t = threading.Thread(target=work, args=(a,))
        t.start()
        t.join()
        return a + 1
    equal(dd.program(f)(dd.ones(2)).tolist(), [2.0, 2.0])
    contains(said[0], "another thread")
    fails(lambda: dd.program(3), TypeError, "int")


def test_a_connection_that_several_threads_use():
    """Each has one of its own in the session, on which its modes are set."""
    with dd.connect() as c:
        w = dd.ones(2, requires_grad=True)
        said = []

        def work(k):
            dd.use(c)
            with dd.no_grad():
                said.append((w * k).requires_grad)
            said.append(any(dd.full((2,), k * 100 + i).tolist() != [k * 100 + i] * 2 for i in range(100)))
        together(work, 4)
        equal((said, (w * 2).requires_grad), ([False] * 8, True))


def test_a_thread_closes_its_own_connection():
    x = dd.ones(2)
    said = []

    def work():
        y = x + 1
        mine = dd.current()
        mine.close()
        fails(lambda: mine.call("server.status"), dd.Closed, "connect()")
        with dd.current():
            z = y + 1
        said.append(((y + z).tolist(), (x + 1).tolist()))
    t = threading.Thread(target=work)
    t.start()
    t.join()
    equal((said, (x + 1).tolist()), ([([5.0, 5.0], [2.0, 2.0])], [2.0, 2.0]))
    c = dd.connect().__enter__()
    t = threading.Thread(target=c.__exit__)
    t.start()
    t.join()
    equal(dd.ones(1).tolist(), [1.0], "a connection that another thread has closed")


def test_a_forked_child_leaves_the_blocks_of_its_parent():
    r, w = os.pipe()
    with dd.connect():
        x = dd.ones(2)
        try:
            with dd.pipelined():
                y = x + 1
                child = os.fork()
        except dd.Closed as e:
            os.write(w, str(e).encode() + b"|")
    if child == 0:
        os.write(w, str(dd.ones(2).tolist()).encode())
        os._exit(0)
    os.close(w)
    os.waitpid(child, 0)
    with os.fdopen(r) as f:
        said = f.read()
    contains(said, "forked")
    contains(said, "|[1.0, 1.0]")
    fails(lambda: y + 1, dd.Closed, "closed")


def test_connections_side_by_side():
    one, two = dd.connect(), dd.connect()
    with one:
        x = dd.ones(2)
        equal(x._c, one)
        with two:
            y = dd.ones(2)
            equal(y._c, two)
            equal(one.session is two.session, False)
            fails(lambda: x + y, RuntimeError, "another connection's session", "x.numpy()")
        equal((x + 1).tolist(), [2.0, 2.0])
    fails(lambda: x + 1, RuntimeError, "closed")
    fails(lambda: x.tolist(), RuntimeError, "closed")
    equal(dd.ones(1).tolist(), [1.0], "the default session goes on")


def test_tensors_of_other_threads_in_pipelined_calls():
    x = dd.ones(2)
    queue, said = collections.deque(), []

    def in_place():
        with dd.pipelined():
            x.add_(1)
            said.append((tuple(x.shape), x.tolist()))
    t = threading.Thread(target=in_place)
    t.start()
    t.join()
    equal((said, tuple(x.shape), (x + 1).tolist()), ([((2,), [2.0, 2.0])], (2,), [3.0, 3.0]))

    def use():
        with dd.pipelined():
            while True:
                while not queue:
                    time.sleep(0)
                given = queue.popleft()
                if given is None:
                    break
                said.append(given * 2)
                del given
    said.clear()
    t = threading.Thread(target=use)
    t.start()
    for k in range(300):
        queue.append(dd.full((2,), float(k)))  # nobody here refers to it any more when it is used there
    queue.append(None)
    t.join()
    equal([v.tolist() for v in said], [[2.0 * k] * 2 for k in range(300)])


def test_a_pipelined_call_that_the_daemon_cannot_read_leaves_nothing():
    x = dd.ones(2, 3)

    def unread(literal):
        with dd.pipelined():
            kept = [x + k for k in range(3)]
            dd.add(x, literal)
            dd.synchronize()
            return kept
    before = status()["tensors"]
    for _ in range(5):
        fails(lambda: unread({"data": ["\ud800"]}), ValueError, "surrogate")
        fails(lambda: unread({"data": [1.0] * 300000}), ValueError, "line_bytes")
        fails(lambda: unread(functools.reduce(lambda inner, _: [inner], range(200), 1)), ValueError, "json_depth")
    equal((x + 1).sum().item(), 12.0)
    x + 1
    less(status()["tensors"] - before, 3, "tensors that are left")


main()
