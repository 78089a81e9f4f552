"""error_texts.py [PATTERN] -- print every distinct error text that wrong calls and wrong requests get, for reading.

Each text must say what was wrong, the value got and the value wanted, and name dtypes, keys and operators by name.
The wrong calls: each recorded call of an overload (tests/data/calls.jsonl) with one argument at a time replaced by
others, left out or added, and those that PyTorch refuses (refused_calls.jsonl).  The wrong requests: each method with
one param at a time replaced, left out or added, proto/examples/n_*.json, and the plugins of tests/plugins.  Texts that
differ only in names and numbers are one, printed with its type, the number of calls, and one of them.  PATTERN, a
regular expression, narrows the texts to those that match, or whose operator or method does."""

import collections
import glob
import json
import os
import re
import sys

from harness import BUILD, ROOT
from daemon import TestDaemon
from recorded import Recorded, decoded, fitted, is_literal, literals
import dispatchd

TEST_PLUGINS = os.path.join(BUILD, "tests", "plugins")
DATA = os.path.join(ROOT, "tests", "data")
DEADLINE_MS = 2000
SHOWN = 500  # characters of a text that are printed
# What takes the place of a tensor.
TENSORS = [{"data": [1, 0, 1]}, {"data": [[0.5, -1, 2, 3, 4], [5, 6, 7, 8, 9], [1, 1, 1, 1, 1]]}, {"shape": [0], "data": []}, {"data": [[[[[[2]]]]]]},
           {"dtype": "bool", "data": [[True, False], [False, True]]}, {"dtype": "int64", "data": [[1, -2], [300, 4]]},
           {"dtype": "complex64", "data": [[[1, 2], [3, 4]]]}, {"dtype": "float16", "data": [[1, 2], [3, 4]]},
           {"dtype": "quint8", "data": [1, 2]}, {"shape": [2, 2], "device": "meta"}, None, 3, "text", []]
# What takes the place of anything else, by what it was.
OTHERS = {bool: [None, 7, "text"], int: [-1000, 1000, 2.5, "text", None, [1, 2]], float: [-1, {"float": "nan"}, "text", None, {"complex": [1, 2]}],
          str: ["nonsense", 7, None], list: [[], [-1000], [1000] * 9, 3, "text", None], type(None): [-1000, "text", {"data": [[1, 2, 3]]}, [5]],
          dict: ["text", None, [1], {"complex": [0, 1]}]}


def choices(v):
    return TENSORS if is_literal(v) or isinstance(v, list) and any(map(is_literal, v)) else OTHERS[type(v)]


def plain(v):
    """The argument without what tests keep beside a tensor literal."""
    if is_literal(v):
        return {k: x for k, x in v.items() if k != "one"}
    return [plain(x) for x in v] if isinstance(v, list) else v


def changed(args, kwargs):
    """(args, kwargs) with one argument replaced, left out or added."""
    for i, v in enumerate(args):
        for other in choices(v):
            yield args[:i] + [other] + args[i + 1:], kwargs
        for path in list(literals(v))[:2] if isinstance(v, list) else ():
            for other in TENSORS:
                yield args[:i] + [[other if (k,) == path else x for k, x in enumerate(v)]] + args[i + 1:], kwargs
    for name, v in kwargs.items():
        for other in choices(v):
            yield args, {**kwargs, name: other}
        yield args, {k: x for k, x in kwargs.items() if k != name}
    yield args[:-1], kwargs
    yield args + [1], kwargs
    yield args, {**kwargs, "nonsense": 1}


