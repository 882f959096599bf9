#!/usr/bin/env python3
"""sessions.py [--programs FOLDER] [--update | --follow] PAGE...: runs the console sessions of Markdown pages.

Every block that begins with ```console is run: a line that begins with `$ ` is a command, a line that
begins with `> ` continues it, and the other lines are what it prints (stdout and stderr). The blocks of one
page run in one shell, in a temporary folder that has `music.db`, a small database, and its own HOME and
socket. A page that differs from what the programs print is named with the line; the exit status is 1.

Comments of a page prepare its sessions; readers of the page do not see them:

    <!-- setup
    COMMANDS of the shell, without output
    -->
    <!-- file: NAME -->      the block of code that follows is written to the file NAME
    <!-- daemon -->          starts a daemon for the rest of the page

What changes from run to run counts as equal: times, identifiers, process ids, durations, the folder. `…` in
a line stands for any text; a line that is `…` alone stands for any lines.

--update writes what the programs print into the pages. Read the difference before committing it.

--follow does what a reader does: it runs the blocks that begin with ```sh, too, which install things, with the
programs of the PATH, in the folder and with the environment in which it was started, and prepares nothing. For a
machine that is made for the test.
"""

import argparse
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

COMMAND_SECONDS_MAX = 120
# How long output may stay away before it is taken as complete: when it is to be written into the page, and
# when it differs from the page. Long, because what a background program prints may be late on a busy machine.
UPDATE_QUIET_SECONDS = 1.5
QUIET_SECONDS = 20

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLE = """
PRAGMA journal_mode = WAL;
CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name TEXT);
CREATE TABLE Album(
    AlbumId INTEGER PRIMARY KEY, Title TEXT NOT NULL,
    ArtistId INTEGER NOT NULL REFERENCES Artist ON DELETE CASCADE);
INSERT INTO Artist VALUES (1, 'AC/DC'), (50, 'Metallica');
INSERT INTO Album VALUES (1, 'For Those About To Rock', 1), (347, 'Reload', 50), (348, 'Load', 50);
"""
END = "\x01END\x01"

CHANGING = [
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d(?!\d)"), "<date>"),
    (re.compile(r"\b1\.[0-9a-f]{32}\.\d+\.\d+\.[0-9a-f]+"), "<token>"),
    (re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{8})\b"), "<id>"),
    (re.compile(r"\[\d+\]"), "[<pid>]"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|seconds?|minutes?)\b"), "<duration>"),
    (re.compile(r"\b\d+(\.\d+)? ?(bytes|kB|KB|KiB|MB|MiB)\b"), "<size>"),
]


class Page:
    """The steps of one page, in order: ("run", text), ("file", name, text), ("daemon",), ("sh", line, text) for
    readers alone, or a Command."""

    def __init__(self, path):
        self.path = path
        self.lines = path.read_text().split("\n")
        self.steps = []
        number = 0
        while number < len(self.lines):
            number = self.read(number)

    def read(self, number):
        line = self.lines[number].strip()
        if line == "<!-- setup":
            end = self.find("-->", number + 1)
            self.steps.append(("run", "\n".join(self.lines[number + 1:end])))
        elif line == "<!-- daemon -->":
            self.steps.append(("daemon",))
            end = number
        elif match := re.fullmatch(r"<!-- file: (\S+) -->", line):
            start = number + 1
            while not self.lines[start].startswith("```"):
                start += 1
            end = self.find("```", start + 1)
            self.steps.append(
                ("file", match.group(1), "\n".join(self.lines[start + 1:end]) + "\n"))
        elif line == "```console":
            end = self.find("```", number + 1)
            self.read_console(number + 1, end)
        elif line == "```sh":
            end = self.find("```", number + 1)
            self.steps += [
                ("sh", at + 1, self.lines[at]) for at in range(number + 1, end) if self.lines[at].strip()]
        elif line.startswith("```"):
            end = self.find("```", number + 1)
        else:
            end = number
        return end + 1

    def find(self, text, start):
        for number in range(start, len(self.lines)):
            if self.lines[number].strip() == text:
                return number
        sys.exit(f"{self.path}:{start}: the block has no end")

    def read_console(self, start, end):
        command = None
        for number in range(start, end):
            line = self.lines[number]
            if line.startswith("$ "):
                command = Command(number, line[2:])
                self.steps.append(command)
            elif command is None:
                if line.strip():
                    sys.exit(f"{self.path}:{number + 1}: output before the first command")
            elif line.startswith("> ") and not command.expected:
                command.text += "\n" + line[2:]
                command.start = number + 1
            else:
                command.expected.append(line)

    def write(self):
        """Replaces what each command prints; lines that say the same stay as they are."""
        for step in reversed(self.steps):
            if isinstance(step, Command) and step.actual is not None:
                end = step.start + len(step.expected)
                blank = [""] if step.expected and not step.expected[-1].strip() else []
                if not matches(trimmed(step.expected), step.actual):
                    self.lines[step.start:end] = [stable(line) for line in step.actual] + blank
        self.path.write_text("\n".join(self.lines))


