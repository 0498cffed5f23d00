"""``up`` and ``demo`` among the commands."""

import pytest

from tests.unit.programs.conftest import Armillary


@pytest.mark.parametrize("name", ["up", "demo"])
def test_up_and_demo_come_first(name: str, armillary: Armillary) -> None:
    """They begin before general options are read."""
    ended = armillary("-v", name)
    assert ended.code == 2
    assert f"'{name}' does not accept general options" in ended.err
