"""seeds.py -- writes the inputs and words with which the fuzzers start, made from the data of the repository."""

import glob
import json
import os
import re
import struct

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LARGE = 16 << 10  # no longer inputs: most of their bytes are elements
DTYPES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1, "C64": 8}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def request(method, params, **members):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params, **members}).encode() + b"\n"


# -- requests: the examples of the protocol, and calls of the operators of served.h ----------------

def examples():
    for path in sorted(glob.glob(os.path.join(ROOT, "proto", "examples", "*.json"))):
        with open(path, "rb") as f:
            yield f.read().rstrip(b"\n") + b"\n"


def literals():
    """Tensor literals whose elements are in the request."""
    yield from ({"data": [[1, 2.5], [3, {"float": "nan"}]]}, {"data": [True, False]}, {"data": 7, "dtype": "int8"},
                {"dtype": "int64", "data": [1, "9223372036854775807"]}, {"dtype": "complex64", "data": [[1, 2]]},
                {"dtype": "float16", "shape": [2, 2], "data": [[1, 2], [3, 4]], "strides": [1, 2]},
                {"dtype": "float32", "shape": [0, 3], "data": []}, {"shape": [2], "strides": [0], "data": [5]},
                {"shape": [2], "storage_offset": 1, "data": [1, 2, 3]}, {"dtype": "bfloat16", "data": ["-inf", 1e30]})


def calls():
    """(method, params) for the operators of served.h and for every method that changes something."""
    x = {"data": [1, 2]}
    for one in literals():
        yield "op.call", {"op": "t::tensor", "args": [one], "return": "data"}
        yield "tensor.create", one
    yield from (
        ("op.call", {"op": "t::tensors", "args": [[x, {"tensor": 1}], [None, x]]}),
        ("op.call", {"op": "t::int", "args": [{"int": "-9223372036854775808"}, 2, [1, 2], 3, None], "trace": True}),
        ("op.call", {"op": "t::float", "args": [{"float": "inf"}], "kwargs": {"y": [1.5, 2], "z": None}}),
        ("op.call", {"op": "t::bool", "args": [True, None, [True, False, True]]}),
        ("op.call", {"op": "t::scalar", "args": [{"complex": [1, -2]}, [1, 2.5, True]]}),
        ("op.call", {"op": "t::str", "args": ["\u00e9\\", "x", ["a", "b"]]}),
        ("op.call", {"op": "t::ints", "args": [[1, 2, 3]], "timing": True}),
        ("op.call", {"op": "t::options", "args": [x], "kwargs": {
            "dtype": "float64", "layout": "strided", "device": "cpu", "pin_memory": False,
            "memory_format": "channels_last", "generator": {"generator": 1}}}),
        ("op.call", {"op": "t::fill_", "args": [{"tensor": 1}, 3], "into": [-1]}),
        ("op.call", {"op": "t::sum", "args": [x], "deadline_ms": 1000, "grad_enabled": False}),
        ("op.call", {"op": "t::over", "args": [2.5]}),
        ("registry.explain", {"op": "t::tensor", "args": [x]}), ("registry.describe", {"op": "t::sum_once"}),
        ("registry.table", {"ops": ["t::tensor"], "keys": ["CPU"], "with": [{"op": "t::tensor", "key": "CPU"}]}),
        ("registry.list", {"namespace": "t", "match": "s*"}), ("registry.watch", {"enabled": True}),
        ("program.run", {"steps": [{"op": "t::tensor", "args": [x], "as": ["a"]},
                                   {"op": "t::tensors", "args": [[{"ref": "a"}, {"ref": "a"}]], "as": ["b"]},
                                   {"get": "sizes", "args": [{"ref": "a"}], "as": ["c"]}], "outputs": ["b", "c"]}),
        ("program.create", {"inputs": [{"name": "i", "type": "Tensor"}], "constants": {"k": x},
                            "steps": [{"op": "t::tensor", "args": [{"ref": "i"}, {"ref": "k"}], "as": ["o"]}],
                            "outputs": ["o"]}),
        ("program.run", {"program": 1, "inputs": {"i": {"tensor": 1}}}),
        ("program.describe", {"program": 1}), ("program.release", {"programs": [1]}),
        ("tensor.read", {"tensor": 1}), ("tensor.read", {"tensor": 1, "as": "attachment"}),
        ("tensor.read", {"tensor": 1, "as": "fd"}), ("tensor.name", {"tensor": 1, "name": "n"}),
        ("tensor.open", {"name": "n", "into": -3}), ("tensor.names", {}), ("tensor.unlink", {"name": "n"}),
        ("tensor.release", {"tensors": [1], "all": True}), ("generator.create", {"seed": 3, "device": "cpu"}),
        ("generator.state", {"generator": 1}), ("session.set", {"grad_enabled": False, "include": ["Meta"],
                                                                "num_threads": 1, "share_from": 4096}),
        ("session.get", {}), ("session.sync", {}), ("session.list", {}), ("map.release", {"maps": [1]}),
        ("grad.backward", {"tensors": [1]}), ("grad.graph", {"tensor": 1}), ("call.cancel", {"id": 1}),
        ("server.shutdown", {"drain_ms": 0}))


