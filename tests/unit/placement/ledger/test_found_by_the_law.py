"""Sequences of writes that went wrong once, as the law of placement found them."""

import pytest

from armillary import exception
from placement.engine import PlacementEngine
from placement.ledger.consumer_writes import ConsumerWrite
from placement.providers.inventory import Inventory
from tests.builders import a_provider, a_uuid

CLASS = "CUSTOM_FPGA"


@pytest.fixture
def pair(engine: PlacementEngine) -> tuple[str, str]:
    """Return two providers; the first one has a custom class."""
    reports = [
        a_provider("having", inventories={CLASS: {"total": 4}}),
        a_provider("lacking", inventories={}),
    ]
    having, lacking = (item.uuid for item in engine.providers.set_providers(reports))
    return having, lacking


def test_a_custom_class_is_reshaped_from_one_provider_to_another(
    engine: PlacementEngine, pair: tuple[str, str]
) -> None:
    """It is known, though only one of the two providers has it."""
    having, lacking = pair
    consumer = a_uuid()
    engine.consumer_writes.put([ConsumerWrite(consumer, {having: {CLASS: 2}}, "p1", "u1")])
    stock = {CLASS: Inventory(4, 0, 1, 4, 1, 1.0)}
    moved = ConsumerWrite(consumer, {lacking: {CLASS: 2}}, "p1", "u1")
    engine.consumer_writes.reshape({having: (2, {}), lacking: (1, stock)}, [moved])
    assert engine.usages.get_of_provider(lacking)[1] == {CLASS: 2}


def test_a_custom_class_is_known_where_only_another_provider_has_it(
    engine: PlacementEngine, pair: tuple[str, str]
) -> None:
    having, lacking = pair
    wanted = {having: {CLASS: 1}, lacking: {CLASS: 1}}
    with pytest.raises(exception.NothingToAllocate):
        engine.consumer_writes.put([ConsumerWrite(a_uuid(), wanted, "p1", "u1")])
