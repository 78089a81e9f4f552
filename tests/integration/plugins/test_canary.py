"""test_canary.py -- a canary: a new build of a plugin serves a share of the calls (plugin.reload with `share`), its
results are compared with those of the loaded build, and it is promoted or rolled back.

Each test has a daemon of its own, since a daemon has one canary at a time."""

import contextlib
import os
import shutil
import tempfile
import threading
import time

from harness import BUILD, contains, equal, fresh, less, main, raises, wait_until
from daemon import TestDaemon
import dispatchd

PLUGINS = os.path.join(BUILD, "tests", "plugins")
DATA = [1.0, 2.0, 3.0]
TWO, FOUR = [2.0, 4.0, 6.0], [4.0, 8.0, 12.0]


class Fixture:
    def __init__(self, *options):
        self.daemon = TestDaemon(*options)
        self.connect = self.daemon.connect
        self.d = self.connect()
        self.path = os.path.join(self.daemon.dir, "trial.so")
        self.install("trial")
        self.call("plugin.load", path=self.path)

    def call(self, method, **params):
        return self.d.call(method, **params)

    def install(self, build):
        new = self.path + ".new"
        shutil.copy(os.path.join(PLUGINS, f"{build}.so"), new)
        os.rename(new, self.path)

    def begin(self, build, share=1.0, **more):
        self.install(build)
        return self.call("plugin.reload", plugin="trial", share=share, **more)

    def canary(self):
        return next(iter(self.call("server.status")["canaries"]), None)

    def ended(self):
        """Wait until the canary is rolled back, and return its report."""
        wait_until(lambda: self.canary()["state"] == "rolled back", "it is rolled back")
        return self.canary()

    def entries(self):
        return [p for p in self.call("plugin.list")["plugins"] if p["plugin"] == "trial"]

    def scale(self, op="trial::scale", d=None):
        return (d or self.d).op(op, {"data": DATA}, returns="data")["data"]

    def tensor(self, data):
        """A new tensor, as an argument."""
        return {"tensor": self.call("tensor.create", data=data)["tensor"]}

    def view(self, op, *args):
        return {"tensor": self.d.op(op, *args)["tensor"]}

    def values(self, x):
        return self.call("tensor.read", tensor=x["tensor"])["data"]

    def finish(self):
        self.d.close()
        with self.connect() as d:
            if any(p["plugin"] == "trial" for p in d.call("plugin.list")["plugins"]):
                d.call("plugin.unload", plugin="trial")
        self.daemon.finish()


@contextlib.contextmanager
def clients(f, work):
    """Four clients call work(d) until the block ends; none of them may fail."""
    stop, failures = [], []

    def run():
        try:
            with f.connect() as d:
                while not stop:
                    work(d)
        except Exception as e:
            failures.append(e)
    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    try:
        yield
    finally:
        stop.append(True)
        for t in threads:
            t.join()
    equal(failures, [])


@fresh(Fixture)
def test_a_good_build_serves_its_share_and_is_promoted(f):
    equal(f.canary(), None, "no canary yet")
    report = f.begin("trial_good", 0.5)
    old, new = report["old"]["generation"], report["generation"]
    equal(report["old"]["drained"], False)
    equal([(p["generation"], p["canary"], p["draining"]) for p in f.entries()], [(old, False, False), (new, True, False)])
    for _ in range(200):
        equal(f.scale(), TWO)
    wait_until(lambda: f.scale() == TWO and f.canary()["compared"] > 10, "they are compared")
    c = f.canary()
    less(c["compared"] - 1, c["calls"], "calls of the canary")
    equal((c["plugin"], c["generation"], c["state"], c["differs"], c["failed"]), ("trial", new, "runs", 0, 0))
    promoted = f.call("plugin.promote", plugin="trial")
    equal((promoted["generation"], promoted["old"]["generation"]), (new, old))
    equal(f.canary()["state"], "promoted")
    wait_until(lambda: [(p["generation"], p["canary"]) for p in f.entries()] == [(new, False)], "one build is left")
    equal(f.d.op("trial::build", {"data": DATA}), 1)
    calls = f.canary()["calls"]
    equal(f.scale(), TWO)
    equal(f.canary()["calls"], calls, "nothing is chosen any more")
    raises(lambda: f.call("plugin.promote", plugin="trial"), "NotFound", "plugin 'trial' has no canary")
    raises(lambda: f.call("plugin.rollback", plugin="trial"), "NotFound", "plugin 'trial' has no canary")