def wrong_calls(client):
    """(operator, params of op.call) of all overloads, and of names that several overloads have."""
    recorded, short = Recorded(), set()
    ops = client.call("registry.list", namespace="aten")["ops"]
    for op, schema in [(op, client.call("registry.describe", op=op)["schema"] or "") for op in ops]:
        if not schema:
            continue
        args, kwargs = recorded.call(op, schema) if op in recorded.calls else fitted(schema)
        for name in [op] + [op.split(".")[0]] * (op.split(".")[0] not in short):
            for a, k in changed(args, kwargs):
                yield name, {"op": name, "args": plain(a), "kwargs": {n: plain(v) for n, v in k.items()}, "deadline_ms": DEADLINE_MS}
        short.add(op.split(".")[0])
    with open(os.path.join(DATA, "refused_calls.jsonl"), encoding="utf-8") as f:
        for c in map(json.loads, f):
            yield c["op"], {"op": c["op"], "args": [plain(decoded(v, c["tensors"])) for v in c["args"]],
                            "kwargs": {k: plain(decoded(v, c["tensors"])) for k, v in c["kwargs"].items()}}


# -- requests --

PARAMS = {"op": "aten::neg", "args": [{"data": [1]}], "path": "template.so", "plugin": "template", "tensor": 1, "tensors": [1], "generator": 1,
          "generators": [1], "program": 1, "id": 1, "inputs": {}, "steps": [{"op": "aten::neg", "args": [{"ref": "x"}], "as": ["y"]}], "outputs": ["y"],
          "state": {"dtype": "uint8", "data": [1, 2]}, "objects": [1], "key": "CPU", "keys": ["CPU"], "data": [1, 2]}
VALUES = [None, True, -1, 1.5, 10**12, "nonsense", [], ["nonsense"], [99], {}, {"nonsense": 1}, [[1], [1, 2]], [{"op": "aten::neg"}]]


def wrong_requests():
    for path in sorted(glob.glob(os.path.join(ROOT, "proto", "methods", "*.json"))):
        method = os.path.basename(path)[:-len(".json")]
        with open(path, encoding="utf-8") as f:
            params = json.load(f)["params"]
        if method == "server.shutdown":  # accepted, it would end the daemon
            continue
        given = {name: PARAMS[name] for name in params["properties"] if name in params.get("required", []) and name in PARAMS}
        yield method, {**given, "nonsense": 1}
        for name in params["properties"]:
            yield method, {k: v for k, v in given.items() if k != name}
            for value in VALUES:
                yield method, {**given, name: value}
    for name, inputs in (("x", {"x": 1}), ("x", {}), ("x", {"z": 1})):
        for step in ({"op": "aten::neg"}, {"op": "aten::neg", "args": [{"ref": "q"}]}, {"op": "aten::nog", "args": [{"ref": name}]}, {"get": "colour", "args": [{"ref": name}]},
                     {"cond": "x"}, {"while": "x"}, {"program": 9}, {"op": "aten::neg", "args": [{"ref": name}], "as": ["a", "b"]},
                     {"op": "aten::neg", "args": [{"ref": name}], "as": ["x"]}, {"op": "aten::neg", "args": [{"ref": name, "index": 4}], "as": ["y"]},
                     {"op": "aten::split.Tensor", "args": [{"data": [1, 2]}, 1], "as": ["y"]}, {"op": "aten::neg", "args": [{"ref": name}], "as": [""]}):
            yield "program.run", {"steps": [step], "outputs": ["y"], "inputs": inputs}
            yield "program.create", {"steps": [step], "outputs": ["y"], "inputs": [{"name": "x", "type": "Tensor"}, *([{"name": "x"}] if not inputs else [])]}
        yield "program.create", {"steps": [], "outputs": [], "inputs": [{"name": "x", "type": "Tensr"}]}
    for value in (dict(include=["CPUU"]), dict(exclude=["npu"]), dict(seed="x"), dict(num_threads=10**6), dict(autocast={"enabled": True}), dict(fallback="x")):
        yield "session.set", value
    for literal in (dict(dtype="int32", data=[1.5]), dict(data=[[1], [1, 2]]), dict(dtype="uint8", data=[300]), dict(shape=[3], data=[1]), dict(strides=[1], data=[1]),
                    dict(data=[1], device="npu"), dict(data=[1], device="cuda:1"), dict(data=["x"]), dict(dtype="complex64", data=[1]), dict(shape=[2], strides=[1, 1], data=[1]),
                    dict(shape=[9], strides=[9], data=[1]), dict(shape=[1], storage_offset=9, data=[1]), dict(attachment=3), dict(attachment=3, dtype="int8", shape=[1]), {},
                    dict(data=[1], names=["x"]), dict(dtype="float8", data=[1])):
        yield "tensor.create", literal


