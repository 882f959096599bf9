#!/usr/bin/env python3
"""breaks.py [--check] [--only WORD] [--seeds N] [--seconds N] [--tests]: breaks the rules of merging on purpose.

All entries of Tests/Breaks/breaks.toml are put into one copy of the sources, each behind a switch: the environment
variable SYNCSIM_BREAK is the number of the one that is on. syncsim is built once from this copy; it has to find
nothing while no break is on. Then it is run with each, and the first seed that fails with it alone is printed.
--tests does the same with those that a test has to find. Exits 1 when a break was not found, or something without
one. --check looks only whether the copy can be made.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "Tests" / "Breaks" / "breaks.toml"
COPY = ROOT / ".build-breaks" / "package"
COPIED = ("Package.swift", "Package.resolved", "Sources", "Tests", "Examples")
SWIFT = shlex.split(os.environ.get("SWIFT", "swift"))
BUILD_SECONDS_MAX = 7200
# So many seeds must find nothing while no break is on.
SOUND_SEEDS = 20
# What syncsim is run with.
KINDS = {
    "values": ("--kind", "values"),
    "files": ("--kind", "files"),
    "lane": ("--kind", "files", "--lane"),
    "plain lane": ("--kind", "files", "--lane", "--schedules", "plain"),
    "crowded lane": ("--kind", "files", "--lane", "--schedules", "crowded"),
    "both lanes": ("--kind", "files", "--both", "--schedules", "simple"),
    "kills": ("--kind", "files", "--kills"),
    "migrating": ("--kind", "files", "--schedules", "migrating"),
}
# In the lowest module. Every file with a break imports it.
SWITCH = "Sources/SyncValues/BreakSwitch.swift"
SWITCH_TEXT = """\
import Foundation

/// The number of the break that is on; 0: none is.
private let breakNumber =
    ProcessInfo.processInfo.environment["SYNCSIM_BREAK"].flatMap { Int($0) } ?? 0

package func isBreakOn(_ number: Int) -> Bool { number == breakNumber }
"""


def switched(entry, number):
    """What takes the place of `old`: both texts, and the switch."""
    isOn = f"isBreakOn({number})"
    if "both" in entry:
        return entry["both"].replace("BROKEN", isOn)
    old, new = entry["old"], entry["new"]
    if old.endswith("\n"):
        return f"if {isOn} {{\n{new}}} else {{\n{old}}}\n"
    return f"({isOn} ? ({new}) : ({old}))"


def broken(entries):
    """The text of each file that is not copied as it is, by path; and what is wrong with the entries."""
    places, wrong = {}, []
    for number, entry in enumerate(entries, 1):
        text = (ROOT / entry["file"]).read_text()
        count = text.count(entry["old"])
        if count != 1:
            wrong.append(f"`old` is there {count} times: {entry['name']}")
            continue
        if "both" not in entry and any(
                entry[key].count("{") != entry[key].count("}") or entry[key].endswith(",\n") for key in ("old", "new")):
            wrong.append(f"`old` and `new` become blocks, and are no whole statements: {entry['name']}")
        start = text.index(entry["old"])
        places.setdefault(entry["file"], []).append((start, start + len(entry["old"]), number))
    texts = {SWITCH: SWITCH_TEXT}
    for file, found in places.items():
        text, begin = (ROOT / file).read_text(), None
        for start, end, number in sorted(found, reverse=True):
            if begin is not None and end > begin:
                wrong.append(f"overlaps another one: {entries[number - 1]['name']}")
            text, begin = text[:start] + switched(entries[number - 1], number) + text[end:], start
        texts[file] = "import SyncValues\n" + text
    return texts, wrong


def refresh(texts):
    """Makes the copy; files that did not change keep their times, so that little is built again."""
    sources = {path.relative_to(ROOT): path for name in COPIED
               for path in [ROOT / name, *(ROOT / name).rglob("*")] if path.is_file()}
    contents = {path: source.read_bytes() for path, source in sources.items()}
    contents |= {pathlib.Path(file): text.encode() for file, text in texts.items()}
    for path, content in contents.items():
        copy = COPY / path
        if copy.exists() and copy.read_bytes() == content:
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
    for name in COPIED:
        for copy in (COPY / name).rglob("*"):
            if copy.is_file() and copy.relative_to(COPY) not in contents:
                copy.unlink()


def run(command, seconds, **environment):
    """Output and status; a run that takes too long counts as one that found nothing."""
    process = subprocess.Popen(command, cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env=os.environ | environment)
    try:
        return process.communicate(timeout=seconds)[0], process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0], 0


def build(*arguments, **environment):
    output, status = run([*SWIFT, "build", *arguments], BUILD_SECONDS_MAX, **environment)
    if status:
        raise SystemExit(f"the copy does not build:\n{output[-4000:]}")


def failure(kind, number, first, seeds, seconds):
    """The first seed that fails, or the crash that ended the run; None when nothing fails."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        output, status = run(
            [".build/release/syncsim", "run", *KINDS[kind], "--seed", str(first), "--count", str(seeds),
             "--failures", "1", "--folder", folder], seconds, SYNCSIM_BREAK=str(number))
    found = re.search(r"^seed (\d+)", output, re.MULTILINE)
    if found:
        return int(found[1])
    return f"a crash (signal {-status})" if status < 0 else None


