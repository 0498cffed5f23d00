"""Supervisor of one workload: start it with its limits, log its output, record its exit code.

Run as ``python -I -S process_shim.py DIRECTORY LOCK_FD``, with only the standard library. One shim
lives as long as its workload, independently of the agent. Its state is in files of DIRECTORY:

    guest.json      from the agent: what to run, and how (``ProcessSpec``)
    processes.json  pids and start times of shim and workload, before the workload starts
    started.json    {"error": null}, or errno, step and text of the error
    stop.json       from the agent, optional: {"grace_seconds", "is_hard"} of the requested stop
    held.json       from the agent, optional: the power state that the workload is stopped in
    unconfirmed     from the agent, optional: the workload is new here, its conductor may not know
    exit.json       the result: {"exit_code", "seconds"}; 128 + n after signal n
    console.log     the output; the older half of what is kept is in console.log.1

The shim holds the lock that the agent took on LOCK_FD, so a locked file means that the shim is
alive. It also listens on an abstract socket named after DIRECTORY (``guard_address``): one shim at
a time can have it, and it is there when the directory is not. On a connection the shim makes
DIRECTORY again, or takes it over if it was restored from a copy, and answers "ok". It remembers
what ``held.json`` says then, because it is stopped itself while its workload is held.

A lease says how long the workload may run (``Lease``). When it is over the shim stops all processes
where they are, and lets them continue when the lease was renewed.

SIGTERM to the shim stops the workload: SIGTERM to all its processes, and SIGKILL after the
grace period, or immediately if requested. When the main process ends by itself, the others are
stopped, too. The shim is the subreaper of all of them, including daemons that left the session.

With a restart policy, the shim starts the workload again after a delay. A restart is logged to the
console and is not an end: there is no exit.json, and the shim stays alive. A non-zero exit within
the settle time is a failed start and not restarted.
"""

import contextlib
import errno
import fcntl
import hashlib
import importlib.util
import json
import os
import pwd
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
MIB = 1024**2
STOP_TICK_SECONDS = 0.05
KILL_SECONDS_MAX = 10.0
HELD_TICK_SECONDS = 0.2
LEASE_LOOK_SECONDS = 10.0
"""How often to look for a lease while there is none, or no agent."""
ADDRESS_SECONDS_MAX = 2.0
"""How long to wait for the address of a shim that is just ending."""
READ_BYTES = 65536
UNCONFIRMED = "unconfirmed"
HELD = "held.json"


# Contents of the files ----------------------------------------------------------------------------


class Restart(NamedTuple):
    """A restart policy: on-failure or always, and seconds.

    A non-zero exit within ``settle_seconds`` is a failed start.
    """

    policy: str
    delay_seconds: float
    delay_seconds_max: float
    settle_seconds: float


class ProcessSpec(NamedTuple):
    """Contents of ``guest.json``: what the shim runs, and how."""

    argv: list[str]
    environment: dict[str, str]
    cgroup: str | None
    rlimits: dict[str, int]
    """Name in the module ``resource`` -> value, for the soft and the hard limit."""
    cpus: list[int] | None
    """CPUs that it may use; None means all."""
    user: str | None
    """Name of its user; None means ``uid``, or the agent's own."""
    stop_grace_seconds: float
    console_max_bytes: int
    home: str = ""
    """Its working directory; set when the specification is stored."""
    place: Mapping[str, Any] | None = None
    """Placement on the host, for an agent that lost its journal."""
    restart: Restart | None = None
    """None means never."""
    uid: int | None = None
    """A user without a name; its group has the same number."""
    namespaces: Mapping[str, Any] | None = None
    """Fields of ``process_namespaces.Namespaces``."""
    lease: str | None = None
    """File of the lease that it runs under; None means that it may run for ever."""
    disk_bytes_max: int | None = None
    """What its files may take, home and temporary ones together; None means no limit."""
    temporary: str | None = None
    """Its own directory for temporary files, if it has one."""


class StartError(NamedTuple):
    """Why the workload could not be started: the step and the error."""

    errno: int
    step: str
    text: str


class ProcessId(NamedTuple):
    """A process: its pid, and its start time in clock ticks since boot."""

    pid: int
    start: int


