#!/usr/bin/env python3
"""Follows a store: appends each transaction to a file as one JSON line, each once and in order.

    follow.py DB FILE

The line holds the token to go on after, so that effect and position are one write: killed at any moment
and started again, this misses nothing and repeats nothing. Needs `pip install varlink`, and syncd.
"""
import json
import os
import sys
import time

import varlink


def last_token(file):
    """The token of the last whole line; None when there is none."""
    text = file.read()
    whole = text[:text.rfind(b"\n") + 1]
    file.truncate(len(whole))
    return json.loads(whole.splitlines()[-1])["token"] if whole else None


def follow(address, path, file):
    token = last_token(file)
    with varlink.Client.new_with_address(address) as client, client.open("org.syncd.Store") as syncd:
        # Without a token the stream begins now; the first reply says where that is.
        for reply in syncd.Subscribe(store=path, after=token, _more=True):
            if transaction := reply.get("transaction"):
                file.write(json.dumps(transaction).encode() + b"\n")


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