def sample(schema, depth=0):
    """A value of the kind that a schema of proto describes."""
    if "$ref" in schema:
        return sample(json.loads(read("proto", "types", schema["$ref"] + ".json")), depth + 1)
    if "enum" in schema:
        return schema["enum"][0]
    for choice in schema.get("oneOf", []):
        if choice.get("type") == "object":
            return sample(choice, depth + 1)
    kind = schema.get("type", "null")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {k: sample(v, depth + 1) for k, v in schema.get("properties", {}).items() if depth < 4}
    if kind == "array":
        return [sample(schema.get("items", {}), depth + 1)] if depth < 4 else []
    return {"integer": max(1, schema.get("minimum", 1)), "number": 1.5, "string": "x", "boolean": True}.get(kind)


def methods():
    """A request of each method with all of its params, and with those alone that it needs."""
    for path in sorted(glob.glob(os.path.join(ROOT, "proto", "methods", "*.json"))):
        name, schema = os.path.basename(path)[:-5], json.loads(read(path)).get("params", {})
        params = sample(schema)
        yield name, params or {}
        yield name, {k: params[k] for k in schema.get("required", [])}


def attached():
    """Requests with attachments."""
    yield request("tensor.create", {"dtype": "int16", "shape": [2], "attachment": 0}, attachments=[4]) + b"\1\2\3\n"
    yield request("op.call", {"op": "t::tensors", "args": [[{"dtype": "uint8", "shape": [n], "attachment": i}
                                                            for i, n in enumerate((3, 0))]]},
                  attachments=[3, 0]) + b"\xff\xff{\n"


def requests():
    yield from examples()
    yield from attached()
    made = [request(*c) for c in (*calls(), *methods())]
    yield from made
    create = request("tensor.create", {"data": [[1, 2], [3, 4]]})
    yield from (create + one for one in made)
    yield from (create + b"".join(made[i:i + 4]) for i in range(0, len(made), 3))
    yield b"[" + b",".join(one.strip() for one in made[10:16]) + b"]\n"


def failing():
    """Requests as above, and others of which one allocation fails."""
    yield from requests()
    create = request("tensor.create", {"data": [[1, 2], [3, 4]]})
    for i, one in enumerate((*calls(), *methods())):
        yield create + bytes([ord("!"), i % 9 + 1]) + request(*one) + bytes([ord("!"), i % 30 + 11]) + request(*one)


def pieces():
    """Streams for stream.h: requests as they are, cut in pieces, and all together."""
    for one in requests():
        yield one.replace(b"\xff", b"\xff\xff")
    for one in attached():
        yield b"\xffs".join(one[i:i + 9].replace(b"\xff", b"\xff\xff") for i in range(0, len(one), 9))
    many = b"".join(request("tensor.read", {"tensor": 1, "as": "attachment"}) for _ in range(12))
    yield request("tensor.create", {"dtype": "uint8", "shape": [999], "strides": [0], "data": [1]}) + many + b"\xffr\xffh"
    yield b"".join(request("session.sync", {}) for _ in range(9)) + b"\xffx."
    yield request("session.sync", {}) + b"\xffs\xffu\xffs" + request("session.sync", {})
    yield b'{"jsonrpc":"2.0","id":1,"method":"session.sync"' + b" " * 1024 + b"\xffs}\n" + request("session.get", {})


def file(kind, size):
    return b"\xfff" + struct.pack("<BH", kind, size)


