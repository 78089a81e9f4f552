"""test_package.py -- the Python package: it installs, imports fast, starts a daemon of its own, and its generated
file is current."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

from harness import BUILD, ROOT, contains, equal, less, main

PACKAGE = os.path.join(ROOT, "clients", "python")
ENV = {**{k: v for k, v in os.environ.items() if k != "DISPATCHD_SOCKET"}, "PYTHONPATH": PACKAGE,
       "DISPATCHD": os.path.join(BUILD, "dispatchd"), "XDG_RUNTIME_DIR": "/nonexistent"}


def python(code, **env):
    """What this program prints, run with -W error."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], env={**ENV, **env}, capture_output=True, text=True,
                          timeout=120)
    equal(done.stderr, "", "errors")
    return done.stdout


def test_nothing_is_started():
    out = python("import dispatchd as dd\nx = dd.ones(2, 3)\nprint((x @ x.T).relu())")
    equal(out, "tensor([[3., 3.],\n        [3., 3.]])\n")


def test_a_private_daemon_ends_with_the_program():
    pid = int(python("import dispatchd as dd\nprint(dd.current().call('server.hello')['pid'])"))
    end = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
        time.sleep(0.01)
    equal(os.path.exists(f"/proc/{pid}"), False, "the daemon runs on")


def test_a_program_without_a_daemon_says_what_to_do():
    code = "import dispatchd as dd\ntry:\n    dd.ones(1)\nexcept FileNotFoundError as e:\n    print(e)"
    contains(python(code, DISPATCHD="/nonexistent/dispatchd"), "/nonexistent/dispatchd")
    out = python("import os\nos.access = lambda *args: False\n" + code, DISPATCHD="")
    for way in ("pip", "'make install'", "Debian package", "$PATH", "$DISPATCHD"):
        contains(out, way)


def test_headers_are_found_beside_the_daemon():
    code = "import dispatchd as dd\nprint(dd.plugins.include_folder())"
    with tempfile.TemporaryDirectory() as folder:
        installed = os.path.join(folder, "site")
        shutil.copytree(os.path.join(PACKAGE, "dispatchd"), os.path.join(installed, "dispatchd"))
        for kind, program, headers in (("a source tree", "tree/build", "tree/libdispatch/include"), ("an installation", "opt/bin", "opt/include")):
            program, headers = os.path.join(folder, program), os.path.join(folder, headers)
            os.makedirs(program)
            os.makedirs(os.path.join(headers, "dispatchd"))
            for path in (os.path.join(program, "dispatchd"), os.path.join(headers, "dispatchd", "plugin.h")):
                with open(path, "w", encoding="utf-8"):
                    pass
            equal(python(code, PYTHONPATH=installed, DISPATCHD=os.path.join(program, "dispatchd"), DISPATCHD_INCLUDE=""), headers + "\n", kind)


def test_a_compiled_kernel_leaves_no_warning():
    """python() runs with -W error, and compares what is printed to stderr."""
    path = python("import dispatchd as dd\nprint(dd.plugins.compile('int x;'))").strip()
    contains(path, "kernel.so")
    equal(os.path.exists(os.path.dirname(path)), False, "the folder of the kernel is left")


def test_import_needs_only_the_standard_library():
    out = python("import dispatchd, sys\nprint([m for m in ('numpy', 'torch', 'yaml', 'ctypes', 'difflib', 'inspect') "
                 "if m in sys.modules])")
    equal(out, "[]\n")


def test_import_is_cheap():
    """Modules that take long to import, json for its regular expressions and socket for its enums, come with the first call."""
    code = "import sys\nimport dispatchd\n%sprint({'json', 're', 'enum', 'socket', 'typing', 'threading'} & sys.modules.keys())"
    done = [subprocess.run([sys.executable, "-S", "-c", code % more], env=ENV, capture_output=True, text=True, timeout=120).stdout
            for more in ("", "dispatchd.ones(1)\n")]
    equal(done[0], "set()\n")
    contains(done[1], "'socket'")
    equal(python("from dispatchd import Client, Connection, connect, share, to_wire\nimport dispatchd\n"
                 "print(dispatchd.client.Client is Client, dispatchd.defaults.connect is connect)"), "True True\n")


def test_the_generated_files_are_current():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(ROOT, "proto", "gen", "emit_python.py"),
                        *(os.path.join(ROOT, "proto", "ops", n) for n in ("native_functions.yaml", "public.yaml")), folder], check=True)
        for name in ("_schemas.py", "__init__.pyi"):
            with open(os.path.join(folder, name), encoding="utf-8") as made, open(
                    os.path.join(PACKAGE, "dispatchd", name), encoding="utf-8") as kept:
                text = made.read()
                equal(kept.read() == text, True, f"{name}: run 'make map'")
                less(10000, len(text), f"bytes of {name}")


def test_the_version_is_the_daemons():
    with open(os.path.join(ROOT, "daemon", "daemon.h"), encoding="utf-8") as f:
        version = next(line.split('"')[1] for line in f if line.startswith("#define DISPATCHD_VERSION"))
    equal(python("from dispatchd._version import VERSION\nprint(VERSION, end='')"), version)


def test_pip_installs_it_without_a_network():
    if subprocess.run([sys.executable, "-c", "import pip"], capture_output=True).returncode:
        print("skipped: pip is not there")
        return
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "python")
        subprocess.run(["cp", "-r", PACKAGE, source], check=True)
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps",
                               "--target", os.path.join(folder, "lib"), source], capture_output=True, text=True, timeout=300)
        equal(done.returncode, 0, done.stderr)
        out = python("import dispatchd as dd\nprint(dd.__file__, dd.ones(2).sum().item())", PYTHONPATH=os.path.join(folder, "lib"))
        contains(out, os.path.join(folder, "lib", "dispatchd"))
        contains(out, " 2.0")


def test_modules_are_small():
    for name in os.listdir(os.path.join(PACKAGE, "dispatchd")):
        if name.endswith(".py") and name != "_schemas.py":
            with open(os.path.join(PACKAGE, "dispatchd", name), encoding="utf-8") as f:
                less(len(f.readlines()), 501, name)


main()
