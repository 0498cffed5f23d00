"""An explanation in words."""

from __future__ import annotations

from typing import Any

import pytest

from armillary.cli.commands.explanation import text_of


def a_trace(**values: Any) -> dict[str, Any]:
    """Return a trace: of ten hosts four fit, three pass, host1 is chosen, before it host3."""
    choice = {
        "instance_uuid": "u",
        "host": "host1",
        "node": "host1",
        "weight": 2.5,
        "shares": {"CPUWeigher": 1.0, "RAMWeigher": 1.5, "IoOpsWeigher": 0.0},
        "runners_up": [{"host": "host2", "weight": 1.25, "shares": {"CPUWeigher": 1.25}}],
        "conflicts": [{"host": "host3", "reason": "inventory changed"}],
    }
    return {
        "request_id": "req-1",
        "created_at": "2030-01-31T12:00:00Z",
        "hosts_total": 10,
        "ruled_out": [
            {"kind": "resource", "name": "MEMORY_MB", "count": 5, "asked": 65536, "best": 4096},
            {"kind": "disabled", "name": "COMPUTE_STATUS_DISABLED", "count": 1},
        ],
        "candidates": 4,
        "unknown": 0,
        "filters": [{"name": "ComputeFilter", "before": 4, "removed": 1, "reason": "host9: down"}],
        "choices": [choice],
        "timings_ms": {"candidates": 1.234, "total": 5.0},
        "sentence": None,
        **values,
    }


def an_explanation(**values: Any) -> dict[str, Any]:
    """Return an explanation of a server that is on host2 after a failed build on host1."""
    return {
        "server": {"id": "u", "name": "web", "status": "ACTIVE", "attempt": 2, "host": "host2"},
        "trace": a_trace(),
        "faults": [
            {
                "attempt": 1,
                "code": 500,
                "message": "No space.",
                "created": None,
                "host": "host1",
                "details": "line 1\nline 2",
            }
        ],
        "attempts": [
            {"attempt": 1, "host": "host1", "result": "Error", "reason": "No space."},
            {"attempt": 2, "host": "host2", "result": "Success", "reason": None},
        ],
        **values,
    }


ON_AN_ALTERNATE = """\
web (u) is ACTIVE on host2, attempt 2 of 2.

Attempts:
  1  host1  failed: No space.
    line 1
    line 2
  2  host2  built

Placement knows 10 hosts with resources; of these:
  5  lack MEMORY_MB: 65,536 asked, 4,096 free at most
  1  are disabled
  4  fit

Filters, and how many hosts each left:
  ComputeFilter  4  ->  3  such as: host9: down

Weights, and the share of each weigher (the heaviest host is chosen):
  host   weight  CPUWeigher  RAMWeigher
  host1   2.500       1.000       1.500  <- chosen first
  host2   1.250       1.250       0.000  <- it is here: an alternate

Claims that placement refused:
  host3: inventory changed

Time:
  candidates 1.2 ms, total 5.0 ms
"""


def test_the_whole_story_is_told() -> None:
    """Which attempt, who was ruled out by what, whose weight, whose claim, how long."""
    assert text_of(an_explanation()) == ON_AN_ALTERNATE


def test_a_server_on_its_first_host_was_chosen() -> None:
    """The mark says so."""
    text = text_of(
        an_explanation(
            server={"id": "u", "name": "web", "status": "ACTIVE", "attempt": 1, "host": "host1"},
            attempts=[{"attempt": 1, "host": "host1", "result": "Success", "reason": None}],
            faults=[],
        )
    )
    assert text.startswith("web (u) is ACTIVE on host1, attempt 1 of 1.\n")
    assert "1.500  <- chosen\n" in text
    assert "alternate" not in text


def test_one_that_fits_nowhere_has_one_sentence() -> None:
    """It is said once, though it is in the fault's details, too."""
    sentence = "All 10 hosts lack MEMORY_MB."
    text = text_of(
        an_explanation(
            server={"id": "u", "name": "web", "status": "ERROR", "attempt": 0, "host": None},
            trace=a_trace(sentence=sentence, choices=[], filters=[], candidates=0),
            attempts=[],
            faults=[{"attempt": 0, "message": "No valid host was found.", "details": sentence}],
        )
    )
    assert text.startswith(f"web (u) is in ERROR: No valid host was found.\nWhy: {sentence}\n\n")
    assert text.count(sentence) == 1
    assert "Faults:" not in text
    assert "Weights" not in text


def test_a_fault_that_no_attempt_shows_is_told() -> None:
    """Its details may be all there is."""
    fault = {"attempt": 0, "message": "Scheduling took too long.", "details": "placement: timeout"}
    text = text_of(
        an_explanation(
            server={"id": "u", "name": "web", "status": "ERROR", "attempt": 0, "host": None},
            trace=None,
            attempts=[],
            faults=[fault],
        )
    )
    assert "Faults:\n  Scheduling took too long.\n    placement: timeout\n" in text
    assert "How it was decided is not known" in text


def test_one_being_built_says_where() -> None:
    """Its attempt is under way."""
    text = text_of(
        an_explanation(
            server={"id": "u", "name": "web", "status": "BUILD", "attempt": 1, "host": "host1"},
            attempts=[{"attempt": 1, "host": "host1", "result": None, "reason": None}],
            faults=[],
        )
    )
    assert text.startswith("web (u) is being built on host1, attempt 1 of 1.\n")
    assert "  1  host1  under way\n" in text


def test_one_that_nobody_decided_on_yet_has_no_place() -> None:
    """Between acceptance and scheduling."""
    server = {"id": "u", "name": "web", "status": "BUILD", "attempt": 0}
    text = text_of(an_explanation(server=server, trace=None, attempts=[], faults=[]))
    assert text.startswith("web (u) is being built.\n")


def test_members_see_no_host() -> None:
    """Numbers stay, names go; the API leaves them out."""
    document = an_explanation(
        server={"id": "u", "name": "web", "status": "ACTIVE", "attempt": 1},
        attempts=[{"attempt": 1, "result": "Success", "reason": None}],
        faults=[],
    )
    (choice,) = document["trace"]["choices"]
    for one in (choice, *choice["runners_up"], *choice["conflicts"]):
        one["host"] = None
    text = text_of(document)
    assert "is ACTIVE, attempt 1 of 1." in text
    assert "  1  (hidden)  built\n" in text
    assert "  (hidden)   2.500       1.000       1.500  <- chosen\n" in text


def test_hosts_that_the_scheduler_does_not_know_are_counted() -> None:
    """They fit, and nobody can use them yet."""
    text = text_of(an_explanation(trace=a_trace(unknown=2)))
    assert "  2  of these are not known to the scheduler yet\n" in text


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("trait", "lack the trait X"),
        ("forbidden_trait", "have the trait X, which is forbidden"),
        ("member_of", "are not in the aggregate X"),
        ("forbidden_aggregate", "are in the aggregate X, which is forbidden"),
        ("request_filter", "were not asked for: X"),
    ],
)
def test_every_rule_of_placement_has_words(kind: str, words: str) -> None:
    """As the trace's contract lists them."""
    trace = a_trace(ruled_out=[{"kind": kind, "name": "X", "count": 6}])
    assert f"  6  {words}\n" in text_of(an_explanation(trace=trace))


def test_a_terminal_gets_nothing_to_obey() -> None:
    """Names and messages come from others."""
    server = {"id": "u", "name": "w\x1b[2J", "status": "ACTIVE", "attempt": 0, "host": "h"}
    assert "\x1b" not in text_of(an_explanation(server=server))
