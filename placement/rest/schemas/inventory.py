"""Inventories of resource providers."""

from armillary.http.validation import Schema
from placement.providers.inventory import AMOUNT_MAX, RATIO_MAX

NAME = {"type": "string", "pattern": "^[A-Z0-9_]+\\Z", "maxLength": 255}
GENERATION = {"type": "integer"}

_FIGURES: Schema = {
    "total": {"type": "integer", "minimum": 1, "maximum": AMOUNT_MAX},
    "reserved": {"type": "integer", "minimum": 0, "maximum": AMOUNT_MAX},
    "min_unit": {"type": "integer", "minimum": 1, "maximum": AMOUNT_MAX},
    "max_unit": {"type": "integer", "minimum": 1, "maximum": AMOUNT_MAX},
    "step_size": {"type": "integer", "minimum": 1, "maximum": AMOUNT_MAX},
    "allocation_ratio": {"type": "number", "minimum": 0, "maximum": RATIO_MAX},
}

FIGURES: Schema = {
    "type": "object",
    "properties": _FIGURES,
    "required": ["total"],
    "additionalProperties": False,
}
"""One inventory in a provider's inventories."""

INVENTORIES: Schema = {"type": "object", "propertyNames": NAME, "additionalProperties": FIGURES}
"""Class -> inventory."""

SET_ALL: Schema = {
    "type": "object",
    "properties": {"resource_provider_generation": GENERATION, "inventories": INVENTORIES},
    "required": ["resource_provider_generation", "inventories"],
    "additionalProperties": False,
}

CREATE: Schema = {
    "type": "object",
    "properties": {
        "resource_class": NAME,
        "resource_provider_generation": GENERATION,  # accepted for symmetry, and ignored
        **_FIGURES,
    },
    "required": ["resource_class", "total"],
    "additionalProperties": False,
}

SET_ONE: Schema = {
    "type": "object",
    "properties": {"resource_provider_generation": GENERATION, **_FIGURES},
    "required": ["resource_provider_generation", "total"],
    "additionalProperties": False,
}
