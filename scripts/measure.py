#!/usr/bin/env python3
"""measure.py: counts that say how far the sources are from the house rules.

    measure.py            prints all of them
    measure.py --limits   prints what is beyond a limit; exits 1 when there is something

(a) functions with two or more unlabelled parameters, in all and by target; operators are left out
(b) public and package throwing functions without `- Throws:` in their comment
(c) declarations that nothing uses (dead.py)
(d) public symbols without a comment; cases of enums may do with the comment of the enum
(e) the largest file
(f) circles between folders of a target (tidy.py)
(g) files with more than one top-level type that is not private

What implements a requirement of a protocol of these sources has its comment there: (b) and (d) count the
requirement alone.
"""

import collections
import re
import sys

import dead
import swift_source
import tidy
from swift_source import FUNCTION, PROPERTY, TYPE, labels, parameters

# GRDB has 3 %, Hummingbird 0.7 %.
UNLABELLED_PERCENT_MAX = 5
# Requirements of protocols of the standard library and other packages, documented there.
KNOWN = {
    "description", "debugDescription", "errorDescription", "hash(into:)", "encode(to:)", "init(from:)",
    "makeAsyncIterator()", "makeIterator()", "next()", "next(isolation:)", "id", "Element", "AsyncIterator",
    "rawValue", "init(rawValue:)", "stringValue", "intValue", "init(stringLiteral:)", "init(integerLiteral:)",
    "init(floatLiteral:)", "init(nilLiteral:)", "init(arrayLiteral:)", "init(dictionaryLiteral:)",
    "init(booleanLiteral:)", "init(argument:)", "allValueStrings", "allValueDescriptions",
    "defaultValueDescription", "startIndex", "endIndex", "index(after:)", "index(before:)",
}


class Symbol:
    """A declaration with its comment: `access` is public, package, requirement or empty."""

    def __init__(self, path, line, name, access, comment, throws, unlabelled, owner):
        self.path, self.line, self.name, self.access = path, line, name, access
        self.comment, self.throws, self.unlabelled, self.owner = comment, throws, unlabelled, owner

    def __str__(self):
        return f"{self.path}:{self.line}: {self.name}"


def comment_of(lines, number):
    """The documentation comment above a line, over its attributes."""
    above = number - 1
    while above >= 0 and re.match(r"\s*@\w+(\(.*\))?\s*$", lines[above]):
        above -= 1
    found = []
    while above >= 0 and lines[above].lstrip().startswith("///"):
        found.append(lines[above].strip())
        above -= 1
    return "\n".join(found)


def effects(code, position):
    """What stands between the parameters of a function, whose end is `position`, and its body."""
    rest = code[position:position + 400]
    return re.split(r"[{\n](?!\s*(?:async|throws|rethrows|->|\)))|->", rest, maxsplit=1)[0]


def symbols(path, text):
    """The functions, properties and types of a file; cases of enums are left out."""
    code = swift_source.code(text)
    lines = text.split("\n")
    starts = [0]
    for line in code.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    scopes = []
    for number, line in enumerate(code.split("\n")):
        indent = len(line) - len(line.lstrip())
        if line.strip() and not line.startswith("#"):
            scopes = [scope for scope in scopes if scope[0] < indent or line.strip()[0] in ")}"]
        scope = next((scope for scope in reversed(scopes) if scope[0] == indent - 4), None)
        is_member = indent == 0 or scope is not None
        owner, kind, inherited = scope[1:] if scope else ("", "", "")
        extension = re.match(r"^(?:(public|package)\s+)?extension ([\w.]+)", line)
        if extension:
            scopes.append((0, extension.group(2), "extension", extension.group(1) or ""))
            continue
        function = FUNCTION.match(line + ("(" if re.search(r"(func [^(]+|init)$", line) else ""))
        modifiers = next((m.group(2) for m in (TYPE.match(line), function, PROPERTY.match(line)) if m), "")
        access = next((a for a in ("public", "package", "private", "fileprivate", "internal")
                       if re.search(rf"\b{a}\s", modifiers)), "")
        access = "public" if "open" in modifiers.split() else access
        if kind == "protocol":
            access = f"requirement of {inherited}"
        elif kind == "extension" and not access:
            access = inherited
        comment = comment_of(lines, number)
        found = TYPE.match(line)
        if found:
            scopes.append((indent, found.group(4), found.group(3), access))
            if is_member:
                yield Symbol(path, number + 1, found.group(4), access, comment, False, 0, owner)
        elif function:
            base = function.group(3) or function.group(4) or function.group(5) or "subscript"
            opening = code.find("(", starts[number] + function.end() - 1)
            listed = parameters(code, opening + 1)
            unlabelled = sum(bool(re.match(r"\s*_\s+\w+\s*:", one)) for one in listed)
            if function.group(4):
                unlabelled, access = 0, ""  # an operator
            throws = "throws" in effects(code, swift_source.closing(code, opening)).split("rethrows")[0]
            yield Symbol(
                path, number + 1, f"{base}({labels(listed)})", access if is_member else "", comment, throws,
                unlabelled, owner)
        elif PROPERTY.match(line) and is_member:
            throws = re.search(r"\bget\b[^{}]*\bthrows\b", line) is not None
            yield Symbol(
                path, number + 1, PROPERTY.match(line).group(3), access, comment, throws, 0, owner)


