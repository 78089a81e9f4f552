"""test_left_behind.py -- what a plugin changes of the process is set back, and a warning names it."""

import os
import platform
import re
import time

from harness import BUILD, contains, equal, less, main, wait_until, warnings
from daemon import TestDaemon

PLUGINS = os.path.join(BUILD, "tests", "plugins")
CONNECTIONS = 6
SUBNORMAL = [1e-310, 1e-320]
ENVIRONMENT = "the floating-point environment (rounding upward)"


def plugin(name):
    return os.path.join(PLUGINS, name + ".so")


def product(d):
    return d.op("aten::mul.Tensor", {"data": SUBNORMAL, "dtype": "float64"}, 1, returns="data")


def third(d):
    return d.op("aten::div.Tensor", {"data": 1.0, "dtype": "float64"}, {"data": 3.0, "dtype": "float64"},
                returns="data")


def fourier(d, n):
    """Of n numbers that repeat each 1000."""
    return d.op("aten::fft_fft", {"data": [k * 7919 % 1009 / 1009 for k in range(1000)] * (n // 1000), "dtype": "float64"},
                returns="data")


def all_threads(daemon, ask, want, what):
    """The loop and the workers answer alike: several connections ask, one after another and at once."""
    clients = [daemon.connect() for _ in range(CONNECTIONS)]
    try:
        for _ in range(20):
            equal([ask(d)["data"] for d in clients], [want] * CONNECTIONS, what)
    finally:
        for d in clients:
            d.close()


def warned(daemon, part):
    """How many lines of the log have this warning."""
    return len([line for line in daemon.log().splitlines() if " warn plugin.warning " in line and part in line])


def call(d, op, *args):
    return d.call("op.call", op=op, args=list(args))


def test_fast_math_at_the_start():
    with TestDaemon("--plugin", plugin("fast_math")) as daemon:
        all_threads(daemon, product, SUBNORMAL, "subnormal numbers")
        equal(warned(daemon, "plugin 'fast_math': loading it changed and the host set back: the floating-point "
                             "environment (subnormal results become zero, subnormal operands count as zero)"), 1)


def test_fast_math_while_it_serves():
    with TestDaemon() as daemon, daemon.connect() as d:
        loaded = d.call("plugin.load", path=plugin("fast_math"))
        equal(len(loaded["warnings"]), 1)
        contains(warnings(loaded)[0], "subnormal results become zero")
        equal(product(d)["data"], SUBNORMAL)
        all_threads(daemon, product, SUBNORMAL, "after the load")
        equal(call(d, "fast_math::half", 3.0)["outputs"], [1.5])
        unloaded = d.call("plugin.unload", plugin="fast_math")
        equal((unloaded["unmapped"], unloaded.get("warnings")), (True, None))
        all_threads(daemon, product, SUBNORMAL, "after the unload")


def test_rounding():
    with TestDaemon("--threads", "3", "--plugin", plugin("leaves_rounding")) as daemon, daemon.connect() as d:
        nearest = 1 / 3
        for op in "unboxed", "boxed", "loops":
            answers = [call(d, f"leaves_rounding::{op}") for _ in range(2)]
            all_threads(daemon, third, nearest, op)
            if op == "unboxed":  # the first of the plugin's kernels; it is warned of once
                equal(warnings(answers[0]), ["plugin 'leaves_rounding': its kernel of leaves_rounding::unboxed "
                                               f"changed and the host set back: {ENVIRONMENT}"])
            equal([a.get("warnings") for a in answers[op == "unboxed":]], [None] * (2 - (op == "unboxed")), op)
        equal(warned(daemon, "its kernel of leaves_rounding::unboxed"), 1)
        equal(warned(daemon, "its kernel of"), 1)

        a, b = ({"data": x, "dtype": "float64"} for x in (1.0, 3.0))
        up = d.op("leaves_rounding::inside", a, b, returns="data")["data"]
        equal(up > nearest, True, "a kernel may round as it likes while it runs")
        equal(call(d, "leaves_rounding::in_thread", 1.0, 3.0)["outputs"], [nearest], "in a plugin's thread")
        equal(warned(daemon, "its thread 'divides' changed"), 1)

        call(d, "leaves_rounding::observe", True)
        third(d)
        all_threads(daemon, third, nearest, "an observer")
        call(d, "leaves_rounding::observe", False)
        equal(warned(daemon, "its observer changed"), 1)

        for _ in range(2):
            d.release(d.call("tensor.create", data=[1.0], device="leaves"))
        all_threads(daemon, third, nearest, "a device's copy")
        equal(warned(daemon, "plugin 'leaves_rounding': a function of its device 'leaves' changed"), 1)


def test_precision_of_long_double():
    """The x87 control word counts in what is printed and in the turns of Fourier transforms."""
    numbers = [1 / 3, 2 / 3]
    narrow = lambda d: call(d, "leaves_precision::narrow", {"data": numbers, "dtype": "float64"})
    with TestDaemon("--plugin", plugin("leaves_precision")) as daemon, daemon.connect() as d:
        before = fourier(d, 1000)["data"]
        answer = narrow(d)
        if platform.machine() == "x86_64":
            equal(warnings(answer), ["a kernel that ran in leaves_precision::narrow changed and the host set back: the "
                                       "floating-point environment (long double of 24 bits)"])
        equal(d.call("tensor.read", tensor=answer["outputs"][0]["tensor"])["data"], numbers)
        equal(d.op("leaves_precision::narrow", {"data": numbers, "dtype": "float64"}, returns="data")["data"], numbers,
              "the answer of the call itself")
        for _ in range(20):  # often enough to run on the loop
            narrow(d)
        all_threads(daemon, third, 1 / 3, "after the calls")
        d.call("program.run", inputs={"x": {"data": numbers}}, outputs=["y"],
               steps=[{"op": "leaves_precision::narrow", "args": [{"ref": "x"}], "as": ["y"]}])
        all_threads(daemon, third, 1 / 3, "after a program")
        more = fourier(d, 2000)["data"]  # of other turns; x repeated has twice each second of them
        less(max(abs(2 * a - b) for p, q in zip(before, more[::2]) for a, b in zip(p, q)), 1e-9, "of a transform")
        d.call("tensor.release", all=True)


def test_a_kernel_that_fails_leaves_nothing_either():
    with TestDaemon("--plugin", plugin("leaves_rounding")) as daemon, daemon.connect() as d:
        try:
            call(d, "leaves_rounding::failing")
        except Exception as e:
            contains(str(e), "rounded up and failed")
        all_threads(daemon, third, 1 / 3, "after a failure")
        equal(warned(daemon, "its kernel of leaves_rounding::failing"), 1)


def test_exceptions_that_trap():
    """feenableexcept() in a kernel: nobody's inexact result, and no division by zero, ends the daemon."""
    inexact, by_zero = 0x20, 0x04
    with TestDaemon("--threads", "3", "--plugin", plugin("leaves_rounding")) as daemon, daemon.connect() as d:
        for exceptions in inexact, by_zero, 0x3d:  # the last: all of them
            for _ in range(10):
                call(d, "leaves_rounding::trap", exceptions)
            all_threads(daemon, third, 1 / 3, "an inexact result")
            all_threads(daemon, lambda d: d.op("aten::div.Tensor", {"data": 1.0}, {"data": 0.0}, returns="data"),
                        "inf", "a division by zero")
        contains(daemon.log(), " warn executor.fp_trap ", "op='leaves_rounding::trap'")


def test_signals():
    with TestDaemon("--plugin", plugin("deaf")) as daemon, daemon.connect() as d:
        equal(warned(daemon, "plugin 'deaf': its on_load changed and the host set back: what signals do "
                             "(SIGINT, SIGTERM)"), 1)
        again = d.call("plugin.reload", plugin="deaf")
        equal(len([w for w in warnings(again) if "SIGTERM" in w]), 1)
        equal(product(d)["data"], SUBNORMAL)
    # its end has sent SIGTERM, and the daemon has left


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except FileNotFoundError:  # of a thread that has ended
        return ""


def state(pid):
    """What /proc tells of a process that plugins must leave alone; of threads, by their numbers."""
    status = read(f"/proc/{pid}/status")
    found = {name: re.search(f"{name}:\\s+(\\S+)", status)[1] for name in ("Umask", "SigIgn", "SigCgt", "Cpus_allowed")}
    for task in os.listdir(f"/proc/{pid}/task"):
        mask = re.search(r"SigBlk:\s+(\S+)", read(f"/proc/{pid}/task/{task}/status"))
        if mask:
            found[task] = mask[1]
    return {**found, "limits": read(f"/proc/{pid}/limits"), "directory": os.readlink(f"/proc/{pid}/cwd")}


def is_as(before, pid):
    """Is the state of the process as it was?  Threads may have come and gone."""
    now = state(pid)
    return all(now.get(name, value) == value for name, value in before.items())


def settled_state(pid):
    """The state when no thread is being made: the C library blocks a new thread's signals for a moment."""
    states = [None]

    def settled():
        time.sleep(0.05)
        states.append(state(pid))
        return states[-1] == states[-2]

    wait_until(settled, "the state stays the same")
    return states[-1]


def test_the_rest():
    with TestDaemon() as daemon, daemon.connect() as d:
        product(d)
        before = settled_state(daemon.pid)
        loaded = warnings(d.call("plugin.load", path=plugin("untidy")))
        wait_until(lambda: is_as(before, daemon.pid), "the state after the load is as before")
        equal(len(loaded), 2, loaded)
        contains(loaded[0], "plugin 'untidy': loading it changed and the host set back: the umask (")
        contains(loaded[1], "plugin 'untidy': its on_load changed and the host set back: ")
        for part in (ENVIRONMENT, "the thread's blocked signals (SIG", "the locale ('C' became 'C.UTF-8')", "the umask (",
                     "the working directory ('", "became '/proc')", "resource limits (RLIMIT_NOFILE)",
                     "the CPU affinity"):
            contains(loaded[1], part)
        all_threads(daemon, third, 1 / 3, "rounding")
        unloaded = d.call("plugin.unload", plugin="untidy")
        wait_until(lambda: is_as(before, daemon.pid), "the state after the unload is as before")
        equal(unloaded["unmapped"], True)
        equal([re.sub(r".*'untidy': (.*) changed .*", r"\1", w) for w in warnings(unloaded)],
              ["its on_unload", "unloading it"])
        equal(warned(daemon, "plugin 'untidy'"), 4)


def test_a_directory_that_was_removed():
    """The plugin's new working directory has no path by the time that it is compared."""
    with TestDaemon() as daemon, daemon.connect() as d:
        before = os.readlink(f"/proc/{daemon.pid}/cwd")
        loaded = warnings(d.call("plugin.load", path=plugin("removed_directory")))
        equal(os.readlink(f"/proc/{daemon.pid}/cwd"), before)
        equal(loaded, ["plugin 'removed_directory': its on_load changed and the host set back: the working "
                       f"directory ('{before[:100]}' became '(no path)')"])


def test_describe_tells_of_fast_math():
    with TestDaemon() as daemon, daemon.connect() as d:
        said = d.call("plugin.describe", path=plugin("fast_math"))["warnings"]
        equal(len(said), 1, said)
        contains(said[0], "links crtfastmath")
        equal(d.call("plugin.describe", path=plugin("version_1"))["warnings"], [])


main()
