"""The choice of a storage, and what each one needs."""

from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from compute_agent.virt.libvirt.disks import direct_io, storages
from compute_agent.virt.libvirt.disks.storage import Role
from tests.fixtures.libvirt.libvirt_hosts import host_conf


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"images_type": "lvm"}, "needs images_volume_group"),
        ({"images_type": "rbd"}, "needs images_rbd_pool"),
        ({"rbd_user": "guests"}, "need each other"),
        ({"rbd_secret_uuid": "6695eb01-f6a4-4304-89aa-97f2502e1934"}, "need each other"),
    ],
    ids=["group", "pool", "secret", "user"],
)
def test_options_that_do_not_fit_are_named(
    tmp_path: Path, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(exception.ConfigurationError, match=reason):
        storages.check_options(host_conf("a", tmp_path, **options))


@pytest.mark.parametrize(
    "options",
    [
        {"images_type": "lvm", "images_volume_group": "guests"},
        {"images_type": "rbd", "images_rbd_pool": "guests"},
    ],
    ids=["lvm", "rbd"],
)
def test_a_storage_that_cannot_be_used_is_named(
    tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its option: here for lack of its programs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("compute_agent.virt.libvirt.disks.programs._SYSTEM_PATH", "")
    with pytest.raises(exception.ConfigurationError, match=r"is guests: .* is not installed"):
        storages.of(host_conf("a", tmp_path, **options))


@pytest.mark.parametrize("is_direct", [True, False])
def test_files_pass_the_page_cache_by_where_they_can(
    tmp_path: Path, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only then may two hosts that share them have a guest move while it runs."""
    monkeypatch.setattr(direct_io, "is_supported", lambda _directory: is_direct)
    storage = storages.of(host_conf("a", tmp_path))
    (tmp_path / "disk.raw").touch()
    disk = storage.find(tmp_path, Role.ROOT)
    assert disk is not None
    assert disk.cache == ("none" if is_direct else None)


def test_a_place_without_direct_io_is_noticed(tmp_path: Path) -> None:
    """No trace of the attempt is left."""
    direct_io.is_supported(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert not direct_io.is_supported(tmp_path / "missing")
