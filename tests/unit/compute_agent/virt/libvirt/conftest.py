"""The marker of tests that need libvirt's library; its test driver needs no daemon."""

import pytest

from tests.fixtures.libvirt.libvirt_hosts import MARKER


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
