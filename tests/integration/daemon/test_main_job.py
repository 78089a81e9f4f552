"""test_main_job.py -- operators over the socket: values, attachments, programs, order, errors."""

import os
import random
import socket
import struct
import subprocess

from harness import BUILD, ROOT, contains, equal, less, main, raises
from daemon import TestDaemon

DATA = {"return": "data"}


def packed(code, *values):
    return struct.pack(f"<{len(values)}{code}", *values)


def same_bits(code, a, b):
    return packed(code, *a) == packed(code, *b)


def test_hello(f):
    with f.connect() as d:
        hello = d.call("server.hello", client="test", protocol=1)
        equal(hello["server"], "dispatchd")
        equal(hello["pid"], f.pid)
        equal(len(hello["session_key"]), 32)
        equal(hello["limits"]["line_bytes"], 1 << 20)


def test_add_with_everything(f):
    with f.connect() as d:
        answer = d.call("op.call", op="aten::add.Tensor", args=[{"data": [[1, 2], [3, 4]]}, 10],
                        kwargs={"alpha": 2}, trace=True, timing=True, **DATA)
        out, = answer["outputs"]
        equal(out["data"], [[21, 22], [23, 24]])
        equal((out["dtype"], out["shape"], out["strides"]), ("float32", [2, 2], [2, 1]))
        equal(out["keys"], ["AutogradCPU", "ADInplaceOrView", "CPU"])
        equal("tensor" in out, False, "a handle beside return:data")
        equal(answer["trace"][-1]["plugin"], "cpu")
        equal(sorted(answer["timing"]), ["dispatch", "kernel", "parse", "queue", "total"])
        less(answer["timing"]["kernel"], answer["timing"]["total"] + 1)


def test_overloads_are_chosen_by_kind(f):
    with f.connect() as d:
        def dtype(*args):
            return d.op("aten::add", *args, returns="data")["dtype"]
        equal(dtype({"dtype": "int64", "data": [1]}, 1), "int64")
        equal(dtype({"dtype": "int64", "data": [1]}, {"float": 1}), "float32")
        equal(dtype({"dtype": "int64", "data": [1]}, {"dtype": "float64", "data": [1]}), "float64")
        equal(dtype({"dtype": "bool", "data": [True]}, {"dtype": "uint8", "data": [1]}), "uint8")


def test_channels_last(f):
    values = packed("f", *range(1280))
    with f.connect() as d:
        x = d.call("tensor.create", dtype="float32", shape=[1, 64, 5, 4], attachment=values)
        equal(x["strides"], [1280, 20, 4, 1])
        y = d.op("aten::contiguous", {"tensor": x["tensor"]}, memory_format="channels_last")
        equal((y["shape"], y["strides"]), ([1, 64, 5, 4], [1280, 1, 256, 64]))
        equal(d.call("tensor.read", tensor=y["tensor"], **{"as": "attachment"})["attachment"], values)
        same = d.op("aten::contiguous", {"tensor": x["tensor"]})
        equal(same["storage"], x["storage"], "contiguous of what is contiguous shares its storage")
        equal(same["tensor"] != x["tensor"], True, "every output gets a fresh handle")
        equal(d.release(x, y, same), {"released": 3})


