"""Cluster metadata: the hosts of each aggregate and zone."""

from objects.cell_mapping import CELL0_UUID
from scheduler.hosts.cluster_metadata import ClusterMetadata
from tests.builders import an_aggregate
from tests.fleets import CELL, OTHER_CELL, some_cluster_metadata


def test_aggregates_are_found_by_host_and_by_metadata_key() -> None:
    """Both ways lead to the same aggregate."""
    ssd = an_aggregate("ssd", hosts=["host1"], metadata={"disk": "ssd"})
    cluster_metadata = some_cluster_metadata([ssd, an_aggregate("other", hosts=["host2"])])
    assert cluster_metadata.aggregates_of("host1") == (ssd,)
    assert cluster_metadata.aggregates_with("disk") == [ssd]
    assert cluster_metadata.aggregates_of("host3") == ()


def test_a_host_without_zone_is_in_the_default_one() -> None:
    """Only an aggregate that names a zone puts its hosts there."""
    zone = an_aggregate("z", hosts=["host1"], metadata={"availability_zone": "north"})
    cluster_metadata = some_cluster_metadata([an_aggregate(hosts=["host1", "host2"]), zone])
    assert cluster_metadata.zone_of("host1", "nova") == "north"
    assert cluster_metadata.zone_of("host2", "nova") == "nova"


def test_a_disabled_cell_is_known_but_not_enabled() -> None:
    """Its name is there, its hosts are not to be used."""
    cluster_metadata = some_cluster_metadata(disabled=[OTHER_CELL])
    assert cluster_metadata.cell_names == {CELL: "cell1", OTHER_CELL: "cell2"}
    assert cluster_metadata.enabled_cells == {CELL}


def test_cell0_is_not_a_cell_of_hosts() -> None:
    """It keeps what found no host."""
    cells = [{"uuid": CELL0_UUID, "name": "cell0", "disabled": False}]
    assert ClusterMetadata.from_plain({"seq": 1, "cells": cells, "aggregates": []}).cell_names == {}
