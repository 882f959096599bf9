"""browser.py: a browser for tests: Chromium by its DevTools protocol, with nothing but Python's standard library.

    with Browser() as browser:
        page = browser.open("http://127.0.0.1:8400/")
        page.wait("document.title == 'shop'")
        page.click("#pause")
"""
import base64
import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

ANSWER_SECONDS_MAX = 60


class WebSocket:
    """The client's side of RFC 6455, for text messages to a server on this machine."""

    def __init__(self, url):
        host, _, path = url.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self.socket = socket.create_connection((name, int(port)), timeout=ANSWER_SECONDS_MAX)
        self.file = self.socket.makefile("rb")
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        self.socket.sendall((
            f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        if b" 101 " not in self.file.readline():
            raise OSError("the browser refused the WebSocket")
        while self.file.readline().strip():
            pass

    def send(self, text):
        payload = text.encode()
        size = len(payload)
        if size < 126:
            head = bytes([0x81, 0x80 | size])
        elif size < 1 << 16:
            head = bytes([0x81, 0x80 | 126]) + size.to_bytes(2, "big")
        else:
            head = bytes([0x81, 0x80 | 127]) + size.to_bytes(8, "big")
        # A mask of zeros: allowed by the protocol, and the payload stays as it is.
        self.socket.sendall(head + bytes(4) + payload)

    def receive(self):
        message = b""
        while True:
            first, second = self.file.read(2)
            size = second & 0x7f
            if size >= 126:
                size = int.from_bytes(self.file.read(2 if size == 126 else 8), "big")
            payload = self.file.read(size)
            if first & 0x0f == 8:
                raise OSError("the browser closed the connection")
            if first & 0x0f in (0, 1):
                message += payload
                if first & 0x80:
                    return message.decode()

    def close(self):
        self.socket.close()


class Browser:
    """A headless Chromium with a profile of its own, which is gone with it."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if program is None:
            raise FileNotFoundError("there is no 'chromium': make setup-tests installs it")
        self.profile = tempfile.TemporaryDirectory(prefix="syncd-browser-", ignore_cleanup_errors=True)
        # Without a sandbox: the tests may run as root. The page that is opened is our own.
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--mute-audio",
             "--remote-debugging-port=0", "--user-data-dir=" + self.profile.name, "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env=dict(os.environ, HOME=self.profile.name))
        self.port = self._port()

    def _port(self):
        file = os.path.join(self.profile.name, "DevToolsActivePort")
        end = time.monotonic() + ANSWER_SECONDS_MAX
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with open(file) as lines:
                    text = lines.read().split()
                if text:
                    return int(text[0])
            except FileNotFoundError:
                pass
            time.sleep(0.05)
        self.close()
        raise OSError("chromium did not start")

    def open(self, url, width=1280, height=800):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS_MAX) as reply:
            page = Page(json.load(reply)["webSocketDebuggerUrl"])
        page.resize(width, height)
        page.call("Page.navigate", url=url)
        page.wait("location.href !== 'about:blank' && document.readyState === 'complete'")
        return page

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Page:
    """A tab. `problems` are errors of scripts and what the browser refused, such as a violation of the policy."""

    def __init__(self, url):
        self.socket = WebSocket(url)
        self.number = 0
        self.problems = []
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.number:
                if "error" in message:
                    raise OSError(f"{method}: {message['error']['message']}")
                return message["result"]
            self._note(message)

    def _note(self, message):
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.problems.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait(self, expression, seconds=ANSWER_SECONDS_MAX):
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.value(expression)
            except OSError:
                value = None  # the document was being exchanged
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"never true: {expression}")
            time.sleep(0.05)

    def text(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def click(self, selector):
        """Clicks where the middle of an element is, as a person would: again where the element was moved or replaced
        between looking, pressing and releasing, so that no click came to it."""
        name = json.dumps(selector)
        self.value(
            "window.clickSeen = false; document.addEventListener('click', (event) => {"
            f"if (event.target.closest({name})) window.clickSeen = true; }}, {{capture: true}})")
        end = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            self.wait(f"document.querySelector({name}) !== null")
            place = self.value(
                f"(() => {{ const element = document.querySelector({name}); if (!element) return null;"
                "element.scrollIntoView({block: 'center'}); const box = element.getBoundingClientRect();"
                "return [box.x + box.width / 2, box.y + box.height / 2]; })()")
            if place:
                for kind in ("mousePressed", "mouseReleased"):
                    self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
                if self.value("window.clickSeen"):
                    return
            if time.monotonic() > end:
                raise AssertionError(f"no click comes to {selector}")
            time.sleep(0.05)

    def press(self, key):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, file):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(file, "wb") as out:
            out.write(base64.b64decode(data))
