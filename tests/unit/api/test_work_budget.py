"""Expensive requests: a user gets a share of a process, others and administrators keep theirs."""

from contextlib import ExitStack

import falcon
import pytest

from api import work_budget
from api.work_budget import WorkBudget
from armillary.context import RequestContext
from tests.fixtures.stand_ins.clock import Clock

USER = RequestContext(user_id="u1", project_id="p1")
OTHER = RequestContext(user_id="u2", project_id="p1")
ADMIN = RequestContext(user_id="u1", project_id="p1", is_admin=True)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def budget(clock: Clock) -> WorkBudget:
    return WorkBudget(clock)


def spend(budget: WorkBudget, units: float, context: RequestContext = USER) -> None:
    with budget.spending(context) as spent:
        spent.add(units)


def test_a_user_waits_who_has_used_what_it_may(budget: WorkBudget, clock: Clock) -> None:
    """For as long as the answer says, and no longer; another user does not."""
    for _ in range(int(work_budget.UNITS_AT_ONCE)):
        spend(budget, 1)
    with pytest.raises(falcon.HTTPTooManyRequests) as refused:
        spend(budget, 1)
    spend(budget, 1, OTHER)
    clock.now += int(dict(refused.value.headers or {})["Retry-After"])
    spend(budget, 1)
    with pytest.raises(falcon.HTTPTooManyRequests):
        spend(budget, 1)


def test_what_one_request_used_too_much_is_waited_for(budget: WorkBudget, clock: Clock) -> None:
    """Its need is known only afterwards."""
    spend(budget, 10 * work_budget.UNITS_AT_ONCE)
    clock.now += 9 * work_budget.UNITS_AT_ONCE * work_budget.SECONDS_PER_UNIT
    with pytest.raises(falcon.HTTPTooManyRequests):
        spend(budget, 1)
    clock.now += 2 * work_budget.SECONDS_PER_UNIT
    spend(budget, 1)


def test_requests_at_the_same_time_are_few(budget: WorkBudget) -> None:
    """They do not know what the others will have used; one that failed is at work no longer."""
    with ExitStack() as at_work:
        for _ in range(work_budget.REQUESTS_AT_ONCE_MAX):
            at_work.enter_context(budget.spending(USER))
        with pytest.raises(falcon.HTTPTooManyRequests):
            spend(budget, 1)
        spend(budget, 1, OTHER)
    spend(budget, 1)


def test_administrators_have_no_bound(budget: WorkBudget) -> None:
    for _ in range(3):
        spend(budget, 10 * work_budget.UNITS_AT_ONCE, ADMIN)


def test_few_users_are_remembered(budget: WorkBudget, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their number; the one that asked last is."""
    monkeypatch.setattr(work_budget, "USERS_MAX", 2)
    for number in range(5):
        spend(budget, work_budget.UNITS_AT_ONCE, RequestContext(user_id=str(number)))
    with pytest.raises(falcon.HTTPTooManyRequests):
        spend(budget, 1, RequestContext(user_id="4"))
    assert len(budget._accounts) == 2
