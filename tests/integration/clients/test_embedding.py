"""test_embedding.py -- pages of docs from an installed tree: their listings build, run and print what they say."""

import os
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, ROOT, SANITIZED, contains, equal, less, main
from daemon import TestDaemon

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
NAME = re.compile(r"/\* (\w+\.cc?) -- ")
PAGES = {"embedding": (4, 5), "typed-calls": (2, 2), "c-client": (4, 4)}  # listings and outputs on each
PREFIX = "/opt/dispatchd"
PAGE_LINES = 290  # at most, with lines of at most 110 characters
STRICT = "-std=gnu11 -Wall -Wextra -Werror"


def sanitizers():
    words = [w for w in ("address", "undefined", "thread") if w in os.path.basename(BUILD)]
    return f"-fsanitize={','.join(words)}" if words else ""


class Tree:
    """What `make install DESTDIR=...` makes, a directory in which the page's commands run, and a daemon that
    they may call."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-embedding-")
        self.root = os.path.join(self.dir, "root")
        self.work = os.path.join(self.dir, "work")
        os.mkdir(self.work)
        library = os.path.join(BUILD, "libdispatchd.so")
        built = os.stat(library).st_mtime_ns
        self.make("install")
        equal(os.stat(library).st_mtime_ns, built, "when the library was built, before and after `make install`")
        self.daemon = TestDaemon()
        self.env = {**os.environ, "PKG_CONFIG_PATH": f"{self.root}{PREFIX}/lib/pkgconfig",
                    "LD_LIBRARY_PATH": f"{self.root}{PREFIX}/lib", "DISPATCHD_SOCKET": self.daemon.socket,
                    "ROOT": ROOT, "BUILD": BUILD, "PATH": f"{self.work}:{os.environ['PATH']}"}
        with open(os.path.join(self.work, "cc"), "w") as f:  # the page's cc, stricter
            f.write(f'#!/bin/sh\nexec /usr/bin/cc {STRICT} {sanitizers()} "$@"\n')
        os.chmod(f.name, 0o755)
        with open(os.path.join(self.work, "c++"), "w") as f:
            f.write(f'#!/bin/sh\nexec /usr/bin/c++ -Wall -Wextra -Werror {sanitizers()} "$@"\n')
        os.chmod(f.name, 0o755)

    def make(self, target):
        env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
        done = subprocess.run(["make", "-s", "-C", ROOT, target, f"BUILD={BUILD}", f"DESTDIR={self.root}",
                               f"PREFIX={PREFIX}", f"SANITIZE={os.environ.get('SANITIZE', '')}"],
                              env=env, text=True, timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        equal(done.returncode, 0, f"make {target}: {done.stdout}")

    def run(self, commands):
        done = subprocess.run(["sh", "-ec", commands], cwd=self.work, env=self.env, text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        equal(done.returncode, 0, f"exit code of '{commands}': {done.stdout}")
        return done.stdout

    def remove(self):
        self.daemon.finish()
        self.make("uninstall")
        left = [os.path.join(d, n) for d, folders, names in os.walk(self.root) for n in folders + names]
        equal(left, [], "files and folders that an uninstall leaves")
        shutil.rmtree(self.dir)


def check_page(tree, page, counts):
    with open(os.path.join(ROOT, "docs", page + ".md")) as f:
        content = f.read()
    said, listings, outputs = None, 0, 0
    for language, text in BLOCK.findall(content):
        if language in ("c", "cc"):
            with open(os.path.join(tree.work, NAME.match(text)[1]), "w") as f:
                f.write(text)
            listings += 1
        elif language == "sh":
            said = tree.run(text)
        else:
            equal(language, "output", "language of a block")
            equal(said.splitlines(), text.splitlines(), page)
            outputs += 1
    equal((listings, outputs), counts, f"listings and outputs of {page}")
    less(len(content.splitlines()), PAGE_LINES, f"lines of {page}")


def test_every_listing_builds_and_prints_what_its_page_says(tree):
    for page, counts in PAGES.items():
        check_page(tree, page, counts)


def test_a_plugin_needs_headers_only(tree):
    equal(tree.run("pkg-config --libs dispatchd-plugin").strip(), "")
    contains(tree.run("pkg-config --cflags dispatchd-plugin"), "-I")


def test_the_client_links_statically(tree):
    flags = tree.run("pkg-config --static --cflags --libs libdispatchd-client").strip()
    tree.run(f"cc add.c {flags.replace('-ldispatchd-client', '-l:libdispatchd-client.a')} -o static")
    contains(tree.run("unset LD_LIBRARY_PATH; ./static"), "11 12")


def test_both_headers_in_one_file_is_an_error_that_says_so(tree):
    with open(os.path.join(tree.work, "both.c"), "w") as f:
        f.write("#include <dispatchd/plugin.h>\n#include <dispatchd/dispatch.h>\n")
    said = tree.run("! cc $(pkg-config --cflags dispatchd) -c both.c 2>&1")
    contains(said, "one file includes one of them")


def test_the_python_client_is_installed(tree):
    share = f"{tree.root}{PREFIX}/share/dispatchd"
    contains(tree.run(f"PYTHONPATH={share}/python /usr/bin/python3 -c 'import dispatchd; print(dispatchd.__file__)'"),
             share)


def test_the_installed_daemon_finds_its_library(tree):
    if not SANITIZED:
        contains(tree.run(f"{tree.root}{PREFIX}/bin/dispatchd --version"), "0.1.0")


main(Tree, Tree.remove)
