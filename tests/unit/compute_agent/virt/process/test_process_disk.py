"""A workload that fills its host's disk, and how its files are counted."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compute_agent.virt.process import process_disk
from compute_agent.virt.process.process_disk import FILE_BYTES_MIN, DiskUse
from tests.fixtures.agent.processes import Processes
from tests.fixtures.services import leave_out

MIB = 1024**2


@pytest.fixture
def isolated(tmp_path: Path) -> Iterator[Processes]:
    """Return a driver with the defaults of isolation."""
    made = Processes(tmp_path)
    for name in ("mounts", "network", "workload_user"):
        made.conf.clear_override(name, group="process")
    made.restart()
    yield made
    made.clear()


def exceeds(directory: Path, bytes_max: int) -> bool:
    """Measure once, to the end."""
    return DiskUse([str(directory)], bytes_max, os.getpid(), now=lambda: 0.0).is_exceeded()


def sparse(home: Path) -> None:
    (home / "sparse").touch()
    os.truncate(home / "sparse", 64 * MIB)


def linked(home: Path) -> None:
    for number in range(8):
        (home / f"link-{number}").hardlink_to(home / "data")


def pointing_elsewhere(home: Path) -> None:
    (home / "link").symlink_to("/usr")


@pytest.mark.parametrize("add", [sparse, linked, pointing_elsewhere])
def test_what_takes_no_space_does_not_count(tmp_path: Path, add: Callable[[Path], None]) -> None:
    (tmp_path / "data").write_bytes(b"x" * MIB)
    add(tmp_path)
    assert not exceeds(tmp_path, 2 * MIB)


def empty_files(home: Path) -> None:
    for number in range(2 * MIB // FILE_BYTES_MIN + 1):
        (home / str(number)).touch()


def below(home: Path) -> None:
    (home / "a" / "b").mkdir(parents=True)
    (home / "a" / "b" / ".hidden").write_bytes(b"x" * 3 * MIB)


def too_deep(home: Path) -> None:
    """Deeper than a path may be long: with relative names there is no end."""
    with contextlib.chdir(home):
        for _ in range(20):
            Path("d" * 255).mkdir()
            os.chdir("d" * 255)


@pytest.mark.parametrize("add", [empty_files, below, too_deep])
def test_what_takes_space_counts(tmp_path: Path, add: Callable[[Path], None]) -> None:
    assert not exceeds(tmp_path, 2 * MIB)
    add(tmp_path)
    assert exceeds(tmp_path, 2 * MIB)


def test_a_long_measurement_pauses_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shim has output to copy meanwhile."""
    monkeypatch.setattr(process_disk, "SLICE_SECONDS", 0.0)
    for number in range(3):
        (tmp_path / str(number)).write_bytes(b"x" * MIB)
    time = 0.0
    use = DiskUse([str(tmp_path)], int(2.5 * MIB), os.getpid(), now=lambda: time)
    answers = []
    for _ in range(3):
        answers.append(use.is_exceeded())
        time += process_disk.BREAK_SECONDS
    assert answers == [False, False, True]


def test_a_nearly_full_disk_is_measured_more_often(tmp_path: Path) -> None:
    """What is left says how soon it may be full."""
    waits = []
    for gib in (1, 10, 1000):
        use = DiskUse([str(tmp_path)], gib * 1024**3, os.getpid(), now=lambda: 0.0)
        use.is_exceeded()
        waits.append(round(use.seconds() or 0))
    assert waits == [2, 10, 60]


FILL = "for number in $(seq 99); do head -c 64M /dev/zero > $number; sleep 0.1; done"
DELETE = """
import os, time
opened = []
for number in range(99):
    opened.append(open("file", "wb"))
    os.unlink("file")
    opened[-1].write(bytes(64 << 20))
    opened[-1].flush()
    time.sleep(0.1)
time.sleep(300)
"""
ATTACKS = {
    "many-files": f"sh -c '{FILL}; sleep 300'",
    "in-tmp": f"sh -c 'cd /tmp; {FILL}; sleep 300'",
    "in-var-tmp": f"sh -c 'cd /var/tmp; {FILL}; sleep 300'",
    "deleted": f"python3 -c '{DELETE}'",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_workload_that_fills_the_disk_is_ended(isolated: Processes, attack: str) -> None:
    """Although it is to be started again always; its console says why."""
    if isolated.driver.get_attributes()["isolation"]["mounts"] != "private":  # type: ignore[index]
        leave_out("Own temporary files", "mounts are not private here")
    instance = isolated.spawn(attack, restart="always", root_gb=1)
    assert isolated.wait_ended(instance) == 137
    said = "[armillary] killed: its files take more than its disk of 1024 MiB"
    assert said in isolated.console(instance)
    held = sum(file.stat().st_size for file in isolated.directory(instance).rglob("[0-9]*"))
    assert held < 6 * 1024 * MIB


def test_a_file_cannot_be_larger_than_the_disk(processes: Processes) -> None:
    """The kernel ends what writes on, with SIGXFSZ."""
    instance = processes.spawn(
        "sh -c 'echo ready; sleep 0.5; truncate --size 1025M file'", root_gb=1
    )
    assert processes.wait_ended(instance) != 0
    assert (processes.directory(instance) / "home" / "file").stat().st_size == 0


def test_temporary_files_are_a_workloads_own(isolated: Processes) -> None:
    """None meets another's there, nor a link that another made; they go with it."""
    if isolated.driver.get_attributes()["isolation"]["mounts"] != "private":  # type: ignore[index]
        leave_out("Own temporary files", "mounts are not private here")
    name = f"armillary-{os.getpid()}"
    places = f"/tmp/{name} /var/tmp/{name} /dev/shm/{name}"
    first = isolated.spawn_ready(f"sh -c 'touch {places} && echo ready && sleep 300'")
    _, listed = isolated.output_of(f"sh -c 'ls -d {places} 2>&1 || :'")
    assert listed.count("No such file") == 3
    assert not any(Path(place).exists() for place in places.split())
    kept = isolated.directory(first) / "tmp" / name
    assert kept.exists()
    isolated.driver.destroy(first.uuid)
    assert not kept.exists()
