#!/usr/bin/env python3
"""test.py GROUP...: builds the tests, runs each group, and ends with what failed.

A group is one argument: a filter of `swift test`, and flags after it. A group that fails does not keep the
others from running; one that hangs is ended, with all that it started. The last lines name each test
that failed with its messages, each that had not ended when its process did, and the errors of a build:
SUMMARY_LINES_MAX lines at most, for readers who see only the end of a log.
"""

import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading

# A group that hangs must not hang without end.
GROUP_SECONDS_MAX = float(os.environ.get("SYNCD_TEST_GROUP_SECONDS", "2100"))
SUMMARY_LINES_MAX = 60
MESSAGE_LINES_MAX = 4
MESSAGE_COLUMNS_MAX = 240
UNENDED_MAX = 8
FRAMES_MAX = 14

# Tests block their threads, and Swift has one thread a core: with more tests at a time than threads, one
# that waits for an event may get no thread to hear of it.
WIDTH = str(max(2, os.cpu_count() or 2))

ROOT = pathlib.Path(__file__).resolve().parent.parent
SWIFT = shlex.split(os.environ.get("SWIFT", "swift"))
CRASH = re.compile(r"Fatal error:|Program crashed:|unexpected signal code|Sanitizer: ")
CRASHED_THREAD = re.compile(r'^Thread \d+ .*crashed:')
FRAME = re.compile(r"^\s*\d+ (?:\[\w+\]\s*)*0x[0-9a-f]+ (.* in .*)")
ERROR = re.compile(r"^(\S.*)?\berror: ")


class Group:
    """One run of `swift test`, as its event stream tells it."""

    def __init__(self, arguments):
        self.name = " ".join(arguments)
        self.arguments = arguments
        self.status = 0
        self.crashes = []
        self.frames = []
        self.passed = self.failed = self.skipped = 0
        self.started = {}
        # Skipped by a condition, or cancelled by the test itself because something is not there.
        self.not_run = set()
        self.issues = {}

    def run(self, folder):
        events = pathlib.Path(folder) / "events.json"
        events.unlink(missing_ok=True)
        width = [] if "--no-parallel" in self.arguments else [
            "--experimental-maximum-parallelization-width", WIDTH]
        self.status, lines = run(
            [*SWIFT, "test", "--skip-build", "--event-stream-output-path", str(events), *width,
             "--filter", *self.arguments], GROUP_SECONDS_MAX, dict(os.environ, TMPDIR=str(folder)))
        self.crashes = [line for line in lines if CRASH.search(line)]
        crashed = next((place for place, line in enumerate(lines) if CRASHED_THREAD.match(line)), len(lines))
        self.frames = [
            found[1] for line in lines[crashed:] if (found := FRAME.match(line))][:FRAMES_MAX]
        if events.is_file():
            self.read(events)

    def read(self, events):
        for line in events.read_text(errors="replace").splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue  # the line that was being written when the process ended
            if record.get("kind") != "event":
                continue
            event = record["payload"]
            test = event.get("testID", "")
            if "/" not in test and event["kind"] != "issueRecorded":
                continue  # a suite
            if event["kind"] in ("testSkipped", "testCancelled"):
                if test not in self.not_run:
                    self.not_run.add(test)
                    self.skipped += 1
            elif event["kind"] == "testStarted":
                self.started[test] = True
            elif event["kind"] == "testEnded":
                self.started.pop(test, None)
                if any(message["symbol"] == "fail" for message in event["messages"]):
                    self.failed += 1
                    self.issues.setdefault(test, [])
                elif test not in self.not_run:
                    self.passed += 1
            elif event["kind"] == "issueRecorded" and is_failure(event.get("issue", {})):
                self.issues.setdefault(test, []).append(text_of(event))

    def summary(self):
        for test, messages in self.issues.items():
            yield name_of(test)
            for message in messages[:3]:
                yield from message
            if len(messages) > 3:
                yield f"    and {len(messages) - 3} more"
        if self.status == 0:
            if self.passed + self.failed == 0:
                yield f"the group '{self.name}' ran no test: its filter matches none"
            return
        for line in self.crashes[:3]:
            yield "crashed: " + line.strip()[:MESSAGE_COLUMNS_MAX]
        for line in self.frames if self.crashes else []:
            yield "    " + line[:MESSAGE_COLUMNS_MAX]
        if self.status is None:
            yield f"the group '{self.name}' did not end within {GROUP_SECONDS_MAX:g} s"
        elif not self.issues and not self.crashes:
            yield f"the group '{self.name}' ended with status {self.status}; look at its output"
        if self.status is None or self.crashes:
            yield from [
                "not ended: " + name_of(test) for test in list(self.started)[:UNENDED_MAX]]
            if len(self.started) > UNENDED_MAX:
                yield f"    and {len(self.started) - UNENDED_MAX} more that had not ended"


def is_failure(issue):
    return issue.get("isFailure", not issue.get("isKnown", False))


def text_of(event):
    """The messages of an issue, each behind the place where it was found."""
    place = event.get("issue", {}).get("sourceLocation") or {}
    at = f"{pathlib.Path(place.get('fileID', '')).name}:{place.get('line', '')}: " if place else ""
    text = at + " | ".join(message["text"] for message in event["messages"])
    lines = text.splitlines()[:MESSAGE_LINES_MAX] or [at]
    return ["    " + line[:MESSAGE_COLUMNS_MAX] for line in lines]


def name_of(test):
    """`SyncCoreTests.UndoTests/revert(_:)/UndoTests.swift:5:6` without its place."""
    return re.sub(r"/[^/]+\.swift:\d+:\d+$", "", test) or "outside of any test"


def run(command, seconds=None, environment=None):
    """Runs a command in a session of its own and shows what it prints.

    Returns its status, None when it did not end within `seconds`, and its lines.
    """
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    lines = []

    def show():
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)

    reader = threading.Thread(target=show, daemon=True)
    reader.start()
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        # What a test left behind would hold the pipe open.
        reader.join(0 if process.poll() is None else 5)
        end_session(process.pid)
    reader.join()
    return status, lines


def end_session(session):
    """Ends what a command started, too: `swift test` gives its children groups of their own."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                os.kill(int(entry.name), signal.SIGKILL)
        except (OSError, IndexError):
            continue  # it has ended


def fail(lines):
    shown = lines[:SUMMARY_LINES_MAX - 1]
    if len(lines) > len(shown):
        shown[-1] = f"and {len(lines) - len(shown) + 1} more lines"
    print("\n".join(["", *shown][:SUMMARY_LINES_MAX]), flush=True)
    sys.exit(1)


def main():
    status, lines = run([*SWIFT, "build", "--build-tests"])
    if status != 0:
        errors = dict.fromkeys(line.rstrip()[:MESSAGE_COLUMNS_MAX] for line in lines if ERROR.search(line))
        fail(["the tests do not build:", *(errors or [line.rstrip() for line in lines[-20:]])])
    groups = [Group(shlex.split(argument)) for argument in sys.argv[1:]]
    # Temporary folders of the tests lie in it, too: nothing is left of a process that was killed. A file
    # system that a killed test had mounted there cannot be removed.
    with tempfile.TemporaryDirectory(prefix="syncd-tests-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)  # for tests that run as another user
        for group in groups:
            group.run(folder)
    passed, failed, skipped = (
        sum(getattr(group, of) for group in groups) for of in ("passed", "failed", "skipped"))
    counts = f"{passed} passed, {failed} failed, {skipped} skipped"
    failures = [line for group in groups for line in group.summary()]
    if failures:
        fail([counts, *failures])
    print(counts, flush=True)


if __name__ == "__main__":
    main()
