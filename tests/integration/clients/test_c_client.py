"""test_c_client.py -- libdispatchd-client against daemons: the C programs beside this file, and what the library exports."""

import os
import re
import signal
import subprocess
import tempfile

from harness import BUILD, ROOT, SANITIZED, contains, equal, less, main
from daemon import TestDaemon

HEADER = os.path.join(ROOT, "clients", "c", "dispatchd-client.h")
SLEEPS = os.path.join(BUILD, "tests", "plugins", "sleeps.so")
SECONDS = 300 if SANITIZED else 60
TOLD = {"reconnect_to_a_new_daemon", "the_daemon_dies"}  # tests that have a function of their own here


def setup():
    return TestDaemon("--plugin", SLEEPS)


def names(program):
    return subprocess.run([os.path.join(BUILD, "tests", program)], check=True, capture_output=True,
                          text=True).stdout.split()


def ended(process, what):
    """Check that a test program ends well."""
    try:
        said = process.communicate(timeout=SECONDS)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{what} did not end: {process.communicate()[0]}")
    equal(process.returncode, 0, f"exit code of {what}, which said {said}")
    return said


def started(program, socket, test):
    return subprocess.Popen([os.path.join(BUILD, "tests", program), socket, test], text=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def check_program(f, program):
    tests = [n for n in names(program) if n not in TOLD]
    less(4, len(tests), f"tests of {program}")
    for test in tests:
        said = ended(started(program, f.socket, test), f"{program} {test}")
        if said:
            print(f"     {test}: {said.strip()}")
            contains(said, "skipped")


def test_connections_tensors_and_programs(f):
    check_program(f, "client_calls")


def test_arguments_and_values(f):
    check_program(f, "client_values")


def test_the_order_of_requests(f):
    check_program(f, "client_order")


def test_memory_that_is_shared(f):
    check_program(f, "client_shared")
    check_program(f, "client_memories")


def while_a_daemon_is_killed(program, test):
    first = TestDaemon("--plugin", SLEEPS)
    process = started(program, first.socket, test)
    contains(process.stdout.readline(), "kill the daemon")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    process.stdin.write("killed\n")
    process.stdin.flush()
    contains(process.stdout.readline(), "start a daemon")
    with TestDaemon(socket=first.socket):
        ended(process, test)


def test_reconnect_after_a_daemon_was_killed():
    while_a_daemon_is_killed("client_order", "reconnect_to_a_new_daemon")


def test_shared_memory_outlives_a_daemon_that_was_killed():
    while_a_daemon_is_killed("client_shared", "the_daemon_dies")


# -- the library ----------------------------------------------------------------------------------

def declared():
    with open(HEADER) as f:
        return sorted(re.findall(r"^DPC_API [^;]*?\b(dpc_\w+)\(", f.read(), re.M))


def defined(file, *options):
    said = subprocess.run(["nm", "--defined-only", *options, os.path.join(BUILD, file)], check=True, capture_output=True,
                          text=True).stdout
    found = [line.split()[-1] for line in said.splitlines() if len(line.split()) == 3]
    return sorted(n for n in found if not n.startswith(("__odr_asan", "__gcov", "__asan")))


def test_both_libraries_export_what_the_header_declares():
    less(60, len(declared()), "functions")
    equal(defined("libdispatchd-client.so.0", "-D"), declared(), "of the shared library")
    equal(defined("libdispatchd-client.a", "-g"), declared(), "of the archive")


def test_the_shared_library_needs_cjson_only():
    said = subprocess.run(["readelf", "-d", os.path.join(BUILD, "libdispatchd-client.so.0")], check=True,
                          capture_output=True, text=True).stdout
    equal(re.findall(r"SONAME.*\[(.*)\]", said), ["libdispatchd-client.so.0"])
    if not SANITIZED:
        equal(sorted(re.findall(r"NEEDED.*\[(.*?)\.so", said)), ["libc", "libcjson"])


def test_the_header_in_c_and_cxx():
    with tempfile.TemporaryDirectory() as folder:
        for compiler, name in (("cc -std=c99", "a.c"), ("cc -std=c11", "b.c"), ("c++ -std=c++11", "c.cc"),
                               ("c++ -std=c++20", "d.cc")):
            path = os.path.join(folder, name)
            with open(path, "w") as f:
                f.write('#include "dispatchd-client.h"\n#include "dispatchd-client.h"\n'
                        "int main(void) { dpc_options o = DPC_OPTIONS_INIT; return dpc_connect(&o, 0, 0); }\n")
            done = subprocess.run([*compiler.split(), "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I",
                                   os.path.dirname(HEADER), "-fsyntax-only", path], capture_output=True, text=True)
            equal((done.returncode, done.stderr), (0, ""), compiler)


def test_each_declaration_says_its_thread():
    """Of the comments above functions: ownership and errors stand there as the head of the header explains."""
    with open(HEADER) as f:
        text = f.read()
    silent = []
    for comment, first in re.findall(r"/\*((?:(?!\*/).)*)\*/\n((?:typedef [^;]*;\n)?DPC_API [^;]*;)", text, re.S):
        name = re.search(r"\b(dpc_\w+)\(", first.split("DPC_API")[1])[1]
        group = name.startswith(("dpc_add_", "dpc_set_", "dpc_tensor_", "dpc_program_"))  # one comment for all
        if "Thread:" not in " ".join(comment.split()) and not group:
            silent.append(name)
    equal(silent, [], "functions whose comment does not say on which thread they may run")


main(setup, TestDaemon.finish)
