"""Tests of what the API asks about hosts, over messages."""

from objects.hosts.host_answers import ServiceChanges
from tests.fixtures.control_plane import RunningConductor, an_admin


def test_services_and_nodes_are_listed_changed_and_deleted(running: RunningConductor) -> None:
    """As the cells have them."""
    api, admin = running.api, an_admin()
    (service,) = api.list_services(admin).services
    assert api.update_service(admin, service.uuid, ServiceChanges(disabled=True)).disabled
    (node,) = api.list_compute_nodes(admin).nodes
    found = api.get_compute_node(admin, node.uuid).service
    assert found is not None
    assert found.disabled
    (zone,) = api.list_availability_zones(admin)
    assert zone.available is False
    api.delete_service(admin, service.uuid)
    assert api.list_services(admin).services == []
