"""The compute agent's options: defaults that operators know, bounds, help."""

from pathlib import Path

import pytest
from oslo_config import cfg

from armillary.conf import base, compute, register


def conf(path: Path, text: str = "") -> cfg.ConfigOpts:
    """Return a configuration read from a file with this text."""
    path.write_text(text)
    conf = cfg.ConfigOpts()
    register(conf, base, compute)
    conf([f"--config-file={path}"], default_config_files=[], default_config_dirs=[])
    return conf


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("reserved_host_cpus", 0),
        ("reserved_host_memory_mb", 512),
        ("reserved_host_disk_mb", 0),
        ("cpu_allocation_ratio", None),
        ("ram_allocation_ratio", None),
        ("disk_allocation_ratio", None),
        ("initial_cpu_allocation_ratio", 4.0),
        ("initial_ram_allocation_ratio", 1.0),
        ("initial_disk_allocation_ratio", 1.0),
        ("max_concurrent_builds", 10),
        ("update_resources_interval", 0),
    ],
)
def test_defaults_are_those_that_operators_know(tmp_path: Path, name: str, default: object) -> None:
    """As in the field."""
    assert conf(tmp_path / "a.conf")[name] == default


@pytest.mark.parametrize(
    ("group", "line"),
    [
        ("DEFAULT", "reserved_host_cpus = -1"),
        ("DEFAULT", "reserved_host_memory_mb = -1"),
        ("DEFAULT", "cpu_allocation_ratio = 0"),
        ("DEFAULT", "initial_ram_allocation_ratio = 0"),
        ("DEFAULT", "max_concurrent_builds = -1"),
        ("DEFAULT", "update_resources_interval = -2"),
        ("compute", "worker_threads = 1"),
        ("compute", "stray_guest_action = explode"),
        ("process", "limits = none"),
        ("process", "console_max_bytes = 10"),
        ("simulated", "failure_rate = 1.5"),
        ("simulated", "build_delay_seconds_min = -1"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, group: str, line: str) -> None:
    """When the value is read, which the loader does at start."""
    read = conf(tmp_path / "a.conf", f"[{group}]\n{line}\n")
    name = line.split(" ")[0]
    with pytest.raises(cfg.ConfigFileValueError):
        _ = read[name] if group == "DEFAULT" else read[group][name]


def test_simulated_hosts_may_be_given_line_by_line(tmp_path: Path) -> None:
    """Each line adds to those before."""
    read = conf(
        tmp_path / "a.conf",
        "[simulated]\nhosts = name=a-{1..2}:vcpus=1:memory_mb=1:disk_gb=1\n"
        "hosts = name=b:vcpus=2:memory_mb=2:disk_gb=2\n",
    )
    assert len(read.simulated.hosts) == 2


def test_the_journal_lies_in_the_state_directory(tmp_path: Path) -> None:
    """Unless it is put elsewhere."""
    read = conf(tmp_path / "a.conf", "[DEFAULT]\nstate_path = /srv/armillary\n")
    assert read.compute.journal == "/srv/armillary/compute-journal.sqlite"


def test_every_option_says_what_it_is_for() -> None:
    """The sample configuration is made of it."""
    silent = [
        option.name
        for options in compute.OPTIONS.values()
        for option in options
        if not (option.help or "").strip()
    ]
    assert silent == []
