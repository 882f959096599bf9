#!/usr/bin/env python3
"""trim-icu.py FOLDER: writes FOLDER/icu.o, a small set of ICU data that takes the place of the whole one,
and its symbol to FOLDER/icu.symbol.

Foundation's ICU has 34 MB of data: languages, calendars, converters, of which syncd and synctool use none. The
object defines the symbol with __wrap_ before it: with `--wrap=SYMBOL` the linker takes it in place of the
library's, and `--gc-sections` leaves that one out, wherever the two stand in the command. What stays is what a part of Foundation may ask for without a language: the root locale, English,
time zones, word boundaries, normalisation. To ask for another language gives the root locale, as ICU does
where a language is not installed.
"""

import pathlib
import re
import struct
import subprocess
import sys

KEPT = re.compile(
    r"^(?:(?:\w+/)?(?:root|en|en_US|en_US_POSIX|pool|res_index|ucadata|supplementalData|tzdbNames)\.(?:res|icu)"
    r"|(?:zoneinfo64|timezoneTypes|metaZones|windowsZones|likelySubtags|keyTypeData|numberingSystems|metadata"
    r"|plurals|pluralRanges|genderList|dayPeriods|currencyNumericCodes|supplementalData|icuver|icustd)\.res"
    r"|brkitr/(?:char|word|line|sent|title)\.brk|(?:nfkc|nfkc_cf|uts46|nfkc_scf)\.nrm|(?:ulayout|uemoji|cnvalias"
    r"|unames)\.icu)$")
UNKEPT = {"unames.icu"}


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, **options).stdout


def library():
    """The archive with ICU of the compiler that is on the PATH."""
    swift = pathlib.Path(run("which", "swiftc", text=True).strip()).resolve()
    for folder in (swift.parent.parent, pathlib.Path("/usr")):
        path = folder / "lib/swift_static/linux/lib_FoundationICU.a"
        if path.exists():
            return path
    sys.exit("trim-icu: the toolchain has no lib_FoundationICU.a")


def whole(folder):
    """The symbol of the data, and the data: the read-only section of the member that defines it."""
    archive = library()
    found = re.search(
        r":([^:\n]+):[0-9a-f]+ R (icudt\d+_dat)",
        subprocess.run(["nm", "-A", archive], capture_output=True, text=True).stdout)
    if not found:
        sys.exit(f"trim-icu: {archive} defines no data")
    member, symbol = found.groups()
    run("ar", "x", archive, member, cwd=folder)
    run("objcopy", "-O", "binary", "--only-section=.rodata", folder / member, folder / "whole.dat")
    return symbol, (folder / "whole.dat").read_bytes()


def items(data, start):
    """The names and contents of a package of ICU (format CmnD): offsets count from the table of contents."""
    count, = struct.unpack_from("<I", data, start)
    table = [struct.unpack_from("<II", data, start + 4 + 8 * index) for index in range(count)]
    ends = [offset for _, offset in table[1:]] + [len(data) - start]
    for (name, offset), end in zip(table, ends):
        name_end = data.index(b"\0", start + name)
        yield data[start + name:name_end].decode(), data[start + offset:start + end]


def package(header, found):
    """The same format, with fewer items. They stay in the order of their names, in which ICU looks for them."""
    names = b"".join(name.encode() + b"\0" for name, _ in found)
    start = 4 + 8 * len(found)
    content = start + len(names)
    blocks, table, name_offset = b"", b"", start
    for name, data in found:
        blocks += b"\xaa" * (-(content + len(blocks)) % 16)
        table += struct.pack("<II", name_offset, content + len(blocks))
        name_offset += len(name.encode()) + 1
        blocks += data
    return header + struct.pack("<I", len(found)) + table + names + blocks


def main():
    folder = pathlib.Path(sys.argv[1])
    symbol, data = whole(folder)
    size, magic = struct.unpack_from("<HH", data)
    if magic != 0x27DA or data[12:16] != b"CmnD":
        sys.exit("trim-icu: the data has a format that is not known here")
    all_items = list(items(data, size))
    prefix = all_items[0][0].split("/")[0] + "/"
    found = [
        (name, content) for name, content in all_items
        if KEPT.match(name.removeprefix(prefix)) and name.removeprefix(prefix) not in UNKEPT]
    trimmed = package(data[:size], found)
    (folder / "icu.dat").write_bytes(trimmed)
    name = "__wrap_" + symbol
    (folder / "icu.s").write_text(
        f'.section .rodata\n.globl {name}\n.type {name}, @object\n.balign 16\n{name}:\n'
        f'.incbin "{folder / "icu.dat"}"\n.size {name}, .-{name}\n.section .note.GNU-stack,"",@progbits\n')
    (folder / "icu.symbol").write_text(symbol + "\n")
    run("cc", "-c", "-o", folder / "icu.o", folder / "icu.s")
    print(f"trim-icu: {len(found)} of {len(all_items)} items, {len(trimmed) >> 10} of {len(data) >> 10} kB")


if __name__ == "__main__":
    main()
