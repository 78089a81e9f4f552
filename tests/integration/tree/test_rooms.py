"""test_rooms.py -- the sources keep to their rooms, and ARCHITECTURE.md speaks of things that exist."""

import glob
import os
import re
import subprocess

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
                             DISPATCH + "schema", DISPATCH + "plugin"), ()),
    "libdispatch/autograd": ((PUBLIC, BASE, TENSOR, DISPATCH + "registry", DISPATCH + "call",
                              DISPATCH + "schema", DISPATCH + "plugin", "libdispatch/program"), ()),
    "libdispatch/graph": ((PUBLIC, BASE, TENSOR, DISPATCH + "registry", DISPATCH + "call",
                           DISPATCH + "schema", DISPATCH + "plugin", "libdispatch/program", "libdispatch/autograd"), ()),
    "daemon/daemon.h": ((PUBLIC,), ()),
    "daemon/json": ((PUBLIC, "daemon/daemon.h"), ("cjson/cJSON.h",)),
    "daemon/request.h": ((PUBLIC, "daemon/daemon.h", "daemon/json"), ()),
    "daemon/store": ((PUBLIC, "daemon/daemon.h", "daemon/json"), ()),
    "daemon/methods": ((PUBLIC, "daemon/daemon.h", "daemon/json", "daemon/request.h", "daemon/store"), ()),
    **{room: ((PUBLIC, "daemon/daemon.h", "daemon/json", "daemon/request.h", "daemon/methods",
               "daemon/store", "daemon", "daemon/executor", "daemon/transport"), ("uv.h",))
       for room in ("daemon", "daemon/executor", "daemon/transport")},
    "plugins": ((PUBLIC,), ("cblas.h",)),
    "clients/c": ((), ("cjson/cJSON.h",)),
    "clients/cli": ((PUBLIC, "clients/c"), ("cjson/cJSON.h",)),
    "clients/demo": ((PUBLIC, "clients/c"), ("cjson/cJSON.h",)),
}
PLUGIN_HEADERS = ("dispatchd/plugin.h", "dispatchd/check.h", "dispatchd/dtypes.h", "dispatchd/isa.h",
                  "dispatchd/iter.h", "dispatchd/autocast.h")

# A family of a plugin is a folder.  All families may include headers of their own, of core and of plugins/lib; those
# listed here may include headers of these families, too.  The plugin's own file may include all headers.
INCLUDED_FAMILIES = {
    "cpu": {"pointwise": ("special",), "reduce": ("pointwise", "index", "sort"), "sort": ("index",), "random": ("special",),
            "linalg": ("matmul",), "conv": ("matmul",), "nn": ("norm",)},
    "composite": {},
}
USES_LIBUV = {"daemon/server.c", "daemon/server.h", "daemon/executor/deadlines.c", "daemon/executor/executor.c",
              "daemon/executor/executor.h", "daemon/executor/turns.c", "daemon/executor/workers.c",
              "daemon/transport/announce.c", "daemon/transport/connection.c",
              "daemon/transport/connection.h", "daemon/transport/gradients.c", "daemon/transport/life.c", "daemon/transport/notices.c", "daemon/transport/open.c",
              "daemon/transport/spin.c", "daemon/transport/spin.h", "daemon/upkeep.c"}


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
    places = [os.path.dirname(path), "libdispatch/include", "libdispatch", "daemon", "clients/c", "plugins"]
    if path.startswith("plugins/"):
        places.append("/".join(path.split("/")[:2]))
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


def test_a_family_includes_only_what_it_may():
    wrong = []
    for plugin, families in INCLUDED_FAMILIES.items():
        for path in sources(f"plugins/{plugin}"):
            family = path.split("/")[2]
            if family.endswith((".c", ".h")):
                continue
            for _, file in included(path):
                if file is not None and file.startswith(f"plugins/{plugin}/"):
                    if file.split("/")[2] not in (family, "core", *families.get(family, ())):
                        wrong.append(f"{path} includes {file}")
    equal(wrong, [], "includes across families")
    # PyTorch's CPU has no operators like those of optim: tests/operators/test_optim.py compares them
    cases = {os.path.basename(p)[:-len(".py")] for p in glob.glob("tests/operators/cases/*.py", root_dir=ROOT)}
    families = {f for f in os.listdir(os.path.join(ROOT, "plugins", "cpu")) if "." not in f}
    less(10, len(families), "families of plugin cpu")
    equal(cases - {"__init__", "inputs", "plain"}, families - {"core", "optim"}, "families that have a file of cases")


def test_only_the_loops_files_know_libuv():
    knows = {p for p in sources("daemon")
             if re.search(r"\buv_\w", COMMENT.sub("", text(p)))}
    equal(knows, USES_LIBUV, "files of the daemon that name libuv")


def test_only_the_envelope_knows_the_words_of_json_rpc():
    # scrape.c has a label of that name, for Prometheus
    wrong = [p for p in sources("daemon") if p not in ("daemon/methods/envelope.c", "daemon/scrape.c")
             and re.search(r'"(jsonrpc|2\.0|method|result)"', COMMENT.sub("", text(p)))]
    equal(wrong, [], "files of the daemon that spell a member of a JSON-RPC message")
    around = [p for room in ("daemon", "daemon/executor", "daemon/transport")
              for p in glob.glob(room + "/*.c", root_dir=ROOT)]
    wrong = [p for p in around if '"id"' in text(p)]
    equal(wrong, [], "files around the methods that spell a request's id")


