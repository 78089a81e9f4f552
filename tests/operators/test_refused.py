"""test_refused.py -- what the daemon refuses of PyTorch's error inputs changes nothing: versions, bytes and shapes of
the arguments, live tensors and the session's account.  A test is one backend call."""

import sys
import time

from compare import Both, dispatchd, torch  # ends the process where PyTorch is missing
from daemon import TestDaemon
from record import record_calls


def state(client, handles):
    tensors = [(client.call("tensor.describe", tensor=h), client.call("tensor.read", tensor=h, **{"as": "attachment"})) for h in handles]
    return tensors, client.call("session.get")["account"], client.call("server.status")["live_tensors"]


def why_not(both, name, args, kwargs):
    """None when the call is refused and nothing has changed, False when the daemon accepts it or cannot make its
    arguments, else what changed."""
    try:
        sent = [both.encode(a) for a in args], {k: both.encode(v) for k, v in kwargs.items()}
    except (dispatchd.Error, TypeError):
        return False
    before = state(both.client, both.handles)
    try:
        outputs = both.client.call("op.call", op="aten::" + name, args=sent[0], kwargs=sent[1])["outputs"]
        both.handles += [o["tensor"] for o in outputs if isinstance(o, dict) and "tensor" in o]
        return False
    except dispatchd.Error as e:
        after = state(both.client, both.handles)
        for _ in range(20):  # large tensors of the call before may be freed a moment later
            if after == before:
                return None
            time.sleep(0.1)
            before, after = (before[:2] + after[2:] if after[2] < before[2] else before), state(both.client, both.handles)
        return f"{e}: {after}, want {before}"


def main():
    passed = failed = left = 0
    with TestDaemon() as daemon, daemon.connect() as client, torch.no_grad():
        both = Both(client)
        for name, args, kwargs in record_calls.refused():
            why = why_not(both, name, args, kwargs)
            both.done()
            passed, failed, left = passed + (why is None), failed + bool(why), left + (why is False)
            if why:
                print(f"FAIL {name}: {why[:600]}", flush=True)
    print(f"{left} calls that PyTorch refuses are accepted, or have arguments that cannot be made")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
