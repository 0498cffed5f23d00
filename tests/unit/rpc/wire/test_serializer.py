"""Objects of a newer release, made up here: an older peer has them rewritten by its conductor."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from oslo_versionedobjects import exception as ovo_exception
from oslo_versionedobjects import fixture

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.endpoints.backports import Backports
from objects import base, fields
from objects.flavor import Flavor
from objects.hosts.cluster_metadata import ClusterMetadataDict
from objects.instances.instance_fault import InstanceFault
from objects.instances.server_answers import ServerPage
from objects.packed.provider_uuids import ProviderUUIDs
from objects.request_spec import RequestSpec
from rpc.wire.declared_objects import declared_objects
from rpc.wire.serializer import DEPTH_MAX, ObjectSerializer


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
        received = ObjectSerializer().rebuild(context, objinst)
        answer = Backports().object_backport_versions(admin_context(), received, object_versions)
        self._releases.run(Older)
        return answer


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
    (received,) = serializer.rebuild(admin_context(), message)
    assert received.to_plain() == {"name": "outer", "inner": {"name": "inner", "inner": None}}
    assert (received.VERSION, received.inner.VERSION) == ("1.0", "1.0")
    assert conductor.asked == [{"MadeUp": "1.0"}]


def test_without_a_conductor_a_newer_object_is_an_error(releases: Releases) -> None:
    """It is never read as if it were an older one."""
    message = a_newer_message(releases)
    releases.run(Older)
    with pytest.raises(ovo_exception.IncompatibleObjectVersion):
        ObjectSerializer().rebuild(admin_context(), message)


def test_an_older_object_gets_the_defaults_of_newer_fields(releases: Releases) -> None:
    """The receiver does not take them for changes by the sender."""
    releases.run(Older)
    message = ObjectSerializer().serialize_entity(admin_context(), Older.from_values(name="a"))
    releases.run(Newer)
    received = ObjectSerializer().rebuild(admin_context(), message)
    assert (received.name, received.colour) == ("a", "grey")
    assert received.obj_what_changed() == set()


def wire(made: base.ArmillaryObject) -> dict[str, Any]:
    primitive: dict[str, Any] = made.obj_to_primitive()
    return primitive


FLAVOR = Flavor.from_values(flavorid="1", name="small", vcpus=1, memory_mb=1)


def test_only_declared_objects_are_made() -> None:
    """In a list in a dict, too; any other is refused before its fields are read."""
    serializer, sent = ObjectSerializer(), {"flavors": [wire(FLAVOR)]}
    assert serializer.rebuild(None, sent, frozenset({"Flavor"}))["flavors"][0].vcpus == 1
    with pytest.raises(exception.Invalid, match="'Flavor' is not one of Instance"):
        serializer.rebuild(None, sent, frozenset({"Instance"}))


def test_a_bomb_in_a_declared_objects_field_is_not_made() -> None:
    """An object of another class in place of a flavor: half a GB, from a message of 40 kB."""
    bomb = wire(ProviderUUIDs.from_values(ids=[], uuids=[]))
    bomb["armillary_object.data"]["ids"] = {
        "kind": "i", "shape": [1_000_000], "columns": [{"first": 0, "steps": {"all": 1}}],
    }  # fmt: skip
    sent = wire(RequestSpec.from_values(flavor=FLAVOR))
    sent["armillary_object.data"]["flavor"] = bomb
    tracemalloc.start()
    try:
        with pytest.raises(exception.Invalid, match="flavor must be Flavor, not 'ProviderUUIDs'"):
            ObjectSerializer().rebuild(None, sent, frozenset({"RequestSpec"}))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "change",
    [
        {"armillary_object.data": None},
        {"armillary_object.data": {"vcpus": "many"}},
        {"armillary_object.data": {"extra_specs": [[]]}},
        {"armillary_object.version": 7},
        {"armillary_object.namespace": "nova"},
        {"armillary_object.name": "MadeUp"},
        {"armillary_object.name": ["Flavor"]},
        {"armillary_object.changes": 7},
    ],
)
def test_a_forged_object_is_refused_in_one_sentence(change: dict[str, Any]) -> None:
    """No error of a library reaches a log with its traceback."""
    with pytest.raises(exception.Invalid):
        ObjectSerializer().rebuild(None, {**wire(FLAVOR), **change}, frozenset({"Flavor"}))


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"x": value}])
def test_a_value_is_not_nested_without_end(wrap: Callable[[Any], Any]) -> None:
    """Whatever the parser lets through."""
    value: Any = 1
    for _ in range(DEPTH_MAX):
        value = wrap(value)
    ObjectSerializer().rebuild(None, value, frozenset())
    with pytest.raises(exception.Invalid, match="nested"):
        ObjectSerializer().rebuild(None, wrap(value), frozenset())


def test_a_declaration_names_the_objects_of_its_parts() -> None:
    """Through lists, optional values, dataclasses and typed dicts."""
    hints = (ServerPage, list[InstanceFault | None], ClusterMetadataDict, Mapping[str, object])
    assert declared_objects(*hints) == frozenset({"Instance", "InstanceFault", "Aggregate"})
    assert declared_objects(dict[str, Any]) == frozenset()
    assert declared_objects(base.ArmillaryObject | None) is None
