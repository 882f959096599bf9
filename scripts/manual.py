#!/usr/bin/env python3
"""manual.py PROGRAM FOLDER: writes the manual pages of syncd and synctool.

PROGRAM is the folder with both programs. What the pages say of commands and options is what the programs say
of themselves (--experimental-dump-help): a page cannot lack one. syncd(8), synctool(1), and a page
synctool-COMMAND(1) for each command, in which its subcommands are sections.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

ENVIRONMENT = {
    "syncd": [
        ("SYNCD_CONFIG, SYNCD_SOCKET, SYNCD_STATE, SYNCD_LOG", "As the options of these names, which override them."),
        ("XDG_RUNTIME_DIR, XDG_CONFIG_HOME, XDG_STATE_HOME", "Where a user's daemon has its socket, configuration and state."),
    ],
    "synctool": [
        ("SYNCD_SOCKET", "The socket of the daemon; default: that of the user's own daemon, else that of the system."),
        ("NO_COLOR", "When it is set, no colours are used."),
    ],
}
FILES = {
    "syncd": [
        ("/etc/syncd/syncd.yaml, /etc/syncd/stores.d/*.yaml", "The configuration of the system's daemon."),
        ("~/.config/syncd/syncd.yaml, ~/.config/syncd/stores.d/*.yaml", "That of a user's daemon."),
        ("/run/syncd/syncd.sock", "The socket of the system's daemon; members of the group syncd may connect."),
        ("$XDG_RUNTIME_DIR/syncd/syncd.sock", "That of a user's daemon."),
        ("/var/lib/syncd, ~/.local/state/syncd", "State: which stores were tracked at run time."),
        ("/usr/share/doc/syncd", "The documentation."),
    ],
}


def help_of(folder, program):
    text = subprocess.run(
        [str(folder / program), "--experimental-dump-help"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["command"]


def version_of(folder):
    return subprocess.run(
        [str(folder / "synctool"), "--version"], check=True, capture_output=True, text=True).stdout.strip()


def escaped(text):
    """Text for roff: a line never begins with a control character."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def shown(items):
    return [item for item in items or [] if item.get("shouldDisplay", True)]


def subcommands(command):
    return [child for child in shown(command.get("subcommands")) if child["commandName"] != "help"]


def spelled(name):
    return ("-" if name["kind"] == "short" else "--") + name["name"]


def is_option(argument):
    return argument["kind"] != "positional"


def placeholder(argument):
    return f"<{argument.get('valueName', 'value')}>"


def usage(words, command):
    """The synopsis, in roff."""
    parts = [f"\\fB{escaped(words)}\\fR"]
    for argument in shown(command.get("arguments")):
        if is_option(argument):
            names = argument.get("names") or []
            if any(name["name"] in ("help", "version") for name in names):
                continue
            text = f"\\fB{escaped(spelled(argument['preferredName']))}\\fR"
            if argument["kind"] == "option":
                text += f" \\fI{escaped(placeholder(argument))}\\fR"
        else:
            text = f"\\fI{escaped(placeholder(argument))}\\fR"
        if argument.get("isRepeating"):
            text += " ..."
        parts.append(f"[{text}]" if argument.get("isOptional") else text)
    if subcommands(command):
        parts.append("\\fI<command>\\fR")
    return " ".join(parts)


def paragraphs(text):
    lines = []
    for paragraph in re.split(r"\n\s*\n", text or ""):
        if paragraph.strip():
            lines += [".PP", escaped(paragraph.strip())]
    return lines


def arguments(command, is_positional):
    lines = []
    for argument in shown(command.get("arguments")):
        if is_option(argument) == is_positional:
            continue
        if is_positional:
            head = f"\\fI{escaped(placeholder(argument))}\\fR"
        else:
            head = ", ".join(f"\\fB{escaped(spelled(name))}\\fR" for name in argument["names"])
            if argument["kind"] == "option":
                head += f" \\fI{escaped(placeholder(argument))}\\fR"
        text = " ".join(filter(None, [argument.get("abstract"), argument.get("discussion")]))
        if argument.get("allValues") and is_option(argument):
            text += " One of: " + ", ".join(argument["allValues"]) + "."
        if argument.get("defaultValue"):
            text += f" Default: {argument['defaultValue']}."
        lines += [".TP", head, escaped(text.strip() or "As its name says.")]
    return lines


def pairs(title, items):
    lines = [f".SH {title}"] if items else []
    for head, text in items:
        lines += [".TP", f"\\fB{escaped(head)}\\fR", escaped(text)]
    return lines


def nested(words, command):
    """A subcommand, and those below it, as sections of one page."""
    lines = [f".SS {escaped(words)}", usage(words, command)]
    lines += paragraphs(command.get("abstract")) + paragraphs(command.get("discussion"))
    lines += arguments(command, True) + arguments(command, False)
    for child in subcommands(command):
        lines += nested(f"{words} {child['commandName']}", child)
    return lines


def page(name, section, words, command, facts, others):
    """A page, as lines of roff."""
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    abstract = (command.get("abstract") or "").rstrip(".")
    lines = [
        f".TH {escaped(name.upper())} {section} {escaped(date)} \"syncd {facts['version']}\" \"syncd\"",
        ".SH NAME", f"{escaped(name)} \\- {escaped(abstract[:1].lower() + abstract[1:])}",
        ".SH SYNOPSIS", usage(words, command), ".SH DESCRIPTION",
    ]
    lines += paragraphs(command.get("abstract")) + paragraphs(command.get("discussion"))
    for title, is_positional in (("ARGUMENTS", True), ("OPTIONS", False)):
        found = arguments(command, is_positional)
        lines += ([f".SH {title}"] + found) if found else []
    children = subcommands(command)
    if words == "synctool":
        lines += pairs("COMMANDS", [
            (f"synctool-{child['commandName']}(1)", child.get("abstract") or "") for child in children])
    elif children:
        lines += [".SH COMMANDS"]
        for child in children:
            lines += nested(f"{words} {child['commandName']}", child)
    lines += pairs("ENVIRONMENT", ENVIRONMENT.get(name, []))
    lines += pairs("FILES", FILES.get(name, []))
    lines += [".SH SEE ALSO", ",\n".join(f".BR {escaped(page)} ({number})" for page, number in others).replace(
        ",\n", " ,\n")]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n")[0])
    programs, folder = map(pathlib.Path, sys.argv[1:])
    facts = {"version": version_of(programs)}
    daemon, tool = help_of(programs, "syncd"), help_of(programs, "synctool")
    for section in (1, 8):
        (folder / f"man{section}").mkdir(parents=True, exist_ok=True)
    commands = subcommands(tool)
    (folder / "man8" / "syncd.8").write_text(
        page("syncd", 8, "syncd", daemon, facts, [("synctool", 1), ("systemd", 1), ("sqlite3", 1)]))
    (folder / "man1" / "synctool.1").write_text(
        page("synctool", 1, "synctool", tool, facts, [("syncd", 8), ("sqlite3", 1)]))
    for command in commands:
        name = f"synctool-{command['commandName']}"
        (folder / "man1" / f"{name}.1").write_text(
            page(name, 1, f"synctool {command['commandName']}", command, facts, [("synctool", 1), ("syncd", 8)]))


if __name__ == "__main__":
    main()
