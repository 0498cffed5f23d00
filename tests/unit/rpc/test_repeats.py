"""Repeated calls: who gets the stored answer of the first time."""

from typing import Any

import pytest

from armillary import renewals
from armillary.context import RequestContext, Signer
from rpc.repeats import answering_repeats
from tests.fixtures.asking import wait_for
from tests.fixtures.super_conductor.idempotency import MemoryRecords

WORLD = Signer("world-ctl", "parent_zone", "world")


@pytest.mark.parametrize(
    ("signer", "is_repeat"),
    [
        (WORLD, True),
        (Signer("world-2", "parent_zone", "world"), True),
        (Signer("thief-ctl", "parent_zone", "thief"), False),
        (Signer("api", "api", None), False),
        (None, False),
    ],
    ids=["itself", "another-process", "another-parent", "another-role", "unsigned"],
)
def test_a_repeat_is_answered_to_the_sender_alone(signer: Signer | None, is_repeat: bool) -> None:
    """And its other processes: another would read the answer by the id of the request."""
    handled: list[Signer | None] = []

    def handler(context: RequestContext, *, name: str) -> str:
        handled.append(context.signer)
        return f"the password of {name}"

    def pack(_context: RequestContext, answer: Any) -> Any:
        return answer

    repeats = answering_repeats("zone", "forward_change", handler, pack, MemoryRecords())
    for each in (WORLD, signer):
        context = RequestContext(request_id="req-1")
        context.signer = each
        assert repeats(context, name="web") == "the password of web"
    assert len(handled) == (1 if is_repeat else 2)


def test_the_record_of_a_call_is_renewed_while_it_is_handled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A repeat is handled soon after the death of a process, and not beside a slow first time."""
    monkeypatch.setattr(renewals, "RENEWAL_SECONDS", 0.01)
    records = MemoryRecords()

    def handler(context: RequestContext) -> str:
        wait_for(lambda: len(records.renewed) > 1, "the record is renewed", 10, 0.01)
        return "done"

    handle = answering_repeats(
        "zone", "slow", handler, lambda _context, answer: answer, records, renewals.Renewals()
    )
    assert handle(RequestContext(request_id="req-1")) == "done"
    assert {key for key, _handler in records.renewed} == set(records.records)
