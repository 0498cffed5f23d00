"""How busy a machine's CPUs are, from its counters."""

from __future__ import annotations

from types import SimpleNamespace

import psutil
import pytest

from compute_agent.virt.machine.machine_cpu import INTERVAL_SECONDS_MIN, CpuMeter
from compute_agent.virt.metrics import METRICS, Kind


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
    """Times since the machine began, parts of 1 since the last look."""
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
