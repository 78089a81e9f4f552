"""test_template.py -- the template's test: load it, call its operator, unload it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/lib"))
from daemon import TestDaemon
from harness import BUILD, equal, main, raises


def test_scale():
    with TestDaemon("--no-plugins") as daemon, daemon.connect() as d:
        d.call("plugin.load", path=os.path.join(BUILD, "plugins", "template.so"))
        x = {"data": [[1.0, 2.0], [3.0, 4.0]], "dtype": "float32"}
        equal(d.op("tutorial::scale", x, 10.0, returns="data")["data"], [[10, 20], [30, 40]])
        raises(lambda: d.op("tutorial::scale", {"data": [1], "dtype": "int64"}, 2.0), "TypeError", "int64")
        equal(d.call("plugin.unload", plugin="template")["unmapped"], True)


main()
