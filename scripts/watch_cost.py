#!/usr/bin/env python3
"""watch_cost.py PROGRAMS [STORES...]: what it costs to be watched: scrapes of the metrics, and the page.

PROGRAMS is the folder of syncd and synctool. For each number of stores (20 and 1,000 unless given) it starts a
daemon, and prints its processor time while nobody asks, for each scrape, and while the page is open in a headless
Chromium; and the time from commit to shown while three processes write to one of the stores.
"""
import http.client
import json
import os
import pathlib
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser import Browser  # noqa: E402

QUIET_SECONDS, SCRAPES, COMMITS = 30, 40, 100
WRITERS = ("importer", "kiosk", "editor")
WRITER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
for number in range(int(sys.argv[3])):
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO syncd_txn(author) VALUES (?)", (sys.argv[2],))
    connection.execute("INSERT INTO note(body) VALUES (?)", (f"{sys.argv[2]}, commit {number}",))
    connection.execute("INSERT INTO syncd_txn(author) VALUES (NULL)")
    connection.execute("COMMIT")
    time.sleep(0.1)
"""


def call(address, method, **parameters):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        message = {"method": "org.syncd.Store." + method, "parameters": parameters}
        connection.sendall(json.dumps(message).encode() + b"\0")
        answer = b""
        while not answer.endswith(b"\0"):
            answer += connection.recv(1 << 16)
    answer = json.loads(answer[:-1])
    if "error" in answer:
        raise OSError(str(answer))
    return answer["parameters"]


class Scrape(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def scrape(path):
    """The bytes of an answer, and how many milliseconds it took."""
    begin = time.monotonic()
    connection = Scrape(path)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read()
    connection.close()
    if b"\nsyncd_store_up{" not in text:
        raise AssertionError("no metrics: " + text[:200].decode())
    return len(text), (time.monotonic() - begin) * 1000


def milliseconds(process):
    """The processor time of a process so far, threads that have ended included: clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~process.pid << 3) | 2) / 1e6


def anonymous_megabytes(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0


class Scene:
    def __init__(self, programs, folder):
        self.programs, self.folder = pathlib.Path(programs).resolve(), folder
        self.socket, self.metrics = folder + "/s.sock", folder + "/m.sock"
        (pathlib.Path(folder) / "syncd.yaml").write_text(f"metrics: {{socket: {self.metrics}, stores: all}}\n")
        self.environment = dict(os.environ, SYNCD_SOCKET=self.socket, HOME=folder, XDG_RUNTIME_DIR=folder)
        self.log = open(folder + "/log", "w")
        self.daemon = subprocess.Popen(
            [self.programs / "syncd", "--user", "--socket", self.socket, "--state", folder + "/state",
             "--config", folder + "/syncd.yaml"], env=self.environment, stderr=self.log)
        end = time.monotonic() + 60
        while not os.path.exists(self.metrics) or not os.path.exists(self.socket):
            if time.monotonic() > end or self.daemon.poll() is not None:
                raise OSError("the daemon does not answer: " + pathlib.Path(folder + "/log").read_text())
            time.sleep(0.05)

    def path(self, number):
        return f"{self.folder}/{number:04}.db"

    def make(self, count):
        for number in range(count):
            connection = sqlite3.connect(self.path(number))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)")
            connection.execute("INSERT INTO note(body) VALUES ('one')")
            connection.commit()
            connection.close()
            call(self.socket, "Track", path=self.path(number))
            connection = sqlite3.connect(self.path(number), timeout=60)
            connection.execute("INSERT INTO note(body) VALUES ('two')")
            connection.commit()
            connection.close()

    def settle(self):
        """Waits until the daemon has digested everything, and does no more than it did before."""
        end, last = time.monotonic() + 600, float("inf")
        while True:
            share = self.share(self.daemon, 10)
            if share < 0.2 or (share < 2 and abs(share - last) < share / 10):
                return
            if time.monotonic() > end:
                raise AssertionError(f"the daemon does not become quiet: {share:.2f} % of a core")
            last = share

    def share(self, process, seconds):
        """The share of a core that a process uses, in percent."""
        begin, before = time.monotonic(), milliseconds(process)
        time.sleep(seconds)
        return (milliseconds(process) - before) / (time.monotonic() - begin) / 10

    def close(self):
        self.daemon.terminate()
        self.daemon.wait(60)
        self.log.close()


