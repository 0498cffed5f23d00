"""One process with the services of several zones, for ``tests.bench.zones``: JSON in, JSON out.

Each zone is whole: placement, a cell with its conductor and an agent of simulated hosts, a super
conductor; with ``scheduler`` a scheduler process's service, without it the super conductor decides
itself. Its top broker is a virtual host of RabbitMQ, its cell's is in memory, its databases are
files. Commands come on the standard input: ``{"stop_agent": ZONE}``.
"""

import json
import logging
import sys
from pathlib import Path
from typing import Any

from armillary import concurrency

concurrency.bootstrap([], "armillary")

from oslo_config import cfg  # noqa: E402

from armillary.service import ServiceGroup  # noqa: E402
from programs import up, wiring  # noqa: E402
from programs.bus_factory import bus_maker  # noqa: E402
from tests.fixtures.embedded import embedded_conf  # noqa: E402

SIZE = "vcpus=64:memory_mb={memory_mb}:disk_gb=2000"


def main() -> int:
    """Start all zones, say so, and carry out commands until the input ends."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    document = json.loads(sys.stdin.readline())
    agents: dict[str, ServiceGroup] = {}
    groups: list[ServiceGroup] = []
    for zone in document["zones"]:
        conf = _conf(zone)
        if not zone.get("is_second"):
            up.make_tables(conf)
        group = ServiceGroup(conf, _services(conf, zone))
        group.start()
        groups.append(group)
        if zone["hosts"]:
            agents[zone["name"]] = _agent(conf)
        _say({"zone": zone["name"]})
    _say({"ready": True})
    for line in sys.stdin:
        agents.pop(json.loads(line)["stop_agent"]).stop(1)
        _say({"done": True})
    for group in [*agents.values(), *groups]:
        group.stop(1)
    return 0


def _say(what: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


def _conf(zone: dict[str, Any]) -> cfg.ConfigOpts:
    name, folder = zone["name"], Path(zone["folder"])
    folder.mkdir(exist_ok=True)
    pace = zone["pace"]
    return embedded_conf(
        folder,
        {
            (None, "host"): zone["host"],
            (None, "report_interval"): round(3 * pace),
            (None, "service_down_time"): round(12 * pace),
            ("cell", "uuid"): zone["cell_uuid"],
            ("cell", "transport_url"): zone["cell_url"],
            ("conductor", "lease_seconds"): 15.0 * pace,
            ("conductor", "recovery_interval_seconds"): 2.0 * pace,
            ("conductor", "discover_hosts_interval_seconds"): 2.0 * pace,
            ("cell", "host_push_interval_seconds"): 0.2 * pace,
            ("scheduler", "driver"): "zone_scheduler" if zone["is_parent"] else "filter_scheduler",
            ("scheduler", "in_process"): not zone["scheduler"],
            ("zones", "name"): name,
            ("zones", "push_seconds"): zone["push_seconds"],
            ("zones", "select_timeout_seconds"): zone["select_timeout_seconds"],
            ("simulated", "hosts"): [_hosts(zone)] if zone["hosts"] else [],
            ("simulated", "build_delay_seconds_max"): 0.0,
        },
    )


def _hosts(zone: dict[str, Any]) -> str:
    size = SIZE.format(memory_mb=zone["memory_mb"])
    return f"name={zone['host']}-{{1..{zone['hosts']}}}:{size}"


def _services(conf: cfg.ConfigOpts, zone: dict[str, Any]) -> list[tuple[str, Any]]:
    make_bus = bus_maker(conf, "armillary")
    on_top = {"top_url": zone["top_url"], "make_bus": make_bus}
    scheduler = ("scheduler", lambda: wiring.make_scheduler(conf, **on_top))
    if zone.get("is_second"):
        return [scheduler]
    services: list[tuple[str, Any]] = [
        ("placement", lambda: wiring.make_placement(conf, **on_top)),
        ("cell conductor", lambda: wiring.make_cell_conductor(conf, **on_top)),
        ("super conductor", lambda: wiring.make_super_conductor(conf, **on_top)),
    ]
    if zone["scheduler"]:
        services.append(scheduler)
    if zone.get("has_api"):
        services.append(
            (
                "api",
                lambda: wiring.make_api(
                    conf,
                    **on_top,
                    on_bound=lambda address: _say({"api": f"http://{address[0]}:{address[1]}"}),
                ),
            )
        )
    return services


def _agent(conf: cfg.ConfigOpts) -> ServiceGroup:
    make_bus = bus_maker(conf, "armillary")
    group = ServiceGroup(
        conf,
        [
            (
                "compute agent",
                lambda: wiring.make_compute(
                    conf, cell_url=conf.cell.transport_url, make_bus=make_bus
                ),
            )
        ],
    )
    group.start()
    return group


if __name__ == "__main__":
    sys.exit(main())
