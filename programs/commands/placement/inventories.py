"""Inventories of resource providers: how much there is of each resource class."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Mapping

from armillary import exception
from programs.commands import arguments, base
from programs.commands.placement.base import (
    PROVIDERS,
    PlacementCommand,
    PlacementLister,
    PlacementShow,
    add_provider,
)
from programs.http_client import Document

FIELDS = ("allocation_ratio", "min_unit", "max_unit", "reserved", "step_size", "total")
COLUMNS = ("Resource class", *(name.replace("_", " ").capitalize() for name in FIELDS))


class ListInventories(PlacementLister):
    """List the inventories of a resource provider."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)

    def take_action(self, parsed_args: Namespace) -> base.Table:
        found = self.placement.get(*self.path_of(parsed_args.provider), "inventories")
        return _table(found["inventories"])


class ShowInventory(PlacementShow):
    """Show one inventory of a resource provider."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)
        parser.add_argument("resource_class", help="name")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        path = (*self.path_of(parsed_args.provider), "inventories", parsed_args.resource_class)
        found = self.placement.get(*path)
        return FIELDS, [found[name] for name in FIELDS]


class SetInventories(PlacementLister):
    """Replace the inventories of a resource provider, or with --amend some of them.

    For example --resource VCPU=16 --resource VCPU:allocation_ratio=4.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)
        add_resource(parser)
        parser.add_argument("--amend", action="store_true", help="keep what is not given")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        provider = self.find_provider(parsed_args.provider)["uuid"]
        path = (PROVIDERS, provider, "inventories")
        present = self.placement.get(*path)
        former = present["inventories"] if parsed_args.amend else {}
        inventories = inventories_of(parsed_args.resource, former)
        body = {
            "inventories": inventories,
            "resource_provider_generation": present["resource_provider_generation"],
        }
        return _table(self.placement.put(*path, body=body)["inventories"])


class DeleteInventories(PlacementCommand):
    """Delete one inventory of a resource provider, or all."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)
        parser.add_argument("--resource-class", metavar="NAME", help="only that of this class")

    def take_action(self, parsed_args: Namespace) -> int:
        one = [parsed_args.resource_class] if parsed_args.resource_class else []
        self.placement.delete(*self.path_of(parsed_args.provider), "inventories", *one)
        return 0


def add_resource(parser: ArgumentParser) -> None:
    """Add the option that sets inventories."""
    parser.add_argument(
        "--resource", metavar="CLASS[:FIELD]=VALUE", type=_part, action="append", default=[],
        help="total of a class, or another field of its inventory; may be repeated",
    )  # fmt: skip


def inventories_of(
    parts: Iterable[tuple[str, str, int | float]], former: Mapping[str, Document] | None = None
) -> dict[str, Document]:
    """Return inventories by class: the former ones, changed. Raises Invalid without a total."""
    inventories = {name: dict(each) for name, each in (former or {}).items()}
    for resource_class, field, value in parts:
        inventories.setdefault(resource_class, {})[field] = value
    for name, inventory in inventories.items():
        if "total" not in inventory:
            raise exception.Invalid(f"The total of {name} is missing: --resource {name}=N")
    return inventories


def _table(inventories: dict[str, Document]) -> base.Table:
    rows = [
        (name, *(inventory[field] for field in FIELDS))
        for name, inventory in sorted(inventories.items())
    ]
    return COLUMNS, rows


def _part(text: str) -> tuple[str, str, int | float]:
    """Parse ``VCPU=16`` or ``VCPU:allocation_ratio=4.0``."""
    (name, value) = arguments.pair(text)
    resource_class, _sign, field = name.partition(":")
    field = field or "total"
    if field not in FIELDS:
        raise ArgumentTypeError(f"'{field}' is not one of {', '.join(FIELDS)}")
    try:
        return resource_class, field, float(value) if field == "allocation_ratio" else int(value)
    except ValueError:
        raise ArgumentTypeError(f"'{value}' is not a number") from None
