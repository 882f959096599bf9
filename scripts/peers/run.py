#!/usr/bin/env python3
"""run.py [SUITE...]: the test suites of other programs on plain and on tracked databases.

Each suite runs three times: on plain SQLite, tracked without a daemon, and tracked beside a live daemon. A test that
passes plain and fails tracked is a failure that tracking causes, unless exceptions.txt or the listings explain it.
Ends with the counts; status 1 for a failure that nothing explains. See README.md beside this file.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import install
import results
import suites as catalogue
from daemon import Daemon

RESULTS = install.ROOT / ".build" / "peers" / "results"
MODES = ("tracked", "daemon")
KILL_SECONDS = 20


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", help="names, or how they begin; default: all")
    parser.add_argument("--programs", default=str(install.ROOT / ".build" / "debug"),
                        help="the folder of synctool and syncd (default: .build/debug)")
    parser.add_argument("--mode", action="append", choices=MODES, help="only this one; may be repeated")
    parser.add_argument("--report", action="store_true", help="only print the counts of earlier calls")
    parser.add_argument("--only", action="append", help="only this file, module or label of the suite")
    return parser.parse_args()


class Runs:
    """Runs suites in a folder in memory where there is one: what is tested are not disks."""

    def __init__(self, programs):
        self.programs = pathlib.Path(programs).resolve()
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="syncdpeers", dir=memory))
        RESULTS.mkdir(parents=True, exist_ok=True)
        self.faults = []

    def path(self, suite, label, ending):
        return RESULTS / f"{suite.name}.{label}.{ending}"

    def run(self, suite, mode, what, hides_listings=False):
        """The outcomes of one suite in one mode. Its output and what `track` said are beside the results."""
        label = mode + ("-filtered" if hides_listings else "")
        folder = self.folder / (suite.name + label).replace("_", "")
        (folder / "db").mkdir(parents=True)
        outcomes, log = self.path(suite, label, "jsonl"), self.path(suite, label, "track")
        for path in (outcomes, log):
            path.unlink(missing_ok=True)
        daemon = Daemon(str(self.programs / "syncd"), folder) if mode == "daemon" else None
        try:
            self.start(suite, what, label, folder, {
                "PEERS_MODE": mode,
                "PEERS_CONNECT": "1" if suite.replaces_connect else "0",
                "PEERS_HIDE": "1" if hides_listings else "0",
                "PEERS_FOLDER": str(folder / "db"),
                "PEERS_SYNCTOOL": str(self.programs / "synctool"),
                "PEERS_SOCKET": daemon.socket if daemon else "",
                "PEERS_LOG": str(log),
                "PEERS_RESULTS": str(outcomes),
                "TMPDIR": str(folder / "db"),
                "PYTHONPATH": str(catalogue.INSIDE),
                # Programs of a suite that call synctool find no daemon of the machine.
                "SYNCD_SOCKET": daemon.socket if daemon else str(folder / "none"),
            })
        finally:
            if daemon:
                well, peak = daemon.stop()
                shutil.copy(daemon.log, self.path(suite, label, "syncd.log"))
                print(f"  syncd: peak {peak // 1024} MB", flush=True)
                if not well:
                    self.faults.append(f"{suite.name}: syncd did not run to the end: {daemon.log}")
            shutil.rmtree(folder, ignore_errors=True)
        self.check_tracking(suite, label, mode, log)
        return results.load(outcomes)

    def start(self, suite, what, label, folder, variables):
        source = install.source(suite)
        if suite.runner == "pytest":
            # Some suites write beside their tests.
            shutil.copytree(source, folder / "source")
            source = folder / "source"
        command = suite.command(install.python(), folder, what)
        limit = ["timeout", f"--kill-after={KILL_SECONDS}", str(suite.seconds_max)]
        with open(self.path(suite, label, "log"), "w") as output:
            status = subprocess.run(
                limit + command, cwd=source, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                env={**os.environ, **variables}).returncode
        if status in (124, 137):
            self.faults.append(f"{suite.name} {label}: stopped after {suite.seconds_max} s")

    def check_tracking(self, suite, label, mode, log):
        """A run in which nothing was tracked would pass in vain."""
        if mode == "plain":
            return
        lines = [line.split("\t") for line in log.read_text().splitlines()] if log.exists() else []
        done = sum(line[0] == "0" for line in lines)
        files = len({line[2] for line in lines if line[0] == "0"})
        print(f"  {label}: {done} calls of track, {files} databases", flush=True)
        refused = collections.Counter(line[3].replace(line[2], "DB") for line in lines if line[0] != "0")
        for said, count in refused.most_common():
            print(f"    track refused {count} times: {said[:200]}")
        if files == 0:
            self.faults.append(f"{suite.name} {label}: no database was tracked")


def examine(runs, suite, modes, only):
    """Prints one suite's comparison for each mode and returns them."""
    what = only or suite.arguments
    began = time.monotonic()
    print(f"{suite.name}: plain", flush=True)
    plain = runs.run(suite, "plain", what)
    compared = {}
    for mode in modes:
        print(f"{suite.name}: {mode}", flush=True)
        comparison = results.compare(plain, runs.run(suite, mode, what))
        results.explain_exceptions(comparison, suite.name, mode)
        if comparison.caused and suite.replaces_connect:
            again = runs.run(suite, mode, files_of(suite, comparison.caused), hides_listings=True)
            results.explain_short_timeouts(comparison, again)
            results.explain_listings(comparison, again)
        for name, outcome in comparison.caused.items():
            last = outcome.message.strip().splitlines()[-1:] or [""]
            print(f"  FAILS ONLY {mode.upper()}: {name}\n    {last[0][:300]}")
        for name in comparison.missing[:20]:
            print(f"  NOT RUN {mode.upper()}: {name}")
        compared[mode] = comparison
    print(f"{suite.name}: {time.monotonic() - began:.0f} s\n", flush=True)
    return compared


