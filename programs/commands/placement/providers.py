"""Resource providers, and what belongs to one: aggregates, traits, usages."""

from argparse import ArgumentParser, Namespace

from programs.commands import arguments, base
from programs.commands.placement.base import (
    PROVIDERS,
    PlacementCommand,
    PlacementLister,
    PlacementShow,
    add_provider,
    amount,
)

FIELDS: base.Columns = {
    "uuid": "uuid",
    "name": "name",
    "generation": "generation",
    "root_provider_uuid": "root_provider_uuid",
    "parent_provider_uuid": "parent_provider_uuid",
}
COLUMNS: base.Columns = {
    "Name": "name",
    "UUID": "uuid",
    "Generation": "generation",
    "Parent": "parent_provider_uuid",
}


class ListProviders(PlacementLister):
    """List resource providers (administrators)."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--uuid", help="only this one")
        parser.add_argument("--name", help="only the one of this name")
        parser.add_argument(
            "--resource", metavar="CLASS=AMOUNT", type=amount, action="append", default=[],
            help="only providers with room for this; may be repeated",
        )  # fmt: skip
        parser.add_argument("--in-tree", metavar="UUID", help="only the tree of this provider")
        add_traits_and_aggregates(parser)

    def take_action(self, parsed_args: Namespace) -> base.Table:
        query = arguments.given(
            uuid=parsed_args.uuid,
            name=parsed_args.name,
            in_tree=parsed_args.in_tree,
            **conditions(parsed_args),
        )
        return base.table(COLUMNS, self.placement.get(PROVIDERS, query=query)[PROVIDERS])


class CreateProvider(PlacementShow):
    """Create a resource provider."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name")
        parser.add_argument("--uuid", help="UUID (default: a new one)")
        parser.add_argument("--parent-provider", metavar="UUID", help="provider it is part of")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        body = arguments.given(
            name=parsed_args.name,
            uuid=parsed_args.uuid,
            parent_provider_uuid=parsed_args.parent_provider,
        )
        return base.record(FIELDS, self.placement.post(PROVIDERS, body=body))


class ShowProvider(PlacementShow):
    """Show one resource provider."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)
        parser.add_argument("--allocations", action="store_true", help="show who uses it")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        found = self.find_provider(parsed_args.provider)
        columns = dict(FIELDS)
        if parsed_args.allocations:
            path = (PROVIDERS, found["uuid"], "allocations")
            allocations = self.placement.get(*path)["allocations"]
            found["allocations"] = {
                consumer: each["resources"] for consumer, each in allocations.items()
            }
            columns["allocations"] = "allocations"
        return base.record(columns, found)


class SetProvider(PlacementShow):
    """Rename a resource provider, or make it part of another."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)
        parser.add_argument("--name", help="new name")
        parser.add_argument("--parent-provider", metavar="UUID", help="provider it is part of")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        found = self.find_provider(parsed_args.provider)
        body = arguments.given(
            name=parsed_args.name or found["name"],
            parent_provider_uuid=parsed_args.parent_provider or found["parent_provider_uuid"],
        )
        return base.record(FIELDS, self.placement.put(PROVIDERS, found["uuid"], body=body))


class DeleteProvider(PlacementCommand):
    """Delete a resource provider."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)

    def take_action(self, parsed_args: Namespace) -> int:
        self.placement.delete(*self.path_of(parsed_args.provider))
        return 0


class ListProviderAggregates(PlacementLister):
    """List the aggregates of a resource provider."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)

    def take_action(self, parsed_args: Namespace) -> base.Table:
        found = self.placement.get(*self.path_of(parsed_args.provider), "aggregates")
        return ("UUID",), [(uuid,) for uuid in found["aggregates"]]


class SetProviderAggregates(PlacementLister):
    """Replace the aggregates of a resource provider; without any, remove all."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)
        parser.add_argument("aggregates", nargs="*", metavar="aggregate", help="UUID")
        parser.add_argument(
            "--generation", type=arguments.not_negative, help="expected generation of the provider"
        )

    def take_action(self, parsed_args: Namespace) -> base.Table:
        found = self.find_provider(parsed_args.provider)
        generation = parsed_args.generation
        body = {
            "aggregates": parsed_args.aggregates,
            "resource_provider_generation": (
                found["generation"] if generation is None else generation
            ),
        }
        answer = self.placement.put(PROVIDERS, found["uuid"], "aggregates", body=body)
        return ("UUID",), [(uuid,) for uuid in answer["aggregates"]]


class ListProviderTraits(PlacementLister):
    """List the traits of a resource provider."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)

    def take_action(self, parsed_args: Namespace) -> base.Table:
        found = self.placement.get(*self.path_of(parsed_args.provider), "traits")
        return ("Name",), [(name,) for name in found["traits"]]


class SetProviderTraits(PlacementLister):
    """Replace the traits of a resource provider."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)
        arguments.add_list(parser, "--trait", "traits", "TRAIT", "trait that it has")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        found = self.find_provider(parsed_args.provider)
        body = {
            "traits": parsed_args.traits, "resource_provider_generation": found["generation"],
        }  # fmt: skip
        answer = self.placement.put(PROVIDERS, found["uuid"], "traits", body=body)
        return ("Name",), [(name,) for name in answer["traits"]]


class DeleteProviderTraits(PlacementCommand):
    """Remove all traits of a resource provider."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)

    def take_action(self, parsed_args: Namespace) -> int:
        self.placement.delete(*self.path_of(parsed_args.provider), "traits")
        return 0


class ShowProviderUsage(PlacementLister):
    """Show what of a resource provider is used."""

    def add_options(self, parser: ArgumentParser) -> None:
        add_provider(parser)

    def take_action(self, parsed_args: Namespace) -> base.Table:
        found = self.placement.get(*self.path_of(parsed_args.provider), "usages")
        return ("Resource class", "Usage"), sorted(found["usages"].items())


def add_traits_and_aggregates(parser: ArgumentParser) -> None:
    """Add the conditions that lists of providers and of candidates have in common."""
    arguments.add_list(parser, "--required", "required", "TRAIT", "only with this trait")
    arguments.add_list(parser, "--forbidden", "forbidden", "TRAIT", "only without this trait")
    parser.add_argument("--member-of", metavar="UUID", help="only members of this aggregate")


def conditions(parsed_args: Namespace) -> dict[str, str | None]:
    """Return the query of these conditions and resources."""
    traits = [*parsed_args.required, *(f"!{trait}" for trait in parsed_args.forbidden)]
    resources = ",".join(f"{name}:{count}" for name, count in parsed_args.resource)
    return {
        "required": ",".join(traits) or None,
        "member_of": parsed_args.member_of,
        "resources": resources or None,
    }
