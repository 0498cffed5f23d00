"""A placement that requires signatures, and clients with the keys of two cells' conductors."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import prometheus_client
import pytest

import objects
from armillary.context import admin_context
from armillary.db import Database
from objects.allocations.allocation import AllocationClaim, ClaimStatus
from placement.interface import PlacementAPI
from placement.manager import PlacementManager
from rpc.transport import Bus
from tests.builders import a_provider as a_named_provider
from tests.builders import a_uuid
from tests.fixtures.placement import ANSWER_SECONDS_MAX, placement_conf
from tests.fixtures.signing import Authority

CONTEXT = admin_context()
UNAUTHORIZED = {"topic": "placement", "reason": "unauthorized"}
FENCE_HIGHEST = 2**62
CELLS = {"victim": a_uuid(), "thief": a_uuid()}


class SignedPlacement:
    """A manager, and a client for the key of each role and cell."""

    def __init__(self, directory: Path, template: Path, *, is_required: bool = True) -> None:
        objects.register_all()
        self.authority = Authority(directory / "authority")
        for role in ("placement", "conductor", "scheduler", "operator"):
            self.authority.enrol(role)
        for name, uuid in CELLS.items():
            self.authority.enrol("cell_conductor", name=name, scope=uuid)
        self.conf, self.url = placement_conf(), f"kombu+memory:////{a_uuid()}"
        path = shutil.copy(template, directory / "placement.sqlite")
        self.database = Database(f"sqlite:///{path}", name="placement")
        signer = self.authority.signer("placement", is_required=is_required)
        self.buses = [Bus(self.conf, self.url, message_signer=signer)]
        self.manager = PlacementManager(self.conf, top_bus=self.buses[0], database=self.database)
        self.manager.start()
        self.servers = self.manager.servers()
        for server in self.servers:
            server.start()
        self.victim, self.thief = self.api("victim"), self.api("thief")
        self.scheduler = self.api("scheduler")

    def api(self, name: str | None) -> PlacementAPI:
        signer = None if name is None else self.authority.signer(name)
        self.buses.append(Bus(self.conf, self.url, message_signer=signer))
        return PlacementAPI(self.buses[-1], timeout_seconds=ANSWER_SECONDS_MAX)

    def stop(self) -> None:
        for server in self.servers:
            server.stop()
            server.wait()
        self.manager.stop(0.0)
        for bus in self.buses:
            bus.close()
        self.database.dispose()

    def state(self) -> tuple[Any, ...]:
        """Return all that placement knows, for comparison."""
        engine = self.manager.engine
        with self.database.reader() as session:
            fences = session.connection().exec_driver_sql("SELECT * FROM consumer_fences")
            providers = session.connection().exec_driver_sql("SELECT * FROM resource_providers")
            traits = session.connection().exec_driver_sql("SELECT * FROM resource_provider_traits")
            rows = [sorted(map(str, found)) for found in (fences, providers, traits)]
        return (*rows, engine.allocations.list(marker=None, limit=1000))


def refusals() -> float:
    name = "armillary_rpc_refused_total"
    return prometheus_client.REGISTRY.get_sample_value(name, UNAUTHORIZED) or 0.0


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory, placement_template: Path) -> Iterator[Any]:
    """Return a placement that requires signatures."""
    made = SignedPlacement(tmp_path_factory.mktemp("placement"), placement_template)
    yield made
    made.stop()


def a_provider(uuid: str, **values: Any) -> Any:
    """Return a report, which may be a wrong one."""
    return a_named_provider(f"provider-{uuid}", uuid=uuid, **values)


def rewritten(provider: str, **values: Any) -> Any:
    return a_provider(provider, **{"inventories": {"VCPU": {"total": 999}}, **values})


def register(api: PlacementAPI, **values: Any) -> str:
    """Register a provider with the key of a cell's conductor; return its UUID."""
    provider = a_provider(a_uuid(), **values)
    (result,) = api.set_providers(CONTEXT, [provider])
    assert result.error is None
    return str(provider["uuid"])


def claim(
    api: PlacementAPI, consumer: str, *providers: str, fence: int = 1, vcpus: int = 1
) -> tuple[str, str | None]:
    wanted = AllocationClaim(
        consumer_uuid=consumer, project_id="p", user_id="u", fence=fence, replace=True,
        allocations={uuid: {"resources": {"VCPU": vcpus}} for uuid in providers},
    )  # fmt: skip
    (result,) = api.claim(CONTEXT, [wanted])
    return result.status, result.reason


def held(signed: SignedPlacement, consumer: str) -> set[str]:
    return set(signed.api("conductor").get_allocations(CONTEXT, [consumer]).get(consumer, {}))


@pytest.fixture
def provider(signed: SignedPlacement) -> str:
    """Return a provider of the victim's cell."""
    return register(signed.victim)


@pytest.fixture
def own(signed: SignedPlacement) -> str:
    """Return a provider of the thief's cell."""
    return register(signed.thief)


@pytest.fixture
def consumer(signed: SignedPlacement, provider: str) -> str:
    """Return an instance that a scheduler put on the victim's provider."""
    made = a_uuid()
    assert claim(signed.scheduler, made, provider)[0] == ClaimStatus.CLAIMED
    return made


@pytest.fixture
def unharmed(signed: SignedPlacement) -> Iterator[Callable[[], None]]:
    """Return what checks that an attack changed nothing, and that its refusal was counted."""
    before: list[Any] = []

    def attack() -> None:
        before[:] = [signed.state(), refusals()]

    yield attack
    assert before[0] == signed.state()
    assert refusals() == before[1] + 1
