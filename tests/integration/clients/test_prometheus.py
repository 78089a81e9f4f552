"""test_prometheus.py -- a real Prometheus scrapes dispatchctl metrics --listen, and evaluates the dashboard.

Skipped if Debian's package prometheus is not installed."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from harness import BUILD, ROOT, equal, less, main, wait_until
from daemon import TestDaemon

PROMETHEUS = shutil.which("prometheus")
CONFIG = """\
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: dispatchd
    static_configs: [{targets: ['127.0.0.1:%d']}]
"""
# Variables of Grafana in the expressions of the dashboard.
VARIABLES = {"$__rate_interval": "1m", "$job": "dispatchd"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__()
        self.exporter = subprocess.Popen(
            [os.path.join(BUILD, "dispatchctl"), "--socket", self.socket, "metrics", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, text=True)
        port = int(self.exporter.stdout.readline().split("/metrics")[0].rsplit(":", 1)[1])
        self.work = tempfile.mkdtemp(prefix="dispatchd-prometheus-")
        config = os.path.join(self.work, "prometheus.yml")
        with open(config, "w") as f:
            f.write(CONFIG % port)
        self.port = free_port()
        with open(os.path.join(self.work, "log"), "w") as log:
            self.prometheus = subprocess.Popen(
                [PROMETHEUS, "--config.file", config, "--storage.tsdb.path", os.path.join(self.work, "data"),
                 "--web.listen-address", f"127.0.0.1:{self.port}", "--log.level", "warn"],
                stdout=log, stderr=log, cwd=self.work)
        try:
            wait_until(self.scraped, "Prometheus has scraped", seconds=120)
        except AssertionError:
            self.end()
            raise

    def get(self, path, **params):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(params)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{params}: {e.read().decode()}") from None

    def query(self, expression):
        return self.get("/api/v1/query", query=expression)["result"]

    def targets(self):
        return self.get("/api/v1/targets")["activeTargets"]

    def scraped(self):
        assert self.prometheus.poll() is None, open(os.path.join(self.work, "log")).read()
        try:
            targets = self.targets()
        except (OSError, AssertionError):  # it has not started yet
            return False
        return targets != [] and targets[0]["health"] != "unknown"

    def end(self):
        for process in self.prometheus, self.exporter:
            process.terminate()
            process.communicate()
        shutil.rmtree(self.work)
        self.finish()


def test_the_target_is_up(f):
    target = f.targets()[0]
    equal((target["health"], target["lastError"]), ("up", ""))


def test_a_figure_arrives(f):
    with f.connect() as d:
        for _ in range(7):
            d.op("aten::add.Tensor", {"data": [1]}, {"data": [2]}, returns="data")
        sum_of = 'sum(dispatchd_calls_total{operator="aten::add.Tensor",key="CPU",plugin="cpu"})'
        wait_until(lambda: [r["value"][1] for r in f.query(sum_of)] == ["7"], "seven calls", seconds=60)
        count = f.query('sum(dispatchd_call_seconds_count{operator="aten::add.Tensor"})')
        equal([r["value"][1] for r in count], ["7"])


def test_it_knows_types_and_help(f):
    known = f.get("/api/v1/metadata")
    equal([known[n][0]["type"] for n in ("dispatchd_calls_total", "dispatchd_call_seconds", "dispatchd_connections")],
          ["counter", "histogram", "gauge"])
    equal([n for n in known if n.startswith("dispatchd_") and not known[n][0]["help"]], [])


def dashboard_expressions():
    with open(os.path.join(ROOT, "docs", "grafana.json"), encoding="utf-8") as f:
        for panel in json.load(f)["panels"]:
            for target in panel["targets"]:
                yield panel["title"], target["expr"]


def test_it_evaluates_the_dashboard(f):
    """Each panel has data, but for those of failures when there were none: these tests cause some."""
    with f.connect() as d:
        d.call("plugin.load", path=os.path.join(BUILD, "tests", "plugins", "npu.so"))
        there = d.op("aten::to.device", {"data": [1.0]}, "npu:0", "float32")["tensor"]
        for _ in range(3):
            d.op("aten::relu", {"tensor": there})  # npu has no kernel: the call falls back
            for method, params in (("op.call", {"op": "aten::mm", "args": [{"data": [1]}, {"data": [1]}]}),
                                   ("session.set", {"num_threads": 1 << 20})):
                d.send(method, **params)
                try:
                    d.receive()
                    raise AssertionError(f"{method} did not fail")
                except Exception as e:
                    if isinstance(e, AssertionError):
                        raise
            time.sleep(1.1)  # a rate needs two scrapes
    n = 0
    for title, expression in dashboard_expressions():
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        wait_until(lambda: f.query(expression), f"data of panel '{title}': {expression}", seconds=60)
        n += 1
    less(20, n, "expressions")


if PROMETHEUS is None:
    print("skipped test_prometheus.py: package prometheus is not installed\n0 passed, 0 failed")
    sys.exit(0)
main(Fixture, Fixture.end)
