#!/usr/bin/env python3
"""run.py [SUITE...]: the test suites of other programs on plain and on tracked databases.

Each suite runs three times: on plain SQLite, tracked without a daemon, and tracked beside a live daemon. A test that
passes plain and fails tracked is a failure that tracking causes, unless exceptions.txt or the listings explain it.
Ends with the counts; status 1 for a failure that nothing explains. See README.md beside this file.
"""

import argparse
import collections
import os
import pathlib
import shutil
import signal
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


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", help="names, or how they begin; default: all")
    parser.add_argument("--programs", default=str(install.ROOT / ".build" / "debug"),
                        help="the folder of synctool and syncd (default: .build/debug)")
    parser.add_argument("--mode", action="append", choices=MODES, help="only this one; may be repeated")
    parser.add_argument("--keep-plain", action="store_true", help="compare with an earlier run on plain SQLite")
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

    def run(self, suite, mode, what, is_filtered=False):
        """The outcomes of one suite in one mode. Its output and what `track` said are beside the results."""
        label = mode + ("-filtered" if is_filtered else "")
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
                "PEERS_FILTER": "1" if is_filtered else "0",
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
        with open(self.path(suite, label, "log"), "w") as output:
            process = subprocess.Popen(
                command, cwd=source, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                env={**os.environ, **variables}, start_new_session=True)
        try:
            process.wait(suite.seconds_max)
        except subprocess.TimeoutExpired:
            self.faults.append(f"{suite.name} {label}: stopped after {suite.seconds_max} s")
        finally:
            # Also what the suite started and left behind.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def check_tracking(self, suite, label, mode, log):
        """A run in which nothing was tracked would pass in vain."""
        if mode == "plain":
            return
        lines = [line.split("\t") for line in log.read_text().splitlines()] if log.exists() else []
        tracked = [line for line in lines if line[0] == "track" and line[1] == "0"]
        files = len({line[3] for line in tracked})
        print(f"  {label}: {len(tracked)} calls of track, {files} databases", flush=True)
        refused = collections.Counter(
            line[4].replace(line[3], "DB") for line in lines if line[0] == "track" and line[1] != "0")
        for said, count in refused.most_common():
            print(f"    track refused {count} times: {said[:200]}")
        if files == 0:
            self.faults.append(f"{suite.name} {label}: no database was tracked")
        self.check_examinations(suite, label, [line for line in lines if line[0] == "doctor"])

    def check_examinations(self, suite, label, lines):
        """What `doctor --mend` said of databases at their end."""
        if not lines:
            return
        missed = sum("had been missed" in line[4] for line in lines)
        print(f"    examined {len(lines)} databases at their end; in {missed} changes were found by comparison")
        for line in lines:
            if line[1] != "0":
                self.faults.append(f"{suite.name} {label}: doctor --mend: {line[4]}")


def examine(runs, suite, modes, only, keeps_plain):
    """Runs one suite in each mode and prints what tracking causes."""
    what = only or suite.arguments
    began = time.monotonic()
    if not keeps_plain or not runs.path(suite, "plain", "jsonl").exists():
        print(f"{suite.name}: plain", flush=True)
        runs.run(suite, "plain", what)
    for mode in modes:
        print(f"{suite.name}: {mode}", flush=True)
        runs.path(suite, mode + "-filtered", "jsonl").unlink(missing_ok=True)
        runs.run(suite, mode, what)
        comparison = compared(suite, mode)
        if comparison is None:
            runs.faults.append(f"{suite.name} {mode}: no test ran; see {runs.path(suite, mode, 'log')}")
            continue
        if comparison.caused:
            runs.run(suite, mode, files_of(suite, comparison.caused), is_filtered=True)
            comparison = compared(suite, mode)
        for name, outcome in comparison.caused.items():
            last = outcome.message.strip().splitlines()[-1:] or [""]
            print(f"  FAILS ONLY {mode.upper()}: {name}\n    {last[0][:300]}")
        for name in comparison.missing[:20]:
            print(f"  NOT RUN {mode.upper()}: {name}")
    print(f"{suite.name}: {time.monotonic() - began:.0f} s\n", flush=True)


def compared(suite, mode):
    """The comparison of the stored results; None when the suite has not run in this mode."""
    paths = [RESULTS / f"{suite.name}.{label}.jsonl" for label in ("plain", mode, mode + "-filtered")]
    plain, other, filtered = [results.load(path) for path in paths]
    if not plain or not other:
        return None
    comparison = results.compare(plain, other)
    results.explain_exceptions(comparison, suite.name, mode)
    results.explain_short_timeouts(comparison, filtered)
    if suite.runner == "django":
        results.explain_dropped_columns(comparison, filtered)
    else:
        results.explain_listings(comparison, filtered)
    return comparison


def files_of(suite, tests):
    """The files, modules or classes of some tests, which the runner takes as arguments."""
    if suite.runner == "django":
        return sorted({test.split(" ")[0].rsplit(".", 1)[0] for test in tests})
    if suite.runner == "unittest":
        return sorted({test.rsplit(".", 2)[0].split(" ")[0] for test in tests})
    return sorted({test.split("::")[0] for test in tests})


def report(chosen):
    """Prints the counts of the stored results. Returns how many failures nothing explains."""
    print(f"{'suite':22}{'mode':9}{'run':>6}{'skipped':>9}{'fails plain':>13}{'only tracked':>14}"
          f"{'unexplained':>13}  explained")
    sums = collections.Counter()
    for suite in chosen:
        for mode in MODES:
            one = compared(suite, mode)
            if one is None:
                print(f"{suite.name:22}{mode:9} not run")
                continue
            groups = {group: len(tests) for group, tests in sorted(one.explained.items())}
            unexplained = len(one.caused) + len(one.missing)
            only_tracked = sum(groups.values()) + len(one.caused)
            print(f"{suite.name:22}{mode:9}{one.tests:6}{one.skipped:9}{one.fail_plain:13}"
                  f"{only_tracked:14}{unexplained:13}  "
                  + ", ".join(f"{count} {group}" for group, count in groups.items()))
            sums.update(run=one.tests, only=only_tracked, unexplained=unexplained)
    print(f"{'all':31}{sums['run']:6}{sums['only']:36}{sums['unexplained']:13}")
    return sums["unexplained"]


def main():
    given = arguments()
    chosen = catalogue.named(given.suites)
    if given.report:
        report(chosen)
        return
    install.install(chosen)
    # So that what was started ends, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    runs = Runs(given.programs)
    try:
        for suite in chosen:
            examine(runs, suite, given.mode or MODES, given.only, given.keep_plain)
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
