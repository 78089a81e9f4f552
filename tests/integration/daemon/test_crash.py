"""test_crash.py -- when the process dies, the log says what every thread was running, and it dies as it
would have."""

import os
import platform
import re
import shutil
import signal
import threading
import time

from harness import BUILD, SANITIZED, contains, equal, main, wait_until
from daemon import TestDaemon

LIMIT = 60
X = {"data": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}
# how a kernel dies, with what number, what the log calls it, how the process ends
DEATHS = [
    ("null", 64, "signal=SIGSEGV address=0x40", -signal.SIGSEGV),
    ("null", -(2**52), "signal=SIGSEGV address=" + ("unknown" if platform.machine() == "x86_64" else "0x"), -signal.SIGSEGV),
    ("abort", 0, "signal=SIGABRT", -signal.SIGABRT),
    ("illegal", 0, "signal=SIGILL", -signal.SIGILL),
    ("throw", 0, "signal=SIGABRT", -signal.SIGABRT),
    ("raise", signal.SIGFPE, "signal=SIGFPE", -signal.SIGFPE),
    ("raise", signal.SIGBUS, "signal=SIGBUS", -signal.SIGBUS),
    ("exit", 7, "exit=7", 7),
    ("exit", 0, "exit=0", 0),
    ("pthread_exit", 0, "signal=SIGABRT", -signal.SIGABRT),
]


def plugin(name):
    return os.path.join(BUILD, "tests", "plugins", name + ".so")


class Death:
    """A daemon that died in op(X, how, n) of a client's: its log and how it ended."""

    def __init__(self, op, how, n, meanwhile=None):
        daemon = TestDaemon("--plugin", plugin("crashes"), "--plugin", plugin("dozes"))
        with daemon.connect() as d:
            if meanwhile:
                meanwhile(daemon, d)
            listed = {p["plugin"]: p["generation"] for p in d.call("plugin.list")["plugins"]}
            self.generation = listed["crashes"]
            self.session = f"session {d.call('server.hello', client='test')['session']}"
            try:
                self.answer = d.call("op.call", op=op, args=[X, how, n])
            except (ConnectionError, EOFError, OSError) as e:
                self.answer = e
        self.status = daemon.process.wait(LIMIT)
        self.log = daemon.log()
        shutil.rmtree(daemon.dir)

    def calls(self):
        """What the log says of each call that ran: {field: text}, by operator."""
        lines = re.findall(r"^\S+Z error server\.crash\.call (.*)$", self.log, re.M)
        fields = [dict(re.findall(r"(\w+)=('[^']*'|\(.*\)|\S+)", line)) for line in lines]
        return {f["op"].strip("'"): f for f in fields if "op" in f}

    def has_ended(self, status):
        if not SANITIZED:  # those report, too, and end as they like
            equal(self.status, status, "how it ended; its log:\n" + self.log)


def test_every_death_is_reported_and_stays_what_it_was():
    for how, n, says, status in DEATHS:
        death = Death("crashes::die", how, int(n))
        contains(death.log, f"error server.crash {says}", how)
        call = death.calls()["crashes::die"]
        equal((call["plugin"], call["generation"], call["key"], call["for"], call["thread"]),
              ("'crashes'", str(death.generation), "CPU", f"'{death.session}'", "0"), how)
        equal(call["args"], f"(float32 [2, 3], str, {int(n)})", how)
        stack = death.log.split("server.crash.stack", 1)[1]
        if how != "pthread_exit":  # that has left the kernel's stack
            contains(stack, "crashes", how)
        death.has_ended(status)


def test_a_stack_that_ran_over_is_reported():
    if SANITIZED:
        return  # their own handlers have no stack of their own
    death = Death("crashes::die", "overflow", 0)
    contains(death.log, "error server.crash signal=SIGSEGV")
    equal(death.calls()["crashes::die"]["plugin"], "'crashes'")
    death.has_ended(-signal.SIGSEGV)


def test_a_bad_result_names_the_operator_that_gave_it():
    death = Death("crashes::bogus", "", 64)
    contains(death.log, "error server.crash signal=SIGSEGV")
    line = re.search(r"server\.crash\.call (.*returned=1.*)", death.log)[1]
    equal(line, f"thread=0 for='{death.session}' returned=1 op='crashes::bogus' key=CPU")
    death.has_ended(-signal.SIGSEGV)


