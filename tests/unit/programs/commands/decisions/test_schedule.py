"""``armillary schedule --dry-run``."""

import json
from pathlib import Path
from typing import Any

import pytest

from objects.hosts.host_answers import AvailabilityZone
from programs.commands.decisions.schedule import text_of
from tests import builders
from tests.unit.programs.commands.decisions.test_explain import a_busy_trace, a_trace
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

pytestmark = pytest.mark.usefixtures("wide_screen")

ONE, TWO = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
NETWORK = "11111111-2222-4333-8444-555555555555"


def a_place(host: str | None = "host1", *alternates: str | None) -> dict[str, Any]:
    return {
        "host": host,
        "node": host,
        "availability_zone": "nova",
        "allocations": {},
        "alternates": list(alternates),
        "zone": None,
        "host_id": None,
        "alternate_zones": [None] * len(alternates),
    }


@pytest.fixture(autouse=True)
def _request(conductor: BuildingSuperConductor) -> None:
    conductor.flavors = [builders.a_flavor("small")]
    conductor.images = [builders.an_image("loop")]
    conductor.would_go_to = [a_place("host1", "host2")]
    conductor.trace = a_trace()


def test_it_shows_where_and_why(armillary: Armillary) -> None:
    """Host, alternates, who was ruled out, weights."""
    ended = armillary("schedule", "--dry-run", "--flavor", "small")
    assert ended.code == 0
    assert ended.out.startswith(
        "1 server would be placed on (nothing was claimed):\n"
        "     host   zone  alternates\n"
        "  1  host1  nova  host2\n"
    )
    assert "5  lack MEMORY_MB" in ended.out
    assert "RAM    32,768" in ended.out


def test_hosts_of_other_zones_are_shown_with_these() -> None:
    """By an id, as only their zone knows their names."""
    there = {
        **a_place(None, "host1", None, None), "zone": "eu/eu-1", "host_id": ONE,
        "availability_zone": None, "alternate_zones": [None, "eu", "us"],
    }  # fmt: skip
    here = {**a_place("host1", None), "host_id": TWO, "alternate_zones": ["eu"]}
    lines = list(text_of({"hosts": [there, here], "trace": a_trace()}))
    assert lines[:4] == [
        "2 servers would be placed on (nothing was claimed):",
        "     host                                  of zone  zone  alternates",
        f"  1  {ONE}  eu/eu-1        host1, one of eu, one of us",
        "  2  host1                                 (this)   nova  one of eu",
    ]


def test_all_that_a_build_can_ask_is_asked(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Names are looked up."""
    conductor.zones = [AvailabilityZone("west", {})]
    group = builders.an_instance_group("together", project_id="admin")
    conductor.groups = [group]
    ended = armillary(
        "schedule", "--dry-run", "--flavor", "small", "--image", "loop", "--count", "3",
        "--availability-zone", "west", "--host", "host7", "--network", NETWORK,
        "--hint", f"group={group.name}", "--hint", f"same_host={ONE}", "--hint", f"same_host={TWO}",
    )  # fmt: skip
    assert ended.code == 0
    asked = conductor.requests[-1]["server"]
    assert (asked["flavor"], asked["image"]) == (
        conductor.flavors[0].flavorid,
        conductor.images[0].id,
    )
    assert (asked["max_count"], asked["availability_zone"], asked["host"]) == (3, "west", "host7")
    assert [network["network"] for network in asked["networks"]] == [NETWORK]
    assert asked["hints"] == {"group": [group.uuid], "same_host": [ONE, TWO]}


def test_a_file_may_say_it(
    armillary: Armillary, conductor: BuildingSuperConductor, tmp_path: Path
) -> None:
    """As a request spec."""
    spec = {"flavor": {"vcpus": 1, "memory_mb": 512}, "num_instances": 2}
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(spec))
    assert armillary("schedule", "--dry-run", "--request-spec", str(path)).code == 0
    assert conductor.requests == [{"request_spec": spec}]


def test_that_no_host_fits_is_exit_code_1(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """With the sentence, and what stands in the way."""
    conductor.would_go_to = []
    conductor.trace = a_trace(sentence="All 10 hosts are full.", choices=[])
    ended = armillary("schedule", "--dry-run", "--flavor", "small", "--count", "2")
    assert ended.code == 1
    assert ended.out.startswith("No host fits: All 10 hosts are full.\n")
    assert "5  lack MEMORY_MB" in ended.out
    assert "No host fits all 2 of them." in ended.err


@pytest.mark.parametrize("hosts", [[a_place()], []])
def test_programs_get_all_the_api_says(
    armillary: Armillary, conductor: BuildingSuperConductor, hosts: list[Any]
) -> None:
    """Also when no host fits."""
    conductor.would_go_to = hosts
    ended = armillary("schedule", "--dry-run", "--flavor", "small", "-f", "json")
    assert ended.json == {"hosts": hosts, "trace": a_trace()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--flavor", "small"], "add --dry-run"),
        (["--dry-run"], "--flavor or --request-spec"),
        (["--dry-run", "--flavor", "small", "--request-spec", "x"], "remove --flavor"),
        (
            ["--dry-run", "--request-spec", "/no/such/file"],
            "/no/such/file cannot be read as a JSON file",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused(
    armillary: Armillary, conductor: BuildingSuperConductor, arguments: list[str], said: str
) -> None:
    """Before anybody is asked."""
    ended = armillary("schedule", *arguments)
    assert ended.code != 0
    assert said in ended.err
    assert conductor.requests == []


def test_many_places_are_cut_to_the_screen() -> None:
    """Weights are those of the first."""
    places = [a_place(None if n else "h" * 200, None) for n in range(30)]
    lines = list(text_of({"hosts": places, "trace": a_busy_trace()}))
    assert "  … and 20 more: use -f json to see all" in lines
    assert any(line.startswith("   2  a host") for line in lines)
    assert max(map(len, lines)) <= 100
