"""A client of syncd: one file, nothing but the standard library of Python 3.9 or later. Copy it.

    client = syncd.Client()
    for store in client.stores():
        print(store["path"], store["state"])
    for reply in client.follow("/srv/music.db", after=token, hold=["Album/348"]):
        ...

The interface is `org.syncd.Store`; docs/clients.md explains what crosses the socket.
"""
import json
import os
import random
import socket
import threading
import time

INTERFACE = "org.syncd.Store."
# A reply of the daemon has about 1 MiB at most: what is longer is no reply.
MESSAGE_BYTES_MAX = 16 << 20
# Seconds before a lost connection is made again: doubled from the least to the most.
RETRY_DELAY_MIN, RETRY_DELAY_MAX = 0.02, 2.0


class SyncdError(Exception):
    """An error of the daemon, or of the connection to it.

    `code` is stable and says what to do (`busy`, `unknownStore`, `historyExpired`, ...); `reason` and `hint`,
    the next step, are for people; `path` and `operation` are there where they are known.
    """

    def __init__(self, code, reason, hint=None, path=None, operation=None):
        super().__init__(reason)
        self.code, self.reason, self.hint, self.path, self.operation = code, reason, hint, path, operation

    def __str__(self):
        text = f"{self.path}: {self.reason}" if self.path else self.reason
        return f"{text}. {self.hint}" if self.hint else text

    @property
    def is_transient(self):
        """The same call may succeed a moment later."""
        return self.code in ("busy", "unreachable", "diskFull")

    @property
    def needs_resync(self):
        """The token is no longer valid: read the rows again, go on at a token taken before that."""
        return self.code in ("historyExpired", "foreignHistory")

    @classmethod
    def of_reply(cls, name, parameters):
        code = name.rpartition(".")[2]
        known = {key: parameters.get(key) for key in ("hint", "path", "operation")}
        return cls(code[:1].lower() + code[1:], parameters.get("reason", name), **known)


def socket_path():
    """The daemon's socket: SYNCD_SOCKET, else that of the user's own daemon, else the system's."""
    if path := os.environ.get("SYNCD_SOCKET"):
        return path
    if (folder := os.environ.get("XDG_RUNTIME_DIR")) and os.path.exists(path := folder + "/syncd/syncd.sock"):
        return path
    return "/run/syncd/syncd.sock"


class Connection:
    """One connection. Its calls are answered one after the other; a stream keeps it for itself."""

    def __init__(self, path):
        self.path = path
        self.buffer = bytearray()
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(path)
        except OSError as error:
            self.close()
            raise self._lost(error) from error

    def close(self):
        self.socket.close()

    def call(self, method, parameters):
        self._send({"method": INTERFACE + method, "parameters": parameters})
        return self._receive()[0]

    def stream(self, method, parameters):
        """The replies to a call with `more`, as they come."""
        self._send({"method": INTERFACE + method, "parameters": parameters, "more": True})
        continues = True
        while continues:
            reply, continues = self._receive()
            yield reply

    def _send(self, message):
        try:
            self.socket.sendall(json.dumps(message).encode() + b"\0")
        except OSError as error:
            raise self._lost(error) from error

    def _receive(self):
        searched = 0
        while (end := self.buffer.find(b"\0", searched)) < 0:
            searched = len(self.buffer)
            if searched > MESSAGE_BYTES_MAX:
                raise SyncdError("badData", "a reply without end", path=self.path)
            try:
                chunk = self.socket.recv(1 << 16)
            except OSError as error:
                raise self._lost(error) from error
            if not chunk:
                raise self._lost("it closed the connection")
            self.buffer += chunk
        try:
            message = json.loads(self.buffer[:end])
        except ValueError as error:
            raise SyncdError("badData", f"a reply that is no JSON ({error})", path=self.path) from error
        del self.buffer[:end + 1]
        parameters = message.get("parameters") or {}
        if name := message.get("error"):
            raise SyncdError.of_reply(name, parameters)
        return parameters, message.get("continues", False)

    def _lost(self, cause):
        if isinstance(cause, PermissionError):
            return SyncdError("notAllowed", f"no permission to connect ({cause})", path=self.path,
                              hint=f"Ask for the group of the socket: ls -l {self.path}")
        return SyncdError("unreachable", f"syncd does not answer ({cause})", path=self.path,
                          hint="Start it: systemctl start syncd, or syncd --user")


class Client:
    """Calls share one connection, made at the first call and again when it was lost. Thread-safe."""

    def __init__(self, path=None):
        self.path = path or socket_path()
        self._connection = None
        self._lock = threading.Lock()

    def call(self, method, **parameters):
        """Calls a method of org.syncd.Store and returns the parameters of its reply."""
        with self._lock:
            if self._connection is None:
                self._connection = Connection(self.path)
            try:
                return self._connection.call(method, parameters)
            except SyncdError as error:
                if error.code in ("unreachable", "badData"):
                    self._connection.close()
                    self._connection = None
                raise

    def close(self):
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def stores(self):
        """The stores that this user may see."""
        return self.call("List")["stores"]

    def follow(self, store, after=None, hold=(), **options):
        """Iterates over the replies of Subscribe, through restarts of the daemon: see `Subscription`."""
        return Subscription(self, store, after, hold, options)


class Subscription:
    """The replies of Subscribe: each transaction of a store once, in order.

    A lost connection is made again, and the stream goes on after the last token that was received. Each reply
    is a dict that may have

    * `subscription`, `head`, `held`: it is the first after a connect;
    * `transaction`, of a large one a part. `part["index"] == 0` begins the transaction again: forget the parts
      of it that were collected before;
    * `notices`, about held objects and the store;
    * `token`: save it with the effect of all replies up to this one.

    It ends with a SyncdError that waiting does not mend, or that comes before the first reply.
    """

    def __init__(self, client, store, after, hold, options):
        self.client, self.store, self.token, self.options = client, store, after, options
        self.held = set(hold)
        self.name = None
        self._connection = None

    def hold(self, *objects):
        """Holds more objects, also after the next connect; returns how they are now."""
        self.held.update(objects)
        return self.client.call("Hold", subscription=self._connected(), objects=list(objects))["held"]

    def release(self, *objects):
        self.held.difference_update(objects)
        self.client.call("Release", subscription=self._connected(), objects=list(objects))

    def close(self):
        if self._connection is not None:
            self._connection.close()

    def _connected(self):
        if name := self.name:
            return name
        raise SyncdError("unreachable", "the subscription is not connected", path=self.client.path)

    def _replies(self):
        parameters = dict(self.options, store=self.store)
        if self.token is not None:
            parameters["after"] = self.token
        if self.held:
            parameters["hold"] = sorted(self.held)
        self._connection = Connection(self.client.path)
        try:
            for reply in self._connection.stream("Subscribe", parameters):
                self.name = reply.get("subscription", self.name)
                self.token = reply.get("token", self.token)
                yield reply
            raise SyncdError("unreachable", "syncd ended the subscription", path=self.client.path)
        finally:
            self.name = None
            self._connection.close()

    def __iter__(self):
        was_connected, delay = False, RETRY_DELAY_MIN
        while True:
            try:
                for reply in self._replies():
                    was_connected, delay = True, RETRY_DELAY_MIN
                    yield reply
            except SyncdError as error:
                # A socket that was just made may get its group and mode a moment later.
                if not was_connected or not (error.is_transient or error.code == "notAllowed"):
                    raise
            time.sleep(delay * random.uniform(0.75, 1.25))
            delay = min(delay * 2, RETRY_DELAY_MAX)
