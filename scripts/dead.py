#!/usr/bin/env python3
"""dead.py: declarations whose name nothing in the product uses. Prints each; exits 1 when there is one.

    dead.py [TARGET…]     only what these targets declare

A name counts as used when it stands anywhere in Sources, Benchmarks or Examples beside its declarations; tests
do not count. What is public is for users: its name may stand in tests and documents only. Two declarations
with one name hide each other: what is found is dead, what is not found need not be alive.
"""

import collections
import re
import sys

import swift_source
from swift_source import CASE, FUNCTION, PROPERTY, ROOT, TYPE, WORD

# Requirements of protocols of other packages, and of specifications.
ALLOWED = {
    "allValueStrings": "ExpressibleByArgument",
    "allValueDescriptions": "ExpressibleByArgument",
    "defaultValueDescription": "ExpressibleByArgument",
    "InboundIn": "NIO's ChannelHandler",
    "OutboundIn": "NIO's ChannelHandler",
    "OutboundOut": "NIO's ChannelHandler",
    "channelRead": "NIO's ChannelHandler",
    "channelActive": "NIO's ChannelHandler",
    "channelInactive": "NIO's ChannelHandler",
    "channelWritabilityChanged": "NIO's ChannelHandler",
    "errorCaught": "NIO's ChannelHandler",
    "handlerAdded": "NIO's ChannelHandler",
    "handlerRemoved": "NIO's ChannelHandler",
    "userInboundEventTriggered": "NIO's ChannelHandler",
    "methodNotImplemented": "an error of the varlink specification",
    "permissionDenied": "an error of the varlink specification",
    "didTerminate": "NIOAsyncSequenceProducerDelegate",
    "produceMore": "NIOAsyncSequenceProducerDelegate",
    "_rawHashValue": "the standard library's Hashable",
}


# A library for tests: what they use is used.
FOR_TESTS = ("SyncTesting",)


def declarations(text):
    """Name, line and whether it is public, for all that a file declares. Cases of CodingKeys are left out:
    their properties are what is used. So are types with @main."""
    found = []
    keys_end = None
    types = []
    lines = swift_source.code(text).split("\n")
    for number, line in enumerate(lines, 1):
        if keys_end is not None:
            if line.startswith(keys_end):
                keys_end = None
            continue
        is_public = re.match(r"\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public|open)\b", line) is not None
        match = TYPE.match(line)
        if match:
            types = [other for other in types if other[0] < len(match.group(1))]
            types.append((len(match.group(1)), is_public))
            if "@main" in lines[number - 2:number - 1]:
                continue
            if match.group(4) == "CodingKeys" and line.rstrip().endswith("{"):
                keys_end = match.group(1) + "}"
            else:
                found.append((match.group(4), number, is_public))
            continue
        match = FUNCTION.match(line + ("(" if re.search(r"func \S+$", line) else ""))
        if match:
            if match.group(3):
                found.append((match.group(3), number, is_public))
            continue
        match = PROPERTY.match(line)
        if match:
            found.append((match.group(3), number, is_public))
            continue
        if CASE.match(line):
            indent = len(line) - len(line.lstrip())
            is_public = any(public for column, public in types if column == indent - 4)
            found += [(name, number, is_public) for name in swift_source.enum_cases(line)]
    return found


def findings(targets=()):
    """Path, line and name of each dead declaration, below Sources."""
    used = collections.Counter()
    outside = collections.Counter()
    declared = collections.defaultdict(list)
    for path, text in swift_source.sources("Sources", "Benchmarks", "Examples").items():
        used.update(WORD.findall(swift_source.code(text)))
        for name, line, is_public in declarations(text):
            declared[name].append((path, line, is_public))
    for path in swift_source.tracked_files():
        if path.suffix == ".md" or path.parts[0] == "Tests" and path.suffix == ".swift":
            outside.update(WORD.findall((ROOT / path).read_text(errors="replace")))
    found = []
    for name, places in declared.items():
        if name in ALLOWED or name == "_" or used[name] > len(places):
            continue
        for path, line, is_public in places:
            if path.parts[0] != "Sources" or (targets and path.parts[1] not in targets):
                continue
            if outside[name] and (is_public or path.parts[1] in FOR_TESTS):
                continue
            found.append((path, line, name))
    return sorted(found)


def main():
    found = findings(sys.argv[1:])
    for path, line, name in found:
        print(f"{path}:{line}: nothing uses {name}")
    if found:
        sys.exit(f"dead: {len(found)} declarations")


if __name__ == "__main__":
    main()
