"""JSON Schema of scenario files; further checks are made after it."""

from typing import Any

from objects.instances.instance_group import POLICIES
from simulator.scenario.scenario import COUNT_MAX, REQUESTS_MAX

Schema = dict[str, Any]

AMOUNT_MAX = 2**31 - 1
SHAPES_MAX = 1000
NAMES_MAX = 10_000
SECONDS_MAX = 1e9


def _object(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _map(values: Schema, *, minimum: int = 0) -> Schema:
    return {
        "type": "object",
        "propertyNames": _TEXT,
        "additionalProperties": values,
        "minProperties": minimum,
        "maxProperties": NAMES_MAX,
    }


def _list(items: Schema, *, minimum: int = 0, maximum: int = NAMES_MAX) -> Schema:
    return {"type": "array", "items": items, "minItems": minimum, "maxItems": maximum}


def _integer(minimum: int, maximum: int = AMOUNT_MAX) -> Schema:
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def _number(minimum: float, maximum: float) -> Schema:
    return {"type": "number", "minimum": minimum, "maximum": maximum}


_TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": 255}
_SCALAR: Schema = {"type": ["string", "number", "boolean"]}
_SECONDS = _number(0, SECONDS_MAX)
_POSITIVE_SECONDS: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": SECONDS_MAX}
_RATE: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 100_000}
_RATIO: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 10_000}
_WEIGHTS = _map({"type": "number", "exclusiveMinimum": 0, "maximum": 1e9}, minimum=1)
_DURATION: Schema = {"type": ["number", "string", "object"]}  # parsed by durations.py
_POLICY: Schema = {"enum": list(POLICIES)}
_CLASS: Schema = {"type": "string", "pattern": "^[A-Z][A-Z0-9_]{0,254}$"}

_HOSTS = _object(
    ("name", "vcpus", "memory_mb"),
    name=_TEXT,
    vcpus=_integer(0),
    pcpus=_integer(0),
    memory_mb=_integer(1),
    disk_gb=_integer(0),
    numa_cells=_integer(1, 64),
    allocation_ratios=_object(vcpus=_RATIO, memory_mb=_RATIO, disk_gb=_RATIO),
    reserved=_object(vcpus=_integer(0), memory_mb=_integer(0), disk_gb=_integer(0)),
    resources={**_map(_integer(1)), "propertyNames": _CLASS},
    traits=_list(_TEXT),
    zone=_TEXT,
    aggregates=_list(_TEXT),
    cell=_TEXT,
    attributes=_map({}),
    in_zones=_list(_TEXT, minimum=1),
)

_FLAVOR = _object(
    ("vcpus", "memory_mb"),
    vcpus=_integer(1),
    memory_mb=_integer(1),
    disk_gb=_integer(0),
    ephemeral_gb=_integer(0),
    swap_mb=_integer(0),
    extra_specs=_map(_SCALAR),
)

_IMAGE = _object(
    properties=_map(_SCALAR), disk_format=_TEXT, min_ram_mb=_integer(0), min_disk_gb=_integer(0)
)

_ARRIVALS: Schema = {
    **_object(
        poisson=_RATE,
        fixed=_RATE,
        bursts=_object(
            ("every_seconds", "requests"),
            every_seconds=_POSITIVE_SECONDS,
            requests=_integer(1, REQUESTS_MAX),
        ),
    ),
    "minProperties": 1,
    "maxProperties": 1,
}

_STREAM = _object(
    ("arrivals", "flavors"),
    name=_TEXT,
    arrivals=_ARRIVALS,
    flavors=_WEIGHTS,
    images=_WEIGHTS,
    zones=_WEIGHTS,
    count={
        "type": ["integer", "array"],
        "minimum": 1,
        "maximum": COUNT_MAX,
        "items": _integer(1, COUNT_MAX),
        "minItems": 2,
        "maxItems": 2,
    },
    lifetime=_DURATION,
    hints=_map({"type": ["string", "array"], "items": {"type": "string"}}),
    group=_object(
        ("policy",),
        policy=_POLICY,
        requests=_integer(1, REQUESTS_MAX),
        max_server_per_host=_integer(1),
    ),
    project=_TEXT,
    start_seconds=_SECONDS,
    end_seconds=_SECONDS,
)

SCENARIO: Schema = _object(
    ("duration_seconds", "hosts", "flavors", "load"),
    title=_TEXT,
    duration_seconds=_POSITIVE_SECONDS,
    seed=_integer(0, 2**63 - 1),
    hosts=_list(_HOSTS, minimum=1, maximum=SHAPES_MAX),
    aggregates=_map(_map(_SCALAR)),
    flavors=_map(_FLAVOR, minimum=1),
    images=_map(_IMAGE),
    groups=_map(_object(("policy",), policy=_POLICY, max_server_per_host=_integer(1))),
    load={"type": ["string", "array"], "minLength": 1, "minItems": 1, "maxItems": SHAPES_MAX,
          "items": _STREAM},
    failures=_object(
        mean_seconds_between=_POSITIVE_SECONDS,
        repair=_DURATION,
        notice_seconds=_SECONDS,
        instances={"enum": ["lost", "kept"]},
        outages=_list(
            _object(("at_seconds", "hosts"), at_seconds=_SECONDS, hosts=_TEXT, repair=_DURATION)
        ),
    ),
    builds=_object(
        seconds=_DURATION,
        failure_rate=_number(0, 1),
        failing_hosts=_list(_TEXT),
    ),
    push_interval_seconds=_SECONDS,
    zones=_object(
        ("widths",),
        widths=_list(_integer(1, 1000), minimum=1, maximum=8),
        hosts_in={"enum": ["leaves", "all"]},
        compare_with_flat={"type": "boolean"},
    ),
)  # fmt: skip
