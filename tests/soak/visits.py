"""visits.py -- a client of the soak: one thread that connects, does what comes next and leaves, again and again.

An action is a function of actions.py or rude.py that takes a Visit.  It raises AssertionError if an answer is
wrong, and dispatchd.Error if one is refused that must not be.  One action in four is a visit of a client that is
doomed: its connection ends after some bytes sent or some messages received, in the middle of the action."""

import fcntl
import os
import random
import struct
import time
import traceback

import dispatchd
import operators

DOOMED = 0.25
ADD_SEALS, SEAL_SHRINK = 1033, 2  # of fcntl.h; Python has names for them since 3.12
WAIT = 300  # seconds until an answer counts as lost


class Gone(Exception):
    """The connection of a client that was doomed has ended."""


class Doomed(dispatchd.Client):
    """A client that leaves after `bytes_` bytes sent or `answers` messages received, whatever comes first."""

    bytes_, answers = 1 << 30, 1 << 30

    def _send_parts(self, parts, fds=()):
        size = sum(map(len, parts))
        if size < self.bytes_:
            self.bytes_ -= size
            super()._send_parts(parts, fds)
            return
        if self.bytes_ > 0:
            super()._send_parts([b"".join(parts)[:self.bytes_]], fds)
        raise Gone

    def _next_message(self):  # which call(), receive() and receive_message() read
        if self.answers == 0:
            raise Gone
        self.answers -= 1
        return super()._next_message()


class Visit:
    """One connection and those that an action opens beside it, all of them doomed or none."""

    def __init__(self, person, doomed):
        self.person, self.rnd, self.shared, self.doomed = person, person.rnd, person.shared, doomed
        self.opened = []
        self.d = self.connect()

    def connect(self):
        """Another connection, which ends with the visit."""
        d = dispatchd.connect(self.shared.socket, WAIT)
        self.opened.append(d)
        if self.doomed:
            d.__class__ = Doomed
            if self.rnd.random() < 0.5:
                d.bytes_ = int(self.rnd.expovariate(1 / 600))
            else:
                d.answers = int(self.rnd.expovariate(1 / 2))
        return d

    def name(self, what):
        """A name that nobody else uses."""
        self.person.names += 1
        return f"{what}-{self.person.number}-{self.person.names}"

    def end(self):
        for d in self.opened:
            if not self.doomed and self.rnd.random() < 0.2:
                try:
                    d.half_close()
                except OSError:
                    pass
            d.close()

    # -- tensors in and out --

    def given(self, x, dtype):
        """A matrix as an argument, by one of the ways to pass it."""
        d, way = self.d, self.rnd.randrange(6)
        data, shape = operators.pack(x, dtype), [len(x), len(x[0])]
        if way == 0:
            return {"dtype": dtype, "data": x}
        if way == 1:
            return {"dtype": dtype, "shape": shape, "attachment": data}
        if way == 2:
            return {"dtype": dtype, "shape": shape, "fd": dispatchd.share(data)}
        if way == 3:
            return {"dtype": dtype, "shape": shape, "fd": writable(data)[0]}
        if way == 4:
            return {"tensor": d.call("tensor.create", dtype=dtype, data=x)["tensor"]}
        handle = -self.rnd.randrange(1, 1 << 40)
        d.send("tensor.create", dtype=dtype, shape=shape, attachment=data, into=handle)
        d.receive()
        return {"tensor": handle}

    def call(self, op, *args, **kwargs):
        """Call an operator and return the elements of its result, which come by one of the ways there are."""
        how = self.rnd.choice(("data", "attachment", "handle"))
        return self.elements(self.d.op(op, *args, returns=how, **kwargs))

    def elements(self, t):
        if isinstance(t, list):
            return [self.elements(one) for one in t]
        if "attachment" in t:
            return operators.unpack(t["attachment"], t["dtype"], t["shape"])
        return t["data"] if "data" in t else self.read(t["tensor"])

    def read(self, handle):
        how = self.rnd.choice(("json", "attachment", "fd"))
        if how != "fd":
            return self.elements(self.d.call("tensor.read", tensor=handle, **{"as": how}))
        t, memory = self.d.map(handle)
        found = operators.unpack(memory, t["dtype"], t["shape"], t["strides"])
        memory.release()
        if self.rnd.random() < 0.7:  # else it stays until the connection ends, or all maps are taken
            self.d.unmap(t["map"])
        return found


def writable(data):
    """An Fd of a memfd that stays writable, and its descriptor."""
    fd = os.memfd_create("soak", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    fcntl.fcntl(fd, ADD_SEALS, SEAL_SHRINK)
    return dispatchd.Fd(fd), fd


def floats(*values):
    return struct.pack(f"{len(values)}f", *values)


def check(got, want, what):
    if not operators.same(got, want):
        raise AssertionError(f"{what}: got {str(got)[:500]}, want {str(want)[:500]}")


def refused(fn, *types):
    """fn() must fail with one of these types of error; returns the error."""
    try:
        got = fn()
    except dispatchd.Error as e:
        if e.type in types:
            return e
        raise
    raise AssertionError(f"got {str(got)[:500]}, want an error of type {types}")


def perhaps(fn, *types):
    """What fn() returns; None: it failed with one of these types of error."""
    try:
        return fn()
    except dispatchd.Error as e:
        if e.type not in types:
            raise
        return None


class Person:
    """shared: what all have in common (socket, folder, build, seed, actions); number: who it is."""

    def __init__(self, shared, number):
        self.shared, self.number, self.names = shared, number, 0
        self.rnd = random.Random(f"{shared.seed} {number}")
        self.ran, self.left, self.fault = dict.fromkeys(shared.actions, 0), dict.fromkeys(shared.actions, 0), None

    def stay(self, end):
        """Go through all actions in random order, again and again, until the time `end` or a fault."""
        deck = []
        while time.monotonic() < end and self.fault is None:
            doomed = self.rnd.random() < DOOMED
            visit, doing = None, "connect"
            try:
                visit = Visit(self, doomed)
                for _ in range(1 if doomed else self.rnd.randint(1, 6)):
                    if time.monotonic() > end:
                        break
                    deck = deck or self.rnd.sample(list(self.ran), len(self.ran))
                    doing = deck.pop()
                    self.shared.actions[doing](visit)
                    self.ran[doing] += 1
            except Gone:
                self.left[doing] += 1
            except Exception:
                self.fault = f"client {self.number}{' (doomed)' * doomed}, {doing}:\n{traceback.format_exc()}"
            finally:
                if visit is not None:
                    visit.end()
