"""test_attached.py -- data that a plugin attaches to tensors (tests/plugins/tape.c): kept, charged, gone with them."""

import os

from harness import BUILD, contains, equal, main, raises, together
from daemon import TestDaemon

MIB = 1 << 20


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.connect()
        self.d.call("plugin.load", path="tape")

    def done(self):
        self.d.call("tensor.release", all=True)
        equal((self.live(), self.d.call("server.status")["bytes"]), (0, 0), "live tensors and bytes")
        self.d.call("plugin.unload", plugin="tape")
        self.d.close()
        self.finish()

    def live(self):
        return self.d.call("server.status")["live_tensors"]

    def make(self, *data):
        return {"tensor": self.d.call("tensor.create", data=list(data or (1.0, 2.0)))["tensor"]}

    def op(self, name, *args, **kwargs):
        return {"tensor": self.d.op("aten::" + name, *args, **kwargs)["tensor"]}

    def attach(self, t, key, *values, bytes_=0):
        self.d.op("tape::attach", t, key, list(values), bytes_)

    def attached(self, t):
        return [a["key"] for a in self.d.call("tensor.describe", tensor=t["tensor"]).get("attached", [])]


def test_a_tape_goes_with_its_tensors(f):
    x = f.make(1, 2)
    n = f.op("neg", x)
    y = f.op("mul.Tensor", n, x)
    equal((f.d.op("tape::made_by", y), f.attached(y)), ("aten::mul.Tensor", ["tape.op", "tape.inputs"]))
    negated = {"tensor": f.d.op("tape::input", y, 0)["tensor"]}
    equal((f.d.op("tape::made_by", negated), f.d.call("tensor.read", tensor=negated["tensor"])["data"]), ("aten::neg", [-1, -2]))
    first = {"tensor": f.d.op("tape::input", negated, 0)["tensor"]}
    equal(f.d.call("tensor.read", tensor=first["tensor"])["data"], [1, 2])
    raises(lambda: f.d.op("tape::input", x, 0), "IndexError")
    f.d.release(x, n, negated, first)
    equal(f.live(), 3, "y holds what it was made of")
    f.d.release(y)
    equal(f.live(), 0)


def test_it_is_the_tensors_own(f):
    y = f.op("neg", f.make())
    view = f.op("view", y, [2, 1])
    equal((f.attached(view), f.d.op("tape::made_by", view)), ([], ""))
    equal(f.attached(f.op("add_.Tensor", y, y)), ["tape.op", "tape.inputs"], "in place it is the same tensor")
    f.d.call("tensor.release", all=True)


def test_it_is_charged_and_replaced(f):
    x, before = f.make(), f.d.call("server.status")["account"]["tensors"]["bytes"]
    f.attach(x, "mine.a", bytes_=1000)
    f.attach(x, "mine.b", bytes_=2000)
    told = f.d.call("tensor.describe", tensor=x["tensor"])["attached"]
    equal([(a["key"], a["bytes"] // 1000) for a in told], [("mine.a", 1), ("mine.b", 2)])
    f.attach(x, "mine.a", bytes_=5000)
    equal([a["bytes"] // 1000 for a in f.d.call("tensor.describe", tensor=x["tensor"])["attached"]], [5, 2])
    f.attach(x, "mine.a")
    equal(f.attached(x), ["mine.b"])
    equal(2000 < f.d.call("server.status")["account"]["tensors"]["bytes"] - before < 3000, True, "charged")
    f.attach(x, "mine.b")
    equal(f.d.call("server.status")["account"]["tensors"]["bytes"], before)
    f.d.release(x)


def test_limits_have_names(f):
    x = f.make()
    for i in range(16):
        f.attach(x, f"mine.{i}", bytes_=1)
    raises(lambda: f.attach(x, "mine.more", bytes_=1), "ResourceExhausted", "16, the limit (attached)")
    f.attach(x, "mine.3", bytes_=2)
    raises(lambda: f.attach(x, "mine.3", bytes_=MIB), "ResourceExhausted", "the limit is 1048576 (attached_bytes)")
    raises(lambda: f.attach(x, "mine 3", bytes_=1), "ValueError", "'mine 3'")
    raises(lambda: f.attach(x, "", bytes_=1), "ValueError", "1 to 127 letters")
    equal(len(f.attached(x)), 16)
    f.d.release(x)


def test_no_tensor_holds_itself(f):
    a, b, c = f.make(), f.make(), f.make()
    refused = lambda t, *values: contains(raises(lambda: f.attach(t, "mine.x", *values), "ValueError").message, "might hold itself")
    refused(a, a)
    refused(a, b, a)
    f.attach(a, "mine.x", b)
    f.attach(c, "mine.x", a)
    refused(b, a)
    refused(b, c)
    of_b = f.op("view", b, [2, 1])
    refused(b, of_b)
    f.attach(b, "mine.y", bytes_=3)
    view = f.op("view", c, [2, 1])
    refused(c, view)
    f.d.release(a, b, view, of_b)
    equal(f.live(), 3)
    f.d.release(c)
    equal(f.live(), 0)


def test_long_chains_end(f):
    x = f.make()
    for i in range(20000):
        y = {"tensor": f.d.op("aten::neg", x)["tensor"]}
        f.d.release(x)
        x = y
    equal(f.live(), 20001)
    f.d.release(x)
    equal(f.live(), 0)


def test_it_outlives_session_and_plugin(f):
    x = f.make(5.0)
    with f.connect() as other:
        other.call("server.hello", session_key=f.d.call("server.hello")["session_key"])
    y = f.op("neg", x)
    f.d.release(x)
    f.d.call("plugin.unload", plugin="tape")
    equal(f.attached(y), ["tape.op", "tape.inputs"])
    f.d.call("plugin.load", path="tape")
    equal(f.d.call("tensor.read", tensor=f.d.op("tape::input", y, 0)["tensor"])["data"], [5])
    f.d.call("tensor.release", all=True)
    equal(f.live(), 0)


def test_many_at_once(f):
    x, failures = f.make(), []
    key = f.d.call("server.hello")["session_key"]

    def client(n):
        try:
            with f.connect() as d:
                d.call("server.hello", session_key=key) if n else None
                for i in range(100):
                    d.op("tape::attach", {"data": [1.0]}, f"mine.{n}", [], i + 1)
        except Exception as e:
            failures.append(e)

    together(client, 4)
    equal([str(e) for e in failures], [])
    f.d.release(x)


main(Fixture, Fixture.done)
