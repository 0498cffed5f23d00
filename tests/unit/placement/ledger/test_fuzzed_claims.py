"""Odd batches of claims, as any scheduler or cell may send them: written or refused."""

import contextlib
from typing import Any

from hypothesis import strategies as st

from armillary import exception
from objects.packed import unchecked
from objects.packed.claim_batch import ClaimBatch
from placement.engine import PlacementEngine
from placement.ownership import CellWriter
from tests.builders import a_provider, a_uuid
from tests.fixtures.checks.fuzzing import altered, fuzzed

PROVIDER, CONSUMER, GROUP = a_uuid(), a_uuid(), a_uuid()
BATCH = {
    "owners": [["INSTANCE", "p1", "u1", True]],
    "amounts": [{"resources": {"VCPU": 1}}],
    "claims": [[CONSUMER, 1, 0, {PROVIDER: 0}]],
    "groups": [[0, ["host1", GROUP, "here", 1, 0, {CONSUMER: "host1"}]]],
}
WRITERS = st.sampled_from([None, CellWriter(a_uuid(), may_adopt=True)])


@fuzzed(st.tuples(altered(BATCH), WRITERS))
def test_odd_claims_are_written_or_refused(
    engine: PlacementEngine, value: tuple[Any, CellWriter | None]
) -> None:
    batch, writer = value
    if not isinstance(batch, dict) or not all(isinstance(batch.get(key), list) for key in BATCH):
        return  # the fields of the object refuse it
    inventories = {"VCPU": {"total": 8, "allocation_ratio": 1.0}}
    engine.providers.set_providers([a_provider("host1", uuid=PROVIDER, inventories=inventories)])
    sent = unchecked.make(ClaimBatch, **{key: batch[key] for key in BATCH})
    with contextlib.suppress(exception.Invalid):
        engine.claims.claim(sent.unpacked(), writer)
    for amounts in engine.allocations.get([CONSUMER]).values():
        assert sum(held["resources"]["VCPU"] for held in amounts.values()) <= 8
    engine.claims.release({CONSUMER: 0})
