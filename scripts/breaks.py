#!/usr/bin/env python3
"""breaks.py [--check] [--release] [--seeds N] [--only WORD]: breaks the rules of merging on purpose, one by one.

Each entry of Tests/Breaks/breaks.toml is applied to a copy of the sources, syncsim (or the named tests) is built
and run, and the first seed that fails is printed. Exits 1 when a break was not found, or does not apply any more.
--check looks only whether each applies.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "Tests" / "Breaks" / "breaks.toml"
COPY = ROOT / ".build-breaks" / "package"
COPIED = ("Package.swift", "Sources", "Tests", "Examples")
SWIFT = shlex.split(os.environ.get("SWIFT", "swift"))
RUN_SECONDS_MAX = 900
# What syncsim is run with.
KINDS = {
    "values": ("--kind", "values"),
    "files": ("--kind", "files"),
    "lane": ("--kind", "files", "--lane"),
    "plain lane": ("--kind", "files", "--lane", "--schedules", "plain"),
}


def broken(entry):
    """The text of the file with the break; None when the place is not found exactly once."""
    text = (ROOT / entry["file"]).read_text()
    return text.replace(entry["old"], entry["new"]) if text.count(entry["old"]) == 1 else None


def refresh():
    """The sources as they are, in the copy; files that did not change keep their times, so that little is built."""
    for name in COPIED:
        sources = [path for path in (ROOT / name).rglob("*") if path.is_file()] or [ROOT / name]
        for source in sources:
            copy = COPY / source.relative_to(ROOT)
            if copy.exists() and copy.read_bytes() == source.read_bytes():
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
        for copy in (COPY / name).rglob("*"):
            if copy.is_file() and not (ROOT / copy.relative_to(COPY)).exists():
                copy.unlink()


def run(command, seconds=RUN_SECONDS_MAX):
    """Status and output; a run that takes too long counts as one that found nothing."""
    process = subprocess.Popen(command, cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        return process.communicate(timeout=seconds)[0], process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "", 0


def search(entry, seeds, configuration):
    """What found the break; None when nothing did."""
    kind = entry["find"]
    if kind in KINDS:
        output, status = run([*SWIFT, "build", "-c", configuration, "--product", "syncsim"], 3600)
        if status:
            raise SystemExit(f"does not build: {entry['name']}\n{output[-2000:]}")
        output, status = run(
            [f".build/{configuration}/syncsim", "run", *KINDS[kind], "--count", str(seeds), "--failures", "1"])
        if status < 0:
            return f"a crash (signal {-status})"
        found = re.search(r"^seed (\d+)", output, re.MULTILINE)
        return f"seed {found[1]}" if found else None
    output, status = run([*SWIFT, "build", "--build-tests"], 3600)
    if status:
        raise SystemExit(f"does not build: {entry['name']}\n{output[-2000:]}")
    output, status = run([*SWIFT, "test", "--skip-build", "--filter", kind])
    found = re.search(r'Test "?(.+?)"? recorded an issue|Test "?(.+?)"? failed', output)
    return (found[1] or found[2] if found else "a crash") if status else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    entries = [entry for entry in tomllib.loads(LIST.read_text())["break"]
               if options.only in entry["name"]]
    stale = [entry["name"] for entry in entries if broken(entry) is None]
    for name in stale:
        print(f"{LIST.relative_to(ROOT)}: does not apply any more: {name}")
    if options.check or stale:
        sys.exit(1 if stale else 0)
    unfound = 0
    for entry in entries:
        refresh()
        (COPY / entry["file"]).write_text(broken(entry))
        found = search(entry, options.seeds, "release" if options.release else "debug")
        unfound += found is None
        print(f"| {entry['name']} | {entry['find']} | {found or 'NOT FOUND'} |", flush=True)
    refresh()
    print(f"{len(entries)} breaks, {unfound} not found")
    sys.exit(1 if unfound else 0)


if __name__ == "__main__":
    main()
