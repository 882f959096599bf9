#!/usr/bin/env python3
"""page_attacks.py URL DB: asks the page of `synctool ui` for what it must not give.

Ends with status 1 and a sentence when it does. DB is a database that is not one of the daemon's stores.
"""
import http.client
import json
import socket
import sys
import urllib.parse


def main(url, database):
    address = urllib.parse.urlsplit(url)
    token, port = address.fragment, address.port
    right = {"Host": f"127.0.0.1:{port}", "Authorization": f"Bearer {token}"}

    def ask(method, path, headers, body=b"{}"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request(method, path, body if method == "POST" else None, headers)
            reply = connection.getresponse()
            return reply.status, reply.read(), dict(reply.getheaders())
        finally:
            connection.close()

    def expect(status, what, *request, **options):
        got = ask(*request, **options)[0]
        if got != status:
            sys.exit(f"page_attacks: {what}: status {got} instead of {status}")

    expect(200, "the page itself", "POST", "/api/stores", right)
    local = {"Host": f"127.0.0.1:{port}"}
    expect(403, "no token", "POST", "/api/stores", local)
    for wrong in ("", "0" * 64, token[:-1], token + "0", token.upper() if token.upper() != token else "0" * 64):
        expect(403, f"the token '{wrong}'", "POST", "/api/stores", dict(local, Authorization=f"Bearer {wrong}"))
    expect(403, "a cookie instead of the header", "POST", "/api/stores", dict(local, Cookie=f"token={token}"))
    expect(404, "a call by GET", "GET", "/api/stores", right)

    # DNS rebinding: the name of another site points to 127.0.0.1.
    for host in (f"evil.example:{port}", "evil.example", "127.0.0.1", f"127.0.0.1:{port + 1}", f"127.0.0.1.evil.example:{port}"):
        expect(421, f"the host {host}", "POST", "/api/stores", dict(right, Host=host))
        expect(421, f"a file for the host {host}", "GET", "/", dict(local, Host=host))
    # A page of another site that has got hold of the token.
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"):
        expect(403, f"the origin {origin}", "POST", "/api/stores", dict(right, Origin=origin))
    status, _, headers = ask("OPTIONS", "/api/stores", dict(local, Origin="http://evil.example"))
    if status < 400 or any(name.lower().startswith("access-control") for name in headers):
        sys.exit("page_attacks: another origin is permitted")

    # Two hosts: one for this check, another for whoever reads the request next.
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n".encode())
        if b" 200 " in raw.recv(4096).split(b"\r\n")[0]:
            sys.exit("page_attacks: two hosts are accepted")

    for path in ("/../etc/passwd", "/%2e%2e/etc/passwd", "/page.js?x", "//page.js", "/api", "/token"):
        expect(404, f"the path {path}", "GET", path, local)
    foreign = json.dumps({"store": database, "object": "a/1", "id": 1, "keep": "shown"}).encode()
    for call in ("status", "history", "values", "object", "conflicts", "resolve", "events"):
        expect(404, f"{call} of a file that is no store", "POST", "/api/" + call, right, body=foreign)
    for body in (b"", b"[]", b"{", b"\xff", b"{\"store\":7}"):
        expect(400, f"the body {body!r}", "POST", "/api/status", right, body=body)
    expect(404, "an unknown call", "POST", "/api/purge", right)
    try:
        if ask("POST", "/api/stores", right, body=b" " * (1 << 20))[0] == 200:
            sys.exit("page_attacks: a body of a megabyte is read")
    except (OSError, http.client.HTTPException):
        pass  # it closed the connection

    headers = ask("GET", "/", local)[2]
    policy = headers.get("Content-Security-Policy", "")
    for rule in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "connect-src 'self'"):
        if rule not in policy:
            sys.exit(f"page_attacks: the policy lacks {rule}")
    if "unsafe" in policy or "*" in policy or headers.get("Cache-Control") != "no-store":
        sys.exit("page_attacks: the policy is weak, or a cache may keep the page")
    for file in ("/", "/page.js", "/page.css"):
        body = ask("GET", file, local)[1]
        if token.encode() in body or b"http://" in body.replace(b"http://www.w3.org/", b"") or b"https://" in body:
            sys.exit(f"page_attacks: {file} has the token, or loads something from elsewhere")

    # Who holds connections keeps nobody out for longer than it holds them.
    idle = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(100)]
    for connection in idle:
        connection.close()
    for _ in range(100):
        try:
            if ask("POST", "/api/stores", right)[0] == 200:
                return
        except (OSError, http.client.HTTPException):
            continue
    sys.exit("page_attacks: it does not answer after a hundred connections")


if __name__ == "__main__":
    main(*sys.argv[1:])
