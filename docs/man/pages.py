#!/usr/bin/env python3
"""pages.py -- makes the manual pages of `make install`: texts of this folder, with the tables that programs print.

    pages.py TEMPLATE VERSION DATE BUILD     prints the page

In the template @VERSION@ and @DATE@ stand for themselves, @DAEMON_OPTIONS@ for the options of
BUILD/dispatchd --help, @VERBS@ and @OPTIONS@ for those of BUILD/dispatchctl --help, so that a page
never lacks an option or a verb."""

import os
import re
import subprocess
import sys

# "  --socket PATH    listen here": a row of the daemon's help, or of the client's common options
OPTION = re.compile(r"^  (--[a-z-]*)(?: ([^ ]+))? {2,}(.*)$", re.M)
# "  plugin load FILE [--reject]", and below it what it does
VERB = re.compile(r"^  ([a-z]+(?: [a-z]+)?)(?: (?=[^a-z]|[a-z]+[|=])(.*))?\n      (.*)$", re.M)


def roff(text):
    """Text as roff prints it: hyphens of options as ASCII, and no control lines."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def paragraph(term, text):
    return f".TP\n{term}\n{roff(text)}\n"


def options(help_text):
    found = OPTION.findall(help_text)
    rows = [paragraph(f"\\fB{roff(name)}\\fR" + (f" \\fI{roff(value)}\\fR" if value else ""), text)
            for name, value, text in found]
    # each line that begins with an option must have been understood
    if len(rows) != len(re.findall(r"^  --", help_text, re.M)) or not rows:
        raise SystemExit("pages.py: cannot read all options of:\n" + help_text)
    return "".join(rows)


def verbs(help_text):
    rows = [paragraph(f"\\fB{roff(name)}\\fR" + (f" {roff(arguments)}" if arguments else ""), text)
            for name, arguments, text in VERB.findall(help_text)]
    if 2 * len(rows) != len(re.findall(r"^  +[^ ]", help_text, re.M)) or not rows:
        raise SystemExit("pages.py: cannot read all verbs of:\n" + help_text)
    return "".join(rows)


def asked(build, program):
    return subprocess.run([os.path.join(build, program), "--help"], capture_output=True, text=True, check=True).stdout


def page(template, version, date, build):
    with open(template) as f:
        text = f.read()
    # comments of the template are for its authors; the first line of a page says how to read it
    text = re.sub(r'^\.\\".*\n', "", text, flags=re.M)
    if "@DAEMON_OPTIONS@" in text:
        text = text.replace("@DAEMON_OPTIONS@\n", options(asked(build, "dispatchd")))
    if "@VERBS@" in text:
        first, second = asked(build, "dispatchctl").split("\nOptions of every verb:\n")
        text = text.replace("@VERBS@\n", verbs(first)).replace("@OPTIONS@\n", options(second.split("\n\n")[0]))
    return text.replace("@VERSION@", version).replace("@DATE@", date)


if __name__ == "__main__":
    sys.stdout.write(page(*sys.argv[1:]))