@fresh(Fixture)
def test_a_wrong_build_is_rolled_back_by_itself(f):
    new = f.begin("trial_wrong")["generation"]
    answers = []
    wait_until(lambda: answers.append(f.scale()) or f.canary()["state"] == "rolled back", "it is rolled back")
    c = f.ended()
    equal((c["generation"], c["failed"]), (new, 0))
    less(0, c["differs"], "those that were ahead may differ, too")
    contains(c["why"], "trial::scale differs: ")
    contains(c["why"], "expected=6 got=9", "the loaded build's element is the expected one")
    wrong = sum(a != TWO for a in answers)
    less(wrong, 50, "wrong answers")
    less(0, wrong, "wrong answers")
    equal([f.scale() for _ in range(50)], [TWO] * 50)
    wait_until(lambda: len(f.entries()) == 1, "it is unloaded")
    equal(f.d.op("trial::build", {"data": DATA}), 0)
    f.install("trial_good")
    f.call("plugin.reload", plugin="trial")
    equal(f.d.op("trial::build", {"data": DATA}), 1)


@fresh(Fixture)
def test_calls_that_fail_are_answered_by_the_loaded_build(f):
    f.begin("trial_fails", differences=3)
    x = f.call("tensor.create", data=DATA)
    equal(f.scale(), TWO)
    equal(f.scale("trial::twice"), FOUR)
    f.d.op("trial::scale_", {"tensor": x["tensor"]})
    equal(f.values(x), TWO, "what the canary had written is undone")
    c = f.ended()
    equal((c["calls"], c["failed"], c["differs"]), (3, 3, 0))
    for part in ("trial::scale_ failed: ", "trial: this build fails", "no error"):
        contains(c["why"], part)
    f.d.op("trial::scale_", {"tensor": x["tensor"]})
    equal(f.values(x), FOUR)
    f.d.release(x)


@fresh(Fixture)
def test_the_trace_of_a_call_that_failed_is_that_of_the_answer(f):
    canary = f.begin("trial_fails", differences=3)["generation"]
    trace = f.call("op.call", op="trial::twice", args=[{"data": DATA}], trace=True)["trace"]
    equal(f.canary()["failed"], 1)
    equal([(s["op"], s["generation"] < canary) for s in trace if s["plugin"] == "trial"],
          [("trial::twice", True), ("trial::scale", True), ("trial::scale", True)])


@fresh(Fixture)
def test_errors_of_both_builds_are_equal(f):
    f.begin("trial_good")
    for _ in range(5):
        raises(lambda: f.d.op("trial::scale", {"data": [1], "dtype": "int64"}), "TypeError", "expected float32")
    c = f.canary()
    equal((c["state"], c["calls"], c["compared"], c["failed"]), ("runs", 5, 5, 0))


@fresh(Fixture)
def test_one_call_runs_in_one_build(f):
    f.begin("trial_good", 0.5)
    builds = set()

    def work(d):
        equal(f.scale("trial::twice", d), FOUR)
        trace = d.call("op.call", op="trial::twice", args=[{"data": DATA}], trace=True)["trace"]
        ran = {s["generation"] for s in trace if s["plugin"] == "trial"}
        equal(len(ran), 1, f"generations of one call: {trace}")
        builds.update(ran)

    with clients(f, work):
        for _ in range(5):
            time.sleep(0.2)
            f.call("plugin.rollback", plugin="trial")
            f.begin("trial_good", 0.5)
        f.call("plugin.promote", plugin="trial")
        time.sleep(0.1)
    less(2, len(builds), "builds that ran")


@fresh(Fixture)
def test_a_wrong_build_under_load(f):
    wrong = []

    def work(d):
        answer = f.scale("trial::twice", d)
        if answer != FOUR:
            equal(answer, [9.0, 18.0, 27.0], "an answer of the wrong build")
            wrong.append(answer)

    with clients(f, work):
        f.begin("trial_wrong", 0.2)
        c = f.ended()
        time.sleep(0.1)
    equal(len(wrong), c["calls"], "wrong answers, and calls of the canary")
    less(len(wrong), 50, "wrong answers")


