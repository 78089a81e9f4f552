"""test_rooms.py -- the sources keep to their rooms, and ARCHITECTURE.md speaks of things that exist."""

import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BUILD, ROOT, equal, less, main

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
PUBLIC = "libdispatch/include/dispatchd"
BASE, TENSOR, DISPATCH = "libdispatch/base", "libdispatch/tensor", "libdispatch/dispatch/"
LIBRARIES = re.compile(r"uv\.h|uv/|cjson/|cblas|lapack|check\.h")

# room: (rooms whose headers it may include, headers of other libraries it may include).  A room is a
# folder, or one header that lies below others of its folder.  What is generated at build time lies
# in no room.
ROOMS = {
    PUBLIC: ((), ()),
    "libdispatch/base": ((PUBLIC,), ()),
    "libdispatch/tensor": ((PUBLIC, "libdispatch/base"), ()),
    "libdispatch/dispatch/schema": ((PUBLIC, BASE), ()),
    "libdispatch/dispatch/registry": ((PUBLIC, BASE, TENSOR, DISPATCH + "schema"), ()),
    "libdispatch/dispatch/call": ((PUBLIC, BASE, TENSOR, DISPATCH + "registry", DISPATCH + "schema"),
                                  ()),
    "libdispatch/dispatch/plugin": ((PUBLIC, BASE, TENSOR, DISPATCH + "call", DISPATCH + "registry",
                                     DISPATCH + "schema"), ()),
    "libdispatch/dispatch/ask": ((PUBLIC, BASE, TENSOR, DISPATCH + "plugin", DISPATCH + "call",
                                  DISPATCH + "registry", DISPATCH + "schema"), ()),
    "libdispatch/program": ((PUBLIC, BASE, TENSOR, DISPATCH + "registry", DISPATCH + "call",
                             DISPATCH + "schema"), ()),
    "daemon/daemon.h": ((PUBLIC,), ()),
    "daemon/json": ((PUBLIC, "daemon/daemon.h"), ("cjson/cJSON.h",)),
    "daemon/request.h": ((PUBLIC, "daemon/daemon.h", "daemon/json"), ()),
    "daemon/methods": ((PUBLIC, "daemon/daemon.h", "daemon/json", "daemon/request.h"), ()),
    "daemon": ((PUBLIC, "daemon/daemon.h", "daemon/json", "daemon/request.h", "daemon/methods"),
               ("uv.h",)),
    "plugins": ((PUBLIC,), ("cblas.h",)),
    "clients/c": ((), ("cjson/cJSON.h",)),
    "clients/cli": (("clients/c",), ("cjson/cJSON.h",)),
    "clients/demo": ((PUBLIC,), ()),
}
PLUGIN_HEADERS = ("dispatchd/plugin.h", "dispatchd/check.h", "dispatchd/dtypes.h", "dispatchd/isa.h")
USES_LIBUV = {"connection.c", "executor.c", "server.c", "server.h"}


def sources(folder):
    """Paths of the C sources and headers below a folder, from the root."""
    for path, _, names in os.walk(os.path.join(ROOT, folder)):
        for name in names:
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(path, name), ROOT)


