"""Armillary knows its version."""

from importlib import metadata

import pytest

from armillary import version


def test_the_installed_version_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the distribution's."""
    monkeypatch.setattr(metadata, "version", lambda name: f"1.2.3 of {name}")
    assert version.version_string() == "1.2.3 of armillary"


def test_a_tree_that_was_never_installed_has_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Running from the source must not fail."""

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert version.VersionInfo().version_string_with_package() == "0+source"
