"""Plugins that lend services to every test, and the profile of Hypothesis."""

from armillary.service.managed import tune_garbage_collector

pytest_plugins = [
    "tests.fixtures.plugins.watchdog",
    "tests.fixtures.plugins.timing",
    "tests.fixtures.plugins.artifacts",
    "tests.fixtures.plugins.quick_run",
    "tests.fixtures.services",
    "tests.fixtures.signing.authority",
    "tests.fixtures.services.brokers",
    "tests.fixtures.plugins.compiled_statements",
    "tests.fixtures.plugins.mariadb_connections",
    "tests.fixtures.plugins.stable_ids",
    "tests.fixtures.plugins.sampling",
    "tests.fixtures.plugins.costs",
    "tests.fixtures.services.databases",
    "tests.fixtures.cell",
    "tests.fixtures.control_plane",
    "tests.unit.conductor.common.cell_db.two_cells",
    "tests.fixtures.plugins.examples",
    "tests.fixtures.made_up_releases",
]


def pytest_collection_finish() -> None:
    """Exclude what was imported and collected from garbage collections: it stays to the end."""
    tune_garbage_collector()
