#!/usr/bin/env python3
"""page_clicks.py URL DB [--screenshots FOLDER]: clicks through the page of `synctool ui` in a headless Chromium.

DB is the store that the page shows: the sample of the tests, with a conflict about Album/1, a consumer and a
remote. Three processes write to it meanwhile. Ends with status 1 and a sentence when something is not as it has to
be, and prints how long it took from commit to shown.
"""
import json
import pathlib
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser import Browser  # noqa: E402

WRITERS, COMMITS = ("importer", "kiosk", "editor"), 40
WRITER = """
import os, sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
for number in range(1, int(sys.argv[4]) + 1):
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO syncd_txn(author, pid, process) VALUES (?, ?, ?)",
                       (sys.argv[3], os.getpid(), sys.argv[3] + ".py"))
    connection.execute("INSERT INTO Artist(ArtistId, Name) VALUES (?, ?)",
                       (int(sys.argv[2]) * 1000000 + number, f"{sys.argv[3]}, commit {number}"))
    connection.execute("INSERT INTO syncd_txn(author) VALUES (NULL)")
    connection.execute("COMMIT")
    time.sleep(0.05)
"""
MARKUP = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def write(database, sql, *values):
    connection = sqlite3.connect(database, timeout=60)
    with connection:
        connection.execute(sql, values)
    connection.close()


def row(database, sql):
    connection = sqlite3.connect(database, timeout=60)
    try:
        return connection.execute(sql).fetchone()
    finally:
        connection.close()


