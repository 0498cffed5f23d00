"""The demo's control plane: ``armillary up`` as a child process with its own directory."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from armillary import exception
from armillary.files import private_files

API_URL_FILE = "api-url"
LOG_FILE = "armillary-up.log"
CONFIGURATION_FILE = "demo.conf"
LOG_LINES_SHOWN = 12
LOOK_SECONDS = 0.1


class DemoFailed(exception.ArmillaryError):
    """An expectation of the demo was not met."""

    template = "%(reason)s"


def expect(condition: bool, reason: str) -> None:
    """Raise ``DemoFailed`` unless the condition holds."""
    if not condition:
        raise DemoFailed(reason=reason)


class ControlPlane:
    """One ``armillary up``, in a session of its own, so that Ctrl-C reaches only the demo."""

    def __init__(self, state_dir: Path, declarations: Sequence[str], configuration: str) -> None:
        self.state_dir = state_dir
        self.log_path = state_dir / LOG_FILE
        self._configuration = configuration
        self.arguments = [
            "up",
            "--port=0",
            f"--state-dir={state_dir}",
            f"--config-file={state_dir / CONFIGURATION_FILE}",
            *(f"--simulated={declaration}" for declaration in declarations),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        private_files.write(self.state_dir / CONFIGURATION_FILE, self._configuration)
        private_files.write(self.log_path, "")
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - this program itself
                [sys.executable, "-m", "programs.client", *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_for_url(self, timeout_seconds: float) -> str:
        """Return the API's address once it responds. Raises ``DemoFailed``."""
        deadline = time.monotonic() + timeout_seconds
        path = self.state_dir / API_URL_FILE
        while time.monotonic() < deadline:
            if path.exists() and (url := path.read_text().strip()):
                return url
            self.require_running()
            time.sleep(LOOK_SECONDS)
        raise DemoFailed(reason=f"armillary up did not answer within {timeout_seconds:g} s")

    def require_running(self) -> None:
        """Raise ``DemoFailed`` with the end of the log if the child has ended."""
        code = self._process.poll() if self._process else None
        if code is not None:
            raise DemoFailed(reason=f"armillary up ended with exit code {code}:\n{self._log_end()}")

    def stop(self, grace_seconds: float) -> int | None:
        """Stop the child, and kill it after the grace time; return its exit code, if any."""
        if self._process is None:
            return None
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _log_end(self) -> str:
        lines = self.log_path.read_text(errors="replace").splitlines()
        return "\n".join(lines[-LOG_LINES_SHOWN:])
