"""test_by_descriptor.py -- plugins that a client opens itself and passes: plugin.load and plugin.describe with fd."""

import os
import tempfile

from harness import BUILD, contains, equal, main, raises, wait_until
from daemon import TestDaemon
import dispatchd

TEMPLATE = os.path.join(BUILD, "plugins", "template.so")
FREE = os.path.join(BUILD, "plugins", "aten.so")


def setup():
    daemon = TestDaemon()
    with daemon.connect() as d:
        d.call("plugin.unload", plugin="template")
    return daemon


def opened(path=TEMPLATE, flags=os.O_RDONLY):
    return dispatchd.Fd(os.open(path, flags | os.O_CLOEXEC))


def memfd_of(path):
    fd = os.memfd_create("a plugin", os.MFD_CLOEXEC)
    with open(path, "rb") as f:
        os.write(fd, f.read())
    return dispatchd.Fd(fd)


def scale(d):
    return d.op("tutorial::scale", {"data": [1.0, 2.0]}, 3, returns="data")["data"]


def test_a_file_and_a_memfd_are_loaded(daemon):
    with daemon.connect() as d:
        daemon.alone(d) # setup()'s connection is closed, and this one is accepted
        before = daemon.descriptors()
        for fd, name in ((opened(), f"a descriptor of '{TEMPLATE}'"), (memfd_of(TEMPLATE), "a descriptor of '/memfd:a plugin")):
            loaded = d.call("plugin.load", fd=fd)
            equal((loaded["plugin"], loaded["impls"]), ("template", 1))
            fd.close()
            equal(scale(d), [3, 6])
            contains(next(p["path"] for p in d.call("plugin.list")["plugins"] if p["plugin"] == "template"), name)
            raises(lambda: d.call("plugin.reload", plugin="template"), "ValueError", f"was loaded from {name}",
                   "unload the plugin, and load it")
            equal(scale(d), [3, 6], "what was loaded stays")
            equal(d.call("plugin.unload", plugin="template")["unmapped"], True)
        wait_until(lambda: daemon.descriptors() == before, "every descriptor is closed")
        equal(d.call("plugin.load", path=TEMPLATE)["plugin"], "template")
        d.call("plugin.reload", plugin="template")
        d.call("plugin.unload", plugin="template")


def test_a_file_that_changes_later_does_not_matter(daemon):
    with daemon.connect() as d, tempfile.NamedTemporaryFile(suffix=".so") as file, open(TEMPLATE, "rb") as template:
        file.write(template.read())
        file.flush()
        d.call("plugin.load", fd=opened(file.name))
        os.truncate(file.name, 0)
        equal(scale(d), [3, 6])
        d.call("plugin.unload", plugin="template")


def test_describe_is_the_same_by_path_and_by_descriptor(daemon):
    with daemon.connect() as d:
        for path in (TEMPLATE, FREE):
            equal(d.call("plugin.describe", fd=opened(path)), d.call("plugin.describe", path=path))


def test_what_is_refused(daemon):
    with daemon.connect() as d, tempfile.NamedTemporaryFile() as file:
        for method in ("plugin.load", "plugin.describe"):
            raises(lambda: d.call(method), "InvalidParams", "expected either 'path' or 'fd'")
            raises(lambda: d.call(method, path=TEMPLATE, fd=opened()), "InvalidParams", "expected either 'path' or 'fd'")
            raises(lambda: d.call(method, fd=0), "ValueError", "fd: descriptor 0, but the message has 0")
            raises(lambda: d.call(method, fd=opened(file.name, os.O_WRONLY)), "ValueError", "is not open for reading")
            raises(lambda: d.call(method, fd=opened(TEMPLATE, os.O_PATH)), "ValueError", "is not open for reading")
            raises(lambda: d.call(method, fd=opened(file.name)), "PluginError")
            raises(lambda: d.call(method, fd=opened("/dev/zero")), "ValueError", "descriptor 0 is no file")
        equal("template" in daemon.loaded(d), False)


main(setup, TestDaemon.finish)
