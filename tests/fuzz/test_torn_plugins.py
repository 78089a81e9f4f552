"""test_torn_plugins.py -- plugin files that are damaged, loaded into a living daemon by a client: each
answer is a success or an error with a name, and the daemon lives.

Every 64 bytes of template.so: cut off there, zeros from there on, zeros in that window.  FUZZ_SEED
chooses a share of them where the whole would take too long; FUZZ_ALL=1 takes the whole."""

import os
import random
import time

from harness import BUILD, SANITIZED, equal, less, main
from daemon import TestDaemon
import dispatchd

STEP = 64
SHARE = 1 if os.environ.get("FUZZ_ALL") else 16 if SANITIZED else 1  # one in so many
SEED = int(os.environ.get("FUZZ_SEED", "7"))
REFUSALS = {"PluginError", "AbiMismatch", "ValueError", "TypeError"}

DAMAGES = {
    "cut": lambda whole, at: whole[:at],
    "zero tail": lambda whole, at: whole[:at] + bytes(len(whole) - at),
    "zero window": lambda whole, at: whole[:at] + bytes(STEP) + whole[at + STEP:],
}


def load(d, path, name):
    """What became of loading it: "loaded", or the error's type and whether its trial load died."""
    try:
        report = d.call("plugin.load", path=path)
    except dispatchd.Error as e:
        equal(e.type in REFUSALS, True, f"{name}: {e}")
        equal(path in e.message or "'template'" in e.message, True, f"{name}: {e}")
        return "died" if "died of signal" in e.message else e.type
    d.call("plugin.unload", plugin=report["plugin"])
    return "loaded"


def test_every_tear_is_an_answer():
    with open(os.path.join(BUILD, "plugins", "template.so"), "rb") as f:
        whole = f.read()
    cases = [(kind, at) for at in range(0, len(whole), STEP) for kind in DAMAGES]
    random.Random(SEED).shuffle(cases)
    cases, seen, start = cases[:len(cases) // SHARE], {}, time.monotonic()
    with TestDaemon("--no-plugins") as daemon, daemon.connect() as d:
        path, before = os.path.join(daemon.dir, "torn.so"), d.call("registry.dump")["text"]
        for kind, at in cases:
            with open(path + ".new", "wb") as f:
                f.write(DAMAGES[kind](whole, at))
            os.rename(path + ".new", path)
            result = load(d, path, f"{kind} at {at}")
            seen[result] = seen.get(result, 0) + 1
        print(f"     {len(cases)} files in {time.monotonic() - start:.1f} s: {seen}")
        equal(d.call("registry.dump")["text"], before)
        equal((d.call("plugin.list")["plugins"], d.call("registry.check")["ok"]), ([], True))
        equal([m for m in daemon.maps() if "template" in m], [], "still mapped")
    if not SANITIZED:  # where a death may end as an exit
        less(0, seen.get("died", 0), "files that killed the child")
    less(0, seen.get("loaded", 0), "files that could be loaded all the same")


main()
