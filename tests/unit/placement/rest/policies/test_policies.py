"""The rules of the Placement API, by the names that it documents them under."""

from pathlib import Path

import pytest
from oslo_policy import policy

from armillary.context import RequestContext
from armillary.exception import PolicyNotAuthorized
from armillary.policy import Enforcer
from placement.rest.policies import list_rules
from placement.rest.routes import ROUTES
from tests.fixtures.placement.placement_rest import rest_conf

DOCUMENTED = [rule for rule in list_rules() if isinstance(rule, policy.DocumentedRuleDefault)]
USAGES = "placement:usages"
RESHAPE = "placement:reshaper:reshape"
OTHERS = [rule.name for rule in DOCUMENTED if rule.name not in (USAGES, RESHAPE)]
OF_P1 = {"project_id": "p1"}


def enforcer(folder: Path, *, only_new_defaults: bool = True, **rules: str) -> Enforcer:
    """Return what decides, with some rules of an operator's."""
    lines = "".join(f'"placement:{name}": "{check}"\n' for name, check in rules.items())
    (folder / "policy.yaml").write_text(lines)
    conf = rest_conf(folder, oslo_policy={"enforce_new_defaults": str(only_new_defaults)})
    return Enforcer(conf, list_rules())


def who(*roles: str, project: str = "p1", system_scope: str | None = None) -> RequestContext:
    """Return a caller with these roles."""
    return RequestContext(project_id=project, roles=list(roles), system_scope=system_scope)


def test_every_rule_of_a_route_is_documented_with_its_operations() -> None:
    """No rule is left without a route, and no route names a rule that does not exist."""
    routed = {action.rule for methods in ROUTES.values() for action in methods.values()}
    assert {rule.name for rule in DOCUMENTED} == routed - {None}
    by_name = {rule.name: rule.operations for rule in DOCUMENTED}
    assert by_name["placement:allocation_candidates:list"] == [
        {"method": "GET", "path": "/allocation_candidates"},
        {"method": "GET", "path": "/allocation_candidates/explanation"},
    ]


@pytest.mark.parametrize("rule", OTHERS)
def test_most_things_are_for_administrators_and_services(rule: str, tmp_path: Path) -> None:
    """Of any project; not for readers or members, nor for the whole system's administrator."""
    ask = enforcer(tmp_path)
    assert ask.is_allowed(rule, {}, who("admin"))
    assert ask.is_allowed(rule, {}, who("service"))
    assert not ask.is_allowed(rule, OF_P1, who("reader", "member"))
    assert not ask.is_allowed(rule, {}, who("admin", system_scope="all"))


@pytest.mark.parametrize(
    ("roles", "project", "is_allowed"),
    [
        (["reader"], "p1", True),
        (["reader"], "p2", False),
        (["member"], "p1", False),
        (["admin"], "p2", True),
        (["service"], "p2", True),
    ],
)
def test_readers_see_the_usages_of_their_project(
    roles: list[str], project: str, is_allowed: bool, tmp_path: Path
) -> None:
    """And of no other one."""
    asked = enforcer(tmp_path).is_allowed(USAGES, OF_P1, who(*roles, project=project))
    assert asked is is_allowed


@pytest.mark.parametrize(("only_new", "is_allowed"), [(True, False), (False, True)])
def test_administrators_reshape_as_long_as_old_defaults_hold(
    only_new: bool, is_allowed: bool, tmp_path: Path
) -> None:
    """Services do at any time."""
    ask = enforcer(tmp_path, only_new_defaults=only_new)
    assert ask.is_allowed(RESHAPE, {}, who("admin")) is is_allowed
    assert ask.is_allowed(RESHAPE, {}, who("service"))


def test_an_operator_may_change_a_rule(tmp_path: Path) -> None:
    """Its old default does not count then."""
    ask = enforcer(tmp_path, only_new_defaults=False, usages="role:auditor")
    assert ask.is_allowed(USAGES, {}, who("auditor"))
    with pytest.raises(PolicyNotAuthorized, match=USAGES):
        ask.authorize(USAGES, {}, who("admin"))
