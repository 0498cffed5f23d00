"""Two parents of one zone: what one has sent there is neither shown to the other, nor changed."""

from typing import Any

import pytest

from armillary import exception
from armillary.context import RequestContext, Signer
from conductor.super_conductor.db.zones import zone_attempts
from conductor.super_conductor.zones import parents
from conductor.super_conductor.zones.forwarded import LIST_SERVERS, decode_answer, request_for
from conductor.super_conductor.zones.interface import ZoneAPI
from objects.instances.instance_group import InstanceGroup
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_filters import ServerFilters
from objects.zones.zone_attempt import AttemptState
from objects.zones.zone_query import ZoneOrder
from tests import builders
from tests.fixtures.control_plane import a_user, an_admin
from tests.fixtures.zones import Zone, root
from tests.fleets import a_request_spec
from tests.unit.conductor.super_conductor.zones.test_walk import child, create, show

__all__ = ["root"]

SECONDS = 10.0


class Thief:
    """Asks a zone with the key of a parent that has sent nothing there."""

    def __init__(self, root: Zone, zone: str) -> None:
        self.bus = root.bus_to(child(root, zone))
        self.api = ZoneAPI(self.bus)

    def ask(self, method: str, *arguments: Any, name: str = "thief") -> Any:
        former, self.bus.signer = self.bus.signer, Signer(f"{name}-ctl", "parent_zone", name)
        try:
            return getattr(self.api, method)(an_admin(), *arguments, timeout_seconds=SECONDS)
        finally:
            self.bus.signer = former

    def forward(self, path: list[str], asked: str, uuid: str | None, **arguments: Any) -> Any:
        return self.ask("forward", path, request_for(asked, uuid, **arguments))


@pytest.fixture
def thief(root: Zone) -> Thief:
    return Thief(root, "eu")


@pytest.fixture(params=["eu", "eu/eu-1"], ids=["child", "grandchild"])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def path_to(place: str) -> list[str]:
    return place.split("/")[1:]


def built(root: Zone, place: str) -> str:
    (uuid,) = create(root, f"{place}:cell1-host1")
    root.walk()
    assert show(root, uuid).zone == place
    return uuid


def an_order(root: Zone, uuid: str, **values: Any) -> ZoneOrder:
    """Return the thief's order of an instance of this UUID on the zone's third host."""
    node = next(one for one in child(root, "eu").cell().nodes if one.host == "cell1-host3")
    given = {
        "origin": "thief",
        "request_spec": a_request_spec(),
        "instances": [builders.an_instance(uuid=uuid).obj_to_primitive()],
        "host_ids": [node.uuid],
        "attempts": [7],
        **values,
    }
    return ZoneOrder.from_values(**given)


def test_a_parent_reaches_no_server_of_another(root: Zone, thief: Thief, place: str) -> None:
    """Also in a zone below, through the one that signs for both."""
    uuid, path = built(root, place), path_to(place)
    with pytest.raises(exception.InstanceNotFound):
        thief.forward(path, "get_server", uuid)
    with pytest.raises(exception.InstanceNotFound):
        thief.forward(
            path, "operate_server", uuid, operation="stop", arguments=OperationArguments()
        )
    assert thief.ask("get_attempts", path, [uuid]) == {}
    asked = {"filters": ServerFilters(), "limit": 10, "marker": None}
    answer = thief.forward(path, LIST_SERVERS, None, **asked)
    assert decode_answer(LIST_SERVERS, answer).instances == []
    assert show(root, uuid).vm_state == "active"


def test_a_parent_cancels_nothing_of_another(root: Zone, thief: Thief, place: str) -> None:
    """Neither what was built, nor what is still to come."""
    uuid = built(root, place)
    answers = thief.ask("cancel", path_to(place), {uuid: 99, builders.a_uuid(): 99})
    assert {one.state for one in answers.values()} == {AttemptState.GONE}
    root.settle_all()
    assert show(root, uuid).vm_state == "active"
    (zone,) = {name for name, _state in root.living(uuid)}
    assert zone == place.rpartition("/")[2]


