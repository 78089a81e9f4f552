"""test_bad_input.py -- one clear error each: bad messages, bad arguments, bad kernels.  After every one
the connection lives on, and the registry's dump and the tensors are what they were."""

import json
import os
import random
import time

from harness import BUILD, ROOT, SANITIZED, contains, equal, less, main, raises
from daemon import TestDaemon
import dispatchd

TEST_PLUGINS = os.path.join(BUILD, "tests", "plugins")
EXAMPLES = os.path.join(ROOT, "proto", "examples")
CODES = {"parse": -32700, "request": -32600, "method": -32601, "params": -32602, "error": -32000}


class Fixture:
    def __init__(self):
        self.daemon = TestDaemon("--plugin-path", TEST_PLUGINS)
        self.d = self.daemon.connect()
        self.x = self.d.call("tensor.create", data=[[1, 2, 3], [4, 5, 6]])["tensor"]
        self.state = self.now()

    def now(self):
        return (self.d.call("registry.dump")["text"], self.d.call("server.status")["live_tensors"],
                self.d.call("tensor.read", tensor=self.x)["data"])

    def unchanged(self, what):
        """The connection answers, and nothing is other than it was."""
        for got, want in zip(self.now(), self.state):
            equal(got, want, f"after {what}")

    def raw(self, line):
        """The answer to one line as it is."""
        self.d.send_bytes(line + b"\n")
        return self.d.receive_message()

    def refused(self, type_, parts, what, op, /, *args, **kwargs):
        """The call must fail so and change nothing; returns the error."""
        e = raises(lambda: self.d.call("op.call", op=op, args=list(args), kwargs=kwargs), type_, *parts)
        self.unchanged(what)
        return e


def setup():
    return Fixture()


def teardown(f):
    f.d.close()
    f.daemon.finish()


def failure(f, op, args):
    """The error of a call, of whatever type."""
    try:
        result = f.d.call("op.call", op=op, args=args)
    except dispatchd.Error as e:
        return e
    raise AssertionError(f"{op} answered {result}")


def examples(prefix):
    for name in sorted(os.listdir(EXAMPLES)):
        if name.startswith(prefix):
            with open(os.path.join(EXAMPLES, name), "rb") as file:
                yield name[:-len(".json")], file.read().rstrip(b"\n")


# -- messages ---------------------------------------------------------------------------------------

def test_an_id_that_is_too_large_is_a_wrong_request(f):
    text = "id: expected a string or an integer below 2^53 but got number"
    for number in (2**53, -2**53, 10**60):
        answer = f.raw(b'{"jsonrpc":"2.0","id":%d,"method":"server.status"}' % number)
        equal((answer["id"], answer["error"]), (None, {"code": -32600, "message": text}))
        batch = f.raw(b'[{"jsonrpc":"2.0","id":1,"method":"rpc.none"},{"id":%d,"jsonrpc":"2.0","method":"x"}]' % number)
        equal([(a["id"], a["error"]["code"]) for a in batch], [(1, -32601), (None, -32600)])
        # elsewhere it is no value, because a double would lose digits
        for line in (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"id":%d}}', b'{"id":[%d]}', b'%d', b'[[{"id":%d}]]'):
            answer = f.raw(line % number)
            equal(answer["error"]["code"], -32700, answer["error"]["message"])
    equal(f.raw(b'{"jsonrpc":"2.0","id":%d,"method":"rpc.none"}' % (2**53 - 1))["id"], 2**53 - 1)
    equal(f.raw(b'{"jsonrpc":"2.0","id":%d,"method":"x",}' % (2**53))["error"]["code"], -32700)


def test_bad_examples(f):
    seen = 0
    for name, line in examples("n_"):
        answer = f.raw(line)
        assert "error" in answer, f"{name}: {answer}"
        equal(answer["error"]["code"], CODES[name.split("_")[1]], f"{name}: {answer['error']['message']}")
        assert answer["error"]["message"], name
        if answer["error"]["code"] == -32000:
            assert answer["error"]["data"]["type"], name
        f.unchanged(name)
        seen += 1
    less(50, seen)


def test_good_examples(f):
    seen = 0
    with f.daemon.connect() as d:
        for name, line in examples("y_"):
            d.send_bytes(line + b'\n{"jsonrpc":"2.0","id":"end","method":"server.status"}\n')
            answers = [d.receive_message()]
            while isinstance(answers[-1], list) or answers[-1]["id"] != "end":
                answers.append(d.receive_message())
            for answer in answers:
                for one in answer if isinstance(answer, list) else [answer]:
                    assert "result" in one, f"{name}: {one}"
            equal(len(answers), 1 if name == "y_notification" else 2, name)
            seen += 1
        d.call("tensor.release", all=True)
    less(10, seen)
    f.unchanged("the good examples")


