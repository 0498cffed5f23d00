"""Requests for devices that name the cards of a claim."""

from dataclasses import replace

from objects.pci.pci import PciRequest
from objects.pci.pci_claimed import names_providers, with_providers

CLASS = "CUSTOM_PCI_8086_10ED"


def a_request(count: int = 1, **spec: str) -> PciRequest:
    device = {"vendor_id": "8086", "product_id": "10ed", **spec}
    return PciRequest("nic", count, [device], request_id="r")


def taken(**amounts: int) -> dict[str, dict[str, dict[str, int]]]:
    return {card: {"resources": {CLASS: amount}} for card, amount in amounts.items()}


def cards(requests: list[PciRequest]) -> list[tuple[int, list[str]]]:
    return [(one.count, [spec["rp_uuid"] for spec in one.spec]) for one in requests]


def test_a_request_of_several_cards_is_split_as_the_claim_is() -> None:
    """The counts of each; what else is asked stays."""
    found = with_providers([a_request(3)], {"host": {"resources": {"VCPU": 1}}, **taken(a=1, b=2)})
    assert cards(found) == [(1, ["a"]), (2, ["b"])]
    assert all(one.request_id == "r" for one in found)
    assert all(one.spec[0]["vendor_id"] == "8086" for one in found)
    assert all(names_providers(one.spec) for one in found)


def test_equal_requests_share_what_is_claimed() -> None:
    """In their order."""
    assert cards(with_providers([a_request(2), a_request(1)], taken(a=1, b=2))) == [
        (1, ["a"]), (1, ["b"]), (1, ["b"])
    ]  # fmt: skip


def test_requests_of_one_class_that_differ_may_have_any_of_its_cards() -> None:
    """Which of them has which trait is not in the claim; the agent fits them."""
    found = with_providers([a_request(traits="RED"), a_request()], taken(a=1, b=1))
    assert cards(found) == [(1, ["a", "b"]), (1, ["a", "b"])]


def test_what_placement_does_not_count_stays_as_it_was() -> None:
    """No card, no name."""
    requests = [a_request(), replace(a_request(), spec=[{"resource_class": "gpu"}])]
    found = with_providers(requests, {"host": {"resources": {"VCPU": 1}}})
    assert found == requests
    assert not names_providers(found[0].spec)


def test_a_class_by_name_is_the_one_that_placement_knows() -> None:
    """Upper case and custom."""
    request = replace(a_request(), spec=[{"resource_class": "gpu"}])
    found = with_providers([request], {"a": {"resources": {"CUSTOM_GPU": 1}}})
    assert cards(found) == [(1, ["a"])]