def passed():
    """Streams of descriptor.c: literals in files of every kind, maps, and files of tensors."""
    whole = {"dtype": "float32", "shape": [2, 3], "fd": 0, "offset": 64}
    for kind in range(16):
        yield file(kind, 4096) + request("tensor.create", whole, fds=1)
        yield file(kind, 88) + request("op.call", {"op": "t::sum", "args": [whole]}, fds=1)
        yield file(kind, 32768 + 16) + request("store.load", {"fd": 0}, fds=1)
        yield file(kind, 0) + request("tensor.create", {"data": [1]}, fds=1) + b"\xffs" + file(kind, 1) + b"\n"
    once = request("op.call", {"op": "t::sum_once", "args": [whole]}, fds=1)
    for change in (b"\xfft\0\0", b"\xffp", b"\xffw\x07", b"\xffe\x0f"):
        yield file(0, 4096) + once + b"\xffs" + change + request("op.call", {
            "op": "t::sum_once", "args": [{"dtype": "int8", "shape": [4096], "map": 1}]})
    yield file(1, 4096) + request("tensor.create", whole, fds=1) + b"\xffs" + request("tensor.create", {
        "dtype": "int64", "shape": [2, 2], "map": 1, "offset": 8, "strides": [3, 1], "storage_offset": 1}) + request(
            "tensor.read", {"tensor": 2, "as": "fd"}) + request("map.release", {"maps": [1]}) + b"\xffr"
    yield file(2, 4096) + file(2, 8192) + request("op.call", {"op": "t::tensors", "args": [
        [whole, {"dtype": "uint8", "shape": [8192], "fd": 1}]]}, fds=2) + request(
            "op.call", {"op": "t::fill_", "args": [{"tensor": 1}, 2]})
    save = request("store.save", {"fd": 0, "tensors": {"a": 1}, "metadata": {"k": "v"}}, fds=1)
    yield request("tensor.create", {"data": [1, 2, 3]}) + file(4, 9) + save + request("store.stats", {})
    yield file(0, 16) * 18 + request("session.get", {}, fds=16)
    yield file(1, 64) + b'{"jsonrpc":"2.0",\xffs"id":1,"method":"tensor.create","fds":1,\xffs' + (
        b'"params":{"dtype":"int32","shape":[4],"fd":0}}\n')


# -- files ---------------------------------------------------------------------------------------

def schemas():
    for line in re.findall(r"^- func: (.*)$", read("proto", "ops", "native_functions.yaml"), re.M):
        yield line.strip("'\"").encode()
    yield from (b"t::f(int[2][] a=[[1, 2]], Dict(str, Tensor?) d, (int, float)[] p, Future(int) q, t x) -> ...",
                b"f(Tensor(a -> *) x, Tensor(b|c!)[] y, str s='\\n\\x41', ...) -> (Tensor(a), int r)",
                b"aten::g.out(__torch__.torch.classes.q.C c, Tensor! x, Scalar s=1j, float f=-inf) -> ()", b"t::h.o")


def tensor_file(tensors, metadata=None, more=b""):
    """A file of tensors: {name: (dtype, shape)}."""
    header, at = {} if metadata is None else {"__metadata__": metadata}, 0
    for name, (dtype, shape) in tensors.items():
        end = at + DTYPES[dtype]
        for size in shape:
            end = at + (end - at) * size
        header[name], at = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}, end
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(i & 1 for i in range(at)) + more


def tensor_files():
    yield tensor_file({})
    yield tensor_file({}, {"k": "v", "\u00e9": "\n"})
    yield tensor_file({"a": ("F32", [])}, {})
    yield tensor_file({dtype: (dtype, [2, 3]) for dtype in DTYPES}, {"format": "pt"})
    yield tensor_file({"none": ("I8", [0, 3]), "one": ("BOOL", [1, 1, 1]), "\u00e9\"": ("C64", [2])})
    yield tensor_file({str(i): ("U8", [i]) for i in range(40)})
    yield tensor_file({"a": ("F32", [4])}, more=b"\0")
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "data", "*.safetensors"))):
        with open(path, "rb") as f:  # the real header, of tensors that are not there
            text = f.read(LARGE)
            yield text[:8 + struct.unpack("<Q", text[:8])[0]]


def option_names():
    """Names of the options of the command line and of the limits."""
    options = re.findall(r'^    \{"([a-z-]+)", [A-Z]+,', read("daemon", "options.c"), re.M)
    limits = re.findall(r"^    X\([A-Z_]+, ([a-z_]+),", read("daemon", "daemon.h"), re.M)
    assert len(options) > 20 and len(limits) > 50, (options, limits)
    return options, limits