def test_numbers_among_the_arguments():
    for f, b, said in [(2.5, True, "2.50000, true"), (-0.0001234567, False, "-1.23457e-4, false"),
                       (3, True, "3.0, true"), (1e300, False, "1.00000e300, false"),
                       ({"float": "nan"}, True, "nan, true"), ({"float": "-inf"}, True, "-inf, true")]:
        death = Death("crashes::numbers", f, b)
        equal(death.calls()["crashes::numbers"]["args"], f"(float32 [2, 3], {said})")


def test_a_report_that_cannot_read_a_call_goes_on():
    if "thread" in BUILD:
        return  # its handler defers signals: the second fault ends the process before the report goes on
    death = Death("crashes::scribbles", "", 128)
    contains(death.log, "error server.crash signal=SIGSEGV address=0x80")
    contains(death.log, "server.crash.call what a thread ran cannot be read")
    contains(death.log.split("server.crash.stack", 1)[1], "crashes")
    death.has_ended(-signal.SIGSEGV)


def test_nested_calls_and_other_threads_are_reported_too():
    def meanwhile(daemon, d):
        def doze():
            try:
                with daemon.connect() as other:
                    other.call("op.call", op="dozes::doze", args=[X, 30000])
            except OSError:
                pass  # the daemon dies meanwhile
        threading.Thread(target=doze, daemon=True).start()
        wait_until(lambda: [c for c in d.call("server.status")["running"] if c["op"] == "dozes::doze"],
                   "dozes::doze runs")

    death = Death("crashes::calls", "null", 64, meanwhile)
    calls = death.calls()
    equal([(calls[op]["thread"], calls[op]["depth"], calls[op]["args"])
           for op in ("crashes::calls", "crashes::die")],
          [("0", "0", "(float32 [2, 3], str, 64)"), ("0", "1", "(float32 [1, 2, 3], str, 64)")])
    doze = calls["dozes::doze"]
    equal((doze["plugin"], doze["args"]), ("'dozes'", "(float32 [2, 3], 30000)"))
    equal(doze["thread"] != "0" and doze["for"] != f"'{death.session}'", True, f"{doze}")
    death.has_ended(-signal.SIGSEGV)


def test_a_fault_on_another_thread_is_reported_too():
    for how in ("pool", "thread"):
        # a kernel has the pool to itself once no other connection has asked for 100 ms
        death = Death("crashes::dies_apart", how, 0, lambda daemon, d: time.sleep(0.3))
        contains(death.log, "error server.crash signal=SIGSEGV address=0x98", how)
        equal(death.calls()["crashes::dies_apart"]["plugin"], "'crashes'", how)
        contains(death.log.split("server.crash.stack", 1)[1], "crashes", how)
        death.has_ended(-signal.SIGSEGV)


def test_a_thread_of_a_plugin_is_named():
    for how, says, status in [("abort", "signal=SIGABRT", -signal.SIGABRT), ("exit", "exit=3", 3),
                              ("thread", "signal=SIGSEGV address=0x98", -signal.SIGSEGV)]:
        death = Death("crashes::dies_apart", how, 0)
        contains(death.log, f"error server.crash {says}", how)
        line = re.search(r"server\.crash\.call thread=0 for='thread 'doomed'' file='(.*)'", death.log)
        contains(line[1], "crashes", how)
        equal(death.calls()["crashes::dies_apart"]["plugin"], "'crashes'", how)
        death.has_ended(status)


def test_a_thread_of_a_plugin_may_leave_by_pthread_exit():
    with TestDaemon("--plugin", plugin("crashes")) as daemon, daemon.connect() as d:
        equal(d.op("crashes::dies_apart", X, "leave", returns="data")["shape"], [2, 3], "it was joined")


def test_an_orderly_end_is_no_crash():
    daemon = TestDaemon("--no-plugins")
    with daemon.connect() as d:
        d.call("server.status")
    log = os.path.join(daemon.dir, "log")
    with open(log) as f:  # stop() removes the directory, not what is open
        daemon.stop()
        text = f.read()
    contains(text, "server.leave")
    equal("server.crash" in text, False, text)


if __name__ == "__main__":
    main()