def test_a_parent_that_names_another_s_server_gets_its_own(root: Zone, thief: Thief) -> None:
    """Under another UUID there; each reaches the one that it has sent."""
    uuid = built(root, "eu")
    thief.ask("create", [], an_order(root, uuid))
    root.settle_all()
    (attempt,) = thief.ask("get_attempts", [], [uuid]).values()
    assert attempt.attempt == 7
    assert len(root.living(uuid)) == 2
    thief.ask("cancel", [], {uuid: 7})
    root.settle_all()
    assert root.living(uuid) == [("eu", "active")]
    assert show(root, uuid).host == "cell1-host1"


def test_a_parent_reaches_no_server_that_a_zone_built_for_itself(root: Zone) -> None:
    """As one among several zones."""
    (uuid,) = create(root, ":cell1-host1", "us:cell1-host1")
    root.walk()
    context = an_admin()
    context.signer = Signer("above-ctl", "parent_zone", "above")
    with pytest.raises(exception.InstanceNotFound):
        root.border.forward(context, [], request_for("get_server", uuid))
    root.border.cancel(context, [], {uuid: 99})
    root.settle_all()
    assert show(root, uuid).vm_state == "active"


def test_a_parent_cannot_order_in_the_name_of_this_zone(root: Zone, thief: Thief) -> None:
    """Which would count it as the zone's own, and show it the names of hosts."""
    with pytest.raises(exception.Invalid, match="not the zone that asks"):
        thief.ask("create", [], an_order(root, builders.a_uuid(), origin=""))


def test_a_group_does_not_tell_where_servers_of_another_parent_are(root: Zone) -> None:
    """A parent would name them as members, to be put beside them or to see what is left out."""
    uuid, other = built(root, "eu"), builders.a_uuid()
    eu = child(root, "eu")
    for name, members in (("thief", [other]), ("root", [uuid, other])):
        group = InstanceGroup.from_values(
            uuid=builders.a_uuid(), policy="affinity", members=[uuid, other]
        )
        context = RequestContext(is_admin=True)
        context.parent_zone = name
        parents.check_group(eu.database, context, group)
        assert group.members == members


@pytest.mark.parametrize(
    ("signer", "asked_by", "expected"),
    [
        (Signer("a", "parent_zone", "world"), None, "world"),
        (Signer("a", "parent_zone", "eu"), "world", "eu/world"),
        (Signer("a", "parent_zone", "thief"), "world", "thief/world"),
        (Signer("a", "parent_zone", None), None, "?"),
        (Signer("a", "api", "world"), None, "?"),
        (None, None, "?"),
    ],
)
def test_a_parent_speaks_below_its_own_name(
    signer: Signer | None, asked_by: str | None, expected: str
) -> None:
    """Whatever it says about who asked it."""
    context = RequestContext(asked_by=asked_by)
    context.signer = signer
    named = parents.with_parent(context)
    assert (named.parent_zone, context.parent_zone) == (expected, None)
    assert named.to_dict()["asked_by"] == expected
    assert "asked_by" not in context.to_dict()


def test_a_name_without_end_is_refused() -> None:
    """It would not fit into the database."""
    with pytest.raises(exception.Invalid, match="too long"):
        parents.with_parent(RequestContext(asked_by="x" * 1000))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("world", "world", True),
        ("world", "asia", False),
        ("eu/world", "world", False),
        ("eu/world", "eu/asia", False),
        ("?", "world", True),
        ("eu/?", "eu/world", True),
        ("thief/?", "eu/world", False),
        ("", "?", False),
        ("", "world", False),
        ("", "", True),
    ],
)
def test_which_names_are_of_one_parent(one: str, other: str, expected: bool) -> None:
    """A parent without a name is any, and this zone itself is none."""
    assert zone_attempts.is_same_parent(one, other) is expected
    assert zone_attempts.is_same_parent(other, one) is expected


def test_a_parent_that_begins_to_sign_keeps_its_servers(root: Zone, place: str) -> None:
    """Those that it sent before."""
    bus = root.bus_to(child(root, "eu"))
    signer, bus.signer = bus.signer, None
    uuid = built(root, place)
    bus.signer = signer
    assert show(root, uuid).vm_state == "active"
    root.endpoint.delete_server(a_user(), uuid)
    root.settle_all()
    assert root.living(uuid) == []
