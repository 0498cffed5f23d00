"""Rules decide by name, and the operator's file goes before the defaults."""

import os
from pathlib import Path

import pytest
from oslo_config import cfg
from oslo_policy import policy

from armillary import exception
from armillary.context import RequestContext
from armillary.policy import CACHE_SECONDS, Enforcer

RULES = [
    policy.RuleDefault("admin", "role:admin"),
    policy.RuleDefault("owner", "rule:admin or project_id:%(project_id)s"),
    policy.RuleDefault("servers:show", "rule:owner"),
]


@pytest.fixture
def conf(tmp_path: Path) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    path = tmp_path / "a.conf"
    path.write_text(f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n")
    conf([f"--config-file={path}"], default_config_files=[], default_config_dirs=[])
    return conf


def user(project: str, *roles: str) -> RequestContext:
    return RequestContext(user_id="u", project_id=project, roles=list(roles))


def test_the_owner_may_and_a_stranger_may_not(conf: cfg.ConfigOpts) -> None:
    """A refusal is PolicyNotAuthorized with the rule's name."""
    enforcer = Enforcer(conf, RULES)
    enforcer.authorize("servers:show", {"project_id": "p1"}, user("p1", "member"))
    with pytest.raises(exception.PolicyNotAuthorized, match="servers:show"):
        enforcer.authorize("servers:show", {"project_id": "p1"}, user("p2", "member"))


def test_the_administrator_may(conf: cfg.ConfigOpts) -> None:
    """Rules refer to each other."""
    assert Enforcer(conf, RULES).is_allowed("servers:show", {"project_id": "p"}, user("x", "admin"))


def test_the_file_changes_a_rule(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    """What it does not name keeps its default."""
    (tmp_path / "policy.yaml").write_text('"servers:show": "role:reader"\n')
    enforcer = Enforcer(conf, RULES)
    assert enforcer.is_allowed("servers:show", {}, user("p2", "reader"))
    assert not enforcer.is_allowed("servers:show", {"project_id": "p1"}, user("p1"))


@pytest.mark.parametrize(
    "text",
    ['"servers:show": "rule:missing"', '"servers:show: [', '"a": "rule:a"'],
    ids=["unknown-rule", "no-yaml", "circle"],
)
def test_a_broken_file_is_a_configuration_error(
    text: str, conf: cfg.ConfigOpts, tmp_path: Path
) -> None:
    """The line names the file."""
    (tmp_path / "policy.yaml").write_text(text)
    with pytest.raises(exception.ConfigurationError, match=r"policy\.yaml cannot be used"):
        Enforcer(conf, RULES)


def test_a_file_that_breaks_later_changes_nothing(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    """A running service keeps the rules it had."""
    path = tmp_path / "policy.yaml"
    path.write_text('"servers:show": "role:reader"\n')
    enforcer = Enforcer(conf, RULES)
    path.write_text('"servers:show: [')
    os.utime(path, (0, 2_000_000_000))
    assert enforcer.is_allowed("servers:show", {}, user("p2", "reader"))
    assert not enforcer.is_allowed("servers:show", {}, user("p2"))


def test_a_changed_file_counts_soon(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    """An answer is remembered for a moment, for one who asks and one target alone."""
    path, now = tmp_path / "policy.yaml", [0.0]
    path.write_text('"servers:show": "role:reader"\n')
    enforcer = Enforcer(conf, RULES, clock=lambda: now[0])
    assert enforcer.is_allowed("servers:show", {}, user("p", "reader"))
    path.write_text('"servers:show": "role:writer"\n')
    os.utime(path, (0, 2_000_000_000))
    assert not enforcer.is_allowed("servers:show", {}, user("p", "other"))
    now[0] += CACHE_SECONDS
    assert not enforcer.is_allowed("servers:show", {}, user("p", "reader"))
    assert enforcer.is_allowed("servers:show", {}, user("p", "writer"))


def test_an_answer_is_for_one_target(conf: cfg.ConfigOpts) -> None:
    """Who may see his own does not see what is another's."""
    enforcer = Enforcer(conf, RULES)
    assert enforcer.is_allowed("servers:show", {"project_id": "p1"}, user("p1"))
    assert not enforcer.is_allowed("servers:show", {"project_id": "p2"}, user("p1"))
    assert not enforcer.is_allowed("servers:show", {"project_id": "p1"}, user("p2"))


def test_many_rules_are_answered_as_each_alone(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    """Those of the file, and those of one wording, too."""
    path, now = tmp_path / "policy.yaml", [0.0]
    path.write_text('"servers:show": "role:reader"\n')
    rules = [*RULES, policy.RuleDefault("servers:list", "rule:owner")]
    enforcer = Enforcer(conf, rules, clock=lambda: now[0])
    names, target = [rule.name for rule in rules], {"project_id": "p1"}
    for who in (user("p1"), user("p2", "reader"), user("p2", "admin")):
        alone = {name: enforcer.is_allowed(name, target, who) for name in names}
        assert enforcer.list_allowed(names, target, who) == alone
        assert len(set(alone.values())) == 2 or "admin" in who.roles
    path.write_text("{}")
    os.utime(path, (0, 2_000_000_000))
    now[0] += CACHE_SECONDS
    assert enforcer.list_allowed(names, target, user("p1"))["servers:show"]
    path.write_text('"servers:show": [')
    os.utime(path, (0, 2_100_000_000))
    now[0] += CACHE_SECONDS
    assert enforcer.list_allowed(names, target, user("p1"))["servers:show"]


def test_a_server_that_decides_is_asked_for_each_rule(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sees the rule's name, and may answer by it."""
    monkeypatch.setattr(
        "oslo_policy._external.HttpCheck.__call__",
        lambda _check, _target, _creds, _enforcer, rule=None: rule == "servers:list",
    )
    rules = [policy.RuleDefault(f"servers:{name}", "http://example/") for name in ("show", "list")]
    answers = Enforcer(conf, rules).list_allowed([each.name for each in rules], {}, user("p"))
    assert answers == {"servers:show": False, "servers:list": True}


def test_an_undeclared_rule_is_a_mistake_of_ours(conf: cfg.ConfigOpts) -> None:
    """A misspelt name must not pass for a refusal."""
    with pytest.raises(policy.PolicyNotRegistered):
        Enforcer(conf, RULES).is_allowed("servers:shwo", {}, user("p"))
