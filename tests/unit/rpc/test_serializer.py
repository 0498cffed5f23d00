"""Objects of a newer release, made up here: an older peer has them rewritten by its conductor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from oslo_versionedobjects import exception as ovo_exception
from oslo_versionedobjects import fixture

from armillary.context import admin_context
from conductor.cell_conductor.endpoints import backports
from objects import base, fields
from rpc.serializer import ObjectSerializer


class Newer(base.ArmillaryObject):
    """An object that got a field in 1.1."""

    VERSION = "1.1"
    fields = {  # noqa: RUF012 - as oslo.versionedobjects declares it
        "name": fields.StringField(),
        "colour": fields.StringField(default="grey"),
        "inner": fields.ObjectField("MadeUp", nullable=True),
    }

    @classmethod
    def obj_name(cls) -> str:
        return "MadeUp"

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        if target_version == "1.0":
            primitive.pop("colour", None)


class Older(base.ArmillaryObject):
    """The same of the release before."""

    VERSION = "1.0"
    fields = {  # noqa: RUF012 - as oslo.versionedobjects declares it
        "name": fields.StringField(),
        "inner": fields.ObjectField("MadeUp", nullable=True),
    }

    @classmethod
    def obj_name(cls) -> str:
        return "MadeUp"


class Conductor:
    """A conductor of the newer release, as an older agent asks it."""

    def __init__(self, releases: Releases) -> None:
        self._releases = releases
        self.asked: list[dict[str, str]] = []

    def object_backport_versions(
        self, context: Any, objinst: Any, object_versions: dict[str, str]
    ) -> Any:
        self.asked.append(object_versions)
        self._releases.run(Newer)
        received = ObjectSerializer().deserialize_entity(context, objinst)
        answer = backports.backport(received, object_versions)
        self._releases.run(Older)
        return ObjectSerializer().deserialize_entity(context, answer)


class Releases:
    """Lets this process be of the older or the newer release."""

    def run(self, cls: type[base.ArmillaryObject]) -> None:
        base.ArmillaryObjectRegistry.obj_classes().pop("MadeUp", None)
        base.ArmillaryObjectRegistry.register(cls)


@pytest.fixture
def releases() -> Iterator[Releases]:
    with fixture.VersionedObjectRegistryFixture():
        yield Releases()
    base.ArmillaryObject._classes.clear()


def a_newer_message(releases: Releases) -> Any:
    """Return a message with an object in another one, as the newer release sends it."""
    releases.run(Newer)
    inner = Newer.from_values(name="inner", colour="red")
    sent = [Newer.from_values(name="outer", colour="blue", inner=inner)]
    return ObjectSerializer().serialize_entity(admin_context(), sent)


def test_an_older_peer_has_newer_objects_rewritten(releases: Releases) -> None:
    """Its conductor leaves out what it does not know, in objects within them, too."""
    message = a_newer_message(releases)
    releases.run(Older)
    conductor = Conductor(releases)
    serializer = ObjectSerializer()
    serializer.backport_with(conductor)
    (received,) = serializer.deserialize_entity(admin_context(), message)
    assert received.to_plain() == {"name": "outer", "inner": {"name": "inner", "inner": None}}
    assert (received.VERSION, received.inner.VERSION) == ("1.0", "1.0")
    assert conductor.asked == [{"MadeUp": "1.0"}]


def test_without_a_conductor_a_newer_object_is_an_error(releases: Releases) -> None:
    """It is never read as if it were an older one."""
    message = a_newer_message(releases)
    releases.run(Older)
    with pytest.raises(ovo_exception.IncompatibleObjectVersion):
        ObjectSerializer().deserialize_entity(admin_context(), message)


def test_an_older_object_gets_the_defaults_of_newer_fields(releases: Releases) -> None:
    """The receiver does not take them for changes by the sender."""
    releases.run(Older)
    message = ObjectSerializer().serialize_entity(admin_context(), Older.from_values(name="a"))
    releases.run(Newer)
    received = ObjectSerializer().deserialize_entity(admin_context(), message)
    assert (received.name, received.colour) == ("a", "grey")
    assert received.obj_what_changed() == set()
