"""Metrics of this machine, read from the files of its kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from compute_agent.virt.machine.machine_metrics import MachineMeters
from compute_agent.virt.metrics import METRICS, Kind

SOME = "some avg10=12.50 avg60=3.00 avg300=1.00 total=99\n"
FULL = "full avg10=0.25 avg60=0.00 avg300=0.00 total=7\n"


@pytest.fixture
def pressure(tmp_path: Path) -> Path:
    """Return a kernel's pressure stall information; before Linux 5.13 CPUs had no full line."""
    folder = tmp_path / "pressure"
    folder.mkdir()
    (folder / "cpu").write_text(SOME)
    (folder / "memory").write_text(SOME + FULL)
    (folder / "io").write_text(SOME + FULL)
    return folder


@pytest.mark.parametrize("kind", [Kind.CPU, Kind.MEMORY, Kind.DISK, Kind.LOAD])
def test_this_machine_is_measured(tmp_path: Path, kind: Kind) -> None:
    """Shares are parts of 1, nothing is below nothing, and each metric is a known one."""
    readings = MachineMeters(tmp_path).read(kind)
    assert readings is not None
    assert set(METRICS[kind]) - {"cpu.frequency"} <= set(readings.values) <= set(METRICS[kind])
    assert all(value >= 0 for value in readings.values.values())
    shares = [value for name, value in readings.values.items() if name.endswith(".percent")]
    assert all(share <= 1 for share in shares)


def test_pressure_is_that_of_the_last_ten_seconds(tmp_path: Path, pressure: Path) -> None:
    """As parts of 1; a line that this kernel does not have is left out."""
    readings = MachineMeters(tmp_path, pressure=pressure).read(Kind.PRESSURE)
    assert readings is not None
    assert readings.values == {
        "pressure.cpu.some.percent": 0.125,
        "pressure.memory.some.percent": 0.125,
        "pressure.memory.full.percent": 0.0025,
        "pressure.io.some.percent": 0.125,
        "pressure.io.full.percent": 0.0025,
    }


def test_a_kernel_without_pressure_tells_nothing_of_it(tmp_path: Path) -> None:
    """The host has its other metrics all the same."""
    assert MachineMeters(tmp_path, pressure=tmp_path / "none").read(Kind.PRESSURE) is None


def test_the_disk_is_the_one_of_the_guests(tmp_path: Path) -> None:
    """A directory that is gone is an error for the monitor to tell of."""
    with pytest.raises(OSError, match="gone"):
        MachineMeters(tmp_path / "gone").read(Kind.DISK)
