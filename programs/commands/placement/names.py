"""Resource classes and traits: the names that providers and requests use."""

from argparse import ArgumentParser, Namespace

from programs.commands import arguments, base
from programs.commands.placement.base import PlacementCommand, PlacementLister, PlacementShow

CLASSES = "resource_classes"
TRAITS = "traits"


class ListClasses(PlacementLister):
    """List resource classes."""

    def take_action(self, parsed_args: Namespace) -> base.Table:
        found = self.placement.get(CLASSES)[CLASSES]
        return ("Name",), [(one["name"],) for one in found]


class _Named(PlacementCommand):
    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name; your own ones begin with CUSTOM_")


class CreateClass(_Named):
    """Create a resource class of your own."""

    def take_action(self, parsed_args: Namespace) -> int:
        self.placement.post(CLASSES, body={"name": parsed_args.name})
        return 0


class SetClass(_Named):
    """Create a resource class of your own unless it exists."""

    def take_action(self, parsed_args: Namespace) -> int:
        self.placement.put(CLASSES, parsed_args.name, body=None)
        return 0


class ShowClass(_Named, PlacementShow):
    """Show a resource class, which exists then."""

    def take_action(self, parsed_args: Namespace) -> base.Record:
        found = self.placement.get(CLASSES, parsed_args.name)
        return ("name",), (found["name"],)


class DeleteClass(_Named):
    """Delete a resource class of your own."""

    def take_action(self, parsed_args: Namespace) -> int:
        self.placement.delete(CLASSES, parsed_args.name)
        return 0


class ListTraits(PlacementLister):
    """List traits."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--name", metavar="CONDITION", help="such as startswith:CUSTOM, in:HW_A,HW_B"
        )
        parser.add_argument("--associated", action="store_true", help="only those of a provider")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        associated = "true" if parsed_args.associated else None
        query = arguments.given(name=parsed_args.name, associated=associated)
        return ("Name",), [(name,) for name in self.placement.get(TRAITS, query=query)[TRAITS]]


class CreateTrait(_Named):
    """Create a trait of your own."""

    def take_action(self, parsed_args: Namespace) -> int:
        self.placement.put(TRAITS, parsed_args.name, body=None)
        return 0


class ShowTrait(_Named, PlacementShow):
    """Show a trait, which exists then."""

    def take_action(self, parsed_args: Namespace) -> base.Record:
        self.placement.get(TRAITS, parsed_args.name)
        return ("name",), (parsed_args.name,)


class DeleteTrait(_Named):
    """Delete a trait of your own."""

    def take_action(self, parsed_args: Namespace) -> int:
        self.placement.delete(TRAITS, parsed_args.name)
        return 0
