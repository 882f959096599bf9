"""What became of each test in each mode, and which failures tracking causes."""

import dataclasses
import fnmatch
import json
import pathlib
import re

EXCEPTIONS = pathlib.Path(__file__).with_name("exceptions.txt")

# Such a failure is never a matter of listings, even if it does not occur in a second run.
NEVER_A_LISTING = re.compile(r"is locked|is busy|malformed|disk I/O|no such (table|column): main\.", re.I)


# "error in trigger syncd_17_g after drop column: …"
DROP_COLUMN = "after drop column"

# A refusal that docs/writers.md leaves to programs without a busy timeout, or with one that a busy machine exceeds.
SHORT_TIMEOUT_SECONDS_MAX = 1
TIMEOUT = re.compile(r"busy timeout: ([\d.]+) s")


@dataclasses.dataclass(frozen=True)
class Outcome:
    state: str
    message: str = ""


@dataclasses.dataclass
class Comparison:
    """One suite in one mode beside the same suite on plain databases."""

    tests: int
    skipped: int
    fail_plain: int
    caused: dict[str, Outcome]
    missing: list[str]
    # By the group of the reason; the tests that the reason explains.
    explained: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def explain(self, name, group):
        self.explained.setdefault(group, []).append(name)
        del self.caused[name]


def load(path):
    """A test that fails in one part (set up, call, tear down, a subtest) has failed."""
    outcomes = {}
    if not path.exists():
        return outcomes
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        name = entry["test"]
        if entry["outcome"] == "failed" or name not in outcomes:
            if name in outcomes and outcomes[name].state == "failed":
                continue
            outcomes[name] = Outcome(entry["outcome"], entry["message"])
    return outcomes


def compare(plain, other):
    failed = {name for name, outcome in plain.items() if outcome.state == "failed"}
    ran = set(other) | {whole(name) for name in other}
    return Comparison(
        tests=sum(outcome.state != "skipped" for outcome in other.values()),
        skipped=sum(outcome.state == "skipped" for outcome in other.values()),
        fail_plain=len(failed),
        caused={
            name: outcome for name, outcome in sorted(other.items())
            if outcome.state == "failed" and name not in failed},
        missing=sorted(set(plain) - ran))


def whole(name):
    """The test of a subtest. Of a test with subtests, only those that fail are recorded by themselves."""
    return name.split(" (")[0]


def explain_listings(comparison, without_listings):
    """A test that passes when listings do not show syncd's objects failed because of these."""
    for name, outcome in list(comparison.caused.items()):
        again = without_listings.get(name)
        if again and again.state == "passed" and not NEVER_A_LISTING.search(outcome.message):
            comparison.explain(name, "listings")


def explain_dropped_columns(comparison, with_rebuilds):
    """A test that passes when Django rebuilds tables failed because SQLite rejects DROP COLUMN of a tracked column;
    or it found what such a test of its module left behind."""
    direct = {module(name) for name, outcome in comparison.caused.items() if DROP_COLUMN in outcome.message}
    for name, outcome in list(comparison.caused.items()):
        again = with_rebuilds.get(name) or with_rebuilds.get(whole(name))
        left_behind = again and again.state == "passed" and module(name) in direct
        if DROP_COLUMN in outcome.message or left_behind:
            comparison.explain(name, "DROP COLUMN")


def module(test):
    """The module of a test of Django: what is before the class."""
    return ".".join(part for part in test.split(" ")[0].split(".")[:-1] if not part[:1].isupper())


def explain_short_timeouts(comparison, again):
    """A refusal of a connection with a timeout below a second, which a second run of the test does not have."""
    for name, outcome in list(comparison.caused.items()):
        timeout = TIMEOUT.search(outcome.message)
        repeated = again.get(name)
        if timeout and float(timeout.group(1)) <= SHORT_TIMEOUT_SECONDS_MAX and "locked" in outcome.message:
            if repeated and repeated.state == "passed":
                comparison.explain(name, "busy timeouts below 1 s")


def exceptions():
    """Lines `suite  mode  test  group`; a comment before them gives the reason."""
    for line in EXCEPTIONS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            suite, mode, test, group = line.split(maxsplit=3)
            yield suite, mode, test, group


def explain_exceptions(comparison, suite, mode):
    for wanted_suite, wanted_mode, pattern, group in exceptions():
        if not fnmatch.fnmatchcase(suite, wanted_suite) or wanted_mode not in ("*", mode):
            continue
        for name in list(comparison.caused):
            # fnmatch takes brackets for a set of characters; names of parametrized tests contain them.
            if fnmatch.fnmatchcase(name, pattern.replace("[", "[[]")):
                comparison.explain(name, group)
