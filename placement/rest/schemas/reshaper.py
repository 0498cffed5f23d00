"""Reshaper: inventories by provider, and allocations by consumer."""

from armillary.http.validation import ByVersion, Schema
from placement.rest.schemas import allocation, inventory


def _reshape(write: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {
            "inventories": {
                "type": "object",
                "minProperties": 1,
                "patternProperties": {allocation.UUID_KEY: inventory.SET_ALL},
                "additionalProperties": False,
            },
            "allocations": allocation.by_consumer(write),
        },
        "required": ["inventories", "allocations"],
        "additionalProperties": False,
    }


RESHAPE: ByVersion = {
    (1, 30): _reshape(allocation.WRITE_1_28),
    (1, 34): _reshape(allocation.WRITE_1_34),
    (1, 38): _reshape(allocation.WRITE_1_38),
}
