"""swift_source.py: Swift files as the scripts read them. No parser: the formatter's layout is relied on."""

import functools
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPENING, CLOSING = "([{", ")]}"
WORD = re.compile(r"[A-Za-z_]\w*")
ATTRIBUTES = r"(?:@\w+(?:\([^)]*\))?\s+)*"
MODIFIERS = (
    r"(?:(?:public|package|internal|fileprivate|private|open)(?:\(set\))?\s+"
    r"|(?:final|indirect|nonisolated|static|class|mutating|nonmutating|override|required"
    r"|convenience|lazy|weak|unowned|dynamic|isolated|async|prefix|postfix|infix)\s+)*"
)
TYPE = re.compile(
    rf"^(\s*){ATTRIBUTES}({MODIFIERS})"
    r"(struct|class|enum|actor|protocol|typealias|associatedtype)\s+`?([A-Za-z_]\w*)")
FUNCTION = re.compile(
    rf"^(\s*){ATTRIBUTES}({MODIFIERS})(?:func\s+(?:`?([A-Za-z_]\w*)`?|(\S+?))|(init)[?!]?|(subscript))"
    r"\s*(?:<[^{(]*?>)?\(", re.M)
PROPERTY = re.compile(rf"^(\s*){ATTRIBUTES}({MODIFIERS})(?:let|var)\s+`?([A-Za-z_]\w*)`?\s*[:=]")
CASE = re.compile(r"^(\s*)(?:indirect\s+)?case\s+(.*)$")


def tracked_files():
    """The files of the repository, those that are not committed yet included."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True)
    return [pathlib.Path(name) for name in listing.stdout.splitlines() if (ROOT / name).is_file()]


def sources(*folders):
    """The text of each Swift file below the folders, by path."""
    return {
        path: (ROOT / path).read_text()
        for path in tracked_files() if path.suffix == ".swift" and path.parts[0] in folders}


@functools.lru_cache(maxsize=None)
def code(text):
    """The text without comments and without what strings say; interpolations stay. Lines keep their numbers."""
    kept, position = [], 0
    while position < len(text):
        if text.startswith("//", position):
            position = line_end(text, position)
        elif text.startswith("/*", position):
            end = text.find("*/", position)
            end = len(text) if end < 0 else end + 2
            kept.append("\n" * text.count("\n", position, end))
            position = end
        elif text[position] in '"#':
            end, inside = string(text, position)
            kept.append(inside)
            position = end
        else:
            kept.append(text[position])
            position += 1
    return "".join(kept)


def line_end(text, position):
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def string(text, start):
    """Where the literal at `start` ends, and the code of its interpolations."""
    opening = re.compile(r'(#*)("""|")').match(text, start)
    if not opening:
        return start + 1, text[start]
    pounds, quote = opening.groups()
    kept, position = ['"'], opening.end()
    while position < len(text):
        if text.startswith(quote + pounds, position):
            return position + len(quote + pounds), "".join(kept) + '"'
        if text.startswith("\\" + pounds + "(", position):
            end = closing(text, position + 1 + len(pounds))
            kept.append(code(text[position + 1 + len(pounds):end]))
            position = end
        elif text[position] == "\\" and not pounds:
            position += 2
        else:
            kept.append("\n" if text[position] == "\n" else "")
            position += 1
    return position, "".join(kept)


def closing(text, start):
    """The position behind the bracket that closes the one at `start`."""
    depth, position = 0, start
    while position < len(text):
        character = text[position]
        if character in '"#':
            position = string(text, position)[0]
            continue
        if character in OPENING:
            depth += 1
        elif character in CLOSING:
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    return len(text)


def parameters(text, start):
    """The parameters of a declaration; `start` is behind their opening parenthesis."""
    depth, current, found = 1, "", []
    for position in range(start, len(text)):
        character = text[position]
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[position - 1] != "-"):
            depth -= 1
        if depth == 0:
            break
        if character == "," and depth == 1:
            found.append(current)
            current = ""
        else:
            current += character
    return found + [current] if current.strip() else found


def labels(parameters):
    """The argument labels of parameters, as in `name(_:for:)`."""
    return "".join((WORD.search(parameter) or ["_"])[0] + ":" for parameter in parameters)


def enum_cases(line):
    """The names that a line of an enum declares; none for a pattern of a switch."""
    match = CASE.match(line)
    if not match:
        return []
    rest = match.group(2)
    while True:
        flat = re.sub(r"\([^()]*\)", "", rest)
        if flat == rest:
            break
        rest = flat
    rest = re.sub(r"\(.*", "", rest)
    if ":" in rest or rest.startswith((".", "let ", "is ", "var ", '"', "nil")):
        return []
    names = [re.match(r"\s*`?([A-Za-z_]\w*)`?\s*(?:=.*)?$", part) for part in rest.split(",")]
    return [name.group(1) for name in names] if all(names) else []
