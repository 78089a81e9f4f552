"""exposition.py -- reads Prometheus's text format (version 0.0.4) and checks that it is valid.

    samples = exposition.read(text)
    samples["dispatchd_calls_total"][(("operator", "aten::add.Tensor"), ...)]      a float

read() raises AssertionError with the number of the first line that is wrong.  It checks what
https://prometheus.io/docs/instrumenting/exposition_formats/ demands and, of the naming rules, that
counters end in _total, that times are seconds and that sizes are bytes."""

import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|\})')
VALUE = re.compile(r"[+-]?(\d+(\.\d*)?([eE][+-]?\d+)?|Inf)|NaN")
TYPES = ("counter", "gauge", "histogram")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}
UNITS = re.compile(r"_(millis|milliseconds|micros|microseconds|nanos|nanoseconds|ms|us|ns|kb|mb|kib|mib)(_|$)")
UNESCAPE = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


class Reader:
    def __init__(self):
        self.samples = {}
        self.types = {}
        self.helps = set()
        self.family = None   # of the last line
        self.closed = set()  # families that other lines followed

    def enter(self, family):
        if family == self.family:
            return
        assert family not in self.closed, f"the lines of {family} are apart"
        if self.family is not None:
            self.closed.add(self.family)
        self.family = family

    def comment(self, line):
        words = line.split(" ", 3)
        assert len(words) == 4 and words[1] in ("HELP", "TYPE"), "a comment that is neither HELP nor TYPE"
        name, rest = words[2], words[3]
        assert NAME.fullmatch(name), f"the name '{name}'"
        self.enter(name)
        if words[1] == "HELP":
            assert name not in self.helps, f"a second HELP of {name}"
            assert rest and not re.search(r"\\(?![\\n])", rest), f"the help of {name}"
            self.helps.add(name)
            return
        assert name not in self.types and rest in TYPES, f"TYPE {name} {rest}"
        self.types[name] = rest
        check_name(name, rest)

    def sample(self, line):
        name = NAME.match(line)[0]
        family = self.family_of(name)
        self.enter(family)
        at, labels = len(name), []
        if line[at] == "{":
            at += 1
            while True:
                found = LABEL.match(line, at)
                assert found, f"a label at column {at + 1}"
                labels.append((found[1], re.sub(r"\\.", lambda m: UNESCAPE[m[0]], found[2])))
                at = found.end()
                if found[3] == "}":
                    break
        names = [n for n, _ in labels]
        assert len(set(names)) == len(names), f"a label twice: {names}"
        assert line[at] == " " and VALUE.fullmatch(line[at + 1:]), f"the value '{line[at + 1:]}'"
        of = self.samples.setdefault(name, {})
        assert tuple(labels) not in of, "the labels of an earlier sample"
        of[tuple(labels)] = float(line[at + 1:])

    def family_of(self, name):
        if name in self.types:
            assert self.types[name] != "histogram", "a sample of a histogram without a suffix"
            return name
        for family, type_ in self.types.items():
            if any(name == family + suffix for suffix in SUFFIXES.get(type_, ())):
                return family
        raise AssertionError(f"{name} before its TYPE")

    def check_histogram(self, name):
        buckets = {}
        for labels, value in self.samples.get(name + "_bucket", {}).items():
            assert labels[-1][0] == "le", f"{name}: the last label is not le"
            buckets.setdefault(labels[:-1], []).append((float(labels[-1][1]), value))
        for suffix in "_sum", "_count":
            assert set(self.samples.get(name + suffix, {})) == set(buckets), f"{name}{suffix}: other labels than _bucket"
        for labels, rows in buckets.items():
            assert rows == sorted(rows), f"{name}{labels}: buckets {rows}"
            assert len({le for le, _ in rows}) == len(rows), f"{name}{labels}: a bound twice"
            assert rows[-1] == (float("inf"), self.samples[name + "_count"][labels]), f"{name}{labels}: +Inf, {rows[-1]}"
            assert [n for _, n in rows] == sorted(n for _, n in rows), f"{name}{labels}: not cumulative"


def check_name(name, type_):
    assert name.endswith("_total") == (type_ == "counter"), f"{name}: a {type_}"
    assert not UNITS.search(name), f"{name}: no base unit"


def read(text):
    """Return {name: {labels: value}}; labels is a tuple of (name, value)."""
    reader = Reader()
    assert text.endswith("\n"), "no LF at the end"
    for number, line in enumerate(text[:-1].split("\n"), 1):
        try:
            assert line, "an empty line"
            (reader.comment if line.startswith("#") else reader.sample)(line)
        except (AssertionError, IndexError, TypeError) as e:
            raise AssertionError(f"line {number}: {e}: {line}") from None
    for name, type_ in reader.types.items():
        assert name in reader.helps, f"{name}: no HELP"
        if type_ == "histogram":
            reader.check_histogram(name)
    return reader.samples


def value(samples, name, **labels):
    """The sum of the samples of a metric that have these labels."""
    found = [v for have, v in samples.get(name, {}).items() if labels.items() <= dict(have).items()]
    return sum(found)
