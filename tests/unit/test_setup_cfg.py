"""Entry points and files that setup.cfg declares exist."""

import configparser
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

SETUP_CFG = Path(__file__).parents[2] / "setup.cfg"


def declared_entry_points() -> list[EntryPoint]:
    setup = configparser.ConfigParser(delimiters=("=",))
    setup.optionxform = str  # type: ignore[assignment,method-assign]  # plugin names have capitals
    setup.read(SETUP_CFG)
    return [
        EntryPoint(name=name.strip(), value=value.strip(), group=group)
        for group, lines in setup["options.entry_points"].items()
        for name, value in (line.split("=") for line in lines.strip().splitlines())
    ]


@pytest.mark.parametrize("entry_point", declared_entry_points(), ids=lambda point: point.name)
def test_every_entry_point_leads_to_something_callable(entry_point: EntryPoint) -> None:
    """Each program, plugin and list of options that setup.cfg names can be loaded and called."""
    assert callable(entry_point.load())
