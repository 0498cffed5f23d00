"""Why an instance is where it is, in one cell of a table."""

from __future__ import annotations

from typing import Any

from programs.demo.reasons import reason, why_nowhere


def ranked(host: str, weight: float, **shares: float) -> dict[str, Any]:
    parts = {name: {"raw": 1.0, "normalised": 1.0, "weight": part} for name, part in shares.items()}
    return {"host": host, "weight": weight, "shares": parts}


def explained(
    host: str, ranking: list[dict[str, Any]], failed: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return what the API says of an instance on a host."""
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
