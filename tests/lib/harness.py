"""harness.py -- runs the functions named test_* of a file in order; ends in "N passed, N failed"."""

import inspect
import os
import sys
import threading
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
SANITIZED = bool(os.environ.get("SANITIZE")) or any(
    word in os.path.basename(BUILD) for word in ("address", "thread", "undefined"))
sys.path.insert(0, os.path.join(ROOT, "clients", "python"))


def equal(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what + ': ' if what else ''}got {got!r}, want {want!r}")


def less(got, limit, what=""):
    if not got < limit:
        raise AssertionError(f"{what + ': ' if what else ''}got {got!r}, want less than {limit!r}")


def contains(text, part, what=""):
    if part not in text:
        raise AssertionError(f"{what + ': ' if what else ''}no {part!r} in {text!r}")


def warnings(answer):
    """The texts of an answer's warnings."""
    return [w["message"] for w in answer.get("warnings", [])]


def raises(fn, type_, *parts):
    """fn must fail with a dispatchd.Error of this type whose message has every part; returns it."""
    import dispatchd
    try:
        result = fn()
    except dispatchd.Error as e:
        equal(e.type, type_, f"error type of '{e.message}'")
        for part in parts:
            contains(e.message, part, "error message")
        return e
    raise AssertionError(f"got {result!r}, want {type_}")


def fails(fn, kind, *parts):
    """fn must raise this kind of Python's exceptions with a message that has every part; returns it."""
    try:
        got = fn()
    except kind as e:
        for part in parts:
            contains(str(e), part, "message")
        return e
    raise AssertionError(f"got {got!r}, want {kind.__name__}")


def together(work, n):
    """Run work(0) to work(n - 1), each in a thread of its own, and wait for all."""
    threads = [threading.Thread(target=work, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def fresh(make):
    """A decorator: the test takes a fixture of its own, which make() makes and its finish() ends."""
    def decorate(test):
        def run():
            f = make()
            test(f)
            f.finish()
        return run
    return decorate


def wait_until(condition, what, seconds=20):
    """Poll until condition() is true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not so after {seconds} s: {what}")
        time.sleep(0.01)


def main(setup=None, teardown=None):
    """Run every test_* of the caller; a test takes what setup() returned when it has a parameter.
    teardown(fixture) counts as one more test.  TESTS in the environment leaves those whose name contains it."""
    tests = [(n, f) for n, f in vars(sys.modules["__main__"]).items()
             if n.startswith("test_") and callable(f) and os.environ.get("TESTS", "") in n]
    failed = 0
    fixture = setup() if setup else None
    if teardown:
        tests.append(("teardown", teardown))
    for name, test in tests:
        try:
            test(*[fixture][:len(inspect.signature(test).parameters)])
            print(f"ok   {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    sys.exit(failed != 0)
