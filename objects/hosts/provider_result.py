"""ProviderResult: placement's answer to the report of a provider."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class ProviderResult:
    """The state after a report; if it was refused, ``error`` is a sentence and nothing changed.

    ``uuid`` is empty if the report has none; without a provider ``generation`` is None.
    ``inventories`` maps each class to the fields of its inventory. ``is_not_its_own`` tells that it
    was refused because the provider belongs to another cell.
    """

    uuid: str
    generation: int | None
    inventories: dict[str, dict[str, float]]
    error: str | None
    is_not_its_own: bool = False