def files_of(suite, tests):
    """The files or modules of some tests, which the runner takes as arguments."""
    if suite.runner == "unittest":
        return sorted({test.rsplit(".", 2)[0].split(" ")[0] for test in tests})
    return sorted({test.split("::")[0] for test in tests})


def keep(suite, compared):
    """Stores the counts, so that `--report` shows them with those of other calls."""
    for mode, one in compared.items():
        text = json.dumps({**dataclasses.asdict(one), "caused": sorted(one.caused)}, indent=1)
        (RESULTS / f"{suite.name}.{mode}.counts.json").write_text(text + "\n")


def report(chosen):
    """Prints the stored counts. Returns how many failures nothing explains."""
    print(f"{'suite':22}{'mode':9}{'run':>6}{'skipped':>9}{'fails plain':>13}{'only tracked':>14}"
          f"{'unexplained':>13}  explained")
    sums = collections.Counter()
    for suite in chosen:
        for mode in MODES:
            path = RESULTS / f"{suite.name}.{mode}.counts.json"
            if not path.exists():
                print(f"{suite.name:22}{mode:9} not run")
                continue
            one = json.loads(path.read_text())
            groups = {group: len(tests) for group, tests in sorted(one["explained"].items())}
            unexplained = len(one["caused"]) + len(one["missing"])
            only_tracked = sum(groups.values()) + len(one["caused"])
            print(f"{suite.name:22}{mode:9}{one['tests']:6}{one['skipped']:9}{one['fail_plain']:13}"
                  f"{only_tracked:14}{unexplained:13}  "
                  + ", ".join(f"{count} {group}" for group, count in groups.items()))
            sums.update(run=one["tests"], only=only_tracked, unexplained=unexplained)
    print(f"{'all':31}{sums['run']:6}{sums['only']:36}{sums['unexplained']:13}")
    return sums["unexplained"]


def main():
    given = arguments()
    chosen = catalogue.named(given.suites)
    if given.report:
        return report(chosen)
    install.install(chosen)
    runs = Runs(given.programs)
    try:
        for suite in chosen:
            keep(suite, examine(runs, suite, given.mode or MODES, given.only))
    finally:
        shutil.rmtree(runs.folder, ignore_errors=True)
    unexplained = report(chosen)
    for fault in runs.faults:
        print(fault)
    if unexplained or runs.faults:
        sys.exit(f"peers: {unexplained} failures that nothing explains; logs: {RESULTS}")
    print("peers: no failure that tracking causes")


if __name__ == "__main__":
    main()
