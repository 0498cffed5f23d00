"""Fixtures of tests of launched services: the sample service on both backends, and a systemd."""

import socket
from pathlib import Path

from tests.fixtures.programs.python_programs import WAIT_SECONDS_MAX, Program
from tests.fixtures.waiting import Deadline

CODE = (Path(__file__).parent / "sample_service.py").read_text(encoding="utf-8")


class Systemd:
    """The receiving end of a unit's notify socket."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.heard: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))

    def wait_for(self, word: str) -> None:
        """Return when something with ``word`` was heard."""
        deadline = Deadline(WAIT_SECONDS_MAX)
        while not any(word in message for message in self.heard):
            self._socket.settimeout(max(0.01, deadline.remaining_seconds()))
            self.heard.append(self._socket.recv(4096).decode())

    def is_silent_for(self, seconds: float) -> bool:
        """Return whether nothing comes for so long: that is the point here, not a way to wait."""
        self._socket.settimeout(seconds)
        try:
            self.heard.append(self._socket.recv(4096).decode())
        except TimeoutError:
            return True
        return False

    def close(self) -> None:
        self._socket.close()


def pids(program: Program, words: str) -> list[int]:
    """Return the process ids that the lines with these words end with."""
    return [int(line.split()[-1]) for line in program.lines if line.startswith(f"{words} ")]


def wait_until_ready(program: Program, workers: int = 2) -> None:
    """Return when so many workers have said that they are ready."""
    program.wait_for("armillary-test is ready", workers)
