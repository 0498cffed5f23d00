"""One line declares an attribute: from there on it is pushed, filtered, weighed and summed up."""

import json
import subprocess
import sys
from pathlib import Path

from tests.fixtures import waiting

ROOT = Path(__file__).parents[4]

SCRIPT = """
import json, sys
from objects.hosts import host_attributes as declared

# What follows stands in the place of one more line in that file, which is read before all others.
warmth = declared.HostAttribute(
    "warmth", declared.Kind.INT, "K", declared.Collector.TRACKER, declared.Rollup.MAX, 0
)
declared.HOST_ATTRIBUTES += (warmth,)
declared.BY_NAME["warmth"] = warmth

from scheduler.filters import BaseHostFilter
from scheduler.weights import BaseHostWeigher


class WarmEnough(BaseHostFilter):
    host_attributes = ("warmth",)

    def host_mask(self, hosts, spec):
        return hosts.warmth >= 280


class Warmest(BaseHostWeigher):
    host_attributes = ("warmth",)

    def host_weight(self, host_state, spec):
        return float(host_state.warmth)


from tests.fixtures.zones.zone_trees import Zone
from tests.fleets import a_host, a_request_spec

options = {
    "filter_scheduler__enabled_filters":
        ["ComputeFilter", "ComputeCapabilitiesFilter", "__main__.WarmEnough"],
    "filter_scheduler__weight_classes": ["__main__.Warmest"],
}
hosts = [a_host(f"h{kelvin}", warmth=kelvin) for kelvin in (270, 290, 310)]
leaf = Zone("leaf", hosts[1:], **options)
root = Zone("root", hosts[:1], [leaf], **options).push_all()
names = {host.uuid: host.name for host in hosts}


def chosen(spec):
    return [names[entry["host_id"]] for entry in root.select(spec).zone_entries]


print(json.dumps({
    "weighed": chosen(a_request_spec()),
    "asked for": chosen(a_request_spec({"capabilities:warmth": ">= 300"})),
    "summed up": root.summary().capabilities["attributes"]["warmth"],
}))
"""


def test_a_new_attribute_needs_one_line() -> None:
    """BZ-21: and what uses it, nothing else."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=waiting.seconds(60),
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "weighed": ["h310", "h290"],
        "asked for": ["h310"],
        "summed up": 310,
    }
