#!/usr/bin/env python3
"""tidy.py: what the formatter does not check. Prints each finding; exits 1 when there is one.

Held here: length of files, lines and functions; leftovers; escapes from the compiler's checks without a
reason; circles between the folders of one target; paths of one machine; a changelog that is kept;
tests that the documents name; links between pages; the table of targets. What is counted:
measure.py.
"""

import collections
import pathlib
import re
import sys

import swift_source
from swift_source import ROOT, tracked_files

FILE_LINES_MAX = 700
LINE_COLUMNS_MAX = 100
# Tests and benchmarks hold messages and SQL as strings that are worse to read when broken.
DATA_COLUMNS_MAX = 125
FUNCTION_LINES_MAX = 70

LEFTOVERS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|\bfatalError\(|\btry!|^(<<<<<<<|>>>>>>>) ")
UNCHECKED = re.compile(r"@unchecked Sendable|nonisolated\(unsafe\)")
MACHINE_PATHS = re.compile(re.escape(str(ROOT)) + r"/|/home/[a-z]+/src/")
FUNCTION = re.compile(r"^(\s*)(?:@\w+\s+)*(?:[a-z]+(?:\(\w+\))?\s+)*(?:func\s|init[?(<])")
SUITE = re.compile(r"\b(?:struct|class|extension) (\w+Tests)\b")
NAMED_TESTS = re.compile(r"`(\w+Tests)(?:\.(\w+`(?:, `[a-z]\w*`)*)|`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
FENCED = re.compile(r"^```.*?^```", re.M | re.S)
WORD = re.compile(r"[A-Za-z_]\w*")
DECLARED = re.compile(
    r"\b(?:struct|class|enum|actor|protocol|typealias|associatedtype|func|let|var|case) `?([A-Za-z_]\w*)")
TOP_LEVEL = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*"
    r"(?:(?:public|package|internal|open|final|indirect|nonisolated)\s+)*"
    r"(?:struct|class|enum|actor|protocol|typealias|func)\s+`?([A-Za-z_]\w*)")
USED_MEMBER = re.compile(r"(?<=\.)[a-z_]\w*\b(?!\s*:)|\b[a-z_]\w*(?=\()")
EXTENSION = re.compile(r"^(?:(?:public|package)\s+)?extension ([\w.]+)")
MEMBER = re.compile(
    r"^    (?:@\w+(?:\([^)]*\))?\s+)*"
    r"(?:(?:public|package|internal|static|mutating|nonisolated|indirect|final)\s+)*"
    r"(?:struct|class|enum|typealias|func|let|var|case) `?([A-Za-z_]\w*)")

IMPORT = re.compile(r"^(?:@\w+ |internal |public )*import (\w+)", re.M)
TARGET = re.compile(r"\.(?:executableTarget|target|systemLibrary)\(\s*name: \"([\w-]+)\"")
DEPENDENCIES = re.compile(r"dependencies: \[((?:[^\[\]]|\[[^\]]*\])*)\]")
PRODUCT = re.compile(r'\.product\(name: "([\w-]+)", package: "[^"]*"\)')
NAME = re.compile(r"[\w.-]+")

findings = []


def find(path, line, what):
    findings.append(f"{path}:{line}: {what}")


def check_lines(path, lines):
    if len(lines) > FILE_LINES_MAX:
        find(path, len(lines), f"{len(lines)} lines; the limit is {FILE_LINES_MAX}")
    text = "\n".join(lines)
    for number, line in enumerate(lines, 1):
        limit = DATA_COLUMNS_MAX if path.parts[0] != "Sources" and '"' in text else LINE_COLUMNS_MAX
        if len(line) > limit:
            find(path, number, f"{len(line)} columns; the limit is {limit}")
        if LEFTOVERS.search(line):
            find(path, number, f"a leftover: {line.strip()}")
        if path.parts[0] == "Sources" and UNCHECKED.search(line) and "//" not in "".join(lines[max(0, number - 4):number]):
            find(path, number, "no comment says what guards this state")


def check_functions(path, lines):
    """A function ends at the first line that closes it in its own column: the formatter's layout."""
    for start, line in enumerate(lines):
        match = FUNCTION.match(line)
        if not match or line.rstrip().endswith("}"):
            continue
        closing = match.group(1) + "}"
        for end in range(start + 1, len(lines)):
            if lines[end].rstrip() == closing:
                if end - start + 1 > FUNCTION_LINES_MAX:
                    find(path, start + 1, f"a function of {end - start + 1} lines; "
                         f"the limit is {FUNCTION_LINES_MAX}")
                break
            if lines[end].strip() and not lines[end].startswith(match.group(1)):
                break


def check_circles(sources, by_members):
    """Folders of one target lean one way: by the types that they name and, with `by_members`, by the members
    that extensions in another folder declare (a name behind a dot or before a parenthesis). Left out are names that two files
    declare, and members that a target which is imported declares, too."""
    declared = collections.defaultdict(set)
    owners = {}
    members = {}
    for path, text in sources.items():
        target = path.parts[1]
        in_extension = False
        for line in swift_source.code(text).split("\n"):
            for name in DECLARED.findall(line):
                declared[target, name].add(path)
            match = TOP_LEVEL.match(line)
            if match:
                owners[target, match.group(1)] = path
            if line[:1] not in ("", " ", ")"):
                in_extension = EXTENSION.match(line) is not None
            match = MEMBER.match(line)
            if match and in_extension:
                members[target, match.group(1)] = path
    imported = imports(sources)
    members = {
        (target, name): path for (target, name), path in members.items()
        if not any((other, name) in declared for other in imported[target] - {target})}
    leans = collections.defaultdict(lambda: collections.defaultdict(set))
    for path, text in sources.items():
        text = swift_source.code(text)
        own = set(DECLARED.findall(text))
        used = [(word, owners) for word in set(WORD.findall(text)) - own]
        if by_members:
            used += [(word, members) for word in set(USED_MEMBER.findall(text)) - own]
        for word, places in used:
            owner = places.get((path.parts[1], word))
            if owner and owner.parent != path.parent and len(declared[path.parts[1], word]) == 1:
                leans[str(path.parent)][str(owner.parent)].add(word)
    for circle in circles({folder: set(to) for folder, to in leans.items()}):
        arrows = "; ".join(
            f"{a} names {', '.join(sorted(leans[a][b])[:4])} of {b}"
            for a in circle for b in circle if b in leans[a])
        findings.append(f"folders lean on each other in a circle: {arrows}")


def imports(sources):
    """What each target imports, and what that imports."""
    direct = collections.defaultdict(set)
    for path, text in sources.items():
        direct[path.parts[1]].update(re.findall(r"^(?:@?\w+ )*import (\w+)", text, re.M))
    return {target: reach(direct, target) for target in list(direct)}


def reach(graph, start):
    """All that can be reached from `start`; `start` itself where it is on a circle."""
    seen, waiting = set(), [start]
    while waiting:
        for target in graph.get(waiting.pop(), ()):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def circles(graph):
    """The strongly connected parts of more than one folder."""
    reached = {folder: reach(graph, folder) for folder in graph}
    parts = {
        tuple(sorted(b for b in graph if b in reached[a] and a in reached[b]))
        for a in graph if a in reached[a]}
    return sorted(part for part in parts if len(part) > 1)


def check_named_tests(sources):
    """Each `SuiteTests.test` in docs/*-parity.md is there; names after it are of the same suite."""
    tests = collections.defaultdict(set)
    for text in sources:
        for suite in SUITE.findall(text):
            tests[suite].update(re.findall(r"\bfunc `?(\w+)", text))
    for path in sorted((ROOT / "docs").glob("*-parity.md")):
        for number, line in enumerate(path.read_text().split("\n"), 1):
            for suite, names in NAMED_TESTS.findall(line):
                if suite not in tests:
                    find(path.relative_to(ROOT), number, f"there is no suite {suite}")
                for name in re.findall(r"\w+", names):
                    if name not in tests.get(suite, ()):
                        find(path.relative_to(ROOT), number, f"there is no test {suite}.{name}")


def anchors(text):
    """The names that GitHub gives to the headings of a page."""
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"`", "", heading)).strip().lower().replace(" ", "-")
        for heading in HEADING.findall(FENCED.sub("", text))}


