"""raw.py -- a plain socket to the daemon, for tests of what the Python client never sends."""

import json
import socket


class Raw:
    """A client that speaks lines; `seconds`: the longest wait for one."""

    def __init__(self, path, seconds):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(seconds)
        self.s.connect(path)
        self.file = self.s.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.file.close()
        self.s.close()

    def send(self, *parts):
        self.s.sendall(b"".join(parts))

    def answer(self):
        return json.loads(self.file.readline())
