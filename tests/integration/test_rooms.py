"""test_rooms.py -- the sources keep to their rooms, and ARCHITECTURE.md speaks of things that exist."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import ROOT, equal, less, main

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
PUBLIC = "libdispatch/include/dispatchd"
LIBRARIES = re.compile(r"uv\.h|uv/|cjson/|cblas|lapack|check\.h")

# room: (rooms whose headers it may include, headers of other libraries it may include); what is
# generated at build time lies in no room.
ROOMS = {
    PUBLIC: ((), ()),
    "libdispatch/base": ((PUBLIC,), ()),
    "libdispatch/tensor": ((PUBLIC, "libdispatch/base"), ()),
    "libdispatch/dispatch": ((PUBLIC, "libdispatch/base", "libdispatch/tensor"), ()),
    "daemon": ((PUBLIC,), ("uv.h", "cjson/cJSON.h")),
    "plugins": ((PUBLIC,), ("cblas.h",)),
    "clients/c": ((), ("cjson/cJSON.h",)),
    "clients/cli": (("clients/c",), ("cjson/cJSON.h",)),
    "clients/demo": ((PUBLIC,), ()),
}
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
    fits = [room for room in ROOMS if path.startswith(room + "/")]
    return max(fits, key=len, default=None)


def included(path):
    """[(name as spelled, its path from the root; None where it is not ours)]"""
    places = [os.path.dirname(path), "libdispatch/include", "clients/c"]
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


def test_a_plugin_includes_one_header_of_ours():
    wrong = [(p, name) for p in sources("plugins") for name, file in included(p)
             if file is not None and room_of(file) == PUBLIC and name != "dispatchd/plugin.h"]
    equal(wrong, [], "public headers that plugins include")


def test_only_the_loops_files_know_libuv():
    knows = {os.path.basename(p) for p in sources("daemon")
             if re.search(r"\buv_\w", COMMENT.sub("", text(p)))}
    equal(knows, USES_LIBUV, "files of the daemon that name libuv")


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
