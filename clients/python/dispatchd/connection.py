"""connection.py -- a connection as tensors use it: calls that need no handle from the daemon, releases that ride on
the next message, pipelining and threads.

A call of an operator that returns one tensor chooses the handle of its result itself, an integer below 0, and its
answer is kept as the line that came: most programs never look at the shape of an intermediate result."""

from __future__ import annotations

import collections
import json
import socket
import threading
import weakref
from copy import copy
from itertools import repeat, starmap

from . import private
from .client import Client
from .errors import Closed, DaemonLost, Error, call_site, from_answer
from .session import Session, sweep
from .tracebacks import install_in_threads
from .wire import from_wire

TYPE_CHECKING = False  # importing typing takes longer than the rest of the package
if TYPE_CHECKING:
    from typing import Any

_FLUSH_BYTES = 1 << 13  # pipelined requests are sent in pieces of this size
_MOST_PENDING = 500  # pipelined requests without an answer, below the daemon's limit of 1,000
_SWEEP = 255  # a request in 256 looks for threads that have ended
_ID_AT = len('{"jsonrpc":"2.0","id":')
_RELEASE = '{"jsonrpc":"2.0","method":"tensor.release","params":{"tensors":[%s]}}\n'
_decode = json.JSONDecoder().decode
# A Cell is [answer, id, site]: what is known of one request.  answer: None until it has come, then its line, then
# the dict of the tensor or an Error.  site: (code, line number) of the call, if nobody waited for the answer.  There
# follow the connection, and what must live until the answer has come.
if TYPE_CHECKING:
    Cell = list[Any]
else:
    Cell = list
_MAKE = {"op.call", "program.run", "grad.backward", "grad.get"}  # methods whose results are new handles
_CLOSED = "the connection was closed: dispatchd.connect() makes another"
_UNWANTED = "unwanted"  # the site of a request whose wait was interrupted: its results are released

local = threading.local()  # .current, .stack: see defaults.py and __enter__()
_all: "weakref.WeakSet[Connection]" = weakref.WeakSet()
install_in_threads()


class Handle(weakref.ref):  # type: ignore[type-arg]
    """A weak reference to a tensor that knows its handle.  When the tensor dies it is appended to the handles that
    are to be released, by C code alone: no signal handler can come between."""

    __slots__ = ("number",)

    number: int


