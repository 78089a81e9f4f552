"""test_cache.py -- private copies of plugins: where they lie, and that none outlives its daemon."""

import os
import shutil
import signal
import stat
import tempfile

from harness import BUILD, contains, equal, main, wait_until
from daemon import TestDaemon

OPTIONS = ("--no-plugins", "--plugin", os.path.join(BUILD, "plugins", "template.so"))


class Fixture:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-cache-")
        self.cache = os.path.join(self.dir, "cache")

    def start(self):
        return TestDaemon(*OPTIONS, "--cache-dir", self.cache)

    def left(self):
        return sorted(os.listdir(self.cache))


def copies(daemon):
    """Directories of the plugins that are mapped."""
    return {os.path.dirname(line.split()[-1]) for line in daemon.maps() if "/template.so" in line}


def kill(daemon):
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()
    shutil.rmtree(daemon.dir)


def test_the_directory_is_made_and_left_empty(f):
    with f.start() as daemon:
        equal(stat.S_IMODE(os.stat(f.cache).st_mode), 0o700, "mode")
        equal(len(f.left()), 1, f"entries in {f.left()}")
        equal({os.path.commonpath([c, f.cache]) for c in copies(daemon)}, {f.cache})
        with daemon.connect() as d:
            d.call("plugin.reload", plugin="template")
    equal(f.left(), [])


def test_a_dead_daemons_copies_go_and_a_living_ones_stay(f):
    with f.start() as living:
        mine = f.left()
        for _ in range(3):
            kill(f.start())
        equal(len(f.left()), 2, "the living one's and the last dead one's")
        with f.start():
            equal(len(f.left()), 2, "the living ones'")
            equal(set(mine) <= set(f.left()), True, "the first is still there")
        with living.connect() as d:
            d.call("plugin.reload", plugin="template")
        for directory in copies(living):
            equal(os.path.exists(os.path.join(directory, "template.so")), True, directory)
    equal(f.left(), [])


def test_a_daemon_that_leaves_while_a_call_runs_leaves_nothing(f):
    """Its drain is over, or it is told so a second time."""
    sleeps = "--plugin", os.path.join(BUILD, "tests", "plugins", "sleeps.so")
    for again, status in (False, 0), (True, 1):
        daemon = TestDaemon(*OPTIONS, *sleeps, "--cache-dir", f.cache)
        with daemon.connect() as d, daemon.connect() as other:
            d.send("program.run", inputs={"ms": 60000}, outputs=[],
                   steps=[{"op": "sleeps::sleep", "args": [{"data": 1}, {"ref": "ms"}]}])
            wait_until(lambda: other.call("server.status")["running"], "it sleeps")
            equal(len(f.left()), 1)
            if again:
                daemon.process.send_signal(signal.SIGTERM)
                wait_until(lambda: not os.path.exists(daemon.socket), "it drains")
                daemon.process.send_signal(signal.SIGTERM)
            else:
                other.call("server.shutdown", drain_ms=1)
            equal(daemon.process.wait(60), status, "exit status")
            equal(f.left(), [])
        shutil.rmtree(daemon.dir)


def test_a_directory_without_its_lock_stays(f):
    """A cleaner of old files may have taken it, and the daemon may live."""
    with f.start() as living:
        os.unlink(os.path.join(f.cache, f.left()[0], "lock"))
        with f.start():
            equal(len(f.left()), 2)
        with living.connect() as d:
            d.call("plugin.reload", plugin="template")
    equal(f.left(), [])


def test_what_is_not_ours_stays(f):
    os.mkdir(os.path.join(f.cache, "dispatchd-other"))
    open(os.path.join(f.cache, "dispatchd-plugins-file"), "w").close()
    os.symlink(f.dir, os.path.join(f.cache, "dispatchd-plugins-link"))
    before = f.left()
    with f.start():
        pass
    equal(f.left(), before)


def test_a_directory_that_cannot_be_made_stops_the_start(f):
    f.cache = os.path.join(f.dir, "no", "where")
    try:
        f.start().stop()
    except AssertionError as e:
        contains(str(e), f"--cache-dir '{f.cache}'")
    else:
        raise AssertionError("it started")


main(Fixture, lambda f: shutil.rmtree(f.dir))
