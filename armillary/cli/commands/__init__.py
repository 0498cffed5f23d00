"""The commands of ``armillary``: one file a noun, and the table of all of them."""

from __future__ import annotations

from cliff.command import Command

from armillary.cli.commands import (
    aggregate,
    allocation,
    availability_zone,
    explain,
    flavor,
    group,
    host,
    image,
    programs,
    quota,
    schedule,
    server,
    service,
)
from armillary.cli.simulate.command import Simulate

COMMANDS: dict[str, type[Command]] = {
    "server create": server.CreateServer,
    "server list": server.ListServers,
    "server show": server.ShowServer,
    "server delete": server.DeleteServers,
    "server events": server.ListServerEvents,
    "explain": explain.Explain,
    "schedule": schedule.Schedule,
    "flavor create": flavor.CreateFlavor,
    "flavor list": flavor.ListFlavors,
    "flavor show": flavor.ShowFlavor,
    "flavor set": flavor.SetFlavor,
    "flavor delete": flavor.DeleteFlavors,
    "image create": image.CreateImage,
    "image list": image.ListImages,
    "image show": image.ShowImage,
    "image delete": image.DeleteImages,
    "host list": host.ListHosts,
    "host show": host.ShowHost,
    "service list": service.ListServices,
    "service set": service.SetService,
    "service delete": service.DeleteService,
    "aggregate create": aggregate.CreateAggregate,
    "aggregate list": aggregate.ListAggregates,
    "aggregate show": aggregate.ShowAggregate,
    "aggregate set": aggregate.SetAggregate,
    "aggregate delete": aggregate.DeleteAggregates,
    "aggregate add host": aggregate.AddAggregateHost,
    "aggregate remove host": aggregate.RemoveAggregateHost,
    "availability zone list": availability_zone.ListAvailabilityZones,
    "group create": group.CreateGroup,
    "group list": group.ListGroups,
    "group show": group.ShowGroup,
    "group delete": group.DeleteGroups,
    "quota show": quota.ShowQuota,
    "quota set": quota.SetQuota,
    "allocation list": allocation.ListAllocations,
    "simulate": Simulate,
    "up": programs.Up,
    "demo": programs.Demo,
}