class Command:
    def __init__(self, number, text):
        self.text = text
        self.start = number + 1
        self.number = number + 1
        self.expected = []
        self.actual = None


class Shell:
    """One bash, its output read by a thread; everything that it started ends with it."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"], cwd=folder, env=environment, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        self.arrived = queue.Queue()
        threading.Thread(target=self.pump, daemon=True).start()

    def pump(self):
        for line in self.process.stdout:
            self.arrived.put(line.rstrip("\n"))

    def send(self, text):
        # Standard input is the script itself: a command must not read it.
        self.process.stdin.write(f"{{ {text}\n}} </dev/null\nprintf '\\n%s\\n' '{END}'\n")
        self.process.stdin.flush()

    def run(self, text, expected, quiet_seconds, update=False):
        """What a command prints: to its end, and until what it should print is there."""
        self.send(text)
        lines, ended = [], False
        deadline = time.monotonic() + COMMAND_SECONDS_MAX
        quiet = time.monotonic() + quiet_seconds
        while time.monotonic() < deadline:
            try:
                line = self.arrived.get(timeout=0.05)
            except queue.Empty:
                if ended and not update and matches(expected, visible(lines)):
                    break
                if ended and time.monotonic() > quiet:
                    break
                continue
            quiet = time.monotonic() + quiet_seconds
            if line == END:
                ended = True
            else:
                lines.append(line.replace(self.folder, "~"))
        if not ended:
            lines.append(f"(sessions.py: no end within {COMMAND_SECONDS_MAX} s)")
        return visible(lines)

    def start_daemon(self):
        self.run("syncd --user >>.daemon.log 2>&1 &", [], QUIET_SECONDS)
        socket = pathlib.Path(self.folder, "s.sock")
        deadline = time.monotonic() + COMMAND_SECONDS_MAX
        while not socket.exists():
            if time.monotonic() > deadline:
                sys.exit("the daemon does not start: "
                         + pathlib.Path(self.folder, ".daemon.log").read_text())
            time.sleep(0.02)

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def environment_of(folder, programs):
    """For a session that meets nothing of this machine."""
    return {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "HOME": folder, "TERM": "dumb",
        "LANG": "C.UTF-8", "TZ": "UTC", "USER": "ann", "TMPDIR": folder,
        "SYNCD_SOCKET": f"{folder}/s.sock", "XDG_RUNTIME_DIR": folder,
        "XDG_CONFIG_HOME": f"{folder}/.config", "XDG_STATE_HOME": f"{folder}/.state",
    }


def stable(line):
    """A line for a page: the same time and process id in every update."""
    line = re.sub(r"\d{4}-\d\d-\d\d( )\d\d:\d\d:\d\d\.\d+", "2026-01-01 12:00:00.000", line)
    return re.sub(r"\[\d+\]", "[4711]", line)


def visible(lines):
    """Without empty lines: they separate, in pages and in what programs print."""
    return [line.rstrip() for line in lines if line.strip()]


def trimmed(lines):
    return visible(lines)


def pattern(line):
    parts = [re.escape(normal(part)) for part in line.split("…")]
    return re.compile(".*".join(parts))


def normal(line):
    for changing, name in CHANGING:
        line = changing.sub(name, line)
    return line


def matches(expected, actual):
    """Line by line; or the same lines in another order, where two programs print at once."""
    return matches_in_order(expected, actual) or (
        sorted(map(normal, expected)) == sorted(map(normal, actual)))


def matches_in_order(expected, actual):
    if not expected:
        return not actual
    if expected[0].strip() == "…":
        return any(matches_in_order(expected[1:], actual[at:]) for at in range(len(actual) + 1))
    if not actual:
        return False
    line = expected[0]
    if line != actual[0] and not pattern(line).fullmatch(normal(actual[0])):
        return False
    return matches_in_order(expected[1:], actual[1:])


def difference(page, step, expected):
    return (
        f"{page.path}:{step.number}: $ {step.text}\n  the page says:\n"
        + "".join(f"    {line}\n" for line in expected)
        + "  the programs print:\n"
        + "".join(f"    {line}\n" for line in step.actual))


def follow_page(page):
    """The differences of one page, read word by word by a newcomer. Ends at the first command that fails."""
    findings = []
    shell = Shell(os.getcwd(), os.environ | {"LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb"})
    try:
        for step in page.steps:
            if isinstance(step, Command):
                print(f"$ {step.text}", flush=True)
                expected = trimmed(step.expected)
                step.actual = shell.run(step.text, expected, QUIET_SECONDS)
                print("".join(f"{line}\n" for line in step.actual), end="", flush=True)
                if not matches(expected, step.actual):
                    findings.append(difference(page, step, expected))
            elif step[0] == "sh":
                print(f"$ {step[2]}", flush=True)
                lines = shell.run(f"{step[2]}\necho \"status $?\"", ["…", "status 0"], QUIET_SECONDS)
                if lines[-1:] != ["status 0"]:
                    return findings + [f"{page.path}:{step[1]}: {step[2]}\n" + "\n".join(lines)]
    finally:
        shell.close()
    return findings


def run_page(page, programs, quiet_seconds, update):
    """The differences of one page."""
    findings = []
    folder = tempfile.mkdtemp(prefix="syncd-doc-")
    subprocess.run(
        ["sqlite3", f"{folder}/music.db"], input=SAMPLE, text=True, check=True, capture_output=True)
    shell = Shell(folder, environment_of(folder, programs))
    try:
        for step in page.steps:
            if isinstance(step, Command):
                expected = trimmed(step.expected)
                step.actual = shell.run(step.text, expected, quiet_seconds, update)
                if not matches(expected, step.actual):
                    findings.append(difference(page, step, expected))
            elif step[0] == "run":
                shell.run(f"{{ {step[1]}\n}} >/dev/null 2>&1", [], QUIET_SECONDS)
            elif step[0] == "file":
                pathlib.Path(folder, step[1]).write_text(step[2])
            elif step[0] == "daemon":
                shell.start_daemon()
    finally:
        shell.close()
        shutil.rmtree(folder, ignore_errors=True)
    return findings


def main():
    parser = argparse.ArgumentParser(description="Runs the console sessions of Markdown pages.")
    parser.add_argument("--programs", default=str(ROOT / ".build/debug"))
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--follow", action="store_true")
    parser.add_argument("--quiet-seconds", type=float, help="how long to wait for what is missing")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    findings, commands = [], 0
    for path in arguments.pages:
        page = Page(path)
        own = sum(isinstance(step, Command) for step in page.steps)
        if own == 0:
            continue
        commands += own
        quiet = arguments.quiet_seconds or (UPDATE_QUIET_SECONDS if arguments.update else QUIET_SECONDS)
        found = follow_page(page) if arguments.follow else run_page(
            page, pathlib.Path(arguments.programs).resolve(), quiet, arguments.update)
        if arguments.update:
            page.write()
        findings += found
    for finding in findings:
        print(finding)
    print(f"{commands} commands, {len(findings)} differ from their pages")
    if findings and not arguments.update:
        print("when the programs are right: scripts/sessions.py --update PAGE...")
        sys.exit(1)


main()
