"""The demo itself, against the real HTTP API and a super conductor that runs programs."""

import dataclasses
import io
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from armillary.context import RequestContext
from objects.instances.explanation import Explanation
from objects.instances.new_servers import NewServers
from objects.instances.server_answers import CreatedServers
from programs.demo import fleet, workloads
from programs.demo.control_plane import ControlPlane, DemoFailed
from programs.demo.screen import Screen
from programs.demo.story import STOP_SECONDS_MAX, Story, reason, why_nowhere
from tests import builders
from tests.unit.programs.commands.decisions.test_explain import a_trace
from tests.unit.programs.conftest import BuildingSuperConductor

pytestmark = pytest.mark.sampled_tests(every=3)

SENTENCE = "All 21 hosts lack MEMORY_MB."


class RunningSuperConductor(BuildingSuperConductor):
    """Builds by the demo's script, immediately; a server of an image with a command runs."""

    def __init__(self) -> None:
        super().__init__()
        self.quotas["admin"] = {"instances": 100}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.does_not_start = 0
        self.host = "small-01"
        self.attempt = 2

    def create_servers(self, context: RequestContext, servers: NewServers) -> CreatedServers:
        accepted = super().create_servers(context, servers)
        for server in self.servers[-len(accepted.instance_uuids) :]:
            server.name = f"{servers.name}-{server.launch_index + 1}"
            server.vm_state, server.host, server.attempt = "active", self.host, self.attempt
            if server.flavor.name == fleet.COLOSSAL.name:
                fault = builders.a_fault(server.uuid, message="No valid host was found.")
                server.name, server.vm_state, server.fault = servers.name, "error", fault
            assert server.image is not None
            command = server.image.properties.get("process_command")
            if command and self.does_not_start:
                self.does_not_start -= 1
            elif command:
                self._start(server.uuid, command)
        return accepted

    def explain_server(
        self,
        context: RequestContext,
        instance_uuid: str,
        with_hosts: bool | None = None,
        decision_of: str | None = None,
    ) -> Explanation:
        explained = super().explain_server(context, instance_uuid, with_hosts, decision_of)
        is_error = explained.instance.vm_state == "error"
        trace = a_trace(sentence=SENTENCE if is_error else None)
        return dataclasses.replace(explained, trace=trace)

    def delete_server(self, context: RequestContext, instance_uuid: str) -> None:
        super().delete_server(context, instance_uuid)
        self.end(instance_uuid)

    def end(self, instance_uuid: str) -> None:
        process = self.processes.pop(instance_uuid, None)
        if process is not None:
            assert process.stdout is not None
            process.kill()
            process.wait()
            process.stdout.close()

    def _start(self, instance_uuid: str, command: str) -> None:
        process = subprocess.Popen(shlex.split(command), stdout=subprocess.PIPE)
        self.processes[instance_uuid] = process
        assert process.stdout is not None
        process.stdout.readline()  # it has begun


class StandingPlane(ControlPlane):
    """One that runs already."""

    url = ""
    stopped = 0
    exit_code = 0

    def start(self) -> None:
        """Have nothing to do."""

    def wait_for_url(self, timeout_seconds: float) -> str:
        return self.url

    def require_running(self) -> None:
        """It does."""

    def stop(self, grace_seconds: float) -> int | None:
        self.stopped += 1
        return self.exit_code


@pytest.fixture
def conductor() -> Iterator[RunningSuperConductor]:
    """Lend a super conductor with the hosts of the demo."""
    conductor = RunningSuperConductor()
    names = ["here", *(f"{h.kind}-{n + 1:02}" for h in fleet.FLEET for n in range(h.count))]
    for name in names:
        node = builders.a_compute_node(name)
        node.attributes["hypervisor_type"] = "process" if name == "here" else "simulated"
        conductor.nodes.append(node)
        conductor.services.append(builders.a_service(name))
    yield conductor
    for instance_uuid in list(conductor.processes):
        conductor.end(instance_uuid)


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def story(url: str, tmp_path: Path, out: io.StringIO) -> Story:
    """Return the story on a control plane that stands already, and that never takes its time."""
    plane = StandingPlane(tmp_path, [], "")
    plane.url = url
    return Story(plane, Screen(Console(file=out, width=120)), sleep=lambda seconds: None)


def test_all_is_told_and_nothing_is_left(
    story: Story, conductor: RunningSuperConductor, out: io.StringIO
) -> None:
    """Where each one is, at which attempt, why; the processes; the one that fits nowhere."""
    story.tell()
    text = out.getvalue()
    assert "worker-3   small-01   2         the next best host; the build failed on: host1" in text
    assert "web-40" in text
    assert text.count(story.mark) == 1 + fleet.REAL_COUNT
    assert f"Why: {SENTENCE}" in text
    assert "No allocation is left." in text
    assert "43 instances were built, 43 of them at a second attempt or later" in text
    assert conductor.servers == []
    assert workloads.find(story.mark) == []


def break_hosts(conductor: RunningSuperConductor) -> None:
    conductor.services[3].up = False


def break_processes(conductor: RunningSuperConductor) -> None:
    conductor.does_not_start = 1


def break_alternates(conductor: RunningSuperConductor) -> None:
    conductor.attempt = 1


def break_failing_host(conductor: RunningSuperConductor) -> None:
    conductor.host = fleet.FAILING_HOST