def test_depth_bombs(f):
    for opening, closing in [(b"[", b"]"), (b'{"a":', b"}")]:
        for depth in (129, 5000, 100000):
            nested = opening * depth + (b"1" if opening != b"[" else b"") + closing * depth
            for line in (nested, b'{"jsonrpc":"2.0","id":1,"method":"tensor.create","params":{"data":%s}}' % nested):
                answer = f.raw(line)
                equal(answer["error"]["code"], -32700)
                contains(answer["error"]["message"], "nested 129 deep, at most 128 (json_depth)")
    f.unchanged("depth bombs")


def test_too_many_dimensions(f):
    e = raises(lambda: f.d.call("tensor.create", data=json.loads("[" * 65 + "]" * 65)), "ValueError", "64")
    equal(e.code, -32000)
    f.unchanged("65 dimensions")


def test_broken_lines(f):
    """A good line with one byte changed, cut or doubled: an answer, or none to a notification."""
    rng = random.Random(11)
    good = [line for _, line in examples("y_") if b'"jsonrpc"' in line and not line.startswith(b"[")]
    status = b'{"jsonrpc":"2.0","id":"end","method":"server.status"}\n'
    with f.daemon.connect() as d:
        for _ in range(2000):
            line = bytearray(rng.choice(good))
            at = rng.randrange(len(line))
            line[at:at + 1] = rng.choice([b"", bytes([rng.randrange(256)]), line[at:at + 1] * 2])
            if b"\n" in line or b'"attachments"' in line or b'"fds"' in line or b"shutdown" in line:
                continue
            d.send_bytes(bytes(line) + b"\n" + status)
            while d.receive_message().get("id") != "end":
                pass
        d.call("tensor.release", all=True)
    f.unchanged("2000 broken lines")


# -- arguments --------------------------------------------------------------------------------------

def test_literals_that_contradict_themselves(f):
    for literal, parts in [
            (dict(data=[[1, 2], [3]]), ["data[1]", "1 elements", "2"]),
            (dict(data=[[1], 2]), ["data[1]", "array of 1", "number"]),
            (dict(data=[1, [2]]), ["data[1]"]),
            (dict(data=[[[1, 2]], [[1, 2, 3]]]), ["data[1][0]", "3", "2"]),
            (dict(data=["x"]), ["data[0]", "'x'"]),
            (dict(data=[None]), ["data[0]", "null"]),
            (dict(data=[{}]), ["data[0]", "object"]),
            (dict(dtype="uint8", data=[0, -1]), ["data[1]", "-1", "uint8 (0 to 255)"]),
            (dict(dtype="int8", data=[[128]]), ["data[0][0]", "128", "int8 (-128 to 127)"]),
            (dict(dtype="int64", data=["9223372036854775808"]), ["data[0]", "9223372036854775808"]),
            (dict(dtype="int32", data=[1.5]), ["data[0]", "1.5"]),
            (dict(dtype="int32", data=["nan"]), ["data[0]", "nan"]),
            (dict(dtype="bool", data=[2]), ["data[0]", "2", "bool"]),
            (dict(dtype="float16", data=[70000]), ["data[0]", "70000", "float16"]),
            (dict(dtype="float32", data=[1e39]), ["data[0]", "1e+39", "float32"]),
            (dict(dtype="complex64", data=[1, 2, 3]), ["data", "[re, im]"]),
            (dict(dtype="complex64", data=[[1, 2], [3]]), ["data[1]", "[re, im]"]),
            (dict(dtype="complex64", data=5), ["data", "[re, im]"]),
            (dict(shape=[3], data=[1, 2]), ["[3]", "[2]"]),
            (dict(shape=[2, 2], data=[1, 2, 3, 4]), ["[2, 2]", "[4]"]),
            (dict(shape=[2], strides=[1, 1], data=[1, 2]), ["strides", "2", "1"]),
            (dict(strides=[1], data=[1, 2]), ["shape"]),
            (dict(dtype="float32"), ["one of data, attachment, fd and map"]),
            (dict(data=[1], attachment=b"1234"), ["one of data, attachment, fd and map"]),
            (dict(dtype="float32", attachment=b"1234"), ["dtype and shape"]),
            (dict(dtype="float32", shape=[2], attachment=b"1234"), ["8", "4"]),
            (dict(dtype="float32", shape=[1 << 40, 1 << 40], attachment=b"1234"), ["4"]),
            (dict(dtype="float32", shape=[1], strides=[1], attachment=b"12345"), ["5 bytes", "float32"])]:
        raises(lambda: f.d.call("tensor.create", **literal), "ValueError", *parts)
        f.unchanged(literal)
    for literal, kind, parts in [
            (dict(shape=[2], strides=[3], data=[1, 2]), "RuntimeError", ["[3]", "16 bytes", "8"]),
            (dict(shape=[1], storage_offset=2, data=[1, 2]), "RuntimeError", ["offset 2", "8"]),
            (dict(data=[1], device="npu"), "RuntimeError", ["npu", "cpu"])]:
        raises(lambda: f.d.call("tensor.create", **literal), kind, *parts)
        f.unchanged(literal)


