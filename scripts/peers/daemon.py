"""A daemon with a state of its own, for one run of one suite."""

import os
import subprocess
import time

START_SECONDS_MAX = 20
STOP_SECONDS_MAX = 60


class Daemon:
    def __init__(self, syncd, folder):
        self.socket = str(folder / "s.sock")
        self.log = folder / "syncd.log"
        state = folder / "state"
        state.mkdir()
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "XDG_CONFIG_HOME": str(folder)}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [syncd, "--user", "--socket", self.socket, "--state", str(state)],
                stdout=log, stderr=log, env=environment)
        end = time.monotonic() + START_SECONDS_MAX
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"syncd did not start; its log: {self.log}")
            time.sleep(0.05)

    def stop(self):
        """Whether the daemon was still running and ended without an error; its peak of memory in kB."""
        peak = self.peak_kilobytes()
        running = self.process.poll() is None
        self.process.terminate()
        try:
            status = self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False, peak
        return running and status == 0, peak

    def peak_kilobytes(self):
        try:
            with open(f"/proc/{self.process.pid}/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        except (OSError, StopIteration):
            return 0
