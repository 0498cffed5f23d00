"""Printed examples of the documentation, compared with a running system: explanations, events."""

import io
import itertools
import os
import shlex
import threading
from collections.abc import Callable, Iterator

import pytest

from programs.commands.app import URL_VARIABLE, ClientApp
from tests.fixtures.asking import Api, wait_for
from tests.fixtures.checks.documented_output import assert_among, assert_printed, example
from tests.fixtures.embedded import embedded_system

HOSTS = [
    "name=node-1:vcpus=32:memory_mb=131072:disk_gb=100",
    "name=node-2:vcpus=24:memory_mb=98304:disk_gb=100",
    "name=node-3:vcpus=16:memory_mb=65536:disk_gb=100",
    "name=node-{4..6}:vcpus=8:memory_mb=32768:disk_gb=100",
    "name=node-{7..9}:vcpus=8:memory_mb=2048:disk_gb=100:traits=HW_CPU_X86_AVX512F",
]
DISABLED, DOWN, FULL = "node-4", "node-5", "node-6"
FILTERS = (
    "ComputeFilter", "NumInstancesFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter",
)  # fmt: skip
EVENTS = 16
"""Events after which a follower ends; what is done below makes fewer."""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Lend a system of which one host is disabled, one is down and one is full."""
    with embedded_system(
        tmp_path_factory.mktemp("examples"),
        hosts=9,
        simulated__hosts=HOSTS,
        filter_scheduler__enabled_filters=list(FILTERS),
        filter_scheduler__weight_classes=["CPUWeigher", "RAMWeigher"],
        filter_scheduler__max_instances_per_host=2,
    ) as api:
        for line in (
            "image create nothing --property img_hv_type=simulated",
            "flavor create small --vcpus 1 --ram 4096 --disk 1",
            "flavor create huge --vcpus 1 --ram 262144 --disk 1",
            "flavor create vector --vcpus 1 --ram 262144 --disk 1"
            " --property trait:HW_CPU_X86_AVX512F=required",
            f"server create full --flavor small --image nothing --host {FULL}"
            " --min 2 --max 2 --wait",
            f"service set {DISABLED} --disable",
            f"service set {DOWN} --down",
        ):
            typed(api, line)
        wait_for(lambda: are_known(api), "the scheduler knows of it", 30)
        yield api


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a terminal in which no sentence is wrapped."""
    monkeypatch.setenv("COLUMNS", "400")


@pytest.fixture(autouse=True)
def clean(system: Api) -> Iterator[None]:
    """Leave no server behind: several tests make one of the same name."""
    yield
    typed(system, "server delete web --wait", may_fail=True)


def typed(api: Api, line: str, *, may_fail: bool = False) -> str:
    """Run a command of ``armillary``; return what it prints."""
    said = io.StringIO()
    code = application(api, said).run(shlex.split(line))
    assert code == 0 or may_fail, f"{line}\n{said.getvalue()}"
    return said.getvalue()


def application(api: Api, said: io.StringIO) -> ClientApp:
    return ClientApp(said, said, {**os.environ, URL_VARIABLE: api.api_url})


def are_known(api: Api) -> bool:
    said = dry_run(api)
    return all(word in said for word in ("disabled", "is down", "NumInstancesFilter: "))


def dry_run(api: Api) -> str:
    return typed(api, "schedule --dry-run --flavor small --image nothing")


def create(api: Api, name: str, flavor: str = "small", *, may_fail: bool = False) -> None:
    line = f"server create {name} --flavor {flavor} --image nothing --wait"
    typed(api, line, may_fail=may_fail)


def test_an_explanation_is_as_documented(system: Api) -> None:
    """Of a server that is there: each line, in this order, and no other one."""
    create(system, "web")
    assert_printed(example("docs/operating/explain.md", 1), typed(system, "explain web"))


@pytest.fixture
def enabled(system: Api) -> Iterator[None]:
    """Have no disabled host."""
    typed(system, f"service set {DISABLED} --enable")
    wait_for(lambda: "disabled" not in dry_run(system), "the scheduler knows of it", 30)
    yield
    typed(system, f"service set {DISABLED} --disable")
    wait_for(lambda: are_known(system), "the scheduler knows of it", 30)


@pytest.mark.usefixtures("enabled")
def test_an_explanation_after_moves_is_as_documented(system: Api) -> None:
    """The last move found no host; the decisions before are listed."""
    create(system, "web")
    typed(system, "server migrate web --live --wait")
    typed(system, "server resize web --flavor huge --wait", may_fail=True)
    documented = example("docs/operating/explain.md", 2).unwrapped()
    assert_printed(documented, typed(system, "explain web"))


@pytest.mark.usefixtures("enabled")
def test_the_sentence_of_a_server_without_a_host_is_as_documented(system: Api) -> None:
    """What hosts lack, and the nearest miss."""
    create(system, "none", "vector", may_fail=True)
    documented = example("docs/operating/explain.md", 4)
    (why,) = (line for line in typed(system, "explain none").splitlines() if "Why: " in line)
    assert_printed(documented.unwrapped(), why)


def test_events_are_as_documented(system: Api) -> None:
    """Of a build, of one that fails, and of a service."""
    said = io.StringIO()
    words = ["events", "--count", str(EVENTS)]
    follower = threading.Thread(target=application(system, said).run, args=[words], daemon=True)
    follower.start()
    switches = itertools.cycle(["--enable", "--disable --reason 'new disk'"])

    def switch() -> None:
        typed(system, f"service set {DISABLED} {next(switches)}")

    def is_following() -> bool:
        switch()
        return "service.update" in said.getvalue()

    wait_for(is_following, "events are followed", 30)
    create(system, "web")
    typed(system, f"service set {DISABLED} --enable")
    wait_for(lambda: "disabled" not in dry_run(system), "the scheduler knows of it", 30)
    create(system, "refused", "huge", may_fail=True)
    wait_for(lambda: "build_instances.error" in said.getvalue(), "the error is shown", 30)

    def has_ended() -> bool:
        switch()
        return not follower.is_alive()

    wait_for(has_ended, "the follower has enough", 60)
    assert_among(example("docs/operating/monitoring.md"), said.getvalue())
