"""test_blas.py -- plugin cpu opens OpenBLAS when a call needs it, with kernels that fit the machine and within the
memory that there is."""

import os
import platform
import resource
import shutil
import struct
import subprocess
import tempfile
import threading
import time

from harness import ROOT, SANITIZED, contains, equal, main, raises, wait_until
from daemon import TestDaemon
from dispatchd import Error

MIB = 1 << 20
CORE = "OPENBLAS_CORETYPE"
X86 = platform.machine() == "x86_64"
N = 300


def matrix():
    return {"dtype": "float32", "shape": [N, N],
            "attachment": struct.pack(f"<{N * N}f", *(i * 7919 % 1000 / 1000 for i in range(N * N)))}


def product(d):
    return bytes(d.op("aten::mm", matrix(), matrix(), returns="attachment")["attachment"])


def small(d):
    """Calls that need no BLAS."""
    equal(d.op("aten::mm", {"data": [[2.0]]}, {"data": [[3.0]]}, returns="data")["data"], [[6]])
    equal(d.op("aten::add.Tensor", {"data": [1, 2]}, {"data": [1, 2]}, returns="data")["data"], [2, 4])


def eigh(d):
    return d.op("aten::linalg_eigh", {"data": [[1.5, 2], [2, 4]]}, returns="data")[0]["data"]


def notes(d):
    """Those of the newest generation: an older one may still be draining."""
    newest = max(p["generation"] for p in d.call("plugin.list")["plugins"] if p["plugin"] == "cpu")
    return {n["name"]: n["text"] for n in d.call("server.status")["notes"] if n["generation"] == newest}


def is_mapped(daemon):
    return any("libopenblas" in line for line in daemon.maps())


def test_it_is_opened_by_the_first_call_that_needs_it():
    with TestDaemon() as daemon, daemon.connect() as d:
        small(d)
        equal((notes(d), is_mapped(daemon)), ({}, False), "before")
        first = product(d)
        equal(is_mapped(daemon), True)
        contains(notes(d)["blas"], "kernels")
        contains(daemon.log(), f"plugin.note plugin='cpu' blas='{notes(d)['blas']}'")
        d.call("plugin.reload", plugin="cpu")
        equal(notes(d), {}, "of the new generation")
        equal(product(d), first, "after a reload")
        contains(notes(d)["blas"], "kernels")
        d.call("plugin.unload", plugin="cpu")
        wait_until(lambda: not is_mapped(daemon), "OpenBLAS is unmapped with the plugin")


def test_the_environment_decides():
    if not X86:
        return
    with TestDaemon(env={CORE: "Prescott"}) as daemon, daemon.connect() as d:
        product(d)
        contains(notes(d)["blas"], f"Prescott kernels: {CORE} is set")


def test_a_poor_choice_is_replaced():
    with open("/proc/cpuinfo") as f:
        flags = set(next((line for line in f if line.startswith("flags")), "").split())
    if not X86 or not {"avx2", "fma"} <= flags or CORE in os.environ:
        return
    home = tempfile.mkdtemp(prefix="dispatchd-test-")
    try:
        library = os.path.join(home, "poor_core.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library,
                        os.path.join(ROOT, "tests", "lib", "poor_core.c")], check=True)
        asan = "detect_leaks=1:abort_on_error=0:allocator_may_return_null=1:verify_asan_link_order=0"
        with TestDaemon(env={"LD_PRELOAD": library, "ASAN_OPTIONS": asan}) as daemon, daemon.connect() as d:
            product(d)
            contains(notes(d)["blas"], "it chose Prescott, which does not fit this processor")
            equal("Prescott kernels" in notes(d)["blas"], False, notes(d)["blas"])
            equal([k for k in open(f"/proc/{daemon.pid}/environ").read().split("\0") if k.startswith(CORE)], [])
    finally:
        shutil.rmtree(home)


def virtual_bytes(daemon):
    with open(f"/proc/{daemon.pid}/statm") as f:
        return int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def set_limit(daemon, most):
    resource.prlimit(daemon.pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def test_without_memory_for_it_only_the_calls_that_need_it_fail():
    if SANITIZED:  # those need terabytes of addresses for themselves
        return
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (150 * MIB, resource.RLIM_INFINITY))
    with TestDaemon("--workers", "2", preexec=limit) as daemon, daemon.connect() as d:
        raises(lambda: product(d), "ResourceExhausted", "OpenBLAS needs", "address space", "ulimit -v")
        raises(lambda: eigh(d), "ResourceExhausted", "OpenBLAS needs")
        small(d)
        set_limit(daemon, resource.RLIM_INFINITY)
        product(d)


def test_threads_take_turns_where_memory_is_short():
    if SANITIZED:
        return
    with TestDaemon() as daemon, daemon.connect() as d:
        want = product(d)
        values = eigh(d)
        set_limit(daemon, virtual_bytes(daemon) + 60 * MIB)
        got = []

        def answered(call, d):
            """What `call` answers once there is memory for its operands.  Other threads' buffers may leave none for
            a while, and the answer says so; only the buffers themselves are waited for by the daemon."""
            for _ in range(1000):
                try:
                    return call(d)
                except Error as e:
                    equal((e.type, "OpenBLAS" in str(e)), ("ResourceExhausted", False), str(e))
                    time.sleep(0.01)
            raise AssertionError("no memory within 1000 tries")

        def calls():
            with daemon.connect() as other:
                for _ in range(10):
                    got.append(answered(product, other) == want)
                    got.append(answered(eigh, other) == values)

        threads = [threading.Thread(target=calls) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal((len(got), all(got)), (80, True))


main()