def configs():
    options, limits = option_names()
    yield b"# a comment\n\n  socket = /run/a b.sock \r\n\tworkers=3\nmode = 0660\nplugin = a\nplugin = b\nallow-uid = 7\n"
    yield "".join(f"{name} = 16\n" for name in limits).encode()
    for value in ("17", "2 KiB", "5 s", "true", "json", "debug", "/a:/b", "0777", "99999999999999999999", "3 min"):
        yield "".join(f"{name} = {value}\n" for name in options[1:]).encode()
        yield from (f"{name} = {value}\n".encode() for name in options + limits)


def plugins(folder):
    """The files that the Makefile has built in `folder`."""
    for path in sorted(glob.glob(os.path.join(folder, "*.so"))):
        with open(path, "rb") as f:
            yield f.read()


# -- words -----------------------------------------------------------------------------------------

def names_in(value):
    """All keys and words of the JSON files of proto."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key not in ("description", "summary"):
                yield key
                yield from names_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from names_in(one)
    elif isinstance(value, str):
        yield value


def protocol_words():
    words = {os.path.basename(p)[:-5] for p in glob.glob(os.path.join(ROOT, "proto", "methods", "*.json"))}
    for path in glob.glob(os.path.join(ROOT, "proto", "*", "*.json")):
        if "examples" not in path:
            words |= set(names_in(json.loads(read(path))))
    words |= {"int", "float", "complex", "nan", "inf", "-inf", "fds", "attachments", "jsonrpc", "2.0", "CPU", "Meta",
              "cpu", "meta", "strided", "channels_last"} | {f"t::{name}" for name in re.findall(
                  r'SERVED_DEF\("([\w.]+)\(', read("tests", "fuzz", "served.h"))}
    return sorted(f'"{w}"' for w in words if re.fullmatch(r"[\w.:-]{1,40}", w))


WORDS = {
    "schema": ["Tensor", "Tensor?", "Tensor[]", "int[2]", "SymInt", "float", "bool", "str", "Scalar", "ScalarType",
               "Layout", "MemoryFormat", "Device", "Generator", "Dict(", "Future(", "RRef(", "Await(", "complex", "number",
               "Storage", "Stream", "QScheme", "Any", "__torch__.torch.classes.", "(a!)", "(a -> *)", "(a|b)", "None",
               "True", "False", "contiguous_format", "inf", "nan", "-> ", "...", "*, ", "::", "=[]", "out"],
    "elf": ["DISP\0", "\5\0\0\0", "plugin\t2.0-draft", "\t0\t", "library\t", "impl\t", "fallback\t", "backend\t", "def\t",
            "fallthrough\t", "formula\t", "\t1\n"],
    "safetensors": ['"__metadata__"', '"dtype"', '"shape"', '"data_offsets"', "[0,0]", "[]", '{"'] + [
        f'"{d}"' for d in DTYPES],
}


def words_of(name):
    if name == "config":
        options, limits = option_names()
        return options + limits + [" KiB", " MiB", " GiB", " ms", " s", " min", " h", "true", "false", "text", "json"]
    found = list(WORDS.get(name, [])) or protocol_words()
    if name in ("socket", "descriptor"):
        found += ["\xffs", "\xffr", "\xffh", "\xffx", "\xffu"]
    return found + (["\xfff", "\xfft", "\xffp", "\xffe", "\xffw"] if name == "descriptor" else [])


def write(name, folder, built):
    """Write the inputs of fuzzer `name` into `folder`/seeds and its words into `folder`/words; returns both paths."""
    inputs = {"request": failing, "socket": pieces, "descriptor": passed, "schema": schemas,
              "safetensors": tensor_files, "config": configs, "elf": lambda: plugins(built)}[name]
    seeds, words = os.path.join(folder, "seeds"), os.path.join(folder, "words")
    os.makedirs(seeds, exist_ok=True)
    for i, one in enumerate(inputs()):
        with open(os.path.join(seeds, f"{i:04}"), "wb") as f:
            f.write(one)
    with open(words, "w", encoding="ascii") as f:
        for word in words_of(name):
            f.write('"%s"\n' % "".join(f"\\x{byte:02x}" for byte in word.encode("latin-1")))
    return seeds, words