def kind_of(text):
    """The text without what differs from call to call: names, numbers, lists, and the candidates after a line's end."""
    text = re.sub(r"no overload takes \(.*\);", "no overload takes ();", text.split("\n")[0])
    text = re.sub(r"^[a-z_]+(\[\d+\]|\.\w+)*: ", "PATH: ", text)
    text = re.sub(r"argument '\w+'( \(position \d+\))? must be \S+, not .*", "argument '' must be T, not T", text)
    text = re.sub(r"(aten|[a-z_]+)::[\w.]+(\([^)]*\))?", "OP", text)
    text = re.sub(r"'[^']*'", "''", text)
    text = re.sub(r"\b(float16|float32|float64|bfloat16|complex64|complex128|u?int\d+|quint8|bool|Half|BFloat16|Float|Double|Long|Int|Bool|ComplexFloat)\b", "DTYPE", text)
    text = re.sub(r"\[[^\[\]]*\]", "[]", text)
    text = re.sub(r"\b[a-z]\w*_\w+\b|'\w+'", "name", text)
    return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "N", text)


def ask(client, requests, found):
    """Send the requests, many before their answers are read; note (source, type, text) of each error."""
    waiting = collections.deque()
    for i, (source, method, params) in enumerate(requests):
        client.send(method, **params)
        waiting.append(source)
        if i % 100 == 99:  # what succeeded after all
            client.send("tensor.release", all=True)
            waiting.append("")
        while len(waiting) >= 20:
            take(client, waiting.popleft(), found)
    while waiting:
        take(client, waiting.popleft(), found)


def note(found, source, type_, text):
    found[type_, kind_of(text)].append((source, text))


def take(client, source, found):
    try:
        client.receive()
    except dispatchd.Error as e:
        note(found, source, e.type, e.message)


def load_plugins(client, found):
    """Load and unload every plugin of tests/plugins, most of which are wrong on purpose."""
    for path in sorted(glob.glob(os.path.join(TEST_PLUGINS, "*.so"))):
        name = os.path.basename(path)[:-len(".so")]
        for method, params in (("plugin.load", {"path": path}), ("plugin.load", {"path": path}), ("plugin.unload", {"plugin": name, "timeout_ms": 100})):
            try:
                client.call(method, **params)
            except dispatchd.Error as e:
                note(found, name, e.type, e.message)


def main():
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    found = collections.defaultdict(list)
    with TestDaemon("--plugin-path", f"{os.path.join(BUILD, 'plugins')}:{TEST_PLUGINS}") as daemon:
        with daemon.connect() as client:
            ask(client, ((op, "op.call", p) for op, p in wrong_calls(client)), found)
            client.call("tensor.release", all=True)
        with daemon.connect() as client:
            ask(client, ((m, m, p) for m, p in wrong_requests()), found)
            for path in sorted(glob.glob(os.path.join(ROOT, "proto", "examples", "n_*.json"))):
                with open(path, "rb") as f:
                    client.send_bytes(f.read().rstrip(b"\n") + b"\n")
                e = client.receive_message()["error"]
                note(found, os.path.basename(path), e.get("data", {}).get("type", str(e["code"])), e["message"])
            client.call("tensor.release", all=True)
            client.call("object.release", all=True)
    daemon = TestDaemon()
    with daemon.connect() as client:
        load_plugins(client, found)
    daemon.stop()
    shown = 0
    for (type_, _), texts in sorted(found.items()):
        source, text = texts[0]
        if pattern.search(source) or pattern.search(text):
            shown += 1
            print(f"{type_} {len(texts)} [{source}] {text}".replace("\n", " | ")[:SHOWN])
    print(f"{shown} distinct texts of {sum(map(len, found.values()))} errors")


if __name__ == "__main__":
    main()