def simulated(kind, number, seeds, seconds):
    """What found a break: the first seed that fails with it alone; None when nothing did."""
    first, end = 0, time.monotonic() + seconds
    while first < seeds and (left := end - time.monotonic()) > 0:
        found = failure(kind, number, first, seeds - first, left)
        if not isinstance(found, int):
            return found
        if failure(kind, 0, found, 1, seconds) is None:
            return f"seed {found}"
        first = found + 1
    return None


def tested(name, number, seconds, targets):
    """What found a break; None when nothing did."""
    output, status = run([*SWIFT, "test", "--skip-build", "--filter", name], seconds,
                         SYNCSIM_BREAK=str(number), SYNCD_TESTS=targets)
    found = re.search(r'Test "?(.+?)"? recorded an issue|Test "?(.+?)"? failed', output)
    return (found[1] or found[2] if found else "a crash") if status else None


def search(chosen, find):
    """Prints what finds each of some breaks; how many were not found."""
    unfound = 0
    for number, entry in chosen:
        start = time.monotonic()
        found = find(entry["find"], number)
        unfound += found is None
        seconds = time.monotonic() - start
        print(f"| {entry['name']} | {entry['find']} | {found or 'NOT FOUND'} | {seconds:.0f} |", flush=True)
    return unfound


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="look only whether the copy can be made")
    parser.add_argument("--only", default="", help="the breaks with this word in their names")
    parser.add_argument("--seeds", type=int, default=10_000, help="how many seeds look for a break")
    parser.add_argument("--seconds", type=int, default=180, help="how long they do")
    parser.add_argument("--tests", action="store_true", help="the breaks that a test has to find, too")
    options = parser.parse_args()
    entries = tomllib.loads(LIST.read_text())["break"]
    texts, wrong = broken(entries)
    for line in wrong:
        print(f"{LIST.relative_to(ROOT)}: {line}")
    if options.check or wrong:
        sys.exit(1 if wrong else 0)
    chosen = [(number, entry) for number, entry in enumerate(entries, 1) if options.only in entry["name"]]
    of_simulation = [item for item in chosen if item[1]["find"] in KINDS]
    of_tests = [item for item in chosen if item[1]["find"] not in KINDS]
    refresh(texts)
    unfound = unsound = 0
    if of_simulation:
        build("-c", "release", "--product", "syncsim")
        for kind in sorted({entry["find"] for _, entry in of_simulation}):
            found = failure(kind, 0, 0, SOUND_SEEDS, options.seconds)
            if found is not None:
                unsound += 1
                print(f"{kind} fails without a break: {found}", flush=True)
        unfound += search(of_simulation, lambda kind, number: simulated(
            kind, number, options.seeds, options.seconds))
    if of_tests and options.tests:
        targets = " ".join(sorted({entry["find"].split(".")[0] for _, entry in of_tests}))
        build("--build-tests", SYNCD_TESTS=targets)
        unfound += search(of_tests, lambda name, number: tested(name, number, options.seconds, targets))
    elif of_tests:
        print(f"{len(of_tests)} breaks that tests have to find were not tried (--tests)")
    print(f"{len(chosen)} breaks, {unfound} not found")
    sys.exit(1 if unfound or unsound else 0)


if __name__ == "__main__":
    main()
