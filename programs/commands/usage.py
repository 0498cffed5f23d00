"""Usage of projects over time: hours of servers, vCPUs, memory and disk."""

from argparse import ArgumentParser, Namespace
from datetime import UTC

from programs.commands import arguments, base
from programs.http_client import VERSION_PATH, ApiClient, Target

PATH = "os-simple-tenant-usage"
WHOLE = Target(VERSION_PATH, {"OpenStack-API-Version": "compute 2.39"})
"""The last version whose answers are sums of all servers, not of a page of them."""

COLUMNS: base.Columns = {
    "Project": "tenant_id",
    "Servers": lambda usage: len(usage.get("server_usages", [])),
    "RAM MiB-hours": lambda usage: _hours(usage.get("total_memory_mb_usage")),
    "CPU hours": lambda usage: _hours(usage.get("total_vcpus_usage")),
    "Disk GiB-hours": lambda usage: _hours(usage.get("total_local_gb_usage")),
    "Hours": lambda usage: _hours(usage.get("total_hours")),
}


def _hours(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


class _Usage(base.ApiCommand):
    def add_options(self, parser: ArgumentParser) -> None:
        _add_times(parser)

    @property
    def api(self) -> ApiClient:
        return self.application.client(WHOLE)


class ListUsage(_Usage, base.ApiLister):
    """List what each project has used in the last four weeks, or another time (administrators)."""

    def take_action(self, parsed_args: Namespace) -> base.Table:
        query = {**_times(parsed_args), "detailed": "1"}
        return base.table(COLUMNS, self.items("tenant_usages", PATH, query=query))


class ShowUsage(_Usage, base.ApiShow):
    """Show what a project has used in the last four weeks, or another time."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", metavar="ID", required=True, help="id of the project")
        _add_times(parser)

    def take_action(self, parsed_args: Namespace) -> base.Record:
        found = self.api.get(PATH, parsed_args.project, query=_times(parsed_args))
        usage = {"tenant_id": parsed_args.project, **found["tenant_usage"]}
        return base.record(COLUMNS, usage)


def _add_times(parser: ArgumentParser) -> None:
    example = "such as 2030-01-31 or 2030-01-31T12:00"
    parser.add_argument("--start", metavar="TIME", type=_time, help=f"begin, {example}")
    parser.add_argument("--end", metavar="TIME", type=_time, help="end (default: now)")


def _times(parsed_args: Namespace) -> dict[str, str]:
    return arguments.given(start=parsed_args.start, end=parsed_args.end)


def _time(text: str) -> str:
    """Return a time as the API takes it: in UTC, without a time zone."""
    return f"{arguments.time(text).astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
