"""Traces of one version are read by the other."""

from __future__ import annotations

from typing import Any

from objects.traces.decision_trace import DecisionTrace
from objects.traces.trace_versions import upgraded


def a_share(weight: float) -> dict[str, float]:
    return {"raw": 512.0, "normalised": 0.5, "weight": weight}


def a_trace() -> DecisionTrace:
    choice = {
        "instance_uuid": "i1",
        "host": "h1",
        "shares": {"RAMWeigher": a_share(2.0)},
        "runners_up": [{"host": "h2", "shares": {"RAMWeigher": a_share(1.0)}}],
    }
    reasons = [{"reason": "is down", "count": 2}, {"reason": "is disabled", "count": 1}]
    return DecisionTrace.from_values(
        hosts_total=9,
        nearest=[{"suffix": "", "host": "h3", "lacks": []}],
        filters=[
            {"name": "ComputeFilter", "before": 9, "removed": 3, "reasons": reasons},
            {"name": "AFilter", "before": 6, "removed": 1, "reasons": []},
        ],
        choices=[choice],
    )


def sent_to_an_older_peer(trace: DecisionTrace) -> dict[str, Any]:
    primitive = trace.obj_to_primitive("1.0")
    data: dict[str, Any] = primitive[DecisionTrace.primitive_key("data")]
    return data


def test_an_older_peer_gets_one_reason_and_plain_shares() -> None:
    """As it stores and shows them; what it does not know is left out."""
    data = sent_to_an_older_peer(a_trace())
    assert "nearest" not in data
    assert [entry["reason"] for entry in data["filters"]] == ["is down", None]
    assert "reasons" not in data["filters"][0]
    (choice,) = data["choices"]
    assert choice["shares"] == {"RAMWeigher": 2.0}
    assert choice["runners_up"][0]["shares"] == {"RAMWeigher": 1.0}


def test_the_trace_itself_is_not_changed_by_that() -> None:
    """It may be sent to others, too."""
    trace = a_trace()
    sent_to_an_older_peer(trace)
    assert trace.to_plain() == a_trace().to_plain()


def test_what_an_older_peer_wrote_is_read_as_far_as_it_goes() -> None:
    """The number of hosts with its reason is not known, but for one."""
    read = upgraded(sent_to_an_older_peer(a_trace()))
    assert read["nearest"] == []
    assert [entry["reasons"] for entry in read["filters"]] == [
        [{"reason": "is down", "count": 1}],
        [],
    ]
    assert read["choices"][0]["shares"]["RAMWeigher"] == {
        "raw": None,
        "normalised": None,
        "weight": 2.0,
    }


def test_what_is_new_stays_as_it_is() -> None:
    """Twice does no harm."""
    plain = a_trace().to_plain()
    assert upgraded(plain) == plain
