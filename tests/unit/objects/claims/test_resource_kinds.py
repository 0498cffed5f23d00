"""Kinds of resources: declared once, here or by other packages."""

from collections.abc import Iterator
from typing import Any

import pytest

from armillary import exception
from armillary.plugins.kinds import Figure, PoolAttribute, ResourceKind
from objects.claims.resource_kinds import KINDS, get_kind, known_kinds


class _Manager:
    """What stevedore finds."""

    def __init__(self, *plugins: object) -> None:
        self._plugins = plugins

    def __call__(self, *_args: Any, **_options: Any) -> list[Any]:
        return [type("Extension", (), {"plugin": each}) for each in self._plugins]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return what sets the kinds of other packages."""

    class Lookup:
        def __getitem__(self, _item: object) -> Any:
            return manager[0]

    manager = [_Manager()]
    monkeypatch.setattr("objects.claims.resource_kinds.stevedore.ExtensionManager", Lookup())

    def find(*plugins: object) -> None:
        manager[0] = _Manager(*plugins)
        known_kinds.cache_clear()

    find()
    yield find
    monkeypatch.undo()
    known_kinds.cache_clear()


def test_a_kind_of_another_package_is_known(found: Any) -> None:
    """Beside the declared ones."""
    found(ResourceKind("gpu_hours", ("CUSTOM_GPU_HOURS",)))
    assert set(known_kinds()) == {*(kind.name for kind in KINDS), "gpu_hours"}
    assert get_kind("gpu_hours").trait == "CUSTOM_POOL_GPU_HOURS"


@pytest.mark.parametrize(
    "plugin",
    [ResourceKind("storage", ("DISK_GB",)), ResourceKind("Big", ("A",)), ResourceKind("x", ()), 1],
    ids=["same name", "upper case", "no classes", "not a kind"],
)
def test_a_malformed_kind_stops_the_service(plugin: object, found: Any) -> None:
    """With what is wrong."""
    found(plugin)
    with pytest.raises(exception.ConfigurationError):
        known_kinds()


def test_an_unknown_kind_is_refused() -> None:
    """The known ones are named."""
    with pytest.raises(exception.Invalid, match="known: license, network, storage"):
        get_kind("gold")


def test_classes_and_attributes_match_by_pattern() -> None:
    """A star stands for the end of a name."""
    share = PoolAttribute("free_share", "1", "CUSTOM_A_*", Figure.FREE_SHARE)
    kind = ResourceKind("x", ("CUSTOM_A_*",), (share,))
    assert kind.has_class("CUSTOM_A_B")
    assert not kind.has_class("CUSTOM_B")
    assert kind.attributes_of("CUSTOM_A_B") == [share]
    assert kind.attributes_of("VCPU") == []
