"""graphs.py -- what tests of gradients share: a daemon, and short words for operators and gradients."""

from daemon import TestDaemon
from harness import equal, wait_until


class Graphs:
    """A daemon, and short words for its operators and gradients."""

    def __init__(self, daemon, d):
        self.daemon, self.d = daemon, d

    def leaf(self, data, dtype="float32"):
        t = self.d.call("tensor.create", data=data, dtype=dtype)["tensor"]
        self.op("requires_grad_", t)
        return t

    def op(self, name, *args):
        args = [{"tensor": a} if isinstance(a, int) else a for a in args]
        return self.d.call("op.call", op="aten::" + name, args=args)["outputs"][0]["tensor"]

    def of(self, t, name, *args):
        """An operator of one tensor; other arguments are no tensors."""
        return self.d.call("op.call", op="aten::" + name, args=[{"tensor": t}, *args])["outputs"][0]["tensor"]

    def data(self, t):
        return self.d.call("tensor.read", tensor=t)["data"]

    def grad(self, t):
        grad = self.d.call("grad.get", tensor=t)["grad"]
        return grad and self.data(grad["tensor"])

    def backward(self, *tensors, **options):
        return self.d.call("grad.backward", tensors=[{"tensor": t} for t in tensors], **options)

    def history(self):
        return self.d.call("session.get")["account"]["history"]["count"]


def setup():
    daemon = TestDaemon()
    return Graphs(daemon, daemon.connect())


def teardown(f):
    f.d.call("tensor.release", all=True)
    wait_until(lambda: f.history() == 0, "no history is left")  # a thread frees large graphs
    equal(f.d.call("server.status")["tensors"], 0)
    f.d.close()
    f.daemon.__exit__(None, None, None)