def symbols(folder):
    """({symbol: the source that defines it}, {source: the symbols it needs}), from the built objects
    of a folder"""
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
    return home, needs


def uses(folder):
    """{source: the sources of this folder that define a symbol it needs}"""
    home, needs = symbols(folder)
    return {s: {home[n] for n in wanted if n in home} - {s} for s, wanted in needs.items()}


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
    equal("daemon/executor/executor.c" in graphs[1]["daemon/transport/life.c"], True,
          "a call that is there")
    found = sorted(c for g in graphs for c in circles(g))
    equal(found, [], "files that call each other in a circle")


# What a header declares that its folder does not define, and why.
DECLARED_ELSEWHERE = {
    "plugins/composite/core/composite.h": "composite.c has it, which registers the plugin",
    "plugins/cpu/core/elements.h": "create/tensor_factories.c has check_fits(), other families use it",
}
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")


def declared(header):
    """Names that the text of a header declares with external linkage: functions, and variables that
    it calls extern."""
    body = ATTRIBUTE.sub("", COMMENT.sub("", header).replace("\\\n", " "))
    body = re.sub(r"^\s*#.*$", "", body, flags=re.M)
    while re.search(r"\{[^{}]*\}", body): # what has a body is a type, or an inline function
        body = re.sub(r"\{[^{}]*\}", "@;", body)
    for statement in body.split(";"):
        if "@" in statement or re.match(r"\s*(typedef|static|_Static_assert)\b", statement):
            continue
        name = re.search(r"\b(\w+)\s*\(", statement) or \
            re.search(r"\bextern\b.*?\b(\w+)\s*(?:\[[^\]]*\]\s*)*$", statement, re.S)
        if name:
            yield name.group(1)


def strangers(headers, home):
    """(header, name, the source that defines it) where that lies neither in the header's folder nor
    below it; loops/ and levels/ are part of the folder they lie in.  Names that no object defines
    belong to macros, or to another library."""
    return [(path, name, home[name]) for path, header in headers for name in declared(header)
            if name in home and not home[name].startswith(
                re.sub(r"(/(loops|levels))+$", "", os.path.dirname(path)) + "/")]


def test_what_a_header_declares_is_found():
    header = """
        #define A(b) b()
        extern _Thread_local int c[4]; /* not d(); */ typedef int (*e)(void);
        static inline int f(void) { if (1) { return g(); } return 0; }
        struct h { int (*i)(int); }; enum { J };
        int k(int x,
              void (*l)(void)) __attribute__((format(printf, 1, 2)));
        const char *const m; extern const struct h *n;"""
    equal(list(declared(header)), ["c", "k", "n"], "names")
    home = {"c": "x/y/one.c", "k": "x/two.c", "n": "x/y/z/three.c"}
    for path, found in (("x/y/h.h", ["k"]), ("x/h.h", []), ("x/y/loops/h.h", ["k"]),
                        ("x/z/h.h", ["c", "k", "n"])):
        equal([s[1] for s in strangers([(path, header)], home)], found, f"strangers in {path}")


def test_a_header_declares_only_what_its_folder_defines():
    found, names = [], 0
    for folder in ("libdispatch", "daemon", *glob.glob("plugins/*/", root_dir=ROOT)):
        headers = [(p, text(p)) for p in sorted(sources(folder.rstrip("/")))
                   if p.endswith(".h") and room_of(p) != PUBLIC]
        names += sum(len(list(declared(header))) for _, header in headers)
        found += strangers(headers, symbols(folder.rstrip("/"))[0])
    less(400, names, "names that headers declare")
    equal([f for f in found if f[0] not in DECLARED_ELSEWHERE], [],
          "declared in a folder that does not define them")
    equal(sorted(set(DECLARED_ELSEWHERE) - {f[0] for f in found}), [], "exempt for no reason")


# Sources and headers end after 500 lines, or their head says why not ("Over 500 lines: ..."); sources
# end after 600.  Tables, loops and generated code have no limit, headers for users none either.
LINES, LINES_MOST = 500, 600
NO_LIMIT = re.compile(r"(^|/)(loops|levels|tables)/|_of_type\.h$|^" + PUBLIC + "/")


def too_long(path, body):
    lines, head = body.count("\n"), body.split("*/")[0]
    return lines > LINES_MOST or (lines > LINES and "Over 500 lines: " not in head)


def test_no_source_is_too_long():
    reason = "/* x.c -- y.  Over 500 lines: a table. */"
    equal([too_long("x.c", head + "\n" * n) for head, n in (("/* x.c */", 500), ("/* x.c */", 501),
                                                            (reason, 600), (reason, 601))],
          [False, True, False, True], "too long")
    wrong = [p for folder in ("libdispatch", "daemon", "plugins", "clients") for p in sources(folder)
             if not NO_LIMIT.search(p) and too_long(p, text(p))]
    equal(sorted(wrong), [], f"more than {LINES} lines without a reason, or more than {LINES_MOST}")


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
