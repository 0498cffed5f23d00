"""The declaration of host attributes is consistent in itself."""

from objects.hosts import host_attributes


def test_names_are_unique():
    """Two declarations of one attribute would fight over one column."""
    names = [attribute.name for attribute in host_attributes.HOST_ATTRIBUTES]
    assert len(names) == len(set(names))


def test_every_attribute_has_exactly_one_collector():
    """Each attribute is reported by one collector, and by no other."""
    collected = [
        attribute
        for collector in host_attributes.Collector
        for attribute in host_attributes.collected_by(collector)
    ]
    assert sorted(a.name for a in collected) == sorted(host_attributes.BY_NAME)
