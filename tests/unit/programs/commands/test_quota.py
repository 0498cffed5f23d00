"""Quotas on the command line."""

import pytest

from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


def test_the_own_quotas_are_shown(armillary: Armillary) -> None:
    """Everybody may see them."""
    rows = armillary("quota", "show", "-f", "json", token="u1:p1").json
    assert {"Resource": "instances", "Used": 0, "Limit": 10} in rows
    assert {"Resource": "server_group_members", "Used": None, "Limit": 10} in rows


def test_those_of_another_project_are_for_administrators(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Named by its id."""
    conductor.quotas["p1"] = {"instances": 3}
    rows = armillary("quota", "show", "p1", "-f", "json").json
    assert rows[0] == {"Resource": "instances", "Used": 0, "Limit": 3}
    assert armillary("quota", "show", "p1", token="u2:p2").code == 1


def test_limits_are_set(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """-1 is without limit; what is not named stays."""
    words = ("quota", "set", "p1", "--instances", "-1", "--server-groups", "2", "-f", "json")
    rows = {row["Resource"]: row["Limit"] for row in armillary(*words).json}
    assert (rows["instances"], rows["server_groups"], rows["cores"]) == (-1, 2, 20)


def test_setting_nothing_is_wrong_usage(armillary: Armillary) -> None:
    """The user forgot something."""
    assert armillary("quota", "set", "p1").code == 2


def test_a_limit_below_minus_one_is_wrong_usage(armillary: Armillary) -> None:
    """There is nothing less than none and more than all."""
    with pytest.raises(SystemExit):
        armillary("quota", "set", "p1", "--ram=-2")
