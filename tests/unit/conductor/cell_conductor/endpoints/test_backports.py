"""Objects rewritten for older peers: in the versions that these know, or not at all."""

from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.endpoints.backports import Backports
from objects.instance import Instance
from tests import builders

VERSIONS = {"Instance": "1.0", "Flavor": "1.0", "ImageMeta": "1.0", "InstanceFault": "1.0"}


def test_an_object_is_rewritten_in_the_versions_that_a_peer_knows() -> None:
    """The wire form names the version that was asked for."""
    instance = builders.an_instance()
    primitive = Backports().object_backport_versions(admin_context(), instance, VERSIONS)
    assert primitive[Instance.primitive_key("version")] == "1.0"
    assert Instance.obj_from_primitive(primitive).uuid == instance.uuid


@pytest.mark.parametrize("target", ["text", {"a": "dict"}], ids=["text", "dict"])
def test_what_is_not_an_object_is_not_rewritten(target: Any) -> None:
    """An error of the caller."""
    with pytest.raises(exception.Invalid, match="not a versioned object"):
        Backports().object_backport_versions(admin_context(), target, {})


def test_an_object_whose_version_was_not_asked_for_is_not_rewritten() -> None:
    """The peer has to say what it knows."""
    with pytest.raises(exception.Invalid, match="no target version of Instance"):
        Backports().object_backport_versions(
            admin_context(), builders.an_instance(), {"Flavor": "1.0"}
        )
