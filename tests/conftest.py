"""What every test shares: the plugins that lend services, and how Hypothesis runs."""

from __future__ import annotations

import os

from hypothesis import settings

pytest_plugins = [
    "tests.fixtures.services",
    "tests.fixtures.authority",
    "tests.fixtures.brokers",
    "tests.fixtures.databases",
    "tests.fixtures.cell",
    "tests.fixtures.control_plane",
    "tests.fixtures.two_cells",
]

# Two busy cores make any single example slow now and then; pytest-timeout bounds the whole test.
settings.register_profile("developer", deadline=None, print_blob=True)
settings.register_profile("ci", settings.get_profile("developer"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "developer")
