"""Every error has a status and, where clients decide by it, a code that never changes."""

import inspect

import pytest

from armillary import exception
from armillary.http.errors import status_of
from placement.rest import errors

PLACEMENT_CODES = {
    "placement.undefined_code",
    "placement.concurrent_update",
    "placement.inventory.inuse",
    "placement.duplicate_name",
    "placement.resource_provider.inuse",
    "placement.resource_provider.cannot_delete_parent",
    "placement.resource_provider.not_found",
    "placement.query.bad_value",
    "placement.query.missing_value",
    "placement.query.duplicate_key",
}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (exception.ResourceProviderNotFound(provider="p"), 404),
        (exception.ResourceProviderGenerationConflict(provider="p"), 409),
        (exception.InventoryInUse(resource_class="VCPU", provider="p"), 409),
        (exception.InvalidInventory(resource_class="VCPU", provider="p", reason="r"), 400),
        (exception.PolicyNotAuthorized(rule="r"), 403),
        (exception.Unauthorized(), 401),
        (exception.DatabaseUnavailable(name="placement", reason="r"), 503),
        (exception.ConfigurationError(reason="r"), 500),
        (exception.BuildFailed(instance_uuid="i", host="h", reason="r"), 500),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_an_error_has_the_status_of_its_family(
    error: exception.ArmillaryError, status: int
) -> None:
    """What is not the caller's mistake is never a 4xx."""
    assert status_of(error) == status


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (exception.ResourceProviderGenerationConflict, "placement.concurrent_update"),
        (exception.ConsumerGenerationConflict, "placement.concurrent_update"),
        (exception.InventoryInUse, "placement.inventory.inuse"),
        (exception.ResourceProviderInUse, "placement.resource_provider.inuse"),
        (exception.ResourceProviderExists, "placement.duplicate_name"),
        (exception.ResourceProviderHasChildren, "placement.resource_provider.cannot_delete_parent"),
        (exception.TraitNotFound, None),
    ],
)
def test_some_errors_have_a_public_code(
    error: type[exception.ArmillaryError], code: str | None
) -> None:
    """The others have the general one."""
    assert errors.code_of(error()) == code


def test_public_codes_are_those_of_the_api() -> None:
    """Their strings are part of it."""
    ours = {
        value
        for name, value in inspect.getmembers(errors)
        if name.isupper() and isinstance(value, str) and value.startswith("placement.")
    }
    assert ours == PLACEMENT_CODES
