"""test_sample_config.py -- daemon/dispatchd.conf, the config file that is installed, has every key, each with its
default."""

import os
import re
import subprocess
import tempfile

from harness import BUILD, ROOT, equal, less, main
from daemon import TestDaemon

DAEMON = os.path.join(BUILD, "dispatchd")
SAMPLE = os.path.join(ROOT, "daemon", "dispatchd.conf")
SETTING = re.compile(r"#([a-z][a-z_-]*) = (.+)")


def sample():
    """[(key, value, whether the value is an example and no default)] of the file.  "Default:" in a comment is about the
    settings that follow it in its paragraph."""
    found, example = [], False
    with open(SAMPLE) as f:
        for line in f.read().splitlines():
            match = SETTING.fullmatch(line)
            if match:
                found.append((match[1], match[2], example))
            else:
                equal(line == "" or line.startswith("# "), True, f"a comment, a setting or an empty line: {line!r}")
                example = line != "" and (example or "Default:" in line)
    return found


def dispatchd(text, *options):
    """What a daemon says of a config file with this text."""
    with tempfile.NamedTemporaryFile("w") as f:
        f.write(text)
        f.flush()
        return subprocess.run([DAEMON, "--config", f.name, *options], capture_output=True, text=True, timeout=60)


def help_of_options():
    text = subprocess.run([DAEMON, "--help"], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^  --([a-z-]+)(?: \S+)? {2,}(.*)$", text, re.M))


def limits(*options):
    with TestDaemon("--no-plugins", *options) as f, f.connect() as d:
        return d.call("server.hello")["limits"]


def is_taken(key):
    """Does a config file take this key?  Line 2 is wrong, so that no daemon starts."""
    said = dispatchd(f"{key} = x\nwrong\n").stderr
    return not re.search("only the command line may have this option|this limit is fixed", said)


def test_it_has_every_key():
    options, known = help_of_options(), limits()
    less(20, len(options), "options")
    less(60, len(known), "limits")
    with open(SAMPLE) as f:
        text = f.read()
    # an option that is another name of a limit stands in the comment of that limit
    wanted = {key for key in [*options, *known] if is_taken(key) and f"the option --{key} is the same" not in text}
    keys = [key for key, _, _ in sample()]
    equal(sorted(wanted - set(keys)), [], "keys that daemon/dispatchd.conf lacks")
    equal(sorted(set(keys) - wanted), [], "keys that no config file takes")
    equal(sorted({key for key in keys if keys.count(key) > 1}), [], "keys that are there twice")


def number(text):
    """65536 for "65,536" and for "64 KiB", 5000 for "5 s"."""
    value, _, unit = text.replace(",", "").partition(" ")
    return int(value) * {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "ms": 1, "s": 1000, "h": 3600000}[unit]


def limits_table():
    """(name, default) of each limit in the table of docs/operating.md; the default is None where the columns have no pair
    of a name and a default."""
    with open(os.path.join(ROOT, "docs", "operating.md")) as f:
        section = f.read().split("\n## Limits\n")[1].split("\n## ")[0]
    for row in re.findall(r"^\|(.*)\|$", section, re.M)[2:]:
        _, names, defaults, _ = row.split("|")
        names = re.findall(r"`(\w+)`", names)
        values = re.findall(r"(\d[\d,]*(?:\^\d+)?(?: [KMG]iB| s| h)?)(?:, |[ ;]*$)", defaults)
        yield from zip(names, values if len(values) == len(names) else [None] * len(names))


def test_the_table_of_limits_has_every_key():
    listed, known, options = dict(limits_table()), limits(), help_of_options()
    settings = {key: value for key, value, _ in sample() if key in known and key not in options}
    equal(sorted(set(settings) - set(listed)), [], "limits that docs/operating.md lacks")
    equal(sorted(set(listed) - set(known)), [], "limits in docs/operating.md that the daemon does not have")
    compared = 0
    for name, value in listed.items():
        if value and name in settings:
            compared += 1
            equal(number(value), number(settings[name]), f"default of {name}")
    less(45, compared, "defaults that are compared")


def test_every_line_can_be_switched_on():
    done = dispatchd("".join(f"{key} = {value}\n" for key, value, _ in sample()), "--version")
    equal((done.returncode, done.stderr), (0, ""), "status and errors with every line switched on")
    done = subprocess.run([DAEMON, "--config", SAMPLE, "--version"], capture_output=True, text=True, timeout=60)
    equal((done.returncode, done.stderr), (0, ""), "status and errors of the file as it is")


def test_its_limits_are_the_defaults():
    known, options = limits(), help_of_options()
    settings = [row for row in sample() if row[0] in known and row[0] not in options]
    with tempfile.NamedTemporaryFile("w") as f:
        f.write("".join(f"{key} = {value}\n" for key, value, example in settings if not example))
        f.flush()
        equal(limits("--config", f.name), known, "limits with every default switched on, and without a config file")
    equal(sorted(key for key, _, example in settings if example), ["session_intermediate_bytes", "session_tensor_bytes", "uid_bytes",
                                                               "uid_connections", "uid_descriptors", "uid_maps", "uid_memfds", "uid_named_bytes",
                                                               "uid_sessions"],
          "limits whose default depends on the machine or on another limit")


def test_its_options_have_the_defaults_of_the_help():
    texts = help_of_options()
    for key, value, example in sample():
        said = re.search(r"\(default:? (.*)\)|(\w+) \(default\)", texts.get(key, ""))
        if said and not example:
            equal(value, said[1] or said[2], f"default of {key}")


main()