def measure_scrapes(scene, quiet):
    # The first question after a digest may wake a store.
    for _ in range(3):
        scrape(scene.metrics)
        time.sleep(1.1)
    costs, times, size = [], [], 0
    for _ in range(SCRAPES):
        before, begin = milliseconds(scene.daemon), time.monotonic()
        size, took = scrape(scene.metrics)
        # What is computed is kept for a second.
        time.sleep(1.1)
        costs.append(milliseconds(scene.daemon) - before - (time.monotonic() - begin) * quiet * 10)
        times.append(took)
    print(f"  a scrape: {statistics.median(costs):.1f} ms of processor time (greatest {max(costs):.1f}), "
          f"answered in {statistics.median(times):.1f} ms (greatest {max(times):.1f}), {size / 1000:.0f} kB")


def measure_page(scene):
    page_program = subprocess.Popen(
        [scene.programs / "synctool", "ui"], env=scene.environment, stdout=subprocess.PIPE, text=True)
    try:
        url = page_program.stdout.readline().strip()
        print(f"  synctool ui, nobody looks: {scene.share(page_program, QUIET_SECONDS):.3f} % of a core")
        with Browser() as browser:
            page = browser.open(url)
            page.wait("document.querySelector('#connection').className === 'live'")
            # Stores at rest, the page open.
            time.sleep(5)
            daemon, ui = milliseconds(scene.daemon), milliseconds(page_program)
            time.sleep(QUIET_SECONDS)
            print(f"  the page is open, nobody writes: daemon "
                  f"{(milliseconds(scene.daemon) - daemon) / QUIET_SECONDS / 10:.3f} %, "
                  f"synctool ui {(milliseconds(page_program) - ui) / QUIET_SECONDS / 10:.3f} % of a core")
            store = page.text("#store-title")
            writers = [subprocess.Popen([sys.executable, "-c", WRITER, store, name, str(COMMITS)])
                       for name in WRITERS]
            if [writer.wait(300) for writer in writers] != [0] * len(WRITERS):
                raise AssertionError("a writer failed")
            for name in WRITERS:
                text = f"{name}, commit {COMMITS - 1}"
                page.wait(f"document.querySelector('#transactions').textContent.includes({text!r})")
            print(f"  from commit to shown, {len(WRITERS) * COMMITS} commits of {len(WRITERS)} processes: median "
                  f"{page.text('#latency-median')}, p99 {page.text('#latency-p99')}")
            if page.problems:
                raise AssertionError(str(page.problems))
    finally:
        page_program.terminate()
        page_program.wait(60)


def measure(programs, count):
    folder = tempfile.mkdtemp(prefix="syncd-watch-")
    scene = None
    try:
        scene = Scene(programs, folder)
        scene.make(count)
        scene.settle()
        quiet = scene.share(scene.daemon, QUIET_SECONDS)
        print(f"{count} stores\n  nobody asks: {quiet:.3f} % of a core, "
              f"{anonymous_megabytes(scene.daemon):.1f} MB of private memory", flush=True)
        measure_scrapes(scene, quiet)
        print(f"  after the scrapes: {anonymous_megabytes(scene.daemon):.1f} MB of private memory", flush=True)
        if shutil.which("chromium"):
            measure_page(scene)
        else:
            print("  the page was not measured: there is no 'chromium' (make setup-tests)")
    finally:
        if scene:
            scene.close()
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    for count in [int(number) for number in arguments[1:]] or [20, 1000]:
        measure(arguments[0], count)


if __name__ == "__main__":
    main(sys.argv[1:])
