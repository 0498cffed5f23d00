"""Existence checks for the resource classes and traits in a query, as REST requires."""

from collections.abc import Collection

from placement.engine import PlacementEngine
from placement.rest import errors


def check_resource_classes(engine: PlacementEngine, names: Collection[str]) -> None:
    """Raise status 400 unless all of these classes exist."""
    if missing := engine.resource_classes.missing(names):
        raise errors.bad_request(
            f"Invalid resource class in resources parameter: No such resource class "
            f"{', '.join(missing)}."
        )


def check_traits(engine: PlacementEngine, names: Collection[str]) -> None:
    """Raise status 400 unless all of these traits exist."""
    if missing := engine.traits.missing(names):
        raise errors.bad_request(f"No such trait(s): {', '.join(missing)}.")