@fresh(Fixture)
def test_what_is_refused(f):
    for share in (0, -0.5, 1.5):
        raises(lambda: f.begin("trial_good", share), "InvalidParams", "share: expected a number above 0 and up to 1")
    raises(lambda: f.call("plugin.reload", plugin="trial", rtol=0.1), "InvalidParams", "rtol: only a canary has this")
    raises(lambda: f.call("plugin.reload", plugin="trial", share=1, differences=0), "InvalidParams", "differences")
    raises(lambda: f.call("plugin.rollback", plugin="nobody"), "NotFound", "no plugin 'nobody' is loaded")
    new = f.begin("trial_good")["generation"]
    for method, params in (("plugin.reload", {"plugin": "trial", "share": 0.1}), ("plugin.reload", {"plugin": "trial"}),
                           ("plugin.reload", {"plugin": "aten", "share": 0.1})):
        raises(lambda: f.call(method, **params), "AlreadyExists", f"plugin 'trial' has a canary", f"generation {new}")
    equal(f.scale(), TWO)
    gone = f.call("plugin.rollback", plugin="trial")
    equal(gone["generation"], new)
    path = os.path.join(f.daemon.dir, "rescaled.so")
    shutil.copy(os.path.join(PLUGINS, "rescaled.so"), path)
    f.call("plugin.load", path=path)
    shutil.copy(os.path.join(PLUGINS, "rescaled_next.so"), path + ".new")
    os.rename(path + ".new", path)
    raises(lambda: f.call("plugin.reload", plugin="rescaled", share=0.5), "ValueError", "cannot have a canary",
           "scale(Tensor x, str by)", "scale(Tensor x, float by)")
    f.call("plugin.unload", plugin="rescaled")
    with open(f.path, "wb") as torn:
        torn.write(b"\x7fELF")
    raises(lambda: f.call("plugin.reload", plugin="trial", share=0.5), "PluginError")
    equal((f.scale(), len(f.entries())), (TWO, 1))


@fresh(Fixture)
def test_other_plugins_come_and_go_beside_a_canary(f):
    f.begin("trial_good", 0.5)
    path = os.path.join(PLUGINS, "version_1.so")
    for _ in range(3):
        f.call("plugin.load", path=path)
        values = {f.d.op("version::value", {"data": DATA}) for _ in range(20)}
        equal(values, {1})
        equal([f.scale("trial::twice") for _ in range(20)], [FOUR] * 20)
        f.call("plugin.reload", plugin="version")
        f.call("plugin.unload", plugin="version")
        raises(lambda: [f.d.op("version::value", {"data": DATA}) for _ in range(20)], "NotFound")
    wait_until(lambda: f.scale() == TWO and f.canary()["compared"] > 10, "calls are compared")
    equal((f.canary()["state"], f.canary()["differs"]), ("runs", 0))
    equal(f.call("registry.check")["violations"], [])


@fresh(Fixture)
def test_the_plugin_is_unloaded_in_the_middle(f):
    f.begin("trial_good")
    equal(f.scale(), TWO)
    equal(f.call("plugin.unload", plugin="trial")["unmapped"], True)
    equal(f.entries(), [])
    equal(f.canary()["state"], "rolled back")
    raises(f.scale, "NotFound", "trial::scale")


@fresh(Fixture)
def test_no_canary_begins_while_the_plugin_is_unloaded(f):
    """The unload waits for a shadow call. A canary that began meanwhile would end with it, unseen."""
    f.call("plugin.load", path=os.path.join(PLUGINS, "sleeps.so"))

    def unload():
        with f.connect() as d:
            d.call("plugin.unload", plugin="trial")

    f.call("session.set", shadow={"backend": "cpu", "share": 1})
    f.d.op("sleeps::sleep", {"data": DATA}, 1000)
    unloads = threading.Thread(target=unload)
    unloads.start()
    time.sleep(0.2)
    with f.connect() as d:
        try:
            d.call("plugin.reload", plugin="trial", share=1, timeout_ms=1)
        except dispatchd.NotFound:
            pass  # it came after the unload
    unloads.join()
    equal(f.entries(), [])
    equal((f.canary() or {"state": "none"})["state"] in ("none", "rolled back"), True, f"the canary: {f.canary()}")
    f.call("session.set", shadow=None)
    f.call("plugin.unload", plugin="sleeps")


