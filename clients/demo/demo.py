"""demo.py -- functions of all parts of the demo: print text, check results, run dispatchctl."""

import json
import os
import shlex
import subprocess
import sys
import textwrap
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ["BUILD"]
DIR = os.environ["DEMO_DIR"]
sys.path.insert(0, os.path.join(ROOT, "clients", "python"))
import dispatchd


def title(text):
    print(f"\n== {text} ==\n", flush=True)


def say(text):
    print(textwrap.fill(text, 100), flush=True)


def check(condition, text):
    print(f"   {'checked' if condition else 'NOT SO '}: {text}", flush=True)
    if not condition:
        sys.exit(1)


def connect():
    """Connect; retry until the daemon listens, because it may have just been started."""
    for _ in range(1000):
        try:
            return dispatchd.connect(timeout=60)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.01)
    return dispatchd.connect()


def show(*command):
    """Run a command in the demo's directory and print it with its output, as a terminal would."""
    print(f"   $ {shlex.join(command)}", flush=True)
    done = subprocess.run(command, capture_output=True, text=True, cwd=DIR)
    print(textwrap.indent(done.stdout + done.stderr, "   "), end="", flush=True)
    if done.returncode != 0:
        check(False, f"{command[0]} ends with status 0, got {done.returncode}")
    return done.stdout


def ctl(*words):
    """Run dispatchctl and print it with its output."""
    return show("dispatchctl", *words)


def ctl_json(*words):
    """Run dispatchctl with --json, print it, and return its answer as an object."""
    return json.loads(ctl(*words, "--json"))


def build_plugin(name):
    show("cc", "-shared", "-fPIC", "-fvisibility=hidden", "-O2", "-I", "include",
         "-o", name + ".so", name + ".c")
