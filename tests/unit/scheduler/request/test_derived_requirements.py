"""Request groups for the providers of PCI devices."""

import dataclasses

from objects.request_spec import RequestLevelParams, RequestSpec
from scheduler import request_filters
from scheduler.request import derived_requirements, resource_query
from scheduler.request_filters.owner import Owner
from tests.fixtures.fleets.numa_fleets import GPU, NIC, a_pci_request
from tests.fleets import a_request_spec, scheduling_conf, some_cluster_metadata


def a_spec() -> RequestSpec:
    """Return a request for two network cards and a GPU with a trait."""
    fast = {**GPU, "traits": "fast"}
    gpu = dataclasses.replace(a_pci_request(fast, name="gpu"), request_id="~gpu")
    requests = [a_pci_request(NIC, count=2), gpu]
    return a_request_spec(pci_requests=[each.to_plain() for each in requests])


def required(spec: RequestSpec) -> list[set[str]]:
    """Return the traits of each group but that of the host itself."""
    query = resource_query.build(spec, limit=0, has_devices=True)
    assert query.groups[0].required_traits == []
    return [{trait for (trait,) in group.required_traits} for group in query.groups[1:]]


def test_devices_are_of_compute_services_as_hosts_are() -> None:
    """Each device's provider has the trait, beside those of its alias."""
    spec, owner = a_spec(), {"OWNER_NOVA"}
    request_filters.apply_all([Owner(scheduling_conf())], spec, some_cluster_metadata())
    assert required(spec) == [owner, owner, owner | {"CUSTOM_FAST"}]


def test_other_traits_of_the_root_are_not_those_of_devices() -> None:
    """A host's traits are not those of its cards."""
    spec = a_spec()
    spec.request_level_params = RequestLevelParams.from_values(root_required=["COMPUTE_NODE"])
    assert required(spec) == [set(), set(), {"CUSTOM_FAST"}]


def test_a_request_that_no_filter_saw_has_groups() -> None:
    """Such as one that is only looked at."""
    groups = list(derived_requirements.device_groups(a_spec()))
    assert [traits for _suffix, _class, traits in groups] == [set(), set(), {"CUSTOM_FAST"}]
