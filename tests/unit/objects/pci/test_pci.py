"""Aliases are checked, flavors name them, and pools serve every request that they can."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary import exception
from objects.pci import pci
from tests.builders import a_flavor, an_image
from tests.fixtures.fleets.numa_fleets import GPU, NIC, a_pci_request, a_pool, pci_requests, pools
from tests.fixtures.plugins.examples import examples

ALIASES = pci.parse_aliases(
    [
        json.dumps({"name": "nic", **NIC, "device_type": "type-VF", "numa_policy": "required"}),
        json.dumps({"name": "gpu", **GPU}),
    ]
)


# Aliases -----------------------------------------------------------------------------------------


def test_an_alias_describes_devices() -> None:
    """In lower case, as agents report them."""
    text = '{"name": "a", "vendor_id": "10DE", "device_type": "type-PF", "numa_policy": "socket"}'
    assert pci.parse_aliases([text]) == {
        "a": pci.Alias("a", ({"vendor_id": "10de", "dev_type": "type-PF"},), "socket")
    }


def test_several_with_one_name_are_alternatives() -> None:
    """On one line or on several."""
    one, two = ({"name": "any", **kind} for kind in (NIC, GPU))
    for texts in ([json.dumps(one), json.dumps(two)], [json.dumps([one, two])]):
        assert pci.parse_aliases(texts)["any"].spec == (NIC, GPU)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nic", "not JSON"),
        ("7", "neither a JSON object"),
        ("[" * 100_000, "not JSON"),
        ("{}", "name must be"),
        ('{"name": "a:b", "vendor_id": "8086"}', "name must be"),
        ('{"name": "a"}', "needs one of vendor_id"),
        ('{"name": "a", "vendor_id": "8086x"}', "vendor_id must be four"),
        ('{"name": "a", "product_id": 8086}', "product_id must be four"),
        ('{"name": "a", "vendor_id": "8086", "device_type": "PF"}', "device_type must be one of"),
        ('{"name": "a", "vendor_id": "8086", "numa_policy": "near"}', "numa_policy must be one of"),
        ('{"name": "a", "vendor_id": "8086", "traits": ["A"]}', "traits must be a string"),
        ('{"name": "a", "vendor_id": "8086", "vendor": "x"}', "unknown vendor; known: "),
        (
            '[{"name": "a", "vendor_id": "8086"},'
            ' {"name": "a", "vendor_id": "8087", "numa_policy": "socket"}]',
            "different numa_policy",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_bad_alias_is_quoted(text: str, why: str) -> None:
    """With the option that it stands in."""
    with pytest.raises(exception.ConfigurationError) as refused:
        pci.parse_aliases([text])
    assert "[pci] alias" in refused.value.message
    assert text[:100] in refused.value.message
    assert why in refused.value.message


# Requests ----------------------------------------------------------------------------------------


def requested(text: str, *, specs: dict[str, str] | None = None, **properties: str) -> list[Any]:
    flavor = a_flavor(extra_specs={"pci_passthrough:alias": text, **(specs or {})})
    image = an_image(properties=properties)
    return [
        (each.alias_name, each.count, each.numa_policy)
        for each in pci.requests_of(flavor, image, ALIASES)
    ]


def test_a_flavor_names_aliases_and_counts() -> None:
    """With the policy of each."""
    assert requested("nic:2, gpu:1") == [("nic", 2, "required"), ("gpu", 1, None)]
    assert pci.requests_of(a_flavor(), None, ALIASES) == []


def test_flavor_and_image_may_set_the_policy() -> None:
    """The flavor before the image, both before the alias."""
    assert requested("nic:1", hw_pci_numa_affinity_policy="legacy") == [("nic", 1, "legacy")]
    specs = {"hw:pci_numa_affinity_policy": "socket"}
    assert requested("nic:1", specs=specs, hw_pci_numa_affinity_policy="legacy") == [
        ("nic", 1, "socket")
    ]


@pytest.mark.parametrize(
    "text",
    ["nic", "nic:0", "nic:-1", "nic:x", "nic:129", "nic:100,gpu:100", "fpga:1", "", "nic:1,"],
)
def test_what_no_flavor_can_mean_is_refused(text: str) -> None:
    """With what is allowed, such as the aliases there are."""
    with pytest.raises(exception.InvalidNUMATopology, match="pci_passthrough:alias"):
        requested(text)


def test_an_unknown_policy_is_refused() -> None:
    """By the key and its source."""
    with pytest.raises(exception.InvalidNUMATopology, match="hw_pci_numa_affinity_policy of image"):
        requested("nic:1", hw_pci_numa_affinity_policy="near")


def test_requests_can_be_told_apart() -> None:
    """Each has an id, which its wire form keeps."""
    found = pci.requests_of(
        a_flavor(extra_specs={"pci_passthrough:alias": "nic:1,nic:1"}), None, ALIASES
    )
    assert len({each.request_id for each in found}) == 2
    assert [pci.PciRequest.from_plain(each.to_plain()) for each in found] == found


# Pools -------------------------------------------------------------------------------------------


def test_what_is_taken_is_gone_from_the_pools() -> None:
    """Empty pools too; the others are as they were."""
    gpus = a_pool(GPU)
    left = pci.take([a_pool(), gpus], [a_pci_request(count=2)])
    assert left == [gpus]
    assert left[0] is gpus
    assert pci.take([a_pool()], [a_pci_request()]) == [a_pool(count=1)]
    assert pci.take([a_pool()], [a_pci_request(count=3)]) is None


def test_physical_functions_are_for_those_who_ask_for_them() -> None:
    """An instance that gets one takes all its virtual functions away."""
    whole = a_pool(dev_type="type-PF")
    assert pci.take([whole], [a_pci_request()]) is None
    assert pci.take([whole], [a_pci_request({**NIC, "dev_type": "type-PF"})]) is not None


def test_tags_are_matched_like_what_every_device_has() -> None:
    """An agent gives them to its devices."""
    tagged = {**NIC, "speed": "100g"}
    assert pci.take([a_pool()], [a_pci_request(tagged)]) is None
    assert pci.take([a_pool(tags={"speed": "100g"})], [a_pci_request(tagged)]) is not None


def test_who_can_do_with_other_devices_makes_way() -> None:
    """In whatever order they ask."""
    plain = a_pci_request({"vendor_id": "8086"}, count=2)
    choosy = a_pci_request(NIC, count=2)
    free = [a_pool(NIC), a_pool({"vendor_id": "8086", "product_id": "1572"})]
    for requests in ([plain, choosy], [choosy, plain]):
        assert pci.take(free, requests) == []


def test_a_request_that_has_what_another_needs_moves_on() -> None:
    """Even when all of them have as many kinds to choose from."""
    kinds = [{"vendor_id": "8086", "product_id": f"000{number}"} for number in range(3)]
    requests = [
        pci.PciRequest("either", 1, (kinds[one], kinds[two]))
        for one, two in ((0, 2), (0, 1), (0, 1))
    ]
    assert pci.take([a_pool(kind, count=1) for kind in kinds], requests) == []


@settings(max_examples=examples(50))
@given(pools(), pci_requests, st.randoms(use_true_random=False))
def test_the_order_of_pools_and_requests_does_not_matter(
    free: list[dict[str, Any]], requests: list[pci.PciRequest], rng: random.Random
) -> None:
    """For whether all can be served; and what is missing is said exactly when they cannot."""
    can = pci.take(free, requests) is not None
    assert (pci.why_not(free, requests) is None) == can
    rng.shuffle(free)
    assert (pci.take(free, requests[::-1]) is not None) == can
