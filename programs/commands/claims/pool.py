"""Pools: providers of placement that serve claims."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterable
from typing import Any

import os_traits

from armillary import exception
from objects.claims.resource_kinds import get_kind
from programs.access.errors import ApiRefused
from programs.commands import arguments, base, lookup
from programs.commands.placement.base import PROVIDERS, PlacementCommand, PlacementShow
from programs.commands.placement.inventories import add_resource, inventories_of
from programs.http_client import Document

PATH = ("armillary", "pools")
DISABLED = os_traits.COMPUTE_STATUS_DISABLED
CONFLICT = 409


def _resources(pool: Document) -> str:
    return ", ".join(
        f"{name} {each['free']:,} of {each['total']:,} free"
        for name, each in sorted(pool["resources"].items())
    )


COLUMNS: base.Columns = {
    "Name": "name",
    "Kind": "kind",
    "Status": "status",
    "Resources": _resources,
    "Claims": "claims",
    "ID": base.short_id,
}
FIELDS: base.Columns = {
    "id": "id",
    "name": "name",
    "kind": "kind",
    "status": "status",
    "resources": _resources,
    "claims": "claims",
    "traits": lambda pool: ", ".join(pool["traits"]),
    "aggregates": lambda pool: ", ".join(pool["aggregates"]),
}


class ListPools(base.ApiLister):
    """List pools with what is free on them (administrators)."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--kind", help="only those of this kind")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        query = arguments.given(kind=parsed_args.kind)
        return base.table(COLUMNS, self.api.get(*PATH, query=query)["pools"])


class ShowPool(base.ApiShow):
    """Show a pool (administrators)."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("pool", help="id or name")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        return base.record(FIELDS, lookup.find_pool(self.api, parsed_args.pool))


class CreatePool(PlacementShow):
    """Create a pool: a resource provider with inventories and traits (administrators).

    For example: pool create array1 --kind storage --resource DISK_GB=10000. A repeat completes what
    an interrupted one began.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name")
        parser.add_argument("--kind", required=True, help="kind of resource, such as storage")
        add_resource(parser)
        arguments.add_list(parser, "--trait", "traits", "TRAIT", "trait that it has")
        arguments.add_list(
            parser, "--aggregate", "aggregates", "AGGREGATE",
            "aggregate (id, UUID or name) of the hosts that it is beside",
        )  # fmt: skip

    def take_action(self, parsed_args: Namespace) -> base.Record:
        kind, inventories = get_kind(parsed_args.kind), inventories_of(parsed_args.resource)
        if not inventories:
            raise exception.Invalid("A pool needs at least one --resource CLASS=TOTAL.")
        if wrong := [name for name in inventories if not kind.has_class(name)]:
            raise exception.Invalid(
                f"Pools of the kind {kind.name} have no {', '.join(wrong)}; they may have "
                f"{', '.join(kind.resource_classes)}."
            )
        aggregates = [
            lookup.find_aggregate(self.api, each)["uuid"] for each in parsed_args.aggregates
        ]
        traits = [kind.trait, *parsed_args.traits]
        self._create_names(inventories, traits)
        provider = self._provider(parsed_args.name)
        self._put(provider, "traits", traits)
        self._put(provider, "aggregates", aggregates)
        self._put(provider, "inventories", inventories)  # last: from now on claims find it
        return base.record(FIELDS, lookup.find_pool(self.api, provider))

    def _create_names(self, classes: Document, traits: list[str]) -> None:
        """Create the custom resource classes and traits; existing ones stay."""
        for path, names in (("resource_classes", classes), ("traits", traits)):
            for name in names:
                if name.startswith("CUSTOM_"):
                    self.placement.put(path, name, body=None)

    def _provider(self, name: str) -> str:
        try:
            made = self.placement.post(PROVIDERS, body={"name": name})
        except ApiRefused as error:
            if error.kwargs["status"] != CONFLICT:
                raise
            made = self.find_provider(name)
            present = self.placement.get(PROVIDERS, made["uuid"], "inventories")["inventories"]
            if present:
                raise exception.Exists(
                    f"A resource provider called '{name}' has inventories already."
                ) from None
        return str(made["uuid"])

    def _put(self, provider: str, what: str, value: Any) -> None:
        put_part(self, provider, what, lambda _present: value)


class SetPool(PlacementShow):
    """Change a pool: its inventories, traits, aggregates, and whether claims may use it."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("pool", help="id or name")
        add_resource(parser)
        arguments.add_list(parser, "--trait", "traits", "TRAIT", "trait to add")
        arguments.add_list(parser, "--remove-trait", "removed", "TRAIT", "trait to remove")
        arguments.add_list(
            parser, "--aggregate", "aggregates", "AGGREGATE", "aggregate to add (id, UUID or name)"
        )
        arguments.add_list(
            parser, "--remove-aggregate", "left", "AGGREGATE", "aggregate to remove it from"
        )
        status = parser.add_mutually_exclusive_group()
        status.add_argument("--disable", action="store_true", help="give it no new claims")
        status.add_argument("--enable", action="store_true", help="give it claims again")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        pool = lookup.find_pool(self.api, parsed_args.pool)
        added = [*parsed_args.traits, *([DISABLED] if parsed_args.disable else [])]
        removed = {*parsed_args.removed, *([DISABLED] if parsed_args.enable else [])}
        removed.discard(get_kind(pool["kind"]).trait)
        if parsed_args.resource:
            put_part(
                self, pool["id"], "inventories",
                lambda present: inventories_of(parsed_args.resource, present),
            )  # fmt: skip
        if parsed_args.aggregates or parsed_args.left:
            joined, left = self._uuids(parsed_args.aggregates), self._uuids(parsed_args.left)
            put_part(
                self, pool["id"], "aggregates", lambda present: _changed(present, joined, left)
            )
        if added or removed:
            for name in added:
                if name.startswith("CUSTOM_"):
                    self.placement.put("traits", name, body=None)
            put_part(self, pool["id"], "traits", lambda present: _changed(present, added, removed))
        return base.record(FIELDS, lookup.find_pool(self.api, pool["id"]))

    def _uuids(self, aggregates: Iterable[str]) -> list[str]:
        return [str(lookup.find_aggregate(self.api, each)["uuid"]) for each in aggregates]


class DeletePool(PlacementCommand):
    """Delete a pool without claims."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("pool", help="id or name")

    def take_action(self, parsed_args: Namespace) -> int:
        self.placement.delete(PROVIDERS, lookup.find_pool(self.api, parsed_args.pool)["id"])
        return 0


def put_part(
    command: PlacementCommand, provider: str, what: str, change: Callable[[Any], Any]
) -> None:
    """Set a pool's inventories, traits or aggregates; ``change`` takes the present ones."""
    present = command.placement.get(PROVIDERS, provider, what)
    body = {
        what: change(present[what]),
        "resource_provider_generation": present["resource_provider_generation"],
    }
    command.placement.put(PROVIDERS, provider, what, body=body)


def _changed(present: Iterable[str], added: Iterable[str], removed: Collection[str]) -> list[str]:
    return [name for name in dict.fromkeys((*present, *added)) if name not in removed]
