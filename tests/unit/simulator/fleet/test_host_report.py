"""NUMA cells of simulated hosts, and instances that ask for some."""

from pathlib import Path

from simulator.fleet.host_report import topology_of
from simulator.results.outcome import Outcome
from tests.fixtures.fleets.simulations import a_scenario, a_stream, run, some_hosts, write_policy

PINNED = {"vcpus": 3, "memory_mb": 1024, "extra_specs": {"hw:cpu_policy": "dedicated"}}


def test_cells_share_what_a_host_has(tmp_path: Path) -> None:
    """Nearly evenly, each CPU in one of them; the reserve is used."""
    hosts = some_hosts(vcpus=3, pcpus=4, numa_cells=2, reserved={"memory_mb": 1000})
    (shape,) = a_scenario(tmp_path, hosts=[hosts]).shapes
    topology = topology_of(shape)
    assert topology is not None
    one, other = topology.cells
    assert (sorted(one.cpus), sorted(other.cpus)) == ([0, 1], [2])
    assert (sorted(one.pcpus), sorted(other.pcpus)) == ([3, 4], [5, 6])
    assert (one.memory_mb, one.memory_mb_used) == (4096, 500)


def test_dedicated_cpus_are_in_a_cell(tmp_path: Path) -> None:
    """One if nothing else is said; a host without them reports none."""
    scenario = a_scenario(tmp_path, hosts=[some_hosts(pcpus=4), some_hosts("plain")])
    pinned, plain = (topology_of(shape) for shape in scenario.shapes)
    assert pinned is not None
    assert len(pinned.cells) == 1
    assert plain is None


def with_pinned(tmp_path: Path, numa_cells: int) -> Outcome:
    """Return what comes of instances with 3 CPUs of their own on two hosts that have 8."""
    scenario = a_scenario(
        tmp_path,
        hosts=[some_hosts("h-{1..2}", vcpus=0, pcpus=8, numa_cells=numa_cells)],
        flavors={"small": PINNED},
        load=[a_stream(end_seconds=6)],
    )
    lines = ["[filter_scheduler]", "enabled_filters = NUMATopologyFilter"]
    return run(scenario, write_policy(tmp_path, "p", lines))


def test_an_instance_does_not_straddle_cells(tmp_path: Path) -> None:
    """Two cells of four CPUs take one of three each, and a rest of one CPU is left in both."""
    outcome = with_pinned(tmp_path, 2)
    assert (outcome.counts["accepted"], outcome.counts["refused"]) == (4, 2)
    assert outcome.utilisation["PCPU"]["end"] == 0.75
    (refusal,) = outcome.refusals
    assert "PCPU" in refusal.reason


def test_cells_are_what_rules_out(tmp_path: Path) -> None:
    """Eight cells of one CPU take none, though the host has CPUs enough: the filter says so."""
    outcome = with_pinned(tmp_path, 8)
    assert outcome.counts["refused"] == 6
    assert "NUMATopologyFilter" in outcome.refusals[0].reason


def test_a_host_refuses_what_its_cells_have_no_room_for(tmp_path: Path) -> None:
    """Where no filter looked at them, its agent does."""
    scenario = a_scenario(
        tmp_path,
        hosts=[some_hosts("h-{1..2}", vcpus=0, pcpus=8, numa_cells=8)],
        flavors={"small": PINNED},
        load=[a_stream(end_seconds=2)],
    )
    lines = ["[filter_scheduler]", "enabled_filters = ComputeFilter"]
    counts = run(scenario, write_policy(tmp_path, "p", lines)).counts
    assert (counts["accepted"], counts["failed"], counts["hosts_refused"]) == (0, 2, 4)
