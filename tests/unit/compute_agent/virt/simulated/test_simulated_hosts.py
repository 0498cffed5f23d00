"""The declaration of simulated hosts: what it expands to, and how a mistake is told."""

import pytest

from armillary import exception
from compute_agent.virt.driver import HostResources
from compute_agent.virt.simulated import simulated_hosts
from compute_agent.virt.simulated.simulated_hosts import SimulatedHost, parse_hosts

SIZE = "vcpus=16:memory_mb=65536:disk_gb=500"


def names(*declarations: str) -> list[str]:
    return [host.name for host in parse_hosts(declarations)]


def test_a_host_has_its_size_and_traits() -> None:
    """All that a declaration says."""
    (host,) = parse_hosts([f"name=big:{SIZE}:traits=HW_CPU_X86_AVX2+CUSTOM_FAST"])
    assert host == SimulatedHost(
        "big",
        HostResources(vcpus=16, memory_mb=65536, disk_gb=500),
        frozenset({"HW_CPU_X86_AVX2", "CUSTOM_FAST"}),
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("one", ["one"]),
        ("h-{1..3}", ["h-1", "h-2", "h-3"]),
        ("h-{08..11}", ["h-08", "h-09", "h-10", "h-11"]),
        ("r{1..2}-h{1..2}.lab", ["r1-h1.lab", "r1-h2.lab", "r2-h1.lab", "r2-h2.lab"]),
    ],
)
def test_ranges_expand_as_in_a_shell(name: str, expected: list[str]) -> None:
    """In order, with as many digits as they were written with."""
    assert names(f"name={name}:{SIZE}") == expected


def test_several_declarations_add_up() -> None:
    """Given one by one, separated by commas, over several lines."""
    assert names(f"name=a:{SIZE}, name=b:{SIZE},\n  name=c:{SIZE},", f"name=d:{SIZE}") == list(
        "abcd"
    )


@pytest.mark.parametrize(
    ("declaration", "why"),
    [
        ("name=a:vcpus=1", "memory_mb and disk_gb are missing"),
        (SIZE, "name is missing"),
        (f"name=a:{SIZE}:vcpus=2", "vcpus is given twice"),
        (f"name=a:{SIZE}:colour=red", "'colour=red' is not one of name="),
        (f"a:{SIZE}", "'a' is not one of name="),
        ("name=a:vcpus=0:memory_mb=1:disk_gb=1", "vcpus must be an integer from 1"),
        ("name=a:vcpus=1:memory_mb=-1:disk_gb=1", "memory_mb must be an integer"),
        ("name=a:vcpus=1:memory_mb=1:disk_gb=1.5", "disk_gb must be an integer from 0"),
        ("name=a:vcpus=1:memory_mb=99999999999:disk_gb=1", "memory_mb must be an integer"),
        (f"name=a_{{3..1}}:{SIZE}", "the range {3..1} is empty"),
        (f"name=a b:{SIZE}", "'a b' is not a host name"),
        (f"name=a-{{x..y}}:{SIZE}", "is not a host name"),
        (f"name=a:{SIZE},name=a:{SIZE}", "two hosts have this name"),
        (f"name=a:{SIZE}:traits=FAST", "FAST is neither a standard trait nor CUSTOM_"),
    ],
)
def test_a_mistake_is_told_with_what_was_written(declaration: str, why: str) -> None:
    """One sentence: the declaration, what is wrong with it, and an example."""
    with pytest.raises(exception.ConfigurationError) as caught:
        parse_hosts([declaration])
    text = str(caught.value)
    assert why in text
    assert "[simulated] hosts" in text
    assert "expected for example name=" in text
    assert "\n" not in text


def test_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slip of the finger does not fill the memory."""
    monkeypatch.setattr(simulated_hosts, "HOSTS_MAX", 10)
    with pytest.raises(exception.ConfigurationError, match="more than 10 hosts"):
        parse_hosts([f"name=a-{{1..999999}}-{{1..999999}}:{SIZE}"])
