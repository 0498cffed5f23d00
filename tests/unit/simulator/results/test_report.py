"""Report for a person."""

import dataclasses
from pathlib import Path

from simulator.results.report import text_of
from tests.fixtures.fleets.simulations import a_scenario, a_stream, run

LOAD = [a_stream(arrivals={"fixed": 2})]


def test_one_policy_has_one_column(tmp_path: Path) -> None:
    """Counts, utilisation, layout, speed, and why something was refused."""
    scenario = a_scenario(tmp_path, title="Small", load=LOAD)
    text = text_of(scenario, [run(scenario)])
    assert text.startswith("Small: 4 hosts, 40 requests for 40 instances in 20 simulated seconds")
    lines = {" ".join(line.split()) for line in text.splitlines()}
    assert {"accepted 32", "refused 8", "VCPU peak 100.0 %", "decided 40"} <= lines
    assert "Why instances got no host:" in lines
    assert any(line.startswith("8 too little VCPU") for line in lines)
    assert "difference" not in text


def test_two_policies_have_a_difference(tmp_path: Path) -> None:
    """Of the second from the first, with its sign."""
    scenario = a_scenario(tmp_path)
    first = run(scenario)
    second = dataclasses.replace(
        first, policy="other", counts={**first.counts, "accepted": 15, "refused": 5}
    )
    lines = {" ".join(line.split()) for line in text_of(scenario, [first, second]).splitlines()}
    assert {"accepted 20 15 -5", "refused 0 5 +5", "lost 0 0 0"} <= lines
    assert "No instance was refused under other." in lines


def test_what_a_terminal_would_obey_is_not_shown(tmp_path: Path) -> None:
    """A title is a user's text."""
    scenario = a_scenario(tmp_path, title="\x1b[31mred")
    assert "\x1b" not in text_of(scenario, [run(scenario)])
