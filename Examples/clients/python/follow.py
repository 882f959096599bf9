#!/usr/bin/env python3
"""Appends what happens in a store to a file, one JSON line for each reply of the daemon.

    follow.py                      lists the stores
    follow.py DB FILE [OBJECT...]  follows one; of held objects ("Album/348") it prints each notice

A line with a token ends what is processed: effect and position are one write. Killed at any moment and started
again, this misses nothing and repeats nothing.
"""
import json
import os
import sys

import syncd


class Log:
    """The file. Lines behind the last token are parts of a transaction that will be sent again."""

    def __init__(self, path):
        self.file = open(path, "a+b", buffering=0)
        self.file.seek(0)
        self.end, self.token, position = 0, None, 0
        for line in self.file.readlines():
            position += len(line)
            if line.endswith(b"\n") and "token" in (reply := json.loads(line)):
                self.end, self.token = position, reply["token"]
        self.file.truncate(self.end)
        self.position = self.end

    def append(self, reply):
        transaction = reply.get("transaction", {})
        if transaction and transaction.get("part", {"index": 0})["index"] == 0 and self.position > self.end:
            self.file.truncate(self.end)
            self.position = self.end
        line = json.dumps(reply, ensure_ascii=False).encode() + b"\n"
        while line:
            written = self.file.write(line)
            self.position, line = self.position + written, line[written:]
        if "token" in reply:
            self.end, self.token = self.position, reply["token"]


def print_stores(client):
    for store in client.stores():
        print(store["path"], store["state"], (store.get("error") or {}).get("reason", ""))


def print_notices(notices):
    for notice in notices:
        for kind, about in notice.items():
            if about is not None:
                print(kind, about.get("object", ""), flush=True)


def follow(client, store, path, objects):
    log = Log(path)
    for reply in client.follow(os.path.abspath(store), after=log.token, hold=objects):
        if "subscription" in reply and log.token is not None:
            continue  # connected again: it is where the log ends
        log.append(reply)
        print_notices(reply.get("notices", []))


def main(arguments):
    client = syncd.Client()
    try:
        if not arguments:
            print_stores(client)
        elif len(arguments) >= 2:
            follow(client, arguments[0], arguments[1], arguments[2:])
        else:
            sys.exit(__doc__)
    except syncd.SyncdError as error:
        advice = ". Read the rows again and begin a new file" if error.needs_resync else ""
        sys.exit(f"{error.code}: {error}{advice}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main(sys.argv[1:])
