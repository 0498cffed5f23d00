"""The libraries of the console."""

from pathlib import Path

import pytest

from tools import vendor_console

pytestmark = pytest.mark.sampled_tests(every=2)


def test_the_consoles_libraries_are_the_files_of_their_packages() -> None:
    """What is served is what npm's lock file names, unmodified."""
    assert vendor_console.differences() == []


def test_a_changed_library_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file that was edited, and one that is missing, are named."""
    for name in vendor_console.FILES:
        (tmp_path / name).write_bytes((vendor_console.VENDOR / name).read_bytes())
    (tmp_path / "uplot.js").write_text("changed")
    (tmp_path / "preact.js").unlink()
    monkeypatch.setattr(vendor_console, "VENDOR", tmp_path)
    assert vendor_console.differences() == ["preact.js", "uplot.js"]
