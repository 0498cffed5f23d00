"""A CSV file with a load: read, or refused with the line."""

import math
from pathlib import Path

import pytest

from simulator.load.load import Request
from simulator.load.recorded_load import read_recorded
from simulator.scenario.scenario_errors import BadScenario
from tests.fixtures.fleets.simulations import a_scenario, run, some_hosts

HEAD = "arrival_seconds,flavor,count,lifetime_seconds,hints,zone\n"


def read(tmp_path: Path, text: str) -> list[Request]:
    path = tmp_path / "load.csv"
    path.write_text(text)
    scenario = a_scenario(
        tmp_path,
        load="load.csv",
        hosts=[some_hosts(zone="z1")],
        groups={"apart": {"policy": "anti-affinity"}},
    )
    return read_recorded(path, scenario)


def test_lines_become_requests_by_their_time(tmp_path: Path) -> None:
    """In whatever order they are; empty values are as usual."""
    requests = read(
        tmp_path,
        HEAD + '5, small, 2, 10.5, "group=apart;query=a;query=b", z1\n' + "0.5,small,1,,,\n",
    )
    assert [each.at_seconds for each in requests] == [0.5, 5.0]
    assert requests[0].lifetimes == (math.inf,)
    assert requests[0].zone is None
    assert requests[1].lifetimes == (10.5, 10.5)
    assert requests[1].zone == "z1"
    assert requests[1].group == "apart"
    assert requests[1].hints == {"query": ["a", "b"]}


def test_requests_after_the_end_are_left_out(tmp_path: Path) -> None:
    """The scenario's duration decides."""
    assert len(read(tmp_path, HEAD + "19.9,small,1,,,\n20,small,1,,,\n")) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arrival_seconds,flavor\n", r"line 1: the column count, lifetime_seconds is missing"),
        (HEAD.replace("zone", "zones"), r"line 1: found the column 'zones'; allowed are"),
        (HEAD.replace("zone", "count"), r"line 1: found the column 'count'.* each once"),
        ("", r"line 1: the column arrival_seconds, flavor"),
        (HEAD + "1,small,1\n", r"line 2: the number of values differs"),
        (HEAD + "1,small,1,,,,,\n", r"line 2: the number of values differs"),
        (HEAD + "x,small,1,,,\n", r"line 2: arrival_seconds: found 'x'; allowed is a number"),
        (HEAD + "-1,small,1,,,\n", r"line 2: arrival_seconds: found '-1'"),
        (HEAD + "nan,small,1,,,\n", r"line 2: arrival_seconds: found 'nan'"),
        (HEAD + "1,big,1,,,\n", r"line 2: flavor: found 'big'; allowed are small"),
        (HEAD + "1,small,1,,,\n1,small,0,,,\n", r"line 3: count: found '0'; .* from 1 to"),
        (HEAD + "1,small,1.5,,,\n", r"line 2: count: found '1.5'; allowed is a whole number"),
        (HEAD + "1,small,1,-2,,\n", r"line 2: lifetime_seconds: found '-2'"),
        (HEAD + "1,small,1,,group,\n", r"line 2: hints: found 'group'; allowed is name=value"),
        (HEAD + "1,small,1,,group=x,\n", r"line 2: hints: found 'x'; allowed are apart"),
        (HEAD + "1,small,1,,,z9\n", r"line 2: zone: found 'z9'; allowed are z1"),
        (HEAD + '1,small,1,,"a\n', r"line 2: unexpected end of data"),
    ],
    ids=["missing", "unknown", "twice", "empty", "short", "long", "no-number", "negative", "nan",
         "flavor", "count-0", "count-part", "lifetime", "hint", "group", "zone", "quote"],
)  # fmt: skip
def test_a_mistake_is_refused_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    """And with the column, what was found and what is allowed."""
    with pytest.raises(BadScenario, match=message) as refused:
        read(tmp_path, text)
    assert str(refused.value).startswith(f"{tmp_path / 'load.csv'}: ")


def test_a_recorded_load_is_simulated(tmp_path: Path) -> None:
    """The same way as streams."""
    (tmp_path / "load.csv").write_text(HEAD + "1,small,3,5,,\n2,small,1,,,\n")
    counts = run(a_scenario(tmp_path, load="load.csv")).counts
    assert (counts["requests"], counts["accepted"], counts["ended"]) == (2, 4, 3)
