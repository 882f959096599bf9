#!/usr/bin/env python3
"""Follows a store: appends each transaction to a file as one JSON line, each once and in order.

    follow.py DB FILE

The line holds the token to go on after, so that effect and position are one write: killed at any moment
and started again, this misses nothing and repeats nothing. The first line is the token at which it began.
A large transaction has several lines, its parts. Needs `pip install varlink`, and syncd.
"""
import json
import os
import sys
import time

import varlink


def last_token(file):
    """The token to go on after; None when there is none. Cuts off what is not whole: half of a line, and
    parts of a transaction that will come again from its first part."""
    end, position, token = 0, 0, None
    for line in file.read().split(b"\n")[:-1]:
        entry = json.loads(line)
        position += len(line) + 1
        if entry.get("part", {"isLast": True})["isLast"]:
            end, token = position, entry["token"]
    file.truncate(end)
    return token


def append(file, entry):
    line = json.dumps(entry).encode() + b"\n"
    while line:
        line = line[file.write(line):]


def follow(address, path, file):
    token = last_token(file)
    with varlink.Client.new_with_address(address) as client, client.open("org.syncd.Store") as syncd:
        for reply in syncd.Subscribe(store=path, after=token, _more=True):
            if transaction := reply.get("transaction"):
                append(file, transaction)
            elif token is None:
                # The first reply says where the stream begins: what is committed from now on is not missed,
                # though this ends before the first transaction.
                token = reply["token"]
                append(file, {"token": token})


def main():
    path = os.path.abspath(sys.argv[1])
    address = "unix:" + os.environ.get("SYNCD_SOCKET", "/run/syncd/syncd.sock")
    while True:
        with open(sys.argv[2], "ab+", buffering=0) as file:
            file.seek(0)
            try:
                follow(address, path, file)
            except (OSError, varlink.error.BrokenPipeError) as error:
                print(f"syncd is away ({error}); trying again", file=sys.stderr)
        time.sleep(0.2)


main()
