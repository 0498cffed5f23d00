"""Allocations of consumers, usages of projects, and candidates for a request."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from programs.commands import arguments, base
from programs.commands.placement.base import PlacementCommand, PlacementLister, amount
from programs.commands.placement.providers import add_traits_and_aggregates, conditions
from programs.http_client import Document

ALLOCATIONS = "allocations"
CANDIDATES = "allocation_candidates"


class ShowAllocation(PlacementLister):
    """Show what a consumer uses of which provider."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("consumer", help="UUID of a server or migration")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        return _table(self.placement.get(ALLOCATIONS, parsed_args.consumer))


class SetAllocation(PlacementLister):
    """Replace what a consumer uses: --allocation rp=UUID,VCPU=1,MEMORY_MB=512."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("consumer", help="UUID")
        parser.add_argument(
            "--allocation", metavar="rp=UUID,CLASS=AMOUNT", type=_allocation, action="append",
            required=True, help="amounts of one provider; may be repeated",
        )  # fmt: skip
        parser.add_argument("--project-id", metavar="ID", required=True, help="project")
        parser.add_argument("--user-id", metavar="ID", required=True, help="user")
        parser.add_argument("--consumer-type", metavar="TYPE", default="INSTANCE", help="type")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        path = (ALLOCATIONS, parsed_args.consumer)
        present = self.placement.get(*path)
        wanted: dict[str, Document] = {}
        for provider, resources in parsed_args.allocation:
            wanted.setdefault(provider, {"resources": {}})["resources"].update(resources)
        body = {
            "allocations": wanted,
            "project_id": parsed_args.project_id,
            "user_id": parsed_args.user_id,
            "consumer_type": parsed_args.consumer_type,
            "consumer_generation": present.get("consumer_generation"),
        }
        self.placement.put(*path, body=body)
        return _table(self.placement.get(*path))


class DeleteAllocation(PlacementCommand):
    """Release all that a consumer uses."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("consumer", help="UUID")

    def take_action(self, parsed_args: Namespace) -> int:
        self.placement.delete(ALLOCATIONS, parsed_args.consumer)
        return 0


class ShowUsage(PlacementLister):
    """Show what a project uses."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="project_uuid", help="id of the project")
        parser.add_argument("--user-id", metavar="ID", help="only what this user uses")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        query = arguments.given(project_id=parsed_args.project, user_id=parsed_args.user_id)
        usages: dict[str, Document] = self.placement.get("usages", query=query)["usages"]
        rows = [
            (kind, name, count)
            for kind, found in sorted(usages.items())
            for name, count in sorted(found.items())
            if name != "consumer_count"
        ]
        return ("Consumer type", "Resource class", "Usage"), rows


class ListCandidates(PlacementLister):
    """List the providers that could serve a request, as placement sees it."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--resource", metavar="CLASS=AMOUNT", type=amount, action="append", required=True,
            help="what is asked for; may be repeated",
        )  # fmt: skip
        add_traits_and_aggregates(parser)
        parser.add_argument(
            "--limit", metavar="N", type=arguments.positive, help="maximum number of candidates"
        )

    def take_action(self, parsed_args: Namespace) -> base.Table:
        query = arguments.given(limit=parsed_args.limit, **conditions(parsed_args))
        found = self.placement.get(CANDIDATES, query=query)
        summaries = found["provider_summaries"]
        rows = []
        for number, request in enumerate(found["allocation_requests"], 1):
            for provider, asked in request["allocations"].items():
                resources = summaries[provider]["resources"]
                used = {
                    name: f"{each['used']} of {each['capacity']}"
                    for name, each in resources.items()
                }
                rows.append((number, asked["resources"], provider, used))
        return ("Candidate", "Allocation", "Provider", "Used of capacity"), rows


def _table(found: Document) -> base.Table:
    rows = [
        (provider, each["generation"], each["resources"], found["project_id"], found["user_id"])
        for provider, each in found["allocations"].items()
    ]
    return ("Provider", "Generation", "Resources", "Project", "User"), rows


def _allocation(text: str) -> tuple[str, dict[str, int]]:
    parts = [part.partition("=") for part in text.split(",")]
    provider = next((value for key, _sign, value in parts if key == "rp"), "")
    if not provider:
        raise ArgumentTypeError(f"'{text}' names no provider; expected rp=UUID,CLASS=AMOUNT")
    return provider, dict(amount("=".join((key, value))) for key, _s, value in parts if key != "rp")