def check_links(pages):
    """Each link of a page to a file or a heading leads to one."""
    for path, text in pages.items():
        for number, line in enumerate(text.split("\n"), 1):
            for link in LINK.findall(line):
                if "://" in link or link.startswith("mailto:"):
                    continue
                name, _, anchor = link.partition("#")
                target = (ROOT / path.parent / name).resolve() if name else ROOT / path
                if not target.exists():
                    find(path, number, f"the link {link} leads nowhere")
                elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                    find(path, number, f"the page has no heading #{anchor}: {link}")


def target_dependencies(manifest):
    """What each target below Sources depends on, by name: targets of the package and products of others."""
    targets = {}
    ends = [match.start() for match in re.finditer(r"\n        \.(?:\w*[tT]arget|systemLibrary)\(", manifest)]
    ends.append(len(manifest))
    for start, end in zip(ends, ends[1:]):
        text = manifest[start:end]
        match = TARGET.search(text)
        path = re.search(r'path: "([^"]*)"', text)
        if match and (not path or path.group(1).startswith("Sources/")):
            listed = DEPENDENCIES.search(PRODUCT.sub(r'"\1"', text))
            targets[match.group(1)] = set(re.findall(r'"([\w-]+)"', listed.group(1))) if listed else set()
    return targets


def check_imports(sources):
    """A target imports what Package.swift lists among its dependencies, and each of these somewhere."""
    targets = target_dependencies((ROOT / "Package.swift").read_text())
    known = set(targets).union(*targets.values())
    folders = {name.replace("-", "").lower(): name for name in targets}
    imported = collections.defaultdict(dict)
    for path, text in sources.items():
        name = folders.get(path.parts[1].lower())
        for module in IMPORT.findall(text):
            if name and module in known:
                imported[name].setdefault(module, path)
    for name in sorted(targets):
        for module, path in sorted(imported[name].items()):
            if module not in targets[name]:
                find(path, 1, f"{name} imports {module}, which Package.swift does not list for it")
        for module in sorted(targets[name] - set(imported[name])):
            find(pathlib.Path("Package.swift"), 1, f"{name} depends on {module} and does not import it")


