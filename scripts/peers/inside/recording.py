"""Writes one JSON line for each test to PEERS_RESULTS: for unittest, Django and pytest (`-p recording`)."""

import json
import os
import traceback
import unittest

MESSAGE_CHARACTERS_MAX = 2000


class Recorder:
    """Opened at the first result, so that processes that the suite starts do not empty the file."""

    def __init__(self):
        self.file = None

    def write(self, test, outcome, message=""):
        if self.file is None:
            self.file = open(os.environ["PEERS_RESULTS"], "a")
        message = message[-MESSAGE_CHARACTERS_MAX:]
        self.file.write(json.dumps({"test": test, "outcome": outcome, "message": message}) + "\n")
        self.file.flush()


recorder = Recorder()


class Result(unittest.TextTestResult):
    """What becomes of each test of a unittest suite."""

    def record(self, test, outcome, error=None):
        text = "".join(traceback.format_exception(*error)) if error else ""
        recorder.write(test.id(), outcome, text)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.record(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.record(test, "skipped")

    def addError(self, test, err):
        super().addError(test, err)
        self.record(test, "failed", err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.record(test, "failed", err)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.record(test, "passed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.record(test, "failed")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.record(subtest, "failed", err)


def pytest_runtest_logreport(report):
    """Called by pytest three times for each test: set up, call, tear down."""
    if report.failed:
        recorder.write(report.nodeid, "failed", str(report.longrepr))
    elif report.skipped:
        recorder.write(report.nodeid, "skipped")
    elif report.when == "call":
        recorder.write(report.nodeid, "passed")


if __name__ == "__main__":
    # As __main__ this file is another module than the `recording` of the results.
    import recording
    unittest.main(module=None, testRunner=unittest.TextTestRunner(resultclass=recording.Result))
