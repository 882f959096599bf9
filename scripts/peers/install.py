"""Installs what the suites need: packages in .venv-peers, source archives with tests in .build/peers/sources."""

import pathlib
import subprocess
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv-peers"
SOURCES = ROOT / ".build" / "peers" / "sources"
TOOLS = ["pytest==9.2.0", "pytest-timeout==2.4.0", "hypothesis", "msgpack", "cbor2"]


def python():
    return str(VENV / "bin" / "python")


def pip(*arguments):
    subprocess.run(
        [python(), "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"], check=True)


def install(suites):
    """Quick when all is there.

    - Throws: CalledProcessError, when a package index is not reachable; pip has said why.
    """
    subprocess.run([str(ROOT / "scripts" / "python-peers.sh")], check=True)
    wanted = sorted({suite.package for suite in suites if suite.package} | set(TOOLS))
    stamp = VENV / "suites"
    have = set(stamp.read_text().split()) if stamp.exists() else set()
    if not have.issuperset(wanted):
        pip("install", *wanted)
        stamp.write_text("\n".join(sorted(have | set(wanted))) + "\n")
    for suite in suites:
        if suite.package and not source(suite):
            fetch(suite.package)


def fetch(package):
    """Unpacks a source archive. Only its tests are run: the code comes from the installed package."""
    archives = SOURCES / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    name = package.split("==")[0]
    pip("download", "--no-deps", "--no-binary", name, "--dest", str(archives), package)
    for archive in archives.glob("*.tar.gz"):
        if not (SOURCES / archive.name.removesuffix(".tar.gz")).exists():
            with tarfile.open(archive) as opened:
                opened.extractall(SOURCES, filter="data")


def source(suite):
    """The folder in which the suite runs; None while it is not there."""
    if suite.package is None:
        SOURCES.mkdir(parents=True, exist_ok=True)
        return SOURCES
    name = suite.package.replace("==", "-").lower()
    for folder in (SOURCES / name, SOURCES / name.replace("-", "_", name.count("-") - 1)):
        if folder.is_dir():
            return folder / "tests" if suite.runner == "django" else folder
    return None