class Clicks:
    def __init__(self, page, database, folder):
        self.page, self.database, self.folder = page, database, folder

    def run(self):
        page = self.page
        page.wait("document.querySelector('#connection').className === 'live'")
        check(page.value("location.hash === '' && !location.href.includes('#')"), "the token stays in the address bar")
        check(page.text("#store-title") == self.database, "the store is not shown")
        self.timeline()
        self.old_and_new_values()
        self.markup_is_text()
        self.shot("timeline")
        self.life()
        self.conflicts()
        self.consumers_and_remotes()
        self.keys()
        self.names_for_screen_readers()
        self.dark_and_narrow()
        check(page.problems == [], f"the browser reports {page.problems}")

    def shot(self, name):
        if self.folder:
            time.sleep(1.5)  # for a picture alone: until what is new is no longer highlighted
            self.page.screenshot(f"{self.folder}/page-{name}.png")

    def timeline(self):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, self.database, str(number), name, str(COMMITS)])
            for number, name in enumerate(WRITERS, 1)]
        check([writer.wait(120) for writer in writers] == [0] * len(WRITERS), "a writer failed")
        wanted = [f"Artist/{writer * 1000000 + number}"
                  for writer in range(1, len(WRITERS) + 1) for number in range(1, COMMITS + 1)]
        self.page.wait(f"document.querySelectorAll('#transactions .insert').length >= {len(wanted)}")
        shown = self.page.value("[...document.querySelectorAll('#transactions .insert .link')].map((e) => e.textContent)")
        check(sorted(shown) == sorted(wanted), f"shown: {len(shown)} inserts of {len(wanted)}")
        numbers = self.page.value("[...document.querySelectorAll('#transactions > li')].map((e) => +e.dataset.number)")
        check(numbers == sorted(set(numbers), reverse=True), "the transactions are not in order, each once")
        shown = self.page.value("[...document.querySelectorAll('#transactions .head')].map((e) => e.textContent)")
        for name in WRITERS:
            text = f"{name}, commit {COMMITS}"
            self.page.wait(f"document.querySelector('#transactions').textContent.includes({text!r})")
            check(any(name + ".py" in head for head in shown), f"the process of {name} is not shown")
        check(int(self.page.wait("+document.querySelector('#rate-now').textContent + 1")) >= 1, "there is no rate")

    def old_and_new_values(self):
        write(self.database, "UPDATE Album SET Title = 'Reload' WHERE AlbumId = 2")
        # Not before it is shown: commits that the daemon cannot tell apart would be one transaction.
        self.page.wait(self.updated("Album/2", "'Reload'"))
        write(self.database, "UPDATE Album SET Title = 'Garage Inc.' WHERE AlbumId = 2")
        self.page.wait("""[...document.querySelectorAll('#transactions .update .values')].some((values) =>
            values.querySelector('.old')?.textContent === "'Reload'"
            && values.querySelector('.new')?.textContent === "'Garage Inc.'")""")

    @staticmethod
    def updated(name, value):
        """Whether the timeline has an update of an object to a value."""
        return (f"[...document.querySelectorAll('#transactions .update')].some((update) =>"
                f" update.querySelector('.link').textContent === {json.dumps(name)}"
                f" && update.querySelector('.new')?.textContent === {json.dumps(value)})")

    def markup_is_text(self):
        write(self.database, "INSERT INTO Artist(ArtistId, Name) VALUES (9000001, ?)", MARKUP)
        self.page.wait("document.querySelector('#transactions').textContent.includes('onerror=')")
        check(self.page.value("document.querySelectorAll('main img, main script').length") == 0, "a value became markup")
        check(self.page.value("document.title") != "run", "a value was run")

    def life(self):
        self.page.click("#transactions .update .link")
        self.page.wait("""document.querySelector('#life').textContent.includes("'Reload'")
            && document.querySelectorAll('#life .update').length >= 2""")
        check(self.page.text("#life h3") == "Album/2", "the life of another object is shown")
        self.shot("object")

    def conflicts(self):
        page = self.page
        page.press("Escape")
        page.click("#tab-conflicts")
        page.wait("document.querySelectorAll('.conflict').length === 1")
        sides = page.value("[...document.querySelectorAll('.side .value')].map((e) => e.textContent)")
        check(len(sides) == 2 and sides[0] != sides[1], f"both values are not shown: {sides}")
        losing = sides[1].strip("'")
        button = ".side:nth-child(2) button"
        page.click(button)
        page.wait("document.querySelector('#confirm').open")
        check(losing in page.text("#confirm-text"), "the question does not name what will be written")
        self.shot("conflict")
        page.click("#confirm button[value=cancel]")
        page.wait("!document.querySelector('#confirm').open")
        check(row(self.database, "SELECT Title FROM Album WHERE AlbumId = 1")[0] != losing, "it did not ask first")
        page.click(button)
        page.wait("document.querySelector('#confirm').open")
        # One more question, before the page hears that this one was closed.
        page.value("(() => { document.querySelector('#confirm').close('cancel');"
                   f" document.querySelector('{button}').click(); }})()")
        page.wait("document.querySelector('#confirm').open")
        page.click("#confirm-button")
        page.wait("document.querySelector('#conflicts').textContent.includes('No conflicts are open')")
        check(row(self.database, "SELECT Title FROM Album WHERE AlbumId = 1")[0] == losing, "it was not resolved")
        # It is a transaction like any other, and may be shown later than the list of conflicts.
        page.wait("document.querySelector('#transactions .update .link').textContent === 'Album/1'")

    def consumers_and_remotes(self):
        page = self.page
        page.click("#tab-consumers")
        page.wait("document.querySelector('#consumers').textContent.includes('indexer')")
        check("is held back by indexer" in page.text("#consumers"), "what holds the history back is not said")
        page.click("#tab-remotes")
        page.wait("document.querySelector('#remotes tbody')?.textContent.includes('origin') ?? false")

    def keys(self):
        page = self.page
        page.value("document.activeElement.blur()")
        page.press("1")
        check(page.value("!document.querySelector('#timeline').hidden"), "the key 1 does not show the timeline")
        page.press("p")
        write(self.database, "UPDATE Album SET Title = 'Ride the Lightning' WHERE AlbumId = 3")
        page.wait("document.querySelector('#waiting').textContent.includes('1 new transaction')")
        check(page.value("document.querySelector('#pause').getAttribute('aria-pressed')") == "true", "it is not paused")
        page.press("p")
        page.wait("document.querySelector('#transactions > li').textContent.includes('Ride the Lightning')")
        page.press("j")
        check(page.value("document.activeElement === document.querySelector('#transactions > li')"), "j moves nothing")
        page.press("?")
        check(page.value("document.querySelector('#help').open"), "the key ? shows nothing")
        page.click("#help button")
        page.wait("!document.querySelector('#help').open")
        page.press("/")
        page.type("no such store")
        page.wait("[...document.querySelectorAll('#stores li')].every((item) => item.hidden)")
        page.value("document.querySelector('#filter').value = ''; "
                   "document.querySelector('#filter').dispatchEvent(new Event('input'))")

    def names_for_screen_readers(self):
        nodes = self.page.call("Accessibility.getFullAXTree")["nodes"]
        for node in nodes:
            role = node.get("role", {}).get("value")
            if not node.get("ignored") and role in ("button", "tab", "searchbox", "textbox", "navigation", "image", "list"):
                if role == "list" and not node.get("childIds"):
                    continue
                named = node.get("name", {}).get("value") or role == "list"
                check(named, f"a {role} has no name")
        roles = {node.get("role", {}).get("value") for node in nodes}
        check({"main", "navigation", "banner", "tablist", "heading", "status"} <= roles, f"roles are missing: {roles}")

    def dark_and_narrow(self):
        page = self.page
        light = page.value("getComputedStyle(document.body).backgroundColor")
        page.prefer("dark")
        page.wait(f"getComputedStyle(document.body).backgroundColor !== {light!r}")
        page.value("document.activeElement.blur()")
        self.shot("dark")
        page.resize(390, 844)
        page.wait("document.documentElement.scrollWidth <= 390")
        self.shot("narrow")


def main(arguments):
    url, database = arguments[:2]
    folder = arguments[3] if arguments[2:3] == ["--screenshots"] else None
    with Browser() as browser:
        page = browser.open(url, 1200, 820)
        try:
            Clicks(page, database, folder).run()
        except AssertionError as error:
            text = (page.text("body") or "")[:2000]
            sys.exit(f"page_clicks: {error}\n{page.problems}\n{text}")
        print("from commit to shown:", "median", page.text("#latency-median"), "p99", page.text("#latency-p99"))


if __name__ == "__main__":
    main(sys.argv[1:])
