"""Server groups: affinity and anti-affinity between servers."""

from argparse import ArgumentParser, Namespace

from programs.commands import arguments, base
from programs.commands.lookup import find_group
from programs.http_client import Document

GROUPS = "os-server-groups"
POLICIES = (
    "affinity",
    "anti-affinity",
    "soft-affinity",
    "soft-anti-affinity",
    "spread",
    "soft-spread",
)

GROUP = base.Noun(
    "group",
    GROUPS,
    find_group,
    {
        "id": "id",
        "name": "name",
        "policy": "policy",
        "rules": "rules",
        "members": "members",
        "project": "project_id",
        "user": "user_id",
    },
)
COLUMNS: base.Columns = {
    "Name": "name",
    "Policy": "policy",
    "Members": lambda group: len(group["members"]),
    "ID": base.short_id,
}


class CreateGroup(base.ApiShow):
    """Create a server group; servers join it with --hint group=GROUP."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name")
        parser.add_argument("--policy", choices=POLICIES, required=True, help="policy")
        parser.add_argument(
            "--max-servers-per-host",
            metavar="N",
            type=arguments.positive,
            help="with anti-affinity: maximum number of members on one host (default: 1)",
        )
        arguments.add_pairs(
            parser, "--rule", "rules", "rule of the policy, such as max_server_per_host=2"
        )

    def take_action(self, parsed_args: Namespace) -> base.Record:
        group: Document = {"name": parsed_args.name, "policy": parsed_args.policy}
        rules: Document = dict(parsed_args.rules)
        if parsed_args.max_servers_per_host:
            rules["max_server_per_host"] = parsed_args.max_servers_per_host
        if rules:
            group["rules"] = rules
        created = self.api.post(GROUPS, body={"server_group": group})["server_group"]
        return base.record(GROUP.fields, created)


class ListGroups(base.ApiLister):
    """List server groups."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--all-projects",
            action="store_true",
            help="list groups of all projects (administrators)",
        )

    def take_action(self, parsed_args: Namespace) -> base.Table:
        query = {"all_projects": "true"} if parsed_args.all_projects else None
        return base.table(COLUMNS, self.items("server_groups", GROUPS, query=query))


class ShowGroup(base.ShowNamed):
    """Show one server group with its members."""

    noun = GROUP


class DeleteGroups(base.DeleteNamed):
    """Delete server groups; their members keep running."""

    noun = GROUP
