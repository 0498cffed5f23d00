"""Trust lists that ``armillary-manage deploy`` keeps up to date."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from armillary import exception
from programs.operator.deploy.files import Files
from programs.operator.deploy.layout import Layout
from programs.operator.deploy.record import HostRecord, Record, Settings
from programs.operator.deploy.services import Services, cell_database
from programs.operator.deploy.signing import Signing
from programs.operator.deploy.steps import Steps
from rpc.signing import enrolment, keys
from rpc.signing.trust import AGENTS, SERVICES, Identity

KEYS = "etc/armillary/signing"


@pytest.fixture
def record() -> Record:
    """Return a deployment of two cells, one of which has its conductor on another machine."""
    made = Record(Settings(host="front"))
    made.add_cell("cell1", is_here=True)
    made.add_cell("cell2", is_here=False)
    return made


def trusted(
    folder: Path, record: Record, kind: str = SERVICES, removed: Sequence[str] = ()
) -> dict[str, Identity]:
    """Bring the lists up to date; return the identities of one of them."""
    layout, steps = Layout(folder), Steps(io.StringIO())
    signing = Signing(layout, steps, Files(layout, steps, overwrites=False))
    databases = ("api", "cell0", "placement", *map(cell_database, record.cells))
    services = Services(record, layout, dict.fromkeys(databases, "sqlite://"))
    here, elsewhere = services.here(), [services.cell_conductor("cell2")]
    elsewhere += [services.agent(host, one.cell, one.driver) for host, one in record.hosts.items()]
    (folder / KEYS / "elsewhere").mkdir(parents=True, exist_ok=True)
    for service in here:
        service.state(layout).mkdir(parents=True, exist_ok=True)
    signing.root_key()
    for service in here:
        signing.make_key(service)
    for service in elsewhere:
        signing.make_key_elsewhere(service)
    signing.trust(here, elsewhere, removed)
    root = keys.load(folder / KEYS / "root.key")
    return enrolment.read(folder / KEYS / f"{kind}.json", kind, root).identities


def test_a_cell_is_enrolled_for_the_hosts_of_its_agents(tmp_path: Path, record: Record) -> None:
    """And for patterns of its own; the cell of this machine's agent for that."""
    record.hosts["rack1-4"] = HostRecord("cell2", ["gpu-*"], "process")
    record.cells["cell2"].patterns = ["rack2-*"]
    found = trusted(tmp_path, record)
    assert found["cell-cell1"].hosts == ("front",)
    assert found["cell-cell2"].hosts == ("rack2-*", "rack1-4", "gpu-*")
    assert found["api"].hosts == ()


def test_a_cell_whose_key_is_elsewhere_gets_further_hosts(tmp_path: Path, record: Record) -> None:
    """Its key is not here any more, and stays the one that is trusted."""
    before = trusted(tmp_path, record)["cell-cell2"]
    (tmp_path / KEYS / "elsewhere" / "cell-cell2.key").unlink()
    record.hosts["rack1-4"] = HostRecord("cell2", [], "process")
    after = trusted(tmp_path, record)["cell-cell2"]
    assert (before.hosts, after.hosts) == ((), ("rack1-4",))
    assert [key.public.text for key in after.keys] == [key.public.text for key in before.keys]


def test_the_agent_of_a_removed_host_is_trusted_no_more(tmp_path: Path, record: Record) -> None:
    """Others are; a further run changes nothing."""
    for host in ("gone", "kept"):
        record.hosts[host] = HostRecord("cell1", [], "process")
    assert {"compute-gone", "compute-kept"} <= trusted(tmp_path, record, AGENTS).keys()
    record.remove_host("gone")
    found = trusted(tmp_path, record, AGENTS, removed=["compute-gone"])
    assert found.keys() == {"compute-front", "compute-kept"}
    before = (tmp_path / KEYS / "agents.json").read_text()
    trusted(tmp_path, record, AGENTS, removed=["compute-gone"])
    assert (tmp_path / KEYS / "agents.json").read_text() == before


def test_no_two_cells_may_have_hosts_of_the_same_names(record: Record) -> None:
    """Neither would get such a host; the command ends before anything is made."""
    record.cells["cell2"].patterns = ["rack2-*"]
    record.check_hosts()
    record.hosts["rack2-4"] = HostRecord("cell1", [], "process")
    with pytest.raises(exception.Invalid, match=r"rack2-4 of cell1 and rack2-\* of cell2"):
        record.check_hosts()