@fresh(Fixture)
def test_a_canary_serves_no_call_on_the_thread_of_the_event_loop(f):
    """That the loaded build's kernel is short proves nothing about the new one, which may hang."""
    if "thread" in os.path.basename(BUILD):
        return  # under the thread sanitizer no call is short enough for the loop

    def count(name):
        return f.call("server.status")[name]

    def build():
        f.d.op("trial::build", {"data": DATA})

    def inline():
        before = count("calls_inline")
        for _ in range(20):
            build()
        return count("calls_inline") - before

    wait_until(lambda: inline() == 20, "the call is proven short")
    f.begin("trial_good")
    before = count("calls_worker")
    for _ in range(40):
        build()
    served = f.canary()["calls"]
    less(0, served)
    less(served - 1, count("calls_worker") - before, "calls on worker threads")


def test_no_call_is_served_without_room_for_its_comparison():
    """Otherwise a wrong build would answer any number of calls while other shadow calls fill the queue."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write("shadow_queue = 0\n")
        conf.flush()
        f = Fixture("--config", conf.name)
        f.begin("trial_wrong")
        equal([f.scale() for _ in range(20)], [TWO] * 20)
        equal((f.canary()["state"], f.canary()["calls"]), ("runs", 0))
        f.finish()


@fresh(Fixture)
def test_a_client_leaves_in_the_middle(f):
    f.begin("trial_good")
    for _ in range(20):
        d = f.connect()
        for _ in range(10):
            d.send("op.call", op="trial::twice", args=[{"data": DATA}])
        d.close()
    wait_until(lambda: f.call("server.status")["sessions"] == 1, "they are gone")
    f.call("plugin.rollback", plugin="trial")
    equal([f.scale() for _ in range(10)], [TWO] * 10)


def of_itself(f, calls, compared):
    """Let plugin `cpu` have its own build as a canary, run calls(), and return the counts once so many are compared."""
    f.call("plugin.reload", plugin="cpu", share=1, differences=1000)
    calls()
    f.d.op("aten::neg", {"data": DATA})  # its comparison comes last
    wait_until(lambda: f.canary()["compared"] >= compared + 1, "the calls are compared")
    c = f.canary()
    f.call("plugin.rollback", plugin="cpu")
    return c


@fresh(Fixture)
def test_layouts_are_those_of_the_client(f):
    """The LU factors that the kernel answers depend on the strides, and so does a result of _embedding_bag()."""
    long = f.tensor([[[float((7 * i + 3 * k) % 11), -1.0] for k in range(3)] for i in range(3)])
    x = f.view("aten::select.int", long, 2, 0)
    many = f.view("aten::expand", x, [2, 3, 3])
    base = f.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    columns = f.view("aten::t", base)
    row = f.tensor([[1.0, 2.0, 3.0]])
    rows = f.view("aten::expand", row, [3, 3])

    def calls():
        for t in (x, many):
            f.d.op("aten::_linalg_det", t, returns="data")
        for t in (columns, rows):
            f.d.op("aten::_embedding_bag", t, {"data": [0, 1], "dtype": "int64"}, {"data": [0], "dtype": "int64"},
                   returns="data")

    c = of_itself(f, calls, 4)
    equal((c["compared"], c["differs"]), (5, 0))
    f.d.release(*(t["tensor"] for t in (long, x, many, base, columns, row, rows)))


@fresh(Fixture)
def test_what_copies_cannot_repeat_is_not_compared(f):
    """These read the storage around the argument, or facts about the tensor, which a copy has not."""
    base, out = f.tensor([float(i) for i in range(12)]), f.tensor([0.0] * 4)
    x = f.view("aten::slice.Tensor", base, 0, 4, 8)

    def calls():
        f.d.op("aten::as_strided_copy", x, [2, 2], [1, 2], 0, returns="data")
        f.d.op("aten::as_strided_scatter", base, {"data": [1.0, 2.0]}, [2], [1], 3, returns="data")
        f.d.op("aten::_version", out)
        f.d.op("aten::empty_strided.out", [4], [1], out=out)

    c = of_itself(f, calls, 0)
    equal((c["compared"], c["differs"]), (1, 0))
    f.d.release(*(t["tensor"] for t in (base, x, out)))


if __name__ == "__main__":
    main()
