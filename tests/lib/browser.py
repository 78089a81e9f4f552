"""browser.py -- a headless Chromium, driven by the DevTools protocol over two pipes: JSON messages that end
in a NUL, so that neither a port nor a package is needed.

    with Browser() as b:
        b.open(path)
        b.run("document.title")"""

import base64
import fcntl
import json
import os
import selectors
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium")
LIMIT = 300  # seconds for an answer; a busy machine takes a minute to start it
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-breakpad",
         "--window-size=1280,900", "--remote-debugging-pipe"]


class Browser:
    """`requests` are the addresses that the page has asked for, `errors` what its console has said of errors."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-browser-")
        self.log = open(os.path.join(self.dir, "log"), "w+")
        (theirs_in, self.out), (self.inp, theirs_out) = os.pipe(), os.pipe()
        # Numbers above 4, so that none of them is overwritten before it is copied.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs_in, theirs_out)]
        self.process = subprocess.Popen(
            [CHROMIUM, *FLAGS, "--user-data-dir=" + os.path.join(self.dir, "profile"), "about:blank"], pass_fds=(3, 4),
            preexec_fn=lambda: (os.dup2(high[0], 3), os.dup2(high[1], 4)), stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, env={**os.environ, "HOME": self.dir, "TMPDIR": self.dir})
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        self.sent, self.buffer, self.session = 0, b"", None
        self.answers, self.requests, self.errors, self.loaded = {}, [], [], 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(domain + ".enable")

    def _heard(self, message):
        params = message.get("params", {})
        if "id" in message:
            self.answers[message["id"]] = message
        elif message["method"] == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif message["method"] == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif message["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif message["method"] == "Page.loadEventFired":
            self.loaded += 1

    def wait(self, condition, what):
        """Read messages until condition() is true."""
        end = time.monotonic() + LIMIT
        with selectors.DefaultSelector() as ready:
            ready.register(self.inp, selectors.EVENT_READ)
            while not condition():
                got = os.read(self.inp, 1 << 20) if ready.select(max(0, end - time.monotonic())) else b""
                if not got:
                    self.log.seek(0)
                    raise AssertionError(f"no {what} from the browser; its log:\n{self.log.read()}")
                *whole, self.buffer = (self.buffer + got).split(b"\0")
                for message in whole:
                    self._heard(json.loads(message))

    def call(self, method, **params):
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        self.wait(lambda: self.sent in self.answers, f"answer to {method}")
        answer = self.answers.pop(self.sent)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, path):
        before = self.loaded
        self.call("Page.navigate", url="file://" + path)
        self.wait(lambda: self.loaded > before, f"page {path}")

    def run(self, script):
        """Return the value of an expression of JavaScript in the page; a promise's when it is kept."""
        got = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise AssertionError(f"{script}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def click(self, selector):
        """Press and release the mouse over the middle of an element."""
        x, y = self.run(f"""(e => {{ e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2] }})(document.querySelector({json.dumps(selector)}))""")
        for what in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=what, x=x, y=y, button="left", clickCount=1)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key):
        for what in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=what, key=key)

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(LIMIT)
        finally:
            self.process.kill()
            for fd in (self.inp, self.out):
                os.close(fd)
            self.log.close()
            shutil.rmtree(self.dir, ignore_errors=True)  # its children may still write into it

    @classmethod
    def refusal(cls):
        """Return why no browser starts on this machine; "" if one does."""
        try:
            with cls() as b:
                return "" if b.run("1 + 1") == 2 else "chromium runs no script"
        except (AssertionError, OSError) as e:
            return "chromium does not start here: " + " ".join(str(e).split())[-300:]

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()
