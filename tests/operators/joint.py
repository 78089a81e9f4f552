"""joint.py -- the programs of a computation's gradients (program.grad), compared with backward on its calls: the same bits.

The calls are recorded by the daemon (trace.start), so that the program is what it heard."""

from compare import LINEAR, dispatchd, flat_tensors, raw, torch


# The shapes of results depend on elements.
BY_DATA = ("needs the bytes of its tensors", "returns a number that depends on the elements of tensors", "have no memory")


def same(a, b, exactly):
    """Have `a` and `b` the same bits, or nearly so?  All NaNs are the same here."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not exactly:
        return torch.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
    a, b = (torch.view_as_real(t) if t.is_complex() else t for t in (a, b))
    return raw(a.nan_to_num(0.5).reshape(-1)) == raw(b.nan_to_num(0.5).reshape(-1)) and torch.equal(a.isnan(), b.isnan())


class Joint:
    """The programs of `program` (gradients.Program) and what runs of them answer."""

    def __init__(self, replay, program):
        self.replay, self.client, self.program = replay, replay.client, program
        replay.sent = {}
        # LAPACK's last bits depend on where its matrices lie in memory.
        self.exactly = not any(LINEAR.search(name) for steps, _ in program.calls for name, _, _ in steps)
        self.given = [replay.put(t.detach(), True) for t in program.inputs]
        self.seeds = [replay.put(s) for s in program.seeds]
        self.trace()

    @staticmethod
    def name(i):
        return f"x{i}"

    def trace(self):
        """Record the calls; the tensors that none of them returned are inputs."""
        r, p = self.replay, self.program
        r.sent = {id(t): (h, t) for t, h in zip(p.inputs, self.given)}
        made = set()
        for steps, results in p.calls:
            for t in flat_tensors([[a, list(k.values())] for _, a, k in steps]):
                if id(t) not in made:
                    r.encode(t)
            made |= {id(t) for t in results}
        self.others = [h for h in dict.fromkeys(h for h, _ in r.sent.values()) if h not in self.given]
        self.client.call("trace.start", inputs=self.inputs(), whole=True)
        try:
            outs = r.repeat(p.calls, p.outs)
        except Exception:
            self.client.call("trace.stop", discard=True)
            raise
        names = {f"y{i}": {"tensor": h} for i, h in enumerate(outs)}
        try:
            self.traced = self.client.call("trace.stop", outputs=names)["program"]
        except Exception:
            self.client.call("trace.stop", discard=True)
            raise
        self.outs = outs
        self.seeds = [self.laid_out(s, t) for s, t in zip(self.seeds, outs)]
        self.want = r.backward(outs, self.seeds, self.given)

    def laid_out(self, seed, out):
        """A copy of `seed` with the strides that the programs expect: those of empty_like(out)."""
        made = self.client.op("aten::empty_like", {"tensor": out})
        self.client.op("aten::copy_", {"tensor": made["tensor"]}, {"tensor": seed})
        return made["tensor"]

    def inputs(self):
        named = {self.name(i): {"tensor": h} for i, h in enumerate(self.given)}
        return {**named, **{f"c{i}": {"tensor": h} for i, h in enumerate(self.others)}}

    def seeds_of(self, names):
        """The gradients of the outputs, by the names of the program's inputs: equal outputs share one."""
        return {f"grad_y{i}": {"tensor": h} for i, h in enumerate(self.seeds) if f"grad_y{i}" in names}

    def run(self, program, inputs):
        return self.client.call("program.run", program=program, inputs=inputs, grad_enabled=False)["outputs"]

    def compare(self, outs, grads, what):
        for kind, got, want in ("output", outs, self.outs), ("gradient", grads, self.want):
            for i, (g, w) in enumerate(zip(got, want)):
                g = g and g["tensor"]
                if (g is None) != (w is None):
                    return f"{what}: {kind} {i} is {'missing' if g is None else 'there'}"
                if w is not None and not same(self.replay.value(g), self.replay.value(w), self.exactly):
                    a, b = self.replay.value(g), self.replay.value(w)
                    return f"{what}: {kind} {i} differs by {(a - b).abs().max() if a.shape == b.shape else a.shape}"
        return None

    def check(self, **how):
        made = {}
        try:
            return self.differ(made, how)
        finally:
            for name in "program", "forward", "backward":
                if name in made:
                    self.client.call("program.release", program=made[name])

    def differ(self, made, how):
        """None, or what differs from backward; `made` gets the answer of program.grad."""
        made.update( self.client.call("program.grad", program=self.traced, inputs=self.inputs(), wrt=[self.name(i) for i in range(len(self.given))], **how))
        names = {i["name"] for i in self.client.call("program.describe", program=made["program"])["inputs"]}
        n = len(self.outs)
        joint = self.run(made["program"], {**self.inputs(), **self.seeds_of(names)})
        why = self.compare(joint[:n], joint[n:], "joint")
        forward = self.run(made["forward"], self.inputs())
        saved = {f"saved{i}": self.value(v) for i, v in enumerate(forward[n:])}
        backward = self.run(made["backward"], {**saved, **self.seeds_of(names)})
        if made["saved_bytes"] > made["default_bytes"]:
            return f"{how}: saves {made['saved_bytes']} bytes, default {made['default_bytes']}"
        return why or self.compare(forward[:n], backward, f"parts {how}")

    def value(self, v):
        """An output as an argument."""
        if isinstance(v, list):
            return [self.value(x) for x in v]
        return {"tensor": v["tensor"]} if isinstance(v, dict) and "tensor" in v else v


def joint(replay, program):
    """None, or why the programs of gradients differ from backward."""
    if not program.outs or len({id(t) for t in program.outs}) != len(program.outs):
        return None
    try:
        j = Joint(replay, program)
        try:
            return j.check() or j.check(partition="min_cut") or j.check(partition="min_cut", memory=10**15)
        except dispatchd.Error as e:
            if not any(why in str(e) for why in BY_DATA):
                raise
            return None
        finally:
            j.client.call("program.release", program=j.traced)
    finally:
        replay.end()
