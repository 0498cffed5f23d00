"""Aggregates of a provider: at first a plain list, later with the provider's generation."""

_UUIDS = {"type": "array", "items": {"type": "string", "format": "uuid"}, "uniqueItems": True}

UPDATE = {
    (1, 1): _UUIDS,
    (1, 19): {
        "type": "object",
        "properties": {"aggregates": _UUIDS, "resource_provider_generation": {"type": "integer"}},
        "required": ["aggregates", "resource_provider_generation"],
        "additionalProperties": False,
    },
}