def check_target_table():
    """The table `target | does | may import | may not` of ARCHITECTURE.md says for each target what Package.swift
    says: `may import` names its dependencies, separated by commas, with or without backticks. A cell without a
    name of a target or a product (`system libraries`, `nothing`) is empty; a row may be of several targets."""
    page = pathlib.Path("docs/ARCHITECTURE.md")
    targets = target_dependencies((ROOT / "Package.swift").read_text())
    known = set(targets).union(*targets.values())
    rows = {}
    for number, line in enumerate((ROOT / page).read_text().split("\n"), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 4:
            continue
        names = [name for name in re.findall(r"`([\w-]+)`", cells[0]) if name in targets]
        listed = [name.strip().strip("`") for name in cells[2].split(",")]
        listed = {name for name in listed if NAME.fullmatch(name)} if known.intersection(listed) else set()
        for name in names:
            rows[name] = number
            for extra in sorted(listed - targets[name]):
                find(page, number, f"{name} does not import {extra}: Package.swift")
            for missing in sorted(targets[name] - listed):
                find(page, number, f"{name} imports {missing}, too: Package.swift")
    for name in sorted(set(targets) - set(rows)):
        find(page, 1, f"the table of targets has no row for {name}")


def check_changelog():
    path = ROOT / "CHANGELOG.md"
    if not path.is_file() or "## Unreleased" not in path.read_text():
        findings.append("CHANGELOG.md: there is no '## Unreleased' section")


def main():
    sources = {}
    tests = []
    pages = {}
    for path in tracked_files():
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue
        if path.name != "tidy.py":
            for number, line in enumerate(text.split("\n"), 1):
                if MACHINE_PATHS.search(line):
                    find(path, number, f"a path of one machine: {line.strip()}")
        if path.suffix == ".md":
            pages[path] = text
        if path.suffix == ".swift":
            lines = text.split("\n")
            check_lines(path, lines)
            check_functions(path, lines)
            if path.parts[0] == "Sources":
                sources[path] = text
            elif path.parts[0] == "Tests":
                tests.append(text)
    check_circles(sources, by_members=True)
    check_named_tests(tests)
    check_links(pages)
    check_imports(sources)
    check_target_table()
    check_changelog()
    for finding in findings:
        print(finding)
    if findings:
        sys.exit(f"tidy: {len(findings)} findings")


if __name__ == "__main__":
    main()
