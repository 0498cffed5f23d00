"""Commands of operators as they know them from Nova."""

import io
import shlex

import pytest

from armillary.db import Database
from programs import manage, status
from programs.operator.nova import words as nova_words
from programs.operator.nova.words import translated
from tests.unit.programs.operator.conftest import CELL_UUID, CellConductor, Run

UUID = "7a16f6c5-c511-4e7b-91ab-0b7a9960c74d"

LINES = {
    "api_db sync": "db sync api",
    "api_db version": "db version api",
    "cell_v2 create_cell --name c --transport-url rabbit://u@h/c --database_connection x --disabled"
    " --verbose": "cell create c --transport-url rabbit://u@h/c --disabled",
    f"cell_v2 delete_cell --force --cell_uuid {UUID}": f"cell delete --force {UUID}",
    f"cell_v2 delete_host --cell_uuid {UUID} --host h": f"cell delete-host --cell {UUID} h",
    f"cell_v2 discover_hosts --cell_uuid={UUID} --verbose --strict --by-service":
        f"cell discover-hosts --cell={UUID} --strict",
    "cell_v2 list_cells --verbose": "cell list",
    f"cell_v2 list_hosts --cell_uuid {UUID}": f"cell list-hosts --cell {UUID}",
    "cell_v2 map_cell0 --database_connection x": "db sync cell0",
    "cell_v2 map_cell_and_hosts --name c --transport-url rabbit://u@h/c --verbose":
        "cell simple-setup --name c --transport-url rabbit://u@h/c",
    f"cell_v2 map_instances --cell_uuid {UUID} --max-count 50 --reset":
        f"cell map-instances {UUID}",
    "cell_v2 simple_cell_setup --transport-url rabbit://u@h/c":
        "cell simple-setup --transport-url rabbit://u@h/c",
    f"cell_v2 update_cell --cell_uuid {UUID} --name c --transport-url rabbit://u@h/c --disable":
        f"cell update {UUID} --name c --transport-url rabbit://u@h/c --disable",
    f"cell_v2 verify_instance --uuid {UUID} --quiet": f"cell verify-instance {UUID}",
    "db archive_deleted_rows --max_rows 100 --before 2020-01-31 --all-cells --purge --verbose"
    " --task-log --sleep 1":
        "db archive --max-rows 100 --before 2020-01-31 --all-cells --purge --sleep 1",
    "db archive_deleted_rows --until-complete": "db archive --until-complete",
    "db online_data_migrations --max-count 50": "db online-data-migrations --max-count 50",
    "db purge --all --all-cells --verbose": "db purge --all --all-cells",
    "db purge --before 2020-01-31": "db purge --before 2020-01-31",
    "db sync": "db sync",
    "db version": "db version",
    f"placement audit --verbose --delete --resource_provider {UUID}":
        f"placement audit --delete --resource-provider {UUID}",
    f"placement heal_allocations --instance {UUID} --dry-run --skip-port-allocations --force":
        f"placement heal-allocations --instance {UUID} --dry-run",
    "placement heal_allocations --max-count 5 --verbose":
        "placement heal-allocations --max-count 5",
    "placement sync_aggregates --verbose": "placement sync-aggregates",
}  # fmt: skip


@pytest.mark.parametrize(("line", "ours"), LINES.items(), ids=list(LINES))
def test_commands_of_nova_manage_mean_ours(line: str, ours: str) -> None:
    """With all their options, each of which our command takes."""
    words = translated(shlex.split(line), nova_words.MANAGE)
    assert words == shlex.split(ours)
    app = manage.make_app(io.StringIO(), io.StringIO())
    factory, name, rest = app.command_manager.find_command(words)
    factory(app, None, cmd_name=name).get_parser(name).parse_args(rest)


def test_words_mean_commands_that_there_are() -> None:
    """In both programs."""
    assert {words.command for words in nova_words.MANAGE.values()} <= set(manage.COMMANDS)
    assert {words.command for words in nova_words.STATUS.values()} <= set(status.COMMANDS)


def test_a_deployment_is_set_up_as_nova_is(
    run_manage: Run, cell_conductor: CellConductor, api_database: Database
) -> None:
    """One after the other, as its installation says."""
    cell_conductor.add_host("host1")
    for line in ("api_db sync", "cell_v2 map_cell0", "cell_v2 simple_cell_setup", "db sync"):
        assert run_manage(*line.split()).code == 0, line
    (row,) = run_manage("cell_v2", "list_hosts", "-f", "json").json
    assert row == {"Host": "host1", "Cell": "cell1", "Cell UUID": CELL_UUID}
    assert [row["Name"] for row in run_manage("cell_v2", "list_cells", "-f", "json").json] == [
        "cell0", "cell1",
    ]  # fmt: skip
    assert run_manage("cell_v2", "discover_hosts", "--strict", "--verbose").code == 1
