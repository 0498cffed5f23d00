"""Helpers for tests of filters, weighers and request filters; they need no running service."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from oslo_config import cfg

from armillary.conf import register_all
from objects.aggregate import Aggregate
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from objects.request_spec import RequestLevelParams, RequestSpec
from scheduler import filters
from scheduler.filters import BaseHostFilter
from scheduler.hosts.host_state import READABLE, HostState
from scheduler.hosts.host_table import HostTable
from scheduler.weights import BaseHostWeigher

__all__ = [
    "a_flavor", "a_host_state", "a_host_table", "a_request_spec", "an_aggregate",
    "assert_filter_forms_agree", "assert_weigher_forms_agree", "configuration",
]  # fmt: skip


def configuration(**values: Any) -> cfg.ConfigOpts:
    """Return a configuration with all options of Armillary, at their defaults.

    ``group__option=value`` changes one; an option of a plugin is known once the plugin exists.
    """
    conf = cfg.ConfigOpts()
    register_all(conf)
    conf([], project="armillary", default_config_files=[], default_config_dirs=[])
    for name, value in values.items():
        group, _, option = name.rpartition("__")
        conf.set_override(option, value, group=group or None)
    return conf


def a_host_table(
    hosts: Sequence[Mapping[str, Any]], aggregates: Iterable[Aggregate] = ()
) -> HostTable:
    """Return a table of hosts with these attributes; all others have their defaults.

    ``host`` and ``nodename`` default to host1, host2 and so on. Raises ``ValueError`` for an
    attribute that hosts do not have.
    """
    known = set(READABLE) | {"instance_uuids"}
    for host in hosts:
        if unknown := sorted(set(host) - known):
            raise ValueError(f"hosts have no attribute {', '.join(unknown)}")
    return HostTable.from_values(hosts, aggregates)


def a_host_state(aggregates: Iterable[Aggregate] = (), **values: Any) -> HostState:
    """Return one host with these attributes, as a filter or weigher sees it."""
    return a_host_table([values], aggregates)[0]


def an_aggregate(
    name: str, hosts: Iterable[str] = (), metadata: Mapping[str, str] | None = None
) -> Aggregate:
    """Return an aggregate of hosts, by name."""
    return Aggregate.from_values(
        id=1, uuid=str(uuid.uuid4()), name=name, hosts=list(hosts), metadata=dict(metadata or {})
    )


def a_flavor(extra_specs: Mapping[str, str] | None = None, **values: Any) -> Flavor:
    """Return a flavor of one vCPU, 512 MiB of memory and 1 GiB of disk."""
    defaults = {"flavorid": "small", "name": "small", "vcpus": 1, "memory_mb": 512, "root_gb": 1}
    return Flavor.from_values({**defaults, "extra_specs": dict(extra_specs or {}), **values})


def a_request_spec(
    extra_specs: Mapping[str, str] | None = None,
    image_properties: Mapping[str, str] | None = None,
    **values: Any,
) -> RequestSpec:
    """Return a request for one instance of ``a_flavor``; ``values`` are fields of the request."""
    defaults: dict[str, object] = {
        "project_id": "project",
        "user_id": "user",
        "flavor": a_flavor(extra_specs),
        "request_level_params": RequestLevelParams.from_values(),
    }
    if image_properties is not None:
        defaults["image"] = ImageMeta.from_values(
            id=str(uuid.uuid4()), name="image", properties=dict(image_properties)
        )
    return RequestSpec.from_values({**defaults, **values})


def assert_filter_forms_agree(each: BaseHostFilter, hosts: HostTable, spec: RequestSpec) -> None:
    """Assert that ``host_mask`` and ``host_passes`` agree on every host.

    Raises what a decision raises for an invalid answer, such as a mask of the wrong length.
    """
    by_row = [filters.passes(each, host, spec) for host in hosts]
    _assert_equal("host_mask", "host_passes", filters.mask_of(each, hosts, spec), by_row, hosts)
    for host, is_in in zip(hosts, by_row, strict=True):
        if not is_in:
            filters.explain(each, host, spec)


def assert_weigher_forms_agree(each: BaseHostWeigher, hosts: HostTable, spec: RequestSpec) -> None:
    """Assert that ``host_weights`` gives all hosts what ``host_weight`` gives each."""
    by_row = [float(each.host_weight(host, spec)) for host in hosts]
    by_column = np.asarray(each.host_weights(hosts, spec), dtype=np.float64)
    _assert_equal("host_weights", "host_weight", by_column, by_row, hosts)


def _assert_equal(
    column_form: str, row_form: str, column: Any, rows: Sequence[Any], hosts: HostTable
) -> None:
    if len(column) != len(rows):
        raise AssertionError(f"{column_form} returned {len(column)} values for {len(rows)} hosts")
    for host, of_all, of_one in zip(hosts, column.tolist(), rows, strict=True):
        if of_all != of_one:
            raise AssertionError(
                f"host {host.host}: {column_form} says {of_all!r}, {row_form} says {of_one!r}"
            )