class Connection(Client):
    """A connection to the daemon, made by connect(): a Client, and the place where tensors live.

    Connections can be open side by side.  Functions of tensors go to the tensors' connection; functions that make
    tensors go to the thread's current one: `with connection:` or `use(connection)` makes it that."""

    def __init__(self, sock: socket.socket, timeout: float | None = None, session: Session | None = None) -> None:
        super().__init__(sock, timeout)
        self.lock = threading.RLock()
        self.thread = threading.get_ident()
        self.thread_object = weakref.ref(threading.current_thread())
        self.session = session or Session(self)
        self.pipelined = self._lines_bytes = 0  # depth of `with pipelined():`; bytes of _lines
        self._pending: collections.deque[Cell] = collections.deque()  # requests without an answer
        self._lines: list[str] = []  # requests that are not sent yet
        self._alive: dict[int, Handle] = {}  # by handle, so that the references live
        self._drops: collections.deque[Any] = collections.deque()  # Handles and numbers to be released
        self._dropped = self._drops.append
        self._held: list[Any] = []  # tensors made of arrays for the next call, which nobody else refers to
        self._taken: list[Any] = []  # what was in _drops and is to be released by the next message
        self._restore: dict[str, str] = {}  # modes that a `with` has restored, for the next message
        self._unowned = 0  # a handle for which no tensor is there yet
        self._unclaimed: list[Cell] = []  # calls whose results are not tensors yet: an interrupt may keep them from it
        self._recording: Any = None  # while a function is recorded as a program, its Recording
        self._tracing: Any = None  # inside `with trace():`, what gets the kernels of each call
        self._last_handle = self.session.first_handle()
        self._failed: Cell | None = None  # the first pipelined call that has failed and that nobody knows of
        _all.add(self)

    # -- requests ---------------------------------------------------------------------------------

    def submit(self, op: str, args: str, more: str) -> tuple[int, Cell]:
        """Call an operator that returns one tensor; return the handle and the cell of its result.

        args: the arguments as JSON, without brackets; more: "" or further params, beginning with a comma."""
        with self.lock:
            handle = self.new_handle()
            return handle, self.request("op.call", f'"op":"{op}","args":[{args}],"into":{handle}{more}', handle)

    def new_handle(self) -> int:
        """Return a number for a result, which is released if the call is interrupted before it has become a tensor."""
        if self._unowned:
            self._drops.append(self._unowned)
        self._last_handle = self._unowned = handle = self._last_handle - 1
        return handle

    def forget(self, method: str, name: str, what: Any) -> None:
        """Send a notification before the next message.  It takes no lock: Python frees objects anywhere, any time."""
        self._dropped('{"jsonrpc":"2.0","method":"%s","params":{"%s":%s}}\n' % (method, name, what))

    def request(self, method: str, params: str, into: int = 0) -> Cell:
        """Send a request whose answer has no attachment; wait for the answer unless calls are pipelined.

        into: the handle that the request makes; it is released if the wait is interrupted."""
        with self.lock:
            if self._restore and method != "session.set":
                self.send_modes()
            self._last_id = id_ = self._last_id + 1
            if not id_ & _SWEEP and self.session.members and (first := self.session.first()) is not None:
                sweep(self.session.members, first)
            cell: Cell = [None, id_, None, self]
            line = f'{{"jsonrpc":"2.0","id":{id_},"method":"{method}","params":{{{params}}}}}\n'
            while self._unclaimed:  # a call was interrupted before its results became tensors
                self._drop_outputs(_decode(self._unclaimed.pop()[0].decode()).get("result"))
            if self._tracing is not None and method == "op.call":
                return self._traced(params, cell)
            if self._recording is not None:
                params = self._recording.add(method, params, into, cell)
                line = f'{{"jsonrpc":"2.0","id":{id_},"method":"{method}","params":{{{params}}}}}\n'
            elif (self._drops or self._taken) and not self.pipelined:
                line = self._release_line() + line
            if self._held:
                if self.pipelined:  # another connection may release its tensors before this line is sent
                    cell.extend(self._held)
                self._held.clear()  # released behind this call
            # A line that the daemon may refuse to read is waited for: its handle would not even be a failed one, and a
            # release of it would keep the others of the same message.
            if self.pipelined and len(line) <= _FLUSH_BYTES and "\\u" not in line and "[[[[[[[[" not in line:
                cell[2] = call_site()
                self._lines.append(line)
                self._pending.append(cell)
                self._lines_bytes += len(line)
                if self._lines_bytes > _FLUSH_BYTES:
                    self._flush_lines()
                return cell
            try:
                if self.session.closed:
                    raise self.session.error()
                if self._pending:
                    self.settle()
                parts, none = [[line.encode()]], list[object]()
                if self._out or self._begun:
                    self._resume()
                # No signal handler runs between these two steps: CPython looks for signals behind a call.
                self._out, self._taken = parts, none
                self._pending.append(cell)
                self._flush()
                self._take_until(id_)
            except BaseException as e:
                if into:
                    self._unowned = 0
                    self._drops.append(into)
                else:
                    self._disown([cell])
                if isinstance(e, OSError):
                    raise self._lost(e) from None
                raise
        answer = cell[0]
        if answer.__class__ is not bytes:
            self._unowned = 0
            raise copy(answer)
        return cell

    def _traced(self, params: str, cell: Cell) -> Cell:
        """Call an operator, wait, and give the kernels that ran to the trace."""
        tracing, self._tracing = self._tracing, None
        try:
            depth, self.pipelined = self.pipelined, 0
            done = self.request("op.call", params + ',"trace":true')
            tracing.add(_decode(done[0].decode())["result"])
            return done
        finally:
            self._tracing = tracing
            self.pipelined = depth

    def holding(self, made: Any) -> None:
        """Keep a tensor until the next call is sent; if nobody waits for it, until its answer has come."""
        self._held.append(made)

    def _release_line(self) -> str:
        """Return the message that releases what was dropped; when it is stored in _out, _taken becomes empty."""
        drops = self._drops
        self._taken.extend(starmap(drops.popleft, repeat((), len(drops))))  # in one step for signal handlers
        handles, lines = [], [""]
        for ref in self._taken:
            if ref.__class__ is not Handle:  # of a call that was interrupted: if there is none, no other is to be kept
                lines.append(ref if ref.__class__ is str else _RELEASE % ref)
            elif (number := getattr(ref, "number", None)) is not None:
                handles.append(number)
                self._alive.pop(number, None)
        if handles:
            lines[0] = _RELEASE % ",".join(map(str, handles))
        return "".join(lines)

    def send_modes(self) -> None:
        """Send the modes that the ends of `with` blocks have restored."""
        while self._restore:
            member, text = next(iter(self._restore.items()))
            try:
                self.request("session.set", f'"{member.partition(" ")[0]}":{text}')
            except Error:
                del self._restore[member]
                raise
            self._restore.pop(member, None)

    def _drop_fd(self, result: dict[str, Any]) -> None:
        """End the map of an answer that nobody waits for; the next message closes its descriptor."""
        if isinstance(result.pop("fd", None), int) and "map" in result:
            self.notify("map.release", maps=[result["map"]])

    def send_releases(self) -> None:
        """Release what was dropped without another message."""
        parts, none = [[self._release_line().encode()]], list[object]()
        if self._out or self._begun:
            self._resume()
        self._out, self._taken = parts, none
        self._flush()

    def _flush_lines(self) -> None:
        if self.session.closed:
            raise self.session.error()
        try:
            if self._out or self._begun:
                self._resume()
            # the last uses of what was dropped are among the lines, or before
            releases = self._release_line() if self._recording is None and (self._drops or self._taken) else ""
            parts, none, nothing = [[("".join(self._lines) + releases).encode()]], list[str](), list[object]()
            self._out, self._lines, self._lines_bytes, self._taken = parts, none, 0, nothing  # in one step for signal handlers
            self._flush()
            if len(self._pending) > _MOST_PENDING:
                self._take_until(self._pending[_MOST_PENDING // 2][1])
        except OSError as e:
            raise self._lost(e) from None

    # -- answers ----------------------------------------------------------------------------------

    def settle(self) -> None:
        """Send what waits and take the answers of all requests.  Their errors are kept for who reads their results."""
        with self.lock:
            if self._lines:
                self._flush_lines()
            if self._pending:
                try:
                    if self._out or self._begun:
                        self._resume()
                    self._take_until(self._pending[-1][1])
                except OSError as e:
                    raise self._lost(e) from None

    def _take_until(self, id_: int) -> None:
        """Take answers until that of request `id_` has come."""
        pending = self._pending
        while pending and pending[0][1] <= id_:
            end = self._line_end()
            data, at = self._in[1][0], self._in[0]
            line = data[at:end]
            number = line[_ID_AT:line.find(b",", _ID_AT)]
            try:
                got = int(number)
            except ValueError:  # a notification, or an error about a line that the daemon could not read
                message = self._next_message()
                if "id" in message:
                    self._fail(pending.popleft(), message["error"])
                else:
                    self.notifications.append(message)
                continue
            if got < pending[0][1]:  # the answer of a call that was interrupted
                self._drop_answer()
                continue
            self._in[:] = [end, self._in[1]] if end < len(data) else [0]
            while pending and pending[0][1] < got:
                pending.popleft()[0] = Closed("the call was interrupted before it was sent")
            if pending:
                cell = pending.popleft()
                if cell[4:]:
                    del cell[4:]
                if cell[2] is _UNWANTED:
                    self._drop_outputs(_decode(line.decode()).get("result"))
                elif line.startswith(b'"error"', _ID_AT + len(number) + 1):
                    self._fail(cell, _decode(line.decode())["error"])
                else:
                    cell[0] = line

    def _fail(self, cell: Cell, error: dict[str, Any]) -> None:
        cell[0] = e = from_answer(error)
        if cell[2] is not None and cell[2] is not _UNWANTED:
            code, number = cell[2]
            e.site = code.co_filename, number
            cause = e.data.get("cause")
            first = self._failed[0] if self._failed is not None else None
            if cause and isinstance(first, Error):
                cell[0] = first  # the call that failed first is the one to be named
            else:
                e.add_note(f"The call that failed: {code.co_filename}, line {number}, in {code.co_name}")
                if self._failed is None:
                    self._failed = cell

    def _drop_answer(self) -> None:
        """Receive an answer that nobody waits for, and release the tensors in it."""
        message = self._next_message()
        self._given.pop(message.get("id"), None)
        result = message.get("result")
        if isinstance(result, dict):
            self._drop_fd(result)
        self._drop_outputs(result)

    def _drop_outputs(self, result: Any) -> None:
        if isinstance(result, dict):
            loaded = result.get("tensors")
            for output in [*(result.get("outputs") or ()), *(result.get("grads") or ()), result.get("grad"),
                           *(loaded.values() if isinstance(loaded, dict) else ())]:
                for t in output if isinstance(output, list) else (output,):
                    if isinstance(t, dict) and t.get("tensor", 0) > 0 and t["tensor"] not in self._alive:
                        self._drops.append(t["tensor"])

    def ready(self, cell: Cell) -> dict[str, Any]:
        """Return what the answer to a request says of its one tensor; raise the error if it failed."""
        if cell[0] is None:
            cell[3].settle()
        answer: Any = cell[0]
        if answer.__class__ is bytes:
            cell[0] = answer = _decode(answer.decode())["result"]
            if "outputs" in answer:
                cell[0] = answer = answer["outputs"][0]
        if answer.__class__ is dict:
            return answer  # type: ignore[no-any-return]
        if self._failed is cell or (self._failed is not None and self._failed[0] is answer):
            self._failed = None
        # A copy: the traceback of what is raised refers to the frames of its callers, and they to what is kept.  Their tensors
        # would live until the collector of cycles finds them.
        raise copy(answer) if answer is not None else DaemonLost("the call was interrupted")

    def raise_failed(self) -> None:
        """Take all answers; raise the first error that nobody has read."""
        self.settle()
        if self._failed is not None:
            error, self._failed = self._failed[0], None
            raise copy(error)

    def call(self, method: str, /, **params: Any) -> Any:
        with self.lock:
            try:
                if self.session.closed:
                    raise self.session.error()
                self.send_modes()
                if self._lines or self._pending:
                    self.settle()
                if self._recording is not None:
                    self._recording.refuse(method)
                elif self._drops or self._taken:
                    self.send_releases()
                return super().call(method, **params)
            except OSError as e:
                if isinstance(e, (Error, TimeoutError)):
                    raise
                raise self._lost(e) from None

    def outputs(self, op: str, args: str, more: str) -> list[Any]:
        """Call any operator, wait, and return its outputs as the daemon answers them."""
        result = self.waited("op.call", f'"op":"{op}","args":[{args}]{more}')
        return from_wire(result["outputs"])  # type: ignore[no-any-return]

    def waited(self, method: str, params: str) -> dict[str, Any]:
        """Send a request, also between pipelined ones, and wait for its result.  Who makes tensors of it calls claim()."""
        with self.lock:
            depth, self.pipelined = self.pipelined, 0
            try:
                if depth:
                    self.settle()
                cell = self.request(method, params)
                if method in _MAKE:
                    self._unclaimed.append(cell)
            finally:
                self.pipelined = depth
        result: dict[str, Any] = _decode(cell[0].decode())["result"]
        return result if self._recording is None else self._recording.as_given(result, params)  # type: ignore[no-any-return]

    def all_waited(self, method: str, params: list[str]) -> list[dict[str, Any]]:
        """Send a request for each of `params` at once, and return their results.  Who makes tensors of them calls claim()."""
        cells: list[Cell] = []
        with self.lock:
            self.pipelined += self._recording is None
            try:
                cells.extend(map(self.request, repeat(method), params))
                self.settle()
                if method in _MAKE:
                    self._unclaimed.extend([cell for cell in cells if cell[0].__class__ is bytes])
            except BaseException:
                self._disown(cells)
                raise
            finally:
                self.pipelined -= self._recording is None
        for cell in cells:
            if cell[0].__class__ is not bytes:
                self._failed = None if self._failed is cell else self._failed
                raise copy(cell[0])
        return [_decode(cell[0].decode())["result"] for cell in cells]

    def claim(self) -> None:
        """The results of the newest waited() or all_waited() are tensors now."""
        self._unclaimed.clear()

    def _disown(self, cells: list[Cell]) -> None:
        """Release the results of calls whose wait was interrupted, now or when their answers come."""
        for cell in cells:
            if cell[0] is None:
                cell[2] = _UNWANTED
            elif cell[0].__class__ is bytes and not any(kept is cell for kept in self._unclaimed):
                self._unclaimed.append(cell)

    # -- the end ----------------------------------------------------------------------------------

    def _lost(self, error: OSError) -> Exception:
        """Return what to raise for an error of the system: that the daemon is gone, if it says so."""
        session = self.session
        if self._sock.fileno() < 0:
            return session.error() if session.closed else Closed(_CLOSED)
        if isinstance(error, (Error, DaemonLost, TimeoutError)) or not isinstance(error, ConnectionError):
            return error  # a lack of memory or of descriptors here, for example: the connection goes on
        session.closed = session.closed or "the daemon has ended or has closed the connection: its tensors are gone"
        session.lost = True
        while self._pending:
            self._pending.popleft()[0] = session.error()
        self._lines.clear()
        session.end(self)
        return DaemonLost(f"{session.closed} ({error})")

    def close(self) -> None:
        """Close the connections of the session; its tensors are gone, NumPy arrays of their memory stay.  A connection that a
        thread got of its own ends alone: its tensors belong to the session."""
        session, first = self.session, self.session.first()
        if session.closed or first is None:
            Client.close(self)
        elif first is self:
            session.closed = "the connection of this tensor was closed"
            session.end(self)
        else:
            session.leave(self, first)
        if getattr(local, "current", None) is self:
            del local.current

    def __enter__(self) -> "Connection":
        stack = local.__dict__.setdefault("stack", [])
        stack.append(local.__dict__.get("current"))
        local.current = self
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
        stack = local.__dict__.get("stack")  # none in a forked child, nor in another thread than that of __enter__()
        before = stack.pop() if stack else None
        if before is not None:
            local.current = before
