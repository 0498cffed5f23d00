"""The picture, and what is said when it cannot be drawn."""

import dataclasses
import importlib.util
from pathlib import Path

import pytest

from armillary import exception
from simulator.results.plot import draw, require_matplotlib
from tests.fixtures.fleets.simulations import a_scenario, run


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    """Of two policies; a PNG file without any display."""
    outcome = run(a_scenario(tmp_path))
    path = tmp_path / "out.picture"
    draw("Small", [outcome, dataclasses.replace(outcome, policy="other")], path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_missing_matplotlib_is_said_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(exception.Invalid, match=r"pip install 'armillary\[plot\]'"):
        require_matplotlib()
