"""Server groups on the command line."""

from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


def test_a_group_is_created(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """With its rule."""
    made = armillary(
        "group", "create", "apart", "--policy", "anti-affinity", "--max-servers-per-host", "2",
        "-f", "json",
    ).json  # fmt: skip
    assert made["policy"] == "anti-affinity"
    assert conductor.groups[0].rules == {"max_server_per_host": "2"}


def test_groups_are_listed(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """The own ones, or all."""
    conductor.groups = [
        builders.an_instance_group("mine", project_id="admin", members=[builders.a_uuid()]),
        builders.an_instance_group("theirs", project_id="p1"),
    ]
    rows = armillary("group", "list", "-f", "json").json
    assert [(row["Name"], row["Members"]) for row in rows] == [("mine", 1)]
    rows = armillary("group", "list", "--all-projects", "-f", "json").json
    assert [row["Name"] for row in rows] == ["mine", "theirs"]


def test_a_group_is_shown_and_deleted_by_name(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Its members stay."""
    member = builders.a_uuid()
    conductor.groups = [builders.an_instance_group("apart", project_id="admin", members=[member])]
    assert armillary("group", "show", "apart", "-f", "json").json["members"] == [member]
    assert armillary("group", "delete", "apart").code == 0
    assert conductor.groups == []