def test_numbers_come_back_exactly(f):
    rng = random.Random(1)
    patterns = {"d": ("float64", rng.getrandbits, 64), "f": ("float32", rng.getrandbits, 32)}
    with f.connect() as d:
        for code, (dtype, bits, n) in patterns.items():
            raw = b"".join(bits(n).to_bytes(n // 8, "little") for _ in range(2000))
            out = d.call("tensor.create", dtype=dtype, shape=[2000], attachment=raw)
            data = [float(x) for x in d.call("tensor.read", tensor=out["tensor"])["data"]]
            want = struct.unpack(f"<2000{code}", raw)
            wrong = [(a, b) for a, b in zip(data, want)
                     if not (a != a and b != b) and not same_bits(code, [a], [b])]
            equal(wrong, [], f"{dtype} through JSON")
            again = d.call("tensor.create", dtype=dtype, data=data_with_strings(data))
            back = d.call("tensor.read", tensor=again["tensor"], **{"as": "attachment"})["attachment"]
            equal([x for x in struct.unpack(f"<2000{code}", back) if x == x],
                  [x for x in want if x == x], f"{dtype} from JSON")
            d.release(out, again)
        big = ["9223372036854775807", "-9223372036854775808", 7]
        out = d.call("tensor.create", dtype="int64", data=big)
        data = d.call("tensor.read", tensor=out["tensor"])["data"]
        equal([int(x) for x in data], [int(x) for x in big])
        d.release(out)


def data_with_strings(values):
    """Python's json writes NaN and Infinity bare, which is not JSON."""
    return [x if x - x == 0 else "nan" if x != x else "inf" if x > 0 else "-inf" for x in values]


def test_attachments_go_both_ways(f):
    with f.connect() as d:
        a, b = packed("q", 1, 2, 3), packed("q", 10, 20, 30)
        out = d.op("aten::add.Tensor", {"dtype": "int64", "shape": [3], "attachment": a},
                   {"dtype": "int64", "shape": [3], "attachment": b}, returns="attachment")
        equal(out["attachment"], packed("q", 11, 22, 33))
        raises(lambda: d.op("aten::add.Tensor", {"dtype": "int64", "shape": [4], "attachment": a}, 1),
               "ValueError")
        equal(d.op("aten::neg", {"data": [1.5]}, returns="data")["data"], [-1.5],
              "after a failed call its bytes are consumed")


def test_pipelining_keeps_the_order(f):
    with f.connect() as d:
        n = 3000
        for i in range(n):
            d.send("op.call", op="aten::add.Tensor", args=[{"data": [i]}, 1], **DATA)
        got = [d.receive()["outputs"][0]["data"][0] for _ in range(n)]
        equal(got, list(range(1, n + 1)))


def test_large_answers_and_requests_do_not_deadlock(f):
    blob = bytes(4 << 20)
    with f.connect() as d:
        for _ in range(8):
            d.send("op.call", op="aten::neg", args=[
                {"dtype": "float32", "shape": [1 << 20], "attachment": blob}], **{"return": "attachment"})
        for _ in range(8):
            equal(len(d.receive()["outputs"][0]["attachment"]), len(blob))


def test_half_close_gets_every_answer(f):
    with f.connect() as d:
        for i in range(50):
            d.send("op.call", op="aten::add.Tensor", args=[{"data": [i]}, 0], **DATA)
        d.half_close()
        equal([d.receive()["outputs"][0]["data"][0] for _ in range(50)], list(range(50)))
        try:
            d.receive()
        except ConnectionError:
            return
        raise AssertionError("the connection is still open")


def test_batches_and_notifications(f):
    with f.connect() as d:
        request = {"jsonrpc": "2.0", "method": "registry.check"}
        d.send_bytes(b'[' + b','.join(
            b'{"jsonrpc":"2.0","id":%d,"method":"registry.check"}' % i for i in range(3)) + b']\n')
        equal([m["id"] for m in d.receive_message()], [0, 1, 2])
        d.send_message(request)  # a notification: no answer
        d.send_message({**request, "id": "after"})
        equal(d.receive_message()["id"], "after")


def test_a_program_is_one_round_trip(f):
    with f.connect() as d:
        program = dict(
            steps=[{"op": "aten::mul.Tensor", "args": [{"ref": "x"}, 2], "as": ["y"]},
                   {"op": "aten::add.Tensor", "args": [{"ref": "y"}, {"ref": "x"}], "as": ["z"]}],
            inputs={"x": {"data": [1, 2]}}, outputs=["z"])
        out, = d.call("program.run", **program, **DATA)["outputs"]
        equal(out["data"], [3, 6])
        program["steps"][1]["args"] = [{"ref": "y"}, {"data": [[1], [2], [3]]}]
        program["steps"].append({"op": "aten::mm", "args": [{"ref": "z"}, {"ref": "y"}], "as": ["w"]})
        e = raises(lambda: d.call("program.run", **program), "RuntimeError")
        equal(e.data.get("step"), 2)
        equal(d.call("tensor.list")["tensors"], [], "a failed program leaves no tensors")


def test_errors_name_both_sides(f):
    with f.connect() as d:
        raises(lambda: d.op("aten::ad.Tensor", 1, 2), "NotFound", "aten::ad.Tensor", "aten::add.Tensor")
        raises(lambda: d.op("aten::mm", {"data": [[1, 2]]}, {"data": [[1, 2, 3]]}), "RuntimeError",
               "1x2", "1x3")
        raises(lambda: d.op("aten::add.Tensor", {"data": [1, 2]}, {"data": [1, 2, 3]}),
               "RuntimeError", "2", "3")
        e = raises(lambda: d.op("aten::add", "one", "two"), "TypeError", "add.Tensor")
        equal(e.code, -32000)
        raises(lambda: d.op("aten::relu", {"tensor": 999999}), "NotFound", "999999")
        e = raises(lambda: d.call("server.status", verbose=True), "InvalidParams", "verbose")
        equal(e.code, -32602)
        raises(lambda: d.call("server.stat"), "MethodNotFound", "server.stat")
        equal(d.op("aten::relu", {"data": [-1, 1]}, returns="data")["data"], [0, 1], "still served")


def test_garbage_is_answered_and_the_connection_lives(f):
    bad = [b"{", b"nonsense", b'{"jsonrpc":"2.0","id":1,"method":"server.status"', b"\xff\xfe",
           b"[]", b"3", b'{"a":' * 500 + b"1" + b"}" * 500,
           b'{"jsonrpc":"2.0","id":1,"id":2,"method":"server.status"}',
           b'{"jsonrpc":"2.0","id":1,"method":"server.status","params":{}} x',
           b'{"jsonrpc":"2.0","id":1,"method":"op.call","params":{"op":"a\\u0000b"}}',
           b'{"jsonrpc":"2.0","id":1,"method":"op.call","params":{"op":"aten::neg","args":[1e999]}}']
    with f.connect() as d:
        for line in bad:
            d.send_bytes(line + b"\n")
            equal("error" in d.receive_message(), True, f"error for {line[:60]!r}")
        equal(d.call("registry.check")["ok"], True)


def test_half_a_message_holds_nobody_up(f):
    with f.connect() as silent, f.connect() as d:
        silent.send_bytes(b'{"jsonrpc":"2.0","id":1,"meth')
        equal(d.call("registry.check")["ok"], True)


def test_sessions_are_apart(f):
    with f.connect() as a, f.connect() as b:
        x = a.call("tensor.create", data=[1, 2, 3])
        raises(lambda: b.call("tensor.read", tensor=x["tensor"]), "NotFound", str(x["tensor"]))
        b.call("server.hello", session_key=a.call("server.hello")["session_key"])
        equal(b.call("tensor.read", tensor=x["tensor"])["data"], [1, 2, 3])
        a.release(x)
    with f.connect() as d:
        raises(lambda: d.call("server.hello", session_key="0" * 32), "NotFound")


def test_a_second_daemon_finds_the_socket_taken(f):
    done = subprocess.run([os.path.join(BUILD, "dispatchd"), "--socket", f.socket],
                          capture_output=True, text=True, timeout=60)
    equal(done.returncode != 0, True, "it refuses to start")
    contains(done.stderr, str(f.pid))
    with f.connect() as d:
        equal(d.call("server.hello")["pid"], f.pid)


def test_a_dead_daemons_socket_is_replaced(f):
    path = os.path.join(f.dir, "dead.sock")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)
    second = TestDaemon(socket=path)
    with second.connect() as d:
        equal(d.call("server.hello")["pid"], second.pid)
    second.finish()


def test_shutdown_lets_calls_finish(f):
    second = TestDaemon()
    with second.connect() as d:
        for i in range(20):
            d.send("op.call", op="aten::add.Tensor", args=[{"data": [i]}, 0], **DATA)
        d.send("server.shutdown", drain_ms=5000)
        equal([d.receive()["outputs"][0]["data"][0] for _ in range(20)], list(range(20)))
        d.receive()
    second.process.wait(60)
    second.stop()


def test_the_demo(f):
    done = subprocess.run(["sh", os.path.join(ROOT, "clients", "demo", "demo.sh")], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                          env={**os.environ, "BUILD": BUILD})
    equal(done.returncode, 0, done.stdout)
    contains(done.stdout, "354 of 360 right")


main(TestDaemon, TestDaemon.finish)