def read_spec(directory: Path) -> ProcessSpec | None:
    """Return the stored specification of a workload, or None if there is none."""
    try:
        content = json.loads((directory / "guest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    values = {name: content[name] for name in ProcessSpec._fields if name in content}
    restart = values.get("restart")
    return ProcessSpec(**{**values, "restart": Restart(**restart) if restart else None})


def write_spec(directory: Path, spec: ProcessSpec) -> None:
    """Store a specification. Raises OSError."""
    restart = None if spec.restart is None else spec.restart._asdict()
    write_json(directory / "guest.json", {**spec._asdict(), "restart": restart})


# Process information, also used by the agent ------------------------------------------------------


class ProcessStat(NamedTuple):
    """State, parent and session of a process, and its start time in clock ticks since boot."""

    state: str
    parent: int
    session: int
    start: int

    @property
    def has_ended(self) -> bool:
        return self.state in "ZX"


def read_stat(pid: int) -> ProcessStat | None:
    """Return the state of a process, or None if it does not exist."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    values = text.rpartition(")")[2].split()  # the process name may contain anything
    return ProcessStat(values[0], int(values[1]), int(values[3]), int(values[19]))


def all_stats() -> dict[int, ProcessStat]:
    """Return ``read_stat`` for every process."""
    stats = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - only the names are needed, thousands of them
        if name.isdigit() and (stat := read_stat(int(name))) is not None:
            stats[int(name)] = stat
    return stats


def descendants(root: int) -> list[int]:
    """Return the live descendants of ``root``."""
    stats = all_stats()
    children: dict[int, list[int]] = {}
    for pid, stat in stats.items():
        children.setdefault(stat.parent, []).append(pid)
    found: list[int] = []
    line = list(children.get(root, ()))
    while line:
        pid = line.pop()
        if not stats[pid].has_ended:
            found.append(pid)
        line.extend(children.get(pid, ()))
    return found


def guard_address(directory: Path) -> str:
    """Return the address of the shim of a workload: an abstract Unix socket.

    Its name ends with that of the directory, the instance's UUID.
    """
    return f"\0{guard_prefix(directory.parent)}{directory.name}"


def guard_prefix(parent: Path) -> str:
    """Return how the addresses of the workloads below a directory begin, without the null."""
    digest = hashlib.sha256(str(parent).encode("utf-8", "surrogateescape")).hexdigest()
    return f"armillary-guard/{digest[:16]}/"


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return the pid and the user id at the other end of a Unix socket."""
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _gid = struct.unpack("3i", packed)
    return pid, uid


def lease_now() -> float:
    """Return the time of leases, seconds since boot; it goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """Return the unique id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def write_json(path: Path, value: object) -> None:
    """Write a file atomically and durably, for the agent's user alone."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    new = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(new, "w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _read_json(path: Path) -> object:
    """Return the content of a file, None without one."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


# The shim ---------------------------------------------------------------------------------------


class _Console:
    """The workload's output in two files, a newer and an older one, of half the limit each."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._half = max_bytes // 2
        self._is_at_line_start = True
        self._open()

    def note(self, text: str) -> None:
        """Write a line from the shim itself."""
        start = b"" if self._is_at_line_start else b"\n"
        self.write(start + f"[armillary] {text}\n".encode())

    def write(self, data: bytes) -> None:
        if data:
            self._is_at_line_start = data.endswith(b"\n")
        for first in range(0, len(data), self._half):
            self._write(data[first : first + self._half])

    def _write(self, data: bytes) -> None:
        if self._size and self._size + len(data) > self._half:
            os.close(self._fd)
            self._path.replace(self._path.with_name(self._path.name + ".1"))
            self._open()
        with contextlib.suppress(OSError):  # a full disk must not stop the workload
            self._size += os.write(self._fd, data)

    def open_again(self) -> None:
        """Go on in a new file."""
        os.close(self._fd)
        self._open()

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o600)
        self._size = os.fstat(self._fd).st_size


class _Restarts:
    """The restarts of a workload by its policy; None means never."""

    def __init__(self, spec: Restart | None) -> None:
        self._spec = spec
        self._in_a_row = 0
        self.count = 0

    def is_wanted(self, code: int, seconds: float) -> bool:
        """Return whether to restart it after it ran for ``seconds``."""
        spec = self._spec
        if spec is None or (spec.policy == "on-failure" and code == 0):
            return False
        return not (self.count == 0 and code != 0 and seconds <= spec.settle_seconds)

    def next_delay(self, seconds: float) -> float:
        """Return the restart delay: a backoff that resets after a long enough run.

        It is computed here because the shim has no module but the standard library's.
        """
        assert self._spec is not None
        first, longest = float(self._spec.delay_seconds), float(self._spec.delay_seconds_max)
        if seconds > longest:
            self._in_a_row = 0
        delay = first * 2.0 ** min(self._in_a_row, 30)
        self._in_a_row += 1
        self.count += 1
        return min(delay, max(longest, first))


class Lease:
    """A lease: a file with ``until`` (``lease_now``) and ``is_strict``, locked by its agent.

    The agent renews it. If it did not, although its process still exists, the process is stalled,
    and the host may have been given up. If the process is gone, the workload continues: agents are
    restarted and replaced while workloads run. With ``is_strict`` it does not, nor while there is
    the file ``unconfirmed``. Without a file that can be read there is no lease.
    """

    def __init__(self, path: str | None, unconfirmed: Path | None = None) -> None:
        self._path = path
        self._unconfirmed = unconfirmed
        self._look_at = 0.0
        self.is_over = False

    def look(self) -> None:
        """Read the lease if it is time to do so."""
        now = lease_now()
        if self._path is None or now < self._look_at:
            return
        until = self._until(self._path)
        self.is_over = now >= until
        self._look_at = now + HELD_TICK_SECONDS if self.is_over else until

    def seconds(self) -> float | None:
        """Return the seconds until the next check; None means never."""
        return None if self._path is None else max(0.0, self._look_at - lease_now())

    def _until(self, path: str) -> float:
        """Return until when it lasts, as far as can be said now."""
        later = lease_now() + LEASE_LOOK_SECONDS
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                has_agent = _is_locked(file)
                said = json.loads(os.read(file, READ_BYTES))
                until = float(said["until"])
                is_new = self._unconfirmed is not None and self._unconfirmed.exists()
                is_strict = has_agent or is_new or said["is_strict"]
                return until if is_strict else max(until, later)
            finally:
                os.close(file)
        return later


def _is_locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


class _Shim:
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
        self._enter = _load_namespaces(spec.namespaces)
        written = [place for place in (spec.home, spec.temporary) if place]
        self._disk = _load("process_disk").DiskUse(written, spec.disk_bytes_max, os.getpid())
        self._is_disk_full = False
        self._console = _Console(directory / "console.log", spec.console_max_bytes)
        self._output = -1
        self._wakeups = -1
        self._restarts = _Restarts(spec.restart)
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
            _become_workload(self._spec, self._prctl, self._enter, output_end, errors_end, go)
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
                "shim": _process_id(os.getpid())._asdict(),
                "workload": _process_id(self._workload)._asdict(),
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
                if error.errno != errno.EADDRINUSE or not _is_of_own_user(address):
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
                self._held = _read_json(self._directory / HELD)
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


def user_of(spec: ProcessSpec) -> int:
    """Return the id of the user that a workload runs as."""
    if spec.uid is not None:
        return spec.uid
    return os.geteuid() if spec.user is None else pwd.getpwnam(spec.user).pw_uid


def _is_of_own_user(address: str) -> bool:
    """Return whether the process that has an address runs as this process's user."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(address)
        except OSError as error:
            return error.errno != errno.ECONNREFUSED  # a full backlog is a living process's
        return peer(connection)[1] == os.geteuid()


def _process_id(pid: int) -> ProcessId:
    stat = read_stat(pid)
    return ProcessId(pid, stat.start if stat is not None else 0)


def _load_prctl() -> Any:
    """Return prctl(2), or a function without effect if it is unavailable."""
    try:
        import ctypes

        call = ctypes.CDLL(None, use_errno=True).prctl
    except (ImportError, OSError, AttributeError):
        return lambda *_: -1
    return lambda option, value: call(option, ctypes.c_ulong(value), 0, 0, 0)


def _load(name: str) -> Any:
    """Return a module beside this file, which a program that runs isolated (-I) does not find."""
    file = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert file is not None
    assert file.loader is not None
    module = importlib.util.module_from_spec(file)
    file.loader.exec_module(module)
    return module


def _load_namespaces(wanted: Mapping[str, Any] | None) -> Callable[[], None]:
    """Return a function that enters the namespaces, loaded before a child needs it."""
    if wanted is None:
        return lambda: None
    module = _load("process_namespaces")
    return lambda: module.enter(module.Namespaces(**wanted))


def _become_workload(
    spec: ProcessSpec, prctl: Any, enter: Callable[[], None], output: int, errors: int, go: int
) -> NoReturn:
    """Set up this child and run the command; write a failure to ``errors``."""
    step = "start"
    try:
        if not os.read(go, 1):
            os._exit(127)
        os.setsid()
        step = "cgroup"
        _join_cgroup(spec.cgroup)
        step = "namespaces"
        enter()
        step = "directory"
        os.chdir(spec.home)  # before another user may be unable to pass a directory above it
        step = "user"
        _become_user(spec)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        os.umask(0o077)
        _connect_output(output)
        _reset_signals()
        step = "limits"
        _set_limits(spec)  # last, because memory is limited from here on
        step = "command"
        os.execvpe(spec.argv[0], spec.argv, spec.environment)  # noqa: S606 - the purpose
    except BaseException as error:
        number = getattr(error, "errno", None) or errno.EINVAL
        said = {"errno": number, "step": step, "text": str(error)}
        os.write(errors, json.dumps(said).encode()[:4096])
    os._exit(127)


def _join_cgroup(cgroup: str | None) -> None:
    if cgroup is not None:
        (Path(cgroup) / "cgroup.procs").write_text("0", encoding="ascii")


def _set_limits(spec: ProcessSpec) -> None:
    for name, value in spec.rlimits.items():
        resource.setrlimit(getattr(resource, name), (value, value))
    if spec.cpus is not None:
        os.sched_setaffinity(0, spec.cpus)


def _become_user(spec: ProcessSpec) -> None:
    if spec.uid is not None:
        os.setgroups([])
        os.setgid(spec.uid)
        os.setuid(spec.uid)
    elif spec.user is not None:
        user = pwd.getpwnam(spec.user)
        os.initgroups(spec.user, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)


def _connect_output(output: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def main() -> int:
    """Leave the agent's process tree, then run the shim; the first process exits immediately."""
    directory, lock_fd = Path(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(lock_fd, False)
    if os.fork():
        os._exit(0)
    return _Shim(directory, lock_fd).run()


if __name__ == "__main__":
    sys.exit(main())
