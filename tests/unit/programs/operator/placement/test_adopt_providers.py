"""``armillary-manage placement adopt-providers``: what becomes whose, and its exit codes."""

from tests import builders
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.placement.placement_repair import Cloud, RunPlacement, cloud, run_placement

__all__ = ["cloud", "placement_template", "placement_url", "run_placement"]


def owners(cloud: Cloud) -> set[str]:
    """Return the compute nodes that an adoption by another cell would leave alone."""
    other = builders.a_uuid()
    return set(cloud.nodes) - set(cloud.engine.providers.adopt(other, cloud.nodes))


def test_compute_nodes_become_their_cells(cloud: Cloud, run_placement: RunPlacement) -> None:
    """The second time there is nothing left to adopt."""
    count = len(cloud.nodes)
    code, out, _ = run_placement("adopt-providers")
    assert (code, out) == (0, f"Cell {cloud.cell.uuid}: {count} providers adopted\n")
    assert run_placement("adopt-providers")[1] == f"Cell {cloud.cell.uuid}: 0 providers adopted\n"
    assert owners(cloud) == set(cloud.nodes)


def test_single_providers_are_adopted_and_taken_over(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """From another cell only with --replace."""
    mine, other, node = builders.a_uuid(), builders.a_uuid(), cloud.nodes[0]
    cloud.engine.providers.adopt(other, [node])
    asked = ("adopt-providers", "--cell", mine, "--provider", node)
    assert run_placement(*asked)[:2] == (0, f"Cell {mine}: 0 providers adopted\n")
    assert run_placement(*asked, "--replace")[:2] == (0, f"Cell {mine}: 1 providers adopted\n")


def test_a_provider_needs_a_cell(cloud: Cloud, run_placement: RunPlacement) -> None:
    """One line says so."""
    code, _, err = run_placement("adopt-providers", "--provider", cloud.nodes[0])
    assert (code, "--provider needs --cell" in err) == (1, True)
