"""Metrics of this machine, read from the files of its kernel."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from compute_agent.virt.machine.machine_metrics import INTERVAL_SECONDS_MIN, CpuMeter, MachineMeters
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


class Machine:
    """Counters that a test sets, and seconds that stand still."""

    def __init__(self) -> None:
        self.now = 100.0
        self.mhz = 2400.4
        self.set(user=0.0, system=0.0, idle=0.0, iowait=0.0)

    def set(self, **seconds: float) -> None:
        others = {"nice": 0.0, "irq": 0.0, "softirq": 0.0, "steal": 50.0}
        self.times = SimpleNamespace(**{**others, **seconds})


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a machine that psutil looks at."""
    made = Machine()
    monkeypatch.setattr(psutil, "cpu_times", lambda: made.times)
    monkeypatch.setattr(
        psutil, "cpu_freq", lambda: SimpleNamespace(current=made.mhz) if made.mhz else None
    )
    return made


def test_readings_are_of_the_time_between_two_looks(machine: Machine) -> None:
    """Times since the machine began, parts of 1 since the last check."""
    meter = CpuMeter(lambda: machine.now)
    machine.set(user=100.0, system=100.0, idle=100.0, iowait=100.0)
    meter.read()
    machine.now += INTERVAL_SECONDS_MIN
    machine.set(user=101.0, nice=2.0, system=102.0, irq=0.5, softirq=0.5, idle=112.0, iowait=102.0)
    assert dict(meter.read().values) == {
        "cpu.user.time": 103.0, "cpu.kernel.time": 103.0, "cpu.idle.time": 112.0,
        "cpu.iowait.time": 102.0, "cpu.user.percent": 0.15, "cpu.kernel.percent": 0.15,
        "cpu.idle.percent": 0.6, "cpu.iowait.percent": 0.1, "cpu.percent": 0.3,
        "cpu.frequency": 2400,
    }  # fmt: skip


def test_the_first_look_covers_all_time(machine: Machine) -> None:
    """A host that has just come says something sensible, too."""
    machine.set(user=10.0, system=10.0, idle=80.0, iowait=0.0)
    assert CpuMeter(lambda: machine.now).read().values["cpu.percent"] == 0.2


def test_looks_too_close_together_give_the_same(machine: Machine) -> None:
    """What is measured over a moment is noise."""
    meter = CpuMeter(lambda: machine.now)
    first = meter.read()
    machine.now += INTERVAL_SECONDS_MIN / 2
    machine.set(user=99.0, system=0.0, idle=0.0, iowait=0.0)
    assert meter.read() is first


def test_an_unknown_frequency_is_left_out(machine: Machine) -> None:
    """As in many guests."""
    machine.mhz = 0.0
    assert "cpu.frequency" not in CpuMeter(lambda: machine.now).read().values


def test_this_machine_can_be_measured() -> None:
    """All that is found is known, and the parts are parts."""
    values = CpuMeter().read().values
    assert set(METRICS[Kind.CPU]) - {"cpu.frequency"} <= set(values) <= set(METRICS[Kind.CPU])
    assert all(0 <= values[name] <= 1 for name in values if name.endswith(".percent"))
