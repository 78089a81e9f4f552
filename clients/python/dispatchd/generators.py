"""generators.py -- random numbers: generators, seeds and states, which are PyTorch's."""

from __future__ import annotations

import os

from .connection import Connection
from .defaults import current
from .encode import encode
from .tensors import Tensor, wrap


def _seed_text(seed: int) -> str:
    seed = int(seed)
    if not -(1 << 63) <= seed < 1 << 64:
        raise ValueError(f"a seed is {seed}: it takes {-(1 << 63)} to {(1 << 64) - 1}")
    return f'"{seed - (1 << 64) if seed >= 1 << 63 else seed}"'


class Generator:
    """A random number generator: with the same seed it draws the numbers of torch.Generator."""

    __slots__ = ("_c", "_h", "device", "_seed")

    def __init__(self, device: str = "cpu") -> None:
        c = current()
        answer = c.call("generator.create", device=device)
        self._c, self._h, self.device, self._seed = c, answer["generator"], device, int(answer["seed"])

    @classmethod
    def _of(cls, c: Connection, handle: int) -> "Generator":
        self = cls.__new__(cls)
        self._c, self._h, self.device, self._seed = c, handle, "cpu", 0
        return self

    def __del__(self) -> None:
        c = getattr(self, "_c", None)
        if c is not None:
            c.session.forget(c, "generator.release", "generators", [self._h])

    def _handle_on(self, c: Connection) -> str:
        self._c.session.check(c, "a generator")
        if c is not self._c and c.pipelined:
            c.holding(self)
        return f'{{"generator":{self._h}}}'

    def manual_seed(self, seed: int) -> "Generator":
        """Begin again with a seed, and return the generator."""
        seed = int(seed)
        c = self._c.session.here()
        fresh = c.call("generator.create", device=self.device, seed=seed if seed >= 0 else str(seed))
        state = c.call("generator.state", generator=fresh["generator"])["state"]
        self.set_state(wrap(state, c))
        c.call("generator.release", generators=[fresh["generator"]])
        self._seed = seed
        return self

    def seed(self) -> int:
        """Begin again with a seed of the system, and return it."""
        seed = int.from_bytes(os.urandom(8), "little") >> 1
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """Return the seed with which the generator began."""
        return self._seed

    def get_state(self) -> Tensor:
        """Return the state as a tensor of bytes, for set_state() or torch.Generator.set_state()."""
        c = self._c.session.here()
        return wrap(c.call("generator.state", generator=self._h)["state"], c)  # type: ignore[no-any-return]

    def set_state(self, state: Tensor) -> None:
        """Continue from a state of get_state()."""
        c = self._c.session.here()
        c.waited("generator.set_state", f'"generator":{self._h},"state":{encode(state, c)}')


def manual_seed(seed: int) -> None:
    """Seed the session's default generators, as torch.manual_seed() does."""
    c = current()
    c.waited("session.set", f'"seed":{_seed_text(seed)}')


def seed() -> int:
    """Seed the default generators with a number of the system, and return it."""
    value = int.from_bytes(os.urandom(8), "little") >> 1
    manual_seed(value)
    return value



def get_rng_state() -> Tensor:
    """Return the state of the session's default generator of the CPU."""
    c = current()
    return wrap(c.call("generator.state")["state"], c)  # type: ignore[no-any-return]


def set_rng_state(state: Tensor) -> None:
    """Continue the session's default generator of the CPU from a state."""
    c = current()
    c.waited("generator.set_state", f'"state":{encode(state, c)}')
