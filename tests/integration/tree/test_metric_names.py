"""test_metric_names.py -- docs/operating.md lists every metric of the daemon with its type and its labels, and the
dashboard docs/grafana.json names metrics and labels that exist."""

import json
import os
import re

from harness import ROOT, equal, less, main

DECLARED = re.compile(r'"(dispatchd_\w+)",\s*"(counter|gauge|histogram)"')
ROW = re.compile(r"^\| `(dispatchd_\w+)` \| (\w+) \|", re.M)
USED = re.compile(r"\b(dispatchd_\w+?)(_bucket|_sum|_count)?(?=[{\s)\[,])")
LABELS = {"operator", "key", "plugin", "generation", "method", "type", "limit", "holder", "thread", "le", "version"}


def text(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def declared():
    return dict(DECLARED.findall(text("daemon", "scrape.c")))


def test_the_page_lists_every_metric():
    less(25, len(declared()), "metrics")
    equal(dict(ROW.findall(text("docs", "operating.md"))), declared())


def expressions():
    dashboard = json.loads(text("docs", "grafana.json"))
    ids = [p["id"] for p in dashboard["panels"]]
    equal(len(set(ids)), len(ids), "ids of panels")
    return [t["expr"] for p in dashboard["panels"] for t in p["targets"]]


def test_the_dashboard_names_metrics_that_exist():
    types = declared()
    used = [(name, suffix) for e in expressions() for name, suffix in USED.findall(e)]
    less(20, len(used), "metrics that the dashboard uses")
    wrong = [name + suffix for name, suffix in used
             if types.get(name) is None or (suffix != "") != (types[name] == "histogram")]
    equal(wrong, [])
    query = json.loads(text("docs", "grafana.json"))["templating"]["list"][1]["query"]
    equal(re.findall(r"dispatchd_\w+", query), ["dispatchd_info"])


def test_the_dashboard_shows_what_an_operator_asks_first():
    used = {name for e in expressions() for name, _ in USED.findall(e)}
    equal({n for n in ("dispatchd_calls_total", "dispatchd_call_errors_total", "dispatchd_call_seconds", "dispatchd_held_bytes",
                       "dispatchd_unsent_bytes", "dispatchd_connections_paused", "dispatchd_loop_turn_max_seconds",
                       "dispatchd_limit_refusals_total", "dispatchd_queue_oldest_seconds")} - used, set())


def test_the_dashboard_names_labels_that_exist():
    named = {l.strip() for e in expressions() for group in re.findall(r"\bby \(([^)]*)\)", e) for l in group.split(",")}
    equal(named - LABELS, set())
    equal({l for e in expressions() for l in re.findall(r"[{,]\s*(\w+)\s*[=!]", e)} - LABELS, {"job"})


def test_rates_are_of_counters_and_histograms():
    types = declared()
    rated = [m for e in expressions() for m in re.findall(r"rate\((dispatchd_\w+?)(?:_bucket|_sum|_count)?\{", e)]
    less(5, len(rated), "rates")
    equal([m for m in rated if types[m] == "gauge"], [])


main()