def text(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def room_of(path):
    fits = [room for room in ROOMS if path == room or path.startswith(room + "/")]
    return max(fits, key=len, default=None)


def included(path):
    """[(name as spelled, its path from the root; None where it is not ours)]"""
    places = [os.path.dirname(path), "libdispatch/include", "libdispatch", "daemon", "clients/c"]
    for quote, name in INCLUDE.findall(text(path)):
        found = (os.path.normpath(os.path.join(place, name))
                 for place in (places if quote == '"' else places[1:2]))
        yield name, next((p for p in found if os.path.exists(os.path.join(ROOT, p))), None)


def faults(path):
    room = room_of(path)
    rooms, libraries = ROOMS[room]
    for name, file in included(path):
        if file is None and LIBRARIES.match(name) and name not in libraries:
            yield f"{path} includes {name}"
        if file is not None and room_of(file) not in (room, *rooms):
            yield f"{path} includes {file}"


def test_every_source_includes_only_what_its_room_may():
    paths = [p for folder in ("libdispatch", "daemon", "plugins", "clients") for p in sources(folder)]
    less(80, len(paths), "sources")
    equal([p for p in paths if room_of(p) is None], [], "sources outside every room")
    equal([fault for p in sorted(paths) for fault in faults(p)], [], "includes across rooms")


def test_a_plugin_includes_headers_for_plugins_alone():
    wrong = [(p, name) for p in sources("plugins") for name, file in included(p)
             if file is not None and room_of(file) == PUBLIC and name not in PLUGIN_HEADERS]
    equal(wrong, [], "public headers that plugins include")


def test_only_the_loops_files_know_libuv():
    knows = {os.path.basename(p) for p in sources("daemon")
             if re.search(r"\buv_\w", COMMENT.sub("", text(p)))}
    equal(knows, USES_LIBUV, "files of the daemon that name libuv")


def test_only_the_envelope_knows_the_words_of_json_rpc():
    wrong = [p for p in sources("daemon") if p != "daemon/methods/envelope.c"
             and re.search(r'"(jsonrpc|2\.0|method|result)"', COMMENT.sub("", text(p)))]
    equal(wrong, [], "files of the daemon that spell a member of a JSON-RPC message")
    wrong = [p for p in glob.glob("daemon/*.c", root_dir=ROOT) if '"id"' in text(p)]
    equal(wrong, [], "files around the methods that spell a request's id")


def uses(folder):
    """{source: the sources of this folder that define a symbol it needs}, from the built objects"""
    objects = glob.glob(f"{folder}/**/*.o", root_dir=BUILD, recursive=True)
    objects = [o for o in objects if os.path.exists(os.path.join(ROOT, o[:-2] + ".c"))]
    listed = subprocess.run(["nm", "-A", *objects], cwd=BUILD, capture_output=True, text=True,
                            check=True).stdout if objects else ""
    home, needs = {}, {o[:-2] + ".c": set() for o in objects}
    for source, kind, symbol in re.findall(r"^(.*)\.o:[0-9a-f ]* (\w) (.+)$", listed, re.M):
        if kind in "TDBR":
            home[symbol] = source + ".c"
        elif kind == "U":
            needs[source + ".c"].add(symbol)
    return {s: {home[n] for n in symbols if n in home} - {s} for s, symbols in needs.items()}


def reached(graph, start):
    found, todo = set(), [start]
    while todo:
        for node in graph[todo.pop()] - found:
            found.add(node)
            todo.append(node)
    return found


def circles(graph):
    """The sets of files that reach each other."""
    ways = {s: reached(graph, s) for s in graph}
    return {tuple(sorted(t for t in graph if t in ways[s] and s in ways[t]))
            for s in graph if s in ways[s]}


def test_circles_are_found():
    equal(circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}), {("b", "c")}, "circles")


def test_no_two_files_call_each_other_in_a_circle():
    folders = ["libdispatch", "daemon", "clients", *glob.glob("plugins/*/", root_dir=ROOT)]
    graphs = [uses(folder.rstrip("/")) for folder in folders]
    less(80, sum(len(g) for g in graphs), "files that were compiled")
    equal("daemon/executor.c" in graphs[1]["daemon/connection.c"], True, "a call that is there")
    found = sorted(c for g in graphs for c in circles(g))
    equal(found, [], "files that call each other in a circle")


def test_only_the_daemon_logs():
    wrong = [p for p in sources("libdispatch")
             if re.search(r"\b(printf|fprintf|perror|syslog|log_event)\s*\(", COMMENT.sub("", text(p)))]
    equal(wrong, [], "files of libdispatch that print")


def test_architecture_names_what_exists():
    page = text("ARCHITECTURE.md")
    named = set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page, flags=re.S)))
    words = set(re.findall(r"\w+", " ".join(COMMENT.sub("", text(p)) for folder in
                                            ("libdispatch", "daemon", "plugins", "tests")
                                            for p in sources(folder))))
    functions = {n for n in named if re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", n)}
    files = {n for n in named if re.fullmatch(r"[\w./-]+/[\w./-]+", n)
             and os.path.exists(os.path.join(ROOT, n.split("/")[0]))}
    less(15, len(functions), "functions and types on the page")
    equal(sorted(functions - words), [], "on the page, not in the source")
    equal(sorted(f for f in files if not os.path.exists(os.path.join(ROOT, f))), [],
          "on the page, not in the tree")


main()
