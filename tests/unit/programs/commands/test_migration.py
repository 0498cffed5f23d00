"""Migrations on the command line."""

from collections.abc import Callable

import pytest

from objects.instance import Instance
from objects.instances.migration import Migration
from tests import builders
from tests.builders import a_migration
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


@pytest.fixture
def move(conductor: BuildingSuperConductor, a_server: Callable[..., Instance]) -> Migration:
    """Have a live migration of the server web, and a resize of another one."""
    conductor.migrations = [
        a_migration(a_server("web").uuid),
        a_migration(
            a_server("db").uuid,
            migration_type="resize",
            status="finished",
            source_host="host3",
            old_flavor=builders.a_flavor("small"),
            new_flavor=builders.a_flavor("large"),
            memory_total_mb=None,
            memory_remaining_mb=None,
        ),
    ]
    return conductor.migrations[0]


def test_migrations_are_listed_with_their_progress(armillary: Armillary, move: Migration) -> None:
    """What is copied, or from which flavor to which."""
    rows = armillary("migration", "list", "-f", "json").json
    first = rows[0]
    assert (first["ID"], first["Type"], first["From"], first["To"]) == (
        move.uuid, "live-migration", "host1", "host2",
    )  # fmt: skip
    assert [row["Copied"] for row in rows] == ["128/512 MiB", None]
    assert [row["Flavor"] for row in rows] == [None, "small > large"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--server", "web"), ["web"]),
        (("--host", "host3"), ["db"]),
        (("--status", "running"), ["web"]),
        (("--type", "resize"), ["db"]),
        (("--limit", "1"), ["web"]),
        (("--status", "error"), []),
    ],
    ids=" ".join,
)
def test_migrations_are_filtered(
    words: tuple[str, ...],
    found: list[str],
    armillary: Armillary,
    move: Migration,
    conductor: BuildingSuperConductor,
) -> None:
    """By the API."""
    names = {server.uuid: server.name for server in conductor.servers}
    rows = armillary("migration", "list", *words, "-f", "json").json
    assert [names[row["Server"]] for row in rows] == found


def test_a_migration_is_shown(armillary: Armillary, move: Migration) -> None:
    """All that is known of it."""
    shown = armillary("migration", "show", "web", move.uuid, "-f", "json").json
    assert (shown["status"], shown["memory_remaining_bytes"]) == ("running", 384 * 1024 * 1024)


def test_a_migration_is_aborted(
    armillary: Armillary, move: Migration, conductor: BuildingSuperConductor
) -> None:
    """Server and migration are named, so that nothing else is ended."""
    assert armillary("migration", "abort", "web", move.uuid).code == 0
    assert conductor.aborted == [move.uuid]


@pytest.mark.parametrize("verb", ["show", "abort"])
def test_an_unknown_migration_is_exit_code_3(
    verb: str, armillary: Armillary, move: Migration
) -> None:
    """As for everything that is named."""
    assert armillary("migration", verb, "web", builders.a_uuid()).code == 3


def test_members_see_no_migrations(armillary: Armillary, move: Migration) -> None:
    """They name hosts."""
    assert "HTTP 403" in armillary("migration", "list", token="u1:p1").err
