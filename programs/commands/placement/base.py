"""Access of commands to the Placement API, and lookup of resource providers."""

import re
from argparse import ArgumentParser, ArgumentTypeError
from functools import cached_property

from armillary import exception
from programs.access.errors import ApiNotFound
from programs.commands import base
from programs.http_client import ApiClient, Document, Target

PROVIDERS = "resource_providers"
IDENTITY = Target("identity/v3")
PLACEMENT = Target("", {"OpenStack-API-Version": "placement 1.39"})

_UUID = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")


class PlacementCommand(base.ApiCommand):
    """A command that asks placement."""

    @cached_property
    def placement(self) -> ApiClient:
        """Client of the Placement API, with the token of the Compute API.

        Raises Invalid if its address is unknown.
        """
        options = self.application.options
        url = options.placement_url or _url_in_catalog(self.application.client(IDENTITY))
        return self.application.client(PLACEMENT, url)

    def find_provider(self, wanted: str) -> Document:
        """Return the resource provider with this UUID or name. Raises NotFound."""
        if _UUID.fullmatch(wanted):
            try:
                return self.placement.get(PROVIDERS, wanted)
            except ApiNotFound:
                pass
        found = self.placement.get(PROVIDERS, query={"name": wanted})[PROVIDERS]
        if not found:
            raise exception.NotFound(f"No resource provider has the UUID or name '{wanted}'.")
        provider: Document = found[0]
        return provider

    def path_of(self, wanted: str) -> tuple[str, str]:
        return PROVIDERS, str(self.find_provider(wanted)["uuid"])


class PlacementLister(PlacementCommand, base.ApiLister):
    """A command that lists what placement has."""


class PlacementShow(PlacementCommand, base.ApiShow):
    """A command that shows one thing of placement."""


def add_provider(parser: ArgumentParser) -> None:
    parser.add_argument("provider", metavar="resource_provider", help="UUID or name")


def amount(text: str) -> tuple[str, int]:
    """Parse ``CLASS=AMOUNT``."""
    name, _sign, value = text.partition("=")
    if not name or not (value.isascii() and value.isdigit()):
        raise ArgumentTypeError(f"'{text}' is not of the form CLASS=AMOUNT")
    return name, int(value)


def _url_in_catalog(identity: ApiClient) -> str:
    try:
        catalog = identity.get("auth", "catalog")["catalog"]
    except exception.Unavailable:
        raise
    except exception.ArmillaryError:
        catalog = []
    finally:
        identity.close()
    for service in catalog:
        if service["type"] == "placement" and service["endpoints"]:
            return str(service["endpoints"][0]["url"])
    raise exception.Invalid(
        "The address of placement is not in the catalogue of the API: give it with "
        "--placement-url or ARMILLARY_PLACEMENT_URL."
    )
