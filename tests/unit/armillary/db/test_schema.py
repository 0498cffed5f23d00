"""db sync: from nothing to the newest version, in any number of processes, on three databases."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy
from oslo_db import exception as oslo_exception
from sqlalchemy import text

from armillary import exception
from armillary.db import Database
from tests.fixtures.programs.python_programs import StartProgram

FIRST = """
from alembic import op
import sqlalchemy as sa
revision = "0001"
down_revision = None
def upgrade():
    op.create_table("host", sa.Column("id", sa.Integer, primary_key=True),
                    sa.Column("name", sa.String(50), nullable=False, unique=True))
    op.create_table("disk", sa.Column("id", sa.Integer, primary_key=True),
                    sa.Column("host_id", sa.Integer,
                              sa.ForeignKey("host.id", ondelete="CASCADE"), nullable=False))
    op.execute("INSERT INTO host (id, name) VALUES (1, 'a')")
    op.execute("INSERT INTO disk (id, host_id) VALUES (1, 1)")
"""
SECOND = """
from alembic import op
import sqlalchemy as sa
revision = "0002"
down_revision = "0001"
def upgrade():
    with op.batch_alter_table("host") as batch:
        batch.add_column(sa.Column("size", sa.Integer, nullable=False, server_default="0"))
        batch.alter_column("name", existing_type=sa.String(50), type_=sa.String(60),
                           existing_nullable=False)
"""
BROKEN = """
from alembic import op
import sqlalchemy as sa
revision = "0003"
down_revision = "0002"
def upgrade():
    op.create_table("half", sa.Column("id", sa.Integer, primary_key=True))
    op.execute("this is not SQL")
"""
SYNC = """
import sys
from armillary.db import Database
sys.path.insert(0, sys.argv[2])
print(Database(sys.argv[1], name="test").sync("sample_schema"))
"""


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a package with a schema of one version; return its folder of versions."""
    folder = tmp_path / "packages" / "sample_schema" / "versions"
    folder.mkdir(parents=True)
    (folder / "0001_first.py").write_text(FIRST)
    (folder.parent / "__init__.py").write_text('VERSION_TABLE = "sample_version"')
    for name in ("sample_schema", "moved_schema"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    return folder


@pytest.fixture
def database(any_database_url: str) -> Iterator[Database]:
    database = Database(any_database_url, name="test")
    yield database
    database.dispose()


def test_sync_makes_the_tables(database: Database, versions: Path) -> None:
    """An empty database has no version; afterwards it has the newest."""
    before = database.current_version("sample_schema")
    database.sync("sample_schema")
    assert (before, database.current_version("sample_schema")) == (None, "0001")
    assert {"host", "disk"} <= set(sqlalchemy.inspect(database.engine).get_table_names())


def test_a_second_sync_changes_nothing(database: Database, versions: Path) -> None:
    """It is safe to run it on each upgrade."""
    assert [database.sync("sample_schema"), database.sync("sample_schema")] == ["0001", "0001"]


def test_sync_brings_old_tables_up_to_date_and_keeps_the_rows(
    database: Database, versions: Path
) -> None:
    """A table that SQLite has to rebuild keeps its rows and those that refer to it."""
    database.sync("sample_schema")
    (versions / "0002_second.py").write_text(SECOND)
    assert database.sync("sample_schema") == database.head_version("sample_schema") == "0002"
    with database.reader() as session:
        rows = session.execute(
            text("SELECT name, size, disk.id FROM host JOIN disk ON disk.host_id = host.id")
        ).all()
    assert [tuple(row) for row in rows] == [("a", 0, 1)]


def test_processes_that_sync_together_wait_for_each_other(
    any_database_url: str, versions: Path, fork_program: StartProgram
) -> None:
    """All of them end well, whichever did the work."""
    (versions / "0002_second.py").write_text(SECOND)
    package = str(versions.parent.parent)
    programs = [fork_program(SYNC, any_database_url, package) for _ in range(4)]
    codes = [program.wait_for_end() for program in programs]
    assert codes == [0] * 4, "\n".join(program.output for program in programs)
    assert {program.lines[-1] for program in programs} == {"0002"}


def test_a_version_that_fails_does_not_count(database: Database, versions: Path) -> None:
    """The version stays the last good one; except for MySQL nothing of the bad one is left."""
    (versions / "0002_second.py").write_text(SECOND)
    database.sync("sample_schema")
    (versions / "0003_broken.py").write_text(BROKEN)
    with pytest.raises((sqlalchemy.exc.DBAPIError, oslo_exception.DBError), match="not SQL"):
        database.sync("sample_schema")
    assert database.current_version("sample_schema") == "0002"
    has_half = "half" in sqlalchemy.inspect(database.engine).get_table_names()
    assert has_half == (database.dialect == "mysql")


def test_a_database_newer_than_the_release_is_refused(database: Database, versions: Path) -> None:
    """Old code must not touch new tables."""
    (versions / "0002_second.py").write_text(SECOND)
    database.sync("sample_schema")
    (versions / "0002_second.py").unlink()
    with pytest.raises(exception.ConfigurationError, match="is not from this release"):
        database.sync("sample_schema")


def test_check_version_says_what_to_run(database: Database, versions: Path) -> None:
    """A service that starts before db sync names the command; after it, all is well."""
    with pytest.raises(
        exception.ConfigurationError, match="none, but this release needs 0001; run"
    ):
        database.check_version("sample_schema")
    database.sync("sample_schema")
    database.check_version("sample_schema")


def test_a_schema_may_move_to_another_package(database: Database, versions: Path) -> None:
    """The package names its version table, so an upgrade finds the version after a move."""
    database.sync("sample_schema")
    moved = versions.parent.rename(versions.parent.with_name("moved_schema"))
    (moved / "versions" / "0002_second.py").write_text(SECOND)
    importlib.invalidate_caches()
    assert database.current_version("moved_schema") == "0001"
    assert database.sync("moved_schema") == "0002"


@pytest.mark.parametrize("release", ["older", "newer"])
def test_a_service_refuses_the_tables_of_another_release(
    database: Database, versions: Path, release: str
) -> None:
    """It starts neither before the upgrade nor after the upgrade of a newer release."""
    second = versions / "0002_second.py"
    if release == "older":
        database.sync("sample_schema")
        second.write_text(SECOND)
    else:
        second.write_text(SECOND)
        database.sync("sample_schema")
        second.unlink()
    found, needed = ("0001", "0002") if release == "older" else ("0002", "0001")
    with pytest.raises(
        exception.ConfigurationError, match=f"version {found}, but this release needs {needed}"
    ):
        database.check_version("sample_schema")


@pytest.mark.mariadb
def test_mariadb_tables_are_innodb_and_compare_exactly(mariadb_url: str, versions: Path) -> None:
    """Names that differ by case differ, as on the other databases."""
    database = Database(mariadb_url, name="test")
    database.sync("sample_schema")
    with database.reader() as session:
        row = session.execute(
            text(
                "SELECT engine, table_collation FROM information_schema.tables "
                "WHERE table_schema = DATABASE() AND table_name = 'host'"
            )
        ).one()
    database.dispose()
    assert tuple(row) == ("InnoDB", "utf8mb4_bin")
