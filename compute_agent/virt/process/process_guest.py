"""One workload: its directory and shim, its status, and how to start and stop it."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from armillary import exception
from compute_agent.virt.process import (
    guard_connection,
    process_files,
    process_freezing,
    process_output,
    process_shim,
)
from compute_agent.virt.process.shim import supervisor
from compute_agent.virt.process.shim.json_files import HELD, UNCONFIRMED, write_json
from compute_agent.virt.process.shim.spec import ProcessSpec, read_spec, user_of, write_spec
from compute_agent.virt.process.shim.workload import StartError
from compute_agent.virt.process.workload_processes import TICK_SECONDS, WorkloadProcesses

SHIM = Path(process_shim.__file__)
DRAFT = ".draft-"
TRASH = ".trash-"
DETACHED = "detached.json"
RESCUE = "rescue.json"
ASIDE = "aside.json"
LAUNCH_SECONDS_MAX = 15.0
# Steps and errors caused by the image: no other host will succeed.
COMMAND_STEP = "command"
ABORTING_ERRORS = frozenset(
    {errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR, errno.EISDIR, errno.ELOOP,
     errno.ENAMETOOLONG, errno.E2BIG, errno.EINVAL}
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class ProcessStatus:
    """Status of a workload. If not running and without ``exit_code``, its end was not observed."""

    is_running: bool
    exit_code: int | None = None
    seconds: float | None = None
    """How long it ran."""

    @property
    def is_known(self) -> bool:
        """Whether it runs or its end was observed."""
        return self.is_running or self.exit_code is not None


class ProcessGuest:
    """The workload of one instance: a directory with the shim's files and its ``home``."""

    def __init__(self, directory: Path, host: str) -> None:
        self._directory = directory
        self._host = host

    @property
    def uuid(self) -> str:
        return self._directory.name

    @property
    def directory(self) -> Path:
        return self._directory

    @property
    def is_guarded(self) -> bool:
        """Whether its supervisor is alive, and holds the lock in its directory."""
        return self._is_shim_alive()

    @property
    def home(self) -> Path:
        return self._directory / "home"

    @property
    def temporary(self) -> Path:
        """Directory that is its ``/tmp``, if its mounts are private."""
        return self._directory / "tmp"

    @property
    def config_drive(self) -> Path:
        """Directory with the files of its config drive, if it has one."""
        return self._directory / "config-drive"

    @property
    def has_config_drive(self) -> bool:
        return self.config_drive.is_dir()

    @property
    def exists(self) -> bool:
        return self._directory.exists()

    def spec(self) -> ProcessSpec | None:
        """Return its stored specification, or None if there is none."""
        return read_spec(self._directory)

    def status(self) -> ProcessStatus | None:
        """Return its status; None if it never started to run."""
        ended = self._read("exit.json")
        if ended is not None:
            return ProcessStatus(False, ended["exit_code"], ended["seconds"])
        if self._is_shim_alive():
            return ProcessStatus(True)
        processes = self._processes()
        if processes is None or (self._read("started.json") or {}).get("error"):
            return None
        if processes.is_alive(processes.workload):  # its shim was killed
            return ProcessStatus(True)
        # The shim may have written the file since it was first checked.
        ended = self._read("exit.json") or {}
        return ProcessStatus(False, ended.get("exit_code"), ended.get("seconds"))

    def prepare(
        self,
        spec: ProcessSpec,
        files: Sequence[process_files.File] = (),
        config_files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Create its directory, with its files from another host, and store the specification.

        It is unconfirmed at first.

        ``config_files`` are those of its config drive by path; None: it has none. The directory
        appears atomically. Raises OSError.
        """
        draft = self._directory.with_name(f"{DRAFT}{self.uuid}-{time.monotonic_ns()}")
        try:
            draft.mkdir(mode=0o700, parents=True)
            home = draft / self.home.name
            home.mkdir(mode=0o700)
            process_files.unpack(home, files)
            if config_files is not None:
                drive = draft / self.config_drive.name
                drive.mkdir(mode=0o700)
                process_files.unpack(drive, process_files.tree(config_files))
            self._write_spec(draft, spec)
            (draft / UNCONFIRMED).touch(mode=0o600)
            draft.rename(self._directory)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise

    def renew(self, spec: ProcessSpec) -> None:
        """Store a new specification, and remove the state of the previous run, which has ended."""
        self.rewrite(spec)
        for name in ("stop.json", "started.json", "processes.json", "exit.json", HELD):
            (self._directory / name).unlink(missing_ok=True)

    def rewrite(self, spec: ProcessSpec) -> None:
        """Store a specification for the next start. Raises OSError."""
        self._write_spec(self._directory, spec)

    def start(self, timeout_seconds: float) -> None:
        """Start a prepared workload. Raises BuildFailed, BuildAborted, OSError; undoes nothing."""
        self._open_to_user()
        self._launch()
        self.wait_started(timeout_seconds)

    def wait_started(self, timeout_seconds: float) -> None:
        """Wait until a start in progress is done. Raises BuildFailed, BuildAborted."""
        deadline = time.monotonic() + timeout_seconds
        while (started := self._read("started.json")) is None:
            if not self._is_shim_alive() and self._read("started.json") is None:
                raise self._failed("its supervisor process ended before it started")
            if time.monotonic() >= deadline:
                raise self._failed(f"not started within {timeout_seconds:g} s")
            time.sleep(TICK_SECONDS)
        if started["error"] is not None:
            raise self._start_error(StartError(**started["error"]))

    def settle(self, seconds: float) -> ProcessStatus:
        """Wait up to ``seconds``; return its status then, or as soon as it has ended."""
        deadline = time.monotonic() + seconds
        while True:
            status = self.status() or ProcessStatus(False)
            if not status.is_running or time.monotonic() >= deadline:
                return status
            time.sleep(TICK_SECONDS)

    @property
    def is_detached(self) -> bool:
        """Whether another host may take it over, or already has."""
        return (self._directory / DETACHED).exists()

    @property
    def is_confirmed(self) -> bool:
        """Whether the conductor knows that it is here."""
        return not (self._directory / UNCONFIRMED).exists()

    def confirm(self) -> None:
        """Record that the conductor knows that it is here."""
        (self._directory / UNCONFIRMED).unlink(missing_ok=True)

    def note_detached(self, is_detached: bool) -> None:
        """Store whether it is detached. Raises OSError."""
        if is_detached:
            write_json(self._directory / DETACHED, True)
        else:
            (self._directory / DETACHED).unlink(missing_ok=True)

    # Pausing: while its processes are stopped, a file has the power state.

    @property
    def held(self) -> str | None:
        """The power state that it waits in, or None; running for the moment of a snapshot."""
        found = self._read(HELD)
        return None if found is None else str(found)

    def hold(self, power_state: str) -> None:
        """Stop its processes where they are; idempotent. Raises TimeoutError, OSError."""
        write_json(self._directory / HELD, power_state)
        shim = self._shim_pid()
        if shim is not None and not process_freezing.is_stopped(shim):
            with contextlib.suppress(OSError):  # it only matters if the directory is lost
                guard_connection.greet(self._directory)
        try:
            process_freezing.freeze(self._shim_pid(), self._living)
        except TimeoutError:
            self.let_continue()
            raise

    def let_continue(self) -> None:
        """Let its processes continue; idempotent."""
        process_freezing.thaw(self._shim_pid(), self._living)
        (self._directory / HELD).unlink(missing_ok=True)

    def living_processes(self) -> list[int]:
        """Return its processes, without those that watch over it."""
        shim = self._shim_pid()
        return [pid for pid in self._living() if pid != shim]

    def _shim_pid(self) -> int | None:
        processes = self._processes()
        return None if processes is None else processes.shim_pid

    def _living(self) -> list[int]:
        processes = self._processes()
        return [] if processes is None else processes.living()

    # Rescue: until it ends, a file has the image that runs in its place.

    @property
    def rescue_image(self) -> Any:
        """The image that it is rescued with, as JSON, or None."""
        return self._read(RESCUE)

    def note_rescue(self, image: Any) -> None:
        """Store the image that it is rescued with; None: its own. Raises OSError."""
        if image is not None:
            write_json(self._directory / RESCUE, image)
        else:
            (self._directory / RESCUE).unlink(missing_ok=True)

    # Rebuild: a file says whether the workload ran before it was set aside.

    @property
    def ran_before(self) -> bool | None:
        """Whether it ran when it was set aside; None if it was not."""
        found = self._read(ASIDE)
        return None if found is None else bool(found)

    def note_aside(self, ran: bool | None) -> None:
        """Store whether it runs before it is set aside; None: it is back. Raises OSError."""
        if ran is not None:
            write_json(self._directory / ASIDE, ran)
        else:
            (self._directory / ASIDE).unlink(missing_ok=True)

    def rename(self, directory: Path) -> None:
        """Give its directory, in which nothing runs, another name. Raises OSError."""
        self._directory.rename(directory)

    def last_line(self) -> str:
        """Return the last line of its output, truncated; empty if there is none."""
        with contextlib.suppress(OSError):
            return process_output.last_line(self._directory)
        return ""

    def output(self, lines: int | None) -> str:
        """Return the last lines of its output, or all that is kept. Raises OSError."""
        return process_output.console_output(self._directory, lines)

    def stop(self, grace_seconds: float | None = None, *, is_hard: bool = False) -> None:
        """End all its processes, the shim last; a hard stop kills them immediately.

        So does the stop of one that is held: it could not end by itself. The grace period defaults
        to that of its specification. Raises TimeoutError if the processes do not end.
        """
        if grace_seconds is None:
            spec = self.spec()
            grace_seconds = 0.0 if spec is None else spec.stop_grace_seconds
        is_hard = is_hard or self.held is not None
        deadline = time.monotonic() + grace_seconds + supervisor.KILL_SECONDS_MAX
        if self._is_shim_alive():
            asked = {"grace_seconds": grace_seconds, "is_hard": is_hard}
            with contextlib.suppress(OSError):  # a full disk must not prevent the stop
                write_json(self._directory / "stop.json", asked)
        self._ask_shim_to_stop()
        self._wake_shim()
        while self._is_shim_alive():
            if time.monotonic() >= deadline:
                processes = self._processes()
                if processes is not None:
                    processes.kill_shim()
                break
            time.sleep(TICK_SECONDS)
        processes = self._processes()
        if processes and (left := processes.kill_session(supervisor.KILL_SECONDS_MAX)):
            raise TimeoutError(f"processes {left} of instance {self.uuid} do not end")

    def remove(self) -> None:
        """Remove the directory atomically."""
        if not self.exists:
            return
        trash = self._directory.with_name(f"{TRASH}{self.uuid}-{time.monotonic_ns()}")
        self._directory.replace(trash)
        shutil.rmtree(trash, ignore_errors=True)

    # Starting -------------------------------------------------------------------------------------

    def _open_to_user(self) -> None:
        """Give its home to its user, which may be another than at the last start."""
        spec = self.spec()
        uid = os.geteuid() if spec is None else user_of(spec)
        self._directory.chmod(0o700 if uid == os.geteuid() else 0o711)
        if spec is not None and spec.temporary is not None:
            self.temporary.mkdir(mode=0o700, exist_ok=True)
        for place in (self.home, self.config_drive, self.temporary):
            if place.exists() and place.lstat().st_uid != uid:
                process_files.give_to(place, uid)

    def _write_spec(self, directory: Path, spec: ProcessSpec) -> None:
        write_spec(directory, spec._replace(home=str(self.home)))

    def _launch(self) -> None:
        """Run the shim, which leaves our process tree immediately and inherits the lock."""
        with self._locked() as lock_fd:
            launcher = subprocess.Popen(  # noqa: S603 - a file of this package, no shell
                [sys.executable, "-I", "-S", SHIM, self._directory, str(lock_fd)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                pass_fds=(lock_fd,),
                start_new_session=True,
            )
            try:
                launcher.wait(LAUNCH_SECONDS_MAX)
            except subprocess.TimeoutExpired as error:
                launcher.kill()
                launcher.wait()
                raise self._failed("its supervisor process did not start in time") from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        lock_fd = os.open(self._directory / "lock", flags, 0o600)
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX)  # others only probe it briefly
            yield lock_fd
        finally:
            os.close(lock_fd)

    def _start_error(self, error: StartError) -> exception.ArmillaryError:
        if error.step != COMMAND_STEP:
            return self._failed(f"setting up its {error.step} failed: {error.text}")
        spec = self.spec()
        command = "?" if spec is None else spec.argv[0]
        reason = f"the command '{command}' cannot be run: {os.strerror(error.errno)}"
        if error.errno in ABORTING_ERRORS:
            return exception.BuildAborted(instance_uuid=self.uuid, reason=reason)
        return self._failed(reason)

    def _failed(self, reason: str) -> exception.BuildFailed:
        return exception.BuildFailed(instance_uuid=self.uuid, host=self._host, reason=reason)

    # Watching and stopping ------------------------------------------------------------------------

    def _is_shim_alive(self) -> bool:
        try:
            lock_fd = os.open(self._directory / "lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock_fd)
        return False

    def _ask_shim_to_stop(self) -> None:
        """Send SIGTERM to the shim; wait for one that is just starting."""
        deadline = time.monotonic() + LAUNCH_SECONDS_MAX
        while self._is_shim_alive() and time.monotonic() < deadline:
            processes = self._processes()
            if processes is not None:
                processes.send(processes.shim, signal.SIGTERM)
                return
            time.sleep(TICK_SECONDS)

    def _wake_shim(self) -> None:
        """Let a supervisor continue that waits with its workload, to end it."""
        processes = self._processes()
        if processes is not None and self.held is not None:
            processes.send(processes.shim, signal.SIGCONT)

    def _processes(self) -> WorkloadProcesses | None:
        found = self._read("processes.json")
        return None if found is None else WorkloadProcesses.of(found)

    def _read(self, name: str) -> Any:
        """Return the content of one of the shim's files, or None if it does not exist."""
        try:
            return json.loads((self._directory / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