def test_attachments_that_are_not_there(f):
    line = ('{"jsonrpc":"2.0","id":1,"method":"tensor.create",'
            '"params":{"dtype":"uint8","shape":[1],"attachment":%d},"attachments":[1]}')
    for index in (1, 7):
        f.d.send_bytes((line % index).encode() + b"\nx")
        error = f.d.receive_message()["error"]
        equal(error["data"]["type"], "ValueError")
        contains(error["message"], f"attachment {index}")
    f.unchanged("attachments that are not there")


def test_unknown_operators_offer_the_nearest(f):
    f.refused("NotFound", ["aten::ad.Tensor", "'aten::add.Tensor'"], "a typo", "aten::ad.Tensor")
    f.refused("NotFound", ["tutorial::scael", "'tutorial::scale'"], "a typo", "tutorial::scael")
    f.refused("NotFound", [""], "an empty name", "")
    f.refused("NotFound", ["a" * 50], "a long name", "a" * 100000)


def test_arguments_that_do_not_fit(f):
    x = {"tensor": f.x}
    e = f.refused("TypeError", ["aten::add.Tensor(", "aten::add.Scalar("], "no overload", "aten::add", x, x, 1, 2)
    contains(e.message, "(Tensor, Tensor, int, int)")
    f.refused("TypeError", ["factor", "float", "str"], "a wrong kind", "tutorial::scale", x, "2")
    f.refused("TypeError", ["factor"], "too few", "tutorial::scale", x)
    f.refused("TypeError", ["2", "3"], "too many", "tutorial::scale", x, 1, 2)
    f.refused("TypeError", ["factr"], "an unknown name", "tutorial::scale", x, factr=1)
    f.refused("TypeError", ["self"], "one argument twice", "tutorial::scale", x, 1, self=x)
    f.refused("NotFound", ["args[0].tensor", "99999"], "no such tensor", "tutorial::scale", {"tensor": 99999}, 1)
    f.refused("ValueError", ["args[1].int", "12x"], "no int", "tutorial::scale", x, {"int": "12x"})
    f.refused("ValueError", ["kwargs.factor.complex"], "half a complex", "tutorial::scale", x,
              factor={"complex": [1]})
    f.refused("TypeError", ["float32", "int64"], "a wrong dtype", "tutorial::scale",
              {"dtype": "int64", "data": [1]}, 1)


def test_shapes_that_do_not_fit(f):
    x = {"tensor": f.x}
    f.refused("RuntimeError", ["(3)", "(2)"], "a broadcast", "aten::add.Tensor", x, {"data": [1, 2]})
    f.refused("RuntimeError", ["2x3", "2x3"], "a product", "aten::mm", x, x)
    f.refused("RuntimeError", ["[7]", "6"], "a view", "aten::view", x, [7])
    f.refused("RuntimeError", ["3"], "an in-place broadcast", "aten::add_.Tensor", {"data": [[1], [2]]}, x)


def test_more_memory_than_there_is(f):
    for sizes in ([1 << 45], [1 << 31, 1 << 31], [{"int": str(1 << 62)}, 4]):
        e = failure(f, "aten::empty.memory_format", [sizes])
        contains(["ResourceExhausted", "RuntimeError"], e.type)
        f.unchanged(sizes)


# -- kernels ----------------------------------------------------------------------------------------

def bad_plugin(f, name):
    f.d.call("plugin.load", path=name)
    f.state = f.now()


def unload(f, name):
    f.d.call("plugin.unload", plugin=name)
    f.state = f.now()