def check(name, found, lines):
    lines.append(f"{name}: {len(found)}")
    lines += [f"    {one}" for one in found]


def main():
    sources = swift_source.sources("Sources")
    found = [symbol for path, text in sources.items() for symbol in symbols(path, text)]
    functions = [symbol for symbol in found if "(" in symbol.name]
    requirements = {symbol.name for symbol in found if symbol.access.startswith("requirement")} | KNOWN
    by_target = collections.defaultdict(lambda: [0, 0])
    for symbol in functions:
        counts = by_target[symbol.path.parts[1]]
        counts[0] += symbol.unlabelled >= 2
        counts[1] += 1
    many = sum(counts[0] for counts in by_target.values())
    percent = 100 * many / len(functions)
    mute = [
        symbol for symbol in found
        if symbol.throws and "- Throws:" not in symbol.comment
        and (symbol.access in ("public", "package", "requirement of public", "requirement of package"))
        and (symbol.access.startswith("requirement") or symbol.name not in requirements)]
    bare = [
        symbol for symbol in found
        if symbol.access in ("public", "requirement of public") and not symbol.comment
        and (symbol.access.startswith("requirement") or symbol.name not in requirements)]
    tidy.check_circles(sources, by_members=True)
    types = collections.Counter(
        symbol.path for symbol in found
        if not symbol.owner and "(" not in symbol.name and not symbol.access.startswith("private")
        and TYPE.match(sources[symbol.path].split("\n")[symbol.line - 1])
        and not re.match(r"\s*(?:private|fileprivate)\b", sources[symbol.path].split("\n")[symbol.line - 1]))
    if "--limits" in sys.argv[1:]:
        beyond = [f"{symbol}: no '- Throws:'" for symbol in mute]
        beyond += [f"{symbol}: no comment" for symbol in bare] + tidy.findings
        if percent > UNLABELLED_PERCENT_MAX:
            beyond.append(
                f"{percent:.1f} % of functions have two or more unlabelled parameters; "
                f"the limit is {UNLABELLED_PERCENT_MAX} %")
        print("\n".join(beyond))
        sys.exit(f"measure: {len(beyond)} findings" if beyond else 0)
    lines = [f"(a) two or more unlabelled parameters: {many} of {len(functions)} functions, {percent:.1f} %"]
    for target, (some, all_of) in sorted(by_target.items()):
        lines.append(f"    {target}: {some} of {all_of}, {100 * some / all_of:.1f} %")
    public = sum("public" in symbol.access for symbol in mute)
    check(f"(b) throwing without '- Throws:' (public {public}, package {len(mute) - public})", mute, lines)
    check("(c) dead declarations", [f"{path}:{line}: {name}" for path, line, name in dead.findings()], lines)
    check("(d) public without a comment", bare, lines)
    longest = max(sources, key=lambda path: sources[path].count("\n"))
    lines.append(f"(e) the largest file: {longest}, {sources[longest].count(chr(10))} lines")
    check("(f) circles between folders", tidy.findings, lines)
    check("(g) files with several types", [
        f"{path}: {count}" for path, count in sorted(types.items()) if count > 1], lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
