"""The marker of tests that need libvirt, and its daemons."""

import pytest

from tests.fixtures.libvirt.libvirt_hosts import MARKER
from tests.integration.libvirt.libvirt_daemons import both_daemons, daemons
from tests.integration.libvirt.system_daemons import both_system_daemons, system_daemons

__all__ = ["both_daemons", "both_system_daemons", "daemons", "system_daemons"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