def test_kernels_that_fail(f):
    x = {"tensor": f.x}
    bad_plugin(f, "returns_error")
    f.refused("ValueError", ["the moon is in the wrong phase"], "an error", "returns_error::said", x)
    f.refused("IndexError", ["index 7 is out of range"], "half an answer", "returns_error::halfway", x)
    f.refused("RuntimeError", ["returns_error", "without describing"], "silence", "returns_error::silent", x)
    f.refused("PluginError", ["returns_error", "-7 without describing"], "a code of names", "returns_error::errno_like", x)
    f.refused("PluginError", ["returns_error", "12345"], "a code that is none", "returns_error::stranger", x)
    unload(f, "returns_error")


def test_kernels_that_return_nothing_or_something_else(f):
    x = {"tensor": f.x}
    bad_plugin(f, "returns_nothing")
    for op in ("boxed", "unboxed", "half"):
        f.refused("PluginError", ["returns_nothing", "nothing", "Tensor"], op, f"returns_nothing::{op}", x)
    unload(f, "returns_nothing")
    bad_plugin(f, "returns_wrong_kind")
    for op, parts in [("an_int", ["int", "Tensor"]), ("a_tensor", ["Tensor", "int"]), ("no_tag", ["Tensor"]),
                      ("hole", ["Tensor?[]", "which is Tensor[]"])]:
        f.refused("PluginError", ["returns_wrong_kind", *parts], op, f"returns_wrong_kind::{op}", x)
    unload(f, "returns_wrong_kind")


def test_a_parallel_loop_that_calls_operators(f):
    bad_plugin(f, "calls_in_loop")
    for i in range(20):
        f.refused("PluginError", ["plugin 'calls_in_loop'", "from the body of dp_parallel_for()"], f"call {i}",
                  "calls_in_loop::loop", {"tensor": f.x})
    unload(f, "calls_in_loop")


def test_a_parallel_loop_that_ends_a_thread_of_the_pool(f):
    """Another thread takes its place each time."""
    bad_plugin(f, "ends_thread_in_loop")
    threads = lambda: len(os.listdir(f"/proc/{f.daemon.process.pid}/task"))
    x = f.d.call("tensor.create", data=[0.5] * 100000)["tensor"]
    f.state = f.now()
    before = threads()
    for i in range(40):
        f.refused("PluginError", ["ends_thread_in_loop::f", "plugin 'ends_thread_in_loop'",
                                  "ended a thread of the pool"],
                  f"call {i}", "ends_thread_in_loop::f", {"tensor": x}, i % 2 == 1)
    soon = time.monotonic() + 10
    while threads() > before and time.monotonic() < soon:
        pass
    equal(threads(), before, "threads")
    f.d.call("tensor.release", tensors=[x])
    f.state = f.now()
    unload(f, "ends_thread_in_loop")


def test_a_kernel_without_end(f):
    bad_plugin(f, "recursion")
    f.refused("RuntimeError", ["recursion::f", "128"], "recursion", "recursion::f", {"tensor": f.x})
    for _ in range(20):  # on the loop's thread and on workers
        f.refused("RuntimeError", ["recursion::large", "stack"], "recursion", "recursion::large", {"tensor": f.x})
    unload(f, "recursion")


def test_no_kernel_for_the_key(f):
    bad_plugin(f, "toy_backend")
    e = f.refused("NotImplementedError", ["tutorial::scale", "toy"], "no kernel",
                  "tutorial::scale", {"data": [1], "device": "toy"}, 1)
    equal(e.data["key"], "toy")
    unload(f, "toy_backend")


def test_memory_is_what_it_was(f):
    """Bad input again and again does not add up."""
    lines = [line for _, line in examples("n_")] * 20
    calls = [("aten::add.Tensor", [{"tensor": f.x}, {"data": [1, 2]}]), ("tutorial::scale", [{"tensor": f.x}])] * 100

    def round_():
        for line in lines:
            f.raw(line)
        for op, args in calls:
            failure(f, op, args)

    def grown():
        before = f.daemon.resident_kb()
        for _ in range(5):
            round_()
        return f.daemon.resident_kb() - before

    round_()
    kb = [grown()]
    f.unchanged("thousands of bad requests")
    while not SANITIZED and min(kb) >= 1024 and len(kb) < 4:  # a busy machine starts more workers once
        kb.append(grown())
    if not SANITIZED:
        less(min(kb), 1024, "kB grown in each of so many rounds")


main(setup, teardown)
