"""Supervisor of one workload: start it, watch it, stop it, and find its directory again."""

import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from compute_agent.virt.process import process_namespaces
from compute_agent.virt.process.process_disk import DiskUse
from compute_agent.virt.process.shim.console import Console
from compute_agent.virt.process.shim.guard_address import guard_address, is_of_own_user
from compute_agent.virt.process.shim.json_files import HELD, UNCONFIRMED, read_json, write_json
from compute_agent.virt.process.shim.lease import Lease
from compute_agent.virt.process.shim.process_stats import boot_id, descendants, process_id
from compute_agent.virt.process.shim.restarts import Restarts
from compute_agent.virt.process.shim.spec import read_spec, user_of, write_spec
from compute_agent.virt.process.shim.workload import StartError, become_workload

PR_SET_CHILD_SUBREAPER = 36
MIB = 1024**2
STOP_TICK_SECONDS = 0.05
KILL_SECONDS_MAX = 10.0
ADDRESS_SECONDS_MAX = 2.0
"""How long to wait for the address of a shim that is just ending."""
READ_BYTES = 65536


class Supervisor:
    """Runs the workload of a directory, whose locked file is ``lock_fd``."""

    def __init__(self, directory: Path, lock_fd: int) -> None:
        self._directory = directory
        self._lock_fd = lock_fd
        self._listener: socket.socket | None = None
        self._held: object = None
        self._is_holding = False
        spec = read_spec(directory)
        assert spec is not None, f"there is no guest.json in {directory}"
        self._spec = spec
        self._lease = Lease(spec.lease, directory / UNCONFIRMED)
        self._prctl = _load_prctl()
        self._enter = _entering(spec.namespaces)
        written = [place for place in (spec.home, spec.temporary) if place]
        self._disk = DiskUse(written, spec.disk_bytes_max, os.getpid())
        self._is_disk_full = False
        self._console = Console(directory / "console.log", spec.console_max_bytes)
        self._output = -1
        self._wakeups = -1
        self._restarts = Restarts(spec.restart)
        self._workload = 0
        self._first_began: float | None = None
        self._began = 0.0
        self._end: dict[str, float] = {}
        self._is_ended = False
        self._is_restart_due = False
        self._is_told_to_stop = False
        self._is_new_stop = False
        self._kill_at: float | None = None
        self._give_up_at = 0.0

    def run(self) -> int:
        """Run the workload until all its processes have ended; return this program's exit code."""
        self._prctl(PR_SET_CHILD_SUBREAPER, 1)
        self._watch_signals()
        error = self._listen() or self._start()
        write_json(
            self._directory / "started.json", {"error": None if error is None else error._asdict()}
        )
        if error is not None:
            return 1
        is_clear = self._watch()
        while is_clear and self._is_restart_due and not self._is_told_to_stop:
            is_clear = self._start_again()
        if self._is_restart_due:
            self._write_end()
        return 0

    def _start_again(self) -> bool:
        """Wait for the delay, then start it and watch it; True if none of its processes is left."""
        seconds = time.monotonic() - self._began
        delay = self._restarts.next_delay(seconds)
        self._console.note(
            f"ended with exit code {self._end['exit_code']} after {seconds:.1f} s; "
            f"restart {self._restarts.count} in {delay:g} s"
        )
        self._wait(delay)
        if self._is_told_to_stop:
            return True
        error = self._start()
        if error is None:
            return self._watch()
        self._console.note(f"restart failed: {error.step}: {error.text}")
        self._note_end(127)
        return True

    def _wait(self, seconds: float) -> None:
        """Wait, but return early on a stop request."""
        until = time.monotonic() + seconds
        files: list[int | socket.socket] = [self._wakeups]
        if self._listener is not None:
            files.append(self._listener)
        while not self._is_told_to_stop and (left := until - time.monotonic()) > 0:
            ready = select.select(files, [], [], left)[0]
            if self._wakeups in ready:
                self._drain_wakeups()
            if self._listener in ready:
                self._answer()

    def _drain_wakeups(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wakeups, READ_BYTES)

    def _watch_signals(self) -> None:
        self._wakeups, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop_asked)
        for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(ignored, signal.SIG_IGN)

    def _stop_asked(self, *_: object) -> None:
        self._is_told_to_stop = self._is_new_stop = True

    def _start(self) -> StartError | None:
        """Start the workload; return the error, or None."""
        if self._output >= 0:
            os.close(self._output)
        self._is_ended = self._is_restart_due = False
        self._kill_at = None
        self._output, output_end = os.pipe2(os.O_CLOEXEC)
        errors, errors_end = os.pipe2(os.O_CLOEXEC)
        go, go_end = os.pipe2(os.O_CLOEXEC)
        self._began = time.monotonic()
        self._first_began = self._first_began or self._began
        self._workload = os.fork()
        if not self._workload:
            os.close(go_end)
            become_workload(self._spec, self._prctl, self._enter, output_end, errors_end, go)
        for fd in (output_end, errors_end, go):
            os.close(fd)
        os.set_blocking(self._output, False)
        self._note_processes()
        os.write(go_end, b"g")  # if the shim dies before this, the child exits without running
        os.close(go_end)
        with os.fdopen(errors, "rb") as file:
            said = file.read()
        if not said:
            return None
        os.waitpid(self._workload, 0)
        return StartError(**json.loads(said))

    def _note_processes(self) -> None:
        write_json(
            self._directory / "processes.json",
            {
                "boot_id": boot_id(),
                "shim": process_id(os.getpid())._asdict(),
                "workload": process_id(self._workload)._asdict(),
            },
        )

    def _watch(self) -> bool:
        """Copy output and reap until all have ended; False if some processes do not end."""
        poller = select.poll()
        poller.register(self._wakeups, select.POLLIN)
        poller.register(self._output, select.POLLIN)
        listener = -1 if self._listener is None else self._listener.fileno()
        if self._listener is not None:
            poller.register(listener, select.POLLIN)
        is_clear = False
        while not is_clear and not self._is_hopeless():
            for fd, _ in poller.poll(self._timeout_ms()):
                if fd == self._wakeups:
                    self._drain_wakeups()
                elif fd == listener:
                    self._answer()
                elif not self._pump():
                    poller.unregister(self._output)
            self._keep_lease()
            self._keep_to_disk()
            is_clear = self._reap()
            self._go_on_stopping()
        self._drain()
        return is_clear

    def _timeout_ms(self) -> float | None:
        if self._kill_at is not None:
            return STOP_TICK_SECONDS * 1000
        waits = [each for each in (self._lease.seconds(), self._disk.seconds()) if each is not None]
        return min(waits) * 1000 if waits else None

    # The disk

    def _keep_to_disk(self) -> None:
        """Kill the workload, without a restart, when its files take more than its flavor has."""
        if self._kill_at is None and self._disk.is_exceeded():
            mib = (self._spec.disk_bytes_max or 0) // MIB
            self._console.note(f"killed: its files take more than its disk of {mib} MiB")
            self._is_disk_full = True
            self._stop_asked()

    # The lease

    def _keep_lease(self) -> None:
        """Hold the workload while the lease has expired; let it continue once it is renewed."""
        if self._kill_at is not None:
            return
        self._lease.look()
        if self._lease.is_over:  # again and again: a process that still ran may have started one
            if not self._is_holding:
                self._console.note("held: the agent of this host is stalled or cut off")
            self._is_holding = True
            self._signal_all(signal.SIGSTOP)
        elif self._is_holding:
            self._is_holding = False
            self._signal_all(signal.SIGCONT)
            self._console.note("continued")

    # The address, and the directory that may be gone

    def _listen(self) -> StartError | None:
        """Take the address of this workload; an error if another shim of it is alive.

        A process of another user that has the address does not count.
        """
        address = guard_address(self._directory)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.setblocking(False)
        deadline = time.monotonic() + ADDRESS_SECONDS_MAX
        while True:
            try:
                listener.bind(address)
                listener.listen()
            except OSError as error:
                if error.errno != errno.EADDRINUSE or not is_of_own_user(address):
                    listener.close()
                    return None
                if time.monotonic() >= deadline:
                    return StartError(errno.EADDRINUSE, "guard", "another one of it is alive")
                time.sleep(STOP_TICK_SECONDS)
            else:
                self._listener = listener
                return None

    def _answer(self) -> None:
        """Answer a connection, after the directory is right; a shim that cannot do it hangs up."""
        assert self._listener is not None
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            with connection:
                self._restore_directory()
                connection.sendall(b"ok")

    def _restore_directory(self) -> None:
        """Make the directory again, if it is not the one that this shim has locked."""
        lock = self._directory / "lock"
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(lock.stat(), os.fstat(self._lock_fd)):
                self._held = read_json(self._directory / HELD)
                return
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for place in filter(None, (self._spec.home, self._spec.temporary)):
            if not Path(place).exists():
                Path(place).mkdir(mode=0o700)
                uid = user_of(self._spec)
                if uid != os.geteuid():
                    self._directory.chmod(0o711)
                    os.chown(place, uid, -1)
        new = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(new)
            raise
        write_spec(self._directory, self._spec)
        self._note_processes()
        write_json(self._directory / "started.json", {"error": None})
        for stale in ("exit.json", "stop.json", HELD):
            (self._directory / stale).unlink(missing_ok=True)
        if self._held is not None:
            write_json(self._directory / HELD, self._held)
        self._console.open_again()
        self._console.note("the directory of this workload was lost or replaced, and made again")
        os.close(self._lock_fd)
        self._lock_fd = new

    def _pump(self) -> bool:
        """Copy output to the console; False at the end of the output."""
        try:
            data = os.read(self._output, READ_BYTES)
        except BlockingIOError:
            return True
        self._console.write(data)
        return bool(data)

    def _drain(self) -> None:
        """Copy what the workload printed before it ended."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(64):
                data = os.read(self._output, READ_BYTES)
                if not data:
                    return
                self._console.write(data)

    def _reap(self) -> bool:
        """Reap ended processes; True if none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if not pid:
                return False
            if pid == self._workload:
                self._note_end(os.waitstatus_to_exitcode(status))

    def _note_end(self, code: int) -> None:
        self._drain()
        self._is_ended = True
        now = time.monotonic()
        exit_code = code if code >= 0 else 128 - code
        seconds = round(now - (self._first_began or now), 3)
        self._end = {"exit_code": exit_code, "seconds": seconds}
        if not self._is_told_to_stop:
            self._is_restart_due = self._restarts.is_wanted(exit_code, now - self._began)
        if not self._is_restart_due:
            self._write_end()

    def _write_end(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # the directory is gone
            write_json(self._directory / "exit.json", self._end)

    def _go_on_stopping(self) -> None:
        now = time.monotonic()
        is_new_stop, self._is_new_stop = self._is_new_stop, False
        if self._kill_at is None:
            if self._is_told_to_stop or self._is_ended:
                self._begin_to_stop(now)
        elif is_new_stop:
            self._begin_to_stop(now)
        elif now >= self._kill_at:
            self._signal_all(signal.SIGKILL)

    def _begin_to_stop(self, now: float) -> None:
        """Signal all processes; a repeated request may only shorten the remaining time."""
        grace_seconds, is_hard = self._how_to_stop()
        # What is held cannot end by itself, and what fills the disk has had its time.
        is_hard = is_hard or self._is_holding or self._is_disk_full
        self._signal_all(signal.SIGKILL if is_hard else signal.SIGTERM)
        kill_at = now + grace_seconds
        self._kill_at = kill_at if self._kill_at is None else min(self._kill_at, kill_at)
        self._give_up_at = self._kill_at + KILL_SECONDS_MAX

    def _how_to_stop(self) -> tuple[float, bool]:
        """Return the grace period in seconds, and whether to kill immediately."""
        if self._is_told_to_stop:
            with contextlib.suppress(OSError, ValueError):
                asked = json.loads((self._directory / "stop.json").read_text(encoding="utf-8"))
                return float(asked["grace_seconds"]), bool(asked["is_hard"])
        return float(self._spec.stop_grace_seconds), False

    def _is_hopeless(self) -> bool:
        return self._kill_at is not None and time.monotonic() >= self._give_up_at

    def _signal_all(self, number: signal.Signals) -> None:
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _load_prctl() -> Any:
    """Return prctl(2), or a function without effect if it is unavailable."""
    try:
        import ctypes

        call = ctypes.CDLL(None, use_errno=True).prctl
    except (ImportError, OSError, AttributeError):
        return lambda *_: -1
    return lambda option, value: call(option, ctypes.c_ulong(value), 0, 0, 0)


def _entering(wanted: Mapping[str, Any] | None) -> Callable[[], None]:
    """Return a function that enters the namespaces of a workload."""
    if wanted is None:
        return lambda: None
    namespaces = process_namespaces.Namespaces(**wanted)
    return lambda: process_namespaces.enter(namespaces)