def break_release(conductor: RunningSuperConductor) -> None:
    conductor.allocations = [
        {
            "consumer_uuid": builders.a_uuid(),
            "consumer_type": "INSTANCE",
            "project_id": "admin",
            "provider_name": "small-01",
            "resources": {"VCPU": 1},
        }
    ]


def break_sentence(conductor: RunningSuperConductor) -> None:
    def explain_server(
        context: RequestContext,
        instance_uuid: str,
        with_hosts: bool | None = None,
        decision_of: str | None = None,
    ) -> Explanation:
        explained = BuildingSuperConductor.explain_server(conductor, context, instance_uuid)
        return dataclasses.replace(explained, trace=None)

    conductor.explain_server = explain_server  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (break_hosts, r"20 of 21 hosts are up after"),
        (break_processes, r"2 of 3 processes run on this machine"),
        (break_alternates, r"no build was retried"),
        (break_failing_host, r"43 instances run on giant-01"),
        (break_release, r"1 allocations are left"),
        (break_sentence, r"no reason is given why colossus fits nowhere"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.sampled(every=3)
def test_whatever_is_not_as_it_should_be_fails_the_demo(
    break_it: Callable[[RunningSuperConductor], None],
    message: str,
    story: Story,
    conductor: RunningSuperConductor,
) -> None:
    """With the one thing that is wrong."""
    ticks = iter(range(10_000))
    story.clock = lambda: float(next(ticks))
    break_it(conductor)
    with pytest.raises(DemoFailed, match=message):
        story.tell()


def test_a_control_plane_that_ends_badly_fails_the_demo(story: Story) -> None:
    """Also at the very end."""
    assert isinstance(story.plane, StandingPlane)
    story.plane.exit_code = 1
    with pytest.raises(DemoFailed, match="armillary up ended with exit code 1"):
        story.tell()


def test_cleaning_up_ends_all_that_was_begun(
    story: Story, conductor: RunningSuperConductor
) -> None:
    """Wherever the story stopped; servers first, as only they know their processes."""
    conductor.attempt = 1
    with pytest.raises(DemoFailed):
        story.tell()
    assert len(workloads.find(story.mark)) == fleet.REAL_COUNT
    story.clean_up()
    assert conductor.servers == []
    assert workloads.find(story.mark) == []
    assert isinstance(story.plane, StandingPlane)
    assert story.plane.stopped == 1


def test_a_second_ctrl_c_makes_the_clean_up_short(
    story: Story, conductor: RunningSuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who presses it twice does not want to wait; nothing is left all the same."""
    conductor.attempt = 1
    with pytest.raises(DemoFailed):
        story.tell()
    stops: list[float] = []

    def stop(grace_seconds: float) -> None:
        stops.append(grace_seconds)
        if grace_seconds:
            raise KeyboardInterrupt

    monkeypatch.setattr(story.plane, "stop", stop)
    story.clean_up()
    assert stops == [STOP_SECONDS_MAX, 0.0]
    assert workloads.find(story.mark) == []


def test_cleaning_up_goes_on_when_the_api_is_gone(
    story: Story, conductor: RunningSuperConductor
) -> None:
    """Processes outlive their agent, but not the demo."""
    conductor.attempt = 1
    with pytest.raises(DemoFailed):
        story.tell()
    conductor.errors["list_servers"] = RuntimeError("gone")
    story.clean_up()
    assert workloads.find(story.mark) == []


def ranked(host: str, weight: float, **shares: float) -> dict[str, Any]:
    parts = {name: {"raw": 1.0, "normalised": 1.0, "weight": part} for name, part in shares.items()}
    return {"host": host, "weight": weight, "shares": parts}


def explained(
    host: str, ranking: list[dict[str, Any]], failed: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return what the API says about an instance on a host."""
    attempts = [{"host": name, "result": "Error"} for name in failed]
    choices = [{**ranking[0], "runners_up": ranking[1:]}] if ranking else []
    return {
        "server": {"host": host},
        "attempts": [*attempts, {"host": host, "result": "Success"}],
        "trace": {"choices": choices, "sentence": None},
    }


def test_a_first_choice_shows_its_weight_and_the_next_best() -> None:
    """Weighers that had no part are left out."""
    ranking = [
        ranked("a", 1.75, RAMWeigher=2.0, IoOpsWeigher=-0.25, DiskWeigher=0.0),
        ranked("b", 1.5),
    ]
    assert reason(explained("a", ranking)) == "weight 1.75 = RAM 2.00 + IoOps -0.25; next b 1.50"


def test_an_alternate_shows_where_it_failed_before() -> None:
    """All of the hosts."""
    ranking = [ranked("a", 2.0), ranked("b", 1.0), ranked("c", 0.5)]
    assert (
        reason(explained("c", ranking, failed=("a", "b")))
        == "the next best host; the build failed on: a, b"
    )


def test_the_only_host_is_called_so() -> None:
    """A weight alone says nothing."""
    assert reason(explained("a", [ranked("a", 0.0)])) == "the only host that fits"


def test_what_is_not_recorded_is_not_made_up() -> None:
    """The trace of a very large request is cut."""
    assert reason(explained("a", [])) == "no longer known"
    assert reason({**explained("a", []), "trace": None}) == "no longer known"


def test_the_sentence_of_one_that_is_nowhere_is_passed_on() -> None:
    """Or nothing, when there is none."""
    assert why_nowhere({"trace": {"sentence": "All hosts are full."}}) == "All hosts are full."
    assert why_nowhere({"trace": {"sentence": None}}) == ""
    assert why_nowhere({"trace": None}) == ""
